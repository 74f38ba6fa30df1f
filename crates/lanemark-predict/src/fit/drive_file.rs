//! A fitted drive as a library file.
//!
//! The file is a copy of the template's file in which the fitted values are replaced. Each fitted value states its
//! range and the results to which it was fitted. All other values keep their origin. If the measurements only limit a
//! template value, the value has the remaining range, so that this uncertainty contributes to the intervals of
//! predictions.

use lanemark_schema::result::{Determination, FittedDrive, FittedParameter, ParameterOverride};
use lanemark_schema::units::Duration;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use super::measured_by;
use crate::PredictError;
use lanemark_study::{Location, StudyError, UncertainValue};

/// The first line of a fitted drive's file.
pub const FITTED_MARK: &str = "# Fitted by `lanemark drive`";

/// The kinds of pages in a cell, in order.
const PAGES: [&str; 4] = ["lower", "middle", "upper", "top"];

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
    let is_fitted = |place: &str| {
        fitted
            .parameters
            .iter()
            .any(|parameter| parameter.parameter == place && is_written(parameter))
    };
    // Separate times of the pages would take precedence over the fitted time.
    if is_fitted("drive.flash.read") {
        divide_read(&mut document, &fitted.template);
    }
    if is_fitted("drive.flash.program") {
        remove_pages(&mut document, "program");
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

/// Returns whether a drive file lists the zones of a disk individually.
pub(super) fn lists_zones(text: &str) -> bool {
    let document: Option<DocumentMut> = text.parse().ok();
    document
        .is_some_and(|document| document.get("disk").is_some_and(|disk| disk.get("zone").is_some()))
}

/// Returns whether a fitted value replaces the template's value.
fn is_written(parameter: &FittedParameter) -> bool {
    !matches!(parameter.standing, Determination::Open { kept_template: true, .. })
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

/// Replaces the separate read times of the pages by their ratio, which the fit does not change.
fn divide_read(document: &mut DocumentMut, template: &str) {
    let mut numbers = Vec::new();
    for page in PAGES {
        let place = format!("drive.flash.{page}_read");
        let time = table(document, &place).and_then(|(table, last)| {
            let item = table.get(last)?;
            let value = item.as_table_like().and_then(|table| table.get("value")).unwrap_or(item);
            value.as_str()?.parse::<Duration>().ok()
        });
        numbers.extend(time.map(|time| time.nanoseconds().to_string()));
    }
    if !numbers.is_empty() {
        let text = format!("the separate times of {template}");
        put(document, "drive.flash.read_ratio", &numbers.join(":"), "derived", &text, None);
    }
    remove_pages(document, "read");
}

/// Removes the separate times of the pages for `operation`.
fn remove_pages(document: &mut DocumentMut, operation: &str) {
    for page in PAGES {
        remove(document, &format!("drive.flash.{page}_{operation}"));
    }
}

fn remove(document: &mut DocumentMut, parameter: &str) {
    if let Some((table, last)) = table(document, parameter) {
        table.remove(last);
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

#[cfg(test)]
mod tests {
    use lanemark_schema::result::Provenance;

    use super::*;

    /// Returns the file of a drive with these fitted values; the template has separate times for the pages.
    fn file_of(parameters: &[(&str, Determination)]) -> String {
        let template = "[drive]\nname = \"template\"\n\n[flash]\n\
                        read = \"52 us\"\nlower_read = \"40 us\"\nupper_read = \"70 us\"\n\
                        program = \"1 ms\"\nlower_program = \"0.5 ms\"\nupper_program = \"1.5 ms\"\n";
        let parameter = |(parameter, standing): &(&str, Determination)| FittedParameter {
            parameter: (*parameter).to_owned(),
            value: Some("60 us".to_owned()),
            interval_95: None,
            range_80: None,
            template: None,
            standing: standing.clone(),
        };
        let fitted = FittedDrive {
            schema_version: 1,
            provenance: Provenance::default(),
            measured: "sda".to_owned(),
            results: vec!["measured.json".to_owned()],
            template: "template".to_owned(),
            platform: "platform".to_owned(),
            port: "port".to_owned(),
            parameters: parameters.iter().map(parameter).collect(),
            host: Vec::new(),
            figures: Vec::new(),
            unseen: Vec::new(),
            warnings: Vec::new(),
            simulations: 0,
        };
        drive_file(&fitted, "fitted", template, &[]).unwrap()
    }

    #[test]
    fn separate_times_of_pages_are_removed_only_for_a_fitted_time() {
        let open = |kept_template: bool| Determination::Open {
            kept_template,
            with: None,
            needs: String::new(),
        };
        let other = ("drive.front_end.read_time", Determination::Identified);
        let read = "drive.flash.read";
        let program = "drive.flash.program";
        // Each case states whether the file still has separate times for reads and for programs.
        for (parameters, wanted) in [
            (vec![], [true, true]),
            (vec![other.clone()], [true, true]),
            (vec![(read, Determination::Identified)], [false, true]),
            (vec![other.clone(), (read, Determination::Identified)], [false, true]),
            (vec![(program, Determination::Identified), other.clone()], [true, false]),
            (vec![(read, open(false)), other.clone(), (program, open(false))], [false, false]),
            (vec![(read, open(true)), (program, open(true))], [true, true]),
            (vec![(read, open(true)), (program, Determination::Identified)], [true, false]),
        ] {
            let text = file_of(&parameters);
            for (operation, is_separate) in ["read", "program"].into_iter().zip(wanted) {
                for page in ["lower", "upper"] {
                    let key = format!("{page}_{operation} = ");
                    assert_eq!(text.contains(&key), is_separate, "{parameters:?}: {text}");
                }
            }
            assert_eq!(text.contains("read_ratio"), !wanted[0], "{parameters:?}: {text}");
        }
    }

    #[test]
    fn separate_times_of_pages_become_their_ratio() {
        let divided = |text: &str| {
            let mut document = text.parse().unwrap();
            divide_read(&mut document, "the template");
            document.to_string()
        };
        let separate = "[flash]\nread = \"52 us\"\nlower_read = \"40 us\"\n\
                        upper_read = { value = \"0.07 ms\", source = \"x\" }\nlower_program = \"1 ms\"\n";
        let derived = "derived = \"the separate times of the template\"";
        let expected = format!(
            "[flash]\nread = \"52 us\"\nlower_program = \"1 ms\"\n\
             read_ratio = {{ value = \"40000:70000\", {derived} }}\n"
        );
        assert_eq!(divided(separate), expected);
        for text in ["[flash]\nread = \"52 us\"\nread_ratio = \"2:3:2\"\n", "[flash]\n"] {
            assert_eq!(divided(text), text, "nothing is separate");
        }
    }

    #[test]
    fn listed_zones_are_read_and_comments_are_ignored() {
        for (text, listed) in [
            ("[[disk.zone]]\ncylinders = 10\n", true),
            ("[disk]\nzone = [{ cylinders = 10 }]\n", true),
            ("# not [[disk.zone]]\n[disk.zones]\ncount = 16\n", false),
            ("[rated]\nrpm = 7200\n", false),
            ("[", false),
        ] {
            assert_eq!(lists_zones(text), listed, "{text}");
        }
    }
}
