//! Tests of the rows and answers of what-if questions.

use lanemark_schema::result::{
    Contradiction, ContradictionCause, CreditUse, MainUncertainty, PercentileInterval,
    PredictionInterval, Reserve,
};
use lanemark_schema::units::Duration;

use super::*;
use crate::run_tests::interval;

const WIDE: Style = Style { width: 2_000, colour: false };

fn figures(megabytes: f64, iops: f64, latency_us: f64) -> WhatIfFigures {
    WhatIfFigures {
        assumed: None,
        bytes_per_second: megabytes * 1e6,
        iops,
        latency_mean_ns: latency_us * 1e3,
        latency_p99_ns: None,
        latency_p999_ns: None,
        busiest: None,
        limit: None,
        links_bytes_per_second: None,
        path: None,
        credits: Vec::new(),
    }
}

/// Returns a test whose throughput is multiplied by `factor`, with an interval of 2% on either side, and whose latency
/// is multiplied by `waits`.
fn test(name: &str, factor: f64, waits: f64) -> WhatIfTest {
    WhatIfTest {
        test: name.to_owned(),
        random: false,
        measured: None,
        present: figures(200.0, 50_000.0, 100.0),
        other: figures(200.0 * factor, 50_000.0 * factor, 100.0 * waits),
        interval: None,
        change: RatioEstimate::within(factor, factor * 0.98, factor * 1.02),
        carried: None,
        shortened_to: None,
    }
}

/// Returns a test whose change has an interval from 0.7 to 1.3 times the change.
fn uncertain(name: &str, factor: f64) -> WhatIfTest {
    let change = RatioEstimate::within(factor, factor * 0.7, factor * 1.3);
    WhatIfTest { change, ..test(name, factor, 1.0) }
}

fn random(carried: Option<f64>) -> WhatIfTest {
    WhatIfTest {
        random: true,
        measured: carried.map(|_| figures(4.4, 1_100.0, 240.0)),
        present: figures(4.0, 1_000.0, 250.0),
        other: figures(6.0, 1_500.0, 125.0),
        carried,
        change: RatioEstimate::within(1.5, 1.2, 1.8),
        ..test("4K", 1.0, 1.0)
    }
}

fn build_whatif(tests: Vec<WhatIfTest>) -> WhatIf {
    WhatIf {
        present: "d@p:sata".to_owned(),
        other: "d@p:m2".to_owned(),
        changed: Vec::new(),
        measured: None,
        contradictions: Vec::new(),
        tests,
        warnings: Default::default(),
    }
}

