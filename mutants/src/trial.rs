//! Tries one change after another with the tests that meet it.

use std::sync::Mutex;
use std::time::Duration;

use crate::tests::{Outcome, Suite, Test, in_parallel, run};
use crate::tree::Tree;

/// Time of tests that run in one process, and their number.
const TOGETHER: Duration = Duration::from_millis(800);
const TOGETHER_MOST: usize = 40;
/// The maximum time of the tests of one change, without the change.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the numbers of the changes, counted from zero, that no test notices.
pub fn run_all(tree: &Tree, suite: &Suite) -> Vec<usize> {
    let survivors = Mutex::new(Vec::new());
    in_parallel(tree.sites.len(), |number| {
        if !is_noticed(suite, number + 1) {
            // An interrupted run has printed its results.
            let site = &tree.sites[number];
            println!(
                "  not noticed: {}:{}  {}",
                site.file.display(),
                site.line,
                site.description()
            );
            survivors.lock().unwrap_or_else(|error| error.into_inner()).push(number);
        }
    });
    let mut survivors = survivors.into_inner().unwrap_or_else(|error| error.into_inner());
    survivors.sort_by_key(|&number| (&tree.sites[number].file, tree.sites[number].line));
    survivors
}

fn is_noticed(suite: &Suite, switch: usize) -> bool {
    let mut left: Vec<&Test> =
        suite.tests.iter().filter(|test| test.meets.contains(&switch)).collect();
    let mut spent = Duration::ZERO;
    while let Some(first) = left.first() {
        if spent > PATIENCE {
            return false;
        }
        // The quickest test, with other tests of its program.
        let (program, mut time, mut names) = (first.program, Duration::ZERO, Vec::new());
        left.retain(|test| {
            let fits = names.is_empty()
                || test.program == program
                    && names.len() < TOGETHER_MOST
                    && time + test.time < TOGETHER;
            if fits {
                time += test.time;
                names.push(test.name.as_str());
            }
            !fits
        });
        spent += time;
        let limit = Duration::from_secs(10) + 8 * time;
        let once = || {
            run(&suite.programs[program], &names, limit, |command| {
                command.env("LANEMARK_MUTANT", switch.to_string());
            })
        };
        // A flaky test that also fails without the change is not counted.
        match once() {
            Outcome::Passed => {}
            Outcome::TimedOut => return true,
            Outcome::Failed if once() != Outcome::Passed => return true,
            Outcome::Failed => {}
        }
    }
    false
}
