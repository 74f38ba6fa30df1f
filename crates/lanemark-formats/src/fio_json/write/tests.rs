//! Tests of the classes of latencies in an export to fio's JSON.

use super::*;

#[test]
fn a_latency_at_the_end_of_a_class_is_in_the_next() {
    let class = |ns: u64| {
        let mut one = LatencyHistogram::new();
        one.record_ns(ns);
        let units = ["ns", "us", "ms"].into_iter().zip(classes(&one));
        let mut found = Vec::new();
        for (unit, json) in units {
            let Object(pairs) = json else { panic!() };
            let full = pairs.into_iter().filter(|(_, share)| *share == Real(100.0));
            found.extend(full.map(|(end, _)| format!("{unit} {end}")));
        }
        found.join(", ")
    };
    for (ns, wanted) in [
        (1, "ns 2"),
        (2, "ns 4"),
        (99, "ns 100"),
        (100, "ns 250"),
        (999, "ns 1000"),
        (1_000, "us 2"),
        (3_999, "us 4"),
        (4_000, "us 10"),
        (499_999, "us 500"),
        (999_999, "us 1000"),
        (1_000_000, "ms 2"),
        (999_999_999, "ms 1000"),
        (1_000_000_000, "ms 2000"),
        (1_999_999_999, "ms 2000"),
        (2_000_000_000, "ms >=2000"),
    ] {
        assert_eq!(class(ns), wanted, "{ns}");
    }
}
