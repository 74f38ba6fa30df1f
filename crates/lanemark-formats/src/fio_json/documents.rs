//! The JSON documents in fio's output: one document, several in succession, or a list of documents.
//!
//! A file contains several documents for one of two reasons. With `--status-interval`, fio prints its figures
//! repeatedly, each time since the start, so only the last document counts. With `fio … >> FILE`, or a script that
//! collects results in a list, each document is a separate run. The start of the run distinguishes the two cases,
//! because snapshots have the same start. Lines that are not JSON, such as fio's warnings, are skipped and reported.

use serde_json::{Map, Value};

use crate::error::{FormatError, shown};

const DOCUMENTS_MAX: usize = 10_000;
/// Maximum number of positions at which a text looks like the beginning of JSON but is not JSON.
const FAILURES_MAX: usize = 64;

/// A document of fio's output.
pub(super) type FioDocument = Map<String, Value>;

/// The documents of a file in order, and the lines that were skipped.
pub(super) struct FioDocuments {
    pub(super) documents: Vec<FioDocument>,
    pub(super) notes: Vec<String>,
}

/// Returns all documents in the text; of several snapshots of one run, only the last.
///
/// # Errors
/// Returns an error if there is no JSON, if a document is damaged, or if there are more than 10,000 documents.
pub(super) fn documents(text: &str, file: &str) -> Result<FioDocuments, FormatError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut all: Vec<FioDocument> = Vec::new();
    let mut notes = Vec::new();
    let mut skipped: Vec<&str> = Vec::new();
    let mut failed: Option<FormatError> = None;
    let mut failures = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let line = rest.lines().next().unwrap_or_default();
        let begins = line.trim_start().starts_with(['{', '[']) && failures < FAILURES_MAX;
        if begins {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) if is_fio(&value) => {
                    at += values.byte_offset();
                    collect(value, &mut all);
                    if all.len() > DOCUMENTS_MAX {
                        let message = format!("more than {DOCUMENTS_MAX} documents of fio");
                        return Err(FormatError::file(file, message).hint("split the file"));
                    }
                    continue;
                }
                Some(Ok(Value::Object(other))) if all.is_empty() && failed.is_none() => {
                    // Other JSON is returned as it is, and the reader reports the missing keys.
                    all.push(other);
                    break;
                }
                Some(Err(error)) => {
                    failures += 1;
                    let lines = text[..at].matches('\n').count() + error.line();
                    let damaged =
                        FormatError::at(file, lines as u64, format!("not valid JSON: {error}"));
                    // A damaged fio document is an error, because its result would be lost.
                    let start = rest.char_indices().nth(2000).map_or(rest, |(end, _)| &rest[..end]);
                    if start.contains("\"fio version\"") {
                        return Err(damaged
                            .hint("remove the damaged document, or let fio complete its run"));
                    }
                    // A section of a job file also begins with a bracket.
                    if line.trim_start().starts_with('{') {
                        failed.get_or_insert(damaged.hint(HINT));
                    }
                }
                _ => {}
            }
        }
        if !line.trim().is_empty() {
            skipped.push(line);
        }
        at += rest.find('\n').map_or(rest.len(), |end| end + 1);
    }
    if all.is_empty() {
        let none = || FormatError::file(file, "it does not contain JSON").hint(HINT);
        return Err(failed.unwrap_or_else(none));
    }
    if let Some(line) = skipped.first() {
        let count = skipped.len();
        let lines = if count == 1 { "line that is not" } else { "lines that are not" };
        notes.push(format!("{file}: skipped {count} {lines} JSON: {}", shown(line)));
    }
    let before = all.len();
    let documents = last_snapshots(all);
    match before - documents.len() {
        0 => {}
        count => notes.push(format!(
            "{file}: {count} earlier snapshots of the same run (--status-interval); the last one is the result"
        )),
    }
    Ok(FioDocuments { documents, notes })
}

const HINT: &str = "use the output of fio with --output-format=json or json+";

fn is_fio(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.contains_key("fio version"),
        Value::Array(list) => !list.is_empty() && list.iter().all(is_fio),
        _ => false,
    }
}

fn collect(value: Value, all: &mut Vec<FioDocument>) {
    match value {
        Value::Object(object) => all.push(object),
        Value::Array(list) => list.into_iter().for_each(|one| collect(one, all)),
        _ => {}
    }
}

/// Returns the last document of each series of snapshots.
fn last_snapshots(all: Vec<FioDocument>) -> Vec<FioDocument> {
    let mut kept: Vec<FioDocument> = Vec::new();
    for document in all {
        match kept.last_mut() {
            Some(last) if continues(last, &document) => *last = document,
            _ => kept.push(document),
        }
    }
    kept
}

