//! Iometer's settings, `.icf`, as a workload.
//!
//! A line that begins with `'` names what the lines below it hold. Each access specification that is assigned is a
//! test; workers that have it at the same time and are alike are its threads, others are tests beside it. Where the
//! outstanding requests are cycled, each specification is a test for every depth.
//!
//! Not read: network targets, cycling of workers and targets, transactions and replies, specifications that are
//! partly random, and old versions whose specifications have no names. Each of them is an error, but what
//! concerns the display.

use lanemark_core::units::{Bytes, Duration, Ratio};
use lanemark_core::workload::{
    Average, Load, Mix, Order, Pattern, SizeShare, Start, Test, Workload,
};

use crate::error::{FormatError, Kept, Note, shown};

/// The most tests that a file becomes.
const TESTS_MAX: usize = 4096;
const SECTOR: u64 = 512;

/// What became of a settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerSettings {
    /// Its access specifications as tests.
    pub workload: Workload,
    /// The targets that workers are given, by name.
    pub targets: Vec<String>,
    /// What is not kept to the letter.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug)]
struct Specification {
    name: String,
    /// Whether a worker without specifications of its own gets it.
    usual: bool,
    line: u64,
    parts: Vec<Part>,
}

/// One line of a specification.
#[derive(Clone, Debug)]
struct Part {
    line: u64,
    size: u64,
    share: f64,
    reads: f64,
    random: f64,
    delay_ms: u64,
    burst: u64,
    align: u64,
}

#[derive(Clone, Debug)]
struct Worker {
    line: u64,
    depth: u32,
    sectors: u64,
    start: u64,
    specifications: Vec<(u64, String)>,
    targets: Vec<String>,
}

struct Reader<'a> {
    file: &'a str,
    notes: Vec<Note>,
    run_time: Option<Duration>,
    ramp: Duration,
    /// The line and the name of the kind of test.
    kind: (u64, String),
    depths: (u64, Vec<u32>),
    specifications: Vec<Specification>,
    workers: Vec<Worker>,
}

/// Reads Iometer's settings. `target_size` is what workers use that have no maximum size.
///
/// # Errors
/// The first thing wrong or not supported, with its line.
pub fn read(
    text: &str,
    file: &str,
    target_size: Option<Bytes>,
) -> Result<IometerSettings, FormatError> {
    let mut reader = Reader {
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
        return Err(FormatError::at(file, 1, message).hint("give a file that Iometer saved"));
    }
    let mut key = String::new();
    for (line, raw) in lines {
        let told = raw.trim_end();
        match told.strip_prefix('\'') {
            // A line of headings belongs to the key above it.
            Some(heading) if heading.starts_with([' ', '\t']) => {}
            Some(name) => key = name.trim().to_ascii_lowercase(),
            None if told.trim().is_empty() || told.starts_with("Version") => {}
            None => reader.value(&key, told.trim(), line)?,
        }
    }
    reader.finish(target_size)
}

