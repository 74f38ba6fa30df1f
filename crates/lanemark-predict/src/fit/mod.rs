//! Fits a drive's model to the results of a workload on the drive.
//!
//! The method is weighted least squares over the logarithms of the model's values. The fit minimises the sum of squares
//! of the residuals (Levenberg, Quarterly of Applied Mathematics 2, 1944; Marquardt, SIAM Journal 11, 1963). A residual
//! is the logarithm of the modelled figure divided by the measured figure, divided by its standard deviation. Weak
//! priors surround the template's values. Reads are fitted first, because writes do not affect them. Then follow the
//! number of dies, the writes, all values together, and the precision of each value.
//!
//! The correlation between the figures of one run on a real drive, caused by heat or by other programs, is not
//! modelled. In a fit to several runs, their spread includes it.

mod budget;
mod collection;
mod disk;
mod drive_file;
mod engine;
mod geometry;
mod host;
mod identify;
mod occupancy;
mod parameter;
mod solve;
mod start;
mod summary;
mod trials;

use lanemark_lab::{CancelFlag, Pool};
use lanemark_schema::result::{
    FitWarning, FittedDrive, ParameterOverride, Provenance, RunResult, Target,
};
use lanemark_schema::units::Duration;
use lanemark_sim::spec::{MediaSpec, SystemSpec};
use lanemark_study::document::{Context, Document};
use lanemark_study::drive::Connector;
use lanemark_study::library::LibraryKind;
use lanemark_study::platform::Platform;
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Ledger, Library, Location, Overrides, StudyError, System};

pub use drive_file::{FITTED_MARK, drive_file};

use crate::PredictError;
use engine::TrialSimulator;
use parameter::{AffectedTests, Parameter};
use trials::Measurements;

#[derive(Debug)]
pub struct FitInput<'j> {
    pub results: &'j [(String, RunResult)],
    /// The platform on which the drive was measured.
    pub platform: &'j str,
    pub port: &'j str,
    /// A similar drive; `None` for a generic drive with the protocol of the port.
    pub like: Option<&'j str>,
    /// Values that replace library values.
    pub settings: &'j [(ParameterOverride, Location)],
    /// The number of small requests in a simulated test; a larger number makes the fit more accurate and slower.
    pub requests: u64,
    /// The maximum work, in simulated requests. A search that has used up its share returns the best values so far.
    pub work_max: u64,
    /// The threads that run simulations.
    pub pool: Pool,
    pub provenance: Provenance,
    /// The flag that cancels the fit; a cancelled fit returns an error.
    pub cancel: CancelFlag,
}

/// The maximum time of a single read from a solid-state drive. A read from a hard disk takes longer.
const FLASH_MOST: Duration = Duration::from_microseconds(2_000);

/// The default number of requests in a simulated test.
pub const REQUESTS: u64 = 4000;
/// The default maximum work of a fit, in simulated requests, which takes less than a minute on one core.
pub const WORK_MAX: u64 = 40_000_000;

#[derive(Clone, Debug)]
pub struct Fit {
    /// Result of the fit.
    pub drive: FittedDrive,
    /// The text of the template's file.
    pub template: String,
    /// The settings of the drive that were used for the fit.
    pub settings: Vec<ParameterOverride>,
    /// The work of the fit, in simulated requests.
    pub work: u64,
}

impl Fit {
    /// Returns the drive as a library file under the name `name`.
    ///
    /// # Errors
    /// Returns the same errors as [`drive_file()`].
    pub fn file(&self, name: &str) -> Result<String, PredictError> {
        drive_file(&self.drive, name, &self.template, &self.settings)
    }
}

