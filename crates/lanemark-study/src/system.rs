//! Drives in the ports of a platform, and runs of a workload on them.

mod preconditioned;

use lanemark_schema::result::{
    AssumedLimit, DriveSpace, FILLING_MAX, ParameterOverride, Provenance, RunResult,
    SCHEMA_VERSION, Sample, SimulatedTarget, Target, TestResult, Warning,
};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Fault, Test, Workload};
use lanemark_sim::link::LinkSpec;
use lanemark_sim::spec::{CheckedSystem, DriveCondition, MediaSpec, PriorContent, ProtocolKind};
use lanemark_sim::{
    CHUNK, Progress, RunLength, SimError, VolumeSpec, is_shortened, may_converge,
    run_beside_watched,
};

use crate::attached::{AttachedDrive, join};
use crate::document::{Context, Document};
use crate::error::{Location, StudyError, simulation_hint};
use crate::library::{Library, LibraryKind};
use crate::origin::{Ledger, Origin, Overrides, UncertainValue, ValueRecord};
use crate::platform::Platform;
use crate::plug::NativeInterface;
use crate::roomier::roomier_platforms;

/// A system by the names of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemName {
    /// The drive's file.
    pub drive: String,
    /// The platform's file.
    pub platform: String,
    /// The port, or two ports as `one|other` for a drive that is connected through both.
    pub port: String,
    /// Other drives that work at the same time, each with its port.
    pub beside: Vec<(String, String)>,
    /// The volume that contains all drives, if there is one.
    pub volume: Option<VolumeSpec>,
}

/// The locations of the names in a system's name, for error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameLocations {
    /// The drive's name.
    pub drive: Location,
    /// The platform's name.
    pub platform: Location,
    /// The port's name.
    pub port: Location,
}

/// A system, assembled and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Specification for the simulator.
    pub spec: CheckedSystem,
    /// The platform, with its other ports.
    pub platform: Platform,
    /// Description of the system in results.
    pub target: SimulatedTarget,
    /// The used ports, with their drives.
    pub taken: Vec<UsedPort>,
    /// Whether any values are computed from a drive's ratings, because its file omits them.
    pub is_rated: bool,
    /// The values of the system, in the order in which they were read.
    pub values: Vec<ValueRecord>,
    /// The values that are known only within a range.
    pub uncertain: Vec<UncertainValue>,
    /// The warnings from the assembly.
    pub warnings: Vec<Warning>,
}

/// A port and the drive in it.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedPort {
    /// The port's name.
    pub port: String,
    /// The drive's display name.
    pub drive: String,
    /// The port's own link, as trained.
    pub link: LinkSpec,
    /// The drive's own connector, if the port limits it.
    pub own: Option<NativeInterface>,
}

impl SystemName {
    /// Parses `drive@platform:port`. Other ports follow after `+`, each preceded by its drive and a colon, or with
    /// another drive of the first kind: `drive@platform:port+port+other-drive:port`. A drive with two ports uses both
    /// of `one|other`. With `stripe:`, `stripe-64KiB:` or `mirror:` before the first drive, all drives form one volume.
    ///
    /// # Errors
    /// Returns an error if `text` does not have this form.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let fail = || {
            let message = format!("`{text}`: expected drive@platform:port");
            StudyError::new(Location::file("SYSTEM"), message)
                .hint("for example samsung-950-pro-512gb@workstation-z170:pcie-slot")
        };
        let (volume, text) = volume(text)?;
        let mut places = text.split('+');
        let first = places.next().unwrap_or_default();
        let (drive, rest) = first.split_once('@').ok_or_else(fail)?;
        let (platform, port) = rest.rsplit_once(':').ok_or_else(fail)?;
        let beside: Vec<(String, String)> = places
            .map(|place| place.rsplit_once(':').unwrap_or((drive, place)))
            .map(|(drive, port)| (drive.to_owned(), port.to_owned()))
            .collect();
        let further = beside.iter().flat_map(|(drive, port)| [drive.as_str(), port.as_str()]);
        if [drive, platform, port].into_iter().chain(further).any(str::is_empty) {
            return Err(fail());
        }
        let drives = beside.iter().map(|(drive, _)| drive.as_str()).chain([platform, drive]);
        for before_colon in drives {
            if let Some((one, _)) = before_colon.split_once('|') {
                let message = format!(
                    "`{text}`: both ports of a drive must belong to one platform, not also to `{one}`"
                );
                return Err(StudyError::new(Location::file("SYSTEM"), message)
                    .hint("write drive@platform:port|port"));
            }
        }
        let others = beside.iter().map(|(drive, port)| (drive.as_str(), port.as_str()));
        for (drive, ports) in others.chain([(drive, port)]) {
            if ports.split('|').any(str::is_empty) || ports.split('|').count() > 2 {
                let message =
                    format!("`{ports}`: `{drive}` can be connected through one port or two");
                return Err(StudyError::new(Location::file("SYSTEM"), message)
                    .hint("write drive@platform:port or drive@platform:port|port"));
            }
        }
        Ok(Self {
            drive: drive.to_owned(),
            platform: platform.to_owned(),
            port: port.to_owned(),
            beside,
            volume,
        })
    }

    /// Returns every drive and its port, in order.
    pub fn places(&self) -> impl Iterator<Item = (&str, &str)> {
        let further = self.beside.iter().map(|(drive, port)| (drive.as_str(), port.as_str()));
        std::iter::once((self.drive.as_str(), self.port.as_str())).chain(further)
    }
}

