//! Tests of the answer's sentences.

use lanemark_schema::result::HopId;

use super::*;
use crate::figures::LimitingHop;

fn hop(id: HopId, name: &str, utilisation: f64, time_us: f64) -> HopFigures {
    HopFigures {
        id,
        name: name.to_owned(),
        law: String::new(),
        colour: 0,
        is_of_drive: matches!(id, HopId::Media | HopId::FrontEnd),
        utilisation,
        ceiling_megabytes_per_second: Some(1000.0),
        wait_us: 0.0,
        service_us: time_us,
    }
}

/// Returns a system with one request at a time, so its latency determines its rate.
fn system(name: &str, hops: Vec<HopFigures>) -> NamedSystem {
    let mean: f64 = hops.iter().map(time).sum();
    let figures = TestFigures {
        test: "t".to_owned(),
        is_random: true,
        repeats: 5,
        requests: 1000,
        simulated_seconds: 1.0,
        megabytes_per_second: 4096.0 / mean,
        iops: 1e6 / mean,
        spread: 0.0,
        latency_mean_us: mean,
        latency_us: Vec::new(),
        interval: None,
        prediction: None,
        hops,
        bottleneck: String::new(),
        limit: None,
        failed: 0,
        wrong: None,
        flush_mean_us: None,
        durable: None,
        iops_without_faults: None,
        faults: Vec::new(),
        warnings: Vec::new(),
        phases: None,
    };
    NamedSystem { name: name.to_owned(), figures }
}

fn answer_of(systems: Vec<NamedSystem>) -> Answer {
    answer(&AnswerRequest { systems, points: Vec::new() }).unwrap()
}

#[test]
fn the_slower_system_loses_the_rest_where_its_requests_spend_more_time() {
    let fast = system(
        "A",
        vec![hop(HopId::Link(0), "PCIe", 0.1, 10.0), hop(HopId::Media, "flash", 0.5, 40.0)],
    );
    let slow = system(
        "B",
        vec![hop(HopId::Link(0), "SATA", 0.4, 50.0), hop(HopId::Media, "flash", 0.5, 50.0)],
    );
    let both = answer_of(vec![slow.clone(), fast.clone()]);
    assert_eq!(
        both.sentence,
        "A is 2.00 times as fast as B: 20,000 IOPS versus 10,000 IOPS. B loses time at SATA (50.0 µs of each \
         request)."
    );
    let mut flushed = slow.clone();
    flushed.figures.flush_mean_us = Some(1_800.0);
    let both = answer_of(vec![flushed, fast.clone()]);
    assert!(
        both.sentence.ends_with(" B loses time in the flushes (1.80 ms each)."),
        "{}",
        both.sentence
    );
    let mut busy = slow;
    busy.figures.hops[1].utilisation = 0.97;
    let both = answer_of(vec![busy, fast]);
    assert!(both.sentence.ends_with(" Flash limits B (97% busy)."), "{}", both.sentence);
}

#[test]
fn an_assumed_bottleneck_is_named_as_assumed() {
    let mut one = system(
        "A",
        vec![hop(HopId::Cpu, "CPU core", 0.98, 20.0), hop(HopId::Media, "flash", 0.2, 5.0)],
    );
    one.figures.limit = Some(LimitingHop {
        id: HopId::Cpu,
        is_assumed: true,
        value: Some("platform.cpu.request_submit = 2 us, 1 us to 4 us".to_owned()),
    });
    let alone = answer_of(vec![one.clone()]);
    assert!(alone.sentence.contains("CPU core, whose speed is assumed, limits it, 98% busy"));
    assert!(alone.caution.unwrap().starts_with("That limit is assumed: platform.cpu"));
    one.figures.limit.as_mut().unwrap().is_assumed = false;
    assert_eq!(answer_of(vec![one]).caution, None);
}

#[test]
fn equal_rates_and_overlapping_intervals_are_stated() {
    let hops = |time| vec![hop(HopId::Media, "flash", 0.95, time)];
    for (name, expected) in [
        ("flash", "Flash limits both."),
        ("flash dies", "Flash dies limit both."),
        ("volume limits", "Volume limits constrain both."),
    ] {
        let hops = |time| vec![hop(HopId::Media, name, 0.95, time)];
        let same = answer_of(vec![system("A", hops(100.0)), system("B", hops(100.5))]);
        let expected = format!("A and B deliver the same throughput, 10,000 IOPS. {expected}");
        assert_eq!(same.sentence, expected);
    }
    let mut a = system("A", hops(100.0));
    let mut b = system("B", hops(120.0));
    let interval = |low_ratio, high_ratio| {
        Some(lanemark_schema::result::PredictionInterval {
            low_ratio,
            high_ratio,
            widest: None,
            percentiles: Vec::new(),
        })
    };
    (a.figures.interval, b.figures.interval) = (interval(0.8, 1.2), interval(0.8, 1.25));
    let both = answer_of(vec![a.clone(), b.clone()]);
    assert_eq!(
        both.sentence,
        "No difference between A and B is shown: 10,000 IOPS and 8,333 IOPS, a ratio of 1.20 (0.88 to 1.60)."
    );
    (a.figures.interval, b.figures.interval) = (interval(0.99, 1.01), interval(0.99, 1.01));
    let both = answer_of(vec![a.clone(), b.clone()]);
    assert!(
        both.sentence.starts_with("A is 1.20 times as fast as B (1.18 to 1.22): 10,000"),
        "{}",
        both.sentence
    );
    // Two rates that differ by 2% are not "1 times" each other.
    b.figures.interval = interval(0.5, 1.2);
    let mut near = system("B", hops(102.0));
    near.figures.interval = b.figures.interval.clone();
    let sentence = answer_of(vec![a, near]).sentence;
    assert!(sentence.starts_with("No difference between A and B is shown: "), "{sentence}");
    assert!(!sentence.contains("1 times"), "{sentence}");
}