/// Fits a drive's model. `on_stage` receives the name of each stage.
///
/// # Errors
/// Returns an error if the results are insufficient, contradict each other or were cut short, or if a library file is
/// invalid.
pub fn fit(
    library: &Library,
    job: &FitInput<'_>,
    on_stage: &mut dyn FnMut(&str),
) -> Result<Fit, PredictError> {
    let mut measurements = Measurements::read(job.results)?;
    // The results of one fit come from one machine.
    let own = match job.results.first() {
        Some((name, run)) => library.with_measured_host(job.platform, name, run.measured_host())?,
        None => None,
    };
    let (library, platform) = match &own {
        Some((library, platform)) => (library, platform.as_str()),
        None => (library, job.platform),
    };
    let template = match job.like {
        Some(like) => like.to_owned(),
        None => generic(library, job)?.to_owned(),
    };
    let system = assemble_template(library, job, &template, platform)?;
    let mut base = system.spec.into_spec();
    if matches!(base.attachments[0].drive.media, MediaSpec::Cloud(_)) {
        return Err(PredictError::CloudTemplate { template });
    }
    let is_disk = parameter::flash(&base.attachments[0].drive).is_none();
    if let Some((test, read)) = measurements.read_alone()
        && (is_disk && read < FLASH_MOST || !is_disk && read > FLASH_MOST)
    {
        return Err(PredictError::OtherMedia {
            test: test.to_owned(),
            read_ms: read.as_seconds() * 1e3,
            template,
            is_disk,
        });
    }
    if let Some(least) = least_read(&base) {
        measurements.without_flash(least)?;
    }
    let set: Vec<&ParameterOverride> = job.settings.iter().map(|(setting, _)| setting).collect();
    let host = host::measured(&mut base, measurements.host, &set);
    measurements.shorten(
        engine::busy_buffer_bytes(&base.attachments[0].drive),
        is_disk,
        base.attachments[0].drive.capacity,
        job.requests,
    );

    let text = library.open(LibraryKind::Drive, &template)?.text().to_owned();
    let parameters: Vec<Parameter> = Parameter::list_for(&base.attachments[0].drive)
        .into_iter()
        .filter(|parameter| !set.iter().any(|setting| setting.parameter == parameter.name))
        .collect();
    let trials = measurements.trials.clone();
    let original = base.clone();
    let mut engine = TrialSimulator::new(
        base,
        trials,
        parameters,
        job.provenance.seed,
        job.pool,
        job.cancel.clone(),
        job.work_max,
    );
    let (explored, found) = search_in_stages(&mut engine, on_stage)?;
    on_stage("the precision of each value (6 of 6)");
    let is_cut = engine.budget.is_spent();
    let all_trials = engine.trials_of(|_| true);
    let known = identify::identify(&mut engine, found, &all_trials)?;
    if is_cut || engine.budget.is_spent() {
        measurements.warnings.push(FitWarning::Ended { requests: engine.budget.done() });
    }

    let outcome = summary::FinishedFit { original: &original, engine: &engine, explored, known };
    let fitted = FittedDrive {
        schema_version: lanemark_schema::result::SCHEMA_VERSION,
        provenance: Provenance { inputs: library.used(), ..job.provenance.clone() },
        measured: measurements.drive,
        results: job.results.iter().map(|(name, _)| name.clone()).collect(),
        template,
        platform: system.target.platform,
        port: system.target.port,
        parameters: outcome.parameters(),
        host,
        figures: outcome.figures()?,
        unseen: summary::values_kept_from_template(&original),
        warnings: measurements.warnings,
        simulations: engine.simulations(),
    };
    let work = engine.budget.done();
    let drive = outcome.with_warnings(fitted);
    let is_of_drive = |setting: &&&ParameterOverride| setting.parameter.starts_with("drive.");
    let settings = set.iter().filter(is_of_drive).map(|&setting| setting.clone()).collect();
    Ok(Fit { drive, template: text, settings, work })
}

/// Assembles the template at the port of the fit.
fn assemble_template(
    library: &Library,
    job: &FitInput<'_>,
    template: &str,
    platform: &str,
) -> Result<System, PredictError> {
    let parts = SystemName {
        drive: template.to_owned(),
        platform: platform.to_owned(),
        port: job.port.to_owned(),
        beside: Vec::new(),
        volume: None,
    };
    let named_at = NameLocations {
        drive: Location::file("--like"),
        platform: Location::file("--platform"),
        port: Location::file("--platform"),
    };
    Ok(System::assemble(library, &parts, &named_at, &parts.to_string(), job.settings)?)
}

