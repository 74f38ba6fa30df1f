//! Changes the program in many locations, one at a time, and reports the changes that no test detects.
//!
//! `make mutants` runs a sample. All changes of the sample are built once, into a copy of the tree, each with its own
//! switch: `a < b` becomes `(if crate::switch::is_on(7) { a <= b } else { a < b })`. A first run of every test, with
//! all switches off, records the switches that the test reaches. Then each change is switched on, and only the tests
//! that reach its switch are run, the fastest first, until a test fails.
//!
//! | file | contents |
//! |---|---|
//! | `site` | the locations that can be changed, and their changes |
//! | `silent` | the changes that no test can detect, which are not made |
//! | `tree` | the copy of the tree with its switches |
//! | `tests` | the tests, with their times and the switches that they reach |
//! | `trial` | one change after the other |
//! | `witnesses` | the tests that are the only one to detect a change, for `--witnesses` |
//!
//! With `--witnesses`, the fast tests that reach a change run until two have failed. The result is a table of the
//! tests: the number of changes that each reaches, and the number that only this test detects. A test that is never the
//! only witness is a candidate for removal, not more: a sample contains few changes of a small function.
//!
//! The first line of the output states how many samples a complete run consists of; each sample is one `--shard`.

mod silent;
mod site;
mod tests;
mod tree;
mod trial;
mod witnesses;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use site::Site;
use tree::Tree;
use trial::Verdict;

/// Maximum share of the changes that may remain undetected.
const UNNOTICED_MAX: f64 = 0.10;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, usual: usize| -> Result<usize, String> {
        let Some(at) = arguments.iter().position(|argument| argument == name) else {
            return Ok(usual);
        };
        let text = arguments.get(at + 1).ok_or(format!("{name} requires a number"))?;
        text.parse().map_err(|_| format!("{name} {text} is not a number"))
    };
    let count = number("--count", 200)?.max(1);
    let shard = number("--shard", 0)?;
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let began = Instant::now();
    let sites = site::all(&root)?;
    let shards = sites.len().div_ceil(count);
    println!("{} locations can be changed: {shards} samples of {count}", sites.len());
    let mut tree = Tree::new(&root, sample(sites, count, shard % shards))?;
    tree.settle(count)?;
    println!("{} changes are built, after {} s", tree.sites.len(), began.elapsed().as_secs());
    let suite = tests::record(&mut tree)?;
    println!(
        "{} tests reach one or more of them, after {} s",
        suite.tests.len(),
        began.elapsed().as_secs()
    );
    if arguments.iter().any(|argument| argument == "--witnesses") {
        witnesses::write(&root.join("target/mutants/witnesses.csv"), &tree, &suite)?;
        println!("{} s in total", began.elapsed().as_secs());
        return Ok(ExitCode::SUCCESS);
    }
    let verdicts = trial::run_all(&tree, &suite);
    let code = report(&root, &tree, &verdicts)?;
    println!("{} s in total", began.elapsed().as_secs());
    Ok(code)
}

/// Returns the locations of a sample in a pseudorandom order, with some additional locations to replace changes that do
/// not compile. The order depends only on the file, the text and the change of each location, so that a sample keeps
/// its locations when the program changes elsewhere.
fn sample(mut sites: Vec<Site>, count: usize, shard: usize) -> Vec<Site> {
    let mut copies = HashMap::new();
    sites.sort_by_cached_key(|site| {
        let words = (site.file.clone(), site.before.clone(), site.after.clone());
        let copy = copies.entry(words).or_insert(0u64);
        *copy += 1;
        order_of(site, *copy)
    });
    let first = shard * count;
    let all = sites.len();
    sites.rotate_left(first.min(all));
    sites.truncate(count + count / 2);
    sites
}

