//! The files with fio's output as results: one result per target, with all its tests.
//!
//! A target is identified by its path, by fio's version and engine, and by the disks that store it. If several files
//! contain tests with the same name, the names of the files distinguish them.

use std::collections::{HashMap, HashSet};
use std::slice;

use lanemark_schema::result::{
    MeasuredTarget, Provenance, RunResult, SCHEMA_VERSION, Target, TestResult, Warning,
};
use lanemark_schema::text::is_shown;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{AverageMethod, Test, TestOrder, Workload};

use super::draft::{DraftedTest, SuppliedSettings, TestDraft};
use super::read::{FioOutput, TESTS_MAX};
use crate::error::{FormatError, FormatErrors, shown};
use crate::partly::latency_warning;

/// A result from fio's output.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    /// Result of the run. Its provenance does not contain times or a command.
    pub result: RunResult,
    /// The files from which it was made.
    pub files: Vec<String>,
    /// Time at which fio began, in seconds since 1970, if a file states it.
    pub timestamp: Option<u64>,
    /// Sentences about values that could not be imported.
    pub notes: Vec<String>,
}

/// Returns the results in fio's output, one per target. `supplied` contains settings for tests that do not state them.
///
/// # Errors
/// Returns an error if a result would have too many tests, and one error per file with impossible values.
pub fn results(
    printed: Vec<FioOutput>,
    supplied: &SuppliedSettings,
) -> Result<Vec<ImportedResult>, FormatErrors> {
    let mut groups: Vec<Vec<FioOutput>> = Vec::new();
    for output in printed {
        match groups.iter_mut().find(|group| group[0].identity() == output.identity()) {
            Some(group) => group.push(output),
            None => groups.push(vec![output]),
        }
    }
    let mut all = Vec::new();
    for group in &groups {
        all.push(import_group(group, supplied).map_err(|error| {
            // The errors name the files that are invalid even by themselves.
            let errors = group
                .iter()
                .filter_map(|output| import_group(slice::from_ref(output), supplied).err());
            let errors: Vec<FormatError> = errors.collect();
            FormatErrors(if errors.is_empty() { vec![error] } else { errors })
        })?);
    }
    Ok(all)
}

impl FioOutput {
    /// Returns the path, the version, the engine, whether page caches were bypassed, and the disks.
    fn identity(&self) -> (Option<&str>, &str, Option<&str>, Option<bool>, &[String]) {
        let first = &self.drafts[0];
        let path = first.option("filename").or(first.option("directory"));
        (path, &self.version, first.engine(), first.direct(), &self.disks)
    }

    /// Returns the name of the file without its folder and extension.
    fn stem(&self) -> String {
        let stem = self.file.rsplit('/').next().unwrap_or(&self.file);
        let stem = stem.strip_suffix(".json").unwrap_or(stem);
        stem.chars().filter(|&letter| is_shown(letter)).take(200).collect()
    }
}

/// Returns one result for the files about one target.
fn import_group(
    group: &[FioOutput],
    supplied: &SuppliedSettings,
) -> Result<ImportedResult, FormatError> {
    let span = supplied.span;
    let mut files: Vec<String> = group.iter().map(|output| output.file.clone()).collect();
    files.dedup();
    let mut notes: Vec<String> = group.iter().flat_map(|output| output.notes.clone()).collect();
    let stem = match group {
        [first, ..] if files.len() == 1 => first.stem(),
        [first, ..] => format!("{}-and-{}-more", first.stem(), files.len() - 1),
        [] => String::new(),
    };
    let count: usize = group.iter().map(|output| output.drafts.len()).sum();
    if count > TESTS_MAX {
        let message = format!("{count} tests; the maximum of a result is {TESTS_MAX}");
        return Err(FormatError::file(&stem, message).hint("import fewer files at a time"));
    }
    let (path, version, engine, direct, disks) = group[0].identity();
    let size = size(group, span);
    let mut import = GroupImport::new(Workload {
        faults: Vec::new(),
        id: stem.clone(),
        name: format!("{stem}, measured by {}", shown(version)),
        repeats: repeats(group),
        average: average(group),
        order: TestOrder::Listed,
        tests: Vec::new(),
    });
    for (name, file, draft) in named_drafts(group) {
        import.add(name, draft.described_test(file, size, supplied), draft);
    }
    import.add_notes(&mut notes, size, span);
    let GroupImport { workload, tests, warnings, .. } = import;
    let end = workload.tests.iter().map(Test::end).max();
    let result = RunResult {
        inspection: None,
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        target: Target::Measured(MeasuredTarget {
            served: None,
            host: None,
            device: path.is_some_and(|path| path.starts_with("/dev/")),
            path: path.map_or(stem.clone(), str::to_owned),
            size_bytes: end.unwrap_or(Bytes::ZERO).max(span.unwrap_or(Bytes::ZERO)),
            file_system: None,
            block_device: if let [disk] = disks { Some(disk.clone()) } else { None },
            engine: format!("{}, {}", shown(version), engine.unwrap_or("engine not stated")),
            direct,
        }),
        complete: tests.iter().all(|test| test.samples.iter().all(|sample| sample.complete)),
        workload,
        tests,
        warnings,
    };
    let file = if let [output] = files.as_slice() { output } else { &stem };
    result
        .check()
        .map_err(|error| FormatError::file(file, format!("contains impossible values: {error}")))?;
    let timestamp = group.iter().filter_map(|output| output.timestamp).min();
    Ok(ImportedResult { result, files, timestamp, notes })
}

/// The result of a group while its tests are added, and the names of the tests that have a note.
struct GroupImport {
    workload: Workload,
    tests: Vec<TestResult>,
    warnings: Vec<Warning>,
    /// Tests whose part of the target is not stated.
    unplaced: NotedTests,
    /// Tests whose options are not all known.
    partly: NotedTests,
    /// Tests whose latencies exclude submission, and the maximum mean time of submission.
    submitted: NotedTests,
    submission_ns: f64,
}

