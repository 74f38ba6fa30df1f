//! Results from other programs: each figure has the unit of its program, and figures that a text does not state are
//! unknown.

use lanemark_formats::foreign;
use lanemark_formats::{ImportedResult, SuppliedSettings};
use lanemark_schema::result::{
    LatencyDetail, LatencyHistogram, RunResult, Sample, Target, TestResult, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{AverageMethod, Pattern};

/// The name and the text of each sample file.
const SAMPLES: [(&str, &str); 11] = [
    ("crystaldiskmark-3.txt", include_str!("foreign/crystaldiskmark-3.txt")),
    ("crystaldiskmark-6.txt", include_str!("foreign/crystaldiskmark-6.txt")),
    ("crystaldiskmark-8.txt", include_str!("foreign/crystaldiskmark-8.txt")),
    ("diskspd.txt", include_str!("foreign/diskspd.txt")),
    ("diskspd.xml", include_str!("foreign/diskspd.xml")),
    ("fio-2.txt", include_str!("foreign/fio-2.txt")),
    ("fio-3.txt", include_str!("foreign/fio-3.txt")),
    ("fio-terse-3.txt", include_str!("foreign/fio-terse-3.txt")),
    ("fio-terse-5.txt", include_str!("foreign/fio-terse-5.txt")),
    ("iometer.csv", include_str!("foreign/iometer.csv")),
    ("kdiskmark-3.txt", include_str!("foreign/kdiskmark-3.txt")),
];

fn sample(name: &str) -> &'static str {
    SAMPLES.iter().find(|(own, _)| *own == name).unwrap().1
}