#[test]
fn four_systems_are_one_sentence_and_failures_are_stated() {
    let hops = |time| vec![hop(HopId::Media, "flash", 0.95, time)];
    let mut all: Vec<NamedSystem> = [("A", 10.0), ("B", 20.0), ("C", 40.0), ("D", 10.0)]
        .map(|(name, time)| system(name, hops(time)))
        .into();
    all[2].figures.failed = 3;
    all[2].figures.wrong = Some("failed 3% of the requests".to_owned());
    let answer = answer_of(all);
    assert!(
        answer.sentence.starts_with(
            "C failed 3% of the requests. A and D are the fastest: 100,000 IOPS, 2.00 times B and 4.00 times C."
        ),
        "{}",
        answer.sentence
    );
    assert!(answer.caution.unwrap().contains("not included in any rate"));
}

#[test]
fn systems_without_figures_lack_an_answer() {
    let of = |systems| answer(&AnswerRequest { systems, points: Vec::new() });
    assert_eq!(of(Vec::new()), None);
    let mut empty = system("A", Vec::new());
    empty.figures.iops = 0.0;
    let dead = of(vec![empty.clone()]).unwrap();
    assert_eq!(dead.sentence, "A completes no request in 200 ms.");
    empty.figures.iops = f64::NAN;
    assert_eq!(of(vec![empty.clone()]), None);
    (empty.figures.iops, empty.figures.megabytes_per_second) = (5.0, f64::INFINITY);
    empty.name = "x".repeat(100_000);
    let long = answer_of(vec![empty]);
    assert!(long.sentence.len() < 400, "{}", long.sentence.len());
}

#[test]
fn numbers_have_three_digits_and_separators() {
    for (value, text) in
        [(1234.6, "1,235"), (12.345, "12.3"), (0.5, "0.500"), (1_234_567.0, "1,234,567")]
    {
        assert_eq!(significant(value), text);
    }
}

#[test]
fn systems_with_the_same_assumed_value_share_a_sentence() {
    let with = |name: &str, value: Option<&str>, is_assumed: bool| {
        let mut system = system(name, vec![hop(HopId::Cpu, "CPU core", 0.98, 20.0)]);
        let value = value.map(str::to_owned);
        system.figures.limit = Some(LimitingHop { id: HopId::Cpu, is_assumed, value });
        system
    };
    let caution = |systems| answer_of(systems).caution;
    let x = Some("x = 1 us");
    let y = Some("y = 2 us");
    let two = caution(vec![with("A", x, true), with("B", y, true), with("C", x, true)]);
    assert_eq!(
        two.as_deref(),
        Some("The limit of A and C is assumed: x = 1 us. The limit of B is assumed: y = 2 us.")
    );
    let one = caution(vec![with("A", x, true), with("B", x, false)]);
    assert_eq!(one.as_deref(), Some("The limit of A is assumed: x = 1 us."));
    assert_eq!(caution(vec![with("A", None, true)]), None);
}

#[test]
fn one_system_is_reported_with_its_limit_or_longest_hop() {
    let link = |utilisation| hop(HopId::Link(0), "SATA", utilisation, 30.0);
    let media = |ceiling| HopFigures {
        ceiling_megabytes_per_second: ceiling,
        ..hop(HopId::Media, "flash", 0.5, 10.0)
    };
    // A request takes 40 us, so the system delivers 102.4 MB/s.
    let of = |utilisation, ceiling| {
        answer_of(vec![system("A", vec![link(utilisation), media(ceiling)])]).sentence
    };
    let start = "A delivers 25,000 IOPS: ";
    assert_eq!(
        of(0.9, Some(204.8)),
        format!(
            "{start}SATA limits it, 90% busy. The path delivers 50% of the 205 MB/s that the \
             drive’s own parts could carry."
        )
    );
    // A rate is not a plural.
    let mut fast = link(0.9);
    fast.name = "SATA 6 Gb/s".to_owned();
    let fast = answer_of(vec![system("A", vec![fast])]).sentence;
    assert!(fast.contains(": SATA 6 Gb/s limits it"), "{fast}");
    assert_eq!(of(0.9, Some(113.0)), format!("{start}SATA limits it, 90% busy."));
    assert_eq!(of(0.9, None), format!("{start}SATA limits it, 90% busy."));
    assert_eq!(
        of(0.89, Some(204.8)),
        format!(
            "{start}no part is busy all the time, and 75% of a request’s 40.0 µs is spent at SATA."
        )
    );
    let mut filled = system("A", vec![hop(HopId::Media, "flash dies", 1.0, 10.0)]);
    let sentence = answer_of(vec![filled.clone()]).sentence;
    assert!(sentence.contains(": flash dies limit it, 100% busy."), "{sentence}");
    filled.figures.phases = Some("5 MB/s for 2 s; then 1 MB/s.".to_owned());
    let sentence = answer_of(vec![filled]).sentence;
    assert_eq!(sentence, "A delivers 5 MB/s for 2 s; then 1 MB/s. The average is 100,000 IOPS.");
    let mut empty = system("A", Vec::new());
    (empty.figures.iops, empty.figures.is_random) = (5.0, false);
    empty.figures.megabytes_per_second = 12.0;
    assert_eq!(answer_of(vec![empty]).sentence, "A delivers 12.0 MB/s.");
}

