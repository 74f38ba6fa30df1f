//! Tests of the fields in an export to fio's JSON.

use lanemark_schema::result::{
    CpuUse, DeviceUse, Evidence, MeasuredTarget, Provenance, SCHEMA_VERSION, ThreadUse,
};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Workload;
use serde_json::{Value, json};

use super::*;

fn direction_of(length: u64, latencies_us: &[u64]) -> Option<DirectionResult> {
    let mut direction = DirectionResult::new();
    for &us in latencies_us {
        direction.record(Bytes(length), Duration::from_microseconds(us));
    }
    Some(direction)
}

fn evidence(device: &str, count: u64) -> Option<Evidence> {
    let ms = |ms: u64| Duration::from_microseconds(1_000 * ms);
    let device = DeviceUse {
        name: device.to_owned(),
        reads: count,
        writes: 2 * count,
        read_time: ms(3 * count),
        write_time: ms(5 * count),
        busy: ms(200),
        elapsed: ms(800),
        ..DeviceUse::default()
    };
    let threads =
        ThreadUse { switches_voluntary: count, switches_involuntary: 100, ..ThreadUse::default() };
    Some(Evidence { device: Some(device), threads: Some(threads), ..Evidence::default() })
}

/// Returns the export of two repeats of two seconds each, with eight reads of 4 KiB and two writes of 8 KiB.
fn exported(change: impl Fn(&mut TestResult)) -> Value {
    let sample = |reads: &[u64], writes: &[u64], name: &str, count| Sample {
        elapsed: Duration::from_seconds(2),
        reads: direction_of(4_096, reads),
        writes: direction_of(8_192, writes),
        flushes: direction_of(0, &[30, 50]),
        cpu: Some(CpuUse { user_ns_per_request: 8e6, system_ns_per_request: 2e7 }),
        evidence: evidence(name, count),
        ..Sample::empty()
    };
    let samples = vec![
        sample(&[1, 1_500, 1_900, 60], &[2_500_000], "vda", 7),
        sample(&[10, 20, 40, 80], &[999], "vda", 4),
    ];
    let mut test = Test::of_blocks(Bytes::kibi(4)).with(|requests| requests.queue_depth = 12);
    (test.name, test.threads) = ("t".to_owned(), 5);
    let workload = Workload::of_test("w", "W", test.clone());
    let mut result = TestResult::new(&workload, &test, samples);
    change(&mut result);
    let run = RunResult {
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        target: Target::Measured(MeasuredTarget {
            path: "/mnt/f".to_owned(),
            device: Some(false),
            size_bytes: Some(Bytes::mebi(1)),
            file_system: None,
            block_device: None,
            engine: "KDiskMark 3, libaio".to_owned(),
            direct: Some(true),
            served: None,
            host: None,
        }),
        workload,
        tests: vec![result],
        complete: true,
        warnings: Vec::new(),
        inspection: None,
        power_cuts: Vec::new(),
    };
    serde_json::from_str(&write(&run, 77)).unwrap()
}

fn assert_values(value: &Value, wanted: &[(&str, Value)]) {
    for (pointer, wanted) in wanted {
        assert_eq!(value.pointer(pointer), Some(wanted), "{pointer}");
    }
}