/// Parses the kind of volume that precedes the first drive, and returns the rest of the text.
fn volume(text: &str) -> Result<(Option<VolumeSpec>, &str), StudyError> {
    let Some((before, behind)) = text.split_once(':') else { return Ok((None, text)) };
    let fail = |message: String| {
        StudyError::new(Location::file("SYSTEM"), message)
            .hint("write stripe-64KiB:drive@platform:port+port")
    };
    let volume = match before.split_once('-') {
        _ if before.contains('@') => return Ok((None, text)),
        None if before == "stripe" => VolumeSpec::Stripe { chunk: CHUNK },
        None if before == "mirror" => VolumeSpec::Mirror,
        Some(("stripe", chunk)) => {
            let parsed = chunk.parse();
            let chunk: Bytes = parsed.map_err(|error| fail(format!("`{before}`: {error}")))?;
            VolumeSpec::Stripe { chunk }
        }
        _ => {
            let message = format!("`{before}:` is neither `stripe:` nor `mirror:`");
            return Err(fail(message));
        }
    };
    Ok((Some(volume), behind))
}

impl NameLocations {
    /// Returns all three names at one location, such as the command line.
    pub fn all(location: &Location) -> Self {
        Self { drive: location.clone(), platform: location.clone(), port: location.clone() }
    }
}

impl std::fmt::Display for SystemName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.volume {
            None => {}
            Some(VolumeSpec::Mirror) => write!(f, "mirror:")?,
            Some(VolumeSpec::Stripe { chunk: CHUNK }) => write!(f, "stripe:")?,
            Some(VolumeSpec::Stripe { chunk }) => {
                write!(f, "stripe-{}:", chunk.to_string().replace(' ', ""))?;
            }
        }
        write!(f, "{}@{}:{}", self.drive, self.platform, self.port)?;
        self.beside.iter().try_for_each(|(drive, port)| {
            if *drive == self.drive { write!(f, "+{port}") } else { write!(f, "+{drive}:{port}") }
        })
    }
}

impl System {
    /// Plugs a drive into a port. `name` is the name of the system in results. `named_at` contains the locations of the
    /// names of its parts. Each of `settings` replaces a library value.
    ///
    /// # Errors
    /// Returns the first error in the files, or in their combination.
    pub fn assemble(
        library: &Library,
        parts: &SystemName,
        named_at: &NameLocations,
        name: &str,
        settings: &[(ParameterOverride, Location)],
    ) -> Result<Self, StudyError> {
        let platform_file = library
            .open(LibraryKind::Platform, &parts.platform)
            .map_err(|error| error.located_at(&named_at.platform))?;
        Self::assemble_on(library, &platform_file, parts, named_at, name, settings)
    }

