//! The target of a run, as a short label and as a sentence.

use lanemark_schema::result::{
    ParameterOverride, RunResult, SimulatedTarget, StudyOutcome, Target, Warning,
};

/// Returns the target's name for use in a sentence: the drive with its port and platform, or a short name.
pub(crate) fn subject(run: &RunResult) -> String {
    match (&run.provenance.name, &run.target) {
        (None, Target::Simulated(target)) => {
            format!("{} in {} of {}", drives(&target.drive), ports(&target.port), target.platform)
        }
        _ => run.target_name(),
    }
}

/// Returns the drives of a system, with a count for equal drives: `4 x Maker X` for `Maker X + Maker X + Maker X +
/// Maker X`.
fn drives(text: &str) -> String {
    let (volume, names) =
        text.split_once(": ").map_or(("", text), |(volume, names)| (volume, names));
    let names: Vec<&str> = names.split(" + ").collect();
    match names.as_slice() {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|name| name == first) => {
            let separator = if volume.is_empty() { "" } else { ": " };
            format!("{volume}{separator}{} x {first}", names.len())
        }
        _ => text.to_owned(),
    }
}

/// Returns the ports of a system, or their number if there are more than two ports.
fn ports(text: &str) -> String {
    match text.split(" + ").count() {
        0..=2 => text.to_owned(),
        count => format!("{count} ports"),
    }
}

/// Describes the target in a sentence.
pub(crate) fn sentence(run: &RunResult) -> String {
    match &run.target {
        Target::Simulated(target) => {
            format!(
                "Simulated: {} in {} of {}; {}.",
                target.drive,
                target.port,
                target.platform,
                values(target)
            )
        }
        Target::Measured(target) => {
            let kind = match target.device {
                Some(true) => ", a block device",
                Some(false) => ", a file",
                None => "",
            };
            let size = target.size_bytes.map(|size| match target.device {
                Some(_) => format!(" of {size}"),
                None => format!(", {size}"),
            });
            let size = size.unwrap_or_default();
            let system =
                target.file_system.as_ref().map(|name| format!(" on {name}")).unwrap_or_default();
            let holder =
                target.block_device.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let cache = match target.direct {
                Some(true) => "page cache bypassed",
                Some(false) => "through the page cache",
                None => "use of the page cache not stated",
            };
            format!(
                "Measured: {}{kind}{size}{system}{holder}, by {}, {cache}.",
                target.path, target.engine
            )
        }
        Target::Database(target) => {
            let version =
                target.version.as_ref().map(|number| format!(" {number}")).unwrap_or_default();
            let location =
                target.place.as_ref().map(|path| format!(", data in {path}")).unwrap_or_default();
            let setting = |(name, value): (&String, &String)| format!("{name} {value}");
            let settings: Vec<String> = target.settings.iter().map(setting).collect();
            let settings = if settings.is_empty() {
                String::new()
            } else {
                format!("; {}", settings.join(", "))
            };
            format!("Measured: {}, {}{version}{location}{settings}.", target.name, target.product)
        }
    }
}

/// Returns a text with the number of model values by source.
pub(crate) fn values(target: &SimulatedTarget) -> String {
    let set = match target.overrides.len() {
        0 => String::new(),
        1 => ", 1 that differs from the library".to_owned(),
        count => format!(", {count} that differ from the library"),
    };
    format!(
        "of its values {} are sourced, {} derived, {} assumed{set}",
        target.values_sourced,
        target.values_derived,
        target.values_assumed.len()
    )
}

/// Returns the model values that differ from the library as `parameter = value`, each with the id of the figure from
/// which it was set.
pub(crate) fn settings(run: &RunResult) -> Vec<String> {
    let Target::Simulated(target) = &run.target else { return Vec::new() };
    let setting = |calibration: &ParameterOverride| {
        let from = calibration.figure.as_ref().map(|id| format!(", from {id}")).unwrap_or_default();
        format!("{} = {}{from}", calibration.parameter, calibration.value)
    };
    target.overrides.iter().map(setting).collect()
}

/// Maximum number of tests that a common warning names.
const TESTS_NAMED: usize = 4;

/// Returns the warnings about a run, each warning once, with its tests and its advice. An incomplete run yields a
/// warning even if no warning was recorded.
pub(crate) fn warnings(run: &RunResult) -> Vec<(String, Option<&'static str>)> {
    selected_warnings(run, |_| true)
}

/// Returns the warnings about a run that `is_listed` selects.
pub(crate) fn selected_warnings(
    run: &RunResult,
    is_listed: fn(&Warning) -> bool,
) -> Vec<(String, Option<&'static str>)> {
    let tests: Vec<&str> = run.tests.iter().map(|one| one.test.name.as_str()).collect();
    let listed = run.warnings.iter().filter(|warning| is_listed(warning));
    let mut warnings = merged_warnings(listed, &tests);
    if !run.complete && !run.warnings.contains(&Warning::Interrupted) {
        warnings.push(("the run has not ended".to_owned(), Warning::Interrupted.advice()));
    }
    warnings
}

