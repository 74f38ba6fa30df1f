//! Reads the texts of CrystalDiskMark 3 and later and of KDiskMark as a result.
//!
//! A line contains the kind of test, its size, depth and threads if the version prints them, MB/s and, in later
//! versions, requests a second and the mean latency. Versions before 7 name the direction in the line; later versions
//! name it in a section. Sizes that a version does not print are taken from its documentation: a sequential request is
//! 1 MiB, or 128 KiB with several queues (versions 4 to 6).
//!
//! CrystalDiskMark's MB are 10^6 bytes, and each of its figures is the best of the runs. KDiskMark's MB/s are KiB/s
//! divided by 1000, so its throughput is computed from the requests a second. The figure of a mixed KDiskMark test is
//! the mean of both directions, weighted by their shares, which is not the rate of the test; mixed tests are therefore
//! not read.

use lanemark_schema::result::{LatencyHistogram, Sample, Warning};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Pattern;

use crate::error::{FormatError, shown};
use crate::stated::{RATES_FOR, ReportedRun, ReportedTest, direction, nanoseconds, of_mean, time};
use crate::words::{number, size, text_between, whole_number};

/// The ratio between the bytes of KDiskMark's requests and its MB/s.
const KIB_AS_KB: f64 = 1.024;
/// Maximum relative difference, which rounding can explain, between MB/s and the rate that the requests a second imply.
const SLACK: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceProgram {
    CrystalDiskMark,
    KDiskMark,
    Lanemark,
}

struct FigureLine<'t> {
    label: &'t str,
    megabytes: f64,
    iops: Option<f64>,
    latency_us: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TestDirections {
    Read,
    Write,
    /// Both directions, and the share of reads if it is printed.
    Mix(Option<Ratio>),
}

/// Returns whether the text contains a line of figures.
pub(crate) fn is_ours(text: &str) -> bool {
    text.lines().take(200).any(|line| figures(line).is_some_and(|line| kind(line.label).is_some()))
}

