//! The series of a run as CSV, one row per interval, which other programs can plot.

use std::fmt::Write as _;

use lanemark_schema::result::RunResult;
use lanemark_schema::text::shown;

/// The first line, which identifies a file of this format.
pub const SERIES_CSV_HEADER: &str = "test,repeat,start_s,length_s,reads,writes,read_bytes,written_bytes,iops,\
     bytes_per_second,latency_mean_us,latency_max_us,flash_written_bytes,write_amplification";

/// Writes every interval of each repeat of the tests that have a series; repeats are counted from 1. Unknown values are
/// empty.
pub fn series_csv(run: &RunResult) -> String {
    let mut text = format!("{SERIES_CSV_HEADER}\n");
    for test in &run.tests {
        let name = quoted(&test.test.name);
        let repeats = test.samples.iter().enumerate();
        for (repeat, series) in
            repeats.filter_map(|(repeat, sample)| Some((repeat + 1, sample.series.as_ref()?)))
        {
            for (index, point) in series.points.iter().enumerate() {
                let flash = point.drive.map(|drive| drive.flash_written().get().to_string());
                let amplification = point.write_amplification().map(|value| format!("{value:.4}"));
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "{name},{repeat},{},{},{},{},{},{},{:.1},{:.0},{:.3},{:.3},{},{}",
                    series.start(index).as_seconds(),
                    series.length(index).as_seconds(),
                    point.reads,
                    point.writes,
                    point.read_bytes.get(),
                    point.written_bytes.get(),
                    series.iops(index),
                    series.throughput(index),
                    point.latency_mean_ns / 1e3,
                    point.latency_max_ns as f64 / 1e3,
                    flash.unwrap_or_default(),
                    amplification.unwrap_or_default(),
                );
            }
        }
    }
    text
}

/// Quotes a name as a CSV field.
fn quoted(name: &str) -> String {
    let name = shown(name);
    if name.contains([',', '"']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into_owned()
    }
}
