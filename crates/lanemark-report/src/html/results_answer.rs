//! The answer to the results that a page or a drawing shows together.

use lanemark_schema::result::{RunResult, StudyOutcome};

use crate::compare::summary;
use crate::run::{lead, trial};
use crate::study::study_answer;
use crate::text::target;

/// Returns the answer to the results that a page or drawing shows together: the answer of the study, of the only run,
/// or of the comparison of all runs; `None` if there are no results.
pub fn results_answer(study: Option<&StudyOutcome>, runs: &[&RunResult]) -> Option<String> {
    match (study, runs) {
        (Some(study), _) => Some(study_answer(study)),
        (None, runs) if trial::trial_answer(runs).is_some() => trial::trial_answer(runs),
        (None, [only]) => Some(lead::run(only)),
        (None, several) => {
            let labels: Vec<String> = several.iter().map(|run| target::subject(run)).collect();
            let named: Vec<(&str, &RunResult)> =
                labels.iter().map(String::as_str).zip(several.iter().copied()).collect();
            summary::summary(&named)
        }
    }
}