/// Searches for the values: first those that reads show, then those that writes show, then all of them together.
fn search_in_stages(
    engine: &mut TrialSimulator,
    on_stage: &mut dyn FnMut(&str),
) -> Result<(geometry::GeometrySearch, solve::SearchResult), PredictError> {
    let visible = |engine: &TrialSimulator, shows: &[AffectedTests]| -> Vec<usize> {
        let indices = 0..engine.parameters.len();
        indices.filter(|&index| shows.contains(&engine.parameters[index].shows)).collect()
    };
    let reading = visible(engine, &[AffectedTests::Reads, AffectedTests::Both]);
    let writing = visible(engine, &[AffectedTests::Writes]);
    let reads = engine.trials_of(|trial| !trial.writes());
    let writes = engine.trials_of(|trial| !trial.reads());
    let all_trials = engine.trials_of(|_| true);

    on_stage("reads (1 of 6)");
    let found = start::reads(engine, &reading, &reads)?;
    on_stage("dies (2 of 6)");
    let explored = geometry::explore(engine, found, &reading, &reads)?;
    on_stage("writes (3 of 6)");
    let found = start::writes(engine, &explored.found.logs, &writing, &writes)?;
    let found = collection::explore(engine, found, &writing, &writes)?;
    on_stage("reads and writes together (4 of 6)");
    let everything = engine.free_parameters();
    let found = solve::search(engine, &found.logs, &everything, &all_trials, 1)?;
    // The effects of dies and units on writes are also included.
    let explored = geometry::explore(engine, found, &everything, &all_trials)?;
    let found = solve::search(engine, &explored.found.logs, &everything, &all_trials, 1)?;
    on_stage("occupancies (5 of 6)");
    let found = occupancy::fix_occupancy(engine, found, &all_trials)?;
    Ok((explored, found))
}

/// Returns the minimum time of a read with one request outstanding; `None` for media other than NAND.
fn least_read(system: &SystemSpec) -> Option<Duration> {
    let attachment = system.attachments.first()?;
    parameter::flash(&attachment.drive).filter(|flash| !flash.technology.in_place())?;
    Some(attachment.protocol.kind.flash_read_least())
}

/// Returns the name of the generic drive that fits a port.
fn generic(library: &Library, job: &FitInput<'_>) -> Result<&'static str, PredictError> {
    let ledger = Ledger::default();
    let mut overrides = Overrides::default();
    for (setting, location) in job.settings {
        overrides.set(&setting.parameter, &setting.value, location.clone());
    }
    let file: Document = library.open(LibraryKind::Platform, job.platform)?;
    let platform = Platform::read(&file, Context { ledger: &ledger, overrides: &overrides })?;
    let Some(port) = platform.ports.iter().find(|known| known.name == job.port) else {
        let known = platform.ports.iter().map(|known| known.name.as_str());
        let location = Location::file("--platform");
        return Err(StudyError::unknown(location, "port", job.port, known).into());
    };
    Ok(match port.plug {
        Connector::Sata(_) => "generic-sata",
        Connector::Pcie(..) if job.results.iter().any(|(_, run)| is_scsi(run)) => {
            "generic-pcie-ahci"
        }
        Connector::Pcie(..) => "generic-nvme",
        Connector::Sas(..) => "generic-sas",
    })
}

/// Returns whether the drive of the result appears as a SCSI disk, such as `sda` on Linux. In a PCIe port, such a drive
/// uses AHCI.
fn is_scsi(run: &RunResult) -> bool {
    let Target::Measured(target) = &run.target else { return false };
    let path = target.path.strip_prefix("/dev/");
    target.block_device.as_deref().or(path).is_some_and(|name| {
        let letters =
            name.strip_prefix("sd").unwrap_or_default().trim_end_matches(char::is_numeric);
        !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_lowercase())
    })
}

/// Lists the names of the results to which a drive was fitted.
fn measured_by(results: &[String]) -> String {
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    match results {
        [one] => name(one),
        [one, rest @ ..] => format!("{} and {} more", name(one), rest.len()),
        [] => String::new(),
    }
}
