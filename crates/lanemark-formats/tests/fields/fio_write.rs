//! Tests of writing fio's JSON: every key of an entry, several devices, and the classes of depths.

use lanemark_formats::fio_json;
use lanemark_schema::result::Target;
use serde_json::{Value, json};

use super::of_two_repeats;

#[test]
fn every_key_that_is_written_has_its_value() {
    let run = of_two_repeats();
    let text = fio_json::write(&run, 1_700_000_000);
    let mut written: Value = serde_json::from_str(&text).unwrap();
    let job = written["jobs"][0].as_object_mut().unwrap();
    // The repeats are compared in `fio_json_of_every_sample_is_read_back_unchanged`.
    let own = job.remove("lanemark").unwrap();
    assert_eq!(own["statistic"], "sum and mean over 2 repeats");
    let zeros = |names: [&str; 7]| -> Value {
        names
            .iter()
            .map(|name| ((*name).to_owned(), json!(0.0)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let depths = ["0", "4", "8", "16", "32", "64", ">=64"];
    let nothing = json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    // The latencies of 42 reads and 8 writes are 2 of 512 ns, 34 of 1.024 µs, 8 of 2.048 µs, and 6 of 1.5 ms.
    let classes = |names: &[&str], shares: &[(&str, f64)]| -> Value {
        let share = |name: &str| shares.iter().find(|(of, _)| *of == name).map_or(0.0, |one| one.1);
        names
            .iter()
            .map(|name| ((*name).to_owned(), json!(share(name))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let ends = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
    // A percentile is known only if there is a request above it.
    let percentiles = |count: u64, at: &dyn Fn(f64) -> u64| -> Value {
        let all = [
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ];
        // Of equal latencies, only the median is known.
        let last = if at(1.0) == at(100.0) { 50.0 } else { 100.0 };
        let known =
            all.iter().filter(|&&one| one <= last && count as f64 * (1.0 - one / 100.0) >= 0.999);
        known
            .map(|&one| (format!("{one:.6}"), json!(at(one))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    // The 42 reads have one latency for the ranks 1 to 2, one for 3 to 36, and one for 37 to 42.
    let read_at = |percent: f64| match (percent / 100.0 * 42.0).ceil() as u64 {
        0..=2 => 512,
        3..=36 => 1024,
        _ => 1_500_000,
    };
    let mean = (2.0 * 512.0 + 34.0 * 1024.0 + 6.0 * 1_500_000.0) / 42.0;
    let squares: f64 = [(512.0, 2.0), (1024.0, 34.0), (1_500_000.0, 6.0)]
        .map(|(at, count): (f64, f64)| count * (at - mean) * (at - mean))
        .iter()
        .sum();
    let near = |value: &mut Value, wanted: f64| {
        let found = value.take().as_f64().unwrap();
        assert!((found - wanted).abs() <= 1e-3 * wanted, "{found} for {wanted}");
    };
    near(&mut job["read"]["clat_ns"]["stddev"], (squares / 42.0).sqrt());
    near(&mut job["read"]["lat_ns"]["stddev"], (squares / 42.0).sqrt());
    near(&mut job["read"]["clat_ns"]["mean"], mean);
    near(&mut job["read"]["lat_ns"]["mean"], mean);
    // The middle of the bucket for 1.5 ms differs from 1.5 ms.
    let bins = job["read"]["clat_ns"]["bins"].take();
    let bins: Vec<(u64, u64)> = (bins.as_object().unwrap().iter())
        .map(|(at, count)| (at.parse().unwrap(), count.as_u64().unwrap()))
        .collect();
    for (at, count) in [(512, 2), (1024, 34), (1_500_000_u64, 6)] {
        assert!(
            bins.iter().any(|bin| bin.0.abs_diff(at) <= at / 1000 && bin.1 == count),
            "{bins:?}"
        );
    }
    for percentile in job["read"]["clat_ns"]["percentile"].as_object_mut().unwrap().values_mut() {
        if percentile.as_u64().unwrap().abs_diff(1_500_000) <= 1500 {
            *percentile = json!(1_500_000);
        }
    }
    let device = json!({"name": "sdx", "read_ios": 10, "write_ios": 100, "read_merges": 0,
        "write_merges": 0, "read_ticks": 25, "write_ticks": 5, "in_queue": 30, "util": 25.0});
    let expected = json!({
        "fio version": "fio-3.33", "timestamp": 1_700_000_000_u64,
        "timestamp_ms": 1_700_000_000_000_u64, "time": "2026-01-02T03:04:05Z",
        "disk_util": [device],
        "jobs": [{
            "jobname": "both", "groupid": 0, "error": 0, "eta": 0, "elapsed": 5,
            "job options": job["job options"],
            "read": {
                "io_bytes": 172_032, "io_kbytes": 168, "bw_bytes": 34_406, "bw": 33, "iops": 8.4,
                "runtime": 5000, "total_ios": 42, "short_ios": 0, "drop_ios": 0, "slat_ns": nothing,
                "clat_ns": {"min": 512, "max": 1_500_000, "mean": null, "stddev": null, "N": 42,
                    "percentile": percentiles(42, &read_at), "bins": null},
                "lat_ns": {"min": 512, "max": 1_500_000, "mean": null, "stddev": null, "N": 42},
                // The two samples are 24 and 40 KiB a second, and 6 and 10 requests a second.
                "bw_min": 24, "bw_max": 40, "bw_agg": 100.0, "bw_mean": 32.0,
                "bw_dev": 11.313_708, "bw_samples": 2,
                "iops_min": 6, "iops_max": 10, "iops_mean": 8.0, "iops_stddev": 2.828_427,
                "iops_samples": 2},
            "write": {
                "io_bytes": 65_536, "io_kbytes": 64, "bw_bytes": 13_107, "bw": 12, "iops": 1.6,
                "runtime": 5000, "total_ios": 8, "short_ios": 0, "drop_ios": 0, "slat_ns": nothing,
                "clat_ns": {"min": 2048, "max": 2048, "mean": 2048.0, "stddev": 0.0, "N": 8,
                    "percentile": percentiles(8, &|_| 2048), "bins": {"2048": 8}},
                "lat_ns": {"min": 2048, "max": 2048, "mean": 2048.0, "stddev": 0.0, "N": 8},
                "bw_min": 32, "bw_max": 32, "bw_agg": 100.0, "bw_mean": 32.0, "bw_dev": 0.0,
                "bw_samples": 1, "iops_min": 4, "iops_max": 4, "iops_mean": 4.0, "iops_stddev": 0.0,
                "iops_samples": 1},
            // The time of a direction without requests is zero.
            "trim": {
                "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0,
                "total_ios": 0, "short_ios": 0, "drop_ios": 0, "slat_ns": nothing,
                "clat_ns": nothing, "lat_ns": nothing, "bw_min": 0, "bw_max": 0, "bw_agg": 0.0,
                "bw_mean": 0.0, "bw_dev": 0.0, "bw_samples": 0, "iops_min": 0, "iops_max": 0,
                "iops_mean": 0.0, "iops_stddev": 0.0, "iops_samples": 0},
            "sync": {"total_ios": 5, "lat_ns": {"min": 640, "max": 960, "mean": 704.0, "stddev": 128.0,
                "N": 5, "percentile": percentiles(5, &|one| if one > 80.0 { 960 } else { 640 }), "bins": {"640": 4, "960": 1}}},
            // Two threads ran for 5 s: 20 requests took 1 ms and 3 ms each, and 30 requests took 4 ms and 1 ms.
            "job_runtime": 10_000, "usr_cpu": 1.4, "sys_cpu": 0.9,
            "ctx": 48, "majf": 0, "minf": 0,
            "iodepth_level": {"1": 0.0, "2": 0.0, "4": 100.0, "8": 0.0, "16": 0.0, "32": 0.0, ">=64": 0.0},
            "iodepth_submit": zeros(depths), "iodepth_complete": zeros(depths),
            "latency_ns": classes(&ends[..10], &[("750", 4.0)]),
            "latency_us": classes(&ends[..10], &[("2", 68.0), ("4", 16.0)]),
            "latency_ms": classes(&ends, &[("2", 12.0)]),
            "latency_depth": 4, "latency_target": 0, "latency_percentile": 100.0,
            "latency_window": 0}]});
    for (key, value) in expected["jobs"][0].as_object().unwrap() {
        assert_eq!(&written["jobs"][0][key], value, "{key}");
    }
    assert_eq!(written, expected);
    let options = json!({"name": "both", "rw": "randrw", "bs": "4k", "iodepth": "4", "numjobs": "2",
        "size": "1g", "rwmixread": "50", "filename": "/dev/sdx", "ioengine": "io_uring", "direct": "1"});
    assert_eq!(written["jobs"][0]["job options"], options);
}

#[test]
fn every_device_has_an_entry_and_every_depth_a_class() {
    let mut run = of_two_repeats();
    let evidence = run.tests[0].samples[1].evidence.as_mut().unwrap();
    evidence.device.as_mut().unwrap().name = "sdy".to_owned();
    if let Target::Measured(target) = &mut run.target {
        target.engine = "KDiskMark 3, libaio".to_owned();
    }
    let mut levels = Vec::new();
    for depth in [1, 2, 3, 4, 31, 32, 63, 64, 1_000] {
        let test = &mut run.tests[0].test;
        *test = test.clone().with(|requests| requests.queue_depth = depth);
        let written: Value = serde_json::from_str(&fio_json::write(&run, 0)).unwrap();
        assert_eq!(written["disk_util"][0]["name"], "sdx");
        assert_eq!(written["disk_util"][1]["name"], "sdy");
        let job = &written["jobs"][0];
        assert_eq!(job["job options"]["ioengine"], "libaio");
        let mut shares = job["iodepth_level"].as_object().unwrap().iter();
        levels.push(shares.find(|(_, share)| **share == json!(100.0)).unwrap().0.clone());
    }
    assert_eq!(levels, ["1", "2", "2", "4", "16", "32", "32", ">=64", ">=64"]);
}