    /// Plugs a drive into a port of the platform in `platform_file`, like [`Self::assemble`].
    pub(crate) fn assemble_on(
        library: &Library,
        platform_file: &Document,
        parts: &SystemName,
        named_at: &NameLocations,
        name: &str,
        settings: &[(ParameterOverride, Location)],
    ) -> Result<Self, StudyError> {
        let ledger = Ledger::default();
        let mut overrides = Overrides::default();
        for (setting, location) in settings {
            overrides.set(&setting.parameter, &setting.value, location.clone());
        }
        let context = Context { ledger: &ledger, overrides: &overrides };
        let platform = Platform::read(platform_file, context)?;
        let mut attached: Vec<AttachedDrive> = Vec::new();
        for (drive, port) in parts.places() {
            for port in port.split('|') {
                if let Some(other) = attached.iter().find(|other| other.takes(port)) {
                    let message = format!(
                        "port `{port}` of {} is taken twice, by {} and by `{drive}`",
                        platform.name, other.drive.name
                    );
                    return Err(StudyError::new(named_at.port.clone(), message));
                }
            }
            let one = AttachedDrive::new(
                library,
                drive,
                port,
                &platform,
                platform_file,
                named_at,
                context,
            );
            attached.push(one.map_err(|error| {
                let known: Vec<&str> =
                    platform.ports.iter().map(|known| known.name.as_str()).collect();
                error.with_roomier(&roomier_platforms(
                    library,
                    drive,
                    parts.places().count(),
                    port,
                    &known,
                ))
            })?);
        }
        overrides.check_used(&ledger)?;

        let spec = join(&platform, &attached, parts.volume)
            .map_err(|message| StudyError::new(named_at.port.clone(), message))?;
        let spec = spec.checked().map_err(|error| {
            if error.field.starts_with("volume") {
                return StudyError::new(named_at.drive.clone(), error.to_string())
                    .hint("write a volume as stripe-64KiB:drive@platform:port+port, or mirror:…");
            }
            let location = if error.field.starts_with("drive") {
                attached[0].file.location_of_parameter("drive", error.field)
            } else {
                platform_file.location_of_parameter("platform", error.field)
            };
            StudyError::new(location, error.to_string())
        })?;
        let mut target = describe(name, &attached, &platform, &ledger, settings);
        if let Some(volume) = parts.volume {
            target.drive = format!("{volume}: {}", target.drive);
        }
        let mut warnings: Vec<Warning> = Vec::new();
        for warning in attached.iter().flat_map(AttachedDrive::warnings) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let taken = attached.iter().flat_map(AttachedDrive::used_ports).collect();
        let values = ledger.records();
        let mut uncertain: Vec<UncertainValue> = Vec::new();
        for one in values.iter().filter_map(ValueRecord::uncertain) {
            if !uncertain.iter().any(|other| other.parameter == one.parameter) {
                uncertain.push(one);
            }
        }
        let is_rated = attached.iter().any(|one| one.file.has_table("rated"));
        Ok(Self { spec, platform, target, taken, is_rated, values, uncertain, warnings })
    }

    /// Returns the capacity of the system's volume, or of its first drive.
    pub fn capacity(&self) -> Bytes {
        self.spec.volume_capacity().unwrap_or(self.spec.first().drive.capacity)
    }