fn import(text: &str, supplied: &SuppliedSettings) -> ImportedResult {
    let runs = foreign::read(text, "it.txt").unwrap_or_else(|error| panic!("{error}"));
    let mut all = foreign::results(runs, supplied).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn result(text: &str) -> RunResult {
    import(text, &SuppliedSettings::default()).result
}

fn test<'r>(result: &'r RunResult, name: &str) -> &'r TestResult {
    let names: Vec<&str> = result.tests.iter().map(|test| test.test.name.as_str()).collect();
    let found = result.tests.iter().find(|test| test.test.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

fn single_sample(test: &TestResult) -> &Sample {
    assert_eq!(test.samples.len(), 1);
    &test.samples[0]
}

/// Returns throughput in bytes a second, requests a second, and mean latency in µs.
fn figures(test: &TestResult) -> (f64, f64, f64) {
    (test.throughput_bytes_per_second.value, test.iops.value, test.latency_mean_ns.value / 1e3)
}

fn engine(result: &RunResult) -> &str {
    let Target::Measured(target) = &result.target else { panic!() };
    &target.engine
}

fn reads(test: &TestResult) -> &LatencyHistogram {
    &single_sample(test).reads.as_ref().unwrap().latency
}

#[test]
fn crystaldiskmark_states_rates_and_means_of_its_best_run() {
    let result = result(sample("crystaldiskmark-8.txt"));
    assert!(engine(&result).starts_with("CrystalDiskMark 8.0.5"), "{}", engine(&result));
    let one = test(&result, "SEQ1M Q8T1 read");
    // MB are 10^6 bytes.
    assert_eq!(figures(one), (2_097_152_000.0, 2000.0, 3990.25));
    assert_eq!((one.test.threads, one.test.queue_depth(), one.test.block), (1, 8, Bytes::mebi(1)));
    assert_eq!(one.test.pattern(), Some(&Pattern::Sequential));
    assert_eq!(
        (one.test.span, one.test.duration),
        (Bytes::mebi(1024), Some(Duration::from_seconds(5)))
    );
    assert_eq!(single_sample(one).elapsed, Duration::from_seconds(5));
    let one = test(&result, "RND4K Q32T16 read");
    assert_eq!((one.test.threads, one.test.queue_depth()), (16, 32));
    // The text states only mean latencies.
    let latency = reads(one);
    assert_eq!(
        (latency.detail(), latency.percentile_ns(50.0), latency.max_ns()),
        (LatencyDetail::Mean, None, None)
    );
    let one = test(&result, "RND4K Q1T1 mix");
    assert!((one.test.read_share().get() - 0.7).abs() < 1e-9);
    assert!(single_sample(one).unified.is_some() && single_sample(one).reads.is_none());
    assert!(single_sample(test(&result, "SEQ1M Q8T1 write")).writes.is_some());
    let best = |warning: &Warning| matches!(warning, Warning::BestOfRuns { runs: Some(5), .. });
    assert!(result.warnings.iter().any(best));
    let rates = |warning: &Warning| matches!(warning, Warning::RatesOnly { time, .. } if *time == Duration::from_seconds(5));
    assert!(result.warnings.iter().any(rates));
    let Target::Measured(target) = &result.target else { panic!() };
    assert_eq!((target.path.as_str(), target.direct), ("D:", None));
}

#[test]
fn old_versions_have_the_sizes_of_their_documentation() {
    let result_6 = result(sample("crystaldiskmark-6.txt"));
    let one = test(&result_6, "SEQ128K Q32T1 read");
    // The requests a second are computed from the size.
    assert_eq!(figures(one), (524_288_000.0, 4000.0, 0.0));
    assert_eq!(reads(one).detail(), LatencyDetail::Count);
    assert_eq!(test(&result_6, "SEQ1M Q1T1 read").test.block, Bytes::mebi(1));
    let one = test(&result_6, "RND4K Q8T8 read");
    assert_eq!((one.test.threads, one.test.queue_depth(), one.iops.value), (8, 8, 50_000.0));
    let imported = import(sample("crystaldiskmark-6.txt"), &SuppliedSettings::default());
    assert!(
        imported.notes.iter().any(|note| note.contains("documentation")),
        "{:?}",
        imported.notes
    );
    let result_3 = result(sample("crystaldiskmark-3.txt"));
    // The name is the name in the library's workload.
    let one = test(&result_3, "512K read");
    assert_eq!((one.test.block, one.test.queue_depth()), (Bytes::kibi(512), 1));
    assert_eq!(test(&result_3, "Seq read").throughput_bytes_per_second.value, 104_858_000.0);
    let one = test(&result_3, "4K QD32 write");
    assert_eq!((one.test.queue_depth(), one.iops.value), (32, 300.0));
    assert_eq!(one.test.span, Bytes::mebi(1000));
}

#[test]
fn kdiskmarks_throughput_follows_from_its_requests() {
    let imported = import(sample("kdiskmark-3.txt"), &SuppliedSettings::default());
    let one = test(&imported.result, "SEQ1M Q8T1 read");
    assert_eq!(figures(one), (524_288_000.0, 500.0, 15_900.1));
    assert_eq!(
        test(&imported.result, "RND4K Q32T1 read").throughput_bytes_per_second.value,
        409_600_000.0
    );
    // Mixed tests are omitted, because their figures are means of both directions.
    assert!(imported.result.tests.iter().all(|test| !test.test.name.contains("mix")));
    let notes = imported.notes.join("\n");
    assert!(
        notes.contains("1 mixed tests are omitted") && notes.contains("divided by 1000"),
        "{notes}"
    );
    assert!(
        !imported
            .result
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::BestOfRuns { .. }))
    );
}

#[test]
fn lanemarks_own_export_comes_back_and_a_simulation_does_not() {
    let own = result(sample("crystaldiskmark-8.txt"));
    let text = lanemark_formats::crystaldiskmark::write(&own, Default::default());
    let again = result(&text);
    assert!(engine(&again).starts_with("Lanemark"), "{}", engine(&again));
    for (one, other) in own.tests.iter().zip(&again.tests) {
        assert_eq!((&one.test.name, figures(one)), (&other.test.name, figures(other)));
    }
    let simulated = text.replace("[D:, 1 GiB]", "[a@b:c (simulated)]");
    assert_ne!(simulated, text);
    assert!(foreign::read(&simulated, "f").unwrap_err().to_string().contains("simulated"));
}