#[test]
fn the_answer_names_the_smallest_and_the_largest_gain_and_loss() {
    let answer_to = |tests: Vec<WhatIfTest>| {
        let text = answer(&build_whatif(tests));
        text.strip_prefix("d in m2 instead of sata: ").unwrap().to_owned()
    };
    let gain = test("a", 1.2, 1.0);
    let more = test("b", 1.5, 1.0);
    let loss = test("c", 0.9, 1.0);
    let worse = test("d", 0.4, 1.0);
    let same = test("e", 1.004, 1.0);
    let slower = test("f", 1.0, 1.2);
    let unclear = uncertain("g", 1.1);
    let unknown = WhatIfTest {
        change: RatioEstimate::Uncertain { ratio: 1.5, interval_80: None },
        ..test("h", 1.5, 1.0)
    };
    let served = |name: &str| WhatIfTest {
        change: RatioEstimate::Uncertain { ratio: 1.0, interval_80: None },
        ..test(name, 1.0, 0.5)
    };
    let [reads, writes] = [served("reads"), served("writes")];
    let nothing = "nothing changes; no test gains or loses as much as 0.5%.";
    for (tests, wanted) in [
        (vec![], "no test has ended."),
        (vec![&gain], "you gain 20% (18 to 22%) in a, 240 instead of 200 MB/s."),
        (vec![&loss], "you lose 10% (8 to 12%) in c, 180 instead of 200 MB/s."),
        (vec![&slower], "the same within 3% in f, 200 instead of 200 MB/s."),
        (vec![&unclear], "no difference shown (-23.0% to +43.0%) in g, 220 instead of 200 MB/s."),
        (vec![&unknown], "+50.0% without a known interval in h, 300 instead of 200 MB/s."),
        (vec![&same], nothing),
        (vec![&same, &same], nothing),
        (vec![&more, &gain], "you gain 20% (18 to 22%) in a to 50% (47 to 53%) in b."),
        (vec![&loss, &worse], "you lose 10% (8 to 12%) in c to 60% (59 to 61%) in d."),
        (vec![&gain, &loss], "you gain 20% (18 to 22%) in a; you lose 10% (8 to 12%) in c."),
        (vec![&gain, &same], "you gain 20% (18 to 22%) in a; the same within 3% in 1 test."),
        (
            vec![&loss, &same, &slower, &unclear, &unknown],
            "you lose 10% (8 to 12%) in c; no difference shown in 1 test (-23.0% to +43.0%); the same within 3% in 2 tests; the \
             interval is not known in 1 test.",
        ),
        (vec![&slower, &same], "the same within 3% in 2 tests."),
        (
            vec![&reads, &writes],
            "equal rates; a request takes 50.0 µs instead of 100 µs in reads and 50.0 µs instead of 100 µs in writes (interval \
             not known).",
        ),
    ] {
        assert_eq!(answer_to(tests.into_iter().cloned().collect()), wanted);
    }
    assert_eq!(
        answer_to(vec![random(None)]),
        "you gain 50% (20 to 80%) in 4K, 1,500 instead of 1,000 IOPS."
    );
    assert_eq!(
        answer_to(vec![random(Some(1.1))]),
        "you gain 50% (20 to 80%) in 4K, 1,650 instead of 1,100 IOPS."
    );
    let mut identical = same.clone();
    identical.change = RatioEstimate::Identical;
    let equal = WhatIf { other: "d@p:sata".to_owned(), ..build_whatif(vec![identical]) };
    assert!(answer(&equal).ends_with("both are the same system with the same values."));
    let changed = WhatIf { changed: vec!["x".to_owned()], ..build_whatif(vec![same]) };
    assert!(answer(&changed).ends_with("no test gains or loses as much as 0.5%."));
}

/// Returns a test that measured a fifth of its modelled rate.
fn contradicted(name: &str, cause: ContradictionCause) -> Contradiction {
    Contradiction {
        test: name.to_owned(),
        random: true,
        measured: figures(160.0, 40_000.0, 25.0),
        present: figures(800.0, 200_000.0, 160.0),
        interval: interval(0.8, 1.25),
        cause,
    }
}

#[test]
fn the_answer_starts_with_the_contradiction_of_a_measurement() {
    let cause = ContradictionCause::Outstanding { mean: 1.0, stated: 32 };
    let whatif = |tests| WhatIf {
        measured: Some("my run.json".to_owned()),
        contradictions: vec![contradicted("rand", cause)],
        ..build_whatif(tests)
    };
    let text = whatif_text(&whatif(Vec::new()), &WIDE);
    let first = text.lines().next().unwrap();
    let wanted = "rand is not predicted: 40,000 IOPS were measured, and the model of d@p:sata gives 200,000 (80% interval 160,000 to \
         250,000). On average 1.00 request was outstanding instead of 32, so the program waited for requests.";
    assert!(first.starts_with(wanted), "{first}");
    assert!(text.contains("`lanemark drive NAME --from 'my run.json'`"), "{text}");
    let text = whatif_text(&whatif(vec![test("read", 1.2, 1.0)]), &WIDE);
    assert!(text.starts_with("rand is not predicted"), "{text}");
    assert!(text.contains("d in m2 instead of sata: you gain 20%"), "{text}");
    let forced = whatif(vec![test("rand", 1.2, 1.0)]);
    let text = whatif_text(&forced, &WIDE);
    assert!(text.starts_with("rand is predicted against its measurement: 40,000"), "{text}");
}