impl Reader<'_> {
    fn error(&self, line: u64, message: impl Into<String>) -> FormatError {
        FormatError::at(self.file, line, message)
    }

    fn note(&mut self, line: u64, option: &str, reason: &str) {
        let (file, option, reason) = (self.file.to_owned(), option.to_owned(), reason.to_owned());
        self.notes.push(Note { file, line, option, kept: Kept::Nearly, reason });
    }

    fn value(&mut self, key: &str, value: &str, line: u64) -> Result<(), FormatError> {
        match key {
            "run time" => {
                let [hours, minutes, seconds] =
                    self.numbers(value, line, "hours minutes seconds")?;
                let all = hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60));
                let all = all.saturating_add(seconds);
                if all > 30 * 86_400 {
                    return Err(self.error(line, "run time: is longer than 30 days"));
                }
                self.run_time = Some(Duration::from_seconds(all));
            }
            _ if key.starts_with("ramp up time") => {
                let [seconds] = self.numbers(value, line, "seconds")?;
                self.ramp = Duration::from_seconds(seconds.min(86_400));
            }
            "queue depth cycling" => self.depths = (line, self.cycle(value, line)?),
            "test type" => self.kind = (line, value.to_ascii_uppercase()),
            _ if key.starts_with("access specification name") => {
                let (name, usual) = value.rsplit_once(',').unwrap_or((value, "NONE"));
                let usual = matches!(
                    usual.trim().to_ascii_uppercase().as_str(),
                    "ALL" | "DISK" | "DEFAULT"
                );
                let name = name.trim().to_owned();
                self.specifications.push(Specification { name, usual, line, parts: Vec::new() });
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
            "worker" => self.workers.push(Worker {
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
                let depth = u32::try_from(depth).ok().filter(|depth| (1..=65_536).contains(depth));
                let expected = "number of outstanding IOs: expected 1 to 65536";
                let depth = depth.ok_or_else(|| self.error(line, expected))?;
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
            // The display, the names of managers, defaults of new workers.
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
        let bad = || self.error(line, format!("{what}: `{}` is no whole number", shown(word)));
        word.parse().map_err(|_| bad())
    }

    /// `start end step LINEAR|EXPONENTIAL`.
    fn cycle(&self, value: &str, line: u64) -> Result<Vec<u32>, FormatError> {
        let (numbers, kind) = value.trim().rsplit_once([' ', '\t']).unwrap_or((value, ""));
        let [start, end, step] = self.numbers(numbers, line, "start, end, step and step type")?;
        let exponential = kind.trim().eq_ignore_ascii_case("EXPONENTIAL");
        let least = if exponential { 2 } else { 1 };
        if start == 0 || end < start || end > 65_536 || (step < least && end > start) {
            let message = format!("queue depth cycling: `{}` never ends", shown(value));
            return Err(self
                .error(line, message)
                .hint("1 to 65536, by steps of at least 1, or 2 if EXPONENTIAL"));
        }
        let mut depths = Vec::new();
        let mut depth = start;
        while depth <= end && depths.len() < TESTS_MAX {
            depths.push(depth as u32);
            depth =
                if exponential { depth.saturating_mul(step.max(2)) } else { depth + step.max(1) };
        }
        Ok(depths)
    }

    /// `size,% of size,% reads,% random,delay,burst,align,reply`.
    fn part(&self, value: &str, line: u64) -> Result<Part, FormatError> {
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
            return Err(error.hint("make two specifications of it, for workers beside each other"));
        }
        if reply != 0 {
            let error = self.error(line, "reply: a disk sends none");
            return Err(error.hint("set it to 0"));
        }
        let percent = |percent: u64| percent as f64 / 100.0;
        let (share, reads, random) = (percent(share), percent(reads), percent(random));
        Ok(Part { line, size, share, reads, random, delay_ms, burst: burst.max(1), align })
    }

    fn finish(mut self, target_size: Option<Bytes>) -> Result<IometerSettings, FormatError> {
        let (line, kind) = self.kind.clone();
        let depths = match kind.as_str() {
            "NORMAL" => None,
            "CYCLE_OUTSTANDING_IOS" => Some(self.depths.1.clone()),
            other => {
                let error =
                    self.error(line, format!("test type {}: is not supported", shown(other)));
                return Err(error.hint("NORMAL or CYCLE_OUTSTANDING_IOS"));
            }
        };
        if self.run_time.is_none_or(|time| time == Duration::ZERO) {
            let error = FormatError::file(self.file, "the run time is 0, so that no test ends");
            return Err(error.hint("set 'Run Time"));
        }
        if self.workers.is_empty() {
            let usual = |one: &&Specification| one.usual;
            let named = |one: &Specification| (one.line, one.name.clone());
            let mut given: Vec<_> = self.specifications.iter().filter(usual).map(named).collect();
            if given.is_empty() {
                given = self.specifications.iter().map(named).collect();
            }
            let (sectors, start) = (0, 0);
            self.workers.push(Worker {
                line: 1,
                depth: 1,
                sectors,
                start,
                specifications: given,
                targets: Vec::new(),
            });
        }
        let tests = self.tests(depths.as_deref(), target_size)?;
        let mut targets: Vec<String> =
            self.workers.iter().flat_map(|worker| worker.targets.clone()).collect();
        targets.sort();
        targets.dedup();
        let stem = self.file.rsplit('/').next().unwrap_or(self.file);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let workload = Workload {
            id: stem.to_owned(),
            name: format!("{stem}, from Iometer's settings"),
            repeats: 1,
            average: Average::Mean,
            order: Order::Listed,
            tests,
        };
        Ok(IometerSettings { workload, targets, notes: self.notes })
    }

    fn tests(
        &mut self,
        depths: Option<&[u32]>,
        target_size: Option<Bytes>,
    ) -> Result<Vec<Test>, FormatError> {
        let workers = self.workers.clone();
        let steps = workers.iter().map(|worker| worker.specifications.len()).max().unwrap_or(0);
        let mut tests: Vec<Test> = Vec::new();
        for step in 0..steps {
            let mut groups: Vec<(Test, u64)> = Vec::new();
            for worker in &workers {
                let Some((line, name)) = worker.specifications.get(step) else { continue };
                let test = self.test(worker, *line, name, target_size)?;
                match groups.iter_mut().find(|(other, _)| *other == test) {
                    Some((_, threads)) => *threads += 1,
                    None => groups.push((test, 1)),
                }
            }
            for depth in depths.map_or(vec![None], |all| all.iter().copied().map(Some).collect()) {
                for (at, (test, threads)) in groups.iter().enumerate() {
                    let mut test = test.clone();
                    test.threads = (*threads).min(u64::from(u32::MAX)) as u32;
                    test.start.beside = at > 0;
                    if let Some(depth) = depth {
                        test.queue_depth = depth;
                        test.name = format!("{} Q{depth}", test.name);
                    }
                    test.name = free_name(&tests, &test.name);
                    let line = workers[0].line;
                    test.check().map_err(|error| {
                        self.error(line, format!("specification `{}`: {error}", shown(&test.name)))
                    })?;
                    if tests.len() >= TESTS_MAX {
                        return Err(self.error(line, "these are more than 4,096 tests"));
                    }
                    tests.push(test);
                }
            }
        }
        if tests.is_empty() {
            let error = FormatError::file(self.file, "no worker has an access specification");
            return Err(error.hint("assign one in Iometer, and save the file again"));
        }
        Ok(tests)
    }

    fn test(
        &mut self,
        worker: &Worker,
        line: u64,
        name: &str,
        target_size: Option<Bytes>,
    ) -> Result<Test, FormatError> {
        let found = self.specifications.iter().find(|one| one.name == name).cloned();
        let Some(specification) = found.filter(|one| !one.parts.is_empty()) else {
            let names: Vec<&str> =
                self.specifications.iter().map(|one| one.name.as_str()).collect();
            let message = format!("there is no access specification `{}`", shown(name));
            let hint = format!("there are: {}", shown(&names.join(", ")));
            return Err(self.error(line, message).hint(hint));
        };
        let parts = &specification.parts;
        let first = &parts[0];
        if let Some(other) = parts.iter().find(|part| part.random != first.random) {
            let error =
                self.error(other.line, "the specification is random in a part of its lines");
            return Err(error.hint("make two specifications of it, for workers beside each other"));
        }
        let sum: f64 = parts.iter().map(|part| part.share).sum();
        if sum <= 0.0 {
            return Err(self.error(first.line, "% of size: the lines have no share above 0"));
        }
        if parts.iter().any(|part| part.reads != first.reads || part.delay_ms != first.delay_ms) {
            let reason = "reads and delays are the same for all sizes, on average";
            self.note(first.line, "% reads", reason);
        }
        let mean = |of: fn(&Part) -> f64| {
            parts.iter().map(|part| part.share / sum * of(part)).sum::<f64>()
        };
        let mut sizes: Vec<SizeShare> = Vec::new();
        for part in parts.iter().filter(|part| part.share > 0.0) {
            match sizes.iter_mut().find(|size| size.block.get() == part.size) {
                Some(size) => size.share += part.share,
                None => sizes.push(SizeShare { block: Bytes(part.size), share: part.share }),
            }
        }
        let block = sizes.iter().map(|size| size.block).max().unwrap_or(Bytes::ZERO);
        // Iometer aligns to sectors where it is told nothing.
        let align = parts.iter().map(|part| part.align).max().unwrap_or(0);
        let random = first.random > 0.0;
        let alignment = if align > 0 { align } else { SECTOR };
        let offset = worker.start.checked_mul(SECTOR);
        let Some(offset) = offset else {
            return Err(self.error(worker.line, "starting sector: is beyond any disk"));
        };
        let span = match (worker.sectors, target_size) {
            (0, Some(size)) => size.get().saturating_sub(offset),
            (0, None) => {
                let error = self.error(
                    worker.line,
                    "the worker uses the whole target, of which the size is not known",
                );
                return Err(
                    error.hint("run on a file or device that exists, or set a maximum size")
                );
            }
            (sectors, _) => sectors.saturating_mul(SECTOR),
        };
        let targets = worker.targets.len().max(1) as u64;
        if targets > 1 {
            self.note(
                worker.line,
                "target",
                "all targets of a worker are one, with the requests of all",
            );
        }
        let think_us = mean(|part| part.delay_ms as f64 * 1e3 / part.burst as f64);
        Ok(Test {
            name: specification.name.clone(),
            block,
            pattern: if random { Pattern::Uniform } else { Pattern::Sequential },
            read_share: Ratio::new(mean(|part| part.reads).clamp(0.0, 1.0)).unwrap_or(Ratio::ONE),
            queue_depth: u32::try_from(u64::from(worker.depth) * targets).unwrap_or(u32::MAX),
            threads: 1,
            span: Bytes(span),
            offset: Bytes(offset),
            alignment: Bytes(alignment),
            volume: None,
            duration: self.run_time,
            rounds: None,
            interval: None,
            ramp: self.ramp,
            think: Duration::from_microseconds((think_us as u64).min(86_400_000_000)),
            compressibility: Ratio::ZERO,
            mix: Mix { sizes: if sizes.len() > 1 { sizes } else { Vec::new() }, ..Mix::default() },
            load: Load::Closed,
            start: Start::default(),
        })
    }
}

fn free_name(tests: &[Test], name: &str) -> String {
    let taken = |name: &str| tests.iter().any(|test| test.name == name);
    match taken(name) {
        false => name.to_owned(),
        true => (2..)
            .map(|count| format!("{name} ({count})"))
            .find(|name| !taken(name))
            .unwrap_or_default(),
    }
}
