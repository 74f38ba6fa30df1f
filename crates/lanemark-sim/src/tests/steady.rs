//! Tests drives on their way to the steady state: the three phases, the rule that detects the last phase, and the
//! theory of this phase.

use crate::drive::write_amplification;
use crate::spec::{DriveCondition, DriveSpec, ERASED_MIN};
use crate::tests::runs::{nvme, run, simulate, small_drive, test};
use crate::tests::{assert_within, lasting, staged_ns, us};
use lanemark_schema::result::DrivePhases;
use lanemark_schema::result::Sample;
use lanemark_schema::result::steady::{ROUNDS_MAX, RoundsOutcome, WINDOW, judge};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Pattern, RoundSettings, SeriesInterval, Test, TrackedFigure};

/// Returns a drive with 200 superblocks of 2 MiB. The data fills 156 superblocks, and the flash is so slow that it is
/// always the bottleneck.
fn drive(condition: DriveCondition) -> DriveSpec {
    let mut drive = small_drive();
    drive.capacity = Bytes::mebi(2 * 156);
    drive.flash_mut().blocks_per_plane = 200;
    drive.flash_mut().condition = condition;
    drive
}

/// Returns a test of random 4 KiB writes on the whole drive for `seconds`.
fn writes(drive: &DriveSpec, seconds: u64) -> Test {
    let whole = test(Bytes::kibi(4), Pattern::Uniform, false, 32);
    lasting(Duration::from_seconds(seconds), Test { span: drive.capacity, ..whole })
}

fn in_rounds(drive: &DriveSpec, length: Duration, tracked: TrackedFigure) -> Test {
    Test { duration: None, rounds: Some(RoundSettings { length, tracked }), ..writes(drive, 1) }
}

/// Returns the theoretical write amplification for the superblocks that contain data: the stream of the host and the
/// stream of moved data fill one superblock each, and collection keeps some superblocks erased.
fn theory(drive: &DriveSpec) -> f64 {
    let flash = drive.flash();
    let filled = f64::from(flash.blocks_per_plane - ERASED_MIN) - 0.5;
    write_amplification(filled * flash.superblock().get() as f64 / drive.capacity.get() as f64)
}

#[test]
fn a_drive_goes_from_fresh_by_a_transition_to_its_steady_state() {
    let drive = drive(DriveCondition::Purged);
    let interval = Duration::from_seconds(1).scaled(1, 4);
    let test = Test { interval: Some(SeriesInterval::Fixed { interval }), ..writes(&drive, 25) };
    let system = nvme(drive.clone());
    let series = run(&system, &test).series.unwrap();
    assert_eq!((series.points.len(), series.elapsed()), (100, Duration::from_seconds(25)));

    // On a fresh drive, every die continuously receives and programs units, and no data is moved.
    let flash = drive.flash();
    let each = flash.command_time + flash.unit() / flash.channel_rate + flash.program.mean();
    let dies = flash.dies() as f64 * flash.unit().get() as f64 / each.as_seconds();
    let fresh = series.iops(1);
    assert_within(fresh, dies / 4096.0, 0.05);
    let phases = DrivePhases::from_series(&series);
    let unmoved = phases.nothing_moved.unwrap();
    // All flash has been written once, regardless of overwritten data.
    let full = flash.capacity().get() as f64 / dies;
    assert_within(unmoved.as_seconds(), full, 0.15);
    for index in 1..(unmoved.as_seconds() / interval.as_seconds()) as usize {
        assert_within(series.iops(index), fresh, 0.05);
    }

    // In the transition, the rate falls, in the end by more than half.
    let steady = phases.steady_from.expect("the last rounds are steady");
    assert!(steady > unmoved, "{steady} after {unmoved}");
    let quarter: Vec<f64> =
        (75..100).step_by(5).map(|from| series.sum(from, from + 5).0.requests() as f64).collect();
    assert!(matches!(judge(&quarter).0, RoundsOutcome::Reached { .. }), "{quarter:?}");
    let rate = quarter.iter().sum::<f64>() / 25.0 / interval.as_seconds();
    assert!(rate < fresh / 2.0, "{rate} of {fresh}");

    let last = series.sum(75, 100).0;
    assert_within(last.write_amplification().unwrap(), theory(&drive), 0.10);
}

