//! Writes results for programs that follow benchmarks over many changes of a program.
//!
//! - Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format>): an object for each test, with
//!   the measures `throughput` in operations a second and `latency` in nanoseconds.
//! - The custom tool of github-action-benchmark (<https://github.com/benchmark-action/github-action-benchmark>,
//!   `customBiggerIsBetter`): an array of rates.

use lanemark_schema::result::{RunResult, Statistic};
use serde_json::{Map, Value, json};

/// Returns the rates and mean latencies of a run in Bencher Metric Format.
#[must_use]
pub fn bencher(run: &RunResult) -> String {
    let test = |result: &lanemark_schema::result::TestResult| {
        let mut measures = json!({ "throughput": metric(&result.iops) });
        if result.latency().is_measured() {
            measures["latency"] = metric(&result.latency_mean_ns);
        }
        (result.test.name.clone(), measures)
    };
    text(&Value::Object(run.tests.iter().map(test).collect::<Map<_, _>>()))
}

/// Returns a figure with its 95% interval, if it has one.
fn metric(figure: &Statistic) -> Value {
    match figure.interval_95 {
        Some((low, high)) => {
            json!({ "value": figure.value, "lower_value": low, "upper_value": high })
        }
        None => json!({ "value": figure.value }),
    }
}

/// Returns the rates of a run for github-action-benchmark, in MB/s of 10^6 bytes.
#[must_use]
pub fn github_benchmark(run: &RunResult) -> String {
    let test = |result: &lanemark_schema::result::TestResult| {
        let rate = &result.throughput_bytes_per_second;
        let mut row = json!({
            "name": result.test.name, "unit": "MB/s", "value": rate.value / 1e6,
        });
        if rate.has_range() {
            row["range"] = json!(format!("± {:.1}%", 100.0 * rate.spread()));
        }
        row
    };
    text(&Value::Array(run.tests.iter().map(test).collect()))
}

fn text(value: &Value) -> String {
    format!("{value:#}\n")
}
