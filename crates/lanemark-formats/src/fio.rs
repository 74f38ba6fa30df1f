//! Reads fio's job files as workloads.
//!
//! fio's HOWTO describes the format and the options ("Job file format", "Job file parameters"); `option` states how
//! each option is treated. A job is a test, and its clones (`numjobs`) are the threads of the test. Jobs run in
//! parallel until a job waits for the earlier jobs (`stonewall`, `wait_for`).
//!
//! | file | contents |
//! |---|---|
//! | `command` | a command line as a job file |
//! | `lines` | sections, comments, includes, the environment |
//! | `number` | sizes and times |
//! | `option` | every option, and how it is treated |
//! | `job` | the options of a job, including the global options |
//! | `direction`, `block`, `order` | kinds, lengths and offsets of requests |
//! | `range` | the files of jobs as parts of one target |
//! | `pace` | rates and limits |
//! | `settings` | the result of reading a job file |
//! | `job_environment` | the environment in which a job file is read |
//!
//! If fio draws random offsets from a map that contains each offset once, the pattern is `Shuffled`; with `norandommap`
//! it is `Uniform`. The offsets depend on Lanemark's seeds, not on fio's.
//!
//! Arithmetic in parentheses, keywords such as `$mb_memory`, and options of engines that do not access a local file or
//! block device are not supported; each of them causes an error.

mod block;
mod command;
mod direction;
mod job;
mod job_environment;
mod lines;
mod number;
mod option;
mod order;
mod pace;
mod range;
mod settings;

use std::path::PathBuf;

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::bound::QUEUE_DEPTH;
use lanemark_schema::workload::{
    AverageMethod, Pattern, RequestMix, Test, TestError, TestOrder, Workload,
};

use crate::error::{FormatError, FormatErrors, SupportLevel};
use crate::imported::TestNames;
use block::BlockSizes;
pub use command::{FioCommandLine, command, words};
use direction::RwOption;
use job::{Job, JobProblems};
pub use job_environment::JobEnvironment;
pub use lines::is_job_file;
use number::DefaultTimeUnit;
pub use option::{OptionSupport, options};
pub(crate) use order::normal_for;
use range::{JobRange, RequestedRange};
pub use settings::{FioJobs, FioSettings, IoEngine};

/// Maximum number of tests in a job file.
const TESTS_MAX: usize = 4096;

/// Reads a job file.
///
/// # Errors
/// Returns all errors and unsupported options in the file, each with its line.
pub fn read(text: &str, around: &JobEnvironment<'_>) -> Result<FioJobs, FormatErrors> {
    let mut found = JobProblems::default();
    let sections = lines::read(text, around, &mut found.faults);
    if sections.len() > TESTS_MAX {
        return Err(too_many_jobs(around).into());
    }
    let jobs = job::jobs(&sections, &mut found);
    if jobs.is_empty() && found.faults.is_empty() {
        let error = FormatError::file(around.file, "the file does not contain jobs");
        return Err(error.hint("add at least one section in addition to [global]").into());
    }
    let mut settings = settings(&jobs, &mut found);
    let tests = tests(&jobs, around, &mut settings, &mut found);
    if !found.faults.is_empty() {
        found.faults.sort_by_key(|fault| fault.line);
        return Err(FormatErrors(found.faults));
    }
    let stem = around.file.rsplit('/').next().unwrap_or(around.file);
    let stem = stem.strip_suffix(".fio").unwrap_or(stem);
    let workload = Workload {
        faults: Vec::new(),
        id: stem.to_owned(),
        name: format!("{stem}, from a fio job file"),
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests,
    };
    Ok(FioJobs { workload, settings, notes: found.notes })
}