#[test]
fn fios_normal_output_has_counts_percentiles_and_flushes() {
    let imported = import(sample("fio-3.txt"), &SuppliedSettings::default());
    let result = &imported.result;
    assert!(engine(result).starts_with("fio-3.33"), "{}", engine(result));
    let one = test(result, "reads");
    let side = single_sample(one).reads.as_ref().unwrap();
    // The bytes are computed from the issued requests, not from the rounded text.
    assert_eq!((side.bytes, side.latency.count()), (Bytes(500_000 * 4096), 500_000));
    assert_eq!(single_sample(one).elapsed, Duration::from_seconds(10));
    assert_eq!(
        (one.test.threads, one.test.queue_depth(), one.test.pattern()),
        (2, 16, Some(&Pattern::Uniform))
    );
    // The percentiles and the mean are of the completion latency.
    let latency = reads(one);
    assert_eq!((latency.detail(), latency.stated().len()), (LatencyDetail::Percentiles, 6));
    assert_eq!(
        (latency.percentile_ns(99.0), latency.percentile_ns(99.9)),
        (Some(906_000), Some(1_254_000))
    );
    assert_eq!((latency.mean_ns(), latency.max_ns()), (635_250.0, Some(4_923_000)));
    assert_eq!(latency.percentile_ns(95.0), None);
    // The percentages of two clones are relative to a time that is not known.
    assert_eq!(single_sample(one).cpu, None);
    let log = test(result, "log");
    // The engine waits for each request.
    assert_eq!((log.test.queue_depth(), log.test.threads), (1, 1));
    let flushes = &single_sample(log).flushes.as_ref().unwrap().latency;
    assert_eq!((flushes.count(), flushes.percentile_ns(99.0)), (10_030, Some(2_835_000)));
    assert_eq!(single_sample(log).writes.as_ref().unwrap().bytes, Bytes(10_030 * 2300));
    assert!(single_sample(log).cpu.is_some());
    let Target::Measured(target) = &result.target else { panic!() };
    assert_eq!((target.direct, target.block_device.as_deref()), (None, None));
    assert!(imported.notes.iter().any(|note| note.contains("time zone")), "{:?}", imported.notes);
}

#[test]
fn the_kilobytes_of_fio_2_have_1024_bytes() {
    let result = result(sample("fio-2.txt"));
    let one = single_sample(test(&result, "old"));
    let reads = one.reads.as_ref().unwrap();
    let writes = one.writes.as_ref().unwrap();
    assert_eq!((reads.bytes, writes.bytes), (Bytes(10_000 * 8192), Bytes(5_000 * 8192)));
    // The unit differs between lines: ms for the minimum and maximum, and us for the percentiles.
    assert_eq!(
        (reads.latency.mean_ns(), reads.latency.percentile_ns(50.0)),
        (2_500_000.0, Some(2_320_000))
    );
    assert_eq!((writes.latency.mean_ns(), writes.latency.percentile_ns(50.0)), (122_600.0, None));
    assert_eq!(test(&result, "old").test.block, Bytes(8192));
}

#[test]
fn repeated_figures_of_one_run_count_once_and_clones_are_added() {
    let text = sample("fio-3.txt");
    let (options, figures) = text.split_once("\nreads: (groupid").unwrap();
    let twice = format!("{options}\nreads: (groupid{figures}\nreads: (groupid{figures}");
    let imported = import(&twice, &SuppliedSettings::default());
    assert_eq!(imported.result.tests.len(), 2);
    assert_eq!(imported.result.tests[0].iops.value, 50_000.0);
    assert!(imported.notes.iter().any(|note| note.contains("status-interval")));
    // The text contains two consecutive runs.
    let appended = result(&format!("{text}\n{text}"));
    assert_eq!(appended.tests.len(), 4);
    assert_eq!(appended.tests[2].test.name, "reads (2)");
    // The clones are listed without group_reporting.
    let entry = &figures[..figures.find("log: (groupid").unwrap()];
    let clones = format!("{options}\nreads: (groupid{entry}reads: (groupid{figures}");
    let one = &result(&clones).tests[0];
    assert_eq!((one.iops.value, one.test.threads), (100_000.0, 3));
}

#[test]
fn a_sum_of_unlike_jobs_does_not_have_their_options() {
    let text = sample("fio-3.txt").replace("(g=1): rw=write", "(g=0): rw=write");
    let text = &text[..text.find("log: (groupid").unwrap()];
    let result = result(text);
    assert!(
        result.warnings.iter().any(|warning| matches!(warning, Warning::OptionsContradict { .. }))
    );
    assert_eq!(result.tests[0].test.stated_queue_depth(), None);
    assert_eq!(result.tests[0].test.pattern(), None);
}