#[test]
fn an_entry_sums_the_repeats_and_its_rates_are_their_means() {
    let json = exported(|_| ());
    assert_values(
        &json,
        &[
            ("/timestamp", json!(77)),
            ("/timestamp_ms", json!(77_000)),
            ("/jobs/0/jobname", json!("t")),
            ("/jobs/0/error", json!(0)),
            ("/jobs/0/elapsed", json!(4)),
            ("/jobs/0/job options/filename", json!("/mnt/f")),
            ("/jobs/0/job options/ioengine", json!("libaio")),
            ("/jobs/0/job options/direct", json!("1")),
            ("/jobs/0/read/io_bytes", json!(8 * 4_096)),
            ("/jobs/0/read/io_kbytes", json!(32)),
            ("/jobs/0/read/bw_bytes", json!(8_192)),
            ("/jobs/0/read/bw", json!(8)),
            ("/jobs/0/read/iops", json!(2.0)),
            ("/jobs/0/read/runtime", json!(4_000)),
            ("/jobs/0/read/total_ios", json!(8)),
            ("/jobs/0/read/iops_mean", json!(2.0)),
            ("/jobs/0/read/iops_samples", json!(2)),
            ("/jobs/0/read/bw_mean", json!(8.0)),
            ("/jobs/0/read/bw_agg", json!(100.0)),
            ("/jobs/0/write/io_bytes", json!(2 * 8_192)),
            ("/jobs/0/write/iops", json!(0.5)),
            ("/jobs/0/write/bw_mean", json!(4.0)),
            ("/jobs/0/trim/runtime", json!(0)),
            ("/jobs/0/trim/bw_agg", json!(0.0)),
            ("/jobs/0/sync/total_ios", json!(4)),
            ("/jobs/0/sync/lat_ns/mean", json!(40_000.0)),
            // Five threads ran for four seconds, with ten requests of 8 ms and ten of 20 ms.
            ("/jobs/0/job_runtime", json!(20_000)),
            ("/jobs/0/usr_cpu", json!(0.4)),
            ("/jobs/0/sys_cpu", json!(1.0)),
            ("/jobs/0/ctx", json!(7 + 4 + 200)),
            ("/jobs/0/iodepth_level/8", json!(100.0)),
            ("/jobs/0/iodepth_level/16", json!(0.0)),
            ("/jobs/0/latency_depth", json!(12)),
            // There is one latency each of 1 us, 10, 20, 40, 60, 80 and 999 us, and of 1.5, 1.9 and 2,500 ms.
            ("/jobs/0/latency_us/2", json!(10.0)),
            ("/jobs/0/latency_us/10", json!(0.0)),
            ("/jobs/0/latency_us/20", json!(10.0)),
            ("/jobs/0/latency_us/50", json!(20.0)),
            ("/jobs/0/latency_us/100", json!(20.0)),
            ("/jobs/0/latency_us/1000", json!(10.0)),
            ("/jobs/0/latency_ms/2", json!(20.0)),
            ("/jobs/0/latency_ms/>=2000", json!(10.0)),
            ("/jobs/0/latency_ns/1000", json!(0.0)),
            ("/disk_util/0/name", json!("vda")),
            ("/disk_util/0/read_ios", json!(11)),
            ("/disk_util/0/write_ios", json!(22)),
            ("/disk_util/0/read_ticks", json!(33)),
            ("/disk_util/0/write_ticks", json!(55)),
            ("/disk_util/0/in_queue", json!(88)),
            ("/disk_util/0/util", json!(25.0)),
        ],
    );
    assert_eq!(json["jobs"][0].get("total_err"), None);
    assert_eq!(json["jobs"][0].get("mixed"), None);
    assert_eq!(json["disk_util"].as_array().unwrap().len(), 1);
}

#[test]
fn failures_and_sums_of_both_directions_have_their_own_keys() {
    let failed = exported(|result| {
        (0..3).for_each(|_| result.samples[1].errors.record_errno(61));
        result.samples[1].evidence = evidence("vdb", 4);
    });
    assert_values(
        &failed,
        &[
            ("/jobs/0/error", json!(0)),
            ("/jobs/0/total_err", json!(3)),
            ("/jobs/0/first_error", json!(61)),
            ("/disk_util/1/name", json!("vdb")),
        ],
    );
    let ended = exported(|result| {
        result.samples[1].errors.record_errno(61);
        result.samples[1].complete = false;
    });
    assert_values(&ended, &[("/jobs/0/error", json!(61))]);
    let unified = exported(|result| {
        for sample in &mut result.samples {
            (sample.unified, sample.writes) = (sample.reads.take(), None);
        }
    });
    assert_values(
        &unified,
        &[("/jobs/0/mixed/total_ios", json!(8)), ("/jobs/0/read/total_ios", json!(0))],
    );
    let depth = |depth: u32| {
        let json = exported(|result| {
            result.test = result.test.clone().with(|asked| asked.queue_depth = depth);
        });
        let levels = json["jobs"][0]["iodepth_level"].as_object().unwrap().clone();
        levels.into_iter().find(|(_, share)| *share == json!(100.0)).unwrap().0
    };
    let levels = [1, 2, 3, 4, 31, 32, 63, 64, 1_000].map(depth);
    assert_eq!(levels, ["1", "2", "2", "4", "16", "32", "32", ">=64", ">=64"]);
}

#[test]
fn a_latency_at_the_end_of_a_class_is_in_the_next() {
    let class = |ns: u64| {
        let mut one = LatencyHistogram::new();
        one.record_ns(ns);
        let units = ["ns", "us", "ms"].into_iter().zip(classes(&one));
        let mut found = Vec::new();
        for (unit, json) in units {
            let Object(pairs) = json else { panic!() };
            let full = pairs.into_iter().filter(|(_, share)| *share == Real(100.0));
            found.extend(full.map(|(end, _)| format!("{unit} {end}")));
        }
        found.join(", ")
    };
    for (ns, wanted) in [
        (1, "ns 2"),
        (2, "ns 4"),
        (999, "ns 1000"),
        (1_000, "us 2"),
        (3_999, "us 4"),
        (4_000, "us 10"),
        (499_999, "us 500"),
        (999_999, "us 1000"),
        (1_000_000, "ms 2"),
        (999_999_999, "ms 1000"),
        (1_000_000_000, "ms 2000"),
        (1_999_999_999, "ms 2000"),
        (2_000_000_000, "ms >=2000"),
    ] {
        assert_eq!(class(ns), wanted, "{ns}");
    }
}
