//! Reads Iometer's settings, `.icf`, as a workload.
//!
//! A line that begins with `'` names the contents of the lines below it. Each assigned access specification is a test.
//! Equal workers to which it is assigned at the same time become the threads of the test, and other workers become
//! parallel tests. If the number of outstanding requests is cycled, each specification becomes a test at each depth.
//!
//! Network targets, cycling of workers and targets, transactions and replies, partly random specifications, and old
//! versions whose specifications do not have names are not supported; each of these causes an error. Settings of the
//! display are ignored.

use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Workload;
use lanemark_schema::workload::bound::QUEUE_DEPTH;

use crate::error::{FormatError, OptionNote, SupportLevel, shown};

/// Maximum number of tests in a file.
pub(super) const TESTS_MAX: usize = 4096;

/// The content of a settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerSettings {
    /// The access specifications as tests.
    pub workload: Workload,
    /// The targets of the workers, by name.
    pub targets: Vec<String>,
    /// Notes on values that are not supported exactly.
    pub notes: Vec<OptionNote>,
}

#[derive(Clone, Debug)]
pub(super) struct AccessSpecification {
    pub(super) name: String,
    /// Whether a worker without an assigned specification uses this specification.
    pub(super) usual: bool,
    pub(super) line: u64,
    pub(super) parts: Vec<AccessLine>,
}

#[derive(Clone, Debug)]
pub(super) struct AccessLine {
    pub(super) line: u64,
    pub(super) size: u64,
    pub(super) share: f64,
    pub(super) reads: f64,
    pub(super) random: f64,
    pub(super) delay_ms: u64,
    pub(super) burst: u64,
    pub(super) align: u64,
}

#[derive(Clone, Debug)]
pub(super) struct IometerWorker {
    pub(super) line: u64,
    pub(super) depth: u32,
    pub(super) sectors: u64,
    pub(super) start: u64,
    pub(super) specifications: Vec<(u64, String)>,
    pub(super) targets: Vec<String>,
}

pub(super) struct SettingsReader<'a> {
    pub(super) file: &'a str,
    pub(super) notes: Vec<OptionNote>,
    pub(super) run_time: Option<Duration>,
    pub(super) ramp: Duration,
    /// The line, and the name of the type of test.
    pub(super) kind: (u64, String),
    pub(super) depths: (u64, Vec<u32>),
    pub(super) specifications: Vec<AccessSpecification>,
    pub(super) workers: Vec<IometerWorker>,
}

/// Reads Iometer's settings. `target_size` is the size of the target, for workers without a maximum size.
///
/// # Errors
/// Returns the first error or unsupported value, with its line.
pub fn read(
    text: &str,
    file: &str,
    target_size: Option<Bytes>,
) -> Result<IometerSettings, FormatError> {
    let mut reader = SettingsReader {
        file,
        notes: Vec::new(),
        run_time: None,
        ramp: Duration::ZERO,
        kind: (0, "NORMAL".to_owned()),
        depths: (0, vec![1]),
        specifications: Vec::new(),
        workers: Vec::new(),
    };
    let mut lines = (1..).zip(text.lines());
    let first = lines.next().map_or("", |(_, first)| first.trim());
    let version = first.trim_start_matches('\u{feff}').strip_prefix("Version ").map(str::trim);
    if version.is_none() {
        let message = format!("the first line is `{}`; expected `Version 1.1.0`", shown(first));
        return Err(FormatError::at(file, 1, message).hint("use a file that Iometer saved"));
    }
    let mut key = String::new();
    for (line, raw) in lines {
        let trimmed = raw.trim_end();
        match trimmed.strip_prefix('\'') {
            // A line of headings belongs to the key in the line above it.
            Some(heading) if heading.starts_with([' ', '\t']) => {}
            Some(name) => key = name.trim().to_ascii_lowercase(),
            None if trimmed.trim().is_empty() || trimmed.starts_with("Version") => {}
            None => reader.value(&key, trimmed.trim(), line)?,
        }
    }
    reader.finish(target_size)
}

