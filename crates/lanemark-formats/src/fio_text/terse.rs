//! Reads fio's terse output, which consists of one line per job with values separated by semicolons.
//!
//! `show_thread_status_terse_all` in fio's `stat.c` defines the layout. Versions 4 and 5 also contain trims, and
//! version 5 also contains the requests a second and the number of bandwidth samples. Sizes are in KiB, and times of
//! requests are in µs.
//!
//! The output does not contain the number of requests. The number is computed from the time and from the requests a
//! second, which are truncated to a whole number. If the range that the truncation permits contains a power of two as
//! the request size, that size is used. The output does not state the kind, depth and threads of the requests.

use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::units::Duration;

use super::parts::{Latencies, SNAPSHOTS, add_clone, errors, submission_ns};
use crate::error::{FormatError, shown};
use crate::phases::{PHASES, split_phases};
use crate::stated::{
    ReportedRun, ReportedTest, TESTS_MAX, cpu, direction, nanoseconds, requests, time,
};

/// The number of values per direction in versions 3 and 4.
const DIRECTION: usize = 41;
/// The number of additional values per direction in version 5.
const MORE: usize = 6;
/// The number of percentiles per direction.
const PERCENTILES: usize = 20;
/// The number of values before the first direction: version, fio's version, name, group and error.
const HEAD: usize = 5;

/// Returns whether a line begins a terse output of a supported version.
pub(crate) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| version(line).is_some())
}

/// Returns whether the text is version 2 of the terse output, which does not state fio's version.
pub(crate) fn is_terse_2(text: &str) -> bool {
    let is_whole = |line: &str| line.starts_with("2;") && line.matches(';').count() > 80;
    text.lines().any(is_whole)
}

fn version(line: &str) -> Option<u32> {
    let (version, rest) = line.trim_start_matches('\u{feff}').split_once(';')?;
    let version: u32 = version.parse().ok()?;
    ((3..=5).contains(&version) && rest.starts_with("fio-")).then_some(version)
}

/// Reads the text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error with the line number if a line is cut short or contains an impossible value.
pub(crate) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let mut run: Option<ReportedRun> = None;
    let mut entries: Vec<TerseEntry<'_>> = Vec::new();
    let mut snapshots = 0;
    let mut skipped = 0;
    let mut are_counted = false;
    for (index, line) in text.lines().enumerate() {
        let Some(version) = version(line) else {
            skipped += usize::from(!line.trim().is_empty());
            continue;
        };
        let values: Vec<&str> = line.trim_end().split(';').collect();
        let wrong = |message: String| FormatError::at(file, index as u64 + 1, message);
        run.get_or_insert_with(|| ReportedRun::new(file, values[1]));
        let job = TerseJob { values: &values, version };
        let figures = job.figures().map_err(wrong)?;
        are_counted |= figures.sample.operations() > 0;
        let key = [values.get(3).copied().unwrap_or_default(), values[2]];
        let at = match entries.iter().rposition(|entry| entry.key == key) {
            Some(at) if entries[at].last.is_continued_by(&figures) => {
                snapshots += 1;
                entries[at].tests.clear();
                at
            }
            // Without group_reporting, the lines of a job's clones follow one another.
            Some(at) if at + 1 == entries.len() => at,
            Some(_) | None if entries.len() < TESTS_MAX => {
                entries.push(TerseEntry { key, tests: Vec::new(), last: figures.clone() });
                entries.len() - 1
            }
            Some(_) | None => return Err(wrong(format!("more than {TESTS_MAX} tests"))),
        };
        entries[at].add(figures);
    }
    let mut run = run.ok_or_else(|| FormatError::file(file, "no line is terse output of fio"))?;
    for entry in entries {
        if entry.tests.len() > 1 {
            run.note(&format!("{}: {PHASES}", shown(entry.key[1])));
        }
        for test in entry.tests {
            run.add(test)?;
        }
    }
    if snapshots > 0 {
        run.note(SNAPSHOTS);
    }
    if are_counted {
        run.note(
            "numbers of requests are computed, because terse output states only rates and times",
        );
    }
    if skipped > 0 {
        run.note(&format!("skipped {skipped} lines that are not terse output"));
    }
    // Without group_reporting, each line of a group is a clone. The output does not state the number of threads in a
    // group.
    run.note("the number of threads is not stated; clones are counted if each has its own line");
    Ok(run)
}