/// Returns whether `later` is a snapshot of the same run as `earlier`.
///
/// fio 3.33 and later versions print `job_start`, which identifies the run. In other versions, the time between the two
/// outputs is decisive: the next snapshot of a run is printed after the difference between the run times of the jobs,
/// but the output of a new run is printed after its whole run time.
fn continues(earlier: &FioDocument, later: &FioDocument) -> bool {
    let jobs = |document: &FioDocument| -> Vec<Value> {
        let list = document.get("jobs").or(document.get("client_stats"));
        list.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let before = jobs(earlier);
    let after = jobs(later);
    let is_same_job = |(a, b): (&Value, &Value)| {
        ["jobname", "groupid", "job options", "hostname"].iter().all(|key| a.get(key) == b.get(key))
    };
    if before.is_empty()
        || before.len() != after.len()
        || !before.iter().zip(&after).all(is_same_job)
    {
        return false;
    }
    let starts = before.iter().zip(&after).map(|(a, b)| (a.get("job_start"), b.get("job_start")));
    if let Some((Some(a), Some(b))) = starts.into_iter().next() {
        return a == b;
    }
    let has_grown = |(a, b): (&Value, &Value)| {
        ["read", "write", "trim", "mixed"].iter().all(|key| count(a, key) <= count(b, key))
    };
    let ran = runtime_ms(&before);
    let runs = runtime_ms(&after);
    if !before.iter().zip(&after).all(has_grown) || runs < ran {
        return false;
    }
    let printed = |document: &FioDocument| {
        let milliseconds = document.get("timestamp_ms").and_then(Value::as_f64);
        let seconds = document.get("timestamp").and_then(Value::as_f64);
        milliseconds.or(seconds.map(|seconds| seconds * 1e3))
    };
    match (printed(earlier), printed(later)) {
        (Some(first), Some(second)) => second - first < runs - ran / 2.0,
        _ => runs > ran,
    }
}

fn count(job: &Value, direction: &str) -> u64 {
    job.get(direction).and_then(|one| one.get("total_ios")).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the maximum run time of any direction in any job.
fn runtime_ms(jobs: &[Value]) -> f64 {
    let sides = jobs.iter().flat_map(|job| {
        ["read", "write", "trim", "mixed"].into_iter().filter_map(|key| job.get(key))
    });
    sides.filter_map(|side| side.get("runtime").and_then(Value::as_f64)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(timestamp: u64, runtime: u64, ios: u64) -> String {
        format!(
            r#"{{"fio version": "fio-3.30", "timestamp": {timestamp}, "jobs": [{{"jobname": "a",
 "read": {{"total_ios": {ios}, "runtime": {runtime}}}}}]}}"#
        )
    }

    fn counts(text: &str) -> Vec<u64> {
        let read = documents(text, "f").unwrap();
        read.documents.iter().map(|document| count(&document["jobs"][0], "read")).collect()
    }

    #[test]
    fn snapshots_count_once_and_runs_each() {
        let snapshots = [run(100, 1000, 10), run(101, 2000, 21), run(102, 3000, 30)].join("\n");
        assert_eq!(counts(&snapshots), [30]);
        let appended = [run(100, 1000, 10), run(102, 1000, 11), run(104, 1000, 9)].join("\n");
        assert_eq!(counts(&appended), [10, 11, 9]);
        // A longer run follows a shorter run, and its counts are higher in both directions.
        let longer = [run(100, 1000, 10), run(110, 9000, 100)].join("");
        assert_eq!(counts(&longer), [10, 100]);
        let both = format!("{snapshots}\n{}", run(200, 3000, 33));
        assert_eq!(counts(&both), [30, 33]);
        let list = format!("[{},\n{}]", run(100, 1000, 10), run(200, 1000, 20));
        assert_eq!(counts(&list), [10, 20]);
        let talking = format!("fio: warning\n{}\nbye", run(100, 1000, 10));
        assert_eq!(counts(&talking), [10]);
        assert_eq!(documents(&talking, "f").unwrap().notes.len(), 1);
    }

    #[test]
    fn a_damaged_document_is_an_error_with_its_line() {
        let cut = format!("{}\n{}", run(1, 1, 1), &run(2, 1, 2)[..60]);
        let error = documents(&cut, "f").err().unwrap().to_string();
        assert!(error.starts_with("f:3: not valid JSON"), "{error}");
        for text in ["", "\n\n", "no", "[global]\nrw=read", "[1, 2]"] {
            assert!(documents(text, "f").is_err(), "{text}");
        }
        let many = "[\n".repeat(100_000);
        assert!(documents(&many, "f").is_err());
    }

    #[test]
    fn the_maximum_number_of_documents_is_read_and_not_one_more() {
        // Each document is a separate run, because its counts are lower than the previous document's counts.
        let text: String = (0..=DOCUMENTS_MAX as u64).map(|n| run(n, 1, 1_000_000 - n)).collect();
        let (most, _) = text.split_at(text.rfind("{\"fio version").unwrap());
        assert_eq!(documents(most, "f").unwrap().documents.len(), DOCUMENTS_MAX);
        let error = documents(&text, "f").err().unwrap().to_string();
        assert!(error.contains("more than 10000 documents"), "{error}");
    }
}
