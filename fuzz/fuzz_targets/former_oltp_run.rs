//! An OLTP run of the former schema: what comes of it either fails the check or is drawn.
#![no_main]

use lanemark_core::result::RunResult;
use lanemark_oltp::former::FormerRun;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(former) = serde_json::from_slice::<FormerRun>(bytes) else { return };
    let run = RunResult::from(former);
    if run.check().is_ok() {
        let _ = lanemark_report::database_text(&run);
        let _ = lanemark_report::html(None, &[&run]);
    }
});
