//! fio's JSON output, read entry by entry.
//!
//! The reader supports `json` and `json+` from fio 2 and 3, for one machine (`jobs`) and for several (`client_stats`).
//! Entries with the same name in the same group are the clones of a job; they become one test, and their figures are
//! added.
//!
//! The steady-state data, the distribution of depths, and the disk utilisation of old versions, which does not contain
//! sizes, are not read.

use serde_json::Value;

use super::documents::{FioDocument, documents};
use super::draft::{TestDraft, options};
use crate::error::{FormatError, shown};
use crate::phases::PHASES;

pub(super) const TESTS_MAX: usize = 10_000;

/// The content of a file with fio's output.
#[derive(Clone, Debug)]
pub struct FioOutput {
    /// The name of the file in errors.
    pub(super) file: String,
    pub(super) version: String,
    /// Time at which fio began, in seconds since 1970.
    pub(super) timestamp: Option<u64>,
    /// The block devices that store the target, in fio's order. Their sizes are not known, because fio's disk
    /// utilisation does not contain them.
    pub(super) disks: Vec<String>,
    pub(super) drafts: Vec<TestDraft>,
    pub(super) notes: Vec<String>,
}

/// Reads all runs in a file of fio's JSON. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error if the file is not fio's output, or if it contains an invalid figure.
pub fn read(text: &str, file: &str) -> Result<Vec<FioOutput>, FormatError> {
    let found = documents(text, file)?;
    let mut notes = found.notes;
    let document_of = |root| document(root, file, std::mem::take(&mut notes));
    found.documents.iter().map(document_of).collect()
}

fn document(
    root: &FioDocument,
    file: &str,
    mut notes: Vec<String>,
) -> Result<FioOutput, FormatError> {
    let version = root.get("fio version").and_then(Value::as_str).unwrap_or("");
    let known = ["fio-2", "fio-3", "fio-4"].iter().any(|known| version.starts_with(known));
    if !known {
        let message = match version {
            "" => "`fio version` is missing".to_owned(),
            version => format!("`{}` is not a known version of fio", shown(version)),
        };
        let hint = "use the output of fio 2 or 3 with --output-format=json or json+";
        return Err(FormatError::file(file, message).hint(hint));
    }
    let (entries, clients) = match (root.get("jobs"), root.get("client_stats")) {
        (Some(Value::Array(jobs)), _) => (jobs, false),
        (None, Some(Value::Array(clients))) => (clients, true),
        _ => return Err(FormatError::file(file, "the list `jobs` is missing").hint(HINT)),
    };
    let global = options(root.get("global options"));
    let mut drafts: Vec<TestDraft> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.get("jobname").and_then(Value::as_str) == Some("All clients") {
            notes.push(format!(
                "{file}: the sum over all clients is skipped, because it repeats the earlier entries"
            ));
            continue;
        }
        let phases = TestDraft::read(entry, &global, clients).map_err(|wrong| {
            FormatError::file(file, format!("entry {} of its jobs: {wrong}", index + 1)).hint(HINT)
        })?;
        if let [first, _, ..] = &phases[..] {
            notes.push(format!("{}: {PHASES}", first.name));
        }
        for draft in phases {
            match drafts.iter().position(|other| other.same(&draft)) {
                Some(at) => drafts[at].add(&draft),
                None if drafts.len() < TESTS_MAX => drafts.push(draft),
                None => return Err(FormatError::file(file, "it contains more than 10,000 jobs")),
            }
        }
    }
    if drafts.is_empty() {
        return Err(FormatError::file(file, "its list of jobs is empty").hint(HINT));
    }
    drafts.iter_mut().for_each(TestDraft::finish);
    let disks = root.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    let name = |disk: &Value| disk.get("name").and_then(Value::as_str).map(shown);
    let disks = disks.filter_map(name).collect();
    let timestamp = root.get("timestamp").and_then(Value::as_u64);
    Ok(FioOutput {
        file: file.to_owned(),
        version: version.to_owned(),
        timestamp,
        disks,
        drafts,
        notes,
    })
}

const HINT: &str = "check that the file is complete and was written by fio";
