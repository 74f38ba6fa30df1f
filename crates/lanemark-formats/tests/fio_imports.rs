//! The figures that fio printed do not change in an import and export, and figures that fio did not print do not
//! appear.

use lanemark_formats::{SuppliedSettings, fio_json};
use lanemark_schema::result::{
    DirectionResult, LatencyDetail, LatencyHistogram, PERCENTILES, RunResult, Sample, Target,
    TestResult, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{AverageMethod, Pattern};
use proptest::prelude::*;
use serde_json::{Value, json};

fn import_all(text: &str, supplied: &SuppliedSettings) -> Vec<RunResult> {
    let printed = fio_json::read(text, "out.json").unwrap_or_else(|error| panic!("{error}"));
    let imported = fio_json::results(printed, supplied).unwrap_or_else(|error| panic!("{error}"));
    imported.into_iter().map(|one| one.result).collect()
}

fn import(text: &str) -> RunResult {
    import_all(text, &SuppliedSettings::default()).remove(0)
}

/// Returns a direction with `count` requests of 4 KiB and the latencies `latency`.
fn direction(count: u64, latency: &Value) -> Value {
    json!({
        "io_bytes": count * 4096, "io_kbytes": count * 4, "runtime": 1000, "total_ios": count,
        "clat_ns": latency, "lat_ns": {"min": 0, "max": 0, "mean": 0.0},
    })
}

fn output(options: impl Into<Value>, directions: &[(&str, Value)]) -> Value {
    let mut job = json!({
        "jobname": "job", "groupid": 0, "error": 0, "job options": options.into(),
        "read": direction(0, &json!({})), "write": direction(0, &json!({})),
        "job_runtime": 1000, "usr_cpu": 1.0, "sys_cpu": 1.0,
    });
    for (name, value) in directions {
        job[*name] = value.clone();
    }
    json!({"fio version": "fio-3.36", "timestamp": 1_700_000_000, "jobs": [job]})
}

fn options() -> Value {
    json!({"rw": "randread", "bs": "4k", "iodepth": "4", "ioengine": "libaio", "size": "1g", "direct": "1"})
}

fn reads(result: &RunResult) -> &LatencyHistogram {
    &result.tests[0].samples[0].reads.as_ref().unwrap().latency
}

proptest! {
    /// The property is tested for any number of requests, and for any list of percentiles and latencies that fio can
    /// print in `json` or `json+`.
    #[test]
    fn every_percentile_in_the_file_comes_back_as_written(
        latencies in prop::collection::vec(1_000u64..50_000_000, 1..400),
        list in prop::collection::btree_set(1u32..10_000, 1..20),
        plus in any::<bool>(), flushes in any::<bool>(),
    ) {
        let mut sorted = latencies.clone();
        sorted.sort_unstable();
        let count = sorted.len() as u64;
        let at = |percent: f64| {
            let rank = (percent / 100.0 * count as f64 - 1e-9).ceil().max(1.0) as usize;
            sorted[rank - 1]
        };
        let printed: Vec<(f64, u64)> = list.iter().map(|&hundredths| {
            let percent = f64::from(hundredths) / 100.0;
            (percent, at(percent))
        }).collect();
        let mut latency = json!({
            "min": sorted[0], "max": sorted[sorted.len() - 1],
            "mean": sorted.iter().sum::<u64>() as f64 / count as f64, "N": count,
            "percentile": printed.iter().map(|(percent, ns)| (format!("{percent:.6}"), json!(ns)))
                .collect::<serde_json::Map<_, _>>(),
        });
        if plus {
            let mut bins = serde_json::Map::new();
            for ns in &sorted {
                let number = bins.get(&ns.to_string()).and_then(Value::as_u64).unwrap_or(0);
                bins.insert(ns.to_string(), json!(number + 1));
            }
            latency["bins"] = Value::Object(bins);
        }
        let sync = json!({"total_ios": count, "lat_ns": latency});
        let mut all = vec![("read", direction(count, &latency))];
        if flushes {
            all.push(("sync", sync));
        }
        let result = import(&output(options(), &all).to_string());
        let mut sides = vec![reads(&result).clone()];
        if flushes {
            sides.push(result.tests[0].samples[0].flushes.as_ref().unwrap().latency.clone());
        }
        for side in sides {
            for (percent, ns) in &printed {
                prop_assert_eq!(side.percentile_ns(*percent), Some(*ns), "p{} of {}", percent, count);
            }
            prop_assert_eq!((side.count(), side.min_ns()), (count, Some(sorted[0])));
        }
        // The result is pooled over directions and repeats, saved, and exported again.
        let saved: RunResult = serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
        let exported = import(&fio_json::write(&saved, 0));
        for (percent, ns) in &printed {
            prop_assert_eq!(saved.tests[0].latency().percentile_ns(*percent), Some(*ns));
            prop_assert_eq!(reads(&exported).percentile_ns(*percent), Some(*ns));
        }
    }

    /// The export of a Lanemark run keeps the run's headline figures and percentiles.
    #[test]
    fn an_export_that_is_imported_has_the_figures_that_were_exported(
        repeats in prop::collection::vec(
            (1u64..4_000, prop::collection::vec(1_000u64..9_000_000, 1..60), any::<bool>()), 1..6),
        median in any::<bool>(),
    ) {
        let side = |latencies: &[u64]| {
            let mut one = DirectionResult::new();
            for &ns in latencies {
                one.record(Bytes::kibi(4), Duration::from_nanoseconds(ns));
            }
            Some(one)
        };
        let samples: Vec<Sample> = repeats.iter().map(|(milliseconds, latencies, mixed)| Sample {
            elapsed: Duration::from_microseconds(1_000 * *milliseconds),
            reads: side(latencies),
            writes: if *mixed { side(&latencies[..1]) } else { None },
            ..Sample::empty()
        }).collect();
        let mut run = import(&output(options(), &[("read", direction(8, &json!({
            "min": 1, "max": 9, "mean": 5.0, "percentile": {"50.000000": 5}})))]).to_string());
        run.workload.average = if median { AverageMethod::Median } else { AverageMethod::Mean };
        run.workload.repeats = samples.len() as u32;
        run.workload.tests[0] = run.tests[0].test.clone().with(|requests| {
            requests.read_share = lanemark_schema::units::Ratio::HALF;
        });
        run.tests[0] = TestResult::new(&run.workload, &run.workload.tests[0], samples);
        let again = import(&fio_json::write(&run, 0));
        let before = &run.tests[0];
        let after = &again.tests[0];
        prop_assert_eq!(&before.throughput_bytes_per_second, &after.throughput_bytes_per_second);
        prop_assert_eq!(&before.iops, &after.iops);
        prop_assert_eq!(&before.latency_mean_ns, &after.latency_mean_ns);
        for percentile in PERCENTILES {
            prop_assert_eq!(
                before.latency().percentile_ns(percentile), after.latency().percentile_ns(percentile));
        }
        prop_assert_eq!(again.workload.average, run.workload.average);
    }
}

#[test]
fn latencies_that_fio_did_not_measure_lack_figures() {
    let zeros = json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    let result = import(&output(options(), &[("read", direction(500, &zeros))]).to_string());
    let latency = reads(&result);
    assert_eq!((latency.count(), latency.detail()), (500, LatencyDetail::Count));
    assert_eq!(
        (latency.mean_known_ns(), latency.max_ns(), latency.percentile_ns(50.0)),
        (None, None, None)
    );
    assert_eq!(result.tests[0].latency_mean_ns.count, 0);
    assert!(result.tests[0].iops.value > 0.0);
    assert!(result.warnings.iter().any(|warning| matches!(warning, Warning::NoLatencies { .. })));
}

fn measure() -> Value {
    json!({"min": 10, "max": 90, "mean": 40.0, "N": 2_000, "percentile": {"50.000000": 40}})
}

#[test]
fn options_that_contradict_the_counts_are_not_believed() {
    let warned = |text: &Value| -> Vec<String> {
        let result = import(&text.to_string());
        let test = &result.tests[0].test;
        let texts = result.warnings.iter().filter_map(|warning| match warning {
            Warning::OptionsContradict { what, .. } => Some(what.clone()),
            _ => None,
        });
        let texts: Vec<String> = texts.collect();
        assert_eq!(texts.is_empty(), test.unstated().is_empty(), "{texts:?}");
        assert!(texts.is_empty() || test.pattern().is_none());
        texts
    };
    let both = [("read", direction(2_000, &measure())), ("write", direction(2_000, &measure()))];
    let with = |options: Value| output(options, &both);
    assert!(warned(&with(json!({"rw": "randrw", "bs": "4k", "size": "1g"}))).is_empty());
    for (options, reason) in [
        (json!({"rw": "write", "bs": "4k", "size": "1g"}), "no reads, but 2000 were counted"),
        (json!({"rw": "randread", "bs": "4k", "size": "1g"}), "no writes, but 2000 were counted"),
        (json!({"rw": "randrw", "bs": "64k", "size": "1g"}), "64 KiB per read, but 4096 B"),
        (
            json!({"rw": "randrw", "rwmixread": "90", "bs": "4k", "size": "1g"}),
            "90% reads, but 50%",
        ),
        (json!({"rw": "randrw", "bs": "4k", "size": "1g", "name": "other"}), "the job `other`"),
    ] {
        let texts = warned(&with(options));
        assert!(texts[0].contains(reason), "{texts:?}");
    }
    // The counts are kept. The block size is the mean, and the share is computed from the number of reads.
    let sum = with(json!({"rw": "write", "bs": "64k", "size": "1g", "iodepth": "64"}));
    let test = import(&sum.to_string()).tests.remove(0).test;
    assert_eq!((test.block, test.read_share().unwrap().get()), (Bytes::kibi(4), 0.5));
    assert_eq!((test.pattern(), test.queue_depth()), (None, None));
}

#[test]
fn an_output_without_options_takes_them_from_the_user() {
    let mut bare = output(json!({}), &[("read", direction(2_000, &measure()))]);
    bare["jobs"][0].as_object_mut().unwrap().remove("job options");
    let result = import(&bare.to_string());
    let Target::Measured(target) = &result.target else { panic!("not measured") };
    assert_eq!((target.engine.as_str(), target.direct), ("fio-3.36, engine not stated", None));
    let test = &result.tests[0].test;
    assert_eq!((test.pattern(), test.queue_depth(), test.block), (None, None, Bytes::kibi(4)));
    assert!(serde_json::to_string(test).unwrap().contains(r#""pattern":"not-stated""#));
    let error = test.clone().checked().unwrap_err().to_string();
    assert!(error.contains("--pattern"), "{error}");
    let supplied = SuppliedSettings {
        pattern: Some(Pattern::Uniform),
        queue_depth: Some(8),
        ..SuppliedSettings::default()
    };
    let result = import_all(&bare.to_string(), &supplied).remove(0);
    let test = result.tests[0].test.clone();
    assert_eq!((test.pattern(), test.issue_depth()), (Some(&Pattern::Uniform), 8));
    assert!(test.checked().is_ok());
    // Options that the output states take precedence.
    let stated = output(options(), &[("read", direction(2_000, &measure()))]);
    assert_eq!(import_all(&stated.to_string(), &supplied)[0].tests[0].test.issue_depth(), 4);
}

#[test]
fn reads_and_writes_that_fio_does_not_separate_are_kept_together() {
    let mut text = output(
        json!({"rw": "randrw", "bs": "4k", "iodepth": "1", "size": "1g"}),
        &[("mixed", direction(3_000, &measure()))],
    );
    let job = text["jobs"][0].as_object_mut().unwrap();
    job.remove("read");
    job.remove("write");
    let result = import(&text.to_string());
    let sample = &result.tests[0].samples[0];
    assert_eq!((sample.operations(), sample.iops()), (3_000, 3_000.0));
    assert!(sample.reads.is_none() && sample.writes.is_none());
    assert_eq!(sample.latency().percentile_ns(50.0), Some(40));
    assert!(result.tests[0].by_direction(&result.workload).is_empty());
    let again = import(&fio_json::write(&result, 0));
    assert_eq!(again.tests[0].iops, result.tests[0].iops);
}

#[test]
fn runs_after_each_other_are_all_imported() {
    let one = output(options(), &[("read", direction(2_000, &measure()))]);
    let mut other = one.clone();
    other["timestamp"] = json!(1_700_000_500);
    other["jobs"][0]["read"]["total_ios"] = json!(2_001);
    other["jobs"][0]["read"]["io_bytes"] = json!(2_001 * 4096);
    let result = import(&format!("{one}\n{other}\n"));
    let counts: Vec<u64> = result.tests.iter().map(|test| test.samples[0].operations()).collect();
    assert_eq!(counts, [2_000, 2_001]);
}
