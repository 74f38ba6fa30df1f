//! The model values that a study sets differently from the library, each with the figure from which it was set and the
//! reason.
//!
//! A setting that several systems share is shown once. A changed value that was not set from a figure is a what-if and
//! is labelled accordingly.

use lanemark_schema::result::{ParameterOverride, StudyOutcome, Target};

use crate::text::number::published;

/// A setting and the systems to which it applies.
pub(crate) struct CalibratedSetting<'a> {
    pub(crate) calibration: &'a ParameterOverride,
    /// The labels of the systems to which the setting applies.
    pub(crate) systems: Vec<&'a str>,
    /// Description of the published figure from which the value was set.
    pub(crate) figure: Option<String>,
}

/// Returns the settings of all systems in the order of the systems, each setting once.
pub(crate) fn settings(outcome: &StudyOutcome) -> Vec<CalibratedSetting<'_>> {
    let mut settings: Vec<CalibratedSetting<'_>> = Vec::new();
    for system in &outcome.systems {
        let Target::Simulated(target) = &system.run.target else { continue };
        for calibration in &target.overrides {
            match settings.iter_mut().find(|setting| setting.calibration == calibration) {
                Some(setting) if !setting.systems.contains(&system.label.as_str()) => {
                    setting.systems.push(&system.label);
                }
                Some(_) => {}
                None => settings.push(CalibratedSetting {
                    calibration,
                    systems: vec![&system.label],
                    figure: calibration.figure.as_ref().map(|id| figure(outcome, id)),
                }),
            }
        }
    }
    settings
}

/// Returns the label of the system named `name`, or `name` itself if there is no such system.
pub(crate) fn system_label<'a>(outcome: &'a StudyOutcome, name: &'a str) -> &'a str {
    outcome.systems.iter().find(|system| system.name == name).map_or(name, |system| &system.label)
}

fn figure(outcome: &StudyOutcome, id: &str) -> String {
    match outcome.figures.iter().find(|check| check.figure.id == id) {
        Some(check) => format!(
            "{id} ({} {}, {} {}, {})",
            system_label(outcome, &check.figure.system),
            check.figure.test,
            published(check.figure.published),
            check.figure.metric.unit(),
            check.figure.place
        ),
        None => id.to_owned(),
    }
}
