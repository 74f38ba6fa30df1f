//! fio's JSON output as a result.
//!
//! Read are `json` and `json+` of fio 2 and 3, of one machine (`jobs`) and of several (`client_stats`). What stands
//! before and after the JSON is left out and told. Entries of one name in one group are the clones of a job and
//! become one test; their figures are added. The tests are what the job options say, read as a job file.
//!
//! Not read: the steady state's data, the distribution of depths, disk utilisation of old versions, which has no
//! sizes.

use lanemark_core::result::{
    MeasuredTarget, Provenance, RunResult, SCHEMA_VERSION, Sample, Target, TestResult, Warning,
};
use lanemark_core::text::is_shown;
use lanemark_core::units::{Bytes, Duration, Ratio};
use lanemark_core::workload::{Average, Load, Mix, Order, Pattern, Start, Test, Workload};
use serde_json::{Map, Value};

use super::sampled::{self, Known};
use crate::error::{FormatError, shown};
use crate::fio::{self, Surroundings};

/// Greatest number of tests that are read.
const TESTS_MAX: usize = 10_000;

/// The content of a file of fio's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Result of the run. Its provenance has no times and no command.
    pub result: RunResult,
    /// Time at which fio began, in seconds since 1970, where the file has it.
    pub timestamp: Option<u64>,
    /// Values that could not be kept, in sentences.
    pub notes: Vec<String>,
}