impl GroupImport {
    fn new(workload: Workload) -> Self {
        Self {
            workload,
            tests: Vec::new(),
            warnings: Vec::new(),
            unplaced: NotedTests::default(),
            partly: NotedTests::default(),
            submitted: NotedTests::default(),
            submission_ns: 0.0,
        }
    }

    /// Adds the test of a draft.
    fn add(&mut self, name: String, described: DraftedTest, draft: &TestDraft) {
        if !draft.sample.errors.is_empty() {
            let errors = draft.sample.errors.clone();
            self.warnings.push(Warning::Failed { test: name.clone(), errors });
        }
        self.warnings.extend(latency_warning(&name, &draft.sample, false));
        if let Some(ns) = draft.submission_ns {
            self.submitted.add(&name);
            self.submission_ns = self.submission_ns.max(ns);
        }
        if let Some(what) = &described.contradiction {
            self.warnings
                .push(Warning::OptionsContradict { test: name.clone(), what: what.clone() });
        }
        let unstated = described.test.unstated();
        if !unstated.is_empty() {
            let (what, options): (Vec<&str>, Vec<&str>) = unstated.into_iter().unzip();
            self.warnings.push(Warning::NotStated {
                test: name.clone(),
                what: what.join(" and "),
                option: options.join(" and "),
            });
        }
        if !described.whole {
            self.partly.add(&name);
        }
        if !described.placed {
            self.unplaced.add(&name);
        }
        let test = Test { name, ..described.test };
        let samples = match &draft.own {
            Some(key) if key.fits(&draft.sample) => key.repeats.clone(),
            _ => vec![draft.sample.clone()],
        };
        self.tests.push(TestResult::new(&self.workload, &test, samples));
        self.workload.tests.push(test);
    }

    /// Adds the notes and warnings about all tests.
    fn add_notes(&mut self, notes: &mut Vec<String>, size: Bytes, span: Option<Bytes>) {
        self.partly
            .note(notes, "not all options are known, so the description of the test is incomplete");
        let begun = "latencies begin when a request is submitted; submission took up to";
        self.submitted
            .note(notes, &format!("{begun} {:.1} µs more on average", self.submission_ns / 1e3));
        let of_size = match span {
            Some(_) => format!("assumed to be {size}, as --span states"),
            None => format!(
                "assumed to be {size}, the minimum that was used; set the size of the file or device with --span"
            ),
        };
        self.unplaced.note(notes, &format!("the used part of the target is not stated: {of_size}"));
        if self.workload.repeats < 3 {
            self.warnings.push(Warning::FewRepeats { repeats: self.workload.repeats });
        }
    }
}

/// Returns the average that the headline figures use. It is the average that Lanemark's export names; otherwise it is
/// the mean, because fio prints no other average.
fn average(group: &[FioOutput]) -> AverageMethod {
    let key = group.iter().flat_map(|output| &output.drafts).find_map(|draft| draft.own.as_ref());
    key.map_or(AverageMethod::Mean, |key| key.average)
}

/// Returns the minimum number of repeats over all tests.
fn repeats(group: &[FioOutput]) -> u32 {
    let drafts = group.iter().flat_map(|output| &output.drafts);
    let repeats = drafts.map(|draft| match &draft.own {
        Some(key) if key.fits(&draft.sample) => key.repeats.len() as u32,
        _ => 1,
    });
    repeats.min().unwrap_or(1)
}

/// Returns the size of a target, which is `span` or, if that is `None`, the maximum that any test used.
fn size(group: &[FioOutput], span: Option<Bytes>) -> Bytes {
    let used_size = |output: &FioOutput, draft: &TestDraft| {
        draft.by_options(&output.file).map_or(draft.moved(), |described| described.test.end())
    };
    let all_sizes = || {
        group.iter().flat_map(|output| output.drafts.iter().map(|draft| used_size(output, draft)))
    };
    span.unwrap_or_else(|| all_sizes().max().unwrap_or(Bytes::mebi(1)))
}

/// Returns the drafts in all files, each with a unique name and the file that contains it.
fn named_drafts(group: &[FioOutput]) -> Vec<(String, &str, &TestDraft)> {
    // The numbers of the files that contain a test of each name.
    let mut files: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (index, output) in group.iter().enumerate() {
        for draft in &output.drafts {
            files.entry(&draft.name).or_default().insert(index);
        }
    }
    let mut taken: HashSet<String> = HashSet::new();
    let mut all = Vec::new();
    for output in group {
        for draft in &output.drafts {
            let several = files.get(draft.name.as_str()).is_some_and(|files| files.len() > 1);
            let name = if several {
                format!("{} ({})", draft.name, output.stem())
            } else {
                draft.name.clone()
            };
            let free = (2..).map(|count| format!("{name} ({count})"));
            let name = std::iter::once(name.clone()).chain(free).find(|name| !taken.contains(name));
            let name = name.unwrap_or_default();
            taken.insert(name.clone());
            all.push((name, output.file.as_str(), draft));
        }
    }
    all
}

/// The tests to which one note applies.
#[derive(Default)]
struct NotedTests {
    first: String,
    count: usize,
}

impl NotedTests {
    fn add(&mut self, test: &str) {
        if self.count == 0 {
            self.first = test.to_owned();
        }
        self.count += 1;
    }

    fn note(&self, notes: &mut Vec<String>, text: &str) {
        match self.count {
            0 => {}
            1 => notes.push(format!("{}: {text}", self.first)),
            count => notes.push(format!("{} and {} more tests: {text}", self.first, count - 1)),
        }
    }
}
