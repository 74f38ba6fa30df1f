//! Results as text of a fixed layout.

mod compared;

use std::fmt::Write;

use lanemark_core::result::Statistic;

use crate::budget::WaitClass;
use crate::check::Condition;
use crate::counters::Counter;
use crate::processor::{ProcessorUse, SessionsUse};
use crate::profile::TransactionKind;
use crate::result::{DeviceWork, OltpRepeat, OltpResult};

pub use compared::{WIDTH, compare_text, wrapped};

/// The line that no result goes without.
const NO_TPC_RESULT: &str =
    "TPC-C-derived workload; no TPC result, and not comparable with other programs' figures.";

/// A run as tables.
pub fn run_text(result: &OltpResult) -> String {
    let mut text = String::new();
    let scale = &result.scale;
    let part = match scale.divisor {
        1 => String::new(),
        divisor => format!(" (scale 1/{divisor})"),
    };
    let think = if result.think_times { "with" } else { "no" };
    line(&mut text, &format!("{} · {}", result.database.kind, result.database.name));
    let settings = result.database.settings.iter();
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
    line(&mut text, &settings.join(", "));
    line(
        &mut text,
        &format!(
            "profile {}, {} warehouses{part}, {} users, {think} think times, ramp {} s, {} of {} s",
            result.profile.name(),
            scale.warehouses,
            result.users,
            result.ramp_s,
            match result.repeats.len() {
                1 => "1 repeat".to_owned(),
                count => format!("{count} repeats"),
            },
            result.duration_s
        ),
    );
    text.push('\n');
    text += &figures(result);
    if let Some(found) = budget(result) {
        text.push('\n');
        text += &found;
    }
    text.push('\n');
    text += &transactions(result);
    if !result.complete {
        line(&mut text, "\nThe run was cut short.");
    }
    if let Some(doubt) = crate::compare::disturbed(result) {
        line(&mut text, &format!("\ndoubt: {doubt}: run it again alone"));
    }
    text.push('\n');
    line(&mut text, NO_TPC_RESULT);
    text
}

/// The figures of a run, each with its spread over repeats and, where one explains it, what it is made of.
fn figures(result: &OltpResult) -> String {
    let mut text = String::new();
    let mut figure = |name: &str, statistic: Option<Statistic>, digits: usize, beside: &str| {
        if let Some(found) = statistic {
            // One repeat has no spread.
            let spread = match found.count {
                0 | 1 => String::new(),
                _ => format!("± {:.1}%", 100.0 * found.spread()),
            };
            let row = format!("{name:<28}{:>12.digits$}  {spread:<9}{beside}", found.value);
            line(&mut text, row.trim_end());
        }
    };
    let mean = |figure: &dyn Fn(&OltpRepeat) -> Option<f64>| {
        result.statistic(figure).map(|found| found.value)
    };
    let share = mean(&OltpRepeat::device_share);
    let share = share.map_or("device time unknown".to_owned(), |share| {
        format!("device time is {:.0}% of the response time", 100.0 * share)
    });
    figure("tpm, all transactions", result.statistic(|repeat| Some(repeat.tpm)), 0, &share);
    let differs = mean(&OltpRepeat::count_differs).map(|share| 100.0 * share);
    let differs = differs.map_or(String::new(), |share| format!("{share:+.2}% from ours"));
    figure("tpm, database's count", result.statistic(|repeat| repeat.database_tpm), 0, &differs);
    figure("NOPM, new orders", result.statistic(|repeat| Some(repeat.nopm)), 0, "");
    figure("latency, mean, ms", result.statistic(OltpRepeat::latency_ms), 3, "");
    let device = |figure: fn(&DeviceWork) -> Option<f64>| {
        result.statistic(|repeat| figure(repeat.device.as_ref()?))
    };
    let rate = |count: fn(&DeviceWork) -> u64| {
        result.statistic(|repeat| {
            Some(count(repeat.device.as_ref()?) as f64 / repeat.seconds.max(1e-9))
        })
    };
    let size = |statistic: Option<Statistic>| {
        statistic.map_or(String::new(), |found| format!("of {:.1} KiB each", found.value))
    };
    let (read, write) = (size(device(DeviceWork::read_kib)), size(device(DeviceWork::write_kib)));
    figure("device reads a second", rate(|work| work.reads), 0, &read);
    figure("device read, mean, us", device(DeviceWork::read_us), 0, "");
    figure("device writes a second", rate(|work| work.writes), 0, &write);
    figure("device write, mean, us", device(DeviceWork::write_us), 0, "");
    figure("device flushes a second", rate(|work| work.flushes), 0, "");
    figure("device, overall mean, us", device(DeviceWork::overall_us), 0, "");
    let busy = result.statistic(|repeat| repeat.processor_busy.map(|share| 100.0 * share));
    figure("processors busy, %", busy, 1, "all of the machine");
    let others = result.statistic(|repeat| repeat.processor_others.map(|share| 100.0 * share));
    figure("of them by others, %", others, 1, "");
    let time = |of: fn(&ProcessorUse) -> Option<f64>| {
        result.statistic(|repeat| repeat.each(1e6 * of(repeat.processor.as_ref()?)?))
    };
    let server = time(|time| time.server_s);
    let driver = if server.is_some() { "driver CPU, us each" } else { "CPU, us each" };
    figure("database CPU, us each", server, 0, "of a transaction, all processes of the server");
    figure(driver, time(|time| time.driver_s), 0, "of a transaction");
    let sent = |counter: Counter| {
        result.statistic(move |repeat| repeat.each(repeat.counters.get(counter)? as f64))
    };
    let statements = sent(Counter::Statements)
        .map_or(String::new(), |found| format!("with {:.1} statements", found.value));
    figure("messages each", sent(Counter::Messages), 2, &statements);
    let ratio = |repeat: &OltpRepeat| Some(100.0 * repeat.counters.buffer_hit_ratio()?);
    figure("buffer hits, %", result.statistic(ratio), 2, "");
    let each = |counter: Counter, scale: f64| {
        result.statistic(move |repeat| repeat.each(repeat.counters.get(counter)? as f64 / scale))
    };
    let pages = mean(&|repeat| repeat.each(repeat.counters.get(Counter::WalFullPages)? as f64));
    let pages = pages.map_or(String::new(), |pages| format!("with {pages:.2} whole pages"));
    figure("log, KiB each", each(Counter::WalBytes, 1024.0), 2, &pages);
    figure("log flushes each", each(Counter::WalFlushes, 1.0), 3, "");
    for (name, counter) in [
        ("checkpoints", Counter::Checkpoints),
        ("deadlocks", Counter::Deadlocks),
        ("temporary files", Counter::TemporaryFiles),
    ] {
        let found = result.statistic(|repeat| Some(repeat.counters.get(counter)? as f64));
        figure(name, found.filter(|found| found.max > 0.0), 1, "in a repeat");
    }
    text
}