fn settings(jobs: &[Job], findings: &mut JobProblems) -> FioSettings {
    let mut all = FioSettings::default();
    let mut is_stated = false;
    for job in jobs {
        let wanted = job.parsed("ioengine", findings, |name| Ok(name.trim().to_owned()));
        if let Some(name) = wanted {
            match settings::engine(&name) {
                Ok((engine, note)) => {
                    if let Some(reason) = note {
                        job.note("ioengine", findings, SupportLevel::Nearly, reason);
                    }
                    if all.engine.is_some_and(|other| other != engine) {
                        let reason = "all jobs use one engine; jobs with a synchronous engine have a depth of 1";
                        job.note("ioengine", findings, SupportLevel::Nearly, reason);
                    }
                    all.engine = match all.engine {
                        Some(IoEngine::IoUring) => Some(IoEngine::IoUring),
                        _ => Some(engine),
                    };
                }
                Err(reason) => {
                    let expected =
                        "io_uring, libaio, posixaio, sync, psync, vsync, pvsync, pvsync2 or null";
                    findings.add_error(
                        job.error("ioengine", &format!("an engine for local files ({reason})"))
                            .hint(format!("one of {expected}")),
                    );
                }
            }
        }
        let buffered = job.flag("buffered", findings).map(|buffered| !buffered);
        let direct = job.flag("direct", findings).or(buffered).unwrap_or(false);
        // Trims do not use the page cache.
        let cached =
            RwOption::from_job(job, findings).is_none_or(|direction| direction.only() != Some(2));
        if all.direct.is_some_and(|other| other != direct) && cached {
            let name =
                if job.has("buffered") && !job.has("direct") { "buffered" } else { "direct" };
            let error =
                job.error(name, "the same value in all jobs, because the target is opened once");
            findings.add_error(error.hint("write a separate job file for each value"));
        }
        if cached {
            all.direct = Some(direct);
        }
        is_stated |= job.has("direct") || job.has("buffered");
        goes_on(job, &mut all, findings);
        if job.text("verify").is_some_and(|method| !matches!(method, "0" | "null")) {
            for name in ["verify", "do_verify"] {
                let reason = "written data is not read back and compared";
                job.note(name, findings, SupportLevel::Nearly, reason);
            }
        }
        let folder = PathBuf::from(job.text("directory").unwrap_or(""));
        for name in range::names_of(job.text("filename").unwrap_or("")) {
            let path = folder.join(name);
            if !all.targets.contains(&path) {
                all.targets.push(path);
            }
        }
        if job.text("zonemode").is_some_and(|mode| !matches!(mode, "none" | "strided")) {
            let expected = "none or strided: zoned block devices are not supported";
            findings.add_error(job.error("zonemode", expected));
        }
    }
    if !is_stated {
        all.direct = None;
    }
    all
}

/// Sets whether jobs continue after errors. In Lanemark, the setting applies to all jobs.
fn goes_on(job: &Job, all: &mut FioSettings, findings: &mut JobProblems) {
    const NAME: &str = "continue_on_error";
    let wanted = job.parsed(NAME, findings, |text| match text {
        "" | "1" | "all" | "io" => Ok((true, None)),
        "read" | "write" => Ok((true, Some("the run continues after an error in any request"))),
        "0" | "none" => Ok((false, None)),
        "verify" => Ok((false, Some("written data is not read back and compared"))),
        _ => Err("none, read, write, io, verify or all"),
    });
    let Some((goes_on, note)) = wanted else { return };
    if let Some(reason) = note {
        job.note(NAME, findings, SupportLevel::Nearly, reason);
    }
    if all.goes_on.is_some_and(|other| other != goes_on) {
        job.note(
            NAME,
            findings,
            SupportLevel::Nearly,
            "all jobs continue after errors if one job does",
        );
    }
    all.goes_on = Some(goes_on || all.goes_on == Some(true));
}

fn tests(
    jobs: &[Job],
    around: &JobEnvironment<'_>,
    settings: &mut FioSettings,
    findings: &mut JobProblems,
) -> Vec<Test> {
    let wanted: Vec<(&Job, Option<RequestedRange>)> =
        jobs.iter().map(|job| (job, RequestedRange::from_job(job, findings))).collect();
    let ranges = range::job_ranges(&wanted, around.target_size, findings);
    let mut tests: Vec<Test> = Vec::new();
    let mut names = TestNames::default();
    for (index, (job, placed)) in jobs.iter().zip(ranges).enumerate() {
        let waits = has_stonewall(job, &jobs[..index], findings);
        let several = placed.as_ref().is_some_and(|placed| placed.len() > 1);
        // A job with an invalid range is also read, so that all its errors are reported.
        let all_parts = |placed: &Vec<JobRange>| placed.clone();
        let nowhere = vec![JobRange {
            offset: Bytes::ZERO,
            span: Bytes(1 << 40),
            threads: 1,
            each: Bytes(1 << 40),
            after: false,
            parted: false,
        }];
        for (clone, range) in placed.as_ref().map_or(nowhere, all_parts).iter().enumerate() {
            let Some(mut test) = test(job, range, findings) else { continue };
            if several {
                test.name = format!("{}.{clone}", test.name);
            }
            test.name = names.take(test.name);
            let walled = waits && clone == 0 || range.after && clone > 0;
            test.start.beside = !tests.is_empty() && !walled;
            let checked = match settings.direct {
                Some(true) => test.check(),
                _ => test.check_through_cache(),
            };
            if let Err(error) = checked
                && placed.is_some()
            {
                findings.add_error(out_of_bounds(job, &error));
            }
            if waits_for_cache(job, &test) {
                settings.wait_for_cache.push(test.name.clone());
            }
            if pace::is_sized_by_target(job) {
                settings.sized_by_target.push(test.name.clone());
            }
            if tests.len() < TESTS_MAX {
                tests.push(test);
            }
        }
    }
    if tests.len() >= TESTS_MAX {
        findings.add_error(too_many_jobs(around));
    }
    tests
}

