//! Tests of CrystalDiskMark's text.

use lanemark_formats::crystaldiskmark::{self, LineEnd};
use lanemark_schema::result::{Sample, TestResult};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Pattern, Test};

use super::{direction, of_two_repeats};

#[test]
fn crystaldiskmark_has_the_median_of_the_repeats() {
    let mut run = of_two_repeats();
    let repeat = |seconds: u64, count: u64, latency: u64| Sample {
        elapsed: Duration::from_seconds(seconds),
        reads: direction(count << 20, &[(latency, count)]),
        ..Sample::empty()
    };
    let repeats = [(1, 100, 2_048_000), (2, 1000, 1_024_000), (1, 300, 4_096_000)]
        .map(|(s, n, ns)| repeat(s, n, ns));
    // The repeats have 100, 500 and 300 requests of 1 MiB a second, and latencies of 2.048, 1.024 and 4.096 ms.
    for (block, threads, pattern, wanted) in [
        (1 << 20, 2, Pattern::Sequential, "  SEQ    1MiB (Q=  4, T= 2):"),
        (12 << 10, 16, Pattern::Uniform, "  RND   12KiB (Q=  4, T=16):"),
        (512, 2, Pattern::Uniform, "  RND  512B   (Q=  4, T= 2):"),
    ] {
        let test = run.tests[0].test.clone().with(|requests| {
            requests.read_share = Ratio::ONE;
            requests.pattern = pattern.clone();
        });
        let test = Test { block: Bytes(block), threads, ..test };
        run.tests = vec![TestResult::new(&run.workload, &test, repeats.to_vec())];
        let text = crystaldiskmark::write(&run, LineEnd::Lf);
        let line = text.lines().find(|line| line.contains("IOPS]")).unwrap();
        let figures = "  314.573 MB/s [    300.0 IOPS] <  2048.00 us>";
        assert_eq!(line, format!("{wanted} {figures}"));
        assert!(text.contains("[Read]\n") && text.contains("(x3) [/dev/sdx"), "{text}");
    }
}