/// Where the time of a transaction went: by samples where the server tells, else what its thread did.
fn budget(result: &OltpResult) -> Option<String> {
    let mut text = String::new();
    let response_ms = result.statistic(OltpRepeat::latency_ms)?.value;
    let sessions = |part: fn(&SessionsUse) -> f64| {
        let each = |repeat: &OltpRepeat| {
            repeat.each(1e3 * part(repeat.processor.as_ref()?.sessions.as_ref()?))
        };
        result.statistic(each).map(|found| found.value)
    };
    let running = sessions(|used| used.running_s).zip(sessions(|used| used.ready_s));
    let mut row = |name: &str, ms: f64, beside: &str| {
        let share = 100.0 * ms / response_ms.max(1e-9);
        let row = format!("  {name:<26}{ms:>12.3}{share:>7.1}%  {beside}");
        line(&mut text, row.trim_end());
    };
    let samples = result.statistic(|repeat| Some(repeat.budget.as_ref()?.total() as f64));
    if let Some(samples) = samples {
        for class in WaitClass::ALL {
            let share = |repeat: &OltpRepeat| Some(repeat.budget.as_ref()?.share(class)?.0);
            // Of all samples together; that each repeat has as many is near enough.
            let Some(share) = result.statistic(share).map(|found| found.value) else { continue };
            let all = samples.value * f64::from(samples.count);
            let error = (share * (1.0 - share) / all.max(1.0)).sqrt();
            if share > 0.0 {
                row(class.name(), share * response_ms, &format!("± {:.1} points", 100.0 * error));
            }
        }
        let all = samples.value * f64::from(samples.count);
        let head = format!("time of a transaction, ms, by {all:.0} samples of sessions\n");
        if let Some((running, ready)) = running {
            let measured = format!(
                "  measured: {running:.3} on a processor, {ready:.3} ready for one, which is in every class\n"
            );
            text += &measured;
        }
        return Some(head + &text);
    }
    let (running, ready) = running?;
    row("on a processor", running, "");
    row("ready for one", ready, "");
    row(
        "waiting",
        (response_ms - running - ready).max(0.0),
        "for the file, a flush or another user",
    );
    Some("time of a transaction, ms, by its user's thread\n".to_owned() + &text)
}

/// A row for each kind of transaction.
fn transactions(result: &OltpResult) -> String {
    let mut text = format!(
        "{:<13}{:>10}{:>8}{:>12}{:>9}{:>10}{:>10}{:>10}{:>10}\n",
        "", "count", "%", "rolled back", "retries", "mean ms", "50% ms", "95% ms", "99% ms"
    );
    let uses = TransactionKind::ALL.map(|kind| (kind, result.transactions(kind)));
    let all: u64 = uses.iter().map(|(_, one)| one.count).sum();
    for (kind, one) in uses {
        let share = match all {
            0 => "–".to_owned(),
            _ => format!("{:.2}", 100.0 * one.count as f64 / all as f64),
        };
        let at = |percentile| {
            let found = one.latency.percentile_ns(percentile);
            found.map_or("–".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6))
        };
        let mean = match one.latency.count() {
            0 => "–".to_owned(),
            _ => format!("{:.3}", one.latency.mean_ns() / 1e6),
        };
        let name = kind.name();
        let _ = writeln!(
            text,
            "{name:<13}{:>10}{share:>8}{:>12}{:>9}{mean:>10}{:>10}{:>10}{:>10}",
            one.count,
            one.rolled_back,
            one.retries,
            at(50.0),
            at(95.0),
            at(99.0)
        );
    }
    text
}

/// The conditions as a table.
pub fn check_text(conditions: &[Condition]) -> String {
    let mut text = String::new();
    for condition in conditions {
        let outcome = match condition.broken {
            0 => "holds".to_owned(),
            broken => format!("BROKEN in {broken}"),
        };
        let source = condition.source.to_string();
        let _ = writeln!(text, "{source:<11}{:<72}{outcome}", condition.text);
    }
    text
}

fn line(text: &mut String, one: &str) {
    text.push_str(one);
    text.push('\n');
}