    /// Returns the system for the simulator, with these faults added to its own faults.
    ///
    /// # Errors
    /// Returns all faults that the system cannot have, as one error at `location`.
    pub fn with_faults(
        &self,
        faults: &[Fault],
        location: &Location,
    ) -> Result<CheckedSystem, StudyError> {
        self.spec.with_faults(faults).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            StudyError::new(location.clone(), lines.join("\n"))
        })
    }

    /// Runs all tests of `workload` in sequence.
    ///
    /// # Errors
    /// Returns an error if a test does not fit the drive.
    pub fn run(
        &self,
        workload: &Workload,
        provenance: Provenance,
    ) -> Result<RunResult, StudyError> {
        let seed = provenance.seed;
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); workload.tests.len()];
        for group in workload.groups() {
            for repeat in 0..workload.repeats {
                let watch = &mut |_: &Progress| true;
                let length = RunLength::Whole;
                let taken = self.samples(workload, group.start, repeat, seed, length, watch)?;
                for (test, sample) in group.clone().zip(taken.into_iter().flatten()) {
                    samples[test].push(sample);
                }
            }
        }
        Ok(self.result(workload, provenance, samples.into_iter().map(Some)))
    }

    /// Returns whether the test of `workload` with this index may end when its figures have converged. Repeats of the
    /// test would differ only in their random numbers, so one repeat suffices.
    pub fn may_converge(&self, workload: &Workload, test: usize) -> bool {
        let spec = &self.preconditioned(workload).spec;
        let load = &workload.tests[test];
        let is_plain = workload.is_alone(test) && workload.faults.is_empty();
        is_plain && (may_converge(spec, load) || is_shortened(spec, load))
    }

    /// Simulates one repeat of a test, and of the tests that run in parallel with it, for `length`. The first test and
    /// the repeat are given by their indices. Returns `None` if `watch` returned false, which ends the simulation.
    ///
    /// # Errors
    /// Returns an error if a test does not fit the drive, or does not permit other tests in parallel.
    pub fn samples(
        &self,
        workload: &Workload,
        first: usize,
        repeat: u32,
        seed: u64,
        length: RunLength,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<Vec<Sample>>, StudyError> {
        let file = Location::file(&workload.id);
        let spec = self.preconditioned(workload).with_faults(&workload.faults, &file)?;
        let groups = workload.groups();
        let group = groups.into_iter().find(|group| group.start == first).unwrap_or_default();
        let tests = group.map(|test| {
            let key = StreamKey { seed, test: test as u32, repeat, thread: 0 };
            let test = &workload.tests[test];
            let test_error =
                |error| StudyError::new(file.clone(), format!("test `{}`: {error}", test.name));
            Ok((test.clone().checked().map_err(test_error)?, key))
        });
        let tests = tests.collect::<Result<Vec<_>, StudyError>>()?;
        match run_beside_watched(&spec, &tests, length, watch) {
            Err(SimError::Cancelled) => Ok(None),
            outcome => outcome.map(Some).map_err(|error| self.fail(&workload.tests[first], error)),
        }
    }

    /// Returns the result with the `samples` of each test of `workload` that ran to its end. The result is complete if
    /// all tests ran to their end.
    pub fn result(
        &self,
        workload: &Workload,
        provenance: Provenance,
        samples: impl IntoIterator<Item = Option<Vec<Sample>>>,
    ) -> RunResult {
        let system = self.preconditioned(workload);
        let samples: Vec<Option<Vec<Sample>>> = samples.into_iter().collect();
        let mut result = RunResult {
            schema_version: SCHEMA_VERSION,
            inspection: None,
            power_cuts: Vec::new(),
            provenance,
            target: Target::Simulated(system.target.clone()),
            workload: workload.clone(),
            tests: Vec::new(),
            complete: false,
            warnings: self.warnings.clone(),
        };
        let is_enough = |sample: &Sample| sample.converged.is_some() || sample.similar.is_some();
        let one_is_enough = samples.iter().flatten().flatten().any(is_enough);
        if workload.repeats < 3 && !one_is_enough {
            result.warnings.push(Warning::FewRepeats { repeats: workload.repeats });
        }
        for (test, samples) in workload.tests.iter().zip(samples) {
            let Some(samples) = samples else { continue };
            let unsteady = samples.iter().filter_map(|sample: &Sample| sample.steady.as_ref());
            let warning = unsteady.filter_map(|steady| steady.warning(&test.name)).next();
            result.warnings.extend(warning);
            let filling = |sample: &Sample| sample.drive.map_or(0.0, |drive| drive.filling());
            let share = samples.iter().map(filling).fold(0.0, f64::max);
            if share > FILLING_MAX && samples.iter().any(|sample| sample.operations() > 0) {
                result.warnings.push(Warning::BufferFilling { test: test.name.clone(), share });
            }
            let unfinished = samples.iter().filter_map(|sample| {
                let in_flight = sample.in_flight.filter(|flight| flight.older_than_counted > 0)?;
                Some((in_flight, sample.latency_max()))
            });
            if let Some((in_flight, counted)) = unfinished.max_by_key(|(flight, _)| flight.age_max)
            {
                result.warnings.push(Warning::Unfinished {
                    test: test.name.clone(),
                    requests: in_flight.older_than_counted,
                    age: in_flight.age_max,
                    counted,
                });
            }
            let test_result = TestResult::new(workload, test, samples);
            let limit =
                test_result.samples.first().and_then(|sample| system.assumed_limit(test, sample));
            let test = test.name.clone();
            result.warnings.extend(limit.map(|limit| Warning::AssumedLimit { test, limit }));
            result.tests.push(test_result);
        }
        result.complete = result.tests.len() == workload.tests.len();
        if result.complete {
            let candidates = workload.groups().into_iter().filter_map(|group| {
                let content = PriorContent::of_all(&workload.tests[group.clone()]);
                let samples = result.tests[group].iter().flat_map(|test| &test.samples);
                system.uncollected(samples, content)
            });
            // All tests together have one warning, from the test that wrote the most data.
            let written = |warning: &Warning| {
                if let Warning::NoCollection { written_bytes, .. } = warning {
                    *written_bytes
                } else {
                    Bytes::ZERO
                }
            };
            let warning = candidates.max_by_key(written);
            let collected = result
                .tests
                .iter()
                .flat_map(|test| &test.samples)
                .any(|sample| sample.drive.is_some_and(|drive| drive.moved > Bytes::ZERO));
            result.warnings.extend(warning.filter(|_| !collected));
        }
        result
    }

    /// Returns the assumed value that limits a `sample` of `test`.
    #[must_use]
    pub fn assumed_limit(&self, test: &Test, sample: &Sample) -> Option<AssumedLimit> {
        let is_nvme = self.spec.first().protocol.kind == ProtocolKind::Nvme;
        let is_not_overridden = |uncertain_value: &&UncertainValue| {
            !self.target.overrides.iter().any(|other| other.parameter == uncertain_value.parameter)
        };
        let uncertain: Vec<UncertainValue> =
            self.uncertain.iter().filter(is_not_overridden).cloned().collect();
        crate::assumed::limit(test, sample, &uncertain, &self.target.values_assumed, is_nvme)
    }

    /// Returns the warning about samples that wrote to a drive without making collection necessary. A fresh drive or
    /// volume contained `content` before the test.
    pub fn uncollected<'s>(
        &self,
        samples: impl IntoIterator<Item = &'s Sample>,
        content: PriorContent,
    ) -> Option<Warning> {
        let used = samples.into_iter().filter_map(|sample| sample.drive.as_ref());
        let most = used.max_by_key(|used| (used.moved, used.host_written))?;
        let fresh = match &self.spec.first().drive.media {
            MediaSpec::Flash(flash) => flash.condition != DriveCondition::Random,
            MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
        };
        let written_bytes = most.host_written;
        let before = Some(self.state_before(content));
        (fresh && written_bytes > Bytes::ZERO && most.moved == Bytes::ZERO)
            .then_some(Warning::NoCollection { written_bytes, before })
    }

    /// Returns the state of the volume, or of each drive, before a run. A fresh one contains `content`.
    fn state_before(&self, content: PriorContent) -> DriveSpace {
        let attachment = self.spec.first();
        let drive_capacity = attachment.drive.capacity;
        let capacity = self.spec.volume_capacity().unwrap_or(drive_capacity);
        let held = match &attachment.drive.media {
            MediaSpec::Flash(flash) => match flash.condition {
                DriveCondition::Fresh => content.written,
                DriveCondition::Purged => Bytes::ZERO,
                DriveCondition::Sequential | DriveCondition::Random => {
                    Bytes((capacity.get() as f64 * flash.filled.get()).round() as u64)
                }
            },
            MediaSpec::Disk(_) | MediaSpec::Cloud(_) => content.written,
        };
        let held_bytes = held.min(capacity);
        DriveSpace { held_bytes, free_bytes: capacity - held_bytes }
    }

    fn fail(&self, test: &lanemark_schema::workload::Test, error: SimError) -> StudyError {
        let location = Location::file(&self.target.system);
        let message = format!("test `{}`: {error}", test.name);
        StudyError::new(location, message).hint(simulation_hint(error))
    }
}

