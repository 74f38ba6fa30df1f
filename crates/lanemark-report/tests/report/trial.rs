//! Tests of a trial of a program on served systems: the answer, the table, the page, and the power cuts.

use lanemark_report::{Style, html, results_answer, trial_answer, trial_text};
use lanemark_schema::result::{
    CreditUse, DeliveryEvidence, DirectionResult, LatencyHistogram, LiveDelivery, PowerCut,
    PowerCutOutcome, ProgramRun, Reserve, RunResult,
};
use lanemark_schema::units::{Bytes, Duration};

use crate::fixture;

const WIDE: Style = Style { width: 140, colour: false };

fn ms(milliseconds: f64) -> Duration {
    Duration::from_nanoseconds((milliseconds * 1e6) as u64)
}

/// Returns a run on `system` with one turn per element of `walls_ms`. The system has requests during 40% of each turn,
/// and all answers are late by `late_us`.
fn run(system: &str, walls_ms: &[f64], time_scale: f64, late_us: u64) -> RunResult {
    let mut run = fixture::simulated();
    run.tests.truncate(1);
    let sample = run.tests[0].samples[0].clone();
    run.tests[0].samples = walls_ms
        .iter()
        .map(|&wall| {
            // Each read takes 100 µs of simulated time.
            let mut lateness = LatencyHistogram::new();
            let mut latency = LatencyHistogram::new();
            let mut reads = DirectionResult::new();
            for _ in 0..1_000 {
                let modelled = ms(0.1);
                lateness.record(Duration::from_microseconds(late_us));
                latency.record(modelled);
                let delivered = ms(0.1 * time_scale) + Duration::from_microseconds(late_us);
                reads.record(Bytes::kibi(4), delivered);
            }
            let program = ProgramRun {
                system: system.to_owned(),
                wall: ms(wall),
                busy: ms(wall * 0.4 / time_scale),
                sync: ms(1.0),
                processor_s: 0.25,
                exit_code: 0,
            };
            let live = LiveDelivery {
                time_scale,
                host_errors: Default::default(),
                served: ms(wall * 1.1),
                lateness,
                reads: Some(reads),
                writes: None,
                evidence: DeliveryEvidence::of_modelled(&latency, time_scale),
                content: None,
                processor_s: 0.1,
                busy: ms(wall * 0.5 / time_scale),
                program: Some(program),
            };
            let mut sample = sample.clone();
            let mut flushes = DirectionResult::new();
            (0..100).for_each(|_| flushes.record(Bytes::ZERO, ms(20.0)));
            sample.flushes = Some(flushes);
            sample.live = Some(live);
            sample
        })
        .collect();
    run
}

#[test]
fn the_faster_system_is_named_with_its_factor_and_interval() {
    let slow = run("slow@board:sata", &[2_000.0, 2_040.0, 1_980.0], 1.0, 1);
    let fast = run("fast@board:m2", &[1_000.0, 1_020.0, 990.0], 1.0, 1);
    for runs in [[&slow, &fast], [&fast, &slow]] {
        let answer = trial_answer(&runs).unwrap();
        let wanted = "fast@board:m2 finishes 2.00x (2.00 to 2.00) sooner than slow@board:sata (3 turns). On slow@board:sata the command waits for the drive 40% of its time; ";
        assert!(answer.starts_with(wanted), "{answer}");
        assert!(answer.ends_with(" of the wait is for flushes."), "{answer}");
    }
    let text = trial_text(&[&slow, &fast], &WIDE);
    let row = |name: &str| {
        let mut rows = text.lines().filter(|line| line.starts_with(name));
        rows.next_back().unwrap().to_owned()
    };
    // Ratios are relative to the first system.
    assert!(row("slow").contains("1.00x") && row("fast").contains("0.50x"), "{text}");
    assert!(row("fast").contains("1.00") && row("fast").contains("in time"), "{text}");
}

#[test]
fn the_end_of_burst_credits_is_stated_for_each_volume() {
    let plain = run("disk@board:sata", &[1_000.0], 1.0, 1);
    assert!(!trial_text(&[&plain], &WIDE).contains("credits"));
    let mut volume = run("volume@instance:volume", &[1_000.0], 1.0, 1);
    volume.tests[0].samples[0].credits = vec![CreditUse {
        reserve: Reserve::OperationCredits,
        at_start: 5_400_000,
        used_per_second: 3_000.0,
        refill_per_second: 300,
        end: Some(Duration::from_seconds(2_000)),
        is_simulated: false,
    }];
    let text = trial_text(&[&plain, &volume], &WIDE);
    let wanted = "volume@instance:volume: The I/O credits run out after 33.3 min at this load; then 300 IOPS.";
    assert!(text.contains(wanted), "{text}");
    assert_eq!(text.matches("credits").count(), 1, "{text}");
}