#[test]
fn terse_output_states_neither_pattern_nor_depth() {
    for name in ["fio-terse-3.txt", "fio-terse-5.txt"] {
        let result = result(sample(name));
        let one = test(&result, "mix");
        let reads = single_sample(one).reads.as_ref().unwrap();
        let writes = single_sample(one).writes.as_ref().unwrap();
        // The rates of 1999.8 and 999.9 requests a second are truncated to 1,999 and 999.
        assert_eq!((reads.latency.count(), writes.latency.count()), (20_000, 10_000), "{name}");
        assert_eq!((reads.bytes, one.test.block), (Bytes(20_000 * 4096), Bytes(4096)));
        assert_eq!(
            (reads.latency.percentile_ns(99.0), reads.latency.mean_ns()),
            (Some(700_000), 480_250.0)
        );
        assert_eq!(writes.latency.percentile_ns(50.0), Some(80_000));
        assert_eq!((one.test.stated_queue_depth(), one.test.pattern()), (None, None));
        assert!(result.warnings.iter().any(|warning| matches!(warning, Warning::NotStated { .. })));
        // The user can supply these settings.
        let supplied = SuppliedSettings {
            span: Some(Bytes::mebi(4096)),
            pattern: Some(Pattern::Uniform),
            queue_depth: Some(4),
        };
        let imported = import(sample(name), &supplied);
        let test = &imported.result.tests[0].test;
        assert_eq!(
            (test.queue_depth(), test.span, test.unstated().len()),
            (4, Bytes::mebi(4096), 0)
        );
    }
}

#[test]
fn diskspd_text_and_xml_state_the_same() {
    let text = import(sample("diskspd.txt"), &SuppliedSettings::default());
    let xml = import(sample("diskspd.xml"), &SuppliedSettings::default());
    for imported in [&text, &xml] {
        let one = test(&imported.result, "RND8K Q8T4 R75W25");
        let reads = single_sample(one).reads.as_ref().unwrap();
        let writes = single_sample(one).writes.as_ref().unwrap();
        assert_eq!((reads.bytes, reads.latency.count()), (Bytes(245_760_000), 30_000));
        assert_eq!((writes.bytes, writes.latency.count()), (Bytes(81_920_000), 10_000));
        assert_eq!(
            (reads.latency.mean_ns(), reads.latency.percentile_ns(99.0)),
            (1_800_000.0, Some(3_500_000))
        );
        assert_eq!(
            (writes.latency.min_ns(), writes.latency.max_ns()),
            (Some(300_000), Some(13_000_000))
        );
        assert_eq!((one.test.threads, one.test.queue_depth(), one.test.block), (4, 8, Bytes(8192)));
        assert_eq!(
            (one.test.pattern(), one.test.read_share().get()),
            (Some(&Pattern::Uniform), 0.75)
        );
        assert_eq!(one.test.duration, Some(Duration::from_seconds(10)));
        assert_eq!(imported.timestamp, Some(1_709_640_000));
        let Target::Measured(target) = &imported.result.target else { panic!() };
        assert_eq!((target.path.as_str(), target.direct), ("test.dat", Some(true)));
    }
    let nines = reads(test(&text.result, "RND8K Q8T4 R75W25")).percentile_ns(99.9);
    assert_eq!(nines, Some(7_250_000));
    assert_eq!(test(&xml.result, "RND8K Q8T4 R75W25").test.span, Bytes::mebi(1024));
}

#[test]
fn a_part_of_diskspds_text_has_its_command_line() {
    let text = "Command Line: diskspd -c1G -d10 -r -w100 -t8 -o16 -b4K -h -L t.dat\nResults for timespan 1:\n\
                actual test time:\t10.00s\nTotal IO\nthread | bytes | I/Os | MiB/s | I/O per s | AvgLat | LatStdDev | file\n\
                --\n 0 | 4096000 | 1000 | 1 | 100 | 2.5 | 1 | t.dat\n--\ntotal:  4096000 | 1000 | 1 | 100 | 2.5 | 1\n";
    let own = result(text);
    let one = test(&own, "RND4K Q16T8 write");
    assert_eq!((one.iops.value, one.latency_mean_ns.value), (100.0, 2_500_000.0));
    assert!(single_sample(one).reads.is_none());
    // A size is not used if the counts contradict it.
    let other = result(&text.replace("-b4K", "-b8K"));
    assert_eq!(other.tests[0].test.block, Bytes(4096));
    assert!(other.warnings.iter().any(|warning| matches!(warning, Warning::Imported { .. })));
    // Without -L, the text does not contain latencies.
    let bare = text.replace(" | AvgLat | LatStdDev", "").replace(" | 2.5 | 1", "");
    let bare = result(&bare);
    assert_eq!((bare.tests[0].iops.value, bare.tests[0].latency_mean_ns.value), (100.0, 0.0));
    assert!(bare.warnings.iter().any(|warning| matches!(warning, Warning::NoLatencies { .. })));
}

