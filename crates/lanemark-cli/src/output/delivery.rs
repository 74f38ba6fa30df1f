//! The delivery of a run's result: it is saved during the run, and written at the end to files, stdout and stderr, in
//! this order.
//!
//! All files are reserved before the run starts. At the end files are written first, because the reader of stdout may
//! have closed it. A failed output does not affect the other outputs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lanemark_lab::LabError;
use lanemark_lab::columns::RunTable;
use lanemark_lab::results::{self, OutputFile};
use lanemark_schema::result::{RunResult, Warning};

use crate::output::failure::Failure;
use crate::output::messages::tell;
use crate::output::outlets::{PAGE, SERIES};
use crate::output::saving::{Destination, ResultSaver};
use crate::output::{self, formats, stop};

/// The function that formats a result for stdout.
type ResultPrinter = Box<dyn Fn(&RunResult) -> Result<String, Failure> + Send + Sync>;

/// The files that receive a result in addition to the saved result.
#[derive(Clone, Copy, Default)]
pub(crate) struct ExtraFiles<'p> {
    pub(crate) page: Option<&'p Path>,
    pub(crate) series: Option<&'p Path>,
}

#[derive(Clone)]
pub(crate) struct ResultDelivery(Arc<ResultOutputs>);

struct ResultOutputs {
    saving: ResultSaver,
    page: Option<OutputFile>,
    series: Option<OutputFile>,
    printer: ResultPrinter,
    so_far: Mutex<Option<RunResult>>,
    /// Whether a message about a failed save was printed.
    is_reported: AtomicBool,
}

impl ResultDelivery {
    /// Reserves all files. After this call, the last saved result is delivered if the run does not end in time after a
    /// signal.
    pub(crate) fn open(
        out: Destination<'_>,
        what: &str,
        started_at: &str,
        files: ExtraFiles<'_>,
        printer: impl Fn(&RunResult) -> Result<String, Failure> + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let page = OutputFile::open_if_given(files.page, &PAGE)?;
        let series = OutputFile::open_if_given(files.series, &SERIES)?;
        let saving = ResultSaver::open(out, what, started_at)?;
        let printer: ResultPrinter = Box::new(printer);
        let so_far = Mutex::new(None);
        let is_reported = AtomicBool::new(false);
        let delivery =
            Self(Arc::new(ResultOutputs { saving, page, series, printer, so_far, is_reported }));
        let last = delivery.clone();
        stop::at_end(move || last.deliver_so_far());
        Ok(delivery)
    }

    pub(crate) fn save(&self, result: &mut RunResult) -> Result<(), LabError> {
        result.provenance.finished_at = results::now();
        *self.so_far() = Some(result.clone());
        // A result that could not be read again is rejected when it is saved.
        self.0.saving.save_run(result)
    }

    /// Saves the current result during the run. If saving fails, the run continues; at its end, the result is saved
    /// again and printed. Returns the message about the first failure.
    pub(crate) fn save_on_the_way(&self, result: &mut RunResult) -> Option<String> {
        let failure = self.save(result).err()?;
        let first = !self.0.is_reported.swap(true, Ordering::Relaxed);
        first.then(|| format!("error: {failure}; the run continues"))
    }

    /// Ends the run and delivers the result to all outputs.
    pub(crate) fn deliver(&self, result: &mut RunResult) -> Result<(), Failure> {
        stop::ends_itself();
        self.to_all(result)
    }

    /// Ends a run that was interrupted before its first sample.
    pub(crate) fn deliver_nothing(&self) {
        stop::ends_itself();
        tell!("interrupted before a test was complete; nothing is saved");
    }

    fn to_all(&self, result: &mut RunResult) -> Result<(), Failure> {
        let saved = self.save(result);
        let ResultOutputs { saving, page, series, printer, .. } = &*self.0;
        let write = |outlet: &Option<OutputFile>, text: &dyn Fn() -> String| match outlet {
            Some(outlet) => Ok(outlet.write(&text())?),
            None => Ok(()),
        };
        let series_written = write(series, &|| formats::csv(&RunTable::Series.columns(result)));
        let page_written = write(page, &|| lanemark_report::html(None, &[result]));
        let printed = printer(result)
            .and_then(|text| if text.is_empty() { Ok(()) } else { output::print(&text) });
        let saved = saving.report(saved);
        for (outlet, written) in [(series, &series_written), (page, &page_written)] {
            if let (Some(outlet), Ok(())) = (outlet, written) {
                tell!("wrote {}", outlet.path().display());
            }
        }
        let all = [saved, series_written, page_written, printed];
        let mut failures: Vec<Failure> = all.into_iter().filter_map(Result::err).collect();
        let last = failures.pop();
        failures.iter().for_each(|failure| tell!("{failure}"));
        last.map_or(Ok(()), Err)
    }

    /// Delivers the last saved result of an interrupted run.
    fn deliver_so_far(&self) {
        let Some(mut result) = self.so_far().clone() else {
            return tell!("interrupted before a test was complete; nothing is saved");
        };
        if !result.warnings.contains(&Warning::Interrupted) {
            result.warnings.push(Warning::Interrupted);
        }
        result.complete = false;
        if let Err(failure) = self.to_all(&mut result) {
            tell!("{failure}");
        }
    }

    fn so_far(&self) -> std::sync::MutexGuard<'_, Option<RunResult>> {
        self.0.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
