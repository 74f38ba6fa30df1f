//! A run on a real database as text with a fixed layout: its figures with their spread, the parts of a transaction's
//! time, and each kind of transaction.

use std::fmt::Write;

use lanemark_schema::result::{
    DatabaseCounter, DatabaseTarget, DeviceRates, DeviceUse, RunResult, Sample,
    ServerProcessorTime, Statistic, Target, TestResult, TransactionFigures,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{DatabaseUsers, LoadKind, TransactionKind};

use super::wrapped::wrapped;
use super::{TimePart, TimeSplit};
use crate::number::{fixed, grouped, percent_whole, significant};
use crate::target::warnings;

/// The disclaimer that every result contains.
pub(super) const NO_TPC_RESULT: &str =
    "TPC-C-derived workload; not a TPC result, and not comparable with other programs' figures.";

/// Returns the database of a run on a real database, with the test and its users; `None` for any other run.
pub(super) fn parts(run: &RunResult) -> Option<(&DatabaseTarget, &TestResult, &DatabaseUsers)> {
    let Target::Database(database) = &run.target else { return None };
    let test = run.tests.first()?;
    let LoadKind::Database(users) = &test.test.asks else { return None };
    Some((database, test, users))
}

/// Writes a run on a real database as tables; `None` for any other run, or if no repeat has ended.
pub fn database_text(run: &RunResult) -> Option<String> {
    let (database, test, users) = parts(run)?;
    let mut text = wrapped(&answer(database, test), 0);
    text.push('\n');
    push_line(&mut text, &title(database));
    let settings = database.settings.iter();
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
    push_line(&mut text, &settings.join(", "));
    push_line(&mut text, &settings_sentence(test, users));
    text.push('\n');
    text += &figures(test);
    if let Some(found) = time_of_a_transaction(test) {
        text.push('\n');
        text += &found;
    }
    text.push('\n');
    text += &transactions(test);
    let warnings = warnings(run);
    if !warnings.is_empty() {
        text.push('\n');
    }
    warnings
        .iter()
        .for_each(|(warning, advice)| push_line(&mut text, &format!("! {warning}: {advice}")));
    text.push('\n');
    push_line(&mut text, NO_TPC_RESULT);
    Some(text)
}

/// Returns a sentence such as `PostgreSQL 17.11 completes 12,345 transactions a minute with 4 users: 19.4 ms each, 63%
/// of it in the device`.
fn answer(database: &DatabaseTarget, test: &TestResult) -> String {
    let product = &database.product;
    let version = database.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let users = match test.test.threads {
        1 => "1 user".to_owned(),
        users => format!("{users} users"),
    };
    let Some(rate) = test.transactions_per_minute().filter(|rate| rate.count > 0) else {
        return format!("{product}{version} completed no transaction with {users}.");
    };
    let mean = test.of_transactions(TransactionFigures::response_ms);
    let mean = mean.map_or(String::new(), |mean| format!(": {} ms each", significant(mean.value)));
    let share = test.over_samples(Sample::device_share).map(|statistic| statistic.value);
    let share = share.filter(|_| !mean.is_empty()).map_or(String::new(), |share| {
        format!(", {} of it in the device", percent_whole(share.min(1.0)))
    });
    let rate = grouped(&fixed(rate.value, 0));
    format!("{product}{version} completes {rate} transactions a minute with {users}{mean}{share}.")
}

/// Returns a line such as `PostgreSQL 17.11 · postgres://host/shop`.
pub(super) fn title(database: &DatabaseTarget) -> String {
    let version = database.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    format!("{}{version} · {}", database.product, database.name)
}

/// Describes the test's settings in a sentence.
pub(super) fn settings_sentence(test: &TestResult, users: &DatabaseUsers) -> String {
    let part = match users.divisor {
        1 => String::new(),
        divisor => format!(" (scale 1/{divisor})"),
    };
    let think = match (users.think_times, users.pause) {
        (true, _) => "with think times".to_owned(),
        (false, Duration::ZERO) => "no think times".to_owned(),
        (false, pause) => format!("a pause of {pause}"),
    };
    let repeats = match test.samples.len() {
        1 => "1 repeat".to_owned(),
        count => format!("{count} repeats"),
    };
    format!(
        "profile {}, {} warehouses{part}, {} users, {think}, ramp {} s, {repeats} of {} s",
        users.profile.name(),
        users.warehouses,
        test.test.threads,
        test.test.ramp.as_seconds(),
        test.test.duration.unwrap_or_default().as_seconds()
    )
}

/// Writes the figures of a run, each with its spread over the repeats and, if available, a note.
fn figures(test: &TestResult) -> String {
    let mut text = String::new();
    let mut figure = |name: &str, statistic: Option<Statistic>, digits: usize, beside: &str| {
        if let Some(found) = statistic {
            // A single repeat does not have a spread.
            let spread = match found.count {
                0 | 1 => String::new(),
                _ => format!("± {:.1}%", 100.0 * found.spread()),
            };
            let value = grouped(&fixed(found.value, digits));
            let row = format!("{name:<28}{value:>12}  {spread:<9}{beside}");
            push_line(&mut text, row.trim_end());
        }
    };
    let of = |figure: fn(&TransactionFigures) -> Option<f64>| test.of_transactions(figure);
    let share = test.over_samples(Sample::device_share).map(|statistic| statistic.value);
    let share = share.map_or("device time unknown".to_owned(), |share| {
        format!("device time is {:.0}% of the response time", 100.0 * share)
    });
    figure("tpm, all transactions", test.transactions_per_minute(), 0, &share);
    let differs = of(TransactionFigures::count_differs).map(|found| 100.0 * found.value);
    let differs = differs.map_or(String::new(), |share| format!("{share:+.2}% from ours"));
    figure("tpm, database's count", of(|all| all.counted_per_minute), 0, &differs);
    figure("NOPM, new orders", of(|all| all.new_orders_per_minute), 0, "");
    figure("latency, mean, ms", of(TransactionFigures::response_ms), 3, "");
    let device = |figure: &dyn Fn(&DeviceUse) -> Option<f64>| {
        test.over_samples(|sample| figure(sample.evidence.as_ref()?.device.as_ref()?))
    };
    let rate =
        |rate: fn(DeviceRates) -> f64| test.over_samples(|sample| sample.device_rates().map(rate));
    let size = |statistic: Option<Statistic>| {
        statistic.map_or(String::new(), |found| format!("of {:.1} KiB each", found.value))
    };
    let kib =
        |bytes: Bytes, count: u64| (count > 0).then(|| bytes.get() as f64 / 1024.0 / count as f64);
    let read = size(device(&|device| kib(device.read_bytes, device.reads)));
    let write = size(device(&|device| kib(device.written_bytes, device.writes)));
    let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
    figure("device reads a second", rate(|rates| rates.reads), 0, &read);
    figure("device read, mean, µs", device(&|usage| us(usage.mean_read_ns())), 0, "");
    figure("device writes a second", rate(|rates| rates.writes), 0, &write);
    figure("device write, mean, µs", device(&|usage| us(usage.mean_write_ns())), 0, "");
    figure("device flushes a second", rate(|rates| rates.flushes), 0, "");
    figure("device, overall mean, µs", device(&|usage| us(usage.mean_ns())), 0, "");
    let busy = of(|all| all.processor_busy.map(|share| 100.0 * share));
    figure("processors busy, %", busy, 1, "all of the machine");
    let others = of(|all| all.processor_others.map(|share| 100.0 * share));
    figure("by other programs, %", others, 1, "");
    let time = |of: fn(&ServerProcessorTime) -> Option<f64>| {
        test.of_transactions(|all| all.each(1e6 * of(all.processor_time.as_ref()?)?))
    };
    let server = time(|time| time.server_s);
    let driver = if server.is_some() { "driver CPU, µs each" } else { "CPU, µs each" };
    figure("database CPU, µs each", server, 0, "of a transaction, all processes of the server");
    figure(driver, time(|time| time.driver_s), 0, "of a transaction");
    let counter_per_transaction = |counter: DatabaseCounter| {
        test.of_transactions(|all| all.each(all.counters.get(counter)? as f64))
    };
    let statements = counter_per_transaction(DatabaseCounter::Statements)
        .map_or(String::new(), |found| format!("with {:.1} statements", found.value));
    figure("messages each", counter_per_transaction(DatabaseCounter::Messages), 2, &statements);
    let hits = of(|all| all.buffer_hit_ratio.map(|share| 100.0 * share));
    figure("buffer hits, %", hits, 2, "");
    let pages = counter_per_transaction(DatabaseCounter::WalFullPages)
        .map_or(String::new(), |pages| format!("with {:.2} whole pages", pages.value));
    figure("log, KiB each", of(|all| all.log_bytes.map(|bytes| bytes / 1024.0)), 2, &pages);
    figure("log flushes each", of(|all| all.log_flushes), 3, "");
    for (name, counter) in [
        ("checkpoints", DatabaseCounter::Checkpoints),
        ("deadlocks", DatabaseCounter::Deadlocks),
        ("temporary files", DatabaseCounter::TemporaryFiles),
    ] {
        let found = test.of_transactions(|all| Some(all.counters.get(counter)? as f64));
        figure(name, found.filter(|found| found.max > 0.0), 1, "in a repeat");
    }
    text
}

/// Writes the parts of a transaction's time, if they are known.
fn time_of_a_transaction(test: &TestResult) -> Option<String> {
    let TimeSplit { source, measured, parts } = TimeSplit::of(test)?;
    let mut text = format!("time of a transaction, ms, {source}\n");
    if let Some((running, ready)) = measured {
        text += &format!(
            "  measured: {running:.3} on a processor, {ready:.3} ready for one (part of every class)\n"
        );
    }
    for TimePart { name, ms, share, note, .. } in parts {
        let row = format!("  {name:<26}{ms:>12.3}{:>7.1}%  {note}", 100.0 * share);
        push_line(&mut text, row.trim_end());
    }
    Some(text)
}

/// Writes one row per kind of transaction.
fn transactions(test: &TestResult) -> String {
    let mut text = format!(
        "{:<13}{:>10}{:>8}{:>12}{:>9}{:>10}{:>10}{:>10}{:>10}\n",
        "", "count", "%", "rolled back", "retries", "mean ms", "50% ms", "95% ms", "99% ms"
    );
    let uses = TransactionKind::ALL.map(|kind| (kind, test.kind(kind)));
    let all: u64 = uses.iter().map(|(_, usage)| usage.count).sum();
    for (kind, usage) in uses {
        let share = match all {
            0 => "–".to_owned(),
            _ => format!("{:.2}", 100.0 * usage.count as f64 / all as f64),
        };
        let percentile_text = |percentile| {
            let found = usage.latency.percentile_ns(percentile);
            found.map_or("–".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6))
        };
        let mean = match usage.latency.count() {
            0 => "–".to_owned(),
            _ => format!("{:.3}", usage.latency.mean_ns() / 1e6),
        };
        let name = kind.name();
        let _ = writeln!(
            text,
            "{name:<13}{:>10}{share:>8}{:>12}{:>9}{mean:>10}{:>10}{:>10}{:>10}",
            usage.count,
            usage.rolled_back,
            usage.retries,
            percentile_text(50.0),
            percentile_text(95.0),
            percentile_text(99.0)
        );
    }
    text
}

pub(super) fn push_line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}
