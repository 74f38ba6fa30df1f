//! Tries the changes, one after another, with the tests that reach them.

use std::sync::Mutex;
use std::time::Duration;

use crate::tests::{ChangeKind, Outcome, Suite, Test, command, in_parallel, run};
use crate::tree::Tree;

/// Maximum total time of the tests that run in one process.
const TOGETHER: Duration = Duration::from_millis(800);
/// Maximum number of tests that run in one process.
const TOGETHER_MOST: usize = 40;
/// Maximum total time of the tests for one change, measured without the change.
const PATIENCE: Duration = Duration::from_secs(120);

/// The reaction of the tests to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Noticed,
    /// Only the comparison of the digits of whole studies failed.
    OnlyGolden,
    Unnoticed,
}

pub fn run_all(tree: &Tree, suite: &Suite) -> Vec<Verdict> {
    let verdicts = Mutex::new(vec![Verdict::Noticed; tree.sites.len()]);
    in_parallel(tree.sites.len(), |number| {
        let verdict = verdict(suite, number + 1);
        if verdict != Verdict::Noticed {
            // Each result is printed immediately, so that it is not lost if the run is interrupted.
            let site = &tree.sites[number];
            let how = if verdict == Verdict::OnlyGolden { "only by digits" } else { "not noticed" };
            println!("  {how}: {}:{}  {}", site.file.display(), site.line, site.description());
        }
        verdicts.lock().unwrap_or_else(|error| error.into_inner())[number] = verdict;
    });
    verdicts.into_inner().unwrap_or_else(|error| error.into_inner())
}

fn verdict(suite: &Suite, switch: usize) -> Verdict {
    let is_golden = |test: &&Test| suite.programs[test.program].kind == ChangeKind::Golden;
    let met = || suite.tests.iter().filter(|test| test.meets.contains(&switch));
    if fails(suite, switch, met().filter(|test| !is_golden(test)).collect()) {
        Verdict::Noticed
    } else if fails(suite, switch, met().filter(is_golden).collect()) {
        Verdict::OnlyGolden
    } else {
        Verdict::Unnoticed
    }
}

/// Tests of one program that run in one process.
pub struct Group<'suite> {
    pub program: usize,
    /// Total time of the tests, measured without a change.
    pub time: Duration,
    pub names: Vec<&'suite str>,
}

/// Removes the first test from `left`, and with it other tests of its program.
pub fn take_group<'suite>(left: &mut Vec<&'suite Test>) -> Group<'suite> {
    let program = left.first().map_or(0, |first| first.program);
    let mut group = Group { program, time: Duration::ZERO, names: Vec::new() };
    left.retain(|test| {
        let fits = group.names.is_empty()
            || test.program == program
                && group.names.len() < TOGETHER_MOST
                && group.time + test.time < TOGETHER;
        if fits {
            group.time += test.time;
            group.names.push(test.name.as_str());
        }
        !fits
    });
    group
}

/// Runs tests until one fails.
fn fails(suite: &Suite, switch: usize, mut left: Vec<&Test>) -> bool {
    let mut spent = Duration::ZERO;
    while !left.is_empty() {
        if spent > PATIENCE {
            return false;
        }
        let Group { program, time, names } = take_group(&mut left);
        spent += time;
        let limit = Duration::from_secs(10) + 8 * time;
        let once = || {
            let mut command = command(&suite.programs[program], &names);
            run(command.env("LANEMARK_MUTANT", switch.to_string()), limit)
        };
        // A test that also fails without the change is flaky and not counted.
        match once() {
            Outcome::Passed => {}
            Outcome::TimedOut => return true,
            Outcome::Failed if once() != Outcome::Passed => return true,
            Outcome::Failed => {}
        }
    }
    false
}
