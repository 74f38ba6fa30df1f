//! One job in fio's JSON: its figures, and the test that its options describe when they are read as a job file.
//!
//! fio does not print the size of its target. If a job states neither `size` nor `filesize`, or states a share of the
//! whole, it used the whole target, and the user must supply the size.

use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::text::is_shown;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Pattern, Test, TestStart};
use serde_json::Value;

use super::lanemark_keys::LanemarkKey;
use super::sampled;
use crate::error::shown;
use crate::fio::{self, JobEnvironment};
use crate::imported::{SuppliedSettings, clean_name};
use crate::phases::split_phases;
use crate::stated::ReportedTest;

/// The options that determine the direction and the offset of requests, for jobs that also have unknown options.
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

/// Minimum number of requests for which the share of reads is significant.
const SHARE_FROM: u64 = 1000;
/// Difference between the requested and the counted share of reads that is too large for chance.
const SHARE_SLACK: f64 = 0.1;

/// A test whose position in the workload is not known yet.
#[derive(Clone, Debug)]
pub(super) struct TestDraft {
    pub(super) name: String,
    group: Option<u64>,
    /// The name of the other job to which the options belong.
    renamed: Option<String>,
    options: Vec<(String, String)>,
    pub(super) sample: Sample,
    pub(super) submission_ns: Option<f64>,
    /// Whether the processor time is a share of the time of a single clone.
    cpu_of_one: bool,
    entries: u32,
    /// Whether options that differ from fio's defaults may be missing, because the output does not contain options, or
    /// because a client printed its own options without the global options.
    silent: bool,
    /// Lanemark's additions to its export.
    pub(super) own: Option<LanemarkKey>,
}

pub(super) struct DraftedTest {
    pub(super) test: Test,
    /// Whether the options determine the range of the test.
    pub(super) placed: bool,
    /// Whether all options are known.
    pub(super) whole: bool,
    /// The contradiction between the options and the counts, if there is one. The options then belong to another job.
    pub(super) contradiction: Option<String>,
}

impl TestDraft {
    pub(super) fn read(
        entry: &Value,
        global: &[(String, String)],
        clients: bool,
    ) -> Result<Vec<Self>, String> {
        let name = entry.get("jobname").and_then(Value::as_str).ok_or("`jobname` is missing")?;
        let name = clean_name(name);
        let job_name = name.clone();
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
        let is_any_stated =
            |wanted: &[&str]| all.iter().any(|(name, _)| wanted.contains(&name.as_str()));
        let silent = !all.iter().any(|(name, _)| name != "name")
            || (clients && !is_any_stated(&["rw", "readwrite"]));
        // With group_reporting, an entry has the name of the first job and the options of the last job.
        let other = all.iter().find(|(name, _)| name == "name").map(|(_, name)| name);
        let renamed = other.filter(|other| **other != job_name).cloned();
        let own = LanemarkKey::read(entry)
            .map_err(|wrong| format!("job `{}`: lanemark: {wrong}", shown(&name)))?;
        let draft = Self {
            name,
            renamed,
            silent,
            own,
            group: entry.get("groupid").and_then(Value::as_u64),
            options: all,
            sample: Sample::empty(),
            submission_ns: read.submission_ns,
            cpu_of_one: read.cpu_of_one,
            entries: 1,
        };
        let phases = split_phases(read.sample, read.times).into_iter();
        Ok(phases.map(|(phase, sample)| Self { sample, ..draft.phase(phase) }).collect())
    }

    /// Returns the draft of one of several phases, which has only one direction.
    fn phase(&self, phase: &str) -> Self {
        let mut draft = Self { name: self.name.clone() + phase, ..self.clone() };
        let direction = phase.trim_start_matches(", ").trim_end_matches('s');
        for (name, value) in &mut draft.options {
            if !direction.is_empty() && ["rw", "readwrite"].contains(&name.as_str()) {
                let random = if value.starts_with("rand") { "rand" } else { "" };
                *value = format!("{random}{direction}");
            }
        }
        draft
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        self.name == other.name && self.group == other.group && self.options == other.options
    }

