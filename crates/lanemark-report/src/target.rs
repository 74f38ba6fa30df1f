//! The target of a run, as a short label and as a sentence.

use std::mem::discriminant;

use lanemark_schema::result::{
    Calibration, InspectedDevice, Inspection, MeasuredTarget, RunResult, SimulatedTarget,
    StudyOutcome, Target, Warning,
};

use crate::inspection;

/// Returns the target's short name: the user's name for it, the system, the drive's model, or host and device.
pub(crate) fn label(run: &RunResult) -> String {
    if let Some(name) = &run.provenance.name {
        return name.clone();
    }
    match &run.target {
        Target::Simulated(target) => target.system.clone(),
        Target::Measured(target) => measured(run, target),
        Target::Database(target) => target.name.clone(),
    }
}

/// Returns the target's name for a sentence: the drive with its port and platform, or its short name.
pub(crate) fn subject(run: &RunResult) -> String {
    match (&run.provenance.name, &run.target) {
        (None, Target::Simulated(target)) => {
            format!("{} in {} of {}", target.drive, target.port, target.platform)
        }
        _ => label(run),
    }
}

/// Names a measured target: the models of its drives, else host and device. A path is a name only if it is complete,
/// because `.` names nothing on another machine.
fn measured(run: &RunResult, target: &MeasuredTarget) -> String {
    if let Some(models) = run.inspection.as_ref().and_then(models) {
        return models;
    }
    let host = run.provenance.machine.as_ref().and_then(|machine| machine.host.as_deref());
    let device = target.block_device.as_deref();
    match (host, device) {
        (Some(host), Some(device)) => format!("{device} of {host}"),
        _ if target.path.starts_with('/') => target.path.clone(),
        (None, Some(device)) => device.to_owned(),
        (Some(host), None) => format!("a file of {host}"),
        // Imported results have the name that their program gave.
        (None, None) if !target.path.trim_matches(['.', '/']).is_empty() => target.path.clone(),
        (None, None) => "a file".to_owned(),
    }
}

/// Returns the models of the drives that a target consists of, `Maker X`, `4 x Maker X` or `Maker X + Maker Y`; `None` if
/// a drive does not report its model.
fn models(inspection: &Inspection) -> Option<String> {
    let named = |name: &str| inspection.devices.iter().find(|device| device.name == name);
    let first = match &inspection.target {
        Some(target) => named(target)?,
        None => inspection.devices.first().filter(|_| inspection.devices.len() == 1)?,
    };
    let mut drives: Vec<&InspectedDevice> = Vec::new();
    let mut open = vec![first];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(device) = open.pop() {
        if seen.contains(&device.name.as_str()) {
            continue;
        }
        seen.push(&device.name);
        match device.below.is_empty() {
            true => drives.push(device),
            false => {
                for below in &device.below {
                    open.push(named(below)?);
                }
            }
        }
    }
    let mut counts: Vec<(String, usize)> = Vec::new();
    for drive in drives {
        drive.identity.model.as_ref().filter(|model| !model.trim().is_empty())?;
        let model = inspection::words::model(&drive.identity).trim().to_owned();
        match counts.iter_mut().find(|(known, _)| *known == model) {
            Some((_, count)) => *count += 1,
            None => counts.push((model, 1)),
        }
    }
    counts.sort();
    let text = |(model, count): &(String, usize)| match count {
        1 => model.clone(),
        count => format!("{count} x {model}"),
    };
    Some(counts.iter().map(text).collect::<Vec<_>>().join(" + "))
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
            let kind = if target.device { "block device" } else { "file" };
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
                "Measured: {}, a {kind} of {}{system}{holder}, by {}, {cache}.",
                target.path, target.size_bytes, target.engine
            )
        }
        Target::Database(target) => {
            let version =
                target.version.as_ref().map(|told| format!(" {told}")).unwrap_or_default();
            let place =
                target.place.as_ref().map(|path| format!(", data in {path}")).unwrap_or_default();
            let setting = |(name, value): (&String, &String)| format!("{name} {value}");
            let settings: Vec<String> = target.settings.iter().map(setting).collect();
            let settings = match settings.is_empty() {
                true => String::new(),
                false => format!("; {}", settings.join(", ")),
            };
            format!("Measured: {}, {}{version}{place}{settings}.", target.name, target.product)
        }
    }
}

/// Counts the model's values by their source, as text.
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

/// Returns the model values that were set differently from the library, `parameter = value`, with the id of the figure
/// that they come from.
pub(crate) fn settings(run: &RunResult) -> Vec<String> {
    let Target::Simulated(target) = &run.target else { return Vec::new() };
    let setting = |calibration: &Calibration| {
        let from = calibration.figure.as_ref().map(|id| format!(", from {id}")).unwrap_or_default();
        format!("{} = {}{from}", calibration.parameter, calibration.value)
    };
    target.overrides.iter().map(setting).collect()
}

/// Maximum number of tests with a common warning that are named, in addition to the first.
const TESTS_NAMED: usize = 8;

/// Returns the warnings about a run, each once, with its tests and its advice. An incomplete run is reported even if no
/// warning was recorded.
pub(crate) fn doubts(run: &RunResult) -> Vec<(String, &'static str)> {
    let mut groups: Vec<Vec<&Warning>> = Vec::new();
    for warning in &run.warnings {
        let alike = |known: &&mut Vec<&Warning>| match (warning.test(), known[0].test()) {
            (Some(_), Some(_)) => discriminant(warning) == discriminant(known[0]),
            _ => warning == known[0],
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(warning),
            None => groups.push(vec![warning]),
        }
    }
    let mut doubts: Vec<(String, &'static str)> = groups.iter().map(|all| doubt(all)).collect();
    if !run.complete && !run.warnings.contains(&Warning::Interrupted) {
        doubts.push(("the run has not ended".to_owned(), Warning::Interrupted.advice()));
    }
    doubts
}

/// Returns the warnings about the systems of a study, each once.
pub(crate) fn study_doubts(outcome: &StudyOutcome) -> Vec<(String, &'static str)> {
    let mut seen = Vec::new();
    for doubt in outcome.systems.iter().flat_map(|system| doubts(&system.run)) {
        if !seen.contains(&doubt) {
            seen.push(doubt);
        }
    }
    seen
}

/// Formats a warning about one test or several: the text for the first test, and the names of the others.
fn doubt(alike: &[&Warning]) -> (String, &'static str) {
    let mut others: Vec<&str> = Vec::new();
    for test in alike.iter().filter_map(|warning| warning.test()) {
        if alike[0].test() != Some(test) && !others.contains(&test) {
            others.push(test);
        }
    }
    let mut text = alike[0].to_string();
    if !others.is_empty() {
        let named = others[..others.len().min(TESTS_NAMED)].join(", ");
        let more = match others.len().saturating_sub(TESTS_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text += &format!("; likewise in {named}{more}");
    }
    (text, alike[0].advice())
}
