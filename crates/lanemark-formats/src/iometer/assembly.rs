//! Assembles tests from the specifications and workers in Iometer's settings.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{
    AverageMethod, Pattern, RequestMix, SizeShare, Test, TestOrder, Workload,
};

use super::settings::{
    AccessLine, AccessSpecification, IometerSettings, IometerWorker, SettingsReader, TESTS_MAX,
};
use crate::error::{FormatError, shown};
use crate::imported::TestNames;

const SECTOR: u64 = 512;

impl SettingsReader<'_> {
    /// Completes the settings after the last line was read.
    pub(super) fn finish(
        mut self,
        target_size: Option<Bytes>,
    ) -> Result<IometerSettings, FormatError> {
        let (line, kind) = self.kind.clone();
        let depths = match kind.as_str() {
            "NORMAL" => None,
            "CYCLE_OUTSTANDING_IOS" => Some(self.depths.1.clone()),
            other => {
                let error =
                    self.error(line, format!("test type {} is not supported", shown(other)));
                return Err(error.hint("NORMAL or CYCLE_OUTSTANDING_IOS"));
            }
        };
        if self.run_time.is_none_or(|time| time == Duration::ZERO) {
            let error = FormatError::file(self.file, "the run time is 0, so no test would end");
            return Err(error.hint("set 'Run Time"));
        }
        if self.workers.is_empty() {
            let is_usual = |specification: &&AccessSpecification| specification.usual;
            let line_and_name = |specification: &AccessSpecification| {
                (specification.line, specification.name.clone())
            };
            let mut given: Vec<_> =
                self.specifications.iter().filter(is_usual).map(line_and_name).collect();
            if given.is_empty() {
                given = self.specifications.iter().map(line_and_name).collect();
            }
            self.workers.push(IometerWorker {
                line: 1,
                depth: 1,
                sectors: 0,
                start: 0,
                specifications: given,
                targets: Vec::new(),
            });
        }
        self.tell_unassigned();
        let tests = self.tests(depths.as_deref(), target_size)?;
        let mut targets: Vec<String> =
            self.workers.iter().flat_map(|worker| worker.targets.clone()).collect();
        targets.sort();
        targets.dedup();
        let stem = self.file.rsplit('/').next().unwrap_or(self.file);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let workload = Workload {
            faults: Vec::new(),
            id: stem.to_owned(),
            name: format!("{stem}, from Iometer's settings"),
            repeats: 1,
            average: AverageMethod::Mean,
            order: TestOrder::Listed,
            precondition: None,
            tests,
        };
        Ok(IometerSettings { workload, targets, notes: self.notes })
    }

    /// Reports the specifications that are not assigned to any worker, which Iometer ignores silently.
    fn tell_unassigned(&mut self) {
        let is_assigned = |specification: &AccessSpecification| {
            let mut given = self.workers.iter().flat_map(|worker| &worker.specifications);
            given.any(|(_, name)| *name == specification.name)
        };
        let unassigned: Vec<(u64, String)> = self
            .specifications
            .iter()
            .filter(|specification| !is_assigned(specification))
            .map(|specification| (specification.line, specification.name.clone()))
            .collect();
        for (line, name) in unassigned {
            let reason = format!("`{}` is not assigned to any worker and is not run", shown(&name));
            self.note(line, "access specification", &reason);
        }
    }

    fn tests(
        &mut self,
        depths: Option<&[u32]>,
        target_size: Option<Bytes>,
    ) -> Result<Vec<Test>, FormatError> {
        let workers = self.workers.clone();
        let steps = workers.iter().map(|worker| worker.specifications.len()).max().unwrap_or(0);
        let mut tests: Vec<Test> = Vec::new();
        let mut names = TestNames::default();
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
                    let mut test = match depth {
                        Some(depth) => test.clone().with(|requests| requests.queue_depth = depth),
                        None => test.clone(),
                    };
                    test.threads = (*threads).min(u64::from(u32::MAX)) as u32;
                    test.start.beside = at > 0;
                    if let Some(depth) = depth {
                        test.name = format!("{} Q{depth}", test.name);
                    }
                    test.name = names.take(test.name);
                    let line = workers[0].line;
                    test.check().map_err(|error| {
                        self.error(line, format!("specification `{}`: {error}", shown(&test.name)))
                    })?;
                    if tests.len() >= TESTS_MAX {
                        return Err(self.error(line, "there are more than 4,096 tests"));
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
        worker: &IometerWorker,
        line: u64,
        name: &str,
        target_size: Option<Bytes>,
    ) -> Result<Test, FormatError> {
        let found = self.specifications.iter().find(|known| known.name == name).cloned();
        let Some(specification) = found.filter(|known| !known.parts.is_empty()) else {
            let names: Vec<&str> =
                self.specifications.iter().map(|known| known.name.as_str()).collect();
            let message = format!("there is no access specification `{}`", shown(name));
            let hint = format!("there are: {}", shown(&names.join(", ")));
            return Err(self.error(line, message).hint(hint));
        };
        let parts = &specification.parts;
        let first = &parts[0];
        if let Some(other) = parts.iter().find(|part| part.random != first.random) {
            let error = self.error(other.line, "only some lines of the specification are random");
            return Err(error.hint("split it into two specifications for concurrent workers"));
        }
        let sum: f64 = parts.iter().map(|part| part.share).sum();
        if sum <= 0.0 {
            return Err(self.error(first.line, "% of size: no line has a share above 0"));
        }
        if parts.iter().any(|part| part.reads != first.reads || part.delay_ms != first.delay_ms) {
            let reason =
                "all sizes have the same average share of reads and the same average delay";
            self.note(first.line, "% reads", reason);
        }
        let mean = |of: fn(&AccessLine) -> f64| {
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
        // Iometer's default is alignment to sectors.
        let align = parts.iter().map(|part| part.align).max().unwrap_or(0);
        let random = first.random > 0.0;
        let alignment = if align > 0 { align } else { SECTOR };
        let offset = worker.start.checked_mul(SECTOR);
        let Some(offset) = offset else {
            return Err(self.error(worker.line, "starting sector: beyond the end of any disk"));
        };
        let span = match (worker.sectors, target_size) {
            (0, Some(size)) => size.get().saturating_sub(offset),
            (0, None) => {
                let error = self.error(
                    worker.line,
                    "the worker uses the whole target, whose size is not known",
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
                "all targets of a worker are combined into one, which receives all requests",
            );
        }
        let think_us = mean(|part| part.delay_ms as f64 * 1e3);
        let burst = mean(|part| part.burst as f64).round() as u32;
        Ok(Test {
            name: specification.name.clone(),
            span: Bytes(span),
            offset: Bytes(offset),
            duration: self.run_time,
            ramp: self.ramp,
            ..Test::of_blocks(block)
        }
        .with(|requests| {
            requests.pattern = if random { Pattern::Uniform } else { Pattern::Sequential };
            requests.read_share =
                Ratio::new(mean(|part| part.reads).clamp(0.0, 1.0)).unwrap_or(Ratio::ONE);
            requests.queue_depth =
                u32::try_from(u64::from(worker.depth) * targets).unwrap_or(u32::MAX);
            requests.alignment = Bytes(alignment);
            requests.think = Duration::from_microseconds((think_us as u64).min(86_400_000_000));
            requests.burst = if think_us >= 1.0 { burst.max(1) } else { 1 };
            requests.mix = RequestMix {
                sizes: if sizes.len() > 1 { sizes } else { Vec::new() },
                ..RequestMix::default()
            };
        }))
    }
}
