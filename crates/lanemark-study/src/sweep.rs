//! A sweep: one test on one system at every combination of the values on its axes.
//!
//! An axis is a parameter of the test, a part of the system, or any model value that can be set. Points are numbered so
//! that the last axis varies fastest. Each point is assembled and run separately, with the same random streams as a run
//! of only that test, so that a point has the same result on every machine and at any time. If a value is not valid for
//! the system or the test, its points have an error as their outcome. An unknown name is an error before the first run.
//!
//! Every point has a key, which is a hash of all its inputs: the version, library files, system, test, settings, seed,
//! axes, and the values of the point. The key identifies the rows of a file that belong to this sweep.
//!
//! Axes that vary together, omitted points and several tests are not supported.

mod axis;
mod parameter;
pub mod rows;

use std::collections::BTreeSet;
use std::path::Path;

use lanemark_schema::result::{
    DirectionFigures, ParameterOverride, Sample, SweepFigures, SweepPoint, TestResult,
    write_amplification,
};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Test, Workload};
use lanemark_sim::{Progress, RunLength, SimError, is_shortened, may_converge, run_length_watched};
use sha2::{Digest, Sha256};

use crate::document::Section;
use crate::error::{Location, StudyError};
use crate::library::{Library, LibraryKind, open_file};
use crate::system::{NameLocations, System, SystemName};
pub use axis::Axis;
use parameter::{OF_SYSTEM, OF_TEST};

/// The maximum number of points of a sweep.
pub const POINTS_MAX: u64 = 1_000_000;
/// The latency percentiles among the figures of a point.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// A sweep as defined in its file.
#[derive(Clone, Debug)]
pub struct SweepDefinition {
    /// The system in the form `drive@platform:port`.
    pub system: String,
    /// The test in the form `workload:test`.
    pub workload: String,
    /// Axes of the sweep.
    pub axes: Vec<Axis>,
    /// Model values that are set for all points.
    pub settings: Vec<(ParameterOverride, Location)>,
}

/// A sweep that passed all checks that do not require assembling each point.
#[derive(Clone, Debug)]
pub struct Sweep {
    parts: SystemName,
    workload: Workload,
    axes: Vec<Axis>,
    settings: Vec<(ParameterOverride, Location)>,
    seed: u64,
    length: RunLength,
    /// The hash of all inputs that the points have in common.
    inputs: String,
}

/// Runs points in sequence. Several runners can work on one sweep in parallel.
pub struct PointRunner<'s> {
    sweep: &'s Sweep,
    library: Library,
    /// Maximum memory of each simulation.
    memory: Bytes,
    /// The system of the last point, and the values from which it was assembled.
    last: Option<(Vec<String>, Result<System, String>)>,
}

impl SweepDefinition {
    /// Reads a sweep's file.
    ///
    /// # Errors
    /// Returns the first error in the file.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let document = open_file(path)?;
        document.read("sweep", None, Self::read_document)
    }

    fn read_document(root: &Section<'_>) -> Result<Self, StudyError> {
        let head = root.table("sweep")?;
        let system = head.text("system")?;
        let workload = head.text("workload")?;
        head.finish()?;
        let axes = root.read_tables("axis", |section, _: &[Axis]| {
            let mut texts = section.scalars("values")?;
            texts.extend(section.optional_text("range")?);
            let axis = Axis::new(&section.text("name")?, &texts, section.location_of("name"))?;
            section.finish()?;
            Ok(axis)
        })?;
        let settings =
            root.read_tables("set", |section, _: &[(ParameterOverride, Location)]| {
                let parameter = section.text("parameter")?;
                let value = section.text("value")?;
                let calibration =
                    ParameterOverride { parameter, value, figure: None, reason: None };
                section.finish()?;
                Ok((calibration, section.location_of("value")))
            })?;
        root.finish()?;
        Ok(Self { system, workload, axes, settings })
    }
}