    /// Adds the figures of a clone.
    pub(super) fn add(&mut self, other: &Self) {
        sampled::add(&mut self.sample, &other.sample);
        self.entries += 1;
        // Lanemark writes one entry per test, so these entries are from another program.
        self.own = None;
    }

    /// Completes the draft after all clones have been added.
    pub(super) fn finish(&mut self) {
        // fio has summed the clones, and all clones ran for the same time.
        let clones = f64::from(self.count("numjobs").unwrap_or(1).clamp(1, 1024));
        let more = (clones / f64::from(self.entries)).max(1.0);
        if let (Some(cpu), true) = (&mut self.sample.cpu, self.cpu_of_one) {
            cpu.user_ns_per_request *= more;
            cpu.system_ns_per_request *= more;
        }
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn count(&self, name: &str) -> Option<u32> {
        self.option(name).and_then(|text| text.parse().ok())
    }

    /// Returns the number of transferred bytes, but not less than the minimum span.
    pub(super) fn moved(&self) -> Bytes {
        Bytes(self.sample.bytes().get().max(1 << 20))
    }

    /// Returns the test of the job, if the options describe it completely.
    pub(super) fn by_options(&self, file: &str) -> Option<DraftedTest> {
        let test = self.read_as_job(file, None, |_| true)?;
        Some(DraftedTest {
            test: self.with_transferred_volume(test),
            placed: true,
            whole: true,
            contradiction: None,
        })
    }

    /// Returns the test of the job as far as the options describe it; `size` is the size of the target, for options
    /// that do not state it.
    pub(super) fn described_test(
        &self,
        file: &str,
        size: Bytes,
        supplied: &SuppliedSettings,
    ) -> DraftedTest {
        let own = self.own.as_ref().filter(|own| own.fits(&self.sample));
        if let Some(test) = own.and_then(|own| own.test_with(&self.options)) {
            let test = test.clone();
            return DraftedTest { test, placed: true, whole: true, contradiction: None };
        }
        if self.silent {
            return self.counted(size, supplied, None);
        }
        let is_among_few = |name: &str| FEW.contains(&name);
        let described = |placed, whole| {
            move |test| DraftedTest {
                test: self.with_transferred_volume(test),
                placed,
                whole,
                contradiction: None,
            }
        };
        let by_options = self
            .by_options(file)
            .or_else(|| self.read_as_job(file, Some(size), |_| true).map(described(false, true)))
            .or_else(|| self.read_as_job(file, None, is_among_few).map(described(true, false)))
            .or_else(|| {
                self.read_as_job(file, Some(size), is_among_few).map(described(false, false))
            });
        match by_options {
            Some(described) => match self.contradiction(&described.test) {
                None => described,
                contradiction => self.counted(size, supplied, contradiction),
            },
            None => self.counted(size, supplied, self.renaming()),
        }
    }

    /// Returns the test as far as the counts describe it.
    fn counted(
        &self,
        size: Bytes,
        supplied: &SuppliedSettings,
        contradiction: Option<String>,
    ) -> DraftedTest {
        let trusted = !self.silent && contradiction.is_none();
        let test = self.with_transferred_volume(self.plain_test(size, supplied, trusted));
        DraftedTest { test, placed: false, whole: self.silent, contradiction }
    }

    fn renaming(&self) -> Option<String> {
        let source_job = self.renamed.as_ref()?;
        Some(format!("the options come from the job `{}`", shown(source_job)))
    }

    /// Compares the requested options with the counts.
    fn contradiction(&self, test: &Test) -> Option<String> {
        if let Some(renaming) = self.renaming() {
            return Some(renaming);
        }
        let count =
            |side: &Option<DirectionResult>| side.as_ref().map_or(0, |side| side.latency.count());
        let reads = count(&self.sample.reads);
        let writes = count(&self.sample.writes);
        if reads > 0 && !test.reads() && !test.trims() {
            return Some(format!("the options request no reads, but {reads} were counted"));
        }
        if writes > 0 && !test.writes() && !test.trims() {
            return Some(format!("the options request no writes, but {writes} were counted"));
        }
        let stated = test.read_share()?.get();
        let counted = reads as f64 / (reads + writes).max(1) as f64;
        if reads + writes >= SHARE_FROM && (stated - counted).abs() > SHARE_SLACK && !test.trims() {
            return Some(format!(
                "the options request {:.0}% reads, but {:.0}% were counted",
                stated * 100.0,
                counted * 100.0
            ));
        }
        // Reads, writes and trims may have different sizes.
        let sizes = self.option("bs").or(self.option("blocksize")).unwrap_or_default();
        if sizes.contains(',') || self.option("bsrange").is_some() || test.trims() {
            return None;
        }
        let most = test.mix().sizes.iter().map(|size| size.block).max().unwrap_or(test.block);
        let least = test.block_least().get() as f64;
        let most = most.get() as f64;
        let sides = [("read", &self.sample.reads), ("write", &self.sample.writes)];
        sides.into_iter().find_map(|(name, side)| {
            let side = side.as_ref().filter(|side| side.latency.count() > 0)?;
            let mean = side.bytes.get() as f64 / side.latency.count() as f64;
            let fits = (least * 0.99..=most * 1.01).contains(&mean);
            (!fits).then(|| {
                format!(
                    "the options request {} per {name}, but {mean:.0} B were counted",
                    test.block
                )
            })
        })
    }

    fn with_transferred_volume(&self, test: Test) -> Test {
        let volume = match (test.volume, test.duration) {
            // fio does not print options without a value. A job that continued beyond its size had the option
            // `time_based`.
            (Some(volume), Some(_)) if self.sample.bytes() > volume => None,
            // Another limit ended the job, such as a number of requests.
            (Some(volume), None) if self.sample.complete => Some(volume.min(self.moved())),
            (volume, _) => volume,
        };
        Test { start: TestStart::default(), volume, ..test }
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
        if self.own.is_some() && self.option("ioengine").is_none() {
            // The engine is not known, but the depth is; fio's default engine would ignore it.
            job += "ioengine=libaio\n";
        }
        let around = JobEnvironment {
            file,
            target_size,
            environment: &|_| None,
            include: &|_| Err("is not read here".to_owned()),
        };
        fio::read(&job, &around).ok()?.workload.tests.into_iter().next()
    }

    /// Returns a test from the counts, on a whole target of `size`. The options are used only if they are `trusted`.
    fn plain_test(&self, size: Bytes, supplied: &SuppliedSettings, trusted: bool) -> Test {
        let option = |name: &str| self.option(name).filter(|_| trusted);
        let count = |name: &str| option(name).and_then(|text| text.parse::<u32>().ok());
        let pattern = match option("rw").or(option("readwrite")) {
            Some(word) if word.starts_with("rand") => Some(Pattern::Uniform),
            // fio's default is sequential reads.
            Some(_) => Some(Pattern::Sequential),
            None => trusted.then_some(Pattern::Sequential),
        };
        let reported = ReportedTest {
            pattern,
            threads: Some(count("numjobs").unwrap_or(self.entries)),
            queue_depth: count("iodepth").or(trusted.then_some(1)),
            ..ReportedTest::new(&self.name, self.sample.clone())
        };
        reported.test(size, supplied)
    }

    /// Returns whether an option that is not printed has fio's default. Lanemark's own export lacks options for
    /// settings that are not known.
    fn has_defaults(&self) -> bool {
        !self.silent && self.own.is_none()
    }

    /// Returns the engine, which is psync by default on Linux; `None` if options may be missing.
    pub(super) fn engine(&self) -> Option<&str> {
        self.option("ioengine").or(self.has_defaults().then_some("psync"))
    }

    /// Returns whether the page cache was bypassed; `None` if options may be missing.
    pub(super) fn direct(&self) -> Option<bool> {
        let flag = |name: &str| self.option(name).map(|text| text != "0");
        let stated = flag("direct").or(flag("buffered").map(|buffered| !buffered));
        stated.or(self.has_defaults().then_some(false))
    }
}

/// Returns the job options as strings, regardless of their JSON types.
pub(super) fn options(value: Option<&Value>) -> Vec<(String, String)> {
    // Old versions print a list with one element.
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
