//! Notes on the rows of a run, one sentence each: which tests ran in parallel, and which tests copied data.

use std::ops::Range;

use lanemark_schema::result::{RunResult, TestResult};

use crate::text::number::significant;

/// Returns the notes on the rows of a run; empty if no tests ran in parallel and no test copied data.
pub(crate) fn sentences(run: &RunResult) -> Vec<String> {
    let groups = run.workload.groups().into_iter().filter(|group| group.len() > 1);
    let groups = groups.map(|group| describe_group(run, group));
    let copies = run.tests.iter().filter(|result| result.test.mix().copy_to.is_some());
    groups.chain(copies.filter_map(copied)).collect()
}

fn describe_group(run: &RunResult, group: Range<usize>) -> String {
    let names: Vec<&str> =
        run.workload.tests[group].iter().map(|test| test.name.as_str()).collect();
    let names = names.join(", ");
    format!(
        "These tests ran in parallel and are counted separately: {names}. The figures for drives and hops cover all of these tests."
    )
}

/// Returns the rate of the copy, which is half of the transferred data.
fn copied(result: &TestResult) -> Option<String> {
    let written = result.samples.iter().map(|sample| {
        let bytes = sample.writes.as_ref().map_or(0, |writes| writes.bytes.get());
        bytes as f64 / sample.elapsed.as_seconds()
    });
    let rate = written.sum::<f64>() / result.samples.len().max(1) as f64;
    let name = &result.test.name;
    let sentence = || {
        format!(
            "{name}: each block is read and written; {} MB/s were copied.",
            significant(rate / 1e6)
        )
    };
    (rate > 0.0).then(sentence)
}
