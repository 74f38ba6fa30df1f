//! The direct answer of a study: in which tests one system is faster than the other, and by how much, next to the
//! published ratios.

use lanemark_schema::result::{RatioEstimate, StudyOutcome, TestRatio};

use super::calibration::system_label;
use crate::compare::answer::clauses;
use crate::text::number::ratio;

/// Returns the answer of `outcome` in two sentences; `None` if the study does not compare systems.
pub fn answer(outcome: &StudyOutcome) -> Option<String> {
    let comparison = outcome.comparison.as_ref()?;
    let rows = comparison.ratios.iter();
    let simulated: Vec<(&str, RatioEstimate)> = rows
        .map(|row| (row.test.as_str(), row.simulated))
        .filter(|(_, ratio)| ratio.ratio().is_finite())
        .collect();
    if simulated.is_empty() {
        return None;
    }
    let system = system_label(outcome, &comparison.system);
    let base = system_label(outcome, &comparison.base);
    let verdicts = clauses(base, system, &simulated).join("; ");
    Some(format!("{verdicts}. {}", published(&comparison.ratios)))
}

/// Returns the range of the published ratios, which do not have intervals.
fn published(rows: &[TestRatio]) -> String {
    let known = rows.iter().filter_map(|row| Some((&row.test, row.published?)));
    let mut known: Vec<(&String, f64)> = known.filter(|(_, ratio)| ratio.is_finite()).collect();
    known.sort_by(|one, other| one.1.total_cmp(&other.1));
    match known.as_slice() {
        [] => "No published ratio to compare.".to_owned(),
        [(test, only)] => format!("Published: {} ({test}).", ratio(*only)),
        [(first, lowest), .., (last, highest)] => format!(
            "Published: {} ({first}) to {} ({last}) in {} tests.",
            ratio(*lowest),
            ratio(*highest),
            known.len()
        ),
    }
}
