//! Results as columns for tabular formats, such as a Parquet file, Arrow arrays or a data frame.
//!
//! The name of a column ends in its unit, as in result and sweep files. An unknown value is absent. A figure without a
//! direction covers reads and writes together; the names of figures for one direction begin with `read_` or `write_`.

use std::collections::BTreeMap;

use lanemark_schema::result::series::SeriesPoint;
use lanemark_schema::result::{
    DirectionFigures, HopUse, RunResult, Sample, Series, StudyOutcome, Sweep, SweepFigures,
    SweepPoint, TestResult, write_amplification,
};
use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration, Ratio, Watts};
use lanemark_schema::workload::AverageMethod;
use lanemark_study::catalogue::DriveEntry;
use lanemark_study::origin::{UncertainValue, ValueRecord};
use lanemark_study::sweep::key;

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The values, one per row.
    pub values: ColumnValues,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Whole numbers; all of them are known.
    Whole(Vec<i64>),
    /// Whole numbers; some of them may not be known.
    MaybeWhole(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

lanemark_schema::named_enum! {
    /// The tables of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RunTable {
        /// One row per test: its parameters, and its figures over the repeats.
        Tests = "tests",
        /// One row per repeat of each test.
        Samples = "samples",
        /// One row per hop of each repeat: its utilisation, and the time that requests spend in it.
        Hops = "hops",
        /// One row per interval of each repeat that was recorded over time.
        Series = "series",
        /// One row per non-empty bin of each test's latencies.
        Latencies = "latencies",
    }
}

impl RunTable {
    /// Returns the columns of this table of `run`.
    pub fn columns(self, run: &RunResult) -> Vec<Column> {
        match self {
            Self::Tests => tests(run),
            Self::Samples => samples(run),
            Self::Hops => hops(run),
            Self::Series => series_columns(&run.tests),
            Self::Latencies => latencies(run),
        }
    }
}

/// Returns the model values that the files of a system state, each with its 80% range, its unit and its origin. The
/// range is in the value's unit.
pub fn model_values(values: &[ValueRecord], uncertain: &[UncertainValue]) -> Vec<Column> {
    let parts = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        Some((number.parse::<f64>().ok()?, unit.trim().to_owned()))
    };
    let row = |record: &ValueRecord| {
        let (number, unit) = parts(&record.text).unzip();
        let range = uncertain.iter().find(|one| one.parameter == record.parameter);
        let bound = |ratio: Option<f64>| Some(number? * ratio?);
        let low = bound(range.map(|one| one.range.low));
        let high = bound(range.map(|one| one.range.high));
        (record.clone(), unit, low, high)
    };
    TableBuilder(values.iter().map(row).collect(), Vec::new())
        .text("parameter", |row| row.0.parameter.clone())
        .text("value", |row| row.0.text.clone())
        .text("unit", |row| row.1.clone().unwrap_or_default())
        .number("low", |row| row.2)
        .number("high", |row| row.3)
        .text("origin", |row| row.0.origin.name().to_owned())
        .text("source", |row| row.0.origin.note().unwrap_or_default().to_owned())
        .1
}

/// Returns the drives of a library, with the heads of their files.
pub fn drives(entries: Vec<DriveEntry>) -> Vec<Column> {
    TableBuilder(entries, Vec::new())
        .text("name", |entry| entry.id.clone())
        .text("title", |entry| entry.name.clone())
        .text("maker", |entry| entry.maker.clone())
        .maybe_whole("year", |entry| entry.year.map(u32::from))
        .text("kind", |entry| entry.kind.words().to_owned())
        .text("connector", |entry| entry.plug.to_string())
        .whole("capacity_bytes", |entry| entry.capacity.get())
        .1
}

/// Returns the names and titles of library entries.
pub fn titles(entries: Vec<(String, String)>) -> Vec<Column> {
    TableBuilder(entries, Vec::new())
        .text("name", |(name, _)| name.clone())
        .text("title", |(_, title)| title.clone())
        .1
}

/// A table under construction, with rows of one type.
struct TableBuilder<R>(Vec<R>, Vec<Column>);

impl<R> TableBuilder<R> {
    fn whole(mut self, name: &str, of: impl Fn(&R) -> u64) -> Self {
        let whole = |row| i64::try_from(of(row)).unwrap_or(i64::MAX);
        self.1.push(column(name, ColumnValues::Whole(self.0.iter().map(whole).collect())));
        self
    }