#[test]
fn one_system_is_reported_with_its_interval_and_the_depth_that_is_enough() {
    let mut system = system("A", vec![hop(HopId::Media, "flash", 0.95, 40.0)]);
    system.figures.interval = Some(lanemark_schema::result::PredictionInterval {
        low_ratio: 0.8,
        high_ratio: 1.2,
        widest: None,
        percentiles: Vec::new(),
    });
    let point = |queue_depth, iops| CurvePoint {
        queue_depth,
        megabytes_per_second: iops / 100.0,
        iops,
        latency_mean_us: 80.0,
        latency_p99_us: None,
    };
    let points = vec![point(1, 500.0), point(2, 949.0), point(4, 950.0), point(8, 1_000.0)];
    let sentence = answer(&AnswerRequest { systems: vec![system], points }).unwrap().sentence;
    assert_eq!(
        sentence,
        "A delivers 25,000 IOPS (80% interval 20,000 to 30,000): flash limits it, 95% busy. Depth 4 reaches 95% \
         of the maximum rate up to depth 8, with a mean latency of 80.0 µs."
    );
}

#[test]
fn flushes_and_the_cost_of_faults_replace_the_comparison() {
    let mut pair = ["A", "B"].map(|name| system(name, vec![hop(HopId::Media, "flash", 0.5, 40.0)]));
    pair.iter_mut().for_each(|one| one.figures.durable = Some("Each flush took 2 ms.".to_owned()));
    let flushed = answer_of(pair.to_vec()).sentence;
    assert_eq!(flushed, "A: Each flush took 2 ms. B: Each flush took 2 ms.");
    let [mut faulty, _] = pair;
    faulty.figures.faults = crate::fault_report::reports(&["pause for=1ms".parse().unwrap()], &[]);
    faulty.figures.iops_without_faults = Some(faulty.figures.iops / 0.9);
    assert_eq!(
        answer_of(vec![faulty]).sentence,
        "A delivers 25,000 IOPS over 200 ms. Its faults cost 20.0 ms. The interval of a rate with faults \
         is not known."
    );
}

#[test]
fn rates_are_the_same_within_three_per_cent_and_share_a_limit() {
    let of = |name: &str, id, time| {
        system(name, vec![hop(id, if id == HopId::Cpu { "CPU" } else { "flash" }, 0.95, time)])
    };
    let pair =
        |time| answer_of(vec![of("A", HopId::Media, 100.0), of("B", HopId::Media, time)]).sentence;
    assert!(pair(102.9).starts_with("A and B deliver the same"), "{}", pair(102.9));
    assert!(pair(103.7).starts_with("A is 1.04 times as fast as B:"), "{}", pair(103.7));
    // Without intervals, the ratio of the slower system shows the difference, too.
    let slower = answer_of(vec![of("A", HopId::Media, 100.0), of("B", HopId::Media, 120.0)]);
    let ratio = slower.ratios[1].as_ref().unwrap();
    assert_eq!((ratio.is_shown, ratio.text.as_str()), (true, "0.83"));
    let other = answer_of(vec![of("A", HopId::Media, 100.0), of("B", HopId::Cpu, 100.0)]).sentence;
    assert_eq!(other, "A and B deliver the same throughput, 10,000 IOPS.");
    let three = ["A", "B", "C"].map(|name| of(name, HopId::Media, 100.0));
    assert_eq!(
        answer_of(three.into()).sentence,
        "A, B and C deliver the same throughput, 10,000 IOPS. Flash limits them."
    );
}

#[test]
fn ratios_and_times_have_few_digits() {
    assert_eq!(
        [0.00198, 0.0994, 0.1, 1.04, 1.94, 2.04, 9.94, 9.95, 14.4, 120.0].map(times),
        ["0.0020", "0.099", "0.10", "1.04", "1.94", "2.04", "9.94", "10", "14", "120"]
    );
    assert_eq!([999.0, 1e3, 1e6].map(latency), ["999 µs", "1.00 ms", "1.00 s"]);
    let mut waiting = hop(HopId::Media, "flash", 0.5, 10.0);
    waiting.wait_us = 7.0;
    assert_eq!(time(&waiting), 17.0);
}
