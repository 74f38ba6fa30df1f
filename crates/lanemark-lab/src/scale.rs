//! Changes to a workload for one run: its size and length, what is recorded of it over time, and its faults.

use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::{Fault, Interval, Rounds, TestError, Tracked, Workload};

use crate::error::LabError;

/// Changes to how much a workload does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// Part of the target that every test uses; volumes shrink or grow with it.
    pub size: Option<Bytes>,
    /// Time that every test runs, whatever its volume.
    pub duration: Option<Duration>,
    /// Number of times that every test runs.
    pub repeats: Option<u32>,
}

/// Changes to what is recorded of tests while they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverTime {
    /// Length of the rounds in which every test runs until they are steady.
    pub steady: Option<Duration>,
    /// The figure that must be steady.
    pub track: Option<Tracked>,
    /// Length of the intervals that are recorded.
    pub interval: Option<Duration>,
    /// Whether intervals are recorded where none are given.
    pub series: bool,
}

/// A workload with the changes of `scale`.
///
/// # Errors
/// Where a test cannot be so.
pub fn scaled(mut workload: Workload, scale: &Scale) -> Result<Workload, LabError> {
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
        test.check().map_err(|TestError { field, value, bound }| {
            let of_size = scale.size.is_some() && (field != "duration" || scale.duration.is_none());
            let option = if of_size { "--size" } else { "--duration" };
            LabError::input(format!("{option}: test `{}`: {field} = {value}: {bound}", test.name))
        })?;
    }
    Ok(workload)
}

/// A workload with the rounds and intervals of `args`.
///
/// # Errors
/// Where a test cannot be so.
pub fn watched(mut workload: Workload, args: &OverTime) -> Result<Workload, LabError> {
    for test in &mut workload.tests {
        if let Some(length) = args.steady {
            test.rounds = Some(Rounds { length, tracked: args.track.unwrap_or_default() });
            (test.duration, test.volume) = (None, None);
        }
        match args.interval {
            Some(interval) => test.interval = Some(Interval::Fixed { interval }),
            None if args.series && test.interval.is_none() => {
                test.interval = Some(Interval::Automatic);
            }
            None => {}
        }
        test.check().map_err(|TestError { field, value, bound }| {
            let option = if field == "round" { "--steady" } else { "--interval" };
            LabError::input(format!("{option}: test `{}`: {field} = {value}: {bound}", test.name))
        })?;
    }
    Ok(workload)
}

/// Reads what goes wrong.
///
/// # Errors
/// All that cannot be read.
pub fn faults(texts: &[String]) -> Result<Vec<Fault>, LabError> {
    let read = |text: &String| {
        text.parse::<Fault>().map_err(|error| format!("--fault \"{text}\": {error}"))
    };
    let (good, bad): (Vec<_>, Vec<_>) = texts.iter().map(read).partition(Result::is_ok);
    let errors: Vec<String> = bad.into_iter().filter_map(Result::err).collect();
    if errors.is_empty() {
        return Ok(good.into_iter().flatten().collect());
    }
    Err(LabError::input(errors.join("\n"))
        .hint("write a kind and its keys, for example --fault \"power-cut at=2s boot=5s\""))
}

/// Refuses a workload in which something is to go wrong: a real target is not made to fail.
///
/// # Errors
/// Where it has faults.
pub fn real_without_faults(workload: &Workload) -> Result<(), LabError> {
    match workload.faults.is_empty() {
        true => Ok(()),
        false => Err(LabError::input(format!("{}: its faults can only be simulated", workload.id))
            .hint("leave its [[fault]] tables out, or run it with lanemark sim")),
    }
}
