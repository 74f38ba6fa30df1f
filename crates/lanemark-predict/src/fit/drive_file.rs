//! A fitted drive as a library file.
//!
//! The file is a copy of the template's file in which the fitted values are replaced. Each fitted value states its
//! range and the results to which it was fitted. All other values keep their origin. If the measurements only limit a
//! template value, the value has the remaining range, so that this uncertainty contributes to the intervals of
//! predictions.

use lanemark_schema::result::{Determination, FittedDrive, FittedParameter, ParameterOverride};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use super::measured_by;
use crate::PredictError;
use lanemark_study::{Location, StudyError, UncertainValue};

/// The first line of a fitted drive's file.
pub const FITTED_MARK: &str = "# Fitted by `lanemark drive`";

/// Returns the file of a drive under the name `name`, from the template's text and the settings of the fit.
///
/// # Errors
/// Returns an error if the template's text is not valid TOML.
pub fn drive_file(
    fitted: &FittedDrive,
    name: &str,
    template: &str,
    settings: &[ParameterOverride],
) -> Result<String, PredictError> {
    let mut document: DocumentMut = template.parse().map_err(|error: toml_edit::TomlError| {
        StudyError::new(Location::file(&fitted.template), error.message().to_owned())
    })?;
    for setting in settings {
        let origin = "assumed";
        let text = "set for the fit";
        put(&mut document, &setting.parameter, &setting.value, origin, text, None);
    }
    for parameter in &fitted.parameters {
        write(&mut document, fitted, parameter);
    }
    document["drive"]["name"] = toml_edit::value(name);
    if let Some(table) = document["drive"].as_table_mut() {
        let errors = fitted.errors();
        let middle = errors.get(errors.len() / 2).copied().unwrap_or_default();
        let head = format!(
            "{FITTED_MARK} to {} ({}) in {} of {}: median throughput error\n# {:.1}%. Values that \
             the measurements did not determine come from {}.\n\n",
            measured_by(&fitted.results),
            fitted.measured,
            fitted.port,
            fitted.platform,
            middle * 100.0,
            fitted.template,
        );
        table.decor_mut().set_prefix(head);
    }
    Ok(document.to_string())
}

fn write(document: &mut DocumentMut, fitted: &FittedDrive, parameter: &FittedParameter) {
    let Some(value) = &parameter.value else { return };
    let by = measured_by(&fitted.results);
    let range = parameter.range_80.as_ref();
    let text = match (&parameter.standing, &parameter.interval_95) {
        (Determination::Open { kept_template: true, .. }, _) => {
            let text =
                format!("the value of {}, within the range that {by} left open", fitted.template);
            if range.is_some() && table(document, &parameter.parameter).is_some() {
                put(document, &parameter.parameter, value, "assumed", &text, range);
            }
            return;
        }
        (Determination::Open { .. }, _) => {
            format!("fitted to {by}: a bound, because the measurements do not determine the value")
        }
        (Determination::Identified, Some((low, high))) => {
            format!("fitted to {by}, 95%: {low} to {high}")
        }
        (Determination::Identified, None) => format!("fitted to {by}"),
    };
    put(document, &parameter.parameter, value, "derived", &text, range);
}

/// Writes a value with its origin and optional range at the path `parameter`, such as `drive.flash.read`.
fn put(
    document: &mut DocumentMut,
    parameter: &str,
    value: &str,
    origin: &str,
    text: &str,
    range: Option<&(String, String)>,
) {
    let keys = keys(parameter);
    let Some((last, tables)) = keys.split_last() else { return };
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for key in tables {
        let entry = table.entry(key).or_insert_with(|| Item::Table(Table::new()));
        let Some(inner) = entry.as_table_like_mut() else { return };
        table = inner;
    }
    let number = value.parse::<i64>();
    let bare = number.map_or_else(|_| Value::from(value), Value::from);
    if tables.last() == Some(&"port") || tables.contains(&"port") {
        table.insert(last, Item::Value(bare));
        return;
    }
    let mut sourced = InlineTable::new();
    sourced.insert("value", bare);
    sourced.insert(origin, Value::from(text));
    let ranged = |(low, high): &&(String, String)| {
        UncertainValue::within(parameter, value, [low.as_str(), high.as_str()]).is_some()
    };
    if let Some((low, high)) = range.filter(ranged) {
        sourced.insert("range", Value::from_iter([low.as_str(), high.as_str()]));
    }
    match table.get_mut(last) {
        // The key keeps its position and the spaces around it.
        Some(item) => *item = Item::Value(Value::InlineTable(sourced)),
        None => drop(table.insert(last, Item::Value(Value::InlineTable(sourced)))),
    }
}

/// Returns the table that contains `parameter`, and its key in the table.
fn table<'d, 'p>(
    document: &'d mut DocumentMut,
    parameter: &'p str,
) -> Option<(&'d mut dyn toml_edit::TableLike, &'p str)> {
    let keys = keys(parameter);
    let (last, tables) = keys.split_last()?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for key in tables {
        table = table.get_mut(key).and_then(Item::as_table_like_mut)?;
    }
    table.contains_key(last).then_some((table, *last))
}

/// Returns the keys that lead to a parameter. The key `drive` is omitted for tables that are next to `[drive]` in the
/// file.
fn keys(parameter: &str) -> Vec<&str> {
    let keys: Vec<&str> = parameter.split('.').collect();
    let is_of_port = keys.len() == 2 || keys.get(1) == Some(&"port");
    if is_of_port { keys } else { keys.into_iter().skip(1).collect() }
}