#[test]
fn two_systems_are_named_by_their_difference() {
    for (present, other, named) in [
        ("d@p:sata", "d@p:m2", "d in m2 instead of sata"),
        ("d@p:sata", "e@p:m2", "e in m2 instead of d in sata"),
        ("d@p:sata", "d@q:m2", "d@q:m2 instead of d@p:sata"),
        ("d@p:sata", "d", "d instead of d@p:sata"),
        ("d@p:sata", "d@p:sata", "d@p:sata with other values"),
        ("d@p:sata", "d@p:sata Q8", "d@p:sata Q8"),
        ("d@p:sata", "d@p:sata2", "d in sata2 instead of sata"),
    ] {
        assert_eq!(
            parties(&WhatIf {
                present: present.to_owned(),
                other: other.to_owned(),
                ..build_whatif(Vec::new())
            }),
            named
        );
    }
}

#[test]
fn a_row_has_the_change_with_the_interval_of_the_change() {
    let row = |test: &WhatIfTest, measured: bool| -> Vec<String> {
        cells(test, measured).into_iter().map(|cell| cell.text).collect()
    };
    let change = "+20.0% to +80.0%";
    let wanted = ["4K", "1,100", "1,000", "1,650", "IOPS", "+50.0%", change, "250", "125"];
    assert_eq!(row(&random(Some(1.1)), true), wanted);
    let wanted = ["4K", ABSENT, "1,000", "1,500", "IOPS", "+50.0%", change, "250", "125"];
    assert_eq!(row(&random(None), true), wanted);
    let unknown = RatioEstimate::Uncertain { ratio: 0.5, interval_80: None };
    let row = row(&WhatIfTest { change: unknown, ..test("a", 0.5, 3.0) }, false);
    assert_eq!(row, ["a", "200", "100", "MB/s", "-50.0%", ABSENT, "100", "300"]);
}

#[test]
fn the_interval_of_the_rate_is_stated_with_the_test() {
    let one = WhatIfTest { interval: Some(interval(0.5, 2.0)), ..random(Some(1.1)) };
    assert_eq!(expected_interval(&one).unwrap(), "The 80% interval of the rate is 825–3,300 IOPS.");
    assert!(description(&one).contains("825–3,300 IOPS"));
}

#[test]
fn a_test_is_reported_with_its_gain_and_both_limits() {
    let text = description(&test("a", 0.5, 1.0));
    let unknown = "Now: its hops are not known. Then: its hops are not known.";
    assert_eq!(text, format!("a: you lose 50% (49 to 51%). {unknown}"));
}

#[test]
fn percentiles_of_the_latency_are_stated_with_their_intervals() {
    let percentiles = [99.0, 99.9].map(|percentile| PercentileInterval {
        percentile,
        low_ratio: 0.8,
        high_ratio: 1.5,
    });
    let own = PredictionInterval { percentiles: percentiles.to_vec(), ..interval(0.9, 1.1) };
    let mut one = WhatIfTest { interval: Some(own), ..test("a", 1.5, 1.0) };
    assert_eq!(tail_note(&one), None);
    (one.present.latency_p99_ns, one.other.latency_p99_ns) = (Some(240e3), Some(200e3));
    let p99 = "p99 200 µs (80% in 160–300) instead of 240";
    assert_eq!(tail_note(&one).unwrap(), format!("Latency then: {p99}."));
    // A percentile that is not known for one of the systems is not stated.
    one.other.latency_p999_ns = Some(4e6);
    assert_eq!(tail_note(&one).unwrap(), format!("Latency then: {p99}."));
    one.present.latency_p999_ns = Some(2e6);
    let p999 = "p99.9 4.00 ms (80% in 3.20–6.00) instead of 2.00";
    let sentence = format!("Latency then: {p99}; {p999}.");
    assert_eq!(tail_note(&one).unwrap(), sentence);
    assert!(description(&one).ends_with(&sentence));
    one.interval = None;
    assert_eq!(tail_note(&one), None);
}