#[test]
fn without_a_difference_or_an_interval_nothing_is_called_faster() {
    let one = run("one@board:sata", &[1_000.0, 1_100.0, 900.0], 1.0, 1);
    let other = run("other@board:sata", &[1_050.0, 950.0, 1_000.0], 1.0, 1);
    let answer = trial_answer(&[&one, &other]).unwrap();
    assert!(answer.starts_with("No difference between "), "{answer}");
    let single = [run("a@b:c", &[500.0], 1.0, 1), run("d@e:f", &[1_000.0], 1.0, 1)];
    let answer = trial_answer(&[&single[0], &single[1]]).unwrap();
    assert!(answer.starts_with("d@e:f takes 2.00x the time of a@b:c in one turn"), "{answer}");
    let answer = trial_answer(&[&single[0]]).unwrap();
    assert!(answer.starts_with("The command takes 0.5"), "{answer}");
}

#[test]
fn scaled_times_are_converted_and_marked_for_any_system() {
    // 40% of 10 s were stretched by a factor of 4: the other 6 s do not change, and 4 s become 1 s.
    let scaled = run("one@board:sata", &[10_000.0, 10_000.0], 4.0, 1);
    let text = trial_text(&[&scaled], &WIDE);
    assert!(text.starts_with("The command takes 7.0"), "{text}");
    let plain = run("plain@board:sata", &[10_000.0, 10_000.0], 1.0, 1);
    assert!(!trial_text(&[&plain], &WIDE).contains("time scale"));
    for runs in [[&plain, &scaled], [&scaled, &plain]] {
        assert!(trial_text(&runs, &WIDE).contains("Served one@board:sata at time scale 4"));
    }
}

#[test]
fn a_system_is_ranked_only_if_every_turn_was_in_time() {
    let slow = run("slow@board:sata", &[2_000.0, 2_040.0], 1.0, 1);
    for late in [0, 1] {
        let mut fast = run("fast@board:m2", &[1_000.0, 1_020.0], 1.0, 1);
        let other = run("fast@board:m2", &[1_000.0, 1_020.0], 1.0, 9_000);
        fast.tests[0].samples[late] = other.tests[0].samples[late].clone();
        for runs in [[&slow, &fast], [&fast, &slow]] {
            let answer = trial_answer(&runs).unwrap();
            assert!(answer.starts_with("The systems cannot be ranked"), "turn {late}: {answer}");
            assert!(answer.contains("fast@board:m2") && !answer.contains("sooner"), "{answer}");
            assert!(answer.contains("--time-scale"), "{answer}");
        }
        assert!(trial_text(&[&slow, &fast], &WIDE).contains("TOO LATE"), "turn {late}");
    }
}

#[test]
fn a_trial_with_an_error_of_this_machine_is_not_ranked() {
    let slow = run("slow@board:sata", &[2_000.0, 2_040.0], 1.0, 1);
    for failed in [0, 1] {
        let mut fast = run("fast@board:m2", &[1_000.0, 1_020.0], 1.0, 1);
        let live = fast.tests[0].samples[failed].live.as_mut().unwrap();
        live.host_errors.record_errno(28);
        let wanted = "this machine failed requests to fast@board:m2 that the drive completed: 1 without space (ENOSPC)";
        for runs in [[&slow, &fast], [&fast, &slow]] {
            let answer = trial_answer(&runs).unwrap();
            assert!(answer.starts_with("The systems cannot be ranked"), "turn {failed}: {answer}");
            assert!(answer.contains(wanted) && !answer.contains("sooner"), "{answer}");
        }
        let answer = trial_answer(&[&fast]).unwrap();
        assert!(answer.starts_with("The command's time on fast@board:m2 is not known"), "{answer}");
        assert!(trial_text(&[&slow, &fast], &WIDE).contains("FAILED"), "turn {failed}");
    }
}

/// The turns drift by a factor of three, and the systems always differ by two.
#[test]
fn a_ratio_pairs_the_turns_in_their_order() {
    let one = run("one@board:sata", &[1_000.0, 2_000.0, 3_000.0], 1.0, 1);
    let other = run("other@board:sata", &[2_000.0, 4_000.0, 6_000.0], 1.0, 1);
    let answer = trial_answer(&[&one, &other]).unwrap();
    assert!(answer.contains("2.00x (2.00 to 2.00) sooner"), "{answer}");
}

