//! Results as text of a fixed layout.

use std::fmt::Write;

use lanemark_core::result::Statistic;

use crate::check::Condition;
use crate::compare::{Change, doubts};
use crate::profile::TransactionKind;
use crate::result::OltpResult;

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
            "profile {}, {} warehouses{part}, {} users, {think} think times, ramp {} s, {} repeats of {} s",
            result.profile.name(),
            scale.warehouses,
            result.users,
            result.ramp_s,
            result.repeats.len(),
            result.duration_s
        ),
    );
    text.push('\n');
    let mut figure = |name: &str, statistic: Option<Statistic>, digits: usize| {
        if let Some(found) = statistic {
            let spread = 100.0 * found.spread();
            let _ = writeln!(text, "{name:<28}{:>12.digits$}  ± {spread:.1}%", found.value);
        }
    };
    figure("tpm, all transactions", result.statistic(|repeat| Some(repeat.tpm)), 0);
    figure("tpm, database's count", result.statistic(|repeat| repeat.database_tpm), 0);
    figure("NOPM, new orders", result.statistic(|repeat| Some(repeat.nopm)), 0);
    figure("latency, mean, ms", result.statistic(|repeat| Some(repeat.latency_ms())), 3);
    let device = |figure: fn(&crate::result::DeviceWork) -> Option<f64>| {
        result.statistic(|repeat| figure(repeat.device.as_ref()?))
    };
    figure("device reads", device(|work| Some(work.reads as f64)), 0);
    figure("device read, mean, us", device(crate::result::DeviceWork::read_us), 0);
    figure("device writes", device(|work| Some(work.writes as f64)), 0);
    figure("device write, mean, us", device(crate::result::DeviceWork::write_us), 0);
    let busy = result.statistic(|repeat| repeat.processor_busy.map(|share| 100.0 * share));
    figure("processors busy, %", busy, 1);
    text.push('\n');
    text += &transactions(result);
    if !result.complete {
        line(&mut text, "\nThe run was cut short.");
    }
    text.push('\n');
    line(&mut text, NO_TPC_RESULT);
    text
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
        let share = if all == 0 { 0.0 } else { 100.0 * one.count as f64 / all as f64 };
        let at = |percentile| {
            let found = one.latency.percentile_ns(percentile);
            found.map_or("–".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6))
        };
        let (name, mean) = (kind.name(), one.latency.mean_ns() / 1e6);
        let _ = writeln!(
            text,
            "{name:<13}{:>10}{share:>8.2}{:>12}{:>9}{mean:>10.3}{:>10}{:>10}{:>10}",
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

/// Two runs as a table.
pub fn compare_text(from: &OltpResult, to: &OltpResult, changes: &[Change]) -> String {
    let mut text = String::new();
    line(&mut text, &format!("A  {} · {}", from.database.kind, from.database.name));
    line(&mut text, &format!("B  {} · {}", to.database.kind, to.database.name));
    let _ = writeln!(
        text,
        "\n{:<24}{:>12}{:>12}{:>10}  least to greatest by repeats",
        "", "A", "B", "change"
    );
    for change in changes {
        let (a, b) = (change.from.value, change.to.value);
        let digits = if a.max(b) >= 1_000.0 { 0 } else { 3 };
        let (least, greatest) = change.range_per_cent;
        let _ = writeln!(
            text,
            "{:<24}{a:>12.digits$}{b:>12.digits$}{:>+9.1}%  {least:+.1}% to {greatest:+.1}%",
            change.name, change.per_cent
        );
    }
    let doubts = doubts(from, to);
    if !doubts.is_empty() {
        text.push('\n');
    }
    doubts.iter().for_each(|doubt| line(&mut text, &format!("doubt: {doubt}")));
    text.push('\n');
    line(&mut text, NO_TPC_RESULT);
    text
}

/// The twelve conditions as a table.
pub fn check_text(conditions: &[Condition]) -> String {
    let mut text = String::new();
    for condition in conditions {
        let outcome = match condition.broken {
            0 => "holds".to_owned(),
            broken => format!("BROKEN in {broken}"),
        };
        let number = format!("3.3.2.{}", condition.number);
        let _ = writeln!(text, "{number:<10}{:<72}{outcome}", condition.text);
    }
    text
}

fn line(text: &mut String, one: &str) {
    text.push_str(one);
    text.push('\n');
}
