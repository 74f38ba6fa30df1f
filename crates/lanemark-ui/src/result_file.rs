//! A file that was dropped on a page: a result, whose tests are shown next to the systems, or a text about drives or
//! about the paths to them.
//!
//! The file is read, checked and reported like a file that the command reads; the page does not store it.

use lanemark_lab::described::{MatchedDrive, described_drives, described_paths, described_text};
use lanemark_lab::results::{self, SavedResult};
use lanemark_lab::{LabError, encoding, weight};
use lanemark_report::{
    Style, inspection_svg, inspection_text, power_cut_verdict, results_answer, run_warnings,
    study_answer,
};
use lanemark_schema::result::{
    Inspection, LatencyHistogram, PERCENTILES, RunResult, Statistic, Target, TestResult,
};
use lanemark_schema::workload::Test;
use lanemark_study::{Library, path};
use serde::Serialize;

use crate::workload_run;

/// Maximum size of a file in bytes. A run of eight tests takes a few hundred kilobytes.
pub const FILE_MAX: usize = 16 << 20;
/// Maximum number of files on a page.
pub const FILES_MAX: usize = 8;
/// Maximum number of tests in a file that are reported.
const TESTS_MAX: usize = 256;
/// Maximum number of histograms in a file on a page. Eight tests with five repeats that read and write have 80.
const HISTOGRAMS_MAX: usize = 768;
/// Maximum number of lines about drives, and of library drives that a page offers.
const LINES_MAX: usize = 400;
const DRIVES_MAX: usize = 8;
/// The name of the file in errors. A page replaces it with the real name.
const NAME: &str = "the file";

