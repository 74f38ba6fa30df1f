//! Tests which runs may end when their figures have converged, and each condition under which a run must last its full
//! length.

use crate::spec::DriveCondition;
use crate::tests::disk::one_zone;
use crate::tests::runs::{nvme, retrying, sata, small_drive, test};
use crate::tests::{lasting, us};
use crate::{SystemSpec, may_converge};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{
    ArrivalProcess, Load, Pattern, RoundSettings, SeriesInterval, SyntheticRequests, Test,
    TrackedFigure,
};

fn long(pattern: Pattern, read: bool) -> Test {
    lasting(Duration::from_seconds(60), test(Bytes::kibi(4), pattern, read, 32))
}

fn mixed(share: f64) -> Test {
    long(Pattern::Uniform, true).with(|asked| asked.read_share = Ratio::new(share).unwrap())
}

fn system(condition: DriveCondition) -> SystemSpec {
    let mut drive = small_drive();
    drive.flash_mut().condition = condition;
    nvme(drive)
}

#[test]
fn a_long_closed_loop_may_end_early() {
    let filled = system(DriveCondition::default());
    for test in [long(Pattern::Uniform, true), long(Pattern::Sequential, false), mixed(0.7)] {
        assert!(may_converge(&filled, &test), "{test:?}");
        let by_volume = Test { duration: None, volume: Some(Bytes(4 << 30)), ..test };
        assert!(may_converge(&filled, &by_volume), "{by_volume:?}");
    }
    let copy = mixed(0.5).with(|asked| asked.mix.copy_to = Some(Bytes::mebi(32)));
    assert!(may_converge(&filled, &copy));
    assert!(!may_converge(&system(DriveCondition::Purged), &copy));
}

#[test]
fn each_condition_by_itself_keeps_the_stated_length() {
    let filled = system(DriveCondition::default());
    let plain = || long(Pattern::Uniform, true);
    let open = Load::Open { rate_per_second: 100.0, process: ArrivalProcess::Even };
    let interval = Duration::from_seconds(1);
    let rounds = RoundSettings { length: interval, tracked: TrackedFigure::Iops };
    let with = |change: &dyn Fn(&mut SyntheticRequests)| plain().with(|asked| change(asked));
    let tests = [
        ("an open loop", with(&|asked| asked.load = open)),
        ("trims", with(&|asked| asked.mix.trim_share = Ratio::new(0.1).unwrap())),
        ("rounds", Test { rounds: Some(rounds), ..plain() }),
        ("a series", Test { interval: Some(SeriesInterval::Fixed { interval }), ..plain() }),
        ("no end", Test { duration: None, ..plain() }),
        ("few requests", Test { duration: Some(us(100)), ..plain() }),
    ];
    for (name, test) in tests {
        assert!(!may_converge(&filled, &test), "{name}: {test:?}");
    }
    let failing = SystemSpec { faults: vec![retrying(0.1)], ..filled };
    assert!(!may_converge(&failing, &plain()));
}

#[test]
fn a_purged_drive_converges_for_reads_and_for_writes_and_not_for_both() {
    let purged = system(DriveCondition::Purged);
    let filled = system(DriveCondition::Random);
    for share in [0.0, 1.0] {
        assert!(may_converge(&purged, &mixed(share)), "{share}");
    }
    assert!(!may_converge(&purged, &mixed(0.5)) && may_converge(&filled, &mixed(0.5)));
}

#[test]
fn a_disk_converges_out_of_order_only() {
    let mut drive = one_zone();
    drive.capacity = Bytes::mebi(64);
    let disk = sata(drive);
    assert!(may_converge(&disk, &long(Pattern::Uniform, true)));
    assert!(!may_converge(&disk, &long(Pattern::Sequential, true)));
}

#[test]
fn few_long_requests_converge_where_each_group_of_them_shows_the_rate() {
    let filled = system(DriveCondition::default());
    let of = |requests: u64, block: Bytes, queue_depth: u32| {
        let test = long(Pattern::Sequential, true).with(|asked| asked.queue_depth = queue_depth);
        Test { block, duration: None, volume: Some(block * requests), ..test }
    };
    // Each row contains the length of a request, the number outstanding, and the minimum number of requests.
    for (block, queue_depth, least) in [
        (Bytes::kibi(4), 1, 128),
        (Bytes::kibi(4), 32, 128),
        (Bytes::kibi(512), 1, 128),
        (Bytes::mebi(1), 1, 64),
        (Bytes::mebi(1), 6, 96),
        (Bytes::mebi(1), 8, 128),
        (Bytes::mebi(1), 64, 128),
        (Bytes::mebi(2), 1, 32),
        (Bytes::mebi(32), 2, 32),
        (Bytes::mebi(32), 3, 48),
    ] {
        for (requests, wanted) in [(least - 1, false), (least, true), (least + 1, true)] {
            let test = of(requests, block, queue_depth);
            let seen = may_converge(&filled, &test);
            assert_eq!(seen, wanted, "{requests} of {block}, {queue_depth} outstanding");
            // Several threads have as many requests outstanding as one thread with a deeper queue.
            let wide = Test { threads: queue_depth, ..of(requests, block, 1) };
            assert_eq!(may_converge(&filled, &wide), wanted, "{queue_depth} threads");
        }
    }
}