/// Reads the results in a text. A line with the name of the program begins a result. `file` is the name of the text in
/// errors.
///
/// # Errors
/// Returns an error with the line number if a line of figures cannot be read.
pub(crate) fn read(text: &str, file: &str) -> Result<Vec<ReportedRun>, FormatError> {
    let is_title = |line: &str| {
        let line = line.trim_start_matches(['>', ' ', '\t', '\u{feff}']);
        let names = ["CrystalDiskMark ", "KDiskMark ("];
        names.iter().any(|name| line.starts_with(name))
    };
    let mut starts = vec![0];
    let mut at = 0;
    let mut has_figures = false;
    for line in text.split_inclusive('\n') {
        if has_figures && is_title(line) {
            starts.push(at);
            has_figures = false;
        }
        has_figures |= line.contains(" MB/s");
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let mut before = 0;
    let parts = starts.iter().zip(ends).map(|(&start, end)| {
        let part = &text[start..end];
        let run = read_one(part, file, before);
        before += part.lines().count();
        run
    });
    parts.collect()
}

/// Reads one result, which begins after `before` lines of the file.
fn read_one(text: &str, file: &str, before: usize) -> Result<ReportedRun, FormatError> {
    let (program, name) = program(text);
    if program == SourceProgram::Lanemark && text.contains("(simulated)]") {
        let error = FormatError::file(file, "an export of a simulated result cannot be imported");
        return Err(error.hint("use the result from which it was exported"));
    }
    let mut run = ReportedRun::new(file, &name);
    let measured = text.lines().find_map(measure_time);
    let span = text.lines().find_map(test_size);
    let old = program == SourceProgram::CrystalDiskMark
        && ["3.", "2.", "1."].iter().any(|major| name.contains(&format!(" {major}")));
    let mut section = None;
    let mut mixed_left = 0;
    let mut by_document = false;
    let mut from_iops = false;
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim_start_matches(['>', ' ', '\t', '\u{feff}']);
        if let Some(found) = section_of(line) {
            section = Some(found);
            continue;
        }
        let Some(line) = figures(line) else { continue };
        let Some(sequential) = kind(line.label) else { continue };
        let line_number = (before + index) as u64 + 1;
        let wrong = |message: String| FormatError::at(file, line_number, message);
        let directions = directions(&line, section).ok_or_else(|| {
            wrong(format!("`{}`: the label states neither reads nor writes", shown(line.label)))
        })?;
        if program == SourceProgram::KDiskMark && matches!(directions, TestDirections::Mix(_)) {
            mixed_left += 1;
            continue;
        }
        let queues = number_after(line.label, &["q", "qd"]);
        let printed = block(line.label);
        by_document |= printed.is_none();
        let block = printed.unwrap_or(if queues.unwrap_or(1) > 1 { 131_072 } else { 1 << 20 });
        let by_iops = rate_of_iops(&line, block, program, &mut run);
        from_iops |= by_iops.is_some();
        let bytes = by_iops.unwrap_or(line.megabytes * 1e6);
        let requests = line.iops.unwrap_or(bytes / block as f64);
        let elapsed = measured.unwrap_or(RATES_FOR);
        let sample = sample(bytes, requests, &line, directions, elapsed).map_err(wrong)?;
        run.add(ReportedTest {
            pattern: Some(if sequential { Pattern::Sequential } else { Pattern::Uniform }),
            block: Some(Bytes(block)),
            read_share: match directions {
                TestDirections::Read => Some(Ratio::ONE),
                TestDirections::Write => Some(Ratio::ZERO),
                TestDirections::Mix(share) => share,
            },
            threads: Some(number_after(line.label, &["t"]).unwrap_or(1)),
            queue_depth: Some(queues.unwrap_or(1)),
            span,
            duration: measured,
            ..ReportedTest::new(test_name(sequential, block, &line, directions, old), sample)
        })?;
    }
    let runs = text.lines().find_map(runs);
    if program == SourceProgram::CrystalDiskMark {
        run.warnings.push(Warning::BestOfRuns { program: name.clone(), runs });
    }
    let time = measured.unwrap_or(RATES_FOR);
    run.warnings.push(Warning::RatesOnly { program: name, time });
    if mixed_left > 0 {
        run.note(&format!(
            "mixed tests are omitted ({mixed_left}): their figures are means of both directions, not rates"
        ));
    }
    if from_iops {
        run.note("its MB/s are KiB/s divided by 1000; the throughput is computed from its IOPS");
    }
    if by_document {
        run.note("sizes of sequential requests come from the program's documentation");
    }
    if text.contains("<0Fill>") || text.contains("<All 0x00>") {
        run.note("its data is zeros, which some drives compress");
    }
    read_footer(text, program, &mut run);
    Ok(run)
}

/// Returns the bytes a second that the requests a second of a line imply, if the program's MB/s are KiB/s divided by
/// 1000. Any other difference between the two rates is noted.
fn rate_of_iops(
    line: &FigureLine<'_>,
    block: u64,
    program: SourceProgram,
    run: &mut ReportedRun,
) -> Option<f64> {
    let by_requests = line.iops? * block as f64;
    let ratio = by_requests / (line.megabytes * 1e6);
    if by_requests <= 0.0 || line.megabytes <= 0.0 {
        return None;
    }
    if program == SourceProgram::KDiskMark && (ratio / KIB_AS_KB - 1.0).abs() < SLACK {
        return Some(by_requests);
    }
    if (ratio - 1.0).abs() > SLACK && line.iops.is_some_and(|iops| iops > 20.0) {
        let label = shown(line.label.trim());
        let percent = (ratio - 1.0) * 100.0;
        run.note(&format!(
            "{label}: the rate that its IOPS imply differs from its MB/s by {percent:+.1}%; both are kept"
        ));
    }
    None
}

/// Reads the drive and the date below the figures.
fn read_footer(text: &str, program: SourceProgram, run: &mut ReportedRun) {
    let mut drive = None;
    let mut date = None;
    for line in text.lines() {
        let Some((key, value)) = line.trim_start_matches(['>', ' ', '\t']).split_once(':') else {
            continue;
        };
        match key.trim() {
            "Test" => drive = text_between(value, "[", "]"),
            "Date" => date = Some(value),
            _ => {}
        }
    }
    run.path = drive.and_then(|drive| path(drive, program));
    if let Some(date) = date {
        run.note_local_time(date);
    }
}

