//! The JSON output of fio 3.33 can be read, written, and read again without differences.

use lanemark_formats::FormatErrors;
use lanemark_formats::{ImportedResult, SuppliedSettings, fio_json};
use lanemark_schema::result::{RunResult, Target, Warning};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Pattern;
use proptest::prelude::*;

const PLUS: &str = include_str!("samples/fio-3.33-plus.json");
const PLAIN: &str = include_str!("samples/fio-3.33.json");
const CLIENT: &str = include_str!("samples/fio-3.33-client.json");

/// Output in the layout of fio 2.2: KiB, microseconds, and a list of percentiles that is padded with zeros.
const OLD: &str = r#"{
  "fio version" : "fio-2.2.10",
  "jobs" : [ { "jobname" : "old", "groupid" : 0, "error" : 0,
    "job options" : { "rw" : "randread", "bs" : "4k", "iodepth" : "8", "ioengine" : "libaio" },
    "read" : { "io_bytes" : 40960, "bw" : 4096, "iops" : 1024.0, "runtime" : 10000,
      "total_ios" : 10240, "short_ios" : 0, "drop_ios" : 0,
      "slat" : { "min" : 1, "max" : 20, "mean" : 2.5, "stddev" : 0.1 },
      "clat" : { "min" : 80, "max" : 5000, "mean" : 950.5, "stddev" : 10.0,
        "percentile" : { "50.000000" : 900, "99.000000" : 2000, "0.00" : 0 } },
      "lat" : { "min" : 82, "max" : 5002, "mean" : 953.0, "stddev" : 10.0 } },
    "write" : { "io_bytes" : 0, "bw" : 0, "iops" : 0.0, "runtime" : 0, "total_ios" : 0 },
    "trim" : { "io_bytes" : 0, "bw" : 0, "iops" : 0.0, "runtime" : 0, "total_ios" : 0 },
    "usr_cpu" : 1.0, "sys_cpu" : 2.0 } ] }"#;

fn import(
    files: &[(&str, &str)],
    span: Option<Bytes>,
) -> Result<Vec<ImportedResult>, FormatErrors> {
    let mut printed = Vec::new();
    for (file, text) in files {
        printed.extend(fio_json::read(text, file)?);
    }
    fio_json::results(printed, &SuppliedSettings { span, ..SuppliedSettings::default() })
}

fn read_any(text: &str) -> Result<ImportedResult, FormatErrors> {
    Ok(import(&[("out.json", text)], None)?.remove(0))
}