/// Returns each kind of warning once. `tests` contains the names of all tests.
pub(crate) fn merged_warnings<'w>(
    listed: impl Iterator<Item = &'w Warning>,
    tests: &[&str],
) -> Vec<(String, Option<&'static str>)> {
    let mut groups: Vec<(serde_json::Value, Vec<&Warning>)> = Vec::new();
    for warning in listed {
        let kind = kind(warning);
        match groups.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, group)) if warning.test().is_some() => group.push(warning),
            Some((_, group)) if group.contains(&warning) => {}
            Some(_) | None => groups.push((kind, vec![warning])),
        }
    }
    groups.iter().map(|(_, alike)| merged_warning(alike, tests)).collect()
}

/// Returns a warning without its test and its numbers. Warnings that differ only in these are one warning about several
/// tests.
fn kind(warning: &Warning) -> serde_json::Value {
    fn without_numbers(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Number(_) => *value = serde_json::Value::Null,
            serde_json::Value::Array(items) => items.iter_mut().for_each(without_numbers),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(without_numbers),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::String(_) => {
            }
        }
    }
    let mut kind = serde_json::to_value(warning).unwrap_or_default();
    if let Some(fields) = kind.as_object_mut() {
        fields.remove("test");
    }
    without_numbers(&mut kind);
    kind
}

/// Returns each warning with its advice. If successive warnings have the same advice, only the last of them has it.
pub(crate) fn with_advice<'l>(
    listed: &'l [(String, Option<&'static str>)],
) -> Vec<(&'l str, Option<&'static str>)> {
    let advice_below = listed.iter().skip(1).map(|(_, advice)| *advice).chain([None]);
    let pairs = listed.iter().zip(advice_below);
    pairs
        .map(|((warning, advice), below)| (warning.as_str(), advice.filter(|_| below != *advice)))
        .collect()
}

/// Returns the warnings about the systems of a study, each warning once.
pub(crate) fn study_warnings(outcome: &StudyOutcome) -> Vec<(String, Option<&'static str>)> {
    let mut seen = Vec::new();
    for warning in outcome.systems.iter().flat_map(|system| warnings(&system.run)) {
        if !seen.contains(&warning) {
            seen.push(warning);
        }
    }
    seen
}

/// Formats a warning about one or more of `all` tests: the names of the tests and their common text, or the text of
/// the first test and the names of the other tests.
fn merged_warning(alike: &[&Warning], all: &[&str]) -> (String, Option<&'static str>) {
    let first = alike[0];
    let advice = first.advice();
    let text = first.to_string();
    let Some(name) = first.test() else { return (text, advice) };
    let mut names = vec![name];
    for test in alike.iter().filter_map(|warning| warning.test()) {
        if !names.contains(&test) {
            names.push(test);
        }
    }
    let others = &names[1..];
    let tests = all.len();
    let is_of_all = tests > 2 && all.iter().all(|name| names.contains(name));
    let after_name = |warning: &Warning| -> Option<String> {
        let text = warning.to_string();
        text.strip_prefix(warning.test()?).map(str::to_owned)
    };
    let common = after_name(first)
        .filter(|text| alike.iter().all(|warning| after_name(warning).as_ref() == Some(text)));
    let text = match common {
        _ if others.is_empty() => text,
        Some(rest) if is_of_all => format!("all {tests} tests{rest}"),
        Some(rest) => format!("{}{rest}", shortened_list(&names)),
        None if is_of_all => {
            format!("{text}; likewise in the other {} tests", others.len())
        }
        None => format!("{text}; likewise in {}", shortened_list(others)),
    };
    (text, advice)
}

/// Returns the first names, and the number of the others.
fn shortened_list(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() && names.len() <= TESTS_NAMED => {
            format!("{} and {last}", all.join(", "))
        }
        [only] => (*only).to_owned(),
        _ => {
            let named = TESTS_NAMED.min(names.len());
            format!("{} and {} more", names[..named].join(", "), names.len() - named)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_drives_and_many_ports_are_numbers() {
        assert_eq!(drives("Maker X"), "Maker X");
        assert_eq!(drives("Maker X + Maker X"), "2 x Maker X");
        assert_eq!(drives("Maker X + Maker Y"), "Maker X + Maker Y");
        assert_eq!(drives("mirror: Maker X + Maker X"), "mirror: 2 x Maker X");
        assert_eq!(ports("sata"), "sata");
        assert_eq!(ports("sata + sata-2"), "sata + sata-2");
        assert_eq!(ports("sata + sata-2 + sata-3"), "3 ports");
    }
}
