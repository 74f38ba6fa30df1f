//! The result of a measurement: the path to its target is added, and each test is explained by it.

use std::path::Path;

use lanemark_core::result::{Inspection, Provenance, RunResult, SCHEMA_VERSION, Target};
use lanemark_core::workload::Workload;
use lanemark_inspect::{InspectError, Sysfs, explain, inspect};
use lanemark_measure::Outcome;

/// The result of a measurement as far as it got.
pub fn result(measured: &Outcome, workload: &Workload, provenance: &Provenance) -> RunResult {
    RunResult {
        schema_version: SCHEMA_VERSION,
        inspection: None,
        provenance: provenance.clone(),
        target: Target::Measured(measured.target.clone()),
        workload: workload.clone(),
        tests: measured.tests.clone(),
        complete: measured.complete,
        warnings: measured.warnings.clone(),
    }
}

/// The result of a measurement that has ended, explained by the path to its target. Where the path cannot be read, the
/// run is as good without it.
pub fn explained(measured: &Outcome, workload: &Workload, provenance: &Provenance) -> RunResult {
    let mut result = result(measured, workload, provenance);
    let inspection =
        Sysfs::open(Path::new("/sys")).and_then(|sysfs| inspect_device(&sysfs, measured));
    explain(&mut result, inspection.as_ref().ok());
    result.inspection = inspection.ok();
    result
}

/// The path to the block device under the target.
fn inspect_device(sysfs: &Sysfs, measured: &Outcome) -> Result<Inspection, InspectError> {
    let device = measured.target.block_device.as_deref();
    inspect(sysfs, Some(device.unwrap_or(&measured.target.path)))
}
