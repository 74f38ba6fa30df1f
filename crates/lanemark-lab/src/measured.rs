//! The result of a measurement, including the path to its target and an explanation of each test.

use std::path::Path;

use lanemark_inspect::{InspectError, Sysfs, explain, inspect};
use lanemark_measure::MeasureOutcome;
use lanemark_schema::result::{Inspection, Provenance, RunResult, SCHEMA_VERSION, Target, Warning};
use lanemark_schema::workload::Workload;

/// Returns the result of a measurement, complete or partial.
pub fn result(
    measured: &MeasureOutcome,
    workload: &Workload,
    provenance: &Provenance,
) -> RunResult {
    // A model of a target that was not preconditioned must not be preconditioned either.
    let is_not_preconditioned =
        |warning: &Warning| matches!(warning, Warning::NotPreconditioned { .. });
    let mut workload = workload.clone();
    if measured.warnings.iter().any(is_not_preconditioned) {
        workload.precondition = None;
    }
    RunResult {
        schema_version: SCHEMA_VERSION,
        inspection: None,
        power_cuts: Vec::new(),
        provenance: provenance.clone(),
        target: Target::Measured(measured.target.clone()),
        workload,
        tests: measured.tests.clone(),
        complete: measured.complete,
        warnings: measured.warnings.clone(),
    }
}

/// Returns the result of a completed measurement, with an explanation based on the path to its target. If the path
/// cannot be read, the result omits it and remains valid.
pub fn explained_result(
    measured: &MeasureOutcome,
    workload: &Workload,
    provenance: &Provenance,
) -> RunResult {
    let mut result = result(measured, workload, provenance);
    let inspection =
        Sysfs::open(Path::new("/sys")).and_then(|sysfs| inspect_device(&sysfs, measured));
    explain(&mut result, inspection.as_ref().ok());
    result.inspection = inspection.ok();
    result
}

/// Returns the path to the target's block device.
fn inspect_device(sysfs: &Sysfs, measured: &MeasureOutcome) -> Result<Inspection, InspectError> {
    let device = measured.target.block_device.as_deref();
    inspect(sysfs, Some(device.unwrap_or(&measured.target.path)))
}