fn cut(number: u32, outcome: PowerCutOutcome) -> PowerCut {
    PowerCut {
        cut: number,
        after_s: 0.25,
        finished_before: number == 2,
        lost_writes: number != 1,
        outcome,
    }
}

/// Returns a trial of one system with these outcomes of power cuts.
fn cut_run(outcomes: Vec<PowerCutOutcome>) -> RunResult {
    let mut run = run("one@board:sata", &[1_000.0], 1.0, 1);
    run.power_cuts = (1..).zip(outcomes).map(|(number, outcome)| cut(number, outcome)).collect();
    run
}

#[test]
fn the_verdict_about_lost_data_comes_first_in_every_view() {
    let output = "row 17 is missing\nrow 18 is missing".to_owned();
    let lost = || PowerCutOutcome::Lost { output: output.clone() };
    let unknown = || PowerCutOutcome::Unknown { cause: "the disk is full".to_owned() };
    let kept = PowerCutOutcome::Kept;
    let mut lying = cut_run(vec![kept.clone(), lost()]);
    lying.workload.faults = vec!["lying-flush".parse().unwrap()];
    for (run, first, detail) in [
        (
            cut_run(vec![kept.clone(); 3]),
            "No acknowledged data was lost in 3 power cuts on one@board:sata. In 2 of them the drive lost writes that no \
             flush had stored. 1 happened after the command had ended. The command takes",
            None,
        ),
        (
            cut_run(vec![kept.clone(), lost(), unknown()]),
            "ACKNOWLEDGED DATA WAS LOST in 1 of 3 power cuts on one@board:sata: the drive lost writes that the command \
             had not flushed; it is not known for 1 more.",
            Some(
                "cut 2, after 0.250 s: the drive lost writes that the command had not flushed; the check reports: row 17 is \
                  missing; row 18",
            ),
        ),
        (
            cut_run(vec![lost()]),
            "ACKNOWLEDGED DATA WAS LOST in 1 of 1 power cut on one@board:sata: the drive lost nothing, so the command had \
             not written the data to the drive.",
            Some("cut 1, after 0.250 s: the drive lost nothing"),
        ),
        (
            lying,
            "ACKNOWLEDGED DATA WAS LOST in 1 of 2 power cuts on one@board:sata: the drive had answered flushes without \
             storing the data.",
            Some("cut 2, after 0.250 s: the drive had answered flushes"),
        ),
        (
            cut_run(vec![unknown()]),
            "It is not known in 1 of 1 power cut on one@board:sata whether acknowledged data was lost. In 0 of them",
            Some("cut 1, after 0.250 s: the outcome is not known: the disk is full"),
        ),
    ] {
        let saved = serde_json::to_string(&run).unwrap();
        let run: RunResult = serde_json::from_str(&saved).unwrap();
        let text = trial_text(&[&run], &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
        let page = html(None, &[&run]);
        let answer = results_answer(None, &[&run]).unwrap();
        for view in [&text, &answer] {
            assert!(view.starts_with(first), "{view}");
        }
        assert!(page.contains(first), "{page}");
        for view in [&text, &page] {
            assert!(detail.is_none_or(|detail| view.contains(detail)), "{view}");
        }
        assert_eq!(text.contains("LOST"), first.contains("LOST"), "{text}");
    }
}

/// By Little's law, 1,000 reads of 100 µs and 100 flushes of 20 ms in a busy time of 1.05 s are 2.0 requests at a time.
#[test]
fn the_queue_is_the_sum_of_all_times_divided_by_the_busy_time() {
    let mut slow = run("slow@board:sata", &[2_100.0], 1.0, 1);
    let sample = &mut slow.tests[0].samples[0];
    let mut reads = DirectionResult::new();
    (0..1_000).for_each(|_| reads.record(Bytes::kibi(4), ms(0.1)));
    (sample.reads, sample.writes, sample.trims) = (Some(reads), None, None);
    sample.path = None;
    let answer = trial_answer(&[&slow]).unwrap();
    assert!(answer.ends_with("100% of the wait is for flushes."), "{answer}");
    let text = trial_text(&[&slow], &WIDE);
    let column = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let head = text.lines().find(|line| line.contains("queue")).unwrap();
    let row = text.lines().find(|line| line.starts_with("slow") && line.contains("in time"));
    assert!(column(row.unwrap()).contains(&"2.00".to_owned()), "{head}\n{text}");
}
