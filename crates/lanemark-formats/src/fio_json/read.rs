//! fio's JSON output, read entry by entry.
//!
//! Read are `json` and `json+` of fio 2 and 3, of one machine (`jobs`) and of several (`client_stats`). What stands
//! before and after the JSON is left out and told. Entries of one name in one group are the clones of a job and
//! become one test; their figures are added.
//!
//! Not read: the steady state's data, the distribution of depths, disk utilisation of old versions, which has no
//! sizes.

use serde_json::{Map, Value};

use super::draft::{Draft, options};
use crate::error::{FormatError, shown};

/// Greatest number of tests that are read.
pub(super) const TESTS_MAX: usize = 10_000;

/// The content of a file of fio's output.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The file as errors call it.
    pub(super) file: String,
    pub(super) version: String,
    /// Time at which fio began, in seconds since 1970.
    pub(super) timestamp: Option<u64>,
    /// Block devices below the target, in fio's order; disk utilisation has no sizes.
    pub(super) disks: Vec<String>,
    pub(super) drafts: Vec<Draft>,
    pub(super) notes: Vec<String>,
}

/// Reads fio's JSON. `file` is what errors call it.
///
/// # Errors
/// Where it is no output of fio, or a figure in it is none.
pub fn read(text: &str, file: &str) -> Result<Printed, FormatError> {
    let mut notes = Vec::new();
    let root = root(text, file, &mut notes)?;
    let version = root.get("fio version").and_then(Value::as_str).unwrap_or("");
    let known = ["fio-2", "fio-3", "fio-4"].iter().any(|known| version.starts_with(known));
    if !known {
        let message = match version {
            "" => "there is no `fio version` in it".to_owned(),
            version => format!("`{}` is no version of fio that is known", shown(version)),
        };
        let hint = "give the output of fio 2 or 3 with --output-format=json or json+";
        return Err(FormatError::file(file, message).hint(hint));
    }
    let (entries, clients) = match (root.get("jobs"), root.get("client_stats")) {
        (Some(Value::Array(jobs)), _) => (jobs, false),
        (None, Some(Value::Array(clients))) => (clients, true),
        _ => return Err(FormatError::file(file, "there is no list `jobs` in it").hint(HINT)),
    };
    let global = options(root.get("global options"));
    let mut drafts: Vec<Draft> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.get("jobname").and_then(Value::as_str) == Some("All clients") {
            notes.push(format!(
                "{file}: the sum over all clients is left out: it is of the entries before"
            ));
            continue;
        }
        let draft = Draft::read(entry, &global, clients).map_err(|wrong| {
            FormatError::file(file, format!("entry {} of its jobs: {wrong}", index + 1)).hint(HINT)
        })?;
        match drafts.iter().position(|other| other.same(&draft)) {
            Some(at) => drafts[at].add(&draft),
            None if drafts.len() < TESTS_MAX => drafts.push(draft),
            None => return Err(FormatError::file(file, "there are more than 10,000 jobs in it")),
        }
    }
    if drafts.is_empty() {
        return Err(FormatError::file(file, "its list of jobs is empty").hint(HINT));
    }
    drafts.iter_mut().for_each(Draft::finish);
    let disks = root.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    let name = |disk: &Value| disk.get("name").and_then(Value::as_str).map(shown);
    let disks = disks.filter_map(name).collect();
    let timestamp = root.get("timestamp").and_then(Value::as_u64);
    let (file, version) = (file.to_owned(), version.to_owned());
    Ok(Printed { file, version, timestamp, disks, drafts, notes })
}

const HINT: &str = "is it whole, and fio's own?";

/// Returns the first JSON object in the text.
fn root(
    text: &str,
    file: &str,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>, FormatError> {
    let starts = text.match_indices('{').map(|(at, _)| at);
    let lines = starts.filter(|&at| at == 0 || text[..at].ends_with(['\n', '\u{feff}']));
    let mut failed: Option<(usize, serde_json::Error)> = None;
    for start in lines.take(64) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(root))) => {
                let before = text[..start].trim_start_matches('\u{feff}').trim();
                let behind = text[start + values.byte_offset()..].trim();
                for (what, part) in [("before", before), ("behind", behind)] {
                    if let Some(line) = part.lines().next() {
                        let count = part.lines().count();
                        notes.push(format!(
                            "{file}: {count} lines {what} the JSON left out: {}",
                            shown(line)
                        ));
                    }
                }
                return Ok(root);
            }
            Some(Err(error)) if failed.is_none() => failed = Some((start, error)),
            _ => {}
        }
    }
    let hint = "give the output of fio with --output-format=json or json+";
    Err(match failed {
        Some((start, error)) => {
            let line = text[..start].matches('\n').count() + error.line();
            FormatError::at(file, line as u64, format!("is no JSON: {error}")).hint(hint)
        }
        None => FormatError::file(file, "there is no JSON in it").hint(hint),
    })
}
