//! placeholder
use lanemark_core::result::*;
/// x
pub fn html(_study: Option<&StudyOutcome>, _runs: &[&RunResult]) -> String {
    String::new()
}