impl Sweep {
    /// Creates the sweep of `definition` with the single test of `workload`, which also provides the number of repeats
    /// and the kind of average. Each point runs `length` of the test. A test that converges runs once, regardless of
    /// the repeats.
    ///
    /// # Errors
    /// Returns an error if a name is not known to tests or systems, or if a value does not have the format of its
    /// parameter. Also returns an error if an axis appears twice, if there is no axis, if there is not exactly one
    /// test, or if there are more than [`POINTS_MAX`] points.
    pub fn new(
        library: &Library,
        definition: SweepDefinition,
        workload: Workload,
        seed: u64,
        length: RunLength,
    ) -> Result<Self, StudyError> {
        let SweepDefinition { system, workload: named, axes, settings } = definition;
        let parts = SystemName::parse(&system)?;
        if workload.tests.len() != 1 {
            let tests = workload.tests.iter().map(|test| crate::workload::slug(&test.name));
            let message = format!("{} tests, but a sweep runs one", workload.tests.len());
            return Err(StudyError::new(Location::file(&named), message).hint(format!(
                "name one of them: {}:{}",
                workload.id,
                tests.collect::<Vec<_>>().join(&format!(", {}:", workload.id))
            )));
        }
        let inputs = String::new();
        let mut sweep = Self { parts, workload, axes, settings, seed, length, inputs };
        sweep.check_axes()?;
        sweep.check_values()?;
        sweep.open_files(library)?;
        sweep.check_parameters(library)?;
        sweep.inputs = sweep.hash_of_inputs(library);
        Ok(sweep)
    }

    /// Returns the names of the axes.
    pub fn axes(&self) -> Vec<String> {
        self.axes.iter().map(|axis| axis.name.clone()).collect()
    }

    /// Returns the values on each axis, in the order of the axes.
    pub fn axis_values(&self) -> impl Iterator<Item = &[String]> {
        self.axes.iter().map(|axis| axis.values.as_slice())
    }

    /// Returns the number of repeats of each point.
    pub fn repeats(&self) -> u32 {
        self.workload.repeats
    }

    /// Returns the number of points.
    pub fn points(&self) -> u64 {
        self.axes.iter().map(|axis| axis.values.len() as u64).product()
    }

    /// Returns the hash of all inputs that the points have in common, in hexadecimal.
    pub fn inputs(&self) -> &str {
        &self.inputs
    }

    /// Returns the key of a point.
    pub fn key(&self, number: u64) -> String {
        key(&self.inputs, number, &self.values(number))
    }

