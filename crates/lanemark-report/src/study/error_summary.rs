//! The errors of the model against published figures, separately for calibrated and predicted figures.
//!
//! A calibrated figure was used to set a model value, so the model meets it by construction. Errors of the two kinds
//! are therefore never averaged together. Means and medians are computed over the distinct figures
//! ([`StudyOutcome::distinct`]): a bound that is met does not have an error, and a near repeat would count one fact
//! twice.

use lanemark_schema::result::{BoundKind, FigureCheck, FigureRole, StudyOutcome};

use super::calibration::system_label;
use crate::text::number::{ABSENT, fixed, percent, percent_signed};

/// The errors of all figures that have one role.
pub(crate) struct ErrorSummary<'a> {
    role: FigureRole,
    /// Number of figures that have this role.
    count: usize,
    bounds: usize,
    /// Number of bounds that the model meets.
    bounds_met: usize,
    /// Number of figures that are near repeats of others.
    repeats: usize,
    /// Absolute errors of the distinct figures, in ascending order.
    errors: Vec<f64>,
    worst: Option<&'a FigureCheck>,
}

impl<'a> ErrorSummary<'a> {
    pub(crate) fn from_outcome(outcome: &'a StudyOutcome, role: FigureRole) -> Self {
        let distinct = outcome.distinct(role);
        let mut errors: Vec<f64> = distinct.iter().map(|check| check.error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        let bounds: Vec<&FigureCheck> = outcome
            .figures_of(role)
            .filter(|check| check.figure.bound != BoundKind::Exactly)
            .collect();
        let exact = outcome
            .figures_of(role)
            .filter(|check| check.figure.bound == BoundKind::Exactly && check.error.is_finite())
            .count();
        let checks = outcome.figures_of(role).filter(|check| check.error.is_finite());
        Self {
            role,
            count: outcome.figures_of(role).count(),
            bounds: bounds.len(),
            bounds_met: bounds.iter().filter(|check| check.error == 0.0).count(),
            repeats: exact - distinct.len(),
            errors,
            worst: checks.max_by(|one, other| one.error.abs().total_cmp(&other.error.abs())),
        }
    }

    fn mean(&self) -> Option<f64> {
        let sum: f64 = self.errors.iter().sum();
        (!self.errors.is_empty()).then(|| sum / self.errors.len() as f64)
    }

    fn median(&self) -> Option<f64> {
        let middle = self.errors.len() / 2;
        match self.errors.len() {
            0 => None,
            even if even.is_multiple_of(2) => {
                Some(f64::midpoint(self.errors[middle - 1], self.errors[middle]))
            }
            _ => Some(self.errors[middle]),
        }
    }

    /// Returns the summary as running text.
    pub(crate) fn sentence(&self, outcome: &StudyOutcome) -> String {
        let figures = match self.count {
            0 => return "no figures.".to_owned(),
            1 => "1 figure".to_owned(),
            count => format!("{count} figures"),
        };
        let count_phrase = |count: usize, one: &str, several: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {several}")),
        };
        let bounds = count_phrase(self.bounds, "bound", "bounds").map(|text| {
            let bounds_text = if self.bounds_met == self.bounds {
                "met".to_owned()
            } else {
                format!("{} met", self.bounds_met)
            };
            format!("{text}, {bounds_text}")
        });
        let repeats = count_phrase(self.repeats, "near repeat", "near repeats");
        let breakdown: Vec<String> = bounds.into_iter().chain(repeats).collect();
        let breakdown = if breakdown.is_empty() {
            String::new()
        } else {
            format!(" (including {})", breakdown.join("; "))
        };
        let error = |value: Option<f64>| value.map_or(ABSENT.to_owned(), percent);
        let median = error(self.median());
        let mean = error(self.mean());
        let worst = self.worst.map_or(String::new(), |check| {
            format!(", worst {} ({})", percent_signed(check.error), figure_name(outcome, check))
        });
        let of = if breakdown.is_empty() {
            String::new()
        } else {
            format!(" of the {} distinct figures", self.errors.len())
        };
        let width = outcome.interval_width(self.role);
        let within = match (outcome.within(self.role), width) {
            ((0, _), _) | (_, None) => String::new(),
            ((all, inside), Some(width)) => format!(
                ", {inside} of {all} in their 80% intervals (median width, high over low: {})",
                fixed(width, 2)
            ),
        };
        format!(
            "{figures}{breakdown}, absolute error{of}: median {median}, mean {mean}{worst}{within}; {}",
            self.meaning()
        )
    }

    fn meaning(&self) -> &'static str {
        match self.role {
            FigureRole::Predicted => "these test the model.",
            FigureRole::Calibrated => "these set model values, so they do not test the model.",
        }
    }
}

/// Returns the name of a role as all views print it.
pub(crate) fn role_name(role: FigureRole) -> &'static str {
    match role {
        FigureRole::Calibrated => "calibrated",
        FigureRole::Predicted => "predicted",
    }
}

fn figure_name(outcome: &StudyOutcome, check: &FigureCheck) -> String {
    format!("{} {}", system_label(outcome, &check.figure.system), check.figure.test)
}

#[cfg(test)]
mod tests;
