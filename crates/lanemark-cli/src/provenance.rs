//! The provenance of results: the user, command line and machine.

use lanemark_core::result::Provenance;
use lanemark_lab::results;

/// Provenance of what begins now.
pub(crate) fn own(seed: u64) -> Provenance {
    let started_at = results::now();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        seed,
        finished_at: started_at.clone(),
        started_at,
        machine: Some(lanemark_measure::machine()),
        inputs: Default::default(),
    }
}
