//! A drive plugged into a port of a platform, and a workload run on it.

use lanemark_core::result::{
    Calibration, Provenance, RunResult, SCHEMA_VERSION, SimulatedTarget, Target, TestResult,
    Warning,
};
use lanemark_core::rng::StreamKey;
use lanemark_core::sim::link::{LinkLaw, LinkSpec, Pcie, Sata, SataCommands};
use lanemark_core::sim::spec::{ProtocolKind, SystemSpec};
use lanemark_core::sim::{SimError, run_test};
use lanemark_core::units::Bytes;
use lanemark_core::workload::Workload;

use crate::document::Context;
use crate::drive::{Drive, Plug};
use crate::error::{Location, StudyError};
use crate::library::{Kind, Library};
use crate::origin::{Ledger, Origin, Overrides};
use crate::platform::{Platform, Port, table_of};

/// A system by the names of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemName {
    /// The drive's file.
    pub drive: String,
    /// The platform's file.
    pub platform: String,
    /// The port.
    pub port: String,
}

/// Where the names of a system's parts stand, for errors about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAt {
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
    /// What the simulator needs.
    pub spec: SystemSpec,
    /// The platform, for its other ports.
    pub platform: Platform,
    /// What a result says about it.
    pub target: SimulatedTarget,
    /// Doubts that come with the assembly.
    pub warnings: Vec<Warning>,
}

impl SystemName {
    /// Reads `drive@platform:port`.
    ///
    /// # Errors
    /// Where `text` is not written so.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let parts = text.split_once('@').and_then(|(drive, rest)| {
            let (platform, port) = rest.rsplit_once(':')?;
            Some([drive, platform, port])
        });
        match parts {
            Some([drive, platform, port]) if ![drive, platform, port].contains(&"") => Ok(Self {
                drive: drive.to_owned(),
                platform: platform.to_owned(),
                port: port.to_owned(),
            }),
            _ => Err(StudyError::new(
                Location::file("SYSTEM"),
                format!("`{text}` is not written as drive@platform:port"),
            )
            .hint("for example samsung-950-pro-512gb@workstation-z170:pcie-slot")),
        }
    }
}

impl NamedAt {
    /// All three in one place, such as the command line.
    pub fn all(location: &Location) -> Self {
        Self { drive: location.clone(), platform: location.clone(), port: location.clone() }
    }
}

impl std::fmt::Display for SystemName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}:{}", self.drive, self.platform, self.port)
    }
}

impl System {
    /// Plugs a drive into a port. `name` is what results call the system, `named_at` where its parts are
    /// named; each of `settings` takes the place of a library value.
    ///
    /// # Errors
    /// The first thing wrong in the files, or in how they fit together.
    pub fn assemble(
        library: &Library,
        parts: &SystemName,
        named_at: &NamedAt,
        name: &str,
        settings: &[(Calibration, Location)],
    ) -> Result<Self, StudyError> {
        let ledger = Ledger::default();
        let mut overrides = Overrides::default();
        for (setting, location) in settings {
            overrides.set(&setting.parameter, &setting.value, location.clone());
        }
        let context = Context { ledger: &ledger, overrides: &overrides };
        let found = |error: StudyError, place: &Location| match error.is_unknown_name() {
            true => StudyError { location: place.clone(), ..error },
            false => error,
        };
        let drive_file = library
            .open(Kind::Drive, &parts.drive)
            .map_err(|error| found(error, &named_at.drive))?;
        let drive = Drive::read(&drive_file, context)?;
        let platform_file = library
            .open(Kind::Platform, &parts.platform)
            .map_err(|error| found(error, &named_at.platform))?;
        let platform = Platform::read(&platform_file, context)?;
        overrides.check_used(&ledger)?;

        let Some(port) = platform.ports.iter().find(|port| port.name == parts.port) else {
            let known = platform.ports.iter().map(|port| port.name.as_str());
            return Err(StudyError::unknown(named_at.port.clone(), "port", &parts.port, known));
        };
        let (link, warnings) = plug_in(&drive, &platform, port, &named_at.port)?;
        let kind = match drive.plug {
            Plug::Sata(_) => port.controller,
            Plug::Pcie(..) => drive.protocol,
        };
        let known = platform.protocols.iter().find(|spec| spec.kind == kind);
        let mut protocol = *known.ok_or_else(|| {
            let location = Location::file(platform_file.file());
            StudyError::new(location, format!("`{}` has no {} driver", platform.name, kind.name()))
                .hint(format!("add the table [{}], which {} needs", table_of(kind), drive.name))
        })?;
        if !drive.queued {
            protocol.queue_depth = 1;
        }
        if let Some(limit) = drive.transfer_max {
            protocol.transfer_max = protocol.transfer_max.min(limit);
        }
        let mut links: Vec<LinkSpec> = port.behind.iter().map(|link| link.spec.clone()).collect();
        links.push(link);
        let spec = SystemSpec { cpu: platform.cpu, protocol, links, drive: drive.spec };
        spec.check().map_err(|error| {
            let location = match error.field.starts_with("drive") {
                true => drive_file.location_of_parameter("drive", error.field),
                false => platform_file.location_of_parameter("platform", error.field),
            };
            StudyError::new(location, error.to_string())
        })?;
        let target = describe(name, &drive, &platform, port, &ledger, settings);
        Ok(Self { spec, platform, target, warnings })
    }