#[test]
fn iometers_results_have_the_specification_and_the_depth_of_the_workers() {
    let own = result(sample("iometer.csv"));
    let one = test(&own, "4 KiB; 67% read; random");
    let reads = single_sample(one).reads.as_ref().unwrap();
    let writes = single_sample(one).writes.as_ref().unwrap();
    assert_eq!((reads.bytes, reads.latency.count()), (Bytes(163_840_000), 40_000));
    assert_eq!((one.iops.value, single_sample(one).elapsed), (6000.0, Duration::from_seconds(10)));
    assert_eq!(
        (writes.latency.mean_ns(), writes.latency.max_ns()),
        (6_000_000.0, Some(80_250_000))
    );
    assert_eq!((reads.latency.min_ns(), reads.latency.percentile_ns(50.0)), (None, None));
    assert_eq!((one.test.threads, one.test.queue_depth(), one.test.block), (2, 16, Bytes(4096)));
    assert_eq!(
        (one.test.pattern(), one.test.span),
        (Some(&Pattern::Uniform), Bytes(2_097_152 * 512))
    );
    assert!((one.test.read_share().get() - 0.67).abs() < 1e-9);
    // If the depths of the workers differ, the test does not have a depth.
    let other = sample("iometer.csv").replacen("2097152,16\nDISK", "2097152,4\nDISK", 1);
    assert_eq!(result(&other).tests[0].test.stated_queue_depth(), None);
    // Partly random requests do not correspond to a pattern.
    let partly = sample("iometer.csv").replace("4096,100,67,100,", "4096,100,67,50,");
    assert_eq!(result(&partly).tests[0].test.pattern(), None);
    // Only a time in UTC is kept. 2024-03-05 12:00 is 19,787.5 days after the start of 1970.
    let timestamp = |text: &str| import(text, &SuppliedSettings::default()).timestamp;
    assert_eq!(timestamp(sample("iometer.csv")), None);
    let utc = sample("iometer.csv").replace("2024-03-05 12:00:00:000", "2024-03-05T12:00:00Z");
    assert_eq!(timestamp(&utc), Some(19_787 * 86_400 + 43_200));
}

#[test]
fn a_known_format_that_is_not_read_is_named_with_an_alternative() {
    for (text, name, alternative) in [
        ("AS SSD Benchmark 2.0.7316\n", "AS SSD", "lanemark bench"),
        ("1+0 records in\n1+0 records out\n", "dd's output", "lanemark bench"),
        ("2;a;0;0;0;1", "not a result", "accepted formats"),
        ("[global]\nrw=read\n[a]\n", "a fio job file", "--workload"),
        ("{\"blockdevices\": []}", "lsblk", "lanemark inspect"),
        ("fio --rw=randread --bs=4k", "command line", "lanemark sim SYSTEM --"),
        ("'Version 1.1.0 \n'TEST SETUP ====\n", "Iometer's settings", "workload"),
        ("nothing", "not a result in a known format", "diskspd"),
        ("", "not a result in a known format", "KDiskMark"),
    ] {
        let error = foreign::read(text, "f").unwrap_err();
        assert!(error.to_string().contains(name), "{text}: {error}");
        assert!(
            error.hint.as_deref().unwrap_or_default().contains(alternative),
            "{text}: {error:?}"
        );
    }
}

#[test]
fn tests_that_were_not_run_are_omitted() {
    let text = sample("kdiskmark-3.txt");
    let none = "    Random   4 KiB (Q= 32, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>";
    let (before, rest) = text.split_once("    Random   4 KiB (Q= 32").unwrap();
    let partly = format!("{before}{none}\n{}", rest.split_once('\n').unwrap().1);
    let imported = import(&partly, &SuppliedSettings::default());
    let names: Vec<&str> =
        imported.result.tests.iter().map(|test| test.test.name.as_str()).collect();
    assert_eq!(names, ["SEQ1M Q8T1 read", "RND4K Q1T1 write"]);
    let note = imported.notes.iter().find(|note| note.starts_with("RND4K Q32T1 read"));
    assert!(note.unwrap().contains("not run"), "{:?}", imported.notes);
    let nothing = format!("[Read]\n{none}\n");
    let runs = foreign::read(&nothing, "f").unwrap();
    let error = foreign::results(runs, &SuppliedSettings::default()).unwrap_err();
    assert!(error.to_string().contains("no test with requests"), "{error}");
}

