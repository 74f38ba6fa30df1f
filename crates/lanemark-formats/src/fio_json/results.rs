//! The files with fio's output as results: one result per target, with all its tests.
//!
//! A target is identified by its path, by fio's version and engine, and by the disks that store it. If several files
//! contain tests with the same name, the names of the files distinguish them.

use std::collections::{HashMap, HashSet};
use std::slice;

use lanemark_schema::result::{MeasuredTarget, Warning};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{AverageMethod, Test};

use super::draft::TestDraft;
use super::read::{FioOutput, TESTS_MAX};
use crate::error::{FormatError, FormatErrors, shown};
use crate::imported::{
    ImportedResult, ImportedTest, NOT_STATED, NotedTests, ResultDraft, SuppliedSettings, TestNames,
    clean_name, target_at,
};

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
        clean_name(stem)
    }
}

/// Returns one result for the files about one target.
fn import_group(
    group: &[FioOutput],
    supplied: &SuppliedSettings,
) -> Result<ImportedResult, FormatError> {
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
        return Err(FormatError::file(&stem, message).hint("name fewer files at a time"));
    }
    let (path, version, engine, direct, disks) = group[0].identity();
    let mut result = ResultDraft::new(&stem, version, size(group, supplied.span), supplied);
    result.workload.repeats = repeats(group);
    result.workload.average = average(group);
    let mut partly = NotedTests::default();
    for (name, file, draft) in named_drafts(group) {
        let described = draft.described_test(file, result.size, supplied);
        if !described.whole {
            partly.add(&name);
        }
        let contradiction = described
            .contradiction
            .map(|what| Warning::OptionsContradict { test: name.clone(), what });
        let samples = match &draft.own {
            Some(key) if key.fits(&draft.sample) => key.repeats.clone(),
            _ => vec![draft.sample.clone()],
        };
        result.add(ImportedTest {
            test: Test { name, ..described.test },
            samples,
            printed: &draft.sample,
            contradiction,
            placed: described.placed,
            submission_ns: draft.submission_ns,
        });
    }
    partly.note(
        &mut notes,
        "not all options are known, so the description of the test is incomplete",
    );
    result.notes = notes;
    let target = MeasuredTarget {
        device: path.map(|path| path.starts_with("/dev/")),
        block_device: if let [disk] = disks { Some(disk.clone()) } else { None },
        engine: format!("{}, {}", shown(version), engine.unwrap_or(NOT_STATED)),
        direct,
        ..target_at(path.unwrap_or(&stem))
    };
    let file = if let [output] = files.as_slice() { output } else { &stem };
    let timestamp = group.iter().filter_map(|output| output.timestamp).min();
    Ok(ImportedResult { timestamp, files: files.clone(), ..result.finish(file, target)? })
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
    let mut names = TestNames::default();
    let mut all = Vec::new();
    for output in group {
        for draft in &output.drafts {
            let several = files.get(draft.name.as_str()).is_some_and(|files| files.len() > 1);
            let name = if several {
                format!("{} ({})", draft.name, output.stem())
            } else {
                draft.name.clone()
            };
            let name = names.take(name);
            all.push((name, output.file.as_str(), draft));
        }
    }
    all
}