/// The lines of one job.
struct TerseEntry<'t> {
    /// The group and the name.
    key: [&'t str; 2],
    tests: Vec<ReportedTest>,
    last: TerseFigures,
}

/// The figures of a line.
#[derive(Clone)]
struct TerseFigures {
    sample: Sample,
    times: [Duration; 3],
    submission_ns: Option<f64>,
}

impl TerseEntry<'_> {
    /// Adds the figures of another clone.
    fn add(&mut self, figures: TerseFigures) {
        self.last = figures.clone();
        for (phase, sample) in split_phases(figures.sample, figures.times) {
            let name = shown(self.key[1]) + phase;
            match self.tests.iter_mut().find(|test| test.name == name) {
                Some(test) => add_clone(test, &sample),
                None => self.tests.push(ReportedTest {
                    submission_ns: figures.submission_ns,
                    ..ReportedTest::new(name, sample)
                }),
            }
        }
    }
}

impl TerseFigures {
    /// Returns whether `later` has the figures of the same job at the end of the next `--status-interval`. Clones run
    /// for the same time, and a separate run can be more than twice as long.
    fn is_continued_by(&self, later: &Self) -> bool {
        let bytes = |figures: &Self| {
            let sample = &figures.sample;
            [&sample.reads, &sample.writes, &sample.trims]
                .map(|side| side.as_ref().map_or(0, |side| side.bytes.get()))
        };
        let before = self.sample.elapsed.as_seconds();
        bytes(self) != bytes(later)
            && bytes(self).iter().zip(bytes(later)).all(|(before, after)| *before <= after)
            && (before + 0.1..2.0 * before + 0.1).contains(&later.sample.elapsed.as_seconds())
    }
}

/// The figures of a direction.
struct TerseDirection {
    result: Option<DirectionResult>,
    elapsed: Duration,
    submission_ns: Option<f64>,
}

struct TerseJob<'t> {
    values: &'t [&'t str],
    version: u32,
}