    fn maybe_whole(mut self, name: &str, of: impl Fn(&R) -> Option<u32>) -> Self {
        let values = self.0.iter().map(|row| of(row).map(i64::from)).collect();
        self.1.push(column(name, ColumnValues::MaybeWhole(values)));
        self
    }

    fn number(mut self, name: &str, of: impl Fn(&R) -> Option<f64>) -> Self {
        self.1.push(column(name, ColumnValues::Numbers(self.0.iter().map(of).collect())));
        self
    }

    fn text(mut self, name: &str, of: impl Fn(&R) -> String) -> Self {
        let values = self.0.iter().map(|row| Some(of(row))).collect();
        self.1.push(column(name, ColumnValues::Texts(values)));
        self
    }
}

impl<R> TableBuilder<R> {
    /// Adds the columns of one direction, whose figures `of` returns.
    fn direction(mut self, direction: &str, of: impl Fn(&R) -> Option<DirectionFigures>) -> Self {
        let found: Vec<Option<DirectionFigures>> = self.0.iter().map(of).collect();
        for (name, figure) in DIRECTION_FIGURES {
            let values = found.iter().map(|one| figure(one.as_ref()?)).collect();
            self.1.push(column(&format!("{direction}_{name}"), ColumnValues::Numbers(values)));
        }
        self
    }
}

type DirectionFigure = fn(&DirectionFigures) -> Option<f64>;

/// The figures of a direction, with the names of their columns.
const DIRECTION_FIGURES: [(&str, DirectionFigure); 7] = [
    ("iops", |one| Some(one.iops)),
    ("bytes_per_second", |one| Some(one.bytes_per_second)),
    ("latency_mean_us", |one| Some(one.latency_mean_us)),
    ("latency_p50_us", |one| one.latency_percentiles_us[0]),
    ("latency_p99_us", |one| one.latency_percentiles_us[1]),
    ("latency_p999_us", |one| one.latency_percentiles_us[2]),
    ("latency_max_us", |one| one.latency_max_us),
];

/// Returns the read figures of `samples`, averaged by `average`.
fn reads(samples: &[Sample], average: AverageMethod) -> Option<DirectionFigures> {
    DirectionFigures::from_samples(samples, |sample| sample.reads.as_ref(), average)
}

fn writes(samples: &[Sample], average: AverageMethod) -> Option<DirectionFigures> {
    DirectionFigures::from_samples(samples, |sample| sample.writes.as_ref(), average)
}

fn column(name: &str, values: ColumnValues) -> Column {
    Column { name: name.to_owned(), values }
}

fn tests(run: &RunResult) -> Vec<Column> {
    let us = |ns: f64| ns / 1e3;
    let percentile = |at: f64| {
        move |test: &&TestResult| {
            test.latency().recorded_percentile_ns(at).map(|ns| ns as f64 / 1e3)
        }
    };
    TableBuilder(run.tests.iter().collect(), Vec::new())
        .text("test", |test| test.test.name.clone())
        .whole("block_bytes", |test| test.test.block.get())
        .number("read_share", |test| Some(test.test.read_share()?.get()))
        .maybe_whole("queue_depth", |test| test.test.queue_depth())
        .whole("threads", |test| test.test.threads.into())
        .whole("repeats", |test| test.samples.len() as u64)
        .number("iops", |test| Some(test.iops.value))
        .number("iops_min", |test| (test.samples.len() > 1).then_some(test.iops.min))
        .number("iops_max", |test| (test.samples.len() > 1).then_some(test.iops.max))
        .number("iops_95_low", |test| Some(test.iops.interval_95?.0))
        .number("iops_95_high", |test| Some(test.iops.interval_95?.1))
        .number("bytes_per_second", |test| Some(test.throughput_bytes_per_second.value))
        .number("latency_mean_us", |test| Some(us(test.latency_mean_ns.value)))
        .number("latency_p50_us", percentile(50.0))
        .number("latency_p99_us", percentile(99.0))
        .number("latency_p999_us", percentile(99.9))
        .number("latency_max_us", |test| test.latency().max_ns().map(|ns| ns as f64 / 1e3))
        .direction("read", |test| reads(&test.samples, run.workload.average))
        .direction("write", |test| writes(&test.samples, run.workload.average))
        .number("write_amplification", |test| write_amplification(&test.samples))
        .number("interval_80_low_ratio", |test| Some(test.interval.as_ref()?.low_ratio))
        .number("interval_80_high_ratio", |test| Some(test.interval.as_ref()?.high_ratio))
        .number("latency_p99_80_low_us", |test| Some(us(test.percentile_interval_ns(99.0)?.0)))
        .number("latency_p99_80_high_us", |test| Some(us(test.percentile_interval_ns(99.0)?.1)))
        .number("latency_p999_80_low_us", |test| Some(us(test.percentile_interval_ns(99.9)?.0)))
        .number("latency_p999_80_high_us", |test| Some(us(test.percentile_interval_ns(99.9)?.1)))
        .1
}