/// Compares a drive that is preconditioned by SNIA's rule with a drive that starts in the modelled steady state.
#[test]
fn a_drive_written_in_order_reaches_the_models_initial_state() {
    let steady = |condition| {
        let drive = drive(condition);
        let test = in_rounds(&drive, Duration::from_seconds(2), TrackedFigure::Iops);
        let sample = run(&nvme(drive), &test);
        let state = sample.steady.clone().unwrap();
        assert!(state.reached(), "{state:?}");
        (sample, state.rounds.len())
    };
    let (run, rounds) = steady(DriveCondition::Sequential);
    let (model, at_once) = steady(DriveCondition::Random);
    assert_eq!(at_once, WINDOW, "steady from the first round on");
    assert!(rounds > WINDOW, "steady after {rounds} rounds");
    assert_within(run.iops(), model.iops(), 0.05);
    let amplification = |sample: &Sample| sample.drive.unwrap().write_amplification().unwrap();
    assert_within(amplification(&run), amplification(&model), 0.05);
}

/// Only a share of the drive was ever written, and only this share is written: the rest is spare, as in the model.
/// Reads beyond this share do not access the flash.
#[test]
fn unwritten_flash_is_spare_to_collection() {
    for share in [0.5, 0.8, 1.0] {
        let mut drive = drive(DriveCondition::Random);
        drive.flash_mut().filled = Ratio::new(share).unwrap();
        let written = Bytes((drive.capacity.get() as f64 * share) as u64 / 4096 * 4096);
        let system = nvme(drive.clone());
        let test = Test { span: written, ..writes(&drive, 4) };
        let seen = run(&system, &test).drive.unwrap().write_amplification().unwrap();
        assert_within(seen, theory(&DriveSpec { capacity: written, ..drive.clone() }), 0.06);
    }
    let mut drive = drive(DriveCondition::Random);
    drive.flash_mut().filled = Ratio::HALF;
    let half = drive.capacity.get() / 2;
    let reads = |offset| Test {
        span: Bytes(half),
        offset: Bytes(offset),
        volume: Some(Bytes::mebi(4)),
        ..test(Bytes::kibi(4), Pattern::Uniform, true, 1)
    };
    let of_flash = reads(0);
    let of_nothing = reads(half);
    let system = nvme(drive.clone());
    let latency = |test: &Test| run(&system, test).latency().mean_ns();
    let sense = drive.flash().read.mean().as_seconds() * 1e9;
    assert!(latency(&of_flash) > latency(&of_nothing) + 0.9 * sense);
}

#[test]
fn the_sample_of_a_test_of_rounds_is_its_last_five() {
    let drive = drive(DriveCondition::Random);
    let length = us(200_000);
    for tracked in [TrackedFigure::Iops, TrackedFigure::Throughput, TrackedFigure::Latency] {
        let sample = run(&nvme(drive.clone()), &in_rounds(&drive, length, tracked));
        let steady = sample.steady.clone().unwrap();
        assert_eq!(sample.elapsed, length * WINDOW as u64);
        let rounds = &steady.rounds[steady.rounds.len() - WINDOW..];
        let mean = |of: fn(&lanemark_schema::result::steady::Round) -> f64| {
            rounds.iter().map(of).sum::<f64>() / WINDOW as f64
        };
        assert_within(sample.iops(), mean(|round| round.iops), 1e-9);
        let seen = sample.throughput().0 as f64;
        assert_within(seen, mean(|round| round.throughput_bytes_per_second), 1e-6);
        assert_within(sample.latency().mean_ns(), mean(|round| round.latency_mean_ns), 0.02);
        let written: u64 =
            rounds.iter().map(|round| round.drive.unwrap().flash_written().get()).sum();
        assert_eq!(sample.drive.unwrap().flash_written(), Bytes(written));
        assert_within(staged_ns(&sample), mean(|round| round.latency_mean_ns), 0.02);
    }
}

/// A drive in its steady state draws the same power in every window, and no operation is counted twice.
#[test]
fn the_energy_of_rounds_covers_the_last_five() {
    let mut drive = drive(DriveCondition::Random);
    drive.power = Some(crate::tests::power::flash_power());
    let length = us(400_000);
    let rounds = run(&nvme(drive.clone()), &in_rounds(&drive, length, TrackedFigure::Iops));
    let whole = run(&nvme(drive.clone()), &writes(&drive, 2));
    let of_rounds = rounds.energy.unwrap();
    let of_whole = whole.energy.unwrap();
    assert_eq!(of_rounds.elapsed, rounds.elapsed);
    assert_within(of_rounds.power_mean_watts, of_whole.power_mean_watts, 0.05);
}

#[test]
fn a_test_that_never_becomes_steady_ends_after_25_rounds_and_says_so() {
    // The rounds are so short that almost no round contains a completion.
    let drive = drive(DriveCondition::Purged);
    let length = us(1);
    let sample = run(&nvme(drive.clone()), &in_rounds(&drive, length, TrackedFigure::Iops));
    let steady = sample.steady.unwrap();
    assert_eq!(steady.rounds.len(), ROUNDS_MAX);
    let warning = steady.warning("t").unwrap().to_string();
    assert!(warning.starts_with("t: not steady after 25 rounds, "), "{warning}");
}

