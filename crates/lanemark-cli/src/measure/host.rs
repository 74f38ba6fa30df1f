//! `lanemark bench --host-only`: measures the processor time of requests on this machine.

use std::path::Path;

use lanemark_lab::results::OutputFile;
use lanemark_measure::host::HostProbe;
use lanemark_measure::machine;
use lanemark_schema::units::Duration;
use lanemark_study::document::Document;
use lanemark_study::{host, processors};

use crate::args::BenchArgs;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::HOST;
use crate::output::progress::Progress;
use crate::output::stop;

/// The range of durations: in a shorter measurement, the slices contain too few requests.
const DURATIONS: std::ops::RangeInclusive<f64> = 1.0..=600.0;

/// Default duration of the measurement.
const USUAL: Duration = Duration::from_seconds(10);

/// Measures the host, and writes it to `out`.
pub(crate) fn measure(args: &BenchArgs, out: &Path) -> Result<CommandOutcome, Failure> {
    let target = &args.path;
    let duration = args.scale.duration.unwrap_or(USUAL);
    let name = args.name.name.as_deref().unwrap_or("Measured host");
    if !DURATIONS.contains(&duration.as_seconds()) {
        return Err(Failure::input(format!("--duration {duration}: expected 1 s to 600 s")));
    }
    if out.extension().is_none_or(|extension| extension != "toml") {
        return Err(Failure::input(format!(
            "--host-only {}: expected a .toml file",
            out.display()
        )));
    }
    let outlet = OutputFile::open(out, &HOST)?;
    let stop = stop::on_signal();
    let duration = std::time::Duration::from_secs_f64(duration.as_seconds());
    let probe = HostProbe { target: target.as_deref(), duration, stop: &stop };
    let mut progress = Progress::new();
    let measured = probe.run(&mut |part| progress.keep_moving(&format!("measuring: {part}")))?;
    drop(progress);
    let Some(figures) = measured else { return Ok(CommandOutcome::Interrupted) };
    let processor = processors::find(&machine().cpu);
    let text = figures.text(name, &machine().description());
    let text = match &processor {
        Some(processor) => processor.added_to(&text, "times_for"),
        None => text,
    };
    // The text is written only if the reader of host files accepts it.
    host::values(&Document::parse(&out.display().to_string(), &text)?)?;
    outlet.write(&text)?;
    match processor {
        Some(processor) => tell!("processor: {processor}"),
        None => tell!("processor: {}, whose speed is not known", machine().cpu),
    }
    let micro = |ns: f64| format!("{:.2} µs", ns / 1e3);
    for (what, value) in [
        ("submit a request", figures.submit),
        ("complete a request", figures.complete),
        ("wake a thread", figures.wake),
    ] {
        tell!("{what}: {} ({} to {})", micro(value.value), micro(value.low), micro(value.high));
    }
    if let Some(driver) = &figures.driver {
        let time = driver.time;
        tell!("driver: {} ({} to {})", micro(time.value), micro(time.low), micro(time.high));
        if let Some(time) = driver.per_mib {
            tell!("each MiB: {} ({} to {})", micro(time.value), micro(time.low), micro(time.high));
        }
    }
    tell!("growth per doubling of the thread count: {:.0}%", 100.0 * figures.thread_growth());
    tell!("wrote {}", out.display());
    Ok(CommandOutcome::Done)
}