/// Returns the program, and the text with its name and version.
fn program(text: &str) -> (SourceProgram, String) {
    for line in text.lines().take(20) {
        let line = line.trim_matches(['>', ' ', '\t', '\u{feff}']);
        if line.starts_with("Lanemark ") && line.contains("in the layout of CrystalDiskMark") {
            let name = line.split(',').next().unwrap_or("Lanemark");
            return (SourceProgram::Lanemark, name.to_owned());
        }
        if let Some(rest) = line.strip_prefix("KDiskMark") {
            let version = text_between(rest, "(", ")").unwrap_or_default();
            return (SourceProgram::KDiskMark, format!("KDiskMark {version}").trim().to_owned());
        }
        if let Some(rest) = line.strip_prefix("CrystalDiskMark") {
            let version = rest.split_whitespace().next().unwrap_or_default();
            return (
                SourceProgram::CrystalDiskMark,
                format!("CrystalDiskMark {version}").trim().to_owned(),
            );
        }
    }
    (SourceProgram::CrystalDiskMark, "CrystalDiskMark".to_owned())
}

/// Reads a line `LABEL: N MB/s [N IOPS] <N us>`.
fn figures(line: &str) -> Option<FigureLine<'_>> {
    let at = line.find(" MB/s")?;
    let (label, rate) = line[..at].rsplit_once(':')?;
    let megabytes = figure(rate)?;
    let figure = |text: Option<&str>| text.and_then(figure);
    let rest = &line[at..];
    Some(FigureLine {
        label,
        megabytes,
        iops: figure(text_between(rest, "[", " IOPS]")),
        latency_us: figure(text_between(rest, "<", " us>")),
    })
}

/// Returns the number in a text that contains nothing else. Some locales write a decimal comma.
fn figure(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = if text.contains('.') { text.to_owned() } else { text.replace(',', ".") };
    number(&digits).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
}

/// Returns whether the label names a sequential test; `None` if it does not name a test.
fn kind(label: &str) -> Option<bool> {
    let word = label.trim_start_matches(['>', ' ', '\t']).get(..3)?;
    let sequential = word.eq_ignore_ascii_case("seq");
    let random = word.eq_ignore_ascii_case("ran") || word.eq_ignore_ascii_case("rnd");
    (sequential || random).then_some(sequential)
}

/// Returns the section that a line begins, such as `[Read]` or `[Mix] Read 70%/Write 30%`.
fn section_of(line: &str) -> Option<TestDirections> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    match name.trim() {
        "Read" => Some(TestDirections::Read),
        "Write" => Some(TestDirections::Write),
        "Mix" => {
            let percent = rest.find(|letter: char| letter.is_ascii_digit());
            let percent = percent.and_then(|at| number(&rest[at..]));
            let share = percent.and_then(|(percent, _)| Ratio::new(percent / 100.0));
            Some(TestDirections::Mix(share))
        }
        _ => None,
    }
}

fn directions(line: &FigureLine<'_>, section: Option<TestDirections>) -> Option<TestDirections> {
    let label = line.label.to_ascii_lowercase();
    match section {
        _ if label.contains("read") => Some(TestDirections::Read),
        _ if label.contains("write") => Some(TestDirections::Write),
        section => section,
    }
}

/// Returns the number after one of `names` and `=`, such as 32 in `(Q= 32,T= 1)`.
fn number_after(label: &str, names: &[&str]) -> Option<u32> {
    let label = label.to_ascii_lowercase();
    let mut parts = label.split('=');
    let mut before = parts.next()?;
    for part in parts {
        let name = before.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next()?;
        if names.contains(&name) {
            return whole_number(part).filter(|count| *count > 0);
        }
        before = part;
    }
    None
}