impl TerseJob<'_> {
    fn figures(&self) -> Result<TerseFigures, String> {
        let directions = if self.version == 3 { 2 } else { 3 };
        let width = DIRECTION + if self.version == 5 { MORE } else { 0 };
        let end = HEAD + directions * width;
        if self.values.len() < end + 2 {
            let found = self.values.len();
            let least = end + 2;
            return Err(format!("{found} values; version {} has {least} or more", self.version));
        }
        let errno = self.number(4)? as u32;
        let mut times = [Duration::ZERO; 3];
        let mut submission_ns: Option<f64> = None;
        let mut sample = Sample { errors: errors(errno), complete: errno == 0, ..Sample::empty() };
        for (direction, time) in times.iter_mut().enumerate().take(directions) {
            let side = self.direction(HEAD + direction * width)?;
            sample.elapsed = sample.elapsed.max(side.elapsed);
            if side.result.is_some() {
                *time = side.elapsed;
            }
            let longest = [submission_ns, side.submission_ns].into_iter().flatten();
            submission_ns = longest.max_by(f64::total_cmp);
            match direction {
                0 => sample.reads = side.result,
                1 => sample.writes = side.result,
                _ => sample.trims = side.result,
            }
        }
        sample.cpu = cpu(&sample, self.percent(end)?, self.percent(end + 1)?);
        Ok(TerseFigures { sample, times, submission_ns })
    }

    fn direction(&self, at: usize) -> Result<TerseDirection, String> {
        let bytes = self.number(at)? * 1024.0;
        let iops = self.number(at + 2)?;
        let elapsed = time(self.number(at + 3)?, 1e-3)?;
        if bytes == 0.0 {
            return Ok(TerseDirection { result: None, elapsed, submission_ns: None });
        }
        let completion = self.latencies(at + 8)?;
        let whole = self.latencies(at + 12 + PERCENTILES)?;
        let mut percentiles = Vec::new();
        for value in &self.values[at + 12..at + 12 + PERCENTILES] {
            let (percent, latency) = value
                .split_once("%=")
                .and_then(|(percent, us)| Some((percent.parse().ok()?, us.parse().ok()?)))
                .ok_or_else(|| format!("`{}` is not a percentile", shown(value)))?;
            let latency: f64 = nanoseconds(latency, 1e3).ok_or("a percentile is not a time")?;
            percentiles.push((percent, latency));
        }
        // The percentiles belong to the completion latency, unless only the whole latency was measured.
        let submission_ns = submission_ns(&whole, &completion);
        let mut known = if completion.are_measured() { completion } else { whole };
        // A percentile of 0 µs is shorter than the unit, so its value is not known.
        percentiles.retain(|(percent, latency): &(f64, f64)| *percent > 0.0 && *latency > 0.0);
        known.percentiles = percentiles;
        let count = requests(bytes, iops, elapsed);
        let result = direction(bytes, count, |count| known.histogram(count))?;
        Ok(TerseDirection { result, elapsed, submission_ns })
    }

    /// Returns the minimum, maximum and mean of the latencies at a position.
    fn latencies(&self, at: usize) -> Result<Latencies, String> {
        let ns = |at: usize| {
            nanoseconds(self.number(at)?, 1e3).ok_or_else(|| "a latency is not a time".to_owned())
        };
        Ok(Latencies { ends: Some((ns(at)?, ns(at + 1)?, ns(at + 2)?)), percentiles: Vec::new() })
    }

    fn number(&self, at: usize) -> Result<f64, String> {
        let text = self.values.get(at).copied().unwrap_or_default();
        let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| format!("value {}: `{}` is not a number", at + 1, shown(text)))
    }

    fn percent(&self, at: usize) -> Result<f64, String> {
        let text = self.values.get(at).copied().unwrap_or_default();
        let number = text.strip_suffix('%').and_then(|text| text.parse::<f64>().ok());
        number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| format!("value {}: `{}` is not a percentage", at + 1, shown(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_finite_and_not_negative() {
        let values = ["7", "-7", "inf", "NaN", "x", "", "99.5%", "-1%", "inf%", "NaN%", "5"];
        let job = TerseJob { values: &values, version: 3 };
        let numbers: Vec<Option<f64>> = (0..7).map(|at| job.number(at).ok()).collect();
        assert_eq!(numbers, [Some(7.0), None, None, None, None, None, None]);
        let percents: Vec<Option<f64>> = (6..12).map(|at| job.percent(at).ok()).collect();
        assert_eq!(percents, [Some(99.5), None, None, None, None, None]);
        assert!(job.percent(7).unwrap_err().starts_with("value 8: `-1%`"));
    }

    #[test]
    fn a_cut_rate_leaves_the_size_of_a_request() {
        let seconds = |ms: u64| Duration::from_microseconds(ms * 1000);
        // 1,024 reads of 4 KiB in 49 ms are 20,897.9 reads a second.
        assert_eq!(requests(4_194_304.0, 20_897.0, seconds(49)), 1024.0);
        // The rate is 38.9 requests of 1 MiB a second.
        assert_eq!(requests(f64::from(389 << 20), 38.0, seconds(10_000)), 389.0);
        // The size, 24 KiB, is not a power of two.
        assert_eq!(requests(24_576.0 * 1000.0, 1000.0, seconds(1000)), 1000.0);
        assert_eq!(requests(0.0, 0.0, Duration::ZERO), 1.0);
    }

    #[test]
    fn a_line_begins_with_a_known_version_and_the_name_of_fio() {
        for (line, wanted) in [
            ("3;fio-3.33;a", Some(3)),
            ("\u{feff}4;fio-3.33;a", Some(4)),
            ("5;fio-", Some(5)),
            ("2;fio-3.33;a", None),
            ("6;fio-3.33;a", None),
            ("3;other;a", None),
            ("x;fio-3.33;a", None),
            ("3", None),
        ] {
            assert_eq!(version(line), wanted, "{line}");
            assert_eq!(is_ours(&format!("first\n{line}\n")), wanted.is_some(), "{line}");
        }
        let second = |count: usize| format!("2{}", ";7".repeat(count));
        assert!(is_terse_2(&second(81)) && !is_terse_2(&second(80)));
        assert!(!is_terse_2(&format!("3{}", ";7".repeat(90))));
    }

    /// Returns the values of a direction: KiB, rates and time, then latencies around `us`, then the bandwidth.
    fn side(kib: u64, iops: u64, ms: u64, us: u64, more: usize) -> Vec<String> {
        let latencies = [us, 3 * us, 2 * us, 1].map(|value| value.to_string());
        let mut values: Vec<String> = [kib, 9, iops, ms].map(|value| value.to_string()).to_vec();
        values.extend(["0"; 4].map(str::to_owned));
        values.extend(latencies.clone());
        let percents = ["50.000000%", "99.000000%"].into_iter().zip([us + 1, us + 2]);
        values.extend(percents.map(|(percent, us)| format!("{percent}={us}")));
        values.extend((0..PERCENTILES - 2).map(|_| "0%=0".to_owned()));
        values.extend(latencies);
        values.extend((0..5 + more).map(|_| "0".to_owned()));
        assert_eq!(values.len(), DIRECTION + more);
        values
    }

    #[test]
    fn every_version_has_its_directions_and_its_processor_time() {
        for (version, directions, more) in [(3, 2, 0), (4, 3, 0), (5, 3, MORE)] {
            let mut values: Vec<String> =
                [version.to_string().as_str(), "fio-3.33", "job", "7", "0"]
                    .map(str::to_owned)
                    .to_vec();
            values.extend(side(4_096, 512, 2_000, 100, more));
            values.extend(side(2_048, 256, 2_000, 700, more));
            if directions == 3 {
                values.extend(side(64, 8, 2_000, 50, more));
            }
            values.extend(["40.0%", "60.0%", "5"].map(str::to_owned));
            let line = values.join(";");
            let run = read(&format!("noise\n{line}\n\n"), "t").unwrap();
            let [test] = &run.tests[..] else { panic!("{:?}", run.tests) };
            assert_eq!((run.program.as_str(), test.name.as_str()), ("fio-3.33", "job"));
            let sample = &test.sample;
            assert_eq!(sample.elapsed, Duration::from_seconds(2));
            let reads = sample.reads.as_ref().unwrap();
            assert_eq!((reads.bytes.get(), reads.latency.count()), (4_096 << 10, 1_024));
            assert_eq!(reads.latency.mean_ns(), 200_000.0);
            let ends = (reads.latency.min_ns(), reads.latency.max_ns());
            assert_eq!(ends, (Some(100_000), Some(300_000)));
            let percentiles = [50.0, 99.0].map(|one| reads.latency.percentile_ns(one));
            assert_eq!(percentiles, [Some(101_000), Some(102_000)]);
            let writes = sample.writes.as_ref().unwrap();
            // 2 MiB in 2 s at 256 requests a second mean that each request is 4 KiB.
            assert_eq!((writes.bytes.get(), writes.latency.count()), (2_048 << 10, 512));
            assert_eq!(sample.trims.is_some(), directions == 3);
            // The job made 1,536 requests in 2 s and used 40% and 60% of a processor.
            let cpu = sample.cpu.unwrap();
            assert!((cpu.user_ns_per_request - 0.4 * 2e9 / 1_536.0).abs() < 1e-6);
            assert!((cpu.system_ns_per_request - 0.6 * 2e9 / 1_536.0).abs() < 1e-6);
            assert!(
                run.notes.iter().any(|note| note.contains("skipped 1 lines")),
                "{:?}",
                run.notes
            );
            assert!(run.notes.iter().any(|note| note.contains("requests are computed")));
            assert!(sample.complete && sample.errors.is_empty());
            let failed = read(&line.replacen(";7;0;", ";7;5;", 1), "t").unwrap();
            let [test] = &failed.tests[..] else { panic!() };
            assert_eq!((test.sample.complete, test.sample.errors.total()), (false, 1));
            assert!(!failed.notes.iter().any(|note| note.contains("skipped")));
            // A line for the same job and group is a clone, and a line for another group is another test.
            let both =
                read(&format!("{line}\n{line}\n{}", line.replacen(";7;0;", ";8;0;", 1)), "t");
            let both = both.unwrap();
            let threads: Vec<Option<u32>> = both.tests.iter().map(|test| test.threads).collect();
            assert_eq!(threads, [Some(2), None]);
            assert_eq!(both.tests[0].sample.reads.as_ref().unwrap().latency.count(), 2_048);
            // A line without its last value is cut short.
            let least = HEAD + directions * (DIRECTION + more) + 2;
            let cut = values[..least - 1].join(";");
            let error = read(&cut, "t").unwrap_err().to_string();
            let wanted =
                format!("t:1: {} values; version {version} has {least} or more", least - 1);
            assert!(error.starts_with(&wanted), "{error}");
            assert!(read(&values[..least].join(";"), "t").is_ok());
        }
    }
}