impl SettingsReader<'_> {
    pub(super) fn error(&self, line: u64, message: impl Into<String>) -> FormatError {
        FormatError::at(self.file, line, message)
    }

    pub(super) fn note(&mut self, line: u64, option: &str, reason: &str) {
        self.notes.push(OptionNote {
            file: self.file.to_owned(),
            line,
            option: option.to_owned(),
            kept: SupportLevel::Nearly,
            reason: reason.to_owned(),
        });
    }

    fn value(&mut self, key: &str, value: &str, line: u64) -> Result<(), FormatError> {
        match key {
            "run time" => {
                let [hours, minutes, seconds] =
                    self.numbers(value, line, "hours minutes seconds")?;
                let total_seconds =
                    hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60));
                let total_seconds = total_seconds.saturating_add(seconds);
                if total_seconds > 30 * 86_400 {
                    return Err(self.error(line, "run time: longer than 30 days"));
                }
                self.run_time = Some(Duration::from_seconds(total_seconds));
            }
            _ if key.starts_with("ramp up time") => {
                let [seconds] = self.numbers(value, line, "seconds")?;
                self.ramp = Duration::from_seconds(seconds.min(86_400));
            }
            "queue depth cycling" => self.depths = (line, self.cycle(value, line)?),
            "test type" => self.kind = (line, value.to_ascii_uppercase()),
            _ if key.starts_with("access specification name") => {
                self.begin_specification(value, line);
            }
            _ if key.starts_with("size,") => {
                let part = self.part(value, line)?;
                match self.specifications.last_mut() {
                    Some(specification) => specification.parts.push(part),
                    None => {
                        let error = self.error(line, "a specification without a name");
                        return Err(error.hint("open the file in Iometer 1.1 and save it again"));
                    }
                }
            }
            // Settings of the display, names of managers, and defaults of new workers are ignored.
            _ => self.worker_value(key, value, line)?,
        }
        Ok(())
    }

    fn begin_specification(&mut self, value: &str, line: u64) {
        let (name, usual) = value.rsplit_once(',').unwrap_or((value, "NONE"));
        self.specifications.push(AccessSpecification {
            name: name.trim().to_owned(),
            usual: matches!(usual.trim().to_ascii_uppercase().as_str(), "ALL" | "DISK" | "DEFAULT"),
            line,
            parts: Vec::new(),
        });
    }

    /// Reads a value of a worker or its target, and ignores all other values.
    fn worker_value(&mut self, key: &str, value: &str, line: u64) -> Result<(), FormatError> {
        match key {
            "worker" => self.workers.push(IometerWorker {
                line,
                depth: 1,
                sectors: 0,
                start: 0,
                specifications: Vec::new(),
                targets: Vec::new(),
            }),
            "worker type" if !value.eq_ignore_ascii_case("DISK") => {
                let message = format!("a worker of the type {}", shown(value));
                return Err(self.error(line, message).hint("only DISK workers are supported"));
            }
            _ if key.starts_with("number of outstanding") => {
                let depth = self.first(value, line, "number of outstanding IOs")?;
                let depth = QUEUE_DEPTH.accept(depth).ok_or_else(|| {
                    self.error(line, format!("number of outstanding IOs: expected {QUEUE_DEPTH}"))
                })?;
                if let Some(worker) = self.workers.last_mut() {
                    worker.depth = depth;
                }
                if value
                    .split(',')
                    .nth(1)
                    .is_some_and(|rate| rate.trim().eq_ignore_ascii_case("ENABLED"))
                {
                    self.note(
                        line,
                        "test connection rate",
                        "the target stays open for the whole run",
                    );
                }
            }
            _ if key.starts_with("disk maximum size") => {
                let sectors = self.first(value, line, "disk maximum size")?;
                let start = match value.split(',').nth(1) {
                    Some(start) => self.first(start, line, "starting sector")?,
                    None => 0,
                };
                if let Some(worker) = self.workers.last_mut() {
                    (worker.sectors, worker.start) = (sectors, start);
                }
            }
            "assigned access specs" => {
                if let Some(worker) = self.workers.last_mut() {
                    worker.specifications.push((line, value.to_owned()));
                }
            }
            "target" => {
                if let Some(worker) = self.workers.last_mut() {
                    worker.targets.push(value.to_owned());
                }
            }
            "target type" if !value.eq_ignore_ascii_case("DISK") => {
                let message = format!("a target of the type {}", shown(value));
                return Err(self.error(line, message).hint("only DISK targets are supported"));
            }
            _ => {}
        }
        Ok(())
    }

    fn numbers<const N: usize>(
        &self,
        text: &str,
        line: u64,
        expected: &str,
    ) -> Result<[u64; N], FormatError> {
        let words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let read: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        read.and_then(|numbers| numbers.try_into().ok())
            .ok_or_else(|| self.error(line, format!("`{}`: expected {expected}", shown(text))))
    }

    fn first(&self, text: &str, line: u64, what: &str) -> Result<u64, FormatError> {
        let word = text.split(',').next().unwrap_or("").trim();
        let bad = || self.error(line, format!("{what}: `{}` is not a whole number", shown(word)));
        word.parse().map_err(|_| bad())
    }

    /// Reads a cycle in the form `start end step LINEAR|EXPONENTIAL`.
    fn cycle(&self, value: &str, line: u64) -> Result<Vec<u32>, FormatError> {
        let (numbers, kind) = value.trim().rsplit_once([' ', '\t']).unwrap_or((value, ""));
        let [start, end, step] = self.numbers(numbers, line, "start, end, step and step type")?;
        let exponential = kind.trim().eq_ignore_ascii_case("EXPONENTIAL");
        let least = if exponential { 2 } else { 1 };
        if start == 0
            || end < start
            || end > u64::from(QUEUE_DEPTH.max)
            || (step < least && end > start)
        {
            let message = format!("queue depth cycling: `{}` never ends", shown(value));
            return Err(self.error(line, message).hint(format!(
                "{QUEUE_DEPTH}, in steps of 1 or more, or of 2 or more if EXPONENTIAL"
            )));
        }
        let mut depths = Vec::new();
        let mut depth = start;
        while depth <= end && depths.len() < TESTS_MAX {
            depths.push(depth as u32);
            depth = if exponential {
                depth.saturating_mul(step.max(2))
            } else {
                depth.saturating_add(step.max(1))
            };
        }
        Ok(depths)
    }

    /// Reads `size,% of size,% reads,% random,delay,burst,align,reply`.
    fn part(&self, value: &str, line: u64) -> Result<AccessLine, FormatError> {
        const NAMES: [&str; 8] =
            ["size", "% of size", "% reads", "% random", "delay", "burst", "align", "reply"];
        let words: Vec<&str> = value.split(',').map(str::trim).collect();
        let mut numbers = [0u64, 100, 100, 0, 0, 1, 0, 0];
        if words.len() < 4 || words.len() > 8 {
            let message = format!("`{}`: expected {}", shown(value), NAMES.join(","));
            return Err(self.error(line, message));
        }
        for ((word, name), number) in words.iter().zip(NAMES).zip(&mut numbers) {
            *number = self.first(word, line, name)?;
        }
        let [size, share, reads, random, delay_ms, burst, align, reply] = numbers;
        for (name, percent) in [("% of size", share), ("% reads", reads), ("% random", random)] {
            if percent > 100 {
                return Err(self.error(line, format!("{name}: {percent} is more than 100")));
            }
        }
        if random != 0 && random != 100 {
            let error = self.error(line, format!("% random: {random} is neither 0 nor 100"));
            return Err(error.hint("split it into two specifications for concurrent workers"));
        }
        if reply != 0 {
            let error = self.error(line, "reply: a disk does not send replies");
            return Err(error.hint("set it to 0"));
        }
        let percent = |percent: u64| percent as f64 / 100.0;
        Ok(AccessLine {
            line,
            size,
            share: percent(share),
            reads: percent(reads),
            random: percent(random),
            delay_ms,
            burst: burst.max(1),
            align,
        })
    }
}
