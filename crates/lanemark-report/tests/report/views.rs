//! Tests properties of every view for any result, including unusual results.

use lanemark_report::{Style, compare_table, html, run_table, study_table};
use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::result::steady::UnsteadyReason;
use lanemark_schema::result::{
    DeliveryEvidence, DirectionResult, FigureMetric, LatencyHistogram, LiveDelivery, RatioEstimate,
    RunResult, Statistic, StudyOutcome, Target, TestResult, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Operation, Test};
use unicode_width::UnicodeWidthStr;

use crate::fixture::{self, detail, unwrapped};

const PLAIN: Style = Style { width: 100, colour: false };

/// Returns every terminal view of a study and a run.
fn terminal_views(study: &StudyOutcome, run: &RunResult, style: &Style) -> Vec<String> {
    let other = &study.systems[0].run;
    let mut views = vec![
        run_table(run, style),
        study_table(study, Some(run), true, style),
        study_table(study, None, true, style),
        compare_table(("a.json", other), ("b.json", run), true, style),
    ];
    views.extend(run.tests.iter().chain(&other.tests).map(|test| detail(run, test, style)));
    views
}

fn pages(study: &StudyOutcome, run: &RunResult) -> Vec<String> {
    vec![html(Some(study), &[run]), html(Some(study), &[]), html(None, &[run])]
}

pub(crate) fn one_of_each_warning() -> Vec<Warning> {
    let text = || "reason".to_owned();
    vec![
        Warning::PageCache { reason: text() },
        Warning::NotRegistered { reason: text() },
        Warning::FewRepeats { repeats: 2 },
        Warning::ShortSample { test: text(), elapsed: Duration::from_microseconds(7) },
        Warning::Interrupted,
        Warning::TrainedDown { drive: text(), port: text() },
        Warning::NotSteady {
            test: text(),
            rounds: 25,
            reason: UnsteadyReason::Slope,
            range: 0.18,
            slope_range: 0.14,
        },
        Warning::NoCollection { written_bytes: Bytes::mebi(1), before: None },
        Warning::Unfinished {
            test: text(),
            requests: 32,
            age: Duration::from_microseconds(9_995),
            counted: Some(Duration::from_microseconds(493)),
        },
    ]
}

#[test]
fn requests_that_failed_are_in_every_view() {
    let study = fixture::study();
    let mut run = fixture::measured();
    assert!(!run_table(&run, &PLAIN).contains("failed"));
    let test = &mut run.tests[0];
    let last = test.samples.len() - 1;
    (0..30).for_each(|_| test.samples[0].errors.record_errno(61));
    (0..12).for_each(|_| test.samples[last].errors.record_errno(5));
    let errors = test.errors();
    run.warnings.push(Warning::Failed { test: test.test.name.clone(), errors });
    let kinds = "30 media errors (ENODATA), 12 other errors (EIO)";
    let table = unwrapped(&run_table(&run, &PLAIN));
    assert!(table.contains("failed") && table.contains(" 42 "), "{table}");
    assert!(table.contains(&format!("42 requests failed ({kinds})")), "{table}");
    let detail = unwrapped(&detail(&run, &run.tests[0], &PLAIN));
    assert!(detail.contains("42 requests failed, ") && detail.contains(kinds), "{detail}");
    for page in [html(Some(&study), &[&run]), html(None, &[&run])] {
        assert!(page.contains(">failed<") && page.contains(">42<") && page.contains(kinds));
    }
}

