//! The result of another program's run, from the tests that a reader found.

use std::collections::{HashMap, HashSet};

use lanemark_schema::result::{
    MeasuredTarget, Provenance, RunResult, SCHEMA_VERSION, Sample, Target, TestResult, Warning,
};
use lanemark_schema::text::is_shown;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{AverageMethod, Pattern, Test, TestOrder, Workload};

use crate::error::{FormatError, shown};
use crate::partly::latency_warning;

/// A result from the output of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    /// Result of the run. Its provenance does not contain times or a command.
    pub result: RunResult,
    /// The files from which it was made.
    pub files: Vec<String>,
    /// Time at which the program began, in seconds since 1970, if a file states it.
    pub timestamp: Option<u64>,
    /// Sentences about values that could not be imported.
    pub notes: Vec<String>,
}

/// Settings that the user supplies for tests that do not state them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuppliedSettings {
    /// The size of the target.
    pub span: Option<Bytes>,
    /// The access pattern.
    pub pattern: Option<Pattern>,
    /// Number of outstanding requests per thread.
    pub queue_depth: Option<u32>,
}

/// The engine of a target if the source does not state it.
pub(crate) const NOT_STATED: &str = "engine not stated";
/// Maximum length of a name, in characters.
const NAME_MAX: usize = 200;

/// A result under construction.
pub(crate) struct ResultDraft<'s> {
    supplied: &'s SuppliedSettings,
    /// The size of the target for tests that do not state it.
    pub(crate) size: Bytes,
    pub(crate) workload: Workload,
    tests: Vec<TestResult>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) notes: Vec<String>,
    /// The tests that do not state which part of the target they use.
    unplaced: NotedTests,
    /// The tests whose latencies do not include submission, and the maximum mean time of submission.
    submitted: NotedTests,
    submission_ns: f64,
    /// The tests that the source lists without any request.
    not_run: NotedTests,
}

/// A test of a result under construction.
pub(crate) struct ImportedTest<'d> {
    pub(crate) test: Test,
    /// The repeats.
    pub(crate) samples: Vec<Sample>,
    /// The figures as the program printed them.
    pub(crate) printed: &'d Sample,
    /// The contradiction between settings and figures, if there is one.
    pub(crate) contradiction: Option<Warning>,
    /// Whether the program states which part of the target the test uses.
    pub(crate) placed: bool,
    /// The mean time of submission, if the latencies do not include that time.
    pub(crate) submission_ns: Option<f64>,
}

impl<'s> ResultDraft<'s> {
    /// Creates a result without tests; `stem` names it, and `program` measured it.
    pub(crate) fn new(
        stem: &str,
        program: &str,
        size: Bytes,
        supplied: &'s SuppliedSettings,
    ) -> Self {
        let workload = Workload {
            faults: Vec::new(),
            id: stem.to_owned(),
            name: format!("{stem}, measured by {}", shown(program)),
            repeats: 1,
            average: AverageMethod::Mean,
            order: TestOrder::Listed,
            precondition: None,
            tests: Vec::new(),
        };
        Self {
            supplied,
            size,
            workload,
            tests: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            unplaced: NotedTests::default(),
            submitted: NotedTests::default(),
            submission_ns: 0.0,
            not_run: NotedTests::default(),
        }
    }

    /// Adds a test, with the warnings about its figures. A test without any request was not run, and is omitted.
    pub(crate) fn add(&mut self, added: ImportedTest<'_>) {
        let ImportedTest { test, samples, printed, contradiction, placed, submission_ns } = added;
        if is_blank(printed) && samples.iter().all(is_blank) {
            self.not_run.add(&test.name);
            return;
        }
        let name = || test.name.clone();
        if !printed.errors.is_empty() {
            let errors = printed.errors.clone();
            self.warnings.push(Warning::Failed { test: name(), errors });
        }
        let is_rate = |warning: &Warning| matches!(warning, Warning::RatesOnly { .. });
        let are_rates = self.warnings.iter().any(is_rate);
        self.warnings.extend(latency_warning(&test.name, printed, are_rates));
        self.warnings.extend(contradiction);
        let (what, options): (Vec<&str>, Vec<&str>) = test.unstated().into_iter().unzip();
        if !what.is_empty() {
            self.warnings.push(Warning::NotStated {
                test: name(),
                what: what.join(" and "),
                option: options.join(" and "),
            });
        }
        if !placed {
            self.unplaced.add(&test.name);
        }
        if let Some(ns) = submission_ns {
            self.submitted.add(&test.name);
            self.submission_ns = self.submission_ns.max(ns);
        }
        self.tests.push(TestResult::new(&self.workload, &test, samples));
        self.workload.tests.push(test);
    }