fn describe(
    name: &str,
    attached: &[AttachedDrive],
    platform: &Platform,
    ledger: &Ledger,
    settings: &[(ParameterOverride, Location)],
) -> SimulatedTarget {
    let mut records = ledger.records();
    // If a drive appears twice, its values are included once.
    let mut seen = std::collections::BTreeSet::new();
    records.retain(|record| seen.insert((record.parameter.clone(), record.text.clone())));
    let count = |wanted: fn(&Origin) -> bool| {
        records.iter().filter(|record| wanted(&record.origin)).count() as u32
    };
    let joined =
        |of: fn(&AttachedDrive) -> String| attached.iter().map(of).collect::<Vec<_>>().join(" + ");
    SimulatedTarget {
        system: name.to_owned(),
        drive: joined(|one| one.drive.name.clone()),
        platform: platform.name.clone(),
        port: joined(AttachedDrive::port),
        values_sourced: count(|origin| matches!(origin, Origin::Sourced(_))),
        values_derived: count(|origin| matches!(origin, Origin::Derived(_))),
        values_assumed: records
            .iter()
            .filter(|record| matches!(record.origin, Origin::Assumed(_)))
            .map(|record| format!("{} = {}", record.parameter, record.text))
            .collect(),
        overrides: settings.iter().map(|(setting, _)| setting.clone()).collect(),
    }
}