#[test]
fn lines_keep_to_the_width_and_lack_trailing_spaces() {
    let study = fixture::study();
    let measured = fixture::measured();
    for width in 60..=120 {
        for view in terminal_views(&study, &measured, &Style { width, colour: false }) {
            for line in view.lines() {
                assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn columns_without_room_are_named() {
    let study = fixture::study();
    let measured = fixture::measured();
    let table = |width| study_table(&study, Some(&measured), true, &Style { width, colour: false });
    assert!(!table(100).contains("no room for"));
    assert!(table(78).contains("no room for: role\n"), "{}", table(78));
    assert!(table(64).contains("no room for: spread, role"), "{}", table(64));
}

#[test]
fn names_are_text_and_never_markup_or_escape_sequences() {
    let hostile = "<script>alert('x')</script>\x1b[31m\"&";
    let mut study = fixture::study();
    hostile.clone_into(&mut study.title);
    hostile.clone_into(&mut study.question);
    hostile.clone_into(&mut study.document.citation);
    study.notes.push(hostile.to_owned());
    let mut run = fixture::measured();
    run.provenance.command.push(hostile.to_owned());
    run.provenance.inputs.insert(hostile.to_owned(), hostile.to_owned());
    run.warnings.push(Warning::PageCache { reason: hostile.to_owned() });
    hostile.clone_into(&mut run.workload.name);
    hostile.clone_into(&mut run.tests[0].test.name);
    let Target::Measured(target) = &mut run.target else { panic!("the fixture is measured") };
    hostile.clone_into(&mut target.path);
    for system in &mut study.systems {
        hostile.clone_into(&mut system.label);
        hostile.clone_into(&mut system.run.tests[0].test.name);
        let path = system.run.tests[1].samples[0].path.as_mut().unwrap();
        hostile.clone_into(&mut path.hops[0].name);
        let Target::Simulated(target) = &mut system.run.target else { panic!() };
        for text in [&mut target.drive, &mut target.overrides[0].parameter] {
            hostile.clone_into(text);
        }
        target.values_assumed.push(hostile.to_owned());
        target.overrides[0].reason = Some(hostile.to_owned());
    }
    hostile.clone_into(&mut study.figures[0].figure.place);
    for page in pages(&study, &run) {
        assert_eq!(page.matches("<script").count(), 1, "an element of a name is in the page");
        assert!(page.contains("&lt;script&gt;"));
    }
    for view in terminal_views(&study, &run, &PLAIN) {
        assert!(!view.contains('\x1b'), "{view}");
    }
}

#[test]
fn a_page_asks_for_nothing_outside_itself() {
    for page in pages(&fixture::study(), &fixture::measured()) {
        for reference in ["http:", "https:", " src=", "url(", "@import", "<link"] {
            assert!(!page.contains(reference), "the page has {reference}");
        }
        // Every link points to a section of the page.
        for link in page.split("href=\"").skip(1) {
            let anchor = link.strip_prefix('#').and_then(|rest| rest.split('"').next()).unwrap();
            assert!(page.contains(&format!("id=\"{anchor}\"")), "no section {anchor}");
        }
        assert!(page.starts_with("<!DOCTYPE html>"));
    }
}

#[test]
fn the_start_of_collection_and_faults_are_marked_over_time() {
    let mut run = fixture::over_time();
    let fault = lanemark_schema::result::FaultImpact {
        fault: "stuck timeout=5s at=90s".to_owned(),
        at: lanemark_schema::units::Duration::from_seconds(90),
        failed: 0,
        held: 1,
        silent: 0,
        lost: lanemark_schema::units::Bytes::ZERO,
        recovery: None,
    };
    run.tests[0].samples[0].faults.push(fault);
    let page = html(None, &[&run]);
    assert!(page.contains(">fault: stuck</text>"));
    assert_eq!(page.matches(r#"class="mark fault""#).count(), 2, "one in each plot");
}

#[test]
fn every_warning_is_shown_with_its_advice_in_every_view() {
    let warnings = one_of_each_warning();
    let mut study = fixture::study();
    study.systems[0].run.warnings.clone_from(&warnings);
    let run = RunResult { warnings: warnings.clone(), ..fixture::measured() };
    let bare = RunResult { warnings: Vec::new(), ..fixture::measured() };
    let mut views = vec![
        run_table(&run, &PLAIN),
        study_table(&study, None, true, &PLAIN),
        study_table(&fixture::study(), Some(&run), true, &PLAIN),
        compare_table(("a", &run), ("b", &bare), true, &PLAIN),
        compare_table(("a", &bare), ("b", &run), true, &PLAIN),
    ];
    for page in [html(Some(&study), &[]), html(None, &[&run])] {
        let plain = page.replace("<b>", "").replace("</b>", "");
        views.push(plain.replace("<code>", "`").replace("</code>", "`"));
    }
    for view in views {
        let view = unwrapped(&view);
        for warning in &warnings {
            let saved = serde_json::to_value(warning).unwrap();
            assert_eq!(warning.test(), saved["test"].as_str(), "{saved}");
            let advice = warning.advice().map_or(String::new(), |advice| format!(": {advice}"));
            let expected = format!("{warning}{advice}");
            assert!(view.contains(&expected), "`{expected}` is missing in\n{view}");
        }
    }
}

#[test]
fn a_run_that_has_not_ended_says_so() {
    let printed = run_table(&fixture::empty(), &PLAIN);
    assert!(printed.contains("No test has ended."), "{printed}");
    assert!(printed.contains("! the run has not ended: run again"), "{printed}");
}

#[test]
fn an_empty_run_causes_neither_a_panic_nor_false_numbers() {
    let mut run = fixture::simulated();
    let test = run.tests[0].test.clone();
    let workload = run.workload.clone();
    let without_requests = {
        let mut samples = run.tests[1].samples.clone();
        for sample in &mut samples {
            (sample.reads, sample.writes, sample.elapsed) = (None, None, Duration::ZERO);
            sample.path.as_mut().unwrap().hops.clear();
        }
        samples
    };
    run.tests = vec![
        TestResult::new(&workload, &test, Vec::new()),
        TestResult::new(&workload, &run.tests[1].test, without_requests),
    ];
    let mut study = fixture::study();
    study.systems[0].run = run.clone();
    study.figures[0].simulated = Statistic::default();
    study.figures[1].figure.published = 0.0;
    study.figures[1].error = f64::INFINITY;
    study.figures[2].error = f64::NAN;
    study.comparison.as_mut().unwrap().ratios[0].simulated =
        RatioEstimate::Uncertain { ratio: f64::NAN, interval_80: None };
    let mut bare = study.clone();
    (bare.figures, bare.systems) = (Vec::new(), bare.systems[..1].to_vec());
    bare.systems[0].run = fixture::empty();
    for study in [&study, &bare] {
        for run in [&run, &fixture::empty()] {
            let views = terminal_views(study, run, &PLAIN).into_iter().chain(pages(study, run));
            for view in views.chain([html(None, &[]), html(None, &[run, run])]) {
                assert!(!view.contains("NaN"), "{view}");
                assert!(!view.contains("inf%") && !view.contains("infx"), "{view}");
            }
        }
    }
    let printed = run_table(&run, &PLAIN);
    let row = printed.lines().find(|line| line.starts_with("Seq read")).unwrap();
    assert!(row.split_whitespace().skip(2).all(|cell| cell == "–"), "no sample: {row}");
    assert!(detail(&run, &run.tests[0], &PLAIN).contains("No request was completed."));
}

#[test]
fn an_unknown_value_is_a_dash_and_never_zero() {
    let mut study = fixture::study();
    study.figures.retain(|check| check.figure.test != "4K read");
    let printed = study_table(&study, None, true, &PLAIN);
    let row = printed.lines().find(|line| line.starts_with("4K read")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["4K", "read", "SATA", "37.1", "±0.3%", "–", "–", "–"]);
}

#[test]
fn each_metric_has_its_own_table() {
    let mut study = fixture::study();
    study.figures[3].figure.metric = FigureMetric::Latency;
    study.figures[5].figure.metric = FigureMetric::Iops;
    let printed = study_table(&study, None, true, &PLAIN);
    for heading in ["Throughput, MB/s = 10^6", "Requests a second", "Mean latency, µs"] {
        assert!(printed.contains(heading), "{printed}");
    }
    let rows =
        printed.lines().filter(|line| line.contains("predicted") || line.contains("calibrated"));
    let in_tables = rows.filter(|line| line.ends_with("predicted") || line.ends_with("calibrated"));
    assert_eq!(in_tables.count(), 16, "every figure once:\n{printed}");
}

#[test]
fn a_comparison_distinguishes_a_difference_from_the_spread() {
    let a = fixture::measured();
    let mut b = a.clone();
    b.tests.swap(0, 1);
    b.tests.pop();
    let same = compare_table(("a", &a), ("b", &b), true, &PLAIN);
    assert!(same.contains("no difference shown in 5 tests."), "{same}");
    assert!(same.contains("Only in A: 4K write"), "{same}");
    let other = compare_table(("a", &a), ("b", &fixture::simulated()), true, &PLAIN);
    assert!(other.contains("interval not known in 6 tests."), "{other}");
    assert!(other.contains("Only in B: 4K QD32 read, 4K QD32 write"), "{other}");
    let depth = b.tests[0].test.queue_depth().unwrap();
    b.tests[0].test.requests_mut().unwrap().queue_depth = 8;
    let unlike = compare_table(("a", &a), ("b", &b), true, &PLAIN);
    let settings =
        format!("Same name, but different settings: Seq write (queue depth {depth} and 8)");
    assert!(unlike.contains(&settings), "{unlike}");
    let one = &mut b.tests[0].throughput_bytes_per_second;
    (one.count, one.interval_95) = (1, None);
    let single = compare_table(("a", &a), ("b", &b), true, &PLAIN);
    assert!(single.contains("interval not known in 1 test."), "{single}");
}

#[test]
fn additional_writes_of_the_flash_are_reported_if_there_are_any() {
    let mut run = fixture::study().systems.swap_remove(0).run;
    let detail = |run: &RunResult| detail(run, &run.tests[0], &PLAIN);
    assert!(!detail(&run).contains("Flash took"), "nothing is known of it");
    for sample in &mut run.tests[0].samples {
        sample.drive = Some(lanemark_schema::result::DriveUse {
            host_written: Bytes(1_000_000_000),
            moved: Bytes(1_500_000_000),
            superblocks_erased: 4,
            ..Default::default()
        });
    }
    let count = run.tests[0].samples.len();
    let moved = format!("moved {:.2} GB; {} superblocks", 1.5 * count as f64, 4 * count);
    let text = detail(&run).replace('\n', " ");
    assert!(text.contains("Flash took 2.50 bytes per byte that the host wrote"), "{text}");
    assert!(text.contains(&moved), "{moved} in {text}");
}

/// Tests that ran in parallel, and tests that copied data, are noted below the table and on the page.
#[test]
fn rows_that_would_mislead_have_a_sentence() {
    let mut run = fixture::simulated();
    let mut first = run.tests[0].test.clone();
    let copy = first.clone().with(|requests| requests.mix.copy_to = Some(Bytes::mebi(8)));
    first.name = "data".to_owned();
    let mut log = Test { name: "log".to_owned(), ..first.clone() };
    log.start.beside = true;
    run.workload.tests = vec![first, log, copy.clone()];
    let mut sample = run.tests[0].samples[0].clone();
    sample.elapsed = Duration::from_seconds(2);
    sample.writes =
        sample.reads.clone().map(|read| DirectionResult { bytes: Bytes(100_000_000), ..read });
    run.tests = vec![TestResult::new(&run.workload, &copy, vec![sample.clone(), sample])];
    let together = "These tests ran in parallel and are counted separately: data, log.";
    let copied = format!("{}: each block is read and written; 50.0 MB/s were copied.", copy.name);
    for view in [run_table(&run, &PLAIN), html(None, &[&run])] {
        let view = unwrapped(&view);
        assert!(view.contains(together) && view.contains(&copied), "{view}");
    }
}

#[test]
fn counted_latency_over_time_is_a_heat_map() {
    let mut run = fixture::over_time();
    let without = html(None, &[&run]);
    assert!(!without.contains("latency of requests"), "nothing was counted");
    let second = Duration::from_seconds(1);
    let mut recorder = SeriesRecorder::new(second, 100);
    for at in 0..40u64 {
        recorder.close(second * at, None);
        for _ in 0..1000 {
            recorder.record(Operation::Write, Bytes::kibi(4), Duration::from_microseconds(100));
        }
        // After the twentieth second, one request in a hundred waits.
        for _ in 0..if at < 20 { 0 } else { 10 } {
            recorder.record(Operation::Write, Bytes::kibi(4), Duration::from_microseconds(20_000));
        }
    }
    run.tests[0].samples[0].series = Some(recorder.finish(second * 40, None));
    let page = html(None, &[&run]);
    let cells = |class: &str| {
        let start = page.find(&format!("<path class=\"{class}\" d=\"")).expect(class);
        let path = &page[start..start + page[start..].find("\"/>").unwrap()];
        path.rsplit('"').next().unwrap().matches('h').count()
    };
    // The usual latency is one band over the whole time, and the slow latency begins in the middle.
    assert_eq!((cells("q4"), cells("q1")), (1, 1));
    assert!(page.contains(">98.3 µs</text>") && page.contains("latency of requests"));
}

#[test]
fn tests_that_differ_in_queue_depth_are_lines_and_latency_over_load() {
    let mut run = fixture::simulated();
    let model = run.tests[0].clone();
    run.tests = [1, 2, 4, 8]
        .map(|depth| {
            let mut result = model.clone();
            result.test.name = format!("depth {depth}");
            result.test = result.test.with(|requests| requests.queue_depth = depth);
            result.iops.value *= f64::from(depth);
            result
        })
        .into();
    let page = html(None, &[&run]);
    assert!(page.contains("latency over load") && page.contains("queue depth (logarithmic)"));
    assert!(page.contains("trace ceiling"), "no ceiling of the slowest hop");
    run.tests.truncate(3);
    let page = html(None, &[&run]);
    assert!(!page.contains("latency over load"), "three points are bars");
}

#[test]
fn a_served_run_has_delivered_figures_next_to_modelled_ones() {
    let mut run = fixture::simulated();
    assert!(!html(None, &[&run]).contains("Modelled and delivered"));
    run.tests.truncate(1);
    let sample = &mut run.tests[0].samples[0];
    let late = |direction: &DirectionResult| {
        let mut late = DirectionResult::new();
        for (ns, count) in direction.latency.bins() {
            (0..count).for_each(|_| {
                late.record(Bytes::kibi(4), Duration::from_nanoseconds(ns * 10 + 7_000));
            });
        }
        late
    };
    let reads = sample.reads.as_ref().map(late);
    let writes = sample.writes.as_ref().map(late);
    let name = if reads.is_some() { "reads" } else { "writes" };
    sample.live = Some(LiveDelivery {
        time_scale: 10.0,
        host_errors: Default::default(),
        served: Duration::from_seconds(5),
        lateness: LatencyHistogram::new(),
        reads,
        writes,
        evidence: DeliveryEvidence::of_modelled(&sample.latency(), 10.0),
        content: None,
        processor_s: 1.0,
        busy: Duration::ZERO,
        program: None,
    });
    let page = html(None, &[&run]);
    assert!(page.contains("Modelled and delivered"));
    for kind in ["modelled", "delivered"] {
        assert!(page.contains(&format!("{name}, {kind}")), "{kind}");
    }
    let detail = detail(&run, &run.tests[0], &PLAIN);
    assert!(detail.contains(&format!("{name}, delivered")), "{detail}");
    // There is no comparison if one of the two sides is missing.
    let live = run.tests[0].samples[0].live.as_mut().unwrap();
    (live.reads, live.writes) = (None, None);
    assert!(!html(None, &[&run]).contains("Modelled and delivered"));
}
