//! Figures that a text does not state, or states with cut digits, are neither zero nor wrong.

use super::*;

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
    let depths = |share: &str| {
        format!(
            "{before}  IO depths    : 1={share}%, 2=0.0%, 4=0.0%, >=64=0.0%\n     issued rwts{after}"
        )
    };
    let latency = flushes(&depths("150.0")).unwrap().latency;
    assert_eq!((latency.count(), latency.percentile_ns(99.0)), (5015, Some(2_835_000)));
    // A flush followed every second write.
    let own = result(&depths("150.0"));
    assert_eq!(test(&own, "log").test.mix().flush_every, Some(2));
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
fn the_size_of_a_diskspd_file_is_in_its_rows() {
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
