//! A what-if request as text: the current system or a result, and the changes.

use std::path::Path;

use lanemark_schema::result::{FittedDrive, ParameterOverride, RunResult, Target, WhatIf};
use lanemark_schema::units::Duration;
use lanemark_study::library::LibraryKind;
use lanemark_study::system::SystemName;
use lanemark_study::{Library, Location, System, UncertainValue};

use super::{WhatIfJob, WhatIfSide, fitted_ranges};
use crate::error::LabError;
use crate::event::EventObserver;
use crate::interval::DrawnSystem;
use crate::lab::{Lab, LabRun, assemble, settings};
use crate::scale::{WorkloadScale, scaled_workload};
use crate::{input, opened, results};

/// The factor by which a driver's time varies between hosts, in both directions, like any assumed time.
const HOST_SPREAD: f64 = 1.4;

/// A what-if question.
#[derive(Clone, Copy, Debug)]
pub struct WhatIfQuestion<'a> {
    /// The current system, `drive@platform:port`, or a saved result.
    pub from: &'a str,
    /// The model that represents the drive of a measured result.
    pub model: Option<&'a str>,
    /// The other system; each part that it does not name is the current system's: `:port`, `@platform:port`, `drive`.
    pub to: Option<&'a str>,
    /// The other queue depth, for all tests.
    pub queue_depth: Option<u32>,
    /// Model values of the other system, each `parameter=value`.
    pub set: &'a [String],
    /// The fit that produced the drive's model.
    pub fit: Option<&'a Path>,
    /// The workload that replaces the tests of the result or of data sheets.
    pub workload: Option<&'a str>,
    /// Whether to report 80% intervals.
    pub intervals: bool,
    /// Whether to predict tests whose measurement contradicts the model of the current system.
    pub is_forced: bool,
    /// Changes to the tests.
    pub scale: WorkloadScale,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Lab {
    /// Runs the tests of `args` on both systems and compares them. Returns `None` if the run is cancelled. `begun`
    /// receives the number of simulations before they run: one per repeat of each test, for both systems.
    ///
    /// # Errors
    /// Returns an error if the systems, tests and values do not fit together, before anything runs.
    pub fn answer_what_if(
        &self,
        library: &Library,
        args: &WhatIfQuestion<'_>,
        begun: &mut dyn FnMut(usize),
        watch: &mut EventObserver<'_>,
    ) -> Result<Option<WhatIf>, LabError> {
        let mut from = CurrentSystem::read(args)?;
        let host = from.run.as_ref().and_then(RunResult::measured_host);
        let own = library.with_measured_host(&from.system, args.from, host)?;
        let library = match &own {
            Some((library, system)) => {
                from.system.clone_from(system);
                library
            }
            None => library,
        };
        let (other, set) = other_system(args, &from.system)?;
        let workload = match (args.workload, &from.run) {
            (Some(name), _) => {
                let capacity = assemble(library, &from.system, &[])?.capacity();
                let capacity = assemble(library, &other, &set)?.capacity().min(capacity);
                let mut opened = opened::open_simulated(library, name, &args.scale, capacity)?;
                opened.simulate();
                opened.workload
            }
            (None, Some(run)) => {
                let mut workload = run.workload.clone();
                workload.take_pages();
                workload
            }
            (None, None) => opened::open(library, "data-sheet", None)?.workload,
        };
        let mut now = scaled_workload(workload, &args.scale)?;
        // Simulated repeats differ only in their offsets.
        now.repeats = 1;
        let mut other_workload = now.clone();
        if let Some(depth) = args.queue_depth {
            for test in &mut other_workload.tests {
                let Some(requests) = test.requests_mut() else {
                    let error =
                        format!("--queue-depth: test `{}` consists of transactions", test.name);
                    return Err(
                        LabError::input(error).hint("use a different workload, or omit the option")
                    );
                };
                requests.queue_depth = depth;
            }
        }
        // All errors are found before any simulation.
        let fit = args.fit.map(results::read_fit).transpose()?;
        // The fitted values of the host apply to its platform, for every port.
        let fit = fit.as_ref();
        let (here, own) = with_fitted_host(library, &from.system, &[], fit)?;
        let present = WhatIfSide { name: from.system.clone(), system: here, workload: now };
        let (there, all) = with_fitted_host(library, &other, &set, fit)?;
        let is_other_host = present.system.target.platform != there.target.platform;
        let mut other = WhatIfSide { name: other, system: there, workload: other_workload };
        present.check_places()?;
        other.check_places()?;
        let ranges = fit.map(fitted_ranges).unwrap_or_default();
        let mut others = ranges.clone();
        if from.measured().is_some() && is_other_host {
            others.extend(driver_times(&other.system));
        }
        let named = other.name.clone();
        // The fit belongs to the other system's drive, and to the current drive if it is the same drive.
        let same = drive_of(&from.system) == drive_of(&named);
        let of_present = if same { ranges.as_slice() } else { &[] };
        let subject = |name, settings, ranges| DrawnSystem { library, name, settings, ranges };
        let subjects =
            [subject(&from.system, &own, of_present), subject(&named, all.as_slice(), &others)];
        if let Some(depth) = args.queue_depth {
            other.name += &format!(" at queue depth {depth}");
        }
        let samples = |side: &WhatIfSide| {
            self.samples(&LabRun { system: &side.system, workload: &side.workload })
        };
        begun(samples(&present) + samples(&other));
        let measured = from.measured().map(|run| (args.from, run));
        let subjects = args.intervals.then_some(subjects);
        let changed = changed_values(args, &from.system, &named, &present.system, &set)?;
        let job = WhatIfJob {
            present,
            other,
            subjects,
            measured,
            is_forced: args.is_forced,
            changed,
            seed: args.seed,
        };
        self.what_if(&job, watch)
    }
}

