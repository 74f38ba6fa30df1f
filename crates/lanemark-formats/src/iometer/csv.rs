//! Reads Iometer's results file as a result.
//!
//! Columns are found by name, because versions differ in their columns. A row `ALL` begins a test, and the rows of its
//! managers, workers and disks follow. The bytes, requests and response times (ms) are read from the row `ALL`, and the
//! time is computed from the requests and their rate. The access specification before the results states the size, the
//! share of reads and the randomness. Latencies consist of mean and maximum, because the classes in newer versions are
//! too wide for percentiles.

use std::collections::{BTreeSet, HashMap};

use lanemark_schema::result::{ErrorCount, ErrorKind, RequestErrors, Sample};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Pattern;

use crate::error::{FormatError, shown};
use crate::stated::{ReportedRun, ReportedTest, direction, nanoseconds, of_mean, time};
use crate::words::utc;

/// Maximum number of access specifications.
const SPECIFICATIONS_MAX: usize = 10_000;
/// The first columns in all versions.
const HEAD: &str = "'Target Type,Target Name,Access Specification Name";

/// An access specification that has only one line.
#[derive(Clone, Debug)]
struct AccessSpecification {
    block: u64,
    reads: f64,
    random: f64,
}

/// The rows of a test that is being read.
struct TestRows {
    test: ReportedTest,
    /// The depth of the workers. A worker with several targets has this depth for each target.
    depth: Option<u32>,
    depths_differ: bool,
}

/// Returns whether the text is a results file.
pub(crate) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.trim_start_matches('\u{feff}').starts_with(HEAD))
}

/// Reads the text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error with the line number if a row does not contain figures.
pub(crate) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let mut run = ReportedRun::new(file, &format!("Iometer {}", version(text)));
    let mut specifications: HashMap<&str, Option<AccessSpecification>> = HashMap::new();
    let mut columns: Vec<&str> = Vec::new();
    let mut name = None;
    let mut section = "";
    let mut last = None::<TestRows>;
    let mut stamp = None;
    let mut targets: BTreeSet<String> = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end().trim_start_matches('\u{feff}');
        let wrong = |message: String| FormatError::at(file, index as u64 + 1, message);
        if line.starts_with(HEAD) {
            columns = line.trim_start_matches('\'').split(',').map(str::trim).collect();
            section = "results";
            continue;
        }
        if let Some(title) = line.strip_prefix('\'') {
            section = match title {
                _ if title.starts_with("Access specification name") => "name",
                _ if title.starts_with("size,") => "lines",
                _ if title.starts_with("Time Stamp") => "time",
                _ => "",
            };
            continue;
        }
        match section {
            "name" => {
                name = Some(line.rsplit_once(',').map_or(line, |(name, _)| name));
                if specifications.len() >= SPECIFICATIONS_MAX {
                    return Err(wrong(format!("more than {SPECIFICATIONS_MAX} specifications")));
                }
            }
            "lines" => {
                let Some(name) = name else { continue };
                let specified = specification(line);
                // A specification with several lines is a mix, which is not supported.
                let set_to_none = |known: &mut Option<AccessSpecification>| *known = None;
                specifications.entry(name).and_modify(set_to_none).or_insert(specified);
            }
            "time" => {
                stamp = stamp.or(Some(line));
                section = "";
            }
            "results" => {
                let cells: Vec<&str> = line.split(',').map(str::trim).collect();
                let row = CsvRow { columns: &columns, cells: &cells };
                match cells[0] {
                    "ALL" => {
                        finish(last.take(), &mut run)?;
                        let known = row.text("Access Specification Name").unwrap_or_default();
                        let specified = specifications.get(known).and_then(Option::as_ref);
                        let test = row.test(known, specified).map_err(wrong)?;
                        last = Some(TestRows { test, depth: None, depths_differ: false });
                    }
                    "WORKER" => {
                        if let Some(rows) = &mut last {
                            rows.worker(&row);
                        }
                    }
                    "DISK" => targets.extend(row.text("Target Name").map(str::to_owned)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    finish(last, &mut run)?;
    // The rows of all disks together are of no single disk.
    run.path = targets.pop_first().filter(|_| targets.is_empty());
    match stamp {
        Some(time) if time.ends_with('Z') => run.timestamp = utc(time),
        Some(time) => run.note_local_time(time),
        None => {}
    }
    Ok(run)
}

fn finish(rows: Option<TestRows>, run: &mut ReportedRun) -> Result<(), FormatError> {
    let Some(rows) = rows else { return Ok(()) };
    let queue_depth = rows.test.queue_depth.or(rows.depth).filter(|_| !rows.depths_differ);
    run.add(ReportedTest { queue_depth, ..rows.test })
}

impl TestRows {
    fn worker(&mut self, row: &CsvRow<'_>) {
        let depth = row.number("Queue Depth").filter(|depth| *depth >= 1.0);
        let Some(depth) = depth.map(|depth| depth as u32) else { return };
        let targets = row.number("# Disks").unwrap_or(1.0);
        self.depths_differ |= targets > 1.0 || self.depth.is_some_and(|other| other != depth);
        self.depth = Some(depth);
    }
}

struct CsvRow<'t> {
    columns: &'t [&'t str],
    cells: &'t [&'t str],
}

