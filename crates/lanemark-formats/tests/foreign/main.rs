//! Results from other programs: each figure has the unit of its program, and figures that a text does not state are
//! unknown.

mod fio;
mod hostile;
mod round_trip;
mod tables;
mod unknown;

use lanemark_formats::foreign;
use lanemark_formats::{ImportedResult, SuppliedSettings};
use lanemark_schema::result::{
    LatencyDetail, LatencyHistogram, RunResult, Sample, Target, TestResult, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{AverageMethod, Pattern};

/// The name and the text of each sample file.
const SAMPLES: [(&str, &str); 16] = [
    ("crystaldiskmark-3.txt", include_str!("crystaldiskmark-3.txt")),
    ("crystaldiskmark-6.txt", include_str!("crystaldiskmark-6.txt")),
    ("crystaldiskmark-8.txt", include_str!("crystaldiskmark-8.txt")),
    ("diskspd.txt", include_str!("diskspd.txt")),
    ("diskspd.xml", include_str!("diskspd.xml")),
    ("elbencho.txt", include_str!("elbencho.txt")),
    ("fio_bw.1.log", include_str!("fio_bw.1.log")),
    ("fio-2.txt", include_str!("fio-2.txt")),
    ("fio-3.txt", include_str!("fio-3.txt")),
    ("fio-terse-3.txt", include_str!("fio-terse-3.txt")),
    ("fio-terse-5.txt", include_str!("fio-terse-5.txt")),
    ("iometer.csv", include_str!("iometer.csv")),
    ("kbench.txt", include_str!("kbench.txt")),
    ("kdiskmark-3.txt", include_str!("kdiskmark-3.txt")),
    ("pg-test-fsync.txt", include_str!("pg-test-fsync.txt")),
    ("spdk-perf.txt", include_str!("spdk-perf.txt")),
];

fn sample(name: &str) -> &'static str {
    SAMPLES.iter().find(|(own, _)| *own == name).unwrap().1
}