/// Reads fio's JSON. `file` is what errors call it.
///
/// # Errors
/// Where it is no output of fio, or a figure in it is none.
pub fn read(text: &str, file: &str) -> Result<Imported, FormatError> {
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
            notes.push(
                "the sum over all clients is left out: it is of the entries before".to_owned(),
            );
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
    let timestamp = root.get("timestamp").and_then(Value::as_u64);
    let result = result(&drafts, version, file, &mut notes);
    result
        .check()
        .map_err(|error| FormatError::file(file, format!("tells what cannot be: {error}")))?;
    Ok(Imported { result, timestamp, notes })
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
                            "{count} lines {what} the JSON left out: {}",
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

/// Job options as text, whatever type they have.
fn options(value: Option<&Value>) -> Vec<(String, String)> {
    // Old versions have a list of one.
    let object = match value {
        Some(Value::Array(list)) => list.first().and_then(Value::as_object),
        Some(value) => value.as_object(),
        None => None,
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    object.into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// A test before its place among the others is known.
struct Draft {
    name: String,
    group: Option<u64>,
    options: Vec<(String, String)>,
    sample: Sample,
    known: Known,
    submission_ns: Option<f64>,
    entries: u32,
}

impl Draft {
    fn read(entry: &Value, global: &[(String, String)], clients: bool) -> Result<Self, String> {
        let name = entry.get("jobname").and_then(Value::as_str).ok_or("there is no jobname")?;
        let name: String = name.chars().filter(|&letter| is_shown(letter)).take(200).collect();
        let host = entry.get("hostname").and_then(Value::as_str).filter(|_| clients);
        let name = match host {
            Some(host) => format!("{name} on {}", shown(host)),
            None => name,
        };
        let mut all = global.to_vec();
        for (name, value) in options(entry.get("job options")) {
            all.retain(|(other, _)| *other != name);
            all.push((name, value));
        }
        let read =
            sampled::read(entry).map_err(|wrong| format!("job `{}`: {wrong}", shown(&name)))?;
        Ok(Self {
            name,
            group: entry.get("groupid").and_then(Value::as_u64),
            options: all,
            sample: read.sample,
            known: read.known,
            submission_ns: read.submission_ns,
            entries: 1,
        })
    }

    fn same(&self, other: &Self) -> bool {
        self.name == other.name && self.group == other.group && self.options == other.options
    }

    fn add(&mut self, other: &Self) {
        sampled::add(&mut self.sample, &other.sample);
        self.entries += 1;
        if let Known::Percentiles(_) = other.known {
            self.known = other.known;
        }
    }

    fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the job's test, as far as its options tell.
    fn test(&self, name: String, file: &str, notes: &mut Vec<String>) -> Test {
        let moved = Bytes(self.sample.bytes().get().max(1 << 20));
        let clean = |text: &str| -> String {
            text.chars().filter(|c| is_shown(*c) && !matches!(c, '[' | ']' | ';' | '#')).collect()
        };
        let mut job = "[job]\n".to_owned();
        for (name, value) in self.options.iter().filter(|(name, _)| name != "name") {
            job += &format!("{}={}\n", clean(name), clean(value));
        }
        let around = Surroundings {
            file,
            target_size: Some(moved),
            environment: &|_| None,
            include: &|_| Err("is not read here".to_owned()),
        };
        let told =
            fio::read(&job, &around).ok().and_then(|jobs| jobs.workload.tests.into_iter().next());
        let mut test = told.unwrap_or_else(|| {
            notes.push(format!(
                "{name}: its options are not all known, and the test is told by a few"
            ));
            self.plain_test(moved)
        });
        if self.option("size").is_none() && self.option("filesize").is_none() {
            notes.push(format!(
                "{name}: how much of the target was used is not told; {moved} were moved"
            ));
        }
        // fio does not print options without a value. One that went on beyond its size was told `time_based`.
        let beyond = test.volume.is_some_and(|volume| self.sample.bytes() > volume);
        if test.duration.is_some() && beyond {
            test.volume = None;
        }
        Test { name, start: Start::default(), ..test }
    }

    /// A test of what was counted.
    fn plain_test(&self, moved: Bytes) -> Test {
        let count = |name: &str| self.option(name).and_then(|text| text.parse::<u32>().ok());
        let side = |side: &Option<lanemark_core::result::DirectionResult>| {
            side.as_ref().map_or(0, |side| side.latency.count()) as f64
        };
        let (reads, writes) = (side(&self.sample.reads), side(&self.sample.writes));
        let operations = reads + writes;
        let mean =
            if operations > 0.0 { self.sample.bytes().get() as f64 / operations } else { 4096.0 };
        let block = Bytes(((mean / 512.0).round() as u64).clamp(1, 1 << 17) * 512);
        let random = self.option("rw").or(self.option("readwrite"));
        let random = random.is_some_and(|word| word.starts_with("rand"));
        Test {
            name: String::new(),
            block,
            pattern: if random { Pattern::Uniform } else { Pattern::Sequential },
            read_share: Ratio::new(reads / operations.max(1.0)).unwrap_or(Ratio::ZERO),
            queue_depth: count("iodepth").unwrap_or(1).clamp(1, 65_536),
            threads: count("numjobs").unwrap_or(self.entries).clamp(1, 1024),
            span: Bytes(moved.get().max(block.get()).saturating_mul(1024)),
            offset: Bytes::ZERO,
            alignment: block,
            volume: Some(moved),
            duration: None,
            rounds: None,
            interval: None,
            ramp: Duration::ZERO,
            think: Duration::ZERO,
            compressibility: Ratio::ZERO,
            mix: Mix::default(),
            load: Load::Closed,
            start: Start::default(),
        }
    }
}

fn result(drafts: &[Draft], version: &str, file: &str, notes: &mut Vec<String>) -> RunResult {
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.strip_suffix(".json").unwrap_or(stem);
    let mut workload = Workload {
        faults: Vec::new(),
        id: stem.to_owned(),
        name: format!("{stem}, measured by {}", shown(version)),
        repeats: 1,
        average: Average::Mean,
        order: Order::Listed,
        tests: Vec::new(),
    };
    let mut warnings = Vec::new();
    let mut tests: Vec<TestResult> = Vec::new();
    for draft in drafts {
        let taken = |name: &str| tests.iter().any(|test| test.test.name == name);
        let name = match taken(&draft.name) {
            false => draft.name.clone(),
            true => (2..)
                .map(|count| format!("{} ({count})", draft.name))
                .find(|name| !taken(name))
                .unwrap_or_default(),
        };
        if !draft.sample.errors.is_empty() {
            let errors = draft.sample.errors.clone();
            warnings.push(Warning::Failed { test: name.clone(), errors });
        }
        if let Known::Percentiles(known) = draft.known {
            warnings.push(Warning::FromPercentiles { test: name.clone(), known });
        }
        if let Some(submission_ns) = draft.submission_ns {
            let microseconds = submission_ns / 1e3;
            notes.push(format!(
                "{name}: latencies begin when a request is submitted, which took {microseconds:.1} us more on average"
            ));
        }
        let test = draft.test(name, file, notes);
        tests.push(TestResult::new(&workload, &test, vec![draft.sample.clone()]));
        workload.tests.push(test);
    }
    warnings.push(Warning::FewRepeats { repeats: 1 });
    let first = &drafts[0];
    let path = first.option("filename").unwrap_or("").to_owned();
    let flag = |name: &str| first.option(name).map(|text| text != "0");
    let direct = flag("direct").or(flag("buffered").map(|buffered| !buffered)).unwrap_or(false);
    let end = workload.tests.iter().map(Test::end).max().unwrap_or(Bytes::ZERO);
    RunResult {
        inspection: None,
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        target: Target::Measured(MeasuredTarget {
            device: path.starts_with("/dev/"),
            path: if path.is_empty() { stem.to_owned() } else { path },
            size_bytes: end,
            file_system: None,
            block_device: None,
            engine: format!("{}, {}", shown(version), first.option("ioengine").unwrap_or("psync")),
            direct,
        }),
        complete: drafts.iter().all(|draft| draft.sample.complete),
        workload,
        tests,
        warnings,
    }
}