#[test]
fn calls_of_fdatasync_are_counted_from_the_depths() {
    // fio counts only fsync among the issued requests, and both among the depths.
    let text = sample("fio-3.txt").replace("total=0,10030,0,10030", "total=0,10030,0,0");
    let flushes = |text: &str| single_sample(test(&result(text), "log")).flushes.clone();
    assert_eq!(flushes(&text), None);
    let (before, after) = text.rsplit_once("     issued rwts").unwrap();
    let depths =
        |share: &str| format!("{before}  IO depths    : 1={share}%, 2=0.0%\n     issued rwts{after}");
    let latency = flushes(&depths("150.0")).unwrap().latency;
    assert_eq!((latency.count(), latency.percentile_ns(99.0)), (5015, Some(2_835_000)));
    assert_eq!(flushes(&depths("100.1")), None);
}

#[test]
fn trims_are_the_requests_of_a_test_that_only_trims() {
    let text = "cut: (g=0): rw=randtrim, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, \
                ioengine=sync, iodepth=1\n\
                cut: (groupid=0, jobs=1): err= 0: pid=9: Thu May  9 10:00:00 2019\n  \
                trim: IOPS=2000, BW=15.6MiB/s (16.4MB/s)(156MiB/10000msec)\n    \
                clat (usec): min=60, max=900, avg=480.50, stdev=4.41\n     \
                issued rwts: total=0,0,20000,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let own = result(text);
    let one = test(&own, "cut");
    assert_eq!(figures(one), (16_384_000.0, 2000.0, 480.5));
    assert!(one.test.trims() && !one.test.reads() && !one.test.writes());
    assert_eq!(one.test.block, Bytes(8192));
}

#[test]
fn quoted_lines_are_read_like_plain_ones() {
    for name in ["fio-3.txt", "crystaldiskmark-8.txt", "diskspd.txt", "iometer.csv"] {
        let plain = import(sample(name), &SuppliedSettings::default());
        for mark in ["> ", ">", "> > "] {
            let quoted: String =
                sample(name).lines().map(|line| format!("{mark}{line}\n")).collect();
            let again = import(&quoted, &SuppliedSettings::default());
            assert_eq!(again, plain, "{name} {mark}");
        }
    }
}

#[test]
fn sizes_with_cut_decimals_do_not_change_the_rate() {
    // 10.9 MiB in 1 s are printed as 10.0 MiB.
    let entry = |bytes: &str, rate: &str, iops: &str, issued: &str| {
        let text = format!(
            "a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=sync, iodepth=1\n\
             a: (groupid=0, jobs=1): err= 0: pid=9: x\n  \
             read: IOPS={iops}, BW={rate} (11.4MB/s)({bytes}/1000msec)\n     {issued}\n"
        );
        let one = result(&text).tests.remove(0);
        (one.throughput_bytes_per_second.value, one.iops.value)
    };
    let issued = "issued rwts: total=2790,0,0,0 short=0,0,0,0 dropped=0,0,0,0";
    let exact = (2790.0 * 4096.0, 2790.0);
    assert_eq!(entry("10.0MiB", "10.0MiB/s", "2790", issued), exact);
    assert_eq!(entry("10.9MiB", "10.0MiB/s", "2790", issued), exact);
    // Without the number of issued requests, the rate decides.
    assert_eq!(entry("10.0MiB", "10.0MiB/s", "2790", ""), exact);
    let (bytes, iops) = entry("10.0MiB", "11160KiB/s", "2790", "");
    assert_eq!((bytes, iops), exact);
    // A rate outside the printed size contradicts it.
    assert_eq!(entry("10.0MiB", "10.0MiB/s", "3500", "").0, 10.0 * 1_048_576.0);
}

#[test]
fn the_size_of_a_diskspd_file_stands_in_its_rows() {
    let text = sample("diskspd.txt").replace("-c1G ", "");
    assert_eq!(test(&result(&text), "RND8K Q8T4 R75W25").test.span, Bytes::mebi(1024));
    let two = text.replacen(
        "test.dat (1GiB)\n--",
        "test.dat (1GiB)\n 1 | 0 | 0 | 0 | 0 | 0 | 0 | b.dat (3GiB)\n--",
        1,
    );
    assert_ne!(two, text);
    assert_eq!(test(&result(&two), "RND8K Q8T4 R75W25").test.span, Bytes::mebi(4096));
}

