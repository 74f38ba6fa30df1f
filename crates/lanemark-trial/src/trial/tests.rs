//! Tests of the times and results of trials.

use lanemark_schema::result::{DirectionResult, LatencyHistogram, LiveDelivery, ProgramRun};
use lanemark_schema::units::{Duration as Time, Ratio};

use super::*;

fn requests(count: u64, length: u64) -> Option<DirectionResult> {
    let mut direction = DirectionResult::new();
    (0..count).for_each(|_| direction.record(Bytes(length), Time::from_microseconds(80)));
    Some(direction)
}

fn turn(wall_ms: Option<u64>) -> Sample {
    let program = wall_ms.map(|wall| ProgramRun {
        system: "s".to_owned(),
        wall: Time::from_microseconds(1_000 * wall),
        busy: Time::ZERO,
        sync: Time::ZERO,
        processor_s: 0.0,
        exit_code: 0,
    });
    let live = LiveDelivery {
        time_scale: 1.0,
        host_errors: Default::default(),
        served: Time::ZERO,
        lateness: LatencyHistogram::new(),
        reads: None,
        writes: None,
        evidence: Default::default(),
        content: None,
        processor_s: 0.0,
        busy: Time::ZERO,
        program,
    };
    Sample { live: Some(live), ..Sample::empty() }
}

#[test]
fn the_requests_of_all_turns_are_one_test() {
    let turns = [
        Sample { reads: requests(6, 4_096), writes: requests(2, 8_192), ..Sample::empty() },
        Sample { reads: requests(3, 4_096), writes: requests(1, 12_288), ..Sample::empty() },
    ];
    let made = super::test("cp a b", &turns);
    assert_eq!(made.name, "cp a b");
    // 9 reads of 4 KiB, 2 writes of 8 KiB and one write of 12 KiB are 65,536 bytes in 12 requests, in 2 turns.
    assert_eq!((made.block, made.volume), (Bytes(5_461), Some(Bytes(32_768))));
    let LoadKind::Trace(summary) = made.asks else { panic!() };
    assert_eq!((summary.read_share, summary.queue_depth), (Ratio::new(0.75).unwrap(), 1));
    let none = super::test("true", &[]);
    assert_eq!((none.block, none.volume), (Bytes(1), Some(Bytes::ZERO)));
}

#[test]
fn the_usual_time_is_the_mean_of_all_turns() {
    let mean = |walls: &[Option<u64>]| {
        let turns: Vec<Sample> = walls.iter().map(|&wall| turn(wall)).collect();
        wall(&turns)
    };
    assert_eq!(mean(&[Some(300), Some(500)]), Duration::from_millis(400));
    assert_eq!(mean(&[Some(300), None]), Duration::from_millis(150));
    assert_eq!(mean(&[]), Duration::ZERO);
}

#[test]
fn a_long_command_is_cut_and_has_single_spaces() {
    let text = |words: &[&str]| {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        command_text(&words)
    };
    assert_eq!(text(&["sh", "-c", "a \n  b"]), "sh -c a b");
    assert_eq!(text(&[&"x".repeat(NAME_MAX)]), "x".repeat(NAME_MAX));
    assert_eq!(text(&[&"x".repeat(NAME_MAX + 1)]), "x".repeat(NAME_MAX) + "…");
}

#[test]
fn the_time_scale_grows_until_the_system_is_in_time() {
    let visited = |given: Option<f64>, least: f64| {
        let mut turns = Vec::new();
        let scale = time_scale(given, |scale| {
            turns.push(scale);
            Ok(Some((scale >= least, Duration::from_secs_f64(scale))))
        });
        let (scale, took) = scale.unwrap().unwrap();
        assert_eq!(took.as_secs_f64(), scale);
        (scale, turns)
    };
    assert_eq!(visited(None, 1.0), (1.0, vec![1.0]));
    assert_eq!(visited(None, 5.0), (16.0, vec![1.0, 4.0, 16.0]));
    assert_eq!(visited(None, f64::INFINITY), (64.0, vec![1.0, 4.0, 16.0, 64.0]));
    // A given scale is used even if it is too small.
    assert_eq!(visited(Some(0.5), 2.0), (0.5, vec![0.5]));
    assert_eq!(time_scale(None, |_| Ok(None)).unwrap(), None);
}

#[test]
fn the_expected_time_contains_all_turns_and_cuts() {
    let seconds = |turns, cuts| expected(Duration::from_secs(4), turns, cuts).as_secs();
    assert_eq!((seconds(3, 0), seconds(3, 20), seconds(1, 1)), (12, 92, 8));
}
