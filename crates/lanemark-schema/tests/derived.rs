//! Figures that are computed from the counts of a sample: energy, devices, processors, writes to flash, transactions.

use lanemark_schema::result::{
    CgroupLimit, CgroupLimitKind, DeviceRates, DeviceUse, DirectionResult, DriveUse, EnergyUse,
    Evidence, LatencyHistogram, PlatformPower, ProcessorUse, Sample, TestResult,
    TransactionFigures, TransactionKindFigures,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Operation, Test, TransactionKind, Workload};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_microseconds(milliseconds * 1_000)
}

/// Returns `count` requests of `kib` KiB that take `milliseconds` each.
fn direction(count: u64, kib: u64, milliseconds: u64) -> Option<DirectionResult> {
    let mut direction = DirectionResult::new();
    (0..count).for_each(|_| direction.record(Bytes::kibi(kib), ms(milliseconds)));
    Some(direction)
}

fn near(value: Option<f64>, wanted: f64) {
    let value = value.unwrap();
    assert!((value - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{value}, expected {wanted}");
}

fn energy(watts: f64, hours: Option<f64>) -> Option<EnergyUse> {
    Some(EnergyUse {
        elapsed: ms(2_000),
        drives: 1,
        energy_joules: 2.0 * watts,
        power_mean_watts: watts,
        parts: Vec::new(),
        states: Vec::new(),
        platform: hours.map(|hours| PlatformPower { base_watts: 3.0, battery_hours: Some(hours) }),
    })
}

/// Returns a two-second sample with 500 reads of 1000 KiB and 250 writes, at 4 W.
fn sample() -> Sample {
    Sample {
        elapsed: ms(2_000),
        reads: direction(500, 1_000, 4),
        writes: direction(250, 1_000, 8),
        flushes: direction(10, 0, 20),
        energy: energy(4.0, None),
        ..Sample::empty()
    }
}

#[test]
fn energy_of_data_and_of_requests_follows_from_power_and_rate() {
    let own = sample();
    // The sample transfers 768 MB in two seconds.
    near(own.joules_per_gigabyte(), 4.0 / 0.384);
    near(own.iops_per_watt(), 375.0 / 4.0);
    let idle = Sample { reads: None, writes: None, ..sample() };
    assert_eq!((idle.joules_per_gigabyte(), idle.iops_per_watt()), (None, Some(0.0)));
    let free = Sample { energy: energy(0.0, None), ..sample() };
    assert_eq!((free.joules_per_gigabyte(), free.iops_per_watt()), (Some(0.0), None));
    let unknown = Sample { energy: None, ..sample() };
    assert_eq!((unknown.joules_per_gigabyte(), unknown.iops_per_watt()), (None, None));
}

fn result(samples: Vec<Sample>) -> TestResult {
    let test = Test { name: "t".to_owned(), ..Test::of_blocks(Bytes::kibi(4)) };
    TestResult::new(&Workload::of_test("w", "W", test.clone()), &test, samples)
}

#[test]
fn energy_over_repeats_is_known_only_if_each_repeat_has_it() {
    let with = |watts: f64, hours| Sample { energy: energy(watts, hours), ..sample() };
    let both = result(vec![with(4.0, Some(6.0)), with(8.0, Some(3.0))]);
    near(both.power_mean_watts().map(|power| power.value), 6.0);
    near(both.joules_per_gigabyte().map(|energy| energy.value), 6.0 / 0.384);
    near(both.iops_per_watt().map(|rate| rate.value), 375.0 * (1.0 / 4.0 + 1.0 / 8.0) / 2.0);
    near(both.battery_hours().map(|hours| hours.value), 4.5);
    let one = result(vec![with(4.0, Some(6.0)), Sample { energy: None, ..sample() }]);
    assert!(one.power_mean_watts().is_none() && one.battery_hours().is_none());
    assert!(result(vec![with(4.0, None)]).battery_hours().is_none());
    assert!(result(Vec::new()).power_mean_watts().is_none());
}

fn device() -> DeviceUse {
    DeviceUse {
        reads: 400,
        writes: 100,
        flushes: 20,
        read_time: ms(800),
        write_time: ms(700),
        flush_time: ms(100),
        busy: ms(500),
        elapsed: ms(2_000),
        ..DeviceUse::default()
    }
}

/// Returns a sample of a database, with the requests that its device counted.
fn database() -> Sample {
    let mut response = LatencyHistogram::new();
    (0..100).for_each(|_| response.record(ms(32)));
    Sample {
        elapsed: ms(2_000),
        transactions: Some(TransactionFigures { response, ..TransactionFigures::default() }),
        evidence: Some(Evidence { device: Some(device()), ..Evidence::default() }),
        ..Sample::empty()
    }
}

#[test]
fn the_requests_of_a_database_match_its_device() {
    let own = sample();
    let database = database();
    assert!(database.is_counted_by_device() && !own.is_counted_by_device());
    let rates = |reads, writes, flushes| Some(DeviceRates { reads, writes, flushes });
    assert_eq!(own.device_rates(), rates(250.0, 125.0, 5.0));
    assert_eq!(database.device_rates(), rates(200.0, 50.0, 10.0));
    assert_eq!(Sample { elapsed: Duration::ZERO, ..sample() }.device_rates(), None);
    assert_eq!(Sample { evidence: None, ..database.clone() }.device_rates(), None);
    near(own.mean_latency_ns(Operation::Read), 4e6);
    near(own.mean_latency_ns(Operation::Write), 8e6);
    near(database.mean_latency_ns(Operation::Read), 2e6);
    near(database.mean_latency_ns(Operation::Write), 7e6);
    for operation in [Operation::Flush, Operation::Trim] {
        assert_eq!(own.mean_latency_ns(operation), None);
    }
    // The device takes 1.6 s for requests in 3.2 s of transactions.
    near(database.device_share(), 0.5);
    let simulated = Sample {
        reads: direction(100, 4, 8),
        writes: direction(50, 4, 16),
        flushes: direction(10, 0, 160),
        ..database.clone()
    };
    assert!(!simulated.is_counted_by_device());
    near(simulated.device_share(), 1.0);
    assert_eq!(own.device_share(), None);
    let nothing = Sample { transactions: Some(TransactionFigures::default()), ..database };
    assert_eq!(nothing.device_share(), None);
}

#[test]
fn a_device_has_the_mean_latencies_of_its_requests() {
    let own = device();
    near(own.mean_read_ns(), 2e6);
    near(own.mean_write_ns(), 7e6);
    near(own.mean_ns(), 3e6);
    assert_eq!(own.busy_share(), 0.25);
    assert_eq!(DeviceUse { busy: ms(3_000), ..own.clone() }.busy_share(), 1.0);
    let none = DeviceUse::default();
    assert_eq!((none.mean_read_ns(), none.mean_write_ns(), none.mean_ns()), (None, None, None));
    assert_eq!(none.busy_share(), 0.0);
    near(DeviceUse { reads: 0, read_time: Duration::ZERO, ..own }.mean_ns(), 7e6);
}

#[test]
fn directions_are_separate_results_if_both_were_counted() {
    let mixed = result(vec![sample(), Sample { complete: false, ..sample() }]);
    let workload = Workload::of_test("w", "W", mixed.test.clone());
    let parts = mixed.by_direction(&workload);
    let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["reads", "writes"]);
    assert_eq!(parts[0].1.iops.value, 250.0);
    assert_eq!(parts[1].1.iops.value, 125.0);
    assert!(parts[0].1.samples.iter().all(|sample| sample.writes.is_none()));
    assert!(parts[1].1.samples.iter().all(|sample| sample.reads.is_none()));
    let complete: Vec<bool> = parts[0].1.samples.iter().map(|sample| sample.complete).collect();
    assert_eq!(complete, [sample().complete, false]);
    for lacking in [
        Sample { reads: None, ..sample() },
        Sample { writes: direction(0, 0, 0), ..sample() },
        Sample { transactions: Some(TransactionFigures::default()), ..sample() },
    ] {
        assert!(result(vec![lacking]).by_direction(&workload).is_empty());
    }
}

#[test]
fn transactions_of_a_kind_add_up_over_the_repeats() {
    let with = |per_minute: f64, payments: u64| {
        let mut latency = LatencyHistogram::new();
        (0..payments).for_each(|_| latency.record(ms(2)));
        let used = TransactionKindFigures { count: payments, rolled_back: 1, retries: 2, latency };
        let kinds = [(TransactionKind::Payment, used)].into_iter().collect();
        let transactions =
            TransactionFigures { per_minute, kinds, ..TransactionFigures::default() };
        Sample { transactions: Some(transactions), ..database() }
    };
    let all = result(vec![with(100.0, 5), with(300.0, 7)]);
    assert!(all.has_transactions() && !result(vec![sample()]).has_transactions());
    near(all.transactions_per_minute().map(|rate| rate.value), 200.0);
    let payments = all.kind(TransactionKind::Payment);
    let counts = (payments.count, payments.rolled_back, payments.retries);
    assert_eq!((counts, payments.latency.count()), ((12, 2, 4), 12));
    assert_eq!(all.kind(TransactionKind::Delivery).count, 0);
    assert!(result(vec![sample()]).transactions_per_minute().is_none());
}

#[test]
fn processors_have_their_time_by_user_and_a_bound_for_disturbances() {
    let own = ProcessorUse {
        cores: 8,
        user: 2.0,
        system: 1.5,
        interrupts: 0.25,
        stolen: 0.125,
        own: Some(1.0),
        kernel: Some(0.5),
        ..ProcessorUse::default()
    };
    assert_eq!((own.used(), own.others()), (3.875, Some(2.0)));
    assert_eq!(ProcessorUse { kernel: None, ..own }.others(), Some(2.5));
    assert_eq!(ProcessorUse { own: Some(9.0), ..own }.others(), Some(0.0));
    assert_eq!(ProcessorUse { own: None, ..own }.others(), None);
    // The threshold is a twentieth of all cores, but a quarter of a core or more.
    for (cores, bound) in [(1, 0.25), (5, 0.25), (6, 0.3), (64, 3.2)] {
        near(Some(ProcessorUse { cores, ..own }.others_matter_from()), bound);
    }
}

#[test]
fn a_limit_is_met_from_its_bound_on() {
    for (kind, share, is_met) in [
        (CgroupLimitKind::Device, 0.899, false),
        (CgroupLimitKind::Device, 0.9, true),
        (CgroupLimitKind::Processor, 0.099, false),
        (CgroupLimitKind::Processor, 0.1, true),
    ] {
        assert_eq!(
            CgroupLimit { text: String::new(), kind, share }.is_met(),
            is_met,
            "{kind:?} {share}"
        );
    }
}

/// Returns the writes of a drive, with nine different figures.
fn writes(figures: [u64; 9]) -> DriveUse {
    let [host, moved, folded, padded, map, superblocks_erased, buffered, cached, erased_used] =
        figures;
    DriveUse {
        host_written: Bytes(host),
        moved: Bytes(moved),
        folded: Bytes(folded),
        padded: Bytes(padded),
        map_written: Bytes(map),
        superblocks_erased,
        erased_used: Bytes(erased_used),
        buffered: Bytes(buffered),
        adapter_cached: Bytes(cached),
    }
}

#[test]
fn writes_of_a_drive_add_up_figure_by_figure() {
    let own = writes([1_000, 300, 150, 40, 10, 7, 100, 60, 500]);
    let early = writes([100, 30, 15, 4, 1, 3, 150, 20, 100]);
    assert_eq!(own.flash_written(), Bytes(1_500));
    near(own.write_amplification(), 1.5);
    assert_eq!(DriveUse::default().write_amplification(), None);
    // A buffer that holds less data than before was not filled.
    assert_eq!(own.since(&early), writes([900, 270, 135, 36, 9, 4, 0, 40, 400]));
    let mut sum = own;
    sum.add(&early);
    assert_eq!(sum, writes([1_100, 330, 165, 44, 11, 10, 250, 80, 600]));
    assert_eq!(own.times(3), writes([3_000, 900, 450, 120, 30, 21, 300, 180, 1_500]));
    assert_eq!(own.thinned(0.5), writes([500, 150, 75, 20, 5, 4, 50, 30, 250]));
    assert_eq!((own.thinned(1.0), own.thinned(0.0)), (own, DriveUse::default()));
    // Of 1,060 bytes that the host wrote, 160 filled a buffer or cache.
    near(Some(own.filling()), 160.0 / 1_060.0);
    assert_eq!(DriveUse::default().filling(), 0.0);
    assert_eq!(writes([10, 0, 0, 0, 0, 0, 50, 0, 0]).filling(), 1.0);
}
