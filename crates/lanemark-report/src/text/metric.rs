//! The headings of tables and charts of a metric.

use lanemark_schema::result::FigureMetric;

/// Returns the heading of a table of `metric`, with its unit.
pub(crate) fn heading(metric: FigureMetric) -> &'static str {
    match metric {
        FigureMetric::Throughput => "Throughput, MB/s = 10^6 bytes a second",
        FigureMetric::Iops => "Requests a second",
        FigureMetric::Latency => "Mean latency, µs",
        FigureMetric::ProcessorShare => "Share of the latency on the processor or controller, %",
        FigureMetric::Gain => "Throughput relative to another system's, minus one, %",
        FigureMetric::Power => "Mean power of the drives, W",
        FigureMetric::BatteryLife => "Battery life, h",
        FigureMetric::Transactions => "Transactions a minute",
        FigureMetric::ReadLatency => "Mean latency of reads, µs",
        FigureMetric::WriteLatency => "Mean latency of writes, µs",
        FigureMetric::ProcessorUse => "Busy processors of the server, %",
    }
}
