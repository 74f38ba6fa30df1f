//! Figures that fio prints several times, in phases, or without the time of submission.

use lanemark_formats::{ImportedResult, SuppliedSettings};

use crate::{figures, import as import_with};

fn import(text: &str) -> ImportedResult {
    import_with(text, &SuppliedSettings::default())
}

fn has_note(imported: &ImportedResult, part: &str) -> bool {
    imported.notes.iter().any(|note| note.contains(part))
}

/// Returns the normal output of one process that read `count` blocks of 4 KiB in `ms`.
fn printed(pid: u32, count: u64, ms: u64) -> String {
    let iops = count * 1000 / ms;
    let bytes = count * 4096;
    format!(
        "t: (groupid=0, jobs=1): err= 0: pid={pid}: Thu Mar  9 10:10:10 2023\n  \
         read: IOPS={iops}, BW=1MiB/s (1MB/s)({bytes}B/{ms}msec)\n    \
         lat (usec): min=7, max=77, avg=31.21, stdev=5.83\n    \
         issued rwts: total={count},0,0,0 short=0,0,0,0\n"
    )
}

const OPTIONS: &str = "t: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, \
                       iodepth=4\n";

/// Returns a line of version 3 for `kib` of reads in `ms`.
fn terse(kib: u64, ms: u64) -> String {
    let side = |kib: u64, ms: u64| {
        let percentiles = ["0%=0"; 20].join(";");
        format!(
            ";{kib};1;{};{ms};5;100;20.1;3;500;2000;950.5;1;{percentiles};510;2100;970.5;1;0;0;0%;0;0",
            kib / 4 * 1000 / ms.max(1)
        )
    };
    format!("3;fio-3.1;t;0;0{}{};1%;2%;3\n", side(kib, ms), side(0, 0))
}

#[test]
fn snapshots_of_a_job_are_replaced_by_its_last_figures() {
    for (text, iops, threads, is_noted) in [
        (
            format!("{OPTIONS}{}{}", printed(1, 128_000, 1000), printed(1, 200_000, 2000)),
            100_000.0,
            1,
            true,
        ),
        // Clones have different processes.
        (
            format!("{OPTIONS}{}{}", printed(1, 200_000, 2000), printed(2, 200_000, 2000)),
            200_000.0,
            2,
            false,
        ),
        (terse(400_000, 1000) + &terse(800_000, 2001), 99_950.0, 1, true),
        (
            terse(400_000, 1000)
                + &terse(400_000, 1000)
                + &terse(800_000, 2000)
                + &terse(800_000, 2000),
            200_000.0,
            2,
            true,
        ),
        (terse(800_000, 2000) + &terse(810_000, 2001), 201_149.0, 2, false),
    ] {
        let imported = import(&text);
        let [test] = &imported.result.tests[..] else { panic!("{text}") };
        assert!(
            (test.iops.value / iops - 1.0).abs() < 1e-3,
            "{} of {iops}: {text}",
            test.iops.value
        );
        assert_eq!(
            (test.test.threads, has_note(&imported, "--status-interval")),
            (threads, is_noted),
            "{text}"
        );
    }
}

#[test]
fn runs_that_follow_one_another_are_separate_tests() {
    let run = |pid: u32, time: &str| {
        let date = format!(" pid={pid}: Mon Jul  3 {time} 2023");
        let text = printed(1, 200_000, 2000);
        let (before, rest) = text.split_once(" pid=").unwrap();
        let (_, after) = rest.split_once('\n').unwrap();
        format!("{before}{date}\n{after}")
    };
    for status in ["", "Run status group 0 (all jobs):\n   READ: bw=1MiB/s\n"] {
        let rates = |text: &str| -> Vec<f64> {
            import(text).result.tests.iter().map(|test| test.iops.value.round()).collect()
        };
        let later = rates(&format!("{}{status}{}", run(1, "07:08:23"), run(2, "07:10:23")));
        assert_eq!(later, [100_000.0; 2], "{status}");
    }
    let clones = import(&(run(1, "07:08:23") + &run(2, "07:08:24")));
    assert_eq!(clones.result.tests.len(), 1);
}

#[test]
fn directions_of_different_run_times_are_separate_tests() {
    let text = "t: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16\n\
                t: (groupid=0, jobs=1): err= 0: pid=181274: Tue Nov 15 11:40:08 2022\n  \
                read: IOPS=272k, BW=1064MiB/s (1115MB/s)(2529MiB/2378msec)\n    \
                write: IOPS=74.8k, BW=292MiB/s (306MB/s)(4000MiB/13688msec); 0 zone resets\n     \
                issued rwts: total=647452,1024000,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let latency = r#""lat_ns": {"min": 1000, "max": 90000, "mean": 58000}"#;
    let json = format!(
        r#"{{"fio version": "fio-3.28", "jobs": [{{"jobname": "t", "groupid": 0, "error": 0,
        "job options": {{"rw": "randwrite", "bs": "4k", "iodepth": "16", "ioengine": "libaio", "direct": "1", "verify": "crc32c", "filename": "/dev/sdb"}},
        "read": {{"io_bytes": 2651963392, "io_kbytes": 2589808, "runtime": 2378, "total_ios": 647452, {latency}}},
        "write": {{"io_bytes": 4194304000, "io_kbytes": 4096000, "runtime": 13688, "total_ios": 1024000, {latency}}}}}]}}"#
    );
    for text in [text, &json] {
        let imported = import(text);
        let [reads, writes] = &imported.result.tests[..] else { panic!("{text}") };
        assert_eq!(
            (reads.test.name.as_str(), writes.test.name.as_str()),
            ("t, reads", "t, writes")
        );
        assert!(
            (figures(reads).1 - 272_267.0).abs() < 10.0
                && (figures(writes).1 - 74_810.0).abs() < 10.0
        );
        assert_eq!((reads.test.issue_depth(), writes.test.issue_depth()), (16, 16), "{text}");
        assert!(
            has_note(&imported, "different times")
                && !imported.result.warnings.iter().any(|warning| {
                    matches!(warning, lanemark_schema::result::Warning::OptionsContradict { .. })
                }),
            "{:?}",
            imported.result.warnings
        );
    }
    // Run times that differ by 2% belong to one phase.
    let one = text.replace("2378msec", "13415msec");
    assert_eq!(import(&one).result.tests.len(), 1);
}

#[test]
fn completion_latencies_are_noted_with_the_time_of_submission() {
    let text = printed(1, 1000, 1000).replace("    issued", "     clat (usec): min=0, max=70, avg=24.71, stdev=1\n    clat percentiles (usec):\n     | 50.00th=[   20]\n    issued");
    for (text, expected) in [(text, "up to 6.5 µs"), (terse(400_000, 1000), "up to 20.0 µs")] {
        assert!(has_note(&import(&text), expected), "{:?}", import(&text).notes);
    }
}