/// Returns the repeats of tests, each with its test and its number, counted from 1.
fn repeats(tests: &[TestResult]) -> impl Iterator<Item = (&TestResult, u64, &Sample)> {
    tests.iter().flat_map(|test| {
        (1..).zip(&test.samples).map(move |(repeat, sample)| (test, repeat, sample))
    })
}

fn samples(run: &RunResult) -> Vec<Column> {
    TableBuilder(repeats(&run.tests).collect(), Vec::new())
        .text("test", |(test, ..)| test.test.name.clone())
        .whole("repeat", |(_, repeat, _)| *repeat)
        .number("elapsed_seconds", |(.., sample)| Some(sample.elapsed.as_seconds()))
        .number("iops", |(.., sample)| Some(sample.iops()))
        .number("bytes_per_second", |(.., sample)| Some(sample.throughput().0 as f64))
        .number("latency_mean_us", |(.., sample)| Some(sample.latency().mean_ns() / 1e3))
        .number("latency_p99_us", |(.., sample)| {
            sample.latency().recorded_percentile_ns(99.0).map(|ns| ns as f64 / 1e3)
        })
        .direction("read", |(.., sample)| reads(std::slice::from_ref(*sample), AverageMethod::Mean))
        .direction("write", |(.., sample)| {
            writes(std::slice::from_ref(*sample), AverageMethod::Mean)
        })
        .number("write_amplification", |(.., sample)| sample.drive?.write_amplification())
        .whole("in_flight_at_end", |(.., sample)| sample.in_flight.map_or(0, |one| one.requests))
        .number("in_flight_age_max_us", |(.., sample)| {
            Some(sample.in_flight?.age_max.as_microseconds())
        })
        .1
}

fn hops(run: &RunResult) -> Vec<Column> {
    let rows = repeats(&run.tests).flat_map(|(test, repeat, sample)| {
        let hops = sample.path.iter().flat_map(|path| &path.hops);
        hops.map(move |hop| (test, repeat, hop))
    });
    let of =
        |get: fn(&HopUse) -> Option<f64>| move |(.., hop): &(&TestResult, u64, &HopUse)| get(hop);
    TableBuilder(rows.collect(), Vec::new())
        .text("test", |(test, ..)| test.test.name.clone())
        .whole("repeat", |(_, repeat, _)| *repeat)
        .text("hop", |(.., hop)| hop.id.to_string())
        .text("name", |(.., hop)| hop.name.clone())
        .number("utilisation", of(|hop| Some(hop.utilisation)))
        .number("ceiling_bytes_per_second", of(|hop| hop.ceiling.map(|ceiling| ceiling.0 as f64)))
        .number("wait_mean_us", of(|hop| Some(hop.wait_ns / 1e3)))
        .number("service_mean_us", of(|hop| Some(hop.service_ns / 1e3)))
        .1
}

/// An interval of a repeat.
struct IntervalRow<'r> {
    test: &'r TestResult,
    repeat: u64,
    series: &'r Series,
    index: usize,
    point: &'r SeriesPoint,
}

fn series_columns(tests: &[TestResult]) -> Vec<Column> {
    let rows = repeats(tests).flat_map(|(test, repeat, sample)| {
        sample.series.iter().flat_map(move |series| {
            let points = series.points.iter().enumerate();
            points.map(move |(index, point)| IntervalRow { test, repeat, series, index, point })
        })
    });
    TableBuilder(rows.collect(), Vec::new())
        .text("test", |row| row.test.test.name.clone())
        .whole("repeat", |row| row.repeat)
        .number("start_seconds", |row| Some(row.series.start(row.index).as_seconds()))
        .number("length_seconds", |row| Some(row.series.length(row.index).as_seconds()))
        .whole("reads", |row| row.point.reads)
        .whole("writes", |row| row.point.writes)
        .whole("read_bytes", |row| row.point.read_bytes.get())
        .whole("written_bytes", |row| row.point.written_bytes.get())
        .number("iops", |row| Some(row.series.iops(row.index)))
        .number("bytes_per_second", |row| Some(row.series.throughput(row.index)))
        .number("latency_mean_us", |row| Some(row.point.latency_mean_ns / 1e3))
        .number("latency_max_us", |row| Some(row.point.latency_max_ns as f64 / 1e3))
        .number("flash_written_bytes", |row| Some(row.point.drive?.flash_written().get() as f64))
        .number("write_amplification", |row| row.point.write_amplification())
        .1
}