impl<'t> CsvRow<'t> {
    fn text(&self, name: &str) -> Option<&'t str> {
        let at = self.columns.iter().position(|column| *column == name)?;
        self.cells.get(at).copied().filter(|cell| !cell.is_empty())
    }

    fn number(&self, name: &str) -> Option<f64> {
        let number = self.text(name)?.parse::<f64>().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    fn test(
        &self,
        name: &str,
        specification: Option<&AccessSpecification>,
    ) -> Result<ReportedTest, String> {
        let required_number = |name: &str| {
            self.number(name)
                .ok_or_else(|| format!("the row contains no number in the column `{name}`"))
        };
        let reads = required_number("Read I/Os")?;
        let writes = required_number("Write I/Os")?;
        let rate = required_number("IOps")?;
        let ms = |name: &str| self.number(name).and_then(|ms| nanoseconds(ms, 1e6));
        let side = |word: &str, bytes: f64, count: f64| {
            let mean = ms(&format!("Average {word} Response Time"));
            let most = ms(&format!("Maximum {word} Response Time"));
            direction(bytes, count, |count| of_mean(count, mean, None, most))
        };
        let elapsed = if rate > 0.0 { (reads + writes) / rate } else { 0.0 };
        let mut sample = Sample {
            elapsed: time(elapsed, 1.0)?,
            reads: side("Read", required_number("Bytes Read")?, reads)?,
            writes: side("Write", required_number("Bytes Written")?, writes)?,
            ..Sample::empty()
        };
        let failed = self.number("Errors").unwrap_or(0.0).min((1_u64 << 53) as f64) as u64;
        if failed > 0 {
            let mut errors = RequestErrors::default();
            errors.add(ErrorCount { kind: ErrorKind::Other, errno: None, requests: failed });
            sample.errors = errors;
        }
        let count = |name: &str| self.number(name).filter(|one| *one >= 1.0).map(|one| one as u32);
        let sectors = self.number("Maximum Size").filter(|one| (1.0..1e13).contains(one));
        let pattern = specification.and_then(|specification| match specification.random {
            0.0 => Some(Pattern::Sequential),
            100.0 => Some(Pattern::Uniform),
            // Partly random requests do not correspond to a pattern.
            _ => None,
        });
        Ok(ReportedTest {
            pattern,
            block: specification.map(|specification| Bytes(specification.block)),
            read_share: specification
                .and_then(|specification| Ratio::new(specification.reads / 100.0)),
            threads: count("# Workers"),
            queue_depth: count("Queue Depth"),
            span: sectors.map(|sectors| Bytes(sectors as u64 * 512)),
            ..ReportedTest::new(shown(name), sample)
        })
    }
}

/// Reads `size,% of size,% reads,% random,delay,burst,align,reply`; returns `None` if the line is a part of a mix or
/// has delays.
fn specification(line: &str) -> Option<AccessSpecification> {
    let values: Vec<f64> =
        line.split(',').map(|value| value.trim().parse().ok()).take(8).collect::<Option<_>>()?;
    let &[size, share, reads, random, delay, ..] = values.as_slice() else { return None };
    let fits = (512.0..=67_108_864.0).contains(&size) && size % 512.0 == 0.0 && share == 100.0;
    let fits = fits && (0.0..=100.0).contains(&reads) && delay == 0.0;
    fits.then_some(AccessSpecification { block: size as u64, reads, random })
}

fn version(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "'Version");
    lines.nth(1).map_or(String::new(), shown)
}

#[cfg(test)]
mod tests;