fn import(text: &str, supplied: &SuppliedSettings) -> ImportedResult {
    // The name states the meaning of a log of fio; other formats do not depend on it.
    let runs = foreign::read(text, "it_bw.log").unwrap_or_else(|error| panic!("{error}"));
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
    assert_eq!((one.test.threads, one.test.issue_depth(), one.test.block), (1, 8, Bytes::mebi(1)));
    assert_eq!(one.test.pattern(), Some(&Pattern::Sequential));
    assert_eq!(
        (one.test.span, one.test.duration),
        (Bytes::mebi(1024), Some(Duration::from_seconds(5)))
    );
    assert_eq!(single_sample(one).elapsed, Duration::from_seconds(5));
    let one = test(&result, "RND4K Q32T16 read");
    assert_eq!((one.test.threads, one.test.issue_depth()), (16, 32));
    // The text states only mean latencies.
    let latency = reads(one);
    assert_eq!(
        (latency.detail(), latency.percentile_ns(50.0), latency.max_ns()),
        (LatencyDetail::Mean, None, None)
    );
    let one = test(&result, "RND4K Q1T1 mix");
    assert!((one.test.read_share().unwrap().get() - 0.7).abs() < 1e-9);
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
    assert_eq!((one.test.threads, one.test.issue_depth(), one.iops.value), (8, 8, 50_000.0));
    let imported = import(sample("crystaldiskmark-6.txt"), &SuppliedSettings::default());
    assert!(
        imported.notes.iter().any(|note| note.contains("documentation")),
        "{:?}",
        imported.notes
    );
    let result_3 = result(sample("crystaldiskmark-3.txt"));
    // The name is the name in the library's workload.
    let one = test(&result_3, "512K read");
    assert_eq!((one.test.block, one.test.issue_depth()), (Bytes::kibi(512), 1));
    assert_eq!(test(&result_3, "Seq read").throughput_bytes_per_second.value, 104_858_000.0);
    let one = test(&result_3, "4K QD32 write");
    assert_eq!((one.test.issue_depth(), one.iops.value), (32, 300.0));
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
        notes.contains("mixed tests are omitted (1)") && notes.contains("divided by 1000"),
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
        (one.test.threads, one.test.issue_depth(), one.test.pattern()),
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
    assert_eq!((log.test.issue_depth(), log.test.threads), (1, 1));
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
fn consecutive_runs_are_separate_tests() {
    let text = sample("fio-3.txt");
    let appended = result(&format!("{text}\n{text}"));
    assert_eq!(appended.tests.len(), 4);
    assert_eq!(appended.tests[2].test.name, "reads (2)");
}

#[test]
fn a_sum_of_unlike_jobs_does_not_have_their_options() {
    let text = sample("fio-3.txt").replace("(g=1): rw=write", "(g=0): rw=write");
    let text = &text[..text.find("log: (groupid").unwrap()];
    let result = result(text);
    assert!(
        result.warnings.iter().any(|warning| matches!(warning, Warning::OptionsContradict { .. }))
    );
    assert_eq!(result.tests[0].test.queue_depth(), None);
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
        assert_eq!((one.test.queue_depth(), one.test.pattern()), (None, None));
        assert!(result.warnings.iter().any(|warning| matches!(warning, Warning::NotStated { .. })));
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
        assert_eq!((one.test.threads, one.test.issue_depth(), one.test.block), (4, 8, Bytes(8192)));
        assert_eq!(
            (one.test.pattern(), one.test.read_share().unwrap().get()),
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
    assert_eq!((one.test.threads, one.test.issue_depth(), one.test.block), (2, 16, Bytes(4096)));
    assert_eq!(
        (one.test.pattern(), one.test.span),
        (Some(&Pattern::Uniform), Bytes(2_097_152 * 512))
    );
    assert!((one.test.read_share().unwrap().get() - 0.67).abs() < 1e-9);
    // Partly random requests do not correspond to a pattern.
    let partly = sample("iometer.csv").replace("4096,100,67,100,", "4096,100,67,50,");
    assert_eq!(result(&partly).tests[0].test.pattern(), None);
}

#[test]
fn figures_of_several_targets_are_not_attributed_to_one() {
    let name = |text: &str| result(text).target_name().to_owned();
    let iometer = sample("iometer.csv");
    let disk = iometer.lines().find(|line| line.starts_with("DISK")).unwrap();
    let xml = sample("diskspd.xml");
    let (_, after) = xml.split_once("<Targets>").unwrap();
    let (target, _) = after.split_once("</Targets>").unwrap();
    for (text, one, part, other) in
        [(iometer, "E: \"Volume\"", disk, "E:"), (xml, "test.dat", target, "test.dat")]
    {
        let two = text.replace(part, &format!("{part}\n{}", part.replace(other, "F:")));
        assert_eq!((name(text).as_str(), name(&two).as_str()), (one, "it_bw"));
    }
    let cdm = sample("crystaldiskmark-8.txt");
    let drive = name(cdm);
    let both = format!("{cdm}\n{}", cdm.replace(&drive, "Z:"));
    let runs = foreign::read(&both, "f").unwrap();
    let results = foreign::results(runs, &SuppliedSettings::default()).unwrap();
    let names: Vec<String> = results.iter().map(|one| one.result.target_name()).collect();
    assert_eq!(names, [drive, "Z:".to_owned()]);
    assert_eq!(results[1].result.tests.len(), results[0].result.tests.len());
}

#[test]
fn a_known_format_that_is_not_read_is_named_with_an_alternative() {
    for (text, name, alternative) in [
        ("2;a;0;0;0;1", "not a result", "accepted formats"),
        ("[global]\nrw=read\n[a]\n", "a fio job file", "lanemark sim"),
        ("{\"blockdevices\": []}", "lsblk", "lanemark inspect"),
        ("fio --rw=randread --bs=4k", "command line", "lanemark sim SYSTEM --"),
        ("'Version 1.1.0 \n'TEST SETUP ====\n", "Iometer's settings", "workload"),
        ("nothing", "not a result in a known format", "diskspd"),
        ("", "is empty", "finished"),
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