fn latencies(run: &RunResult) -> Vec<Column> {
    latency_rows(&run.tests)
}

fn latency_rows(tests: &[TestResult]) -> Vec<Column> {
    let mut rows: Vec<(&TestResult, u64, [u64; 2])> = Vec::new();
    for test in tests {
        let mut bins: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for sample in &test.samples {
            for (place, own) in [&sample.reads, &sample.writes].into_iter().enumerate() {
                let own = own.iter().flat_map(|direction| direction.latency.bins());
                own.for_each(|(ns, count)| bins.entry(ns).or_default()[place] += count);
            }
        }
        rows.extend(bins.into_iter().map(|(ns, counts)| (test, ns, counts)));
    }
    TableBuilder(rows, Vec::new())
        .text("test", |(test, ..)| test.test.name.clone())
        .number("latency_us", |(_, ns, _)| Some(*ns as f64 / 1e3))
        .whole("requests", |(.., [reads, writes])| reads + writes)
        .whole("reads", |(.., [reads, _])| *reads)
        .whole("writes", |(.., [_, writes])| *writes)
        .1
}

/// Returns the columns of a study's figures: the published and the simulated values.
pub fn figures(study: &StudyOutcome) -> Vec<Column> {
    TableBuilder(study.figures.iter().collect(), Vec::new())
        .text("figure", |check| check.figure.id.clone())
        .text("system", |check| check.figure.system.clone())
        .text("test", |check| check.figure.test.clone())
        .text("metric", |check| word(&check.figure.metric))
        .text("unit", |check| check.figure.metric.unit().to_owned())
        .text("role", |check| word(&check.figure.role))
        .number("published", |check| Some(check.figure.published))
        .number("simulated", |check| Some(check.simulated.value))
        .number("error_ratio", |check| Some(check.error))
        .1
}

/// Returns the text that represents a value in result files.
fn word<T: serde::Serialize>(value: &T) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The type of the column that contains the values of a sweep's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AxisKind {
    /// Texts, as written.
    Text,
    /// Plain numbers.
    Number,
    /// Quantities in one unit; the column's name ends in that unit.
    Quantity(AxisUnit),
}

/// The unit of a column of quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AxisUnit {
    /// Sizes, in bytes.
    Bytes,
    /// Times, in µs.
    Microseconds,
    /// Rates of data, in bytes a second.
    BytesPerSecond,
    /// Line rates, in bits a second.
    BitsPerSecond,
    /// Shares, from 0 to 1.
    Ratio,
    /// Powers, in watts.
    Watts,
}

impl AxisUnit {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Bytes, "bytes"),
        (Self::Microseconds, "us"),
        (Self::BytesPerSecond, "bytes_per_second"),
        (Self::BitsPerSecond, "bits_per_second"),
        (Self::Ratio, "ratio"),
        (Self::Watts, "watts"),
    ];

    /// Returns a quantity as a number in this unit, or `None` if the text is a different kind of quantity.
    fn number(self, text: &str) -> Option<f64> {
        match self {
            Self::Bytes => text.parse::<Bytes>().ok().map(|one| one.get() as f64),
            Self::Microseconds => text.parse::<Duration>().ok().map(Duration::as_microseconds),
            Self::BytesPerSecond => text.parse::<BytesPerSecond>().ok().map(|one| one.0 as f64),
            Self::BitsPerSecond => text.parse::<BitsPerSecond>().ok().map(|one| one.0 as f64),
            Self::Ratio => text.parse::<Ratio>().ok().map(Ratio::get),
            Self::Watts => text.parse::<Watts>().ok().map(Watts::as_watts),
        }
    }
}