/// Returns the driver times of a host without measurements. A platform takes these times from one published machine. On
/// a different processor they are as uncertain as the platform's other times.
fn driver_times(system: &System) -> Vec<UncertainValue> {
    let records = system.values.iter().filter(|one| {
        one.parameter.starts_with("platform.") && one.parameter.ends_with(".driver_time")
    });
    let ranged = records.filter_map(|record| {
        let time: Duration = record.text.parse().ok()?;
        let time_text = |factor: f64| format!("{:.3} us", time.as_microseconds() * factor);
        let ends = [time_text(1.0 / HOST_SPREAD), time_text(HOST_SPREAD)];
        UncertainValue::within(&record.parameter, &record.text, ends.each_ref().map(String::as_str))
    });
    ranged.collect()
}

/// Assembles a system with the settings in `set`, and returns it with all values that are set. On the fitted platform,
/// these include the host values from the fit.
fn with_fitted_host(
    library: &Library,
    name: &str,
    set: &[(ParameterOverride, Location)],
    fit: Option<&FittedDrive>,
) -> Result<(System, Vec<(ParameterOverride, Location)>), LabError> {
    let plain = assemble(library, name, set)?;
    // A fit on a platform with a measured host, `platform, host`, also applies to that platform with its own host.
    let is_fitted = |fit: &&FittedDrive| {
        let rest = fit.platform.strip_prefix(&plain.target.platform);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
    };
    let host = fit.filter(is_fitted).map(|fit| &fit.host);
    let is_set = |calibration: &ParameterOverride| {
        set.iter().any(|(other, _)| other.parameter == calibration.parameter)
    };
    let free = host.into_iter().flatten().filter(|one| !is_set(one));
    let mut all: Vec<(ParameterOverride, Location)> =
        free.map(|one| (one.clone(), Location::file("--fit"))).collect();
    if all.is_empty() {
        return Ok((plain, set.to_vec()));
    }
    all.extend_from_slice(set);
    Ok((assemble(library, name, &all)?, all))
}

/// The current system, and its measured result if there is one.
struct CurrentSystem {
    system: String,
    run: Option<RunResult>,
}

impl CurrentSystem {
    fn read(args: &WhatIfQuestion<'_>) -> Result<Self, LabError> {
        let named = args.from;
        if !names_result(named) {
            return Ok(Self { system: named.to_owned(), run: None });
        }
        let run = results::load_run(named)?;
        let system = match (&run.target, args.model) {
            (_, Some(model)) => model.to_owned(),
            (Target::Simulated(target), None) => target.system.clone(),
            (Target::Database(_), None) => {
                return Err(LabError::input(format!("{named} is a run on a real database")).hint(
                    "use `lanemark report FILE --out workload.toml` to convert it to a workload for simulated systems",
                ));
            }
            (Target::Measured(_), None) => {
                return Err(LabError::input(format!("{named} was measured on a real drive"))
                    .hint("name the model that represents it, --model DRIVE@PLATFORM:PORT; `lanemark drive --from` \
                     creates such a model"));
            }
        };
        Ok(Self { system, run: Some(run) })
    }