/// Reads `text`, and checks the result if it is accepted.
fn survives(text: &str) {
    let Ok(runs) = foreign::read(text, "it") else { return };
    let Ok(all) = foreign::results(runs, &SuppliedSettings::default()) else { return };
    for one in all {
        one.result.check().unwrap();
        for test in &one.result.tests {
            assert!(
                test.iops.value.is_finite() && test.throughput_bytes_per_second.value.is_finite()
            );
        }
        assert!(matches!(one.result.workload.average, AverageMethod::Mean | AverageMethod::Median));
    }
}

#[test]
fn cut_and_damaged_texts_are_errors_or_results_that_can_be() {
    for (name, text) in SAMPLES {
        survives(text);
        survives(&text.replace('\n', "\r\n"));
        survives(&format!("\u{feff}{text}"));
        for line in text.lines() {
            let at = line.as_ptr() as usize - text.as_ptr() as usize;
            survives(&text[..at + line.len() / 2]);
            survives(&text.replacen(line, "", 1));
        }
        // Each number in turn is replaced by an impossible number.
        let digits: Vec<usize> = text
            .char_indices()
            .filter(|(at, letter)| {
                letter.is_ascii_digit()
                    && !text[..*at].ends_with(|before: char| before.is_ascii_digit())
            })
            .map(|(at, _)| at)
            .collect();
        for at in digits {
            let end = at + text[at..].find(|letter: char| !letter.is_ascii_digit()).unwrap_or(1);
            for other in ["0", "-1", "99999999999999999999999999", "1e999", "nan", "", "é"] {
                survives(&format!("{}{other}{}", &text[..at], &text[end..]));
            }
        }
        assert!(!name.is_empty());
    }
}

#[test]
fn texts_of_very_many_tests_are_refused() {
    let line = "  SEQ    1MiB (Q=  8, T= 1):  2097.152 MB/s [   2000.0 IOPS] <  3990.25 us>\n";
    let text = format!("[Read]\n{}", line.repeat(2000));
    assert!(foreign::read(&text, "f").unwrap_err().to_string().contains("more than 1024 tests"));
    let rows = "a: (groupid=0, jobs=1): err= 0: pid=1: x\n  read: IOPS=1, BW=4KiB/s (4kB/s)(4KiB/1000msec)\n";
    survives(&rows.repeat(20_000));
    survives(&"|  1.00th=[   70],".repeat(100_000));
    survives(&format!("<Results><TimeSpan>{}", "<a>".repeat(100_000)));
}

#[test]
fn a_share_of_random_requests_is_a_mixed_pattern() {
    const RANDOM: &str = "<Random>8192</Random>";
    for (ratio, is_mixed) in [("0", false), ("1", true), ("50", true), ("99", true), ("100", false)]
    {
        let text = sample("diskspd.xml")
            .replace(RANDOM, &format!("{RANDOM}<RandomRatio>{ratio}</RandomRatio>"));
        let imported = import(&text, &SuppliedSettings::default()).result;
        let pattern = imported.tests[0].test.pattern();
        assert_eq!(pattern.is_none(), is_mixed, "{ratio}%: {pattern:?}");
    }
}

#[test]
fn crystaldiskmark_rates_that_contradict_each_other_are_noted_with_their_difference() {
    let text = sample("crystaldiskmark-8.txt");
    assert!(import(text, &SuppliedSettings::default()).notes.iter().all(|n| !n.contains("imply")));
    let line = text.lines().find(|line| line.contains("RND") && line.contains("IOPS")).unwrap();
    let (before, rest) = line.split_once('[').unwrap();
    let (iops, after) = rest.split_once(" IOPS").unwrap();
    let tenth_more = iops.trim().parse::<f64>().unwrap() * 1.1;
    let changed = text.replacen(line, &format!("{before}[{tenth_more:9.1} IOPS{after}"), 1);
    let notes = import(&changed, &SuppliedSettings::default()).notes;
    let noted: Vec<&String> = notes.iter().filter(|note| note.contains("imply")).collect();
    assert_eq!(noted.len(), 1, "{notes:?}");
    assert!(
        noted[0].contains("differs from its MB/s by +10.") || noted[0].contains("+9.9"),
        "{noted:?}"
    );
}
