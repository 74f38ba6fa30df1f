//! The files of fio's output as results: one for all files of one target, with all tests.
//!
//! A target is told by its path, fio's version and engine, and the disks below it. Tests of one name in several files
//! are told apart by their file's name.

use std::collections::{HashMap, HashSet};
use std::slice;

use lanemark_core::result::{
    MeasuredTarget, Provenance, RunResult, SCHEMA_VERSION, Target, TestResult, Warning,
};
use lanemark_core::text::is_shown;
use lanemark_core::units::Bytes;
use lanemark_core::workload::{Average, Order, Test, Workload};

use super::draft::Draft;
use super::read::{Printed, TESTS_MAX};
use super::sampled::Known;
use crate::error::{FormatError, FormatErrors, shown};

/// A result of fio's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Result of the run. Its provenance has no times and no command.
    pub result: RunResult,
    /// The files that it was made of.
    pub files: Vec<String>,
    /// Time at which fio began, in seconds since 1970, where a file has it.
    pub timestamp: Option<u64>,
    /// Values that could not be kept, in sentences.
    pub notes: Vec<String>,
}

/// The results of all that fio printed, one for each target. `span` is the size of the target, for tests that do
/// not tell how much of it they used.
///
/// # Errors
/// Where a result would have too many tests, and for each file with values that cannot be.
pub fn results(printed: Vec<Printed>, span: Option<Bytes>) -> Result<Vec<Imported>, FormatErrors> {
    let mut groups: Vec<Vec<Printed>> = Vec::new();
    for one in printed {
        match groups.iter_mut().find(|group| group[0].identity() == one.identity()) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut all = Vec::new();
    for group in &groups {
        all.push(imported(group, span).map_err(|error| {
            // The files that are wrong by themselves are named.
            let own = group.iter().filter_map(|one| imported(slice::from_ref(one), span).err());
            let own: Vec<FormatError> = own.collect();
            FormatErrors(if own.is_empty() { vec![error] } else { own })
        })?);
    }
    Ok(all)
}

impl Printed {
    /// Path, version, engine, whether page caches were passed by, and disks.
    fn identity(&self) -> (Option<&str>, &str, &str, bool, &[String]) {
        let first = &self.drafts[0];
        let path = first.option("filename").or(first.option("directory"));
        let flag = |name: &str| first.option(name).map(|text| text != "0");
        let direct = flag("direct").or(flag("buffered").map(|buffered| !buffered));
        let engine = first.option("ioengine").unwrap_or("psync");
        (path, &self.version, engine, direct.unwrap_or(false), &self.disks)
    }

    /// The file's name without folder and ending.
    fn stem(&self) -> String {
        let stem = self.file.rsplit('/').next().unwrap_or(&self.file);
        let stem = stem.strip_suffix(".json").unwrap_or(stem);
        stem.chars().filter(|&letter| is_shown(letter)).take(200).collect()
    }
}

/// The result of the files of one target.
fn imported(group: &[Printed], span: Option<Bytes>) -> Result<Imported, FormatError> {
    let files: Vec<String> = group.iter().map(|one| one.file.clone()).collect();
    let mut notes: Vec<String> = group.iter().flat_map(|one| one.notes.clone()).collect();
    let stem = match group {
        [one] => one.stem(),
        [first, rest @ ..] => format!("{}-and-{}-more", first.stem(), rest.len()),
        [] => String::new(),
    };
    let count: usize = group.iter().map(|one| one.drafts.len()).sum();
    if count > TESTS_MAX {
        let message = format!("{count} tests: a result has at most {TESTS_MAX}");
        return Err(FormatError::file(&stem, message).hint("import fewer files at once"));
    }
    let (path, version, engine, direct, disks) = group[0].identity();
    let mut workload = Workload {
        faults: Vec::new(),
        id: stem.clone(),
        name: format!("{stem}, measured by {}", shown(version)),
        repeats: 1,
        average: Average::Mean,
        order: Order::Listed,
        tests: Vec::new(),
    };
    let size = size(group, span);
    let mut warnings = Vec::new();
    let mut tests: Vec<TestResult> = Vec::new();
    let (mut unplaced, mut partly, mut submitted) =
        (Noted::default(), Noted::default(), Noted::default());
    let mut submission_ns: f64 = 0.0;
    for (name, file, draft) in named(group) {
        if !draft.sample.errors.is_empty() {
            let errors = draft.sample.errors.clone();
            warnings.push(Warning::Failed { test: name.clone(), errors });
        }
        if let Known::Percentiles(known) = draft.known {
            warnings.push(Warning::FromPercentiles { test: name.clone(), known });
        }
        if let Some(ns) = draft.submission_ns {
            submitted.add(&name);
            submission_ns = submission_ns.max(ns);
        }
        let told = draft.told(file, size);
        if !told.whole {
            partly.add(&name);
        }
        if !told.placed {
            unplaced.add(&name);
        }
        let test = Test { name, ..told.test };
        tests.push(TestResult::new(&workload, &test, vec![draft.sample.clone()]));
        workload.tests.push(test);
    }
    partly.note(&mut notes, "not all options are known, and the test is told by a few");
    let begun = "latencies begin when a request is submitted, which took up to";
    submitted.note(&mut notes, &format!("{begun} {:.1} us more on average", submission_ns / 1e3));
    let of_size = match span {
        Some(_) => format!("taken as {size}, as --span says"),
        None => format!(
            "taken as {size}, which is used at least; give the size of the file or device with --span"
        ),
    };
    unplaced.note(&mut notes, &format!("how much of the target was used is not told: {of_size}"));
    warnings.push(Warning::FewRepeats { repeats: 1 });
    let end = workload.tests.iter().map(Test::end).max();
    let result = RunResult {
        inspection: None,
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        target: Target::Measured(MeasuredTarget {
            device: path.is_some_and(|path| path.starts_with("/dev/")),
            path: path.map_or(stem.clone(), str::to_owned),
            size_bytes: end.unwrap_or(Bytes::ZERO).max(span.unwrap_or(Bytes::ZERO)),
            file_system: None,
            block_device: if let [disk] = disks { Some(disk.clone()) } else { None },
            engine: format!("{}, {engine}", shown(version)),
            direct,
        }),
        complete: tests.iter().all(|test| test.samples.iter().all(|sample| sample.complete)),
        workload,
        tests,
        warnings,
    };
    let file = if let [one] = files.as_slice() { one } else { &stem };
    result
        .check()
        .map_err(|error| FormatError::file(file, format!("tells what cannot be: {error}")))?;
    let timestamp = group.iter().filter_map(|one| one.timestamp).min();
    Ok(Imported { result, files, timestamp, notes })
}

/// The size of a target: `span`, or where that is not told, the greatest that any test used of it.
fn size(group: &[Printed], span: Option<Bytes>) -> Bytes {
    let used = |one: &Printed, draft: &Draft| {
        draft.by_options(&one.file).map_or(draft.moved(), |told| told.test.end())
    };
    let all = || group.iter().flat_map(|one| one.drafts.iter().map(|draft| used(one, draft)));
    span.unwrap_or_else(|| all().max().unwrap_or(Bytes::mebi(1)))
}

/// The drafts of all files, each with a name of its own and its file.
fn named(group: &[Printed]) -> Vec<(String, &str, &Draft)> {
    // Files by the names of the tests in them.
    let mut files: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (place, one) in group.iter().enumerate() {
        for draft in &one.drafts {
            files.entry(&draft.name).or_default().insert(place);
        }
    }
    let mut taken: HashSet<String> = HashSet::new();
    let mut all = Vec::new();
    for one in group {
        for draft in &one.drafts {
            let several = files.get(draft.name.as_str()).is_some_and(|files| files.len() > 1);
            let name = match several {
                true => format!("{} ({})", draft.name, one.stem()),
                false => draft.name.clone(),
            };
            let free = (2..).map(|count| format!("{name} ({count})"));
            let name = std::iter::once(name.clone()).chain(free).find(|name| !taken.contains(name));
            let name = name.unwrap_or_default();
            taken.insert(name.clone());
            all.push((name, one.file.as_str(), draft));
        }
    }
    all
}

/// The tests that one note is about.
#[derive(Default)]
struct Noted {
    first: String,
    count: usize,
}

impl Noted {
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