#[test]
fn the_answer_states_when_the_credits_of_each_volume_end() {
    let credits = |seconds: Option<u64>| {
        vec![CreditUse {
            reserve: Reserve::OperationCredits,
            at_start: 5_400_000,
            used_per_second: 3_000.0,
            refill_per_second: 300,
            end: seconds.map(Duration::from_seconds),
            is_simulated: false,
        }]
    };
    let mut whatif = build_whatif(vec![test("a", 1.5, 1.0), test("b", 1.5, 1.0)]);
    assert_eq!(credit_ends(&whatif), "");
    whatif.tests[0].present.credits = credits(Some(2_000));
    whatif.tests[1].present.credits = credits(Some(1_800));
    whatif.tests[1].other.credits = credits(None);
    let b = "Now: The I/O credits run out after 30.0 min in b, sooner than in the other tests; then 300 IOPS.";
    assert_eq!(credit_ends(&whatif), format!(" {b}"));
    whatif.tests.pop();
    let a = "Now: The I/O credits run out after 33.3 min at this load; then 300 IOPS.";
    assert_eq!(credit_ends(&whatif), format!(" {a}"));
    whatif.tests[0].other.credits = credits(None);
    let then = "Then: The I/O credits do not run out at this load.";
    let text = whatif_text(&whatif, &Style { width: 2_000, colour: false });
    let first = text.lines().next().unwrap();
    assert!(first.ends_with(&format!("{a} {then}")), "{text}");
}

#[test]
fn the_evidence_counts_the_tests_that_were_shortened_and_carried() {
    let style = Style { width: 2_000, colour: false };
    assert_eq!(whatif_evidence(&build_whatif(vec![test("a", 1.5, 1.0)]), &style), "");
    let widest = |parameter: &str, share| {
        let widest = Some(MainUncertainty { parameter: parameter.to_owned(), share });
        Some(PredictionInterval { widest, ..interval(0.9, 1.1) })
    };
    let mut whatif = build_whatif(vec![
        WhatIfTest { shortened_to: Some(700), interval: widest("x", 0.5), ..test("a", 1.5, 1.0) },
        WhatIfTest { shortened_to: Some(900), interval: widest("y", 0.3), ..test("b", 1.5, 1.0) },
        WhatIfTest { interval: widest("y", 0.4), ..test("c", 1.5, 1.0) },
    ]);
    let text = whatif_evidence(&whatif, &style);
    let shortened =
        "2 of 3 tests were simulated in shortened form, with at most 900 counted requests.";
    assert!(text.contains(shortened), "{text}");
    assert!(text.contains("y contributes most to the interval width in 2 tests."), "{text}");
    whatif.measured = Some("m.json".to_owned());
    let unused = "The limit of every test moves to a part that was not measured";
    assert!(whatif_evidence(&whatif, &style).contains(unused));
    whatif.tests[1].carried = Some(1.2);
    let used = "multiplied by the ratio of the measured figure (m.json)";
    assert!(whatif_evidence(&whatif, &style).contains(used));
}

#[test]
fn the_text_has_a_column_for_measured_figures_and_all_changes() {
    let style = Style { width: 200, colour: false };
    let mut whatif = build_whatif(vec![test("a", 1.5, 1.0)]);
    let text = whatif_text(&whatif, &style);
    assert!(text.contains("d@p:m2 instead of d@p:sata") && !text.contains("measured"), "{text}");
    whatif.measured = Some("m.json".to_owned());
    whatif.changed = vec!["drive.read: 7 us, was 9 us".to_owned()];
    whatif.tests[0].measured = Some(figures(190.0, 47_500.0, 105.0));
    whatif.other.clone_from(&whatif.present);
    let text = whatif_text(&whatif, &style);
    assert!(text.contains("d@p:sata with other values\n"), "{text}");
    assert!(text.contains("Changed: drive.read: 7 us") && text.contains("measured"), "{text}");
    whatif.tests[0].interval = Some(interval(0.05, 1.0));
    assert!(whatif_text(&whatif, &style).contains("One interval, marked !"));
}