    /// Runs all tests of `workload`. `on_test` sees the result so far after each of them, and may end the
    /// run by returning false.
    ///
    /// # Errors
    /// Where a test does not fit the drive.
    pub fn run(
        &self,
        workload: &Workload,
        provenance: Provenance,
        on_test: &mut dyn FnMut(&RunResult) -> bool,
    ) -> Result<RunResult, StudyError> {
        let seed = provenance.seed;
        let mut result = RunResult {
            schema_version: SCHEMA_VERSION,
            provenance,
            target: Target::Simulated(self.target.clone()),
            workload: workload.clone(),
            tests: Vec::new(),
            complete: false,
            warnings: self.warnings.clone(),
        };
        if workload.repeats < 3 {
            result.warnings.push(Warning::FewRepeats { repeats: workload.repeats });
        }
        let mut written_most = Bytes::ZERO;
        for (index, test) in workload.tests.iter().enumerate() {
            let mut samples = Vec::new();
            for repeat in 0..workload.repeats {
                let key = StreamKey { seed, test: index as u32, repeat, thread: 0 };
                let run =
                    run_test(&self.spec, test, key).map_err(|error| self.fail(test, error))?;
                written_most = written_most.max(run.written);
                samples.push(run.sample);
            }
            result.tests.push(TestResult::new(workload, test, samples));
            if !on_test(&result) {
                result.warnings.push(Warning::Interrupted);
                return Ok(result);
            }
        }
        let spare = self.spec.drive.flash.capacity() - self.spec.drive.capacity;
        if written_most > spare {
            result.warnings.push(Warning::NoCollection { written_bytes: written_most });
        }
        result.complete = true;
        Ok(result)
    }

    fn fail(&self, test: &lanemark_core::workload::Test, error: SimError) -> StudyError {
        let location = Location::file(&self.target.system);
        let message = format!("test `{}`: {error}", test.name);
        let hint = match error {
            SimError::OutOfRange { .. } => "use a smaller span or offset, or a larger drive",
            SimError::OutOfErasedBlocks(_) => "use a smaller volume or a shorter duration",
        };
        StudyError::new(location, message).hint(hint)
    }
}

/// The link between a port and a drive: what both of them can.
fn plug_in(
    drive: &Drive,
    platform: &Platform,
    port: &Port,
    named_at: &Location,
) -> Result<(LinkSpec, Vec<Warning>), StudyError> {
    let (trained, law) = match (drive.plug, port.plug) {
        (Plug::Sata(drive_rate), Plug::Sata(port_rate)) => {
            let rate = drive_rate.min(port_rate);
            let one_by_one = port.controller == ProtocolKind::AtaDma || !drive.queued;
            let commands = match one_by_one {
                true => SataCommands::Unqueued,
                false => SataCommands::Queued,
            };
            (Plug::Sata(rate), LinkLaw::Sata(Sata::new(rate, commands)))
        }
        (Plug::Pcie(drive_generation, drive_lanes), Plug::Pcie(port_generation, port_lanes)) => {
            let generation = drive_generation.min(port_generation);
            let lanes = drive_lanes.min(port_lanes);
            let law = Pcie::with_setup(generation, lanes, port.latency, &port.packets);
            (Plug::Pcie(generation, lanes), LinkLaw::Pcie(law))
        }
        (own, other) => {
            let message = format!(
                "{} has {own} and does not fit port `{}` of {}, which is {other}",
                drive.name, port.name, platform.name
            );
            let fits = |candidate: &&Port| {
                std::mem::discriminant(&candidate.plug) == std::mem::discriminant(&own)
            };
            let fitting: Vec<&str> =
                platform.ports.iter().filter(fits).map(|port| port.name.as_str()).collect();
            let error = StudyError::new(named_at.clone(), message);
            return Err(match fitting.is_empty() {
                true => error.hint("no port of this platform takes the drive"),
                false => error.hint(format!("it fits {}", fitting.join(", "))),
            });
        }
    };
    let trained_down = (trained != drive.plug)
        .then(|| Warning::TrainedDown { drive: drive.plug.to_string(), port: trained.to_string() });
    let link = LinkSpec { name: trained.to_string(), law, latency: port.latency };
    Ok((link, trained_down.into_iter().collect()))
}

fn describe(
    name: &str,
    drive: &Drive,
    platform: &Platform,
    port: &Port,
    ledger: &Ledger,
    settings: &[(Calibration, Location)],
) -> SimulatedTarget {
    let records = ledger.records();
    let count = |wanted: fn(&Origin) -> bool| {
        records.iter().filter(|record| wanted(&record.origin)).count() as u32
    };
    SimulatedTarget {
        system: name.to_owned(),
        drive: drive.name.clone(),
        platform: platform.name.clone(),
        port: port.name.clone(),
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
