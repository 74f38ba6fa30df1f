//! Results as columns, for whoever keeps tables: a file of Parquet, an array of Arrow, a data frame.
//!
//! Names of columns end in their unit, as in the files of results and sweeps. What is not known is absent.

use lanemark_core::result::{
    HopUse, RunResult, Sample, StudyOutcome, Sweep, SweepFigures, SweepPoint, TestResult,
};

/// A column by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// A value for each row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers, all known.
    Whole(Vec<i64>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

/// The tables of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTable {
    /// A row for each test: what was asked, and its figures over the repeats.
    Tests,
    /// A row for each repeat of each test.
    Samples,
    /// A row for each hop of each repeat: its use and the time spent there.
    Hops,
    /// A row for each interval of each repeat that was recorded over time.
    Series,
    /// A row for each filled bin of each test's latencies.
    Latencies,
}

impl RunTable {
    /// All tables with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("tests", Self::Tests),
        ("samples", Self::Samples),
        ("hops", Self::Hops),
        ("series", Self::Series),
        ("latencies", Self::Latencies),
    ];

    /// The columns of this table of `run`.
    pub fn columns(self, run: &RunResult) -> Vec<Column> {
        match self {
            Self::Tests => tests(run),
            Self::Samples => samples(run),
            Self::Hops => hops(run),
            Self::Series => series(run),
            Self::Latencies => latencies(run),
        }
    }
}

/// A table in the making, of rows of one kind.
struct Rows<R>(Vec<R>, Vec<Column>);

impl<R> Rows<R> {
    fn whole(mut self, name: &str, of: impl Fn(&R) -> u64) -> Self {
        let whole = |row| i64::try_from(of(row)).unwrap_or(i64::MAX);
        self.1.push(column(name, Values::Whole(self.0.iter().map(whole).collect())));
        self
    }

    fn number(mut self, name: &str, of: impl Fn(&R) -> Option<f64>) -> Self {
        self.1.push(column(name, Values::Numbers(self.0.iter().map(of).collect())));
        self
    }

    fn text(mut self, name: &str, of: impl Fn(&R) -> String) -> Self {
        let values = self.0.iter().map(|row| Some(of(row))).collect();
        self.1.push(column(name, Values::Texts(values)));
        self
    }
}

fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), values }
}

fn tests(run: &RunResult) -> Vec<Column> {
    let us = |ns: f64| ns / 1e3;
    let percentile = |at: f64| {
        move |test: &&TestResult| test.latency().percentile_ns(at).map(|ns| ns as f64 / 1e3)
    };
    Rows(run.tests.iter().collect(), Vec::new())
        .text("test", |test| test.test.name.clone())
        .whole("block_bytes", |test| test.test.block.get())
        .number("read_share", |test| Some(test.test.read_share().get()))
        .whole("queue_depth", |test| test.test.queue_depth().into())
        .whole("threads", |test| test.test.threads.into())
        .whole("repeats", |test| test.samples.len() as u64)
        .number("iops", |test| Some(test.iops.value))
        .number("iops_min", |test| Some(test.iops.min))
        .number("iops_max", |test| Some(test.iops.max))
        .number("bytes_per_second", |test| Some(test.throughput_bytes_per_second.value))
        .number("latency_mean_us", |test| Some(us(test.latency_mean_ns.value)))
        .number("latency_p50_us", percentile(50.0))
        .number("latency_p99_us", percentile(99.0))
        .number("latency_p999_us", percentile(99.9))
        .number("latency_max_us", |test| test.latency().max_ns().map(|ns| ns as f64 / 1e3))
        .number("interval_80_low_ratio", |test| Some(test.interval.as_ref()?.low_ratio))
        .number("interval_80_high_ratio", |test| Some(test.interval.as_ref()?.high_ratio))
        .1
}

/// The repeats of a run, each with its test and number.
fn repeats(run: &RunResult) -> impl Iterator<Item = (&TestResult, usize, &Sample)> {
    run.tests.iter().flat_map(|test| {
        test.samples.iter().enumerate().map(move |(repeat, sample)| (test, repeat, sample))
    })
}

fn samples(run: &RunResult) -> Vec<Column> {
    Rows(repeats(run).collect(), Vec::new())
        .text("test", |(test, ..)| test.test.name.clone())
        .whole("repeat", |(_, repeat, _)| *repeat as u64)
        .number("elapsed_seconds", |(.., sample)| Some(sample.elapsed.as_seconds()))
        .number("iops", |(.., sample)| Some(sample.iops()))
        .number("bytes_per_second", |(.., sample)| Some(sample.throughput().0 as f64))
        .number("latency_mean_us", |(.., sample)| Some(sample.latency().mean_ns() / 1e3))
        .number("latency_p99_us", |(.., sample)| {
            sample.latency().percentile_ns(99.0).map(|ns| ns as f64 / 1e3)
        })
        .1
}