    /// Returns the result of a run on `target`. `file` is its name in errors.
    ///
    /// # Errors
    /// Returns an error if a figure is impossible.
    pub(crate) fn finish(
        mut self,
        file: &str,
        target: MeasuredTarget,
    ) -> Result<ImportedResult, FormatError> {
        if self.tests.is_empty() {
            return Err(FormatError::file(file, "no test with requests")
                .hint("check that the file is complete"));
        }
        self.not_run.note(&mut self.notes, "omitted, because no request is listed: not run");
        let begun = "latencies begin when a request is submitted; submission took up to";
        let submission_us = self.submission_ns / 1e3;
        self.submitted
            .note(&mut self.notes, &format!("{begun} {submission_us:.1} µs more on average"));
        let size = self.size;
        let span = self.supplied.span;
        let origin = match span {
            Some(_) => "as --span states",
            None => "the minimum that was used; set the size of the file or device with --span",
        };
        let assumed = format!("assumed to be {size}, {origin}");
        let text = format!("the used part of the target is not stated: {assumed}");
        self.unplaced.note(&mut self.notes, &text);
        let repeats = self.workload.repeats;
        let is_best = |warning: &Warning| matches!(warning, Warning::BestOfRuns { .. });
        if repeats < 3 && !self.warnings.iter().any(is_best) {
            self.warnings.push(Warning::FewRepeats { repeats });
        }
        let end = self.workload.tests.iter().map(Test::end).max().unwrap_or(Bytes::ZERO);
        let is_stated = self.unplaced.count == 0 || span.is_some();
        let size_bytes = is_stated.then(|| end.max(span.unwrap_or(Bytes::ZERO)));
        let mut samples = self.tests.iter().flat_map(|test| &test.samples);
        let result = RunResult {
            inspection: None,
            power_cuts: Vec::new(),
            schema_version: SCHEMA_VERSION,
            provenance: Provenance::default(),
            target: Target::Measured(MeasuredTarget { size_bytes, ..target }),
            complete: samples.all(|sample| sample.complete),
            workload: self.workload,
            tests: self.tests,
            warnings: self.warnings,
        };
        result.check().map_err(|error| {
            FormatError::file(file, format!("contains impossible values: {error}"))
        })?;
        let files = vec![file.to_owned()];
        Ok(ImportedResult { result, files, timestamp: None, notes: self.notes })
    }
}

/// Returns whether a sample contains neither a request nor an error.
fn is_blank(sample: &Sample) -> bool {
    let directions =
        [&sample.reads, &sample.writes, &sample.unified, &sample.trims, &sample.flushes];
    directions.into_iter().all(Option::is_none) && sample.errors.is_empty()
}

/// Returns a target with a path. All other values are unknown.
pub(crate) fn target_at(path: &str) -> MeasuredTarget {
    MeasuredTarget {
        served: None,
        host: None,
        device: None,
        path: path.to_owned(),
        size_bytes: None,
        file_system: None,
        block_device: None,
        engine: String::new(),
        direct: None,
    }
}

/// Returns a name without the characters that are not shown, and not longer than the maximum.
pub(crate) fn clean_name(name: &str) -> String {
    name.chars().filter(|&letter| is_shown(letter)).take(NAME_MAX).collect()
}

/// The names of tests. Tests with equal names are numbered.
#[derive(Default)]
pub(crate) struct TestNames {
    taken: HashSet<String>,
    /// The number that the next test with this name receives.
    next: HashMap<String, u64>,
}

impl TestNames {
    /// Returns `name`, or `name` with the first number that makes it unique.
    pub(crate) fn take(&mut self, name: String) -> String {
        if self.taken.insert(name.clone()) {
            return name;
        }
        let next = self.next.entry(name.clone()).or_insert(2);
        loop {
            let numbered = format!("{name} ({next})");
            *next += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// The tests to which one note applies.
#[derive(Default)]
pub(crate) struct NotedTests {
    first: String,
    count: usize,
}

impl NotedTests {
    pub(crate) fn add(&mut self, test: &str) {
        if self.count == 0 {
            self.first = test.to_owned();
        }
        self.count += 1;
    }

    pub(crate) fn note(&self, notes: &mut Vec<String>, text: &str) {
        match self.count {
            0 => {}
            1 => notes.push(format!("{}: {text}", self.first)),
            count => notes.push(format!("{} and {} more: {text}", self.first, count - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_receive_the_next_free_number() {
        let mut names = TestNames::default();
        let taken = ["a", "a", "a (3)", "a", "b"].map(|name| names.take(name.to_owned()));
        assert_eq!(taken, ["a", "a (2)", "a (3)", "a (4)", "b"]);
    }
}
