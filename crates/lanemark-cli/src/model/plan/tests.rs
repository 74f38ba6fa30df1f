//! Tests of the arguments of plans and of their answers.

use lanemark_schema::result::{DirectionResult, Sample, TransactionFigures};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Pattern, Test, Workload};

use super::*;

/// Returns a result of `requests` 4 KiB requests in a second.
fn result(requests: u64) -> TestResult {
    let mut reads = DirectionResult::new();
    (0..requests).for_each(|_| reads.record(Bytes::kibi(4), Duration::from_microseconds(80)));
    let elapsed = Duration::from_seconds(1);
    let sample = Sample { elapsed, reads: Some(reads), ..Sample::empty() };
    let mut test = Test::of_blocks(Bytes::kibi(4));
    test.name = format!("test of {requests}");
    TestResult::new(&Workload::of_test("w", "W", test.clone()), &test, vec![sample])
}

fn is_same(test_result: &TestResult, other: &TestResult) -> bool {
    let test_result = OptionResult { option: "--present", result: test_result };
    same_test(&test_result, &OptionResult { option: "--other", result: other }).is_ok()
}

#[test]
fn results_are_of_the_same_test_if_their_requests_are() {
    let own = result(100);
    let changed = |change: fn(&mut TestResult)| {
        let mut other = result(130);
        change(&mut other);
        other
    };
    assert!(is_same(&own, &result(130)));
    assert!(is_same(&own, &changed(|one| one.test.threads = 9)), "any number of threads");
    for other in [
        changed(|one| one.test.block = Bytes::kibi(8)),
        changed(|one| {
            one.test = one.test.clone().with(|asked| asked.pattern = Pattern::Sequential);
        }),
        changed(|one| {
            let half = lanemark_schema::units::Ratio::HALF;
            one.test = one.test.clone().with(|asked| asked.read_share = half);
        }),
        changed(|one| one.test = one.test.clone().with(|asked| asked.mix.flush_every = Some(3))),
    ] {
        assert!(!is_same(&own, &other), "{:?}", other.test);
    }
    // The number of users is a property of a database's load.
    let users = |threads| {
        let mut users = result(100);
        users.samples[0].transactions = Some(TransactionFigures::default());
        users.test.threads = threads;
        users
    };
    assert!(is_same(&users(3), &users(3)) && !is_same(&users(3), &users(4)));
    let own = OptionResult { option: "--present", result: &own };
    let other = result(130);
    let mut other = other.clone();
    other.test.block = Bytes::kibi(8);
    let other = OptionResult { option: "--other", result: &other };
    let error = same_test(&own, &other).unwrap_err().to_string();
    assert!(
        error.contains(
            "--present and --other are results of different tests: test of 100 and test of 130"
        ),
        "{error}"
    );
}

#[test]
fn rates_are_the_same_within_two_per_cent() {
    let same = |a: u64, b: u64| {
        let a = result(a);
        let b = result(b);
        let own = OptionResult { option: "--drive", result: &a };
        same_rate(&own, &OptionResult { option: "--other", result: &b })
            .map_err(|failure| failure.to_string())
    };
    for (a, b, is_same) in [
        (1_000, 1_000, true),
        (1_000, 1_019, true),
        (1_000, 981, true),
        (1_000, 1_021, false),
        (1_000, 979, false),
    ] {
        assert_eq!(same(a, b).is_ok(), is_same, "{a} {b}");
    }
    assert!(same(0, 0).is_err());
    let error = same(1_000, 2_000).unwrap_err();
    assert!(error.contains("--drive reached 1000 requests/s and --other 2000"), "{error}");
}

#[test]
fn a_rate_may_be_named_and_a_power_given() {
    let (named, test) = rate("--present", " SATA = 1.37e6").unwrap();
    assert_eq!((named, test.is_none()), (("SATA".to_owned(), 1.37e6), true));
    assert!(rate("--present", "SATA=fast").is_err());
    let (power, test) = watts("--drive", "1.4 W").unwrap();
    assert_eq!((power, test.is_none()), (1.4, true));
    assert!(watts("--drive", "absent.json").is_err());
    let mut examples = DefaultedInputs::default();
    assert_eq!(examples.value_or_example("--bits", Some(10), "12", 12), 10);
    assert_eq!(examples.value_or_example("--frames", None, "24", 24.5), 24.5);
    assert_eq!(examples.0, ["--frames 24"]);
}

#[test]
fn results_without_a_shown_difference_save_no_servers() {
    let plan = |ratio| {
        let mut plan = Plan {
            question: String::new(),
            steps: Vec::new(),
            answer: "9 saved".to_owned(),
            left_out: Vec::new(),
            of_example: Vec::new(),
            sources: Vec::new(),
        };
        judge(&mut plan, ratio);
        plan
    };
    assert_eq!(plan(RatioEstimate::within(1.1, 1.05, 1.15)).answer, "9 saved");
    assert_eq!(
        plan(RatioEstimate::within(1.1, 0.98, 1.23)).answer,
        "No saving is shown: the ratio of the two results is 1.10 (0.98 to 1.23)."
    );
    let unknown = plan(RatioEstimate::Uncertain { ratio: 1.1, interval_80: None });
    assert_eq!((unknown.answer.as_str(), unknown.left_out.len()), ("9 saved", 1));
}

#[test]
fn the_rate_of_a_result_has_the_uncertainty_of_its_repeats() {
    let one = result(100);
    let of_one = uncertain_rate(&one);
    assert_eq!(of_one.value, one.iops.value);
    let mut several = result(100);
    several.iops = lanemark_schema::result::Statistic::from_values(
        &[90.0, 100.0, 110.0],
        lanemark_schema::workload::AverageMethod::Mean,
    );
    let ratio = RatioEstimate::of_figures(uncertain_rate(&several), uncertain_rate(&several));
    assert_eq!(ratio.verdict(), RatioVerdict::NotShown);
    assert!(ratio.interval_80().is_some());
}