fn too_many_jobs(around: &JobEnvironment<'_>) -> FormatError {
    FormatError::file(around.file, "there are too many jobs and clones").hint("up to 4,096")
}

/// Returns an error about a test that is out of bounds, at the line of the option that causes it.
fn out_of_bounds(job: &Job, error: &TestError) -> FormatError {
    let options: &[&str] = match error.field {
        "block" | "sizes" => &["bssplit", "bsrange", "bs"],
        "alignment" => &["ba", "bssplit", "bsrange", "bs"],
        "offset" => &["offset"],
        "span" => &["size", "filesize"],
        "volume" => &["io_size", "size"],
        "duration" => &["runtime"],
        _ => &[],
    };
    let given = options.iter().find_map(|name| job.line(name));
    let (file, line) = given.map_or((&job.file, job.line), |line| (&line.file, line.line));
    let found = FormatError::at(file, line, format!("job `{}`: {error}", job.name));
    if error.bound.contains("multiple of 512 B") {
        found.hint("without direct=1 the page cache accepts any size, as in fio")
    } else {
        found
    }
}

/// Returns whether a job's engine waits for each read that uses the page cache; libaio is asynchronous only with direct
/// I/O (fio's HOWTO, `ioengine`, `libaio`).
fn waits_for_cache(job: &Job, test: &Test) -> bool {
    job.text("ioengine").is_some_and(|name| name.trim() == "libaio")
        && test.reads()
        && test.issue_depth() > 1
}

/// Returns whether a job begins only when the earlier jobs have ended.
fn has_stonewall(job: &Job, before: &[Job], findings: &mut JobProblems) -> bool {
    let walled = job.flag("stonewall", findings).unwrap_or(false);
    let Some(name) = job.text("wait_for") else { return walled };
    let Some(at) = before.iter().rposition(|other| other.name == name) else {
        let error = job.error("wait_for", "the name of an earlier job");
        findings.add_error(error);
        return walled;
    };
    if at + 1 < before.len() {
        job.note("wait_for", findings, SupportLevel::Nearly, "the job waits for all earlier jobs");
    }
    true
}

fn test(job: &Job, placed: &JobRange, findings: &mut JobProblems) -> Option<Test> {
    // After an error, the job is read only to find other errors, because a file with errors does not become a workload.
    let direction = RwOption::from_job(job, findings).unwrap_or(RwOption::MIXED);
    let read_share = read_share(job, direction, findings);
    let blocks = BlockSizes::from_job(job, direction, read_share.get(), findings);
    let depth = depth(job, direction, findings);
    let is_whole = blocks.is_some() && depth.is_some();
    let mut blocks = blocks.unwrap_or_else(BlockSizes::usual);
    let pattern = order::pattern(job, direction, &mut blocks, findings);
    let is_whole = is_whole && pattern.is_some();
    let mut test = Test {
        name: job.name.clone(),
        threads: placed.threads,
        span: placed.span,
        offset: placed.offset,
        compressibility: compressibility(job, findings),
        ..Test::of_blocks(blocks.block)
    }
    .with(|settings| {
        settings.pattern = pattern.unwrap_or(Pattern::Uniform);
        settings.read_share = read_share;
        settings.queue_depth = depth.unwrap_or(1);
        settings.alignment = blocks.alignment;
        settings.mix = RequestMix {
            sizes: blocks.sizes,
            trim_share: trim_share(job, direction, findings),
            flush_every: flushes(job, direction, findings),
            written_back: false,
            copy_to: None,
        };
    });
    if placed.parted && !test.is_in_order() {
        let reason = "all clones draw their offsets from the combined range of their parts";
        job.note("offset_increment", findings, SupportLevel::Nearly, reason);
    } else if placed.threads > 1 && test.is_in_order() && job.has("filename") && !placed.parted {
        let reason = "each clone accesses an equal part of the file instead of the whole file";
        job.note("numjobs", findings, SupportLevel::Nearly, reason);
    }
    test.start.delay = delay(job, findings);
    pace::apply_limits(job, placed, &mut test, findings);
    let mean = test.block_mean();
    let threads = test.threads;
    if let Some(requests) = test.requests_mut() {
        pace::arrivals(job, direction, mean, threads, requests, findings);
    }
    is_whole.then_some(test)
}

