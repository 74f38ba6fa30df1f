//! Tests of small inputs and outputs whose figures were all computed by hand, so that any wrong sum, unit or weight is
//! detected.

mod crystaldiskmark;
mod fio_read;
mod fio_write;

use lanemark_formats::{SuppliedSettings, fio_json};
use lanemark_schema::result::{
    CpuUse, DeviceUse, DirectionResult, Evidence, LatencyHistogram, ProcessorUse, RunResult,
    Sample, TestResult, ThreadUse,
};
use lanemark_schema::units::{Bytes, Duration};
use serde_json::json;

fn import(text: &str) -> RunResult {
    let printed = fio_json::read(text, "out.json").unwrap();
    fio_json::results(printed, &SuppliedSettings::default()).unwrap().remove(0).result
}

fn direction(bytes: u64, latencies: &[(u64, u64)]) -> Option<DirectionResult> {
    let count: u64 = latencies.iter().map(|(_, count)| count).sum();
    let sum: u64 = latencies.iter().map(|(latency, count)| latency * count).sum();
    let min_ns = latencies[0].0;
    let max_ns = latencies[latencies.len() - 1].0;
    let mean_ns = sum as f64 / count as f64;
    let latency = LatencyHistogram::from_bins(latencies.iter().copied(), mean_ns, min_ns, max_ns);
    Some(DirectionResult { bytes: Bytes(bytes), latency })
}

/// Returns a result with two repeats: one of 2 s with reads and writes, and one of 3 s with only reads.
fn of_two_repeats() -> RunResult {
    let options = json!({"rw": "randrw", "bs": "4k", "numjobs": "2", "iodepth": "4", "size": "1G",
        "ioengine": "io_uring", "filename": "/dev/sdx", "direct": "1"});
    let entry = json!({"jobname": "both", "error": 0, "job options": options,
        "read": {"io_bytes": 4096, "io_kbytes": 4, "runtime": 1, "total_ios": 1,
            "clat_ns": {"min": 1, "max": 1, "mean": 1.0}},
        "write": {"io_bytes": 4096, "io_kbytes": 4, "runtime": 1, "total_ios": 1,
            "clat_ns": {"min": 1, "max": 1, "mean": 1.0}}});
    let mut run = import(&json!({"fio version": "fio-3.33", "jobs": [entry]}).to_string());
    let device = |reads: u64| DeviceUse {
        name: "sdx".to_owned(),
        reads,
        writes: 10 * reads,
        read_time: Duration::from_microseconds(2_500 * reads),
        write_time: Duration::from_microseconds(500 * reads),
        busy: Duration::from_microseconds(100_000 * reads),
        elapsed: Duration::from_microseconds(400_000 * reads),
        ..DeviceUse::default()
    };
    let evidence = |reads: u64, switches: u64| {
        let threads = ThreadUse {
            switches_voluntary: switches,
            switches_involuntary: 2 * switches,
            ..ThreadUse::default()
        };
        Some(Evidence {
            device: Some(device(reads)),
            threads: Some(threads),
            processors: Some(ProcessorUse {
                cores: 4,
                user: switches as f64 / 10.0,
                system: 0.4,
                interrupts: 0.2,
                stolen: 1.0,
                ..ProcessorUse::default()
            }),
            ..Evidence::default()
        })
    };
    let cpu = |user: f64, system: f64| {
        Some(CpuUse { user_ns_per_request: user, system_ns_per_request: system })
    };
    let first = Sample {
        elapsed: Duration::from_seconds(2),
        // A bucket can represent these latencies exactly, and they are at the ends of fio's classes.
        reads: direction(4096 * 12, &[(512, 2), (1024, 4), (1_500_000, 6)]),
        writes: direction(8192 * 8, &[(2048, 8)]),
        flushes: direction(0, &[(640, 4), (960, 1)]),
        cpu: cpu(1e6, 3e6),
        evidence: evidence(4, 7),
        ..Sample::empty()
    };
    let second = Sample {
        elapsed: Duration::from_seconds(3),
        reads: direction(4096 * 30, &[(1024, 30)]),
        cpu: cpu(4e6, 1e6),
        evidence: evidence(6, 9),
        ..Sample::empty()
    };
    let test = run.tests[0].test.clone();
    run.workload.repeats = 2;
    run.tests = vec![TestResult::new(&run.workload, &test, vec![first, second])];
    run.provenance.started_at = "2026-01-02T03:04:05Z".to_owned();
    run
}