    fn measured(&self) -> Option<&RunResult> {
        self.run.as_ref().filter(|run| matches!(run.target, Target::Measured(_)))
    }
}

/// Returns the values of the other system that differ, each with the current value.
fn changed_values(
    args: &WhatIfQuestion<'_>,
    present: &str,
    other: &str,
    system: &System,
    set: &[(ParameterOverride, Location)],
) -> Result<Vec<String>, LabError> {
    let now = SystemParts::split(present)?;
    let new = SystemParts::split(other)?;
    let parts = [
        ("drive", new.drive, now.drive),
        ("platform", new.platform, now.platform),
        ("port", new.port, now.port),
    ];
    let named = parts
        .into_iter()
        .filter(|(_, new, old)| new != old)
        .map(|(part, new, old)| format!("{part} {new} instead of {old}"));
    let depth = args.queue_depth.map(|depth| format!("queue depth {depth} for all tests"));
    let set = set.iter().map(|(setting, _)| {
        let ParameterOverride { parameter, value, .. } = setting;
        match system.values.iter().find(|record| record.parameter == *parameter) {
            Some(record) => format!("{parameter} = {value} instead of {}", record.text),
            None => format!("{parameter} = {value}"),
        }
    });
    Ok(named.chain(depth).chain(set).collect())
}

/// Returns the name of the drive in a system's name.
fn drive_of(system: &str) -> Option<&str> {
    system.split_once('@').map(|(drive, _)| drive)
}

/// Returns whether `named` is a result instead of a system: a file, or the name of a saved result.
fn names_result(named: &str) -> bool {
    let is_file_found =
        || results::find_result_file(Path::new(named)).is_ok_and(|path| path.is_file());
    named.ends_with(".json")
        || named.contains(".json#")
        || (!named.contains('@') && !named.starts_with(':') && is_file_found())
        || input::is_piped(Path::new(named))
}

/// Returns whether `named` is a result instead of a system, a part of a system or a drive of `library`.
pub fn is_result(library: &Library, named: &str) -> bool {
    let is_drive = || {
        named.ends_with(".toml")
            || library.names(LibraryKind::Drive).iter().any(|drive| drive == named)
    };
    names_result(named) && !is_drive()
}

/// The parts of a system's name.
struct SystemParts<'a> {
    /// The kind of volume with its colon, or nothing.
    volume: &'a str,
    drive: &'a str,
    /// The platform, with the name of another host if there is one.
    platform: &'a str,
    /// All ports and further drives.
    port: &'a str,
}

impl<'a> SystemParts<'a> {
    fn split(name: &'a str) -> Result<Self, LabError> {
        SystemName::parse(name)?;
        let (before, behind) = name.split_once('@').unwrap_or((name, ""));
        let colon = before.rfind(':').map_or(0, |colon| colon + 1);
        let (platform, port) = behind.split_once(':').unwrap_or((behind, ""));
        Ok(Self { volume: &before[..colon], drive: &before[colon..], platform, port })
    }
}

/// Returns the name of the system `to`, which takes each part that it does not name from the system `first`: `:port`,
/// `@platform:port`, `drive` or `drive@:port`.
///
/// # Errors
/// Returns an error if `first` is not the name of a system, or if the platform lacks a port.
pub fn complete_name(first: &str, to: &str) -> Result<String, LabError> {
    let SystemParts { volume, drive, platform, port } = SystemParts::split(first)?;
    Ok(match (to.strip_prefix(':'), to.strip_prefix('@')) {
        (Some(port), _) => format!("{volume}{drive}@{platform}:{port}"),
        (None, Some(place)) if place.contains(':') => format!("{volume}{drive}@{place}"),
        (None, Some(platform)) => {
            return Err(LabError::input(format!("@{platform}: the port is missing")).hint(
                format!("write @{platform}:PORT; `lanemark inspect {platform}` lists the ports"),
            ));
        }
        (None, None) => match to.split_once('@') {
            None => format!("{volume}{to}@{platform}:{port}"),
            Some((drive, rest)) if rest.starts_with(':') => {
                format!("{volume}{drive}@{platform}{rest}")
            }
            Some(_) => to.to_owned(),
        },
    })
}

