//! One job of fio's JSON: its figures, and its test as the job options tell it, read as a job file.
//!
//! fio does not print the size of what it ran on. A job that says neither `size` nor `filesize`, or a share of the
//! whole, has used all of a target whose size others must tell.

use lanemark_core::result::{DirectionResult, Sample};
use lanemark_core::text::is_shown;
use lanemark_core::units::{Bytes, Ratio};
use lanemark_core::workload::{Pattern, Start, Test};
use serde_json::Value;

use super::sampled::{self, Known};
use crate::error::shown;
use crate::fio::{self, Surroundings};

/// The options that tell the kind and place of requests, for jobs that have others which are not known.
const FEW: [&str; 13] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "rwmixread",
    "iodepth",
    "numjobs",
    "filename",
    "size",
    "filesize",
    "offset",
    "runtime",
    "time_based",
];

/// A test before its place among the others is known.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    group: Option<u64>,
    options: Vec<(String, String)>,
    pub(super) sample: Sample,
    pub(super) known: Known,
    pub(super) submission_ns: Option<f64>,
    /// Whether processor time is told as a share of the time of one clone.
    cpu_of_one: bool,
    entries: u32,
}

/// A draft's test.
pub(super) struct Told {
    pub(super) test: Test,
    /// Whether the options themselves tell its place.
    pub(super) placed: bool,
    /// Whether all options are known.
    pub(super) whole: bool,
}

impl Draft {
    pub(super) fn read(
        entry: &Value,
        global: &[(String, String)],
        clients: bool,
    ) -> Result<Self, String> {
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
            cpu_of_one: read.cpu_of_one,
            entries: 1,
        })
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        self.name == other.name && self.group == other.group && self.options == other.options
    }

    /// Adds the figures of a clone.
    pub(super) fn add(&mut self, other: &Self) {
        sampled::add(&mut self.sample, &other.sample);
        self.entries += 1;
        if let Known::Percentiles(_) = other.known {
            self.known = other.known;
        }
    }

    /// Ends the reading, when all clones have been added.
    pub(super) fn finish(&mut self) {
        // Clones that fio itself has added up ran as long as one of them, each.
        let clones = f64::from(self.count("numjobs").unwrap_or(1).clamp(1, 1024));
        let more = (clones / f64::from(self.entries)).max(1.0);
        if let (Some(cpu), true) = (&mut self.sample.cpu, self.cpu_of_one) {
            cpu.user_ns_per_request *= more;
            cpu.system_ns_per_request *= more;
        }
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    fn count(&self, name: &str) -> Option<u32> {
        self.option(name).and_then(|text| text.parse().ok())
    }

    /// Bytes that were moved, and not less than a span may be.
    pub(super) fn moved(&self) -> Bytes {
        Bytes(self.sample.bytes().get().max(1 << 20))
    }

    /// Returns the job's test where its options tell all of it.
    pub(super) fn by_options(&self, file: &str) -> Option<Told> {
        let test = self.read_as_job(file, None, |_| true)?;
        Some(Told { test: self.ended(test), placed: true, whole: true })
    }

    /// Returns the job's test, as far as its options tell, on a target of `size` where they do not tell enough.
    pub(super) fn told(&self, file: &str, size: Bytes) -> Told {
        let few = |name: &str| FEW.contains(&name);
        let told = |placed, whole| move |test| Told { test: self.ended(test), placed, whole };
        self.by_options(file)
            .or_else(|| self.read_as_job(file, Some(size), |_| true).map(told(false, true)))
            .or_else(|| self.read_as_job(file, None, few).map(told(true, false)))
            .or_else(|| self.read_as_job(file, Some(size), few).map(told(false, false)))
            .unwrap_or_else(|| told(false, false)(self.plain_test(size)))
    }

    /// The test with the volume that it was seen to move.
    fn ended(&self, test: Test) -> Test {
        let volume = match (test.volume, test.duration) {
            // fio does not print options without a value. One that went on beyond its size was told `time_based`.
            (Some(volume), Some(_)) if self.sample.bytes() > volume => None,
            // Something else ended it, such as a count of requests.
            (Some(volume), None) if self.sample.complete => Some(volume.min(self.moved())),
            (volume, _) => volume,
        };
        Test { start: Start::default(), volume, ..test }
    }

    fn read_as_job(
        &self,
        file: &str,
        target_size: Option<Bytes>,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<Test> {
        let clean = |text: &str| -> String {
            text.chars().filter(|c| is_shown(*c) && !matches!(c, '[' | ']' | ';' | '#')).collect()
        };
        let mut job = "[job]\n".to_owned();
        for (name, value) in &self.options {
            if name != "name" && wanted(name) {
                job += &format!("{}={}\n", clean(name), clean(value));
            }
        }
        let around = Surroundings {
            file,
            target_size,
            environment: &|_| None,
            include: &|_| Err("is not read here".to_owned()),
        };
        fio::read(&job, &around).ok()?.workload.tests.into_iter().next()
    }

    /// A test of what was counted, on all of a target of `size`.
    fn plain_test(&self, size: Bytes) -> Test {
        let side = |side: &Option<DirectionResult>| {
            side.as_ref().map_or(0, |side| side.latency.count()) as f64
        };
        let (reads, writes) = (side(&self.sample.reads), side(&self.sample.writes));
        let operations = reads + writes;
        let mean =
            if operations > 0.0 { self.sample.bytes().get() as f64 / operations } else { 4096.0 };
        let block = Bytes(((mean / 512.0).round() as u64).clamp(1, 1 << 17) * 512);
        let threads = self.count("numjobs").unwrap_or(self.entries).clamp(1, 1024);
        let random = self.option("rw").or(self.option("readwrite"));
        let random = random.is_some_and(|word| word.starts_with("rand"));
        Test {
            threads,
            span: size.max(Bytes(block.get() * u64::from(threads))),
            volume: Some(self.moved()),
            ..Test::of_blocks(block)
        }
        .with(|asked| {
            asked.pattern = if random { Pattern::Uniform } else { Pattern::Sequential };
            asked.read_share = Ratio::new(reads / operations.max(1.0)).unwrap_or(Ratio::ZERO);
            asked.queue_depth = self.count("iodepth").unwrap_or(1).clamp(1, 65_536);
        })
    }
}

/// Job options as text, whatever type they have.
pub(super) fn options(value: Option<&Value>) -> Vec<(String, String)> {
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
