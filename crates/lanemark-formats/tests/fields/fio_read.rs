//! Tests of reading fio's JSON: groups of clones, directions without requests and old units.

use lanemark_schema::result::{
    CpuUse, DirectionResult, ErrorCount, ErrorKind, RequestErrors, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use serde_json::{Value, json};

use super::import;

/// The figures of a direction without its buckets: bytes, count, and minimum, mean and maximum latency in ns.
fn figures(
    direction: Option<&DirectionResult>,
) -> Option<(u64, u64, Option<u64>, f64, Option<u64>)> {
    let direction = direction?;
    let latency = &direction.latency;
    let least = latency.min_ns();
    let most = latency.max_ns();
    Some((direction.bytes.get(), latency.count(), least, latency.mean_ns(), most))
}

/// Returns one clone of a job in the layout of fio 3. Each `[count, mean in us]` describes requests of 4 KiB.
fn clone(read: [u64; 2], write: [u64; 2], trim: [u64; 2], sync: [u64; 2], rest: &Value) -> Value {
    let runtime = rest["job_runtime"].clone();
    let direction = |[count, us]: [u64; 2]| {
        json!({"io_bytes": 4096 * count, "io_kbytes": 4 * count, "runtime": runtime, "total_ios": count,
            "slat_ns": {"min": 0, "max": 0, "mean": 0.0},
            "clat_ns": {"min": 1000 * (us - 10), "max": 1000 * (us + 20), "mean": 1000.0 * us as f64}})
    };
    let mut entry = json!({"jobname": "group", "groupid": 0, "error": 0,
        "job options": {"rw": "randrw", "bs": "4k", "numjobs": "2", "iodepth": "4", "ioengine": "io_uring",
            "filename": "/dev/sdx", "direct": "1"},
        "read": direction(read), "write": direction(write), "trim": direction(trim),
        "sync": {"total_ios": sync[0], "lat_ns":
            {"min": 1000 * (sync[1] - 10), "max": 1000 * (sync[1] + 20), "mean": 1000.0 * sync[1] as f64}}});
    entry.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    entry
}

#[test]
fn clones_of_a_job_are_one_test_with_all_their_figures_added() {
    let clones = [
        clone(
            [100, 50],
            [50, 80],
            [2, 30],
            [4, 400],
            &json!({"job_runtime": 1000, "usr_cpu": 10.0,
            "sys_cpu": 20.0, "total_err": 3, "first_error": 5}),
        ),
        clone(
            [300, 90],
            [150, 40],
            [6, 70],
            [12, 200],
            &json!({"job_runtime": 2000, "usr_cpu": 30.0,
            "sys_cpu": 5.0, "total_err": 4, "first_error": 5}),
        ),
    ];
    let forwards = json!({"fio version": "fio-3.33", "jobs": clones}).to_string();
    let [first, second] = clones;
    let backwards = json!({"fio version": "fio-3.33", "jobs": [second, first]}).to_string();
    for text in [forwards, backwards] {
        let result = import(&text);
        assert_eq!(result.tests.len(), 1);
        let [sample] = &result.tests[0].samples[..] else { panic!("one sample") };
        let us = |us: u64| Some(1000 * us);
        // Means are weighted by the number of requests: (100 x 50 + 300 x 90) / 400 µs.
        let reads = Some((4096 * 400, 400, us(40), 80_000.0, us(110)));
        let writes = Some((4096 * 200, 200, us(30), 50_000.0, us(100)));
        let trims = Some((4096 * 8, 8, us(20), 60_000.0, us(90)));
        let flushes = Some((0, 16, us(190), 250_000.0, us(420)));
        assert_eq!(figures(sample.reads.as_ref()), reads);
        assert_eq!(figures(sample.writes.as_ref()), writes);
        assert_eq!(figures(sample.trims.as_ref()), trims);
        assert_eq!(figures(sample.flushes.as_ref()), flushes);
        // The clones ran concurrently.
        assert_eq!(sample.elapsed, Duration::from_seconds(2));
        assert_eq!((sample.operations(), sample.bytes()), (600, Bytes(4096 * 600)));
        // The clones used 10% of 1 s and 30% of 2 s, and 20% of 1 s and 5% of 2 s, for 600 requests.
        let cpu = sample.cpu.unwrap();
        assert!((cpu.user_ns_per_request - 0.7e9 / 600.0).abs() < 1e-6, "{cpu:?}");
        assert!((cpu.system_ns_per_request - 0.3e9 / 600.0).abs() < 1e-6, "{cpu:?}");
        let mut errors = RequestErrors::default();
        errors.add(ErrorCount { kind: ErrorKind::of_errno(5), errno: Some(5), requests: 7 });
        assert_eq!(sample.errors, errors);
        assert!(sample.complete && sample.unified.is_none());
        // The headline figures equal the figures of the sample.
        let test = &result.tests[0];
        assert_eq!(test.iops.value, 300.0);
        assert_eq!(test.throughput_bytes_per_second.value, 4096.0 * 300.0);
        assert_eq!(test.latency_mean_ns.value, 70_000.0);
        assert_eq!((test.test.threads, test.test.issue_depth()), (2, 4));
    }
}

#[test]
fn a_clone_without_a_direction_takes_it_from_the_other() {
    let only = |kind: usize, error: u64| {
        let of = |at: usize| if at == kind { [10 + at as u64, 100] } else { [0, 100] };
        let mut one = clone(of(0), of(1), of(2), of(3), &json!({"job_runtime": 1000}));
        one["error"] = json!(error);
        one
    };
    for kinds in [[0, 1], [1, 0], [2, 0], [0, 3], [3, 0]] {
        let jobs: Vec<Value> = kinds.iter().map(|&kind| only(kind, 0)).collect();
        let result = import(&json!({"fio version": "fio-3.33", "jobs": jobs}).to_string());
        let sample = &result.tests[0].samples[0];
        let all = [&sample.reads, &sample.writes, &sample.trims, &sample.flushes];
        for (at, side) in all.into_iter().enumerate() {
            let wanted = kinds.contains(&at).then_some(10 + at as u64);
            assert_eq!(side.as_ref().map(|side| side.latency.count()), wanted, "{kinds:?} {at}");
        }
        assert_eq!(sample.cpu, None);
        assert!(sample.complete);
    }
    // A single failed clone makes the whole result incomplete.
    for errors in [[5, 0], [0, 5]] {
        let jobs = [only(0, errors[0]), only(0, errors[1])];
        let result = import(&json!({"fio version": "fio-3.33", "jobs": jobs}).to_string());
        assert!(!result.complete && result.tests[0].samples[0].errors.total() == 1);
    }
}

#[test]
fn version_two_has_kib_and_microseconds_and_the_time_of_one_clone() {
    let text = json!({"fio version": "fio-2.2.10", "jobs": [{
        "jobname": "old", "groupid": 0, "error": 0,
        "job options": {"rw": "randread", "bs": "4k", "iodepth": "8", "ioengine": "libaio"},
        "read": {"io_bytes": 4000, "bw": 2000, "iops": 500.0, "runtime": 2000, "total_ios": 1000,
            "slat": {"min": 1, "max": 20, "mean": 2.5},
            "clat": {"min": 80, "max": 5000, "mean": 950.5,
                "percentile": {"50.000000": 900, "99.000000": 2000, "0.00": 0}},
            "lat": {"min": 82, "max": 5002, "mean": 953.0}},
        "write": {"io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0},
        "usr_cpu": 1.5, "sys_cpu": 2.5}]});
    let result = import(&text.to_string());
    assert_eq!(result.warnings[0], Warning::FromPercentiles { test: "old".to_owned(), known: 2 });
    let sample = result.tests[0].samples[0].clone();
    let reads = Some((4000 * 1024, 1000, Some(80_000), 950_500.0, Some(5_000_000)));
    assert_eq!(figures(sample.reads.as_ref()), reads);
    assert_eq!(sample.reads.unwrap().latency.stated(), [(50.0, 900_000), (99.0, 2_000_000)]);
    assert_eq!(sample.elapsed, Duration::from_seconds(2));
    assert_eq!(
        sample.cpu,
        Some(CpuUse { user_ns_per_request: 30_000.0, system_ns_per_request: 50_000.0 })
    );
    assert!(sample.writes.is_none() && sample.trims.is_none() && sample.flushes.is_none());
}