impl AxisKind {
    /// Returns the kind of an axis with these values.
    fn from_values(values: &[String]) -> Self {
        if values.iter().all(|value| value.parse::<f64>().is_ok()) {
            return Self::Number;
        }
        let is_all = |unit: AxisUnit| values.iter().all(|value| unit.number(value).is_some());
        let unit = AxisUnit::ALL.into_iter().find(|(unit, _)| is_all(*unit));
        unit.map_or(Self::Text, |(unit, _)| Self::Quantity(unit))
    }

    fn column_name(self, axis: &str) -> String {
        let unit = AxisUnit::ALL.into_iter().find(|(unit, _)| self == Self::Quantity(*unit));
        unit.map_or_else(|| axis.to_owned(), |(_, unit)| format!("{axis}_{unit}"))
    }
}

/// Returns the columns of a sweep's points. `inputs` is the hash that the points share, from which their keys follow.
pub fn sweep(sweep: &Sweep, inputs: Option<&str>) -> Vec<Column> {
    let points = &sweep.points;
    let key_of = |point: &SweepPoint| Some(key(inputs?, point.number, &point.values));
    let texts = |of: &dyn Fn(&SweepPoint) -> Option<String>| {
        ColumnValues::Texts(points.iter().map(of).collect())
    };
    let figures = |of: fn(&SweepFigures) -> Option<f64>| {
        let value = |point: &SweepPoint| point.outcome.as_ref().ok().and_then(of);
        ColumnValues::Numbers(points.iter().map(value).collect())
    };
    let direction = |of: fn(&SweepFigures) -> Option<&DirectionFigures>,
                     figure: DirectionFigure| {
        let value = |point: &SweepPoint| figure(of(point.outcome.as_ref().ok()?)?);
        ColumnValues::Numbers(points.iter().map(value).collect())
    };
    let mut all: Vec<(String, ColumnValues)> = Vec::new();
    let first = [
        ("point", ColumnValues::Whole(points.iter().map(|point| point.number as i64).collect())),
        ("key", texts(&key_of)),
        ("system", texts(&|point| Some(point.system.clone()))),
        ("test", texts(&|point| Some(point.test.clone()))),
    ];
    all.extend(first.map(|(name, values)| (name.to_owned(), values)));
    for (axis, name) in sweep.axes.iter().enumerate() {
        let values: Vec<String> = points.iter().map(|point| point.values[axis].clone()).collect();
        let kind = AxisKind::from_values(&values);
        let number = |point: &SweepPoint| {
            let text = point.values.get(axis)?;
            match kind {
                AxisKind::Quantity(unit) => unit.number(text),
                _ => text.parse().ok(),
            }
        };
        let values = match kind {
            AxisKind::Text => texts(&|point| point.values.get(axis).cloned()),
            _ => ColumnValues::Numbers(points.iter().map(number).collect()),
        };
        all.push((kind.column_name(name), values));
    }
    let figures = [
        ("iops", figures(|one| Some(one.iops))),
        ("bytes_per_second", figures(|one| Some(one.bytes_per_second))),
        ("latency_mean_us", figures(|one| Some(one.latency_mean_us))),
        ("latency_p50_us", figures(|one| one.latency_percentiles_us[0])),
        ("latency_p99_us", figures(|one| one.latency_percentiles_us[1])),
        ("latency_p999_us", figures(|one| one.latency_percentiles_us[2])),
        ("latency_max_us", figures(|one| one.latency_max_us)),
        ("busiest", texts(&|point| Some(point.outcome.as_ref().ok()?.busiest.clone()?.0))),
        ("utilisation", figures(|one| one.busiest.as_ref().map(|(_, share)| *share))),
    ];
    all.extend(figures.map(|(name, values)| (name.to_owned(), values)));
    for (name, figure) in DIRECTION_FIGURES {
        all.push((format!("read_{name}"), direction(|one| one.reads.as_ref(), figure)));
    }
    for (name, figure) in DIRECTION_FIGURES {
        all.push((format!("write_{name}"), direction(|one| one.writes.as_ref(), figure)));
    }
    let amplification = |point: &SweepPoint| point.outcome.as_ref().ok()?.write_amplification;
    let amplification = ColumnValues::Numbers(points.iter().map(amplification).collect());
    all.push(("write_amplification".to_owned(), amplification));
    let error = texts(&|point| point.outcome.as_ref().err().cloned());
    all.push(("error".to_owned(), error));
    all.into_iter().map(|(name, values)| column(&name, values)).collect()
}

#[cfg(test)]
mod tests;