fn read(text: &str) -> ImportedResult {
    read_any(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_figures_are_those_that_fio_printed() {
    let whole: serde_json::Value = serde_json::from_str(PLUS).unwrap();
    let result = read(PLUS).result;
    assert_eq!(result.tests.len(), 2, "the clones of a job are one test");
    let sample = &result.test("mixed").unwrap().samples[0];
    let mixed = whole["jobs"].as_array().unwrap().iter().find(|job| job["jobname"] == "mixed");
    let mixed = mixed.unwrap();
    for (side, direction) in [("read", &sample.reads), ("write", &sample.writes)] {
        let direction = direction.as_ref().unwrap();
        let direction_json = &mixed[side];
        assert_eq!(Some(direction.bytes.get()), direction_json["io_bytes"].as_u64());
        assert_eq!(Some(direction.latency.count()), direction_json["total_ios"].as_u64());
        let clat = &direction_json["clat_ns"];
        assert!((direction.latency.mean_ns() - clat["mean"].as_f64().unwrap()).abs() < 1.0);
        assert_eq!(direction.latency.min_ns(), clat["min"].as_u64());
        assert_eq!(direction.latency.max_ns(), clat["max"].as_u64());
        let median = direction.latency.percentile_ns(50.0).unwrap() as f64;
        let printed = clat["percentile"]["50.000000"].as_f64().unwrap();
        assert!((median / printed - 1.0).abs() < 0.02, "{median} and {printed}");
    }
    assert_eq!(
        sample.flushes.as_ref().unwrap().latency.count(),
        mixed["sync"]["total_ios"].as_u64().unwrap()
    );
    assert!(sample.cpu.is_some());
}

#[test]
fn the_tests_follow_the_job_options() {
    let result = read(PLUS).result;
    let test = &result.test("read").unwrap().test;
    assert_eq!(
        (test.pattern(), test.issue_depth(), test.threads),
        (Some(&Pattern::Shuffled), 4, 2)
    );
    assert_eq!((test.block, test.span), (Bytes::kibi(4), Bytes::mebi(4)));
    assert_eq!(result.test("mixed").unwrap().test.mix().flush_every, Some(16));
    let Target::Measured(target) = &result.target else { panic!("not measured") };
    assert_eq!((target.path.as_str(), target.direct), ("/data/file", Some(false)));
    assert_eq!(target.engine, "fio-3.33, libaio");
}

#[test]
fn bins_are_whole_and_percentiles_raise_a_warning() {
    let warned = |result: &RunResult| {
        let is_expected = |warning: &&Warning| matches!(warning, Warning::FromPercentiles { .. });
        result.warnings.iter().filter(is_expected).count()
    };
    assert_eq!(warned(&read(PLUS).result), 0);
    let plain = read(PLAIN);
    assert_eq!(warned(&plain.result), 2);
    assert!(
        plain.notes[0].starts_with("out.json: skipped 1 line that is not JSON: fio: this platform")
    );
}

#[test]
fn clients_are_separate_tests_and_their_sum_is_omitted() {
    let imported = read(CLIENT);
    assert_eq!(imported.result.tests.len(), 2);
    assert!(imported.result.tests.iter().all(|test| test.test.name.ends_with(" on 127.0.0.1")));
    assert!(imported.notes.iter().any(|note| note.contains("sum over all clients")));
    assert_eq!(imported.timestamp, Some(1_795_181_870));
}

/// Returns the keys of a JSON text in order, without numeric keys.
fn keys(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim().split_once("\" :"));
    let names = lines.map(|(key, _)| key.trim_start_matches('"'));
    names.filter(|key| key.parse::<f64>().is_err() && *key != "lanemark").collect()
}

#[test]
fn written_output_has_fios_keys_in_fios_order() {
    let written = fio_json::write(&read(PLUS).result, 1_795_181_870);
    // The last job of both outputs, from its figures to the list of devices.
    let figures = |text: &'static str| -> Vec<&'static str> {
        let all = keys(text);
        let from = all.iter().rposition(|key| *key == "read").unwrap();
        let to = all.iter().rposition(|key| *key == "disk_util").unwrap();
        all[from..to].to_vec()
    };
    let written: &'static str = Box::leak(written.into_boxed_str());
    assert_eq!(figures(written), figures(PLUS));
    let head = |text: &'static str| -> Vec<&'static str> {
        let all = keys(text);
        let options = ["global options", "filename", "size", "ioengine", "direct", "bs"];
        let upto = all.iter().position(|key| *key == "job options").unwrap();
        all[..upto].iter().filter(|key| !options.contains(key)).copied().collect()
    };
    assert_eq!(head(written), head(PLUS));
}

#[test]
fn requests_that_failed_are_written_and_read_back() {
    let mut run = read(PLUS).result;
    assert!(run.tests.iter().all(|test| test.errors().is_empty()));
    let errors = &mut run.tests[0].samples[0].errors;
    (0..3).for_each(|_| errors.record_errno(61));
    let written = fio_json::write(&run, 0);
    // The job continued. If the error had ended the job, fio would have printed the number of the error.
    assert!(written.contains("\"total_err\" : 3") && written.contains("\"first_error\" : 61"));
    assert!(!written.contains("\"error\" : 61"));
    let again = read(&written).result;
    assert_eq!(again.tests[0].errors(), run.tests[0].errors());
    assert!(again.warnings.iter().any(|warning| matches!(warning, Warning::Failed { .. })));
    run.tests[0].samples[0].complete = false;
    let written = fio_json::write(&run, 0);
    assert!(written.contains("\"error\" : 61"));
    assert!(!read(&written).result.complete);
    // Without continue_on_error, fio prints only the number.
    let ended =
        fio_json::write(&read(PLUS).result, 0).replacen("\"error\" : 0", "\"error\" : 5", 1);
    assert_eq!(read(&ended).result.tests[0].errors().to_string(), "1 other error (EIO)");
    let odd = ended.replacen("\"error\" : 5", "\"error\" : \"x\"", 1);
    assert!(read_any(&odd).is_err());
}

#[test]
fn input_that_is_not_output_of_fio_is_refused() {
    for (text, message) in [
        ("", "out.json: it does not contain JSON"),
        ("fio: failed\n", "out.json: it does not contain JSON"),
        ("{", "out.json:1: not valid JSON"),
        ("note\n\n{\n  \"a\" : 1,,\n}", "out.json:4: not valid JSON"),
        ("{}", "out.json: `fio version` is missing"),
        (r#"{"fio version":"fio-1.59"}"#, "out.json: `fio-1.59` is not a known"),
        (r#"{"fio version":"fio-3.1"}"#, "out.json: the list `jobs` is"),
        (r#"{"fio version":"fio-3.1","jobs":[]}"#, "out.json: its list of jobs is empty"),
        (r#"{"fio version":"fio-3.1","jobs":[{}]}"#, "out.json: entry 1 of its jobs: `jobname`"),
        (
            r#"{"fio version":"fio-3.1","jobs":[{"jobname":"a","read":{"total_ios":-1}}]}"#,
            "out.json: entry 1 of its jobs: job `a`: read: total_ios: -1 is not a count",
        ),
        (
            r#"{"fio version":"fio-3.1","jobs":[{"jobname":"a","read":{"total_ios":5}}]}"#,
            "out.json: entry 1 of its jobs: job `a`: read: `io_bytes` is missing",
        ),
    ] {
        let error = read_any(text).expect_err(text).0.remove(0);
        assert!(error.to_string().starts_with(message), "{text}: {error}");
        assert!(error.hint.is_some(), "{text}");
    }
    let in_no_time = read_any(&OLD.replace("10000", "0")).unwrap_err().to_string();
    assert!(in_no_time.contains("elapsed_ns is 0"), "{in_no_time}");
    let vast = OLD.replace("40960,", "9007199254740992,");
    assert!(read_any(&vast).unwrap_err().to_string().contains("impossibly large"));
    let deep = format!("{{\"fio version\":{}", "[".repeat(100_000));
    assert!(read_any(&deep).is_err());
}

proptest! {
    #[test]
    fn no_text_is_too_strange(
        sample in 0usize..4, at in 0usize..30_000, cut in 0usize..60,
        put in "[\\[\\]{}:,\"\\-0-9.e ]{0,12}",
    ) {
        let text = [PLUS, PLAIN, CLIENT, OLD][sample];
        let from = at % text.len();
        let to = (from + cut).min(text.len());
        if text.is_char_boundary(from) && text.is_char_boundary(to) {
            let mutated = format!("{}{put}{}", &text[..from], &text[to..]);
            if let Ok(imported) = read_any(&mutated) {
                imported.result.check().unwrap();
                let _ = fio_json::write(&imported.result, 0);
            }
        }
    }
}

#[test]
fn a_job_that_exceeded_its_size_was_time_based() {
    let options = r#""iodepth" : "8", "size" : "1m", "runtime" : "10""#;
    let imported = |size: &str| {
        let text = OLD.replace(r#""iodepth" : "8""#, &options.replace("1m", size));
        read(&text).result.tests[0].test.clone()
    };
    // The job transferred 40 MiB.
    assert_eq!(imported("1m").volume, None);
    assert_eq!(imported("1g").volume, Some(Bytes::mebi(1024)));
    assert_eq!(imported("1m").duration, Some(Duration::from_seconds(10)));
}

#[test]
fn files_of_one_target_are_one_result_with_distinct_test_names() {
    let other = OLD.replace("\"iodepth\" : \"8\"", "\"iodepth\" : \"16\"");
    let far = OLD.replace("\"rw\"", "\"filename\" : \"/dev/sdb\", \"rw\"");
    let alone = OLD.replace("\"old\"", "\"alone\"");
    let files =
        [("f/d8.json", OLD), ("f/d16.json", &other), ("g/far.json", &far), ("x.json", &alone)];
    let results = import(&files, None).unwrap();
    let names = |at: usize| -> Vec<&str> {
        results[at].result.tests.iter().map(|test| test.test.name.as_str()).collect()
    };
    assert_eq!(results.len(), 2);
    assert_eq!(names(0), ["old (d8)", "old (d16)", "alone"]);
    assert_eq!(names(1), ["old"]);
    assert_eq!(results[0].result.test("old (d16)").unwrap().test.issue_depth(), 16);
    assert_eq!(results[0].files, ["f/d8.json", "f/d16.json", "x.json"]);
    // The errors name each invalid file.
    let wrong = OLD.replace("10000", "0");
    let error = import(&[("a.json", OLD), ("b.json", &wrong), ("c.json", &wrong)], None);
    let error = error.unwrap_err().to_string();
    let named = ["a.json", "b.json", "c.json"].map(|file| error.contains(file));
    assert_eq!(named, [false, true, true], "{error}");
}

#[test]
fn a_span_is_the_targets_and_not_the_moved_data() {
    let with = |options: &str, span| {
        let text = OLD.replace(r#""iodepth" : "8""#, &format!(r#""iodepth" : "8"{options}"#));
        let imported = import(&[("out.json", &text)], span).unwrap().remove(0);
        let test = &imported.result.tests[0].test;
        let target = &imported.result.target;
        let Target::Measured(target) = target else { panic!("not measured") };
        (test.offset, test.span, target.size_bytes, imported.notes.len())
    };
    let gib = Bytes(1 << 30);
    let tib = Bytes(1 << 40);
    // The share is relative to the 40 MiB that were transferred.
    assert_eq!(with("", None), (Bytes::ZERO, Bytes::mebi(40), None, 1));
    assert_eq!(with("", Some(tib)), (Bytes::ZERO, tib, Some(tib), 1));
    assert_eq!(with(r#", "size" : "25%""#, Some(tib)), (Bytes::ZERO, Bytes(1 << 38), Some(tib), 1));
    assert_eq!(with(r#", "size" : "1g""#, Some(tib)), (Bytes::ZERO, gib, Some(tib), 0));
    assert_eq!(with(r#", "filesize" : "1g""#, None), (Bytes::ZERO, gib, Some(gib), 0));
    let rest = Bytes((1 << 40) - (1 << 30));
    assert_eq!(with(r#", "offset" : "1g""#, Some(tib)), (gib, rest, Some(tib), 1));
    // An unknown option does not prevent other options from being read.
    assert_eq!(with(r#", "size" : "1g", "odd" : "7""#, None), (Bytes::ZERO, gib, Some(gib), 1));
    // One file states the size, which also applies to the other files.
    let sized = OLD.replace(r#""iodepth" : "8""#, r#""iodepth" : "8", "size" : "1g""#);
    let both = import(&[("a.json", OLD), ("b.json", &sized)], None).unwrap().remove(0).result;
    assert_eq!(both.tests[0].test.span, gib);
}

#[test]
fn processor_time_is_read_where_fio_does_not_print_its_own_runtime() {
    let one = read(OLD).result.tests[0].samples[0].cpu.unwrap();
    // fio added the times of four clones, so the time is four times as long.
    let grouped = OLD.replace(r#""iodepth" : "8""#, r#""iodepth" : "8", "numjobs" : "4""#);
    let four = read(&grouped).result.tests[0].samples[0].cpu.unwrap();
    assert!((four.user_ns_per_request / one.user_ns_per_request - 4.0).abs() < 1e-9, "{four:?}");
}