fn hops(run: &RunResult) -> Vec<Column> {
    let rows = repeats(run).flat_map(|(test, repeat, sample)| {
        let hops = sample.path.iter().flat_map(|path| &path.hops);
        hops.map(move |hop| (test, repeat, hop))
    });
    let of =
        |get: fn(&HopUse) -> Option<f64>| move |(.., hop): &(&TestResult, usize, &HopUse)| get(hop);
    Rows(rows.collect(), Vec::new())
        .text("test", |(test, ..)| test.test.name.clone())
        .whole("repeat", |(_, repeat, _)| *repeat as u64)
        .text("hop", |(.., hop)| hop.id.to_string())
        .text("name", |(.., hop)| hop.name.clone())
        .number("utilisation", of(|hop| Some(hop.utilisation)))
        .number("ceiling_bytes_per_second", of(|hop| hop.ceiling.map(|ceiling| ceiling.0 as f64)))
        .number("wait_mean_us", of(|hop| Some(hop.wait_ns / 1e3)))
        .number("service_mean_us", of(|hop| Some(hop.service_ns / 1e3)))
        .1
}

fn series(run: &RunResult) -> Vec<Column> {
    let rows = repeats(run).flat_map(|(test, repeat, sample)| {
        sample.series.iter().flat_map(move |series| {
            let interval = series.interval.as_seconds();
            let last = series.points.len().saturating_sub(1);
            series.points.iter().enumerate().map(move |(place, point)| {
                let length = if place == last { series.last.as_seconds() } else { interval };
                (test, repeat, place as f64 * interval, length, point)
            })
        })
    });
    Rows(rows.collect(), Vec::new())
        .text("test", |row| row.0.test.name.clone())
        .whole("repeat", |row| row.1 as u64)
        .number("start_seconds", |row| Some(row.2))
        .number("length_seconds", |row| Some(row.3))
        .whole("reads", |row| row.4.reads)
        .whole("writes", |row| row.4.writes)
        .whole("read_bytes", |row| row.4.read_bytes.get())
        .whole("written_bytes", |row| row.4.written_bytes.get())
        .number("latency_mean_us", |row| Some(row.4.latency_mean_ns / 1e3))
        .number("latency_max_us", |row| Some(row.4.latency_max_ns as f64 / 1e3))
        .1
}

fn latencies(run: &RunResult) -> Vec<Column> {
    let mut rows: Vec<(&TestResult, u64, u64)> = Vec::new();
    for test in &run.tests {
        rows.extend(test.latency().bins().map(|(ns, count)| (test, ns, count)));
    }
    Rows(rows, Vec::new())
        .text("test", |(test, ..)| test.test.name.clone())
        .number("latency_us", |(_, ns, _)| Some(*ns as f64 / 1e3))
        .whole("requests", |(.., count)| *count)
        .1
}

/// The columns of a study's figures: what was published, and what was simulated beside it.
pub fn figures(study: &StudyOutcome) -> Vec<Column> {
    Rows(study.figures.iter().collect(), Vec::new())
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

/// A value's word in files of results.
fn word<T: serde::Serialize>(value: &T) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns for each axis of a sweep whether all of its values are plain numbers. A part of a sweep asks the whole.
pub fn numeric<'v>(axes: impl Iterator<Item = &'v [String]>) -> Vec<bool> {
    axes.map(|values| values.iter().all(|value| value.parse::<f64>().is_ok())).collect()
}

/// The columns of a sweep's points; axes that are `numeric` as numbers, the others as texts.
pub fn sweep(
    sweep: &Sweep,
    numeric: &[bool],
    key: impl Fn(&SweepPoint) -> Option<String>,
) -> Vec<Column> {
    let points = &sweep.points;
    let texts =
        |of: &dyn Fn(&SweepPoint) -> Option<String>| Values::Texts(points.iter().map(of).collect());
    let figures = |of: fn(&SweepFigures) -> Option<f64>| {
        let value = |point: &SweepPoint| point.outcome.as_ref().ok().and_then(of);
        Values::Numbers(points.iter().map(value).collect())
    };
    let mut all = vec![
        ("point", Values::Whole(points.iter().map(|point| point.number as i64).collect())),
        ("key", texts(&key)),
        ("system", texts(&|point| Some(point.system.clone()))),
        ("test", texts(&|point| Some(point.test.clone()))),
    ];
    for (axis, name) in sweep.axes.iter().enumerate() {
        let number = |point: &SweepPoint| point.values.get(axis)?.parse().ok();
        let values = match numeric.get(axis) {
            Some(true) => Values::Numbers(points.iter().map(number).collect()),
            _ => texts(&|point| point.values.get(axis).cloned()),
        };
        all.push((name, values));
    }
    all.extend([
        ("iops", figures(|one| Some(one.iops))),
        ("bytes_per_second", figures(|one| Some(one.bytes_per_second))),
        ("latency_mean_us", figures(|one| Some(one.latency_mean_us))),
        ("latency_p50_us", figures(|one| one.latency_percentiles_us[0])),
        ("latency_p99_us", figures(|one| one.latency_percentiles_us[1])),
        ("latency_p999_us", figures(|one| one.latency_percentiles_us[2])),
        ("latency_max_us", figures(|one| one.latency_max_us)),
        ("busiest", texts(&|point| Some(point.outcome.as_ref().ok()?.busiest.clone()?.0))),
        ("utilisation", figures(|one| one.busiest.as_ref().map(|(_, share)| *share))),
        ("error", texts(&|point| point.outcome.as_ref().err().cloned())),
    ]);
    all.into_iter().map(|(name, values)| column(name, values)).collect()
}
