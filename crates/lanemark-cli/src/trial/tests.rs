//! Tests of the arguments of trials.

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
    use clap::Parser;

    let text = |words: &[&str]| {
        let start = ["lanemark", "trial", "d@p:s", "--"];
        let args = crate::args::Args::try_parse_from(start.iter().chain(words)).unwrap();
        let crate::args::Command::Trial(args) = args.command else { panic!() };
        command_text(&args)
    };
    assert_eq!(text(&["sh", "-c", "a \n  b"]), "sh -c a b");
    assert_eq!(text(&[&"x".repeat(NAME_MAX)]), "x".repeat(NAME_MAX));
    assert_eq!(text(&[&"x".repeat(NAME_MAX + 1)]), "x".repeat(NAME_MAX) + "…");
}