/// Returns the request size in a label, such as `4KiB`, `1 MiB` or `512KB`.
fn block(label: &str) -> Option<u64> {
    let before = label.split('(').next()?;
    let digit = before.find(|letter: char| letter.is_ascii_digit())?;
    let (bytes, _) = size(&before[digit..], false)?;
    let is_sector = |bytes: &u64| *bytes > 0 && bytes.is_multiple_of(512) && *bytes <= 64 << 20;
    Some(bytes as u64).filter(is_sector)
}

/// Returns the name of a test in the form that the library's workloads use.
fn test_name(
    sequential: bool,
    block: u64,
    line: &FigureLine<'_>,
    directions: TestDirections,
    old: bool,
) -> String {
    let direction = match directions {
        TestDirections::Read => "read",
        TestDirections::Write => "write",
        TestDirections::Mix(_) => "mix",
    };
    let size = match block {
        _ if block.is_multiple_of(1 << 20) => format!("{}M", block >> 20),
        _ => format!("{}K", block as f64 / 1024.0),
    };
    let queues = number_after(line.label, &["q", "qd"]).unwrap_or(1);
    match (old, sequential, queues) {
        (true, true, _) => format!("Seq {direction}"),
        (true, false, 1) => format!("{size} {direction}"),
        (true, false, queues) => format!("{size} QD{queues} {direction}"),
        (false, ..) => {
            let kind = if sequential { "SEQ" } else { "RND" };
            let threads = number_after(line.label, &["t"]).unwrap_or(1);
            format!("{kind}{size} Q{queues}T{threads} {direction}")
        }
    }
}

fn sample(
    bytes_per_second: f64,
    requests_per_second: f64,
    line: &FigureLine<'_>,
    directions: TestDirections,
    elapsed: Duration,
) -> Result<Sample, String> {
    let seconds = elapsed.as_seconds();
    let latency_ns = line.latency_us.and_then(|us| nanoseconds(us, 1e3));
    let latency = |count: u64| -> LatencyHistogram { of_mean(count, latency_ns, None, None) };
    let bytes = bytes_per_second * seconds;
    let requests = requests_per_second * seconds;
    let side = direction(bytes, requests, latency)?;
    let mut sample = Sample { elapsed, ..Sample::empty() };
    match directions {
        TestDirections::Read => sample.reads = side,
        TestDirections::Write => sample.writes = side,
        TestDirections::Mix(_) => sample.unified = side,
    }
    Ok(sample)
}

/// Returns the time of a run in a line such as `Time: Measure 5 sec / Interval 5 sec`.
fn measure_time(line: &str) -> Option<Duration> {
    let (_, rest) = line.split_once("Measure")?;
    let (seconds, rest) = number(rest.trim_start_matches([':', ' ']))?;
    let fits = rest.trim_start().starts_with("sec") && seconds >= 1.0;
    time(seconds, 1.0).ok().filter(|_| fits)
}

/// Returns the size of the test file in a line such as `Test: 1 GiB (x5)`.
fn test_size(line: &str) -> Option<Bytes> {
    let (bytes, rest) = size(test_line(line)?, false)?;
    let fits = rest.trim_start().starts_with(['(', '[']) && (1e6..1e15).contains(&bytes);
    fits.then_some(Bytes(bytes as u64))
}

/// Returns the number of runs in a line such as `Test: 1 GiB (x5)`.
fn runs(line: &str) -> Option<u32> {
    let (_, rest) = test_line(line)?.split_once("(x")?;
    whole_number(rest).filter(|runs| (1..=1000).contains(runs))
}

fn test_line(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(['>', ' ', '\t']).strip_prefix("Test")?;
    rest.trim_start().strip_prefix(':')
}

/// Returns the target of a text: a drive letter, or the path in Lanemark's export.
fn path(text: &str, program: SourceProgram) -> Option<String> {
    match program {
        SourceProgram::Lanemark => {
            Some(text.rsplit_once(", ").map_or(text, |(path, _)| path).to_owned())
        }
        SourceProgram::CrystalDiskMark => {
            let letter = text.split_once(':')?.0;
            (letter.len() == 1).then(|| format!("{letter}:"))
        }
        SourceProgram::KDiskMark => None,
    }
}