/// Returns the name of the other system, and the values that are set.
fn other_system(
    args: &WhatIfQuestion<'_>,
    present: &str,
) -> Result<(String, Vec<(ParameterOverride, Location)>), LabError> {
    let set = settings(args.set)?;
    let name = match args.to {
        None if set.is_empty() && args.queue_depth.is_none() => {
            return Err(LabError::input("there is no other system to compare with").hint(
                "name a second system, :PORT, @PLATFORM:PORT or DRIVE, or use --queue-depth or --set",
            ));
        }
        None => present.to_owned(),
        Some(to) => complete_name(present, to)?,
    };
    Ok((name, set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_times_of_drivers_vary_on_another_host() {
        let library = Library::built_in();
        let system = assemble(&library, "samsung-950-pro-512gb@workstation-z170:m2", &[]).unwrap();
        let wanted: Vec<(String, Duration)> = system
            .values
            .iter()
            .filter_map(|one| {
                let driver =
                    one.parameter.strip_prefix("platform.")?.strip_suffix(".driver_time")?;
                Some((format!("platform.{driver}.driver_time"), one.text.parse().unwrap()))
            })
            .collect();
        assert!(!wanted.is_empty());
        let ranged = driver_times(&system);
        assert_eq!(ranged.len(), wanted.len());
        for (given, (parameter, time)) in ranged.iter().zip(&wanted) {
            assert_eq!(given.parameter, *parameter);
            assert_eq!(given.text.parse::<Duration>().unwrap(), *time);
            let low = given.range.low;
            let high = given.range.high;
            assert!((low * HOST_SPREAD - 1.0).abs() < 1e-2, "{parameter}: {low}");
            assert!((high / HOST_SPREAD - 1.0).abs() < 1e-2, "{parameter}: {high}");
        }
    }

    #[test]
    fn the_drive_of_a_system_is_before_its_platform() {
        for (system, drive) in [
            ("a-1@b:c", Some("a-1")),
            ("stripe:a@b:c+d", Some("stripe:a")),
            ("@b:c", Some("")),
            ("a", None),
        ] {
            assert_eq!(drive_of(system), drive, "{system}");
        }
    }

    fn question_with<'a>(set: &'a [String]) -> WhatIfQuestion<'a> {
        WhatIfQuestion {
            from: "a@b:c",
            model: None,
            to: None,
            queue_depth: None,
            set,
            fit: None,
            workload: None,
            intervals: false,
            is_forced: false,
            scale: WorkloadScale::default(),
            seed: 1,
        }
    }

    #[test]
    fn the_other_system_differs_in_the_question() {
        let set = ["drive.buffer=1 MiB".to_owned()];
        let named = |args: &WhatIfQuestion<'_>| {
            other_system(args, "a@b:c")
                .map(|(name, set)| (name, set.len()))
                .map_err(|e| e.to_string())
        };
        let plain = question_with(&[]);
        for (args, name) in [
            (WhatIfQuestion { to: Some("x"), ..plain }, "x@b:c"),
            (WhatIfQuestion { to: Some(":x"), ..plain }, "a@b:x"),
            (WhatIfQuestion { to: Some("@x:y"), ..plain }, "a@x:y"),
            (WhatIfQuestion { to: Some("x@:y"), ..plain }, "x@b:y"),
            (WhatIfQuestion { to: Some("x@y:z"), ..plain }, "x@y:z"),
            (WhatIfQuestion { queue_depth: Some(2), ..plain }, "a@b:c"),
        ] {
            assert_eq!(named(&args), Ok((name.to_owned(), 0)));
        }
        assert_eq!(named(&question_with(&set)), Ok(("a@b:c".to_owned(), 1)));
        assert!(named(&plain).unwrap_err().contains("no other system"));
        let half = named(&WhatIfQuestion { to: Some("@x"), ..plain }).unwrap_err();
        assert!(half.contains("the port is missing"), "{half}");
    }
}