    /// Returns the values of a point, one per axis.
    pub fn values(&self, number: u64) -> Vec<String> {
        let mut rest = number;
        let mut values: Vec<String> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let count = axis.values.len() as u64;
                let value = axis.values[(rest % count) as usize].clone();
                rest /= count;
                value
            })
            .collect();
        values.reverse();
        values
    }

    fn check_axes(&self) -> Result<(), StudyError> {
        if self.axes.is_empty() {
            return Err(StudyError::new(Location::file("sweep"), "no axis")
                .hint("for example --axis queue_depth=1..256*2"));
        }
        for (place, axis) in self.axes.iter().enumerate() {
            let known_parameters = || OF_TEST.iter().map(|(name, _)| *name).chain(OF_SYSTEM);
            if !axis.name.contains('.') && !known_parameters().any(|name| name == axis.name) {
                let place = axis.location.clone();
                return Err(StudyError::unknown(
                    place,
                    "parameter",
                    &axis.name,
                    known_parameters(),
                ));
            }
            if self.axes[..place].iter().any(|other| other.name == axis.name) {
                let message = format!("axis `{}` is given twice", axis.name);
                return Err(StudyError::new(axis.location.clone(), message));
            }
        }
        let counts = self.axes.iter().map(|axis| axis.values.len() as u64);
        let points = counts.fold(1u64, u64::saturating_mul);
        if points > POINTS_MAX {
            let message = format!("{points} points; the maximum is {POINTS_MAX}");
            return Err(StudyError::new(Location::file("sweep"), message)
                .hint("use fewer values, or a factor instead of a step: 1..256*2"));
        }
        Ok(())
    }

    /// Finds values that do not have the format of their parameter, and are therefore invalid at every point. Whether a
    /// value is in bounds depends on the other values, and is checked for each point.
    fn check_values(&self) -> Result<(), StudyError> {
        let is_of_test = |axis: &&Axis| OF_TEST.iter().any(|(name, _)| *name == axis.name);
        for axis in self.axes.iter().filter(is_of_test) {
            for value in &axis.values {
                let mut test = self.workload.tests[0].clone();
                parameter::apply(&mut test, &axis.name, value).map_err(|message| {
                    StudyError::new(axis.location.clone(), message)
                        .hint("values are written 1,2,4 and ranges 1..32, 1..32+4 or 1..32*2")
                })?;
            }
        }
        Ok(())
    }

    /// Opens every library file that a point can need, so that the hashes are known and unknown names are found.
    fn open_files(&self, library: &Library) -> Result<(), StudyError> {
        let kinds = [(LibraryKind::Drive, "drive"), (LibraryKind::Platform, "platform")];
        for (kind, name) in kinds {
            if let Some(axis) = self.axes.iter().find(|axis| axis.name == name) {
                for value in &axis.values {
                    library.open(kind, value).map_err(|error| error.located_at(&axis.location))?;
                }
            }
        }
        let has_axis = |name: &str| self.axes.iter().any(|axis| axis.name == name);
        if !has_axis("platform") {
            library.open(LibraryKind::Platform, &self.parts.platform)?;
        }
        for (place, (drive, _)) in self.parts.places().enumerate() {
            if place > 0 || !has_axis("drive") {
                library.open(LibraryKind::Drive, drive)?;
            }
        }
        Ok(())
    }

    /// Finds names of model values that no system of the sweep knows. For this check, each value is set to the first
    /// value on its axis; the bounds are checked for each point.
    fn check_parameters(&self, library: &Library) -> Result<(), StudyError> {
        let values = |name: &str| {
            let axis = self.axes.iter().find(|axis| axis.name == name);
            axis.map_or(vec![None], |axis| axis.values.iter().cloned().map(Some).collect())
        };
        for axis in self.axes.iter().filter(|axis| axis.name.contains('.')) {
            let mut unknown = None;
            'systems: for drive in values("drive") {
                for platform in values("platform") {
                    for port in values("port") {
                        let mut parts = self.parts.clone();
                        let part_names = [&mut parts.drive, &mut parts.platform, &mut parts.port];
                        for (place, value) in part_names.into_iter().zip([&drive, &platform, &port])
                        {
                            if let Some(value) = value {
                                place.clone_from(value);
                            }
                        }
                        let mut settings = self.settings.clone();
                        settings.push(setting(axis, &axis.values[0]));
                        let named_at = NameLocations::all(&axis.location);
                        let found =
                            System::assemble(library, &parts, &named_at, "sweep", &settings);
                        unknown = found.err().filter(|error| {
                            error.is_unknown_name() && error.message.contains(&axis.name)
                        });
                        if unknown.is_none() {
                            break 'systems;
                        }
                    }
                }
            }
            unknown.map_or(Ok(()), |error| {
                Err(StudyError { location: axis.location.clone(), ..error })
            })?;
        }
        Ok(())
    }

    fn hash_of_inputs(&self, library: &Library) -> String {
        let axes = self.axes.iter().map(|axis| (&axis.name, &axis.values));
        let settings = self.settings.iter().map(|(set, _)| (&set.parameter, &set.value));
        let axes: Vec<_> = axes.collect();
        let settings: Vec<_> = settings.collect();
        // Equal files at different paths have equal hashes.
        let files: BTreeSet<String> = library.used().into_values().collect();
        sha256(&format!(
            "{}\n{}\n{:?}\n{:?}\n{:?}\n{axes:?}\n{settings:?}\n{}",
            env!("CARGO_PKG_VERSION"),
            self.parts,
            self.workload.tests,
            (self.workload.repeats, self.workload.average, self.length),
            files,
            self.seed
        ))
    }
}

impl<'s> PointRunner<'s> {
    /// Creates a runner for the points of `sweep`, each of whose simulations takes up to `memory`.
    pub fn new(sweep: &'s Sweep, library: Library, memory: Bytes) -> Self {
        Self { sweep, library, memory, last: None }
    }