fn read_share(job: &Job, direction: RwOption, findings: &mut JobProblems) -> Ratio {
    let percent = |name: &str, findings: &mut JobProblems| {
        job.parsed(name, findings, |text| {
            let percent = text.trim().trim_end_matches('%').parse::<f64>().ok();
            let ratio = percent.and_then(|percent| Ratio::new(percent / 100.0));
            ratio.ok_or("a percentage from 0 to 100")
        })
    };
    let reads = percent("rwmixread", findings);
    let writes = percent("rwmixwrite", findings);
    match (direction.reads, direction.writes) {
        (true, true) => {
            let rest = writes.and_then(|writes| Ratio::new(1.0 - writes.get()));
            if let (Some(reads), Some(rest)) = (reads, rest)
                && (reads.get() - rest.get()).abs() > 1e-9
            {
                job.note(
                    "rwmixwrite",
                    findings,
                    SupportLevel::Nearly,
                    "rwmixread applies, and the remaining requests are writes",
                );
            }
            reads.or(rest).unwrap_or(Ratio::HALF)
        }
        (true, false) => Ratio::ONE,
        _ => Ratio::ZERO,
    }
}

fn trim_share(job: &Job, direction: RwOption, findings: &mut JobProblems) -> Ratio {
    match (direction.trims, direction.writes) {
        (false, _) => Ratio::ZERO,
        (true, false) => Ratio::ONE,
        (true, true) => {
            let reason = "half of the requests trim and half write, at independent offsets";
            job.note("rw", findings, SupportLevel::Nearly, reason);
            Ratio::HALF
        }
    }
}

/// Returns the number of writes between two flushes.
fn flushes(job: &Job, direction: RwOption, findings: &mut JobProblems) -> Option<u32> {
    let mut every: Option<u64> = None;
    for name in ["fsync", "fdatasync"] {
        if let Some(count) = job.integer(name, findings).filter(|&count| count > 0) {
            every = Some(every.map_or(count, |other| other.min(count)));
        }
    }
    if job.has("fdatasync") {
        job.note("fdatasync", findings, SupportLevel::Nearly, "a flush, as for fsync");
    }
    let synchronous = job.parsed("sync", findings, |text| match text {
        "" | "1" | "sync" | "dsync" => Ok(true),
        "0" | "none" => Ok(false),
        _ => Err("none, sync or dsync"),
    });
    if synchronous == Some(true) {
        job.note("sync", findings, SupportLevel::Nearly, "a flush after each write");
        every = Some(1);
    }
    every.filter(|_| direction.writes).map(|every| u32::try_from(every).unwrap_or(u32::MAX))
}

/// Returns the queue depth. An engine that waits for its requests has one request outstanding, regardless of `iodepth`.
/// fio's other engines wait for each trim (`do_io_u_trim` in `libaio.c` and `io_uring.c`).
fn depth(job: &Job, direction: RwOption, findings: &mut JobProblems) -> Option<u32> {
    let Some(depth) = QUEUE_DEPTH.accept(job.integer("iodepth", findings).unwrap_or(1)) else {
        findings.add_error(job.error("iodepth", &QUEUE_DEPTH.to_string()));
        return None;
    };
    let engine = job.text("ioengine").map_or(Ok((IoEngine::Sync, None)), settings::engine);
    if depth > 1 && matches!(engine, Ok((IoEngine::Sync, _))) {
        let reason =
            "1, because the engine waits for each request (the default engine of fio is psync)";
        job.note("iodepth", findings, SupportLevel::Nearly, reason);
        return Some(1);
    }
    let trims_only = direction.trims && !direction.reads && !direction.writes;
    if depth > 1 && trims_only && matches!(engine, Ok((IoEngine::IoUring, _))) {
        let reason = "1, because fio waits for each trim";
        job.note("iodepth", findings, SupportLevel::Nearly, reason);
        return Some(1);
    }
    Some(depth)
}

fn compressibility(job: &Job, findings: &mut JobProblems) -> Ratio {
    let percent = job.parsed("buffer_compress_percentage", findings, |text| {
        let percent = text.trim().trim_end_matches('%').parse::<f64>().ok();
        percent.and_then(|percent| Ratio::new(percent / 100.0)).ok_or("a percentage from 0 to 100")
    });
    let zeros = job.flag("zero_buffers", findings).unwrap_or(false);
    if zeros {
        return Ratio::ONE;
    }
    if job.has("buffer_pattern") && percent.is_none() {
        job.note(
            "buffer_pattern",
            findings,
            SupportLevel::Nearly,
            "zeros, which compress like any other pattern",
        );
        return Ratio::ONE;
    }
    percent.unwrap_or(Ratio::ZERO)
}

fn delay(job: &Job, findings: &mut JobProblems) -> Duration {
    if job.text("startdelay").is_some_and(|text| text.contains('-')) {
        job.note(
            "startdelay",
            findings,
            SupportLevel::Nearly,
            "the minimum of the range, without randomness",
        );
    }
    let parse_least =
        |text: &str| number::time(text.split('-').next().unwrap_or(text), DefaultTimeUnit::Seconds);
    job.parsed("startdelay", findings, parse_least).unwrap_or(Duration::ZERO)
}