#[test]
fn a_series_adds_up_to_its_sample_and_changes_nothing() {
    let drive = drive(DriveCondition::Random);
    let mixed = Test { ramp: us(20_000), duration: Some(us(500_000)), ..writes(&drive, 1) }
        .with(|asked| asked.read_share = Ratio::HALF);
    let interval = us(7_000);
    let system = nvme(drive);
    let plain = run(&system, &mixed);
    let watched =
        run(&system, &Test { interval: Some(SeriesInterval::Fixed { interval }), ..mixed.clone() });
    let series = watched.series.clone().unwrap();
    assert_eq!(Sample { series: None, ..watched.clone() }, plain);
    let (all, elapsed) = series.sum(0, series.points.len());
    assert_eq!(elapsed, plain.elapsed);
    let reads = plain.reads.unwrap();
    let writes = plain.writes.unwrap();
    assert_eq!((all.reads, all.writes), (reads.latency.count(), writes.latency.count()));
    assert_eq!((all.read_bytes, all.written_bytes), (reads.bytes, writes.bytes));
    assert_within(all.latency_mean_ns, watched.latency().mean_ns(), 1e-9);
    assert_eq!(Some(all.latency_max_ns), watched.latency().max_ns());
    assert_eq!(all.drive, plain.drive);
}

/// A long run does not use more memory than a short run, and its series is recorded automatically.
#[test]
fn a_test_of_a_minute_is_recorded_by_itself() {
    let system = nvme(drive(DriveCondition::Fresh));
    let one = writes(&system.attachments[0].drive, 60).with(|write| {
        write.queue_depth = 1;
        write.think = us(50_000);
    });
    let key = StreamKey::from_seed(1);
    let series = simulate(&system, &one, key).unwrap().series.unwrap();
    assert_eq!((series.points.len(), series.elapsed()), (600, Duration::from_seconds(60)));
    let short = Test { duration: Some(Duration::from_seconds(59)), ..one };
    assert_eq!(simulate(&system, &short, key).unwrap().series, None);
}

/// A fresh drive is configured with the share that was measured on a steady drive. Both drives then write at the same
/// rate and move the same amount of data.
#[test]
fn a_measured_parallel_share_matches_simulated_collection() {
    for filled in [0.7, 1.0] {
        let mut steady = drive(DriveCondition::Random);
        steady.flash_mut().filled = Ratio::new(filled).unwrap();
        let span = Bytes((steady.capacity.get() as f64 * filled) as u64 / 4096 * 4096);
        let test = Test { span, ..writes(&steady, 8) };
        let simulated = run(&nvme(steady), &test);
        let amplification = simulated.drive.unwrap().write_amplification().unwrap();
        assert!(amplification > 1.3, "{amplification}");

        let mut measured = drive(DriveCondition::Fresh);
        // There is room for all written data, so that no simulated collection runs.
        measured.flash_mut().blocks_per_plane = 4000;
        measured.flash_mut().translation.beside_collection = Ratio::new(1.0 / amplification);
        let sample = run(&nvme(measured.clone()), &test);
        assert_within(sample.iops(), simulated.iops(), 0.05);
        assert_within(sample.drive.unwrap().write_amplification().unwrap(), amplification, 0.02);

        let in_order = test.with(|write| write.pattern = Pattern::Sequential);
        let beside = run(&nvme(measured.clone()), &in_order).iops();
        measured.flash_mut().translation.beside_collection = None;
        assert_within(beside, run(&nvme(measured), &in_order).iops(), 0.01);
    }
}

#[test]
fn a_parallel_share_requires_collection_without_simulation() {
    let mut drive = drive(DriveCondition::Fresh);
    drive.flash_mut().translation.beside_collection = Ratio::new(0.5);
    assert!(drive.flash().check(drive.capacity).is_ok());
    for (condition, share) in [
        (DriveCondition::Random, 0.5),
        (DriveCondition::Sequential, 0.5),
        (DriveCondition::Fresh, 0.0),
        (DriveCondition::Fresh, 0.001),
    ] {
        let mut wrong = drive.clone();
        wrong.flash_mut().condition = condition;
        wrong.flash_mut().translation.beside_collection = Ratio::new(share);
        let error = wrong.flash().check(wrong.capacity).unwrap_err();
        assert_eq!(error.field, "drive.translation.beside_collection", "{condition:?} {share}");
    }
}
