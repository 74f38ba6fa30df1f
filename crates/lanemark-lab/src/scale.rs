//! Changes to a workload for one run: its size and duration, the intervals that it records, and its faults.

use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{
    Fault, RoundSettings, SeriesInterval, TestError, TrackedFigure, Workload,
};

use crate::error::LabError;

/// Changes to the amount of work in a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadScale {
    /// Size of the part of the target that every test uses; volumes scale with it.
    pub size: Option<Bytes>,
    /// Time for which every test runs, regardless of its volume.
    pub duration: Option<Duration>,
    /// The number of repeats of every test.
    pub repeats: Option<u32>,
}

/// Changes to the recording of tests over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesSettings {
    /// Length of the rounds in which every test runs until they are steady.
    pub steady: Option<Duration>,
    /// The figure that must be steady.
    pub track: Option<TrackedFigure>,
    /// Length of the recorded intervals.
    pub interval: Option<Duration>,
    /// Whether intervals are recorded if no length is given.
    pub series: bool,
}

/// Returns a workload with the changes of `scale`.
///
/// # Errors
/// Returns an error if a test does not accept the changes.
pub fn scaled_workload(
    mut workload: Workload,
    scale: &WorkloadScale,
) -> Result<Workload, LabError> {
    if let Some(repeats) = scale.repeats {
        workload.repeats = repeats;
    }
    for test in &mut workload.tests {
        if let Some(size) = scale.size {
            test.volume = test.volume.map(|volume| {
                let scaled =
                    u128::from(volume.get()) * u128::from(size.get()) / u128::from(test.span.get());
                Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
            });
            test.span = size;
        }
        if let Some(duration) = scale.duration {
            test.duration = Some(duration);
            test.volume = None;
            test.rounds = None;
        }
        // Requests that need the page cache were accepted when the workload was read.
        test.check_through_cache().map_err(|TestError { field, value, bound }| {
            let of_size = scale.size.is_some() && (field != "duration" || scale.duration.is_none());
            let option = if of_size { "--size" } else { "--duration" };
            LabError::input(format!("{option}: test `{}`: {field} = {value}: {bound}", test.name))
        })?;
    }
    Ok(workload)
}

/// Returns a workload with the rounds and intervals of `args`.
///
/// # Errors
/// Returns an error if a test does not accept these changes.
pub fn with_series_settings(
    mut workload: Workload,
    args: &SeriesSettings,
) -> Result<Workload, LabError> {
    for test in &mut workload.tests {
        if let Some(length) = args.steady {
            test.rounds = Some(RoundSettings { length, tracked: args.track.unwrap_or_default() });
            (test.duration, test.volume) = (None, None);
        }
        match args.interval {
            Some(interval) => test.interval = Some(SeriesInterval::Fixed { interval }),
            None if args.series && test.interval.is_none() => {
                test.interval = Some(SeriesInterval::Automatic);
            }
            None => {}
        }
        test.check_through_cache().map_err(|TestError { field, value, bound }| {
            let option = if field == "round" { "--steady" } else { "--interval" };
            LabError::input(format!("{option}: test `{}`: {field} = {value}: {bound}", test.name))
        })?;
    }
    Ok(workload)
}

/// Parses faults.
///
/// # Errors
/// Returns an error that names every text that cannot be parsed.
pub fn faults(texts: &[String]) -> Result<Vec<Fault>, LabError> {
    let parse_fault = |text: &String| {
        text.parse::<Fault>().map_err(|error| format!("--fault \"{text}\": {error}"))
    };
    let (good, bad): (Vec<_>, Vec<_>) = texts.iter().map(parse_fault).partition(Result::is_ok);
    let errors: Vec<String> = bad.into_iter().filter_map(Result::err).collect();
    if errors.is_empty() {
        return Ok(good.into_iter().flatten().collect());
    }
    Err(LabError::input(errors.join("\n"))
        .hint("write a kind and its keys, for example --fault \"power-cut at=500ms boot=5s\""))
}

/// Rejects a workload with faults, because a real target cannot be made to fail.
///
/// # Errors
/// Returns an error if the workload has faults.
pub fn real_without_faults(workload: &Workload) -> Result<(), LabError> {
    if workload.faults.is_empty() {
        Ok(())
    } else {
        Err(LabError::input(format!("{}: faults can only be simulated", workload.id))
            .hint("remove its [[fault]] tables, or run it with lanemark sim"))
    }
}
