//! The energy of the drives: as a sentence, by part, by state, and by test.
//!
//! All values are means over repeats. Drives of unknown power are omitted.

use lanemark_schema::result::{EnergyUse, RunResult, TestResult};
use lanemark_schema::units::Duration;

use crate::text::block::Block;
use crate::text::number::{fixed, known_value, or_absent, percent, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Returns the energy of a test as a sentence, by part, and by state; empty if it is unknown.
pub(crate) fn blocks(test: &TestResult) -> Vec<Block<'_>> {
    let Some(sentence) = sentence(test) else { return Vec::new() };
    vec![
        Block::Text(sentence),
        Block::Table("Power", parts(test)),
        Block::Table("Power states", states(test)),
    ]
}

/// Returns a sentence such as `The drive uses 5.2 W: 2.1 J for 10^9 bytes, 54000 requests a second per watt`.
fn sentence(test: &TestResult) -> Option<String> {
    let energy = energies(test).next()?;
    let watts = significant(known_value(&test.power_mean_watts()?)?);
    let who = match energy.drives {
        1 => "The drive uses".to_owned(),
        count => format!("The {count} drives use"),
    };
    let per_byte = test.joules_per_gigabyte().and_then(|joules| known_value(&joules));
    let per_watt = test.iops_per_watt().and_then(|iops| known_value(&iops));
    let efficiency = match (per_byte, per_watt) {
        (Some(joules), Some(iops)) => format!(
            ": {} J for 10^9 bytes, {} requests a second per watt",
            significant(joules),
            significant(iops)
        ),
        _ => String::new(),
    };
    let battery = energy.platform.map_or(String::new(), |platform| {
        let base = format!(" The platform uses another {} W", significant(platform.base_watts));
        match test.battery_hours().and_then(|hours| known_value(&hours)) {
            Some(hours) => format!("{base}, and its battery lasts {} hours.", significant(hours)),
            None => format!("{base}."),
        }
    });
    Some(format!("{who} {watts} W{efficiency}.{battery}"))
}

/// Builds the table of energy by part, with a row for the total.
fn parts(test: &TestResult) -> Table {
    let total = mean(test, |energy| Some(energy.power_mean_watts));
    let mut table = Table::new(vec![
        Column::name("power"),
        Column::number("mean", "W"),
        Column::number("share", ""),
    ]);
    let row = |name: &str, watts: f64| {
        vec![
            Cell::plain(name),
            Cell::plain(significant(watts)),
            Cell::plain(percent(watts / total)),
        ]
    };
    let names = energies(test).next().map_or(&[][..], |energy| &energy.parts);
    for name in names.iter().map(|part| part.name.as_str()) {
        let watts = mean(test, |energy| {
            let part = energy.parts.iter().find(|part| part.name == name)?;
            Some(part.energy_joules / energy.elapsed.as_seconds())
        });
        if watts > 0.0 {
            table.push(row(name, watts));
        }
    }
    let mut sums = row("all", total);
    sums.iter_mut().for_each(|cell| cell.ink = CellEmphasis::Strong);
    table.push_ruled(sums);
    table
}

/// Builds the table of the time that the drives spent in each state.
fn states(test: &TestResult) -> Table {
    let mut table = Table::new(vec![
        Column::name("state"),
        Column::number("time", ""),
        Column::number("reached", "times"),
    ]);
    let names = energies(test).next().map_or(&[][..], |energy| &energy.states);
    for state in names {
        let time_of_state = |energy: &EnergyUse| {
            let own = energy.states.iter().find(|other| other.name == state.name)?;
            Some(energy.share(own))
        };
        let times = |energy: &EnergyUse| {
            Some(energy.states.iter().find(|other| other.name == state.name)?.reached? as f64)
        };
        table.push(vec![
            Cell::plain(&state.name),
            Cell::plain(percent(mean(test, time_of_state))),
            Cell::plain(or_absent(state.reached.map(|_| mean(test, times)), count)),
        ]);
    }
    table.without_empty_columns()
}

/// Builds the table of the drives' power by test and run; `None` if the power is unknown in all runs.
pub(crate) fn by_test(runs: &[(&str, &RunResult)]) -> Option<Table> {
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::name("target"),
        Column::number("mean power", "W"),
        Column::number("working", "of the time"),
        Column::number("10^9 bytes", "J"),
        Column::number("IOPS/W", ""),
        Column::number("battery life", "h").optional(1),
    ]);
    let mut names: Vec<&str> = Vec::new();
    for result in runs.iter().flat_map(|(_, run)| &run.tests) {
        if !names.contains(&result.test.name.as_str()) {
            names.push(&result.test.name);
        }
    }
    for name in names {
        let mut repeated = false;
        for (label, run) in runs {
            let results = run.tests.iter().filter(|result| result.test.name == name);
            for result in results.filter(|result| energies(result).next().is_some()) {
                let cell = |statistic: Option<_>| {
                    let value = statistic.and_then(|statistic| known_value(&statistic));
                    Cell::plain(or_absent(value, significant))
                };
                table.push(vec![
                    Cell::plain(name).repeating(repeated),
                    Cell::plain(*label),
                    cell(result.power_mean_watts()),
                    Cell::plain(percent(mean(result, working_power))),
                    cell(result.joules_per_gigabyte()),
                    cell(result.iops_per_watt()),
                    cell(result.battery_hours()),
                ]);
                repeated = true;
            }
        }
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

/// Formats a count, with one decimal if repeats differ.
fn count(value: f64) -> String {
    fixed(value, usize::from(value.fract() != 0.0))
}

fn working_power(energy: &EnergyUse) -> Option<f64> {
    energy.states.iter().find(|state| state.name == "working").map(|state| energy.share(state))
}

/// Returns the energy of the repeats for which it is known.
fn energies(test: &TestResult) -> impl Iterator<Item = &EnergyUse> {
    let has_elapsed = |energy: &&EnergyUse| energy.elapsed > Duration::ZERO;
    test.samples.iter().filter_map(|sample| sample.energy.as_ref()).filter(has_elapsed)
}

/// Returns the mean of a value over the repeats that contain it; zero if no repeat contains it.
fn mean(test: &TestResult, value: impl Fn(&EnergyUse) -> Option<f64>) -> f64 {
    let values: Vec<f64> = energies(test).filter_map(value).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests;
