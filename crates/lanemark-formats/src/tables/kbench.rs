//! The summary of kbench, Longhorn's benchmark, and its comparison of two volumes.
//!
//! kbench runs fio with requests of 4 KiB for `IOPS` and `Latency` and of 128 KiB for `Bandwidth`; its queue depths
//! differ between versions, and the summary does not state them. The mean latencies are of separate runs, whose rates
//! are not printed.

use lanemark_schema::result::{Sample, Warning};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Pattern;

use crate::error::{FormatError, shown};
use crate::stated::{RATES_FOR, ReportedRun, ReportedTest, direction, of_mean};
use crate::words::size;

/// The figure that a section contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Iops,
    Bandwidth,
    Latency,
}

/// The name of sequential tests.
const SEQUENTIAL: &str = "SEQ";

/// Returns whether the text contains a summary of kbench.
pub(super) fn is_ours(text: &str) -> bool {
    [
        "FIO Benchmark Summary",
        "FIO Benchmark Comparsion Summary",
        "FIO Benchmark Comparison Summary",
    ]
    .iter()
    .any(|title| text.contains(title))
}

/// Reads one run per volume.
pub(super) fn read(text: &str, file: &str) -> Result<Vec<ReportedRun>, FormatError> {
    let value_of = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
        })
    };
    let names: Vec<String> = value_of("For")
        .map(|names| names.split(" vs ").map(shown).collect())
        .unwrap_or_else(|| vec!["kbench".to_owned()]);
    let span = value_of("SIZE").and_then(|text| Some(size(text, false)?.0));
    let span = span.filter(|bytes| (1e6..1e15).contains(bytes)).map(|bytes| Bytes(bytes as u64));
    let mut runs: Vec<ReportedRun> =
        names.iter().take(2).map(|name| run_of_volume(file, name)).collect();
    let mut section = None;
    let mut latencies: Vec<Vec<String>> = vec![Vec::new(); runs.len()];
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let wrong = |message: String| FormatError::at(file, index as u64 + 1, message);
        section = match line {
            _ if line.starts_with("IOPS (Read/Write)") => Some(Section::Iops),
            _ if line.starts_with("Bandwidth in KiB/sec (Read/Write)") => Some(Section::Bandwidth),
            _ if line.starts_with("Latency in ns (Read/Write)") => Some(Section::Latency),
            _ => section,
        };
        let Some((section, (kind, values))) = section.zip(line.split_once(':')) else { continue };
        let label = match kind.trim() {
            "Random" => "RND",
            "Sequential" => SEQUENTIAL,
            _ => continue,
        };
        let values = values.split(':').next().unwrap_or_default();
        for ((run, latencies), pair) in
            runs.iter_mut().zip(&mut latencies).zip(values.split(" vs "))
        {
            let figures = pair_of(pair).ok_or_else(|| {
                wrong(format!("`{}` is not a pair of figures", shown(pair.trim())))
            })?;
            for (figure, reads) in [(figures.0, true), (figures.1, false)] {
                let word = if reads { "read" } else { "write" };
                if section == Section::Latency {
                    latencies.push(format!("{label} {word} {:.1} µs", figure / 1e3));
                    continue;
                }
                let test = test(section, figure, reads, label).map_err(wrong)?;
                run.add(ReportedTest { span, ..test })?;
            }
        }
    }
    for (run, latencies) in runs.iter_mut().zip(&latencies) {
        note_latencies(run, latencies);
    }
    Ok(runs)
}

/// Creates the run of a volume without tests.
fn run_of_volume(file: &str, name: &str) -> ReportedRun {
    let mut run = ReportedRun::new(file, "kbench");
    run.path = Some(name.to_owned());
    run.note("its request sizes come from the documentation of kbench");
    run.warnings.push(Warning::RatesOnly { program: "kbench".to_owned(), time: RATES_FOR });
    run
}

/// Adds a warning with the mean latencies, which belong to no test with a rate.
fn note_latencies(run: &mut ReportedRun, latencies: &[String]) {
    if !latencies.is_empty() {
        let note = format!(
            "mean latencies of separate runs, whose rates are not stated: {}",
            latencies.join(", ")
        );
        run.warnings.push(Warning::Imported { note });
    }
}

/// Returns the two figures in `28,832 / 5,730`, whose thousands have commas.
fn pair_of(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.split_once('/')?;
    let figure = |text: &str| {
        let digits: String = text.trim().chars().filter(|letter| *letter != ',').collect();
        let is_number =
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        digits.parse::<f64>().ok().filter(|_| is_number)
    };
    Some((figure(first)?, figure(second)?))
}

fn test(section: Section, figure: f64, reads: bool, label: &str) -> Result<ReportedTest, String> {
    let block: f64 = if section == Section::Bandwidth { 131_072.0 } else { 4096.0 };
    let bytes_per_second = match section {
        Section::Bandwidth => figure * 1024.0,
        Section::Iops | Section::Latency => figure * block,
    };
    let seconds = RATES_FOR.as_seconds();
    let bytes = bytes_per_second * seconds;
    let side = direction(bytes, bytes / block, |count| of_mean(count, None, None, None))?;
    let mut sample = Sample { elapsed: RATES_FOR, ..Sample::empty() };
    let size = if block > 4096.0 { "128K" } else { "4K" };
    let word = if reads { "read" } else { "write" };
    if reads {
        sample.reads = side;
    } else {
        sample.writes = side;
    }
    Ok(ReportedTest {
        pattern: Some(if label == SEQUENTIAL { Pattern::Sequential } else { Pattern::Uniform }),
        block: Some(Bytes(block as u64)),
        read_share: Some(if reads { Ratio::ONE } else { Ratio::ZERO }),
        ..ReportedTest::new(format!("{label}{size} {word}"), sample)
    })
}
