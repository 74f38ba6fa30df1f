//! The model's errors against published figures, calibrated and predicted figures apart.
//!
//! A calibrated figure had a model value set from it and is met by construction, so the two are never
//! averaged together.

use lanemark_core::result::{FigureCheck, Role, StudyOutcome};

use crate::calibration::system_label;
use crate::number::{ABSENT, percent, percent_signed};

/// The errors of the figures of one role.
pub(crate) struct ErrorSummary<'a> {
    pub(crate) role: Role,
    pub(crate) count: usize,
    /// Absent where no figure has an error that is a number.
    pub(crate) mean_absolute: Option<f64>,
    pub(crate) worst: Option<&'a FigureCheck>,
}

impl<'a> ErrorSummary<'a> {
    pub(crate) fn of(outcome: &'a StudyOutcome, role: Role) -> Self {
        let checks: Vec<&FigureCheck> =
            outcome.figures_of(role).filter(|check| check.error.is_finite()).collect();
        let sum: f64 = checks.iter().map(|check| check.error.abs()).sum();
        Self {
            role,
            count: outcome.figures_of(role).count(),
            mean_absolute: (!checks.is_empty()).then(|| sum / checks.len() as f64),
            worst: checks
                .into_iter()
                .max_by(|one, other| one.error.abs().total_cmp(&other.error.abs())),
        }
    }

    /// The summary as running text.
    pub(crate) fn sentence(&self, outcome: &StudyOutcome) -> String {
        let figures = match self.count {
            0 => return "no figures.".to_owned(),
            1 => "1 figure".to_owned(),
            count => format!("{count} figures"),
        };
        let mean = self.mean_absolute.map_or(ABSENT.to_owned(), percent);
        let worst = self.worst.map_or(String::new(), |check| {
            format!(", worst {} ({})", percent_signed(check.error), figure_name(outcome, check))
        });
        let within = match outcome.within(self.role) {
            (0, _) => String::new(),
            (all, inside) => format!(", {inside} of {all} in their 80% intervals"),
        };
        format!("{figures}, mean absolute error {mean}{worst}{within}; {}", self.meaning())
    }

    fn meaning(&self) -> &'static str {
        match self.role {
            Role::Predicted => "the model stands or falls by these.",
            Role::Calibrated => "a model value was set from each, so they prove nothing.",
        }
    }
}

/// The name of a role, as every view writes it.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Calibrated => "calibrated",
        Role::Predicted => "predicted",
    }
}

fn figure_name(outcome: &StudyOutcome, check: &FigureCheck) -> String {
    format!("{} {}", system_label(outcome, &check.figure.system), check.figure.test)
}
