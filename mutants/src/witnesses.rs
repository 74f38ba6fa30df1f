//! Finds the fast tests that detect each change, and counts the changes that only one test detects. The search for the
//! tests of a change ends at the second one, because then no test is the only witness.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::tests::{ChangeKind, Outcome, Suite, Test, command, in_parallel, run};
use crate::tree::Tree;
use crate::trial::{Group, take_group};
use crate::{quoted, write_whole};

/// Slower tests are not tried: they are judged by their assertions.
const FAST: Duration = Duration::from_secs(1);

/// Tries every change with every fast test that reaches it, and writes the table of the tests to `path`.
pub fn write(path: &Path, tree: &Tree, suite: &Suite) -> Result<(), String> {
    let folder = path.with_extension("output");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let detected = Mutex::new(vec![BTreeSet::new(); tree.sites.len()]);
    in_parallel(tree.sites.len(), |number| {
        let witnesses = witnesses(suite, number + 1, &folder.join(number.to_string()));
        detected.lock().unwrap_or_else(|error| error.into_inner())[number] = witnesses;
    });
    let detected = detected.into_inner().unwrap_or_else(|error| error.into_inner());
    let mut table = String::from("program,test,seconds,reached,alone\n");
    let mut never_alone = 0;
    let fast: Vec<&Test> = suite.tests.iter().filter(|test| is_tried(suite, test)).collect();
    for test in &fast {
        let key = (test.program, test.name.as_str());
        let is_alone = |names: &&BTreeSet<_>| names.len() == 1 && names.contains(&key);
        let alone = detected.iter().filter(is_alone).count();
        never_alone += usize::from(alone == 0);
        table += &format!(
            "{},{},{:.3},{},{alone}\n",
            quoted(&name_of_program(&suite.programs[test.program].path)),
            quoted(&test.name),
            test.time.as_secs_f64(),
            test.meets.len(),
        );
    }
    write_whole(path, &table)?;
    let unseen = detected.iter().filter(|names| names.is_empty()).count();
    println!(
        "{} changes: {unseen} are detected by no fast test; of {} fast tests, {never_alone} are never the only witness",
        tree.sites.len(),
        fast.len(),
    );
    println!("{}", path.display());
    Ok(())
}

fn is_tried(suite: &Suite, test: &Test) -> bool {
    suite.programs[test.program].kind == ChangeKind::Rust && test.time < FAST
}

/// Returns the tests, with their programs, that fail if a switch is on. `output` is a file for the programs' output.
fn witnesses<'suite>(
    suite: &'suite Suite,
    switch: usize,
    output: &Path,
) -> BTreeSet<(usize, &'suite str)> {
    let reaches = |test: &&Test| is_tried(suite, test) && test.meets.contains(&switch);
    let mut left: Vec<&Test> = suite.tests.iter().filter(reaches).collect();
    let mut all = BTreeSet::new();
    while !left.is_empty() && all.len() < 2 {
        let Group { program, time, names } = take_group(&mut left);
        let failed = |names: &[&'suite str]| -> (Outcome, String) {
            let Ok(file) = File::create(output) else { return (Outcome::Failed, String::new()) };
            let mut command = command(&suite.programs[program], names);
            command.env("LANEMARK_MUTANT", switch.to_string()).stdout(file);
            let outcome = run(&mut command, Duration::from_secs(10) + 8 * time);
            (outcome, fs::read_to_string(output).unwrap_or_default())
        };
        let (outcome, text) = failed(&names);
        let reported = failures(&text);
        match outcome {
            Outcome::Passed => {}
            Outcome::Failed if !reported.is_empty() => {
                all.extend(
                    names
                        .into_iter()
                        .filter(|name| reported.contains(name))
                        .map(|name| (program, name)),
                );
            }
            // The process ended without its list of failures, so each test runs in its own process.
            Outcome::Failed | Outcome::TimedOut => {
                for name in names {
                    if all.len() < 2 && failed(&[name]).0 != Outcome::Passed {
                        all.insert((program, name));
                    }
                }
            }
        }
    }
    let _ = fs::remove_file(output);
    all
}

/// Returns the names in the last list of failures that a test program printed.
fn failures(text: &str) -> BTreeSet<&str> {
    let list = text.rsplit_once("\nfailures:\n").map_or("", |(_, list)| list);
    list.lines().map_while(|line| line.strip_prefix("    ")).collect()
}

/// Returns the name of a test program without the hash that cargo appends.
fn name_of_program(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once('-').map_or(name.as_ref(), |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_the_names_in_the_last_list_of_a_test_program() {
        let text = "\nrunning 3 tests\nF.F\nfailures:\n\n---- a::one stdout ----\npanicked\n\n\nfailures:\n    a::one\n    b\n\n\
                    test result: FAILED. 1 passed; 2 failed\n";
        assert_eq!(failures(text), BTreeSet::from(["a::one", "b"]));
        assert!(failures("\nrunning 1 test\n.\ntest result: ok. 1 passed\n").is_empty());
    }
}