/// The style of texts about paths, which is the command's for a file.
pub const STYLE: Style = Style { width: 100, colour: false };

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileJson {
    /// The study's title, or the workload's name.
    title: String,
    /// The verdicts about the data after the power cuts of a trial, which come before any rate.
    verdicts: Vec<String>,
    /// The command's first sentence about the runs.
    answer: Option<String>,
    /// The command's warnings about the runs.
    warnings: Vec<String>,
    /// The tests, grouped by system.
    tests: Vec<TestJson>,
    /// Number of tests that are omitted because the file has too many.
    left_out: usize,
    /// The lines about the drives that a text of another program describes.
    lines: Vec<String>,
    /// The library drives of the described models.
    drives: Vec<String>,
    /// The paths to drives that a text of lspci describes.
    paths: Option<PathsJson>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathsJson {
    /// The lines after the answer, as the command prints them.
    text: String,
    /// Drawing of the paths.
    drawing: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestJson {
    /// Number of the test in the file; the parts of a test have its number.
    number: usize,
    /// The test's name.
    test: String,
    target: String,
    /// Whether the test was `measured` or `simulated`.
    how: &'static str,
    repeats: usize,
    /// Whether the offsets are random, so that rates are requests a second.
    is_random: bool,
    /// The test, for a request that simulates it; `None` if a page cannot simulate it.
    definition: Option<Test>,
    /// The reason why a page cannot simulate the test, if it cannot.
    not_simulated: Option<String>,
    /// Whether the run was interrupted.
    is_cut_short: bool,
    /// Throughput in MB/s, 10^6 bytes a second.
    megabytes_per_second: Option<FigureJson>,
    /// Requests a second.
    iops: Option<FigureJson>,
    /// Transactions a minute, if a database submitted the requests.
    transactions_per_minute: Option<FigureJson>,
    /// Mean latency of the requests, or of the transactions if there are any.
    latency_mean_us: Option<FigureJson>,
    /// Percentiles for which there are enough requests, each with its latency.
    latency_us: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FigureJson {
    value: f64,
    /// The interval, if there is one.
    interval: Option<IntervalJson>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IntervalJson {
    /// Lower bound.
    low: f64,
    /// Upper bound.
    high: f64,
    /// `80%` for a prediction, `95%` for repeats, `all` for the range of two repeats.
    of: &'static str,
}

/// Reads a result, or a text about drives, from `bytes`.
///
/// # Errors
/// Returns an error if the bytes are not text, or not a text that this program can read.
pub fn read(library: &Library, bytes: Vec<u8>) -> Result<FileJson, LabError> {
    let text = encoding::decoded(bytes).map_err(|message| {
        LabError::input(format!("{NAME}: {message}")).hint(
            "drop a result from Lanemark, fio, CrystalDiskMark, KDiskMark, diskspd or Iometer, or the output of smartctl, \
             nvme, lsblk or lspci",
        )
    })?;
    if let Some(drives) = described_drives(library, &text, NAME) {
        return Ok(drive_list(&drives?));
    }
    if let Some(inspection) = described_paths(&text, NAME) {
        return Ok(path_list(&inspection?));
    }
    if text.lines().any(|line| line.trim() == "[study]") {
        return Err(LabError::input(format!("{NAME} is a study, without results"))
            .hint("run it with `lanemark study FILE`, and drop the result"));
    }
    let (title, answer, runs) = runs(&text)?;
    let all: usize = runs.iter().map(|(_, run)| run.tests.len()).sum();
    let tests: Vec<TestJson> = runs
        .iter()
        .scan(0, |first, (label, run)| {
            let number = *first;
            *first += run.tests.len();
            Some(test_rows(number, label.as_deref(), run))
        })
        .flatten()
        .take(TESTS_MAX)
        .collect();
    if tests.is_empty() {
        return Err(LabError::input(format!("{NAME} contains no completed test")));
    }
    let verdict = |(label, run): &LabelledRun| {
        power_cut_verdict(label.as_deref().unwrap_or(&run.workload.name), run)
    };
    let verdicts: Vec<String> = runs.iter().filter_map(verdict).collect();
    let runs: Vec<&RunResult> = runs.iter().map(|(_, run)| run).collect();
    let answer = answer.or_else(|| results_answer(None, &runs)).filter(|_| verdicts.is_empty());
    let mut warnings: Vec<String> = Vec::new();
    for warning in runs.iter().flat_map(|run| run_warnings(run)) {
        if warnings.len() < LINES_MAX && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    // A test may have several rows.
    let left_out = all - tests.last().map_or(0, |test| test.number + 1);
    Ok(FileJson { title, verdicts, answer, warnings, left_out, tests, ..FileJson::default() })
}

type LabelledRun = (Option<String>, RunResult);

/// Reads the title and the runs of a result; a study has an answer, and its runs have labels.
fn runs(text: &str) -> Result<(String, Option<String>, Vec<LabelledRun>), LabError> {
    weight::check(NAME, text, HISTOGRAMS_MAX)?;
    Ok(match results::read_any(NAME, text)? {
        SavedResult::Run(run) => (run.workload.name.clone(), None, vec![(None, *run)]),
        SavedResult::Study(study) => {
            let answer = study_answer(&study);
            let runs = study.systems.into_iter().map(|system| (Some(system.label), system.run));
            (study.title, Some(answer), runs.collect())
        }
    })
}

/// Returns the runs in a file with the tests that a page shows, each named by its number in the file.
///
/// # Errors
/// Returns an error if the bytes are not a result.
pub fn shown_runs(bytes: Vec<u8>, shown: &[usize]) -> Result<Vec<RunResult>, LabError> {
    let text = encoding::decoded(bytes)
        .map_err(|message| LabError::input(format!("{NAME}: {message}")))?;
    let mut numbers = 0..;
    let (_, _, runs) = runs(&text)?;
    let keep = |(label, mut run): LabelledRun| {
        run.tests.retain(|_| numbers.next().is_some_and(|number| shown.contains(&number)));
        let is_shown = |name: &str| run.tests.iter().any(|result| result.test.name == name);
        run.warnings.retain(|warning| warning.test().is_none_or(is_shown));
        run.provenance.name = label.or(run.provenance.name);
        run
    };
    Ok(runs.into_iter().map(keep).filter(|run| !run.tests.is_empty()).collect())
}

/// Returns the paths to drives as the command prints them: the answer, and the lines after it.
fn path_list(inspection: &Inspection) -> FileJson {
    let text = inspection_text(inspection, &STYLE);
    let (answer, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    FileJson {
        title: answer.replace('\n', " "),
        paths: Some(PathsJson {
            text: rest.trim_end().to_owned(),
            drawing: inspection_svg(inspection),
        }),
        ..FileJson::default()
    }
}

/// Returns the lines about the drives that a text describes, and the library drives of the same models.
fn drive_list(described: &[MatchedDrive]) -> FileJson {
    let mut drives: Vec<String> = Vec::new();
    for id in described.iter().flat_map(|drive| &drive.library) {
        if drives.len() < DRIVES_MAX && !drives.contains(id) {
            drives.push(id.clone());
        }
    }
    let text = described_text(described);
    let mut lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    let title = lines.next().unwrap_or_default();
    let mut shown: Vec<String> = lines.by_ref().take(LINES_MAX).collect();
    let rest = lines.count();
    if rest > 0 {
        shown.push(format!("{rest} more lines; `lanemark inspect FILE` prints all of them"));
    }
    FileJson { title, lines: shown, drives, ..FileJson::default() }
}

/// Returns the rows of the tests of a run, which have numbers from `first`.
fn test_rows<'r>(
    first: usize,
    label: Option<&'r str>,
    run: &'r RunResult,
) -> impl Iterator<Item = TestJson> + 'r {
    let (name_of_target, how) = match &run.target {
        Target::Simulated(target) => (&target.system, "simulated"),
        Target::Measured(target) => (&target.path, "measured"),
        Target::Database(target) => (&target.name, "measured"),
    };
    let target = label.unwrap_or(name_of_target);
    let row = move |number: usize, name: String, test: &TestResult| TestJson {
        number,
        test: name,
        target: target.to_owned(),
        how,
        repeats: test.samples.len(),
        is_cut_short: !run.complete,
        is_random: path::is_random(&test.test),
        ..figures(test)
    };
    let simulable = |test: &TestResult| {
        if run.workload.runs_alone(&test.test) {
            workload_run::can_simulate(&test.test).map_err(|error| error.message)
        } else {
            Err("it ran in parallel with another test".to_owned())
        }
    };
    run.tests.iter().zip(first..).flat_map(move |(test, number)| {
        let name = &test.test.name;
        let parts = test.by_direction(&run.workload);
        let mut whole = row(number, name.clone(), test);
        match simulable(test) {
            Ok(()) => whole.definition = Some(test.test.clone()),
            Err(reason) => whole.not_simulated = Some(reason),
        }
        if !parts.is_empty() {
            // For a test that reads and writes, the rows of its two directions contain the latencies.
            (whole.latency_mean_us, whole.latency_us) = (None, Vec::new());
        }
        let part_row =
            |(direction, part): &(_, _)| row(number, format!("{name}, {direction}"), part);
        let parts = parts.iter().map(part_row);
        std::iter::once(whole).chain(parts).collect::<Vec<_>>()
    })
}

/// Returns the figures of a test, without its name and target.
fn figures(result: &TestResult) -> TestJson {
    let transactions = result.transactions_per_minute();
    // Only the device counts the requests of a real database.
    let are_counted = transactions.is_none() || result.iops.value > 0.0;
    let of_rate = |statistic: &Statistic, unit: f64| {
        are_counted.then(|| figure(result, statistic, unit, IntervalDirection::Rate))
    };
    let latency = if transactions.is_some() { response(result) } else { result.latency() };
    let supported = PERCENTILES.into_iter().filter_map(|percentile| {
        Some((percentile, latency.percentile_ns(percentile)? as f64 / 1e3))
    });
    let latency_mean = if transactions.is_some() {
        result.of_transactions(|all| Some(all.response.mean_ns()))
    } else {
        Some(result.latency_mean_ns)
    };
    TestJson {
        number: 0,
        test: String::new(),
        target: String::new(),
        how: "",
        repeats: 0,
        is_random: false,
        definition: None,
        not_simulated: None,
        is_cut_short: false,
        megabytes_per_second: of_rate(&result.throughput_bytes_per_second, 1e6),
        iops: of_rate(&result.iops, 1.0),
        transactions_per_minute: transactions
            .map(|transaction| figure(result, &transaction, 1.0, IntervalDirection::Rate)),
        latency_mean_us: latency_mean
            .filter(|one| one.value > 0.0)
            .map(|one| figure(result, &one, 1e3, IntervalDirection::Time)),
        latency_us: supported.collect(),
    }
}

/// Returns the response times of the transactions of all repeats.
fn response(result: &TestResult) -> LatencyHistogram {
    let mut all = LatencyHistogram::new();
    let transactions = result.samples.iter().filter_map(|sample| sample.transactions.as_ref());
    transactions.for_each(|transaction| all.merge(&transaction.response));
    all
}

/// The way in which a prediction's interval applies to a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IntervalDirection {
    /// The interval applies directly.
    Rate,
    /// The interval applies inversely: a faster system takes less time.
    Time,
}

/// Converts a statistic to a unit, with the interval of the prediction, or otherwise of the repeats.
fn figure(
    result: &TestResult,
    statistic: &Statistic,
    unit: f64,
    sense: IntervalDirection,
) -> FigureJson {
    let value = statistic.value / unit;
    let of_repeats = || {
        let all_repeats = (statistic.count > 1).then_some((statistic.min, statistic.max, "all"));
        let interval = statistic.interval_95.map(|(low, high)| (low, high, "95%")).or(all_repeats);
        interval.map(|(low, high, of)| IntervalJson { low: low / unit, high: high / unit, of })
    };
    let predicted = result.interval.as_ref().map(|one| {
        let (low, high) = match sense {
            IntervalDirection::Rate => (value * one.low_ratio, value * one.high_ratio),
            IntervalDirection::Time => (value / one.high_ratio, value / one.low_ratio),
        };
        IntervalJson { low, high, of: "80%" }
    });
    FigureJson { value, interval: predicted.or_else(of_repeats) }
}

#[cfg(test)]
mod tests {
    use lanemark_lab::Lab;
    use lanemark_schema::workload::AverageMethod;
    use lanemark_study::workload;

    use super::*;

    fn read_file(bytes: Vec<u8>) -> Result<FileJson, LabError> {
        read(&Library::built_in(), bytes)
    }

    #[test]
    fn a_text_about_drives_names_the_drives_of_the_library() {
        let text = "=== START OF INFORMATION SECTION ===\nModel Number: Samsung SSD 970 EVO Plus 1TB\n\
                    === START OF SMART DATA SECTION ===\nSMART overall-health self-assessment test result: PASSED\n\
                    Percentage Used: 61%\nTemperature: 64 Celsius\n";
        let read = read_file(text.as_bytes().to_vec()).unwrap();
        assert_eq!(read.drives, ["samsung-970-evo-plus-1tb"]);
        assert!(read.title.starts_with("Samsung SSD 970 EVO Plus 1TB: "), "{}", read.title);
        assert!(
            read.lines.iter().any(|line| line.contains("61% of the endurance used")),
            "{:?}",
            read.lines
        );
    }

    /// Creates a simulated run of a test, with `repeats` repeats.
    fn run(repeats: u32) -> RunResult {
        let library = Library::built_in();
        let name = "samsung-950-pro-512gb@workstation-z170:m2";
        let system = lanemark_lab::assemble(&library, name, &[]).unwrap();
        let mut workload = workload::open(&library, "crystaldiskmark-8:rnd4k-q32t1-read").unwrap();
        workload.repeats = repeats;
        workload.tests[0].duration = Some("20 ms".parse().unwrap());
        let lab = Lab { length: lanemark_lab::RunLength::Whole, ..Lab::default() };
        lab.run(&system, &workload, &Default::default(), &mut |_| {}).unwrap()
    }

    fn summary_of(run: &RunResult) -> TestJson {
        let summary = read_file(serde_json::to_vec(run).unwrap()).unwrap();
        assert_eq!((summary.tests.len(), summary.left_out), (1, 0));
        summary.tests.into_iter().next().unwrap()
    }

    #[test]
    fn the_verdict_about_lost_data_is_read_from_a_trial() {
        use lanemark_schema::result::{PowerCut, PowerCutOutcome};
        let mut run = run(1);
        let verdicts =
            |run: &RunResult| read_file(serde_json::to_vec(run).unwrap()).unwrap().verdicts;
        assert_eq!(verdicts(&run), Vec::<String>::new());
        run.power_cuts.push(PowerCut {
            cut: 1,
            after_s: 2.0,
            finished_before: false,
            lost_writes: true,
            outcome: PowerCutOutcome::of_check(1, "row 7".to_owned()),
        });
        let lost = verdicts(&run);
        assert_eq!(lost.len(), 1);
        assert!(lost[0].starts_with("ACKNOWLEDGED DATA WAS LOST in 1 of 1 power cut"), "{lost:?}");
    }

    #[test]
    fn a_run_is_summarised_with_its_figures_and_their_intervals() {
        let mut run = run(5);
        let test = &mut run.tests[0];
        test.iops =
            Statistic::from_values(&[100.0, 110.0, 120.0, 130.0, 140.0], AverageMethod::Mean);
        test.interval = None;
        let summary = summary_of(&run);
        assert_eq!((summary.how, summary.repeats, summary.is_cut_short), ("simulated", 5, false));
        assert_eq!(summary.target, "samsung-950-pro-512gb@workstation-z170:m2");
        let iops = summary.iops.unwrap();
        let of = iops.interval.unwrap();
        assert_eq!((iops.value, of.of), (120.0, "95%"));
        assert!(100.0 < of.low && of.low < 120.0 && 120.0 < of.high && of.high < 140.0);
        let latency = run.tests[0].latency();
        let expected = latency.percentile_ns(99.0).unwrap() as f64 / 1e3;
        assert!(summary.latency_us.contains(&(99.0, expected)), "{:?}", summary.latency_us);
        assert!(summary.transactions_per_minute.is_none());

        run.tests[0].iops = Statistic::from_values(&[100.0, 110.0], AverageMethod::Mean);
        let interval = summary_of(&run).iops.unwrap().interval.unwrap();
        assert_eq!(interval, IntervalJson { low: 100.0, high: 110.0, of: "all" });
        run.tests[0].iops = Statistic::from_values(&[100.0], AverageMethod::Mean);
        assert_eq!(summary_of(&run).iops.unwrap().interval, None);
    }

    #[test]
    fn a_run_on_a_real_target_is_shown_as_measured() {
        let mut value = serde_json::to_value(run(1)).unwrap();
        value["target"] = serde_json::json!({"kind": "measured", "path": "/mnt/x", "device": false,
            "size_bytes": 1_000_000, "file_system": null, "block_device": null,
            "engine": "io_uring", "direct": true});
        value["complete"] = false.into();
        let summary = read_file(serde_json::to_vec(&value).unwrap()).unwrap();
        let summary = &summary.tests[0];
        let expected = ("measured", "/mnt/x", true);
        assert_eq!((summary.how, summary.target.as_str(), summary.is_cut_short), expected);
    }

    #[test]
    fn a_prediction_has_its_own_interval_and_a_time_has_it_inversely() {
        let mut run = run(1);
        let interval = r#"{"low_ratio": 0.8, "high_ratio": 1.25}"#;
        run.tests[0].interval = Some(serde_json::from_str(interval).unwrap());
        let summary = summary_of(&run);
        for (figure, at_least) in
            [(summary.iops.unwrap(), 0.8), (summary.latency_mean_us.unwrap(), 1.0 / 1.25)]
        {
            let interval = figure.interval.unwrap();
            assert_eq!(interval.of, "80%");
            assert!((interval.low / figure.value - at_least).abs() < 1e-9);
            assert!((interval.high / figure.value - 1.25).abs() < 1e-9);
        }
    }

    #[test]
    fn a_file_that_would_be_much_larger_in_memory_is_refused() {
        let mut value = serde_json::to_value(run(1)).unwrap();
        let sample = value["tests"][0]["samples"][0].clone();
        value["tests"][0]["samples"] = vec![sample; HISTOGRAMS_MAX + 1].into();
        let error = read_file(serde_json::to_vec(&value).unwrap()).unwrap_err();
        assert!(error.message.contains("more than 768 latency samples"), "{}", error.message);
    }

    #[test]
    fn a_text_of_another_program_is_shown_as_a_measurement() {
        let text = include_str!("../../lanemark-formats/tests/foreign/crystaldiskmark-8.txt");
        let summary = read_file(text.as_bytes().to_vec()).unwrap();
        let first = &summary.tests[0];
        let target = "D:";
        assert_eq!((first.test.as_str(), first.target.as_str()), ("SEQ1M Q8T1 read", target));
        assert_eq!((first.how, first.latency_us.len()), ("measured", 0));
        assert_eq!(first.megabytes_per_second.map(|figure| figure.value), Some(2097.152));
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read_file([&[0xff, 0xfe][..], &wide].concat()).unwrap(), summary);
    }

    #[test]
    fn the_answer_and_the_warnings_of_the_command_are_read() {
        let run = run(1);
        let read = read_file(serde_json::to_vec(&run).unwrap()).unwrap();
        assert_eq!(read.answer, results_answer(None, &[&run]));
        assert!(read.answer.is_some());
        assert!(read.warnings.iter().any(|text| text.starts_with("only one repeat: ")));
    }

    #[test]
    fn a_test_with_a_row_for_each_direction_is_one_test() {
        let text = include_str!("../../lanemark-formats/tests/foreign/iometer.csv");
        let summary = read_file(text.into()).unwrap();
        let numbers: Vec<usize> = summary.tests.iter().map(|test| test.number).collect();
        assert_eq!((numbers, summary.left_out), (vec![0, 0, 0], 0));
    }

    #[test]
    fn a_file_without_a_result_is_an_error() {
        let mut empty = run(1);
        empty.tests.clear();
        let mut newer = serde_json::to_value(&empty).unwrap();
        newer["schema_version"] = 999.into();
        let mut wrong = serde_json::to_value(run(1)).unwrap();
        wrong["tests"][0]["samples"][0]["elapsed_ns"] = (-1).into();
        let deep = "[".repeat(200_000);
        let within = format!("{{\"schema_version\": 1, \"workload\": {deep}");
        let cases = [
            (Vec::new(), "is empty"),
            (vec![b'a', 0xff, 0x00], "byte 1 is not valid UTF-8"),
            (vec![0xff, 0xfe, 0x00], "is not valid UTF-16"),
            (b"\x89PNG\r\n".to_vec(), "is a picture"),
            (b"\x00\x01\x02".to_vec(), "not a result in a known format"),
            (b"{\"blockdevices\": []}".to_vec(), "no drives are listed"),
            (b"{}".to_vec(), "is not a Lanemark result"),
            (b"# a page\n[study]\ntitle = \"x\"\n".to_vec(), "is a study, without results"),
            (b"[1, 2]".to_vec(), "not a result in a known format"),
            (br#"{"schema_version": 1, "tests": []}"#.to_vec(), "damaged"),
            (deep.into_bytes(), "is no"),
            (within.into_bytes(), "is not valid JSON"),
            (serde_json::to_vec(&empty).unwrap(), "no completed test"),
            (serde_json::to_vec(&newer).unwrap(), "schema version 999"),
            (serde_json::to_vec(&wrong).unwrap(), "damaged"),
        ];
        for (bytes, expected) in cases {
            let error = read_file(bytes).unwrap_err();
            assert!(error.message.contains(expected), "{expected}: {}", error.message);
        }
    }
}