/// Returns a pseudorandom number of a location, the `copy`-th in its file with the same text and change.
fn order_of(site: &Site, copy: u64) -> u64 {
    let file = site.file.to_string_lossy();
    let words =
        [file.as_bytes(), site.before.as_bytes(), site.after.as_bytes(), &copy.to_le_bytes()];
    // This is FNV-1a, with the last step of SplitMix64.
    let hash = words
        .iter()
        .flat_map(|word| word.iter().chain(&[0xff]))
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Prints the surviving changes, and writes them to `target/mutants/survivors.csv`.
fn report(root: &Path, tree: &Tree, verdicts: &[Verdict]) -> Result<ExitCode, String> {
    let mut survivors: Vec<usize> =
        (0..verdicts.len()).filter(|&number| verdicts[number] == Verdict::Unnoticed).collect();
    survivors.sort_by_key(|&number| (&tree.sites[number].file, tree.sites[number].line));
    let reasons = reasons(&root.join("mutants/reasons.csv"))?;
    let all = tree.sites.len();
    let share = survivors.len() as f64 / all.max(1) as f64;
    println!(
        "\n{} of {all} changes were noticed, {} were not: {:.1}%",
        all - survivors.len(),
        survivors.len(),
        100.0 * share
    );
    let only_golden = verdicts.iter().filter(|verdict| **verdict == Verdict::OnlyGolden).count();
    println!("{only_golden} changes were noticed only by comparing digits of whole studies");
    let mut table = String::from("file,line,change,reason\n");
    let mut unexplained = 0;
    for &number in &survivors {
        let site = &tree.sites[number];
        let key = (site.file.display().to_string(), site.description());
        let reason = reasons.get(&key).map_or("", String::as_str);
        unexplained += usize::from(reason.is_empty());
        println!("  {}:{}  {}  {reason}", key.0, site.line, key.1);
        table +=
            &format!("{},{},{},{}\n", quoted(&key.0), site.line, quoted(&key.1), quoted(reason));
    }
    write_whole(&root.join("target/mutants/survivors.csv"), &table)?;
    if unexplained > 0 {
        println!(
            "{unexplained} lack a reason: add a test, or, if the tests may miss the change, a line to mutants/reasons.csv"
        );
    }
    Ok(if share > UNNOTICED_MAX { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Replaces a file by one with this text.
fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    let new = path.with_extension("new");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the reasons why the tests may miss changes, by file and change.
fn reasons(path: &PathBuf) -> Result<HashMap<(String, String), String>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut all = HashMap::new();
    for line in text.lines().skip(1) {
        let cells = cells(line);
        let [file, change, reason] = &cells[..] else {
            return Err(format!(
                "{}: `{line}` has {} cells instead of 3",
                path.display(),
                cells.len()
            ));
        };
        all.insert((file.clone(), change.clone()), reason.clone());
    }
    Ok(all)
}

/// Returns the cells of a CSV line, quoted or not.
fn cells(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut cell = String::new();
    let mut inside = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if inside && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => inside = !inside,
            ',' if !inside => all.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    all.push(cell);
    all
}

/// Returns a CSV cell in quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod order_tests {
    use std::collections::HashSet;

    use super::*;
    use site::ChangeKind;

    fn sites(lines: impl Iterator<Item = usize>) -> Vec<Site> {
        let of = |line: usize| Site {
            file: PathBuf::from(format!("crates/{}.rs", line % 7)),
            line,
            range: line..line + 1,
            before: format!("a < {}", line / 14),
            after: format!("a <= {}", line / 14),
            kind: ChangeKind::Expression,
        };
        lines.map(of).collect()
    }

    #[test]
    fn a_sample_keeps_its_locations_when_others_are_added() {
        let lines =
            |sites: Vec<Site>| -> HashSet<usize> { sites.iter().map(|site| site.line).collect() };
        let before = lines(sample(sites(0..1_000), 200, 0));
        // A new function at the beginning of each file moves nothing into another sample, except at its end.
        let after = lines(sample(sites((2_000..2_070).chain(0..1_000)), 200, 0));
        assert!(before.intersection(&after).count() >= 270, "{:?}", before.difference(&after));
        let other = lines(sample(sites(0..1_000), 200, 3));
        // 100 locations of a sample are spares, which belong to the next sample.
        assert!(before.intersection(&other).count() == 0);
        assert_eq!(lines(sample(sites(0..1_000), 200, 0)), before);
    }
}
