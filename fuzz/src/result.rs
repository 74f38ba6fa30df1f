//! A saved run that passes the check can be drawn in every view, and is unchanged after it is written and read again.

use lanemark_report::Style;
use lanemark_schema::result::RunResult;

pub(crate) fn read(bytes: &[u8]) {
    let Ok(run) = serde_json::from_slice::<RunResult>(bytes) else { return };
    if run.check().is_err() {
        return;
    }
    let style = Style { width: 80, colour: false };
    let _ = lanemark_report::run_table(&run, &style);
    let _ = lanemark_report::test_details(&run, &style);
    let _ = lanemark_report::database_text(&run, &style);
    let _ = lanemark_report::compare_table(("a", &run), ("b", &run), true, &style);
    let _ = lanemark_report::html(None, &[&run]);
    let written = serde_json::to_vec(&run).unwrap();
    let again: RunResult = serde_json::from_slice(&written).unwrap();
    assert!(again.check().is_ok() && again == run);
}
