//! `lanemark import`: a result of what another program has measured.

use std::time::{Duration, UNIX_EPOCH};

use lanemark_core::result::RunResult;
use lanemark_formats::fio_json;
use lanemark_lab::input;

use crate::args::ImportArgs;
use crate::delivery::Delivery;
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::{formats, provenance};

pub(crate) fn run(args: &ImportArgs) -> Result<Outcome, Failure> {
    let file = args.file.display().to_string();
    let text = input::text(&args.file, input::RESULT_MAX)?;
    let imported = fio_json::read(&text, &file)?;
    for note in &imported.notes {
        tell!("note: {note}");
    }
    let mut result = imported.result;
    result.provenance = provenance::own(0);
    // What this machine is says nothing of where fio ran.
    result.provenance.machine = None;
    result.provenance.inputs.insert(file, formats::hash(text.as_bytes()));
    let began = imported.timestamp.and_then(|seconds| {
        // Times beyond the year 9999 cannot be told.
        let seconds = Some(seconds).filter(|&seconds| seconds < 253_402_300_800)?;
        UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
    });
    if let Some(began) = began {
        result.provenance.started_at = humantime::format_rfc3339_seconds(began).to_string();
    }
    let what = format!("import-{}", result.workload.id);
    let (json, started_at) = (args.json, result.provenance.started_at.clone());
    let shown = move |result: &RunResult| formats::shown(result, json, None, false);
    Delivery::open(&args.out, &what, &started_at, None, shown)?.deliver(&mut result)?;
    Ok(Outcome::Done)
}