    /// Runs a point. An error is part of the outcome. Returns `None` if `watch` returned false, which ends the run.
    pub fn run(
        &mut self,
        number: u64,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Option<SweepPoint> {
        let sweep = self.sweep;
        let values = sweep.values(number);
        let mut test = sweep.workload.tests[0].clone();
        let mut parts = sweep.parts.clone();
        let mut wrong = None;
        let mut made_by = Vec::new();
        let mut settings = sweep.settings.clone();
        for (axis, value) in sweep.axes.iter().zip(&values) {
            match axis.name.as_str() {
                "drive" => parts.drive.clone_from(value),
                "platform" => parts.platform.clone_from(value),
                "port" => parts.port.clone_from(value),
                name if name.contains('.') => settings.push(setting(axis, value)),
                name => {
                    let applied = parameter::apply(&mut test, name, value);
                    wrong = wrong.or(applied.err());
                    continue;
                }
            }
            made_by.push(value.clone());
        }
        let system = parts.to_string();
        let outcome = match wrong {
            Some(message) => Err(message),
            None => {
                if self.last.as_ref().is_none_or(|(by, _)| *by != made_by) {
                    let named_at = NameLocations::all(&Location::file(&system));
                    let made =
                        System::assemble(&self.library, &parts, &named_at, &system, &settings);
                    let made = made.map(|made| made.with_memory(self.memory));
                    self.last = Some((made_by, made.map_err(|error| error.to_string())));
                }
                let made = self.last.as_ref().map(|(_, made)| made);
                match made? {
                    Ok(made) => sweep.figures(made, &test, watch).transpose()?,
                    Err(error) => Err(error.clone()),
                }
            }
        };
        Some(SweepPoint { number, system, test: test.name, values, outcome })
    }
}

impl Sweep {
    /// Returns the figures of a test; `None` if `watch` ended the run.
    fn figures(
        &self,
        system: &System,
        test: &Test,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<SweepFigures>, String> {
        let test = &test.clone().checked().map_err(|error| error.to_string())?;
        let at = Location::file(&self.workload.id);
        let spec = system.with_faults(&self.workload.faults, &at);
        let spec = spec.map_err(|error| error.to_string())?;
        let converges = self.length != RunLength::Whole
            && (may_converge(&spec, test) || is_shortened(&spec, test));
        let repeats = if converges { 1 } else { self.workload.repeats };
        let samples = (0..repeats).map(|repeat| {
            let key = StreamKey { seed: self.seed, test: 0, repeat, thread: 0 };
            run_length_watched(&spec, test, key, self.length, watch)
        });
        let samples: Vec<Sample> = match samples.collect() {
            Err(SimError::Cancelled) => return Ok(None),
            samples => samples.map_err(|error| error.to_string())?,
        };
        let result = TestResult::new(&self.workload, test, samples);
        let latency = result.latency();
        let us = |ns: u64| ns as f64 / 1e3;
        let path = result.samples.first().and_then(|sample| sample.path.as_ref());
        Ok(Some(SweepFigures {
            iops: result.iops.value,
            bytes_per_second: result.throughput_bytes_per_second.value,
            latency_mean_us: result.latency_mean_ns.value / 1e3,
            latency_percentiles_us: PERCENTILES
                .map(|one| latency.recorded_percentile_ns(one).map(us)),
            latency_max_us: latency.max_ns().map(us),
            busiest: path
                .and_then(|path| path.busiest_hop())
                .map(|hop| (hop.name.clone(), hop.utilisation)),
            reads: DirectionFigures::from_samples(
                &result.samples,
                |sample| sample.reads.as_ref(),
                self.workload.average,
            ),
            writes: DirectionFigures::from_samples(
                &result.samples,
                |sample| sample.writes.as_ref(),
                self.workload.average,
            ),
            write_amplification: write_amplification(&result.samples),
        }))
    }
}

/// Returns the key of a point with these values, in a sweep whose common inputs have the hash `inputs`.
pub fn key(inputs: &str, number: u64, values: &[String]) -> String {
    let mut key = sha256(&format!("{inputs}\n{number}\n{}", values.join("\n")));
    key.truncate(16);
    key
}

/// Returns the setting that applies to a model value at a point.
fn setting(axis: &Axis, value: &str) -> (ParameterOverride, Location) {
    let parameter = axis.name.clone();
    let value = value.to_owned();
    let location = Location::file(format!("{parameter} = {value}"));
    (ParameterOverride { parameter, value, figure: None, reason: None }, location)
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
