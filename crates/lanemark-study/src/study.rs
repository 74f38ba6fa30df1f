//! `studies/*.toml`: the question of a study, its systems and tests, and the published figures.

use std::path::Path;

use lanemark_schema::result::{
    BoundKind, FigureCheck, FigureMetric, FigureRole, ParameterOverride, Provenance, Publication,
    PublishedFigure, RunResult, SCHEMA_VERSION, SimulatedTarget, StudyOutcome, StudySystem,
    SystemComparison, TestRatio, UnmodelledFigures,
};
use lanemark_schema::units::{BytesPerSecond, Duration, Watts};
use lanemark_schema::workload::{Fault, Workload};

use crate::document::{Document, Section};
use crate::error::{Location, StudyError};
use crate::library::{Library, open_file};
use crate::origin::Overrides;
use crate::studies;
use crate::system::{NameLocations, System, SystemName};
use crate::workload::{self, fault};
use crate::written_answer::WrittenAnswer;

/// A study from its file, checked against the library.
#[derive(Clone, Debug)]
pub struct Study {
    id: String,
    title: String,
    question: String,
    publication: Publication,
    notes: Vec<String>,
    workload: Workload,
    systems: Vec<StudyColumn>,
    figures: Vec<PublishedFigure>,
    answer: Option<(String, String)>,
    written: Option<WrittenAnswer>,
    not_modelled: Vec<UnmodelledFigures>,
}

#[derive(Clone, Debug)]
struct StudyColumn {
    name: String,
    label: String,
    /// The name of the system, and the values that replace library values.
    made_of: (String, Vec<(ParameterOverride, Location)>),
    system: System,
    workload: Workload,
}

impl Study {
    /// Reads the study at `path`, and the files that it needs from `library`.
    ///
    /// # Errors
    /// Returns the first error in the study or in the files that it names.
    pub fn open(library: &Library, path: &Path) -> Result<Self, StudyError> {
        let document = open_file(path)?;
        library.note(&document);
        let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("study");
        Self::read(library, &document, id)
    }

    /// Reads the built-in study with this name, or the study in the file `name`. An existing file takes precedence.
    ///
    /// # Errors
    /// Returns an error with the most similar names if there is no such study, or the errors of [`Self::open`].
    pub fn find(library: &Library, name: &Path) -> Result<Self, StudyError> {
        let Some(built_in) = studies::name_in(name) else {
            let study = Self::open(library, name);
            return study.map_err(|error| match (&error.hint, studies::study_of_same_name(name)) {
                (None, Some(like)) => error.hint(format!("`{like}` is built in: use its name")),
                _ => error,
            });
        };
        let document = studies::open(built_in)?;
        library.note(&document);
        Self::read(library, &document, built_in)
    }

    fn read(library: &Library, document: &Document, id: &str) -> Result<Self, StudyError> {
        document.read("study", None, |root| Self::read_document(library, document, root, id))
    }

    fn read_document(
        library: &Library,
        document: &Document,
        root: &Section<'_>,
        id: &str,
    ) -> Result<Self, StudyError> {
        let head = root.table("study")?;
        let title = head.text("title")?;
        let question = head.text("question")?;
        let publication = publication(root, &head)?;
        let notes = head.texts("notes")?;
        let tests = StudyTests::read_from(document, root, &head, id)?;
        let workload = tests
            .open(library, &Overrides::default())
            .map_err(|error| tests.locate(error, &head))?;
        head.finish()?;
        let settings = read_calibrations(root)?;
        let mut systems = root.read_tables("system", |section, systems: &[StudyColumn]| {
            let column = read_system(library, section, &tests, &settings)?;
            if systems.iter().any(|other| other.name == column.name) {
                let message = format!("system `{}` is defined twice", column.name);
                return Err(section.error("name", message));
            }
            Ok(column)
        })?;
        if systems.is_empty() {
            return Err(StudyError::new(head.location(), "the study does not contain systems")
                .hint("add at least one [[system]]"));
        }
        for setting in &settings {
            for (system, location) in &setting.systems {
                known_system(&systems, system, location.clone())?;
            }
        }
        let figures = root.read_tables("figure", |section, figures: &[PublishedFigure]| {
            let figure = read_figure(section, &systems, &workload, &settings)?;
            if figures.iter().any(|other| other.id == figure.id) {
                let message = format!("figure `{}` is defined twice", figure.id);
                return Err(section.error("id", message));
            }
            Ok(figure)
        })?;
        for setting in &settings {
            let Some(wanted) = &setting.calibration.figure else { continue };
            if !figures.iter().any(|figure| figure.id == *wanted) {
                let known = figures.iter().map(|figure| figure.id.as_str());
                let location = setting.figure_location.clone();
                return Err(StudyError::unknown(location, "figure", wanted, known));
            }
        }
        let faults = fault::faults(root)?;
        for column in &mut systems {
            column.workload.faults.extend(faults.iter().cloned());
            column.system.with_faults(&column.workload.faults, &root.location_of("fault"))?;
        }
        let (answer, written) = read_answer(root, &systems)?;
        let not_modelled =
            root.read_tables("not_modelled", |section, _: &[UnmodelledFigures]| {
                let unmodelled = UnmodelledFigures {
                    figures: section.texts("figures")?,
                    reason: section.text("reason")?,
                };
                section.finish()?;
                Ok(unmodelled)
            })?;
        root.finish()?;
        Ok(Self {
            id: id.to_owned(),
            title,
            question,
            publication,
            notes,
            workload,
            systems,
            figures,
            answer,
            written,
            not_modelled,
        })
    }

    /// Returns the name of the study's file.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the study's systems with their names and the tests that each one runs, in the order of the results.
    pub fn systems(&self) -> impl Iterator<Item = (&str, &System, &Workload)> {
        self.systems.iter().map(|column| (column.name.as_str(), &column.system, &column.workload))
    }

    /// Returns, for each system, its name in the format of `sim` and the values that the study sets for it.
    pub fn made_of(&self) -> impl Iterator<Item = (&str, &[(ParameterOverride, Location)])> {
        self.systems.iter().map(|column| (column.made_of.0.as_str(), column.made_of.1.as_slice()))
    }

    /// Returns the outcome of the study with the results `runs`. A system is omitted if no test of it ended.
    pub fn outcome(
        &self,
        provenance: &Provenance,
        runs: impl IntoIterator<Item = RunResult>,
    ) -> StudyOutcome {
        let runs = self.systems.iter().zip(runs).filter(|(_, run)| !run.tests.is_empty());
        let systems: Vec<StudySystem> = runs
            .map(|(column, run)| StudySystem {
                name: column.name.clone(),
                label: column.label.clone(),
                run,
            })
            .collect();
        let figures = self.figures.iter().filter_map(|figure| check(figure, &systems)).collect();
        let comparison =
            self.answer.as_ref().map(|(over, under)| self.compare(over, under, &systems));
        let answer = self.written.as_ref().and_then(|written| written.filled(&systems));
        StudyOutcome {
            answer,
            schema_version: SCHEMA_VERSION,
            provenance: provenance.clone(),
            id: self.id.clone(),
            title: self.title.clone(),
            question: self.question.clone(),
            document: self.publication.clone(),
            systems,
            figures,
            comparison,
            not_modelled: self.not_modelled.clone(),
            notes: self.notes.clone(),
        }
    }

    fn compare(&self, over: &str, under: &str, systems: &[StudySystem]) -> SystemComparison {
        let run = |name: &str| systems.iter().find(|system| system.name == name);
        let published = |system: &str, test: &str| {
            let figure = self.figures.iter().find(|figure| figure.is_rate_of(system, test));
            figure.map(|figure| figure.published)
        };
        let ratios = self.workload.tests.iter().filter_map(|test| {
            let side = |name| {
                let run = &run(name)?.run;
                Some((&run.target, run.test(&test.name)?))
            };
            let sides = [side(under)?, side(over)?];
            let is_database = sides[1].1.has_transactions();
            let metric =
                if is_database { FigureMetric::Transactions } else { FigureMetric::Throughput };
            let simulated = metric.simulated_ratio(sides)?;
            let printed = published(over, &test.name)
                .zip(published(under, &test.name))
                .map(|(above, below)| above / below);
            Some(TestRatio { test: test.name.clone(), simulated, published: printed })
        });
        SystemComparison {
            system: over.to_owned(),
            base: under.to_owned(),
            ratios: ratios.collect(),
        }
    }
}

/// A model value that the study sets, with the systems to which it applies.
struct StudySetting {
    calibration: ParameterOverride,
    location: Location,
    figure_location: Location,
    systems: Vec<(String, Location)>,
}

fn read_calibrations(root: &Section<'_>) -> Result<Vec<StudySetting>, StudyError> {
    let mut settings = Vec::new();
    let calibrations = root.tables("calibration")?.into_iter().map(|section| (section, true));
    let assumptions = root.tables("assumption")?.into_iter().map(|section| (section, false));
    for (section, calibrates) in calibrations.chain(assumptions) {
        let location = section.location_of("systems");
        let calibration = ParameterOverride {
            parameter: section.text("parameter")?,
            value: section.text("value")?,
            figure: calibrates.then(|| section.text("figure")).transpose()?,
            reason: Some(section.text("reason")?),
        };
        let systems = section.texts("systems")?;
        if systems.is_empty() {
            return Err(section.error("systems", "`systems` names no system"));
        }
        settings.push(StudySetting {
            calibration,
            location: section.location_of("value"),
            figure_location: section.location_of("figure"),
            systems: systems.into_iter().map(|system| (system, location.clone())).collect(),
        });
        section.finish()?;
    }
    Ok(settings)
}

fn read_system(
    library: &Library,
    section: &Section<'_>,
    tests: &StudyTests<'_>,
    settings: &[StudySetting],
) -> Result<StudyColumn, StudyError> {
    let name = section.text("name")?;
    let parts = parts(section)?;
    let label = section.text("label")?;
    let own: Vec<(ParameterOverride, Location)> = settings
        .iter()
        .filter(|setting| setting.systems.iter().any(|(system, _)| *system == name))
        .map(|setting| (setting.calibration.clone(), setting.location.clone()))
        .collect();
    let (asked, built): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|(setting, _)| setting.parameter.starts_with("workload."));
    let mut overrides = Overrides::default();
    for (setting, location) in &asked {
        overrides.set(&setting.parameter, &setting.value, location.clone());
    }
    let mut workload = workload::chosen_tests(&tests.open(library, &overrides)?, section)?;
    workload.faults.extend(own_faults(section)?);
    section.finish()?;
    let named_at = NameLocations {
        drive: section.location_of("drive"),
        platform: section.location_of("platform"),
        port: section.location_of("port"),
    };
    let mut system = System::assemble(library, &parts, &named_at, &name, &built)?;
    system.target.overrides.extend(asked.into_iter().map(|(setting, _)| setting));
    Ok(StudyColumn { name, label, made_of: (parts.to_string(), built), system, workload })
}

/// Reads the publication with which a study is compared. A study without figures does not need a publication.
fn publication(root: &Section<'_>, head: &Section<'_>) -> Result<Publication, StudyError> {
    if !root.has("figure") && !head.has("document") && !head.has("citation") {
        return Ok(Publication { file: String::new(), citation: String::new() });
    }
    Ok(Publication { file: head.text("document")?, citation: head.text("citation")? })
}

/// The tests of a study, from a workload file or from the study's own file.
enum StudyTests<'d> {
    Named(String),
    Own(&'d Document, &'d str),
}

impl<'d> StudyTests<'d> {
    fn read_from(
        document: &'d Document,
        root: &Section<'_>,
        head: &Section<'_>,
        id: &'d str,
    ) -> Result<Self, StudyError> {
        if !root.has("workload") && !root.has("test") {
            return Ok(Self::Named(head.text("workload")?));
        }
        if head.has("workload") {
            let message = "the study has its own tests and also names a workload";
            return Err(head.error("workload", message).hint("omit one of the two"));
        }
        // These tables belong to the workload, and its reader requests their keys.
        for key in ["workload", "defaults", "transactions"] {
            root.optional_table(key)?;
        }
        root.tables("test")?;
        Ok(Self::Own(document, id))
    }

    fn open(&self, library: &Library, overrides: &Overrides) -> Result<Workload, StudyError> {
        match self {
            Self::Named(name) => workload::open_set(library, name, overrides),
            Self::Own(document, id) => workload::of_study(document, id, overrides),
        }
    }

    /// Moves an error about an unknown workload to the location of the workload's name in the study.
    fn locate(&self, error: StudyError, head: &Section<'_>) -> StudyError {
        match self {
            Self::Named(_) => locate(error, head, "workload"),
            Self::Own(..) => error,
        }
    }
}

/// Reads the faults of one system; each has the format of the command line.
fn own_faults(section: &Section<'_>) -> Result<Vec<Fault>, StudyError> {
    let read = |text: String| {
        let fault = text.parse::<Fault>();
        fault.map_err(|error| section.error("faults", format!("fault \"{text}\": {error}")))
    };
    section.texts("faults")?.into_iter().map(read).collect()
}

/// Reads the drives of a system: a drive in one port, or a drive in each of the ports that `+` joins. The drives form a
/// volume if `volume` is present.
fn parts(section: &Section<'_>) -> Result<SystemName, StudyError> {
    let [drive, platform, port] = ["drive", "platform", "port"].map(|key| section.text(key));
    let name = format!("{}@{}:{}", drive?, platform?, port?);
    let name = match section.optional_text("volume")? {
        Some(volume) => format!("{volume}:{name}"),
        None => name,
    };
    SystemName::parse(&name)
        .map_err(|error| StudyError { location: section.location_of("port"), ..error })
}

fn read_figure(
    section: &Section<'_>,
    systems: &[StudyColumn],
    workload: &Workload,
    settings: &[StudySetting],
) -> Result<PublishedFigure, StudyError> {
    let id = section.text("id")?;
    let system = section.text("system")?;
    known_system(systems, &system, section.location_of("system"))?;
    let test = section.text("test")?;
    let column = systems.iter().find(|column| column.name == system);
    let workload = column.map_or(workload, |column| &column.workload);
    workload::known_test(workload, &test, section.location_of("test"))?;
    let metric = section.choice("metric", &FigureMetric::NAMES)?;
    let published = match metric {
        FigureMetric::Throughput => section.quantity::<BytesPerSecond>("value")?.as_megabytes(),
        FigureMetric::Latency | FigureMetric::ReadLatency | FigureMetric::WriteLatency => {
            section.quantity::<Duration>("value")?.as_microseconds()
        }
        FigureMetric::Iops => section.number("value")?,
        FigureMetric::Transactions => {
            let text = section.text("value")?;
            let number = text.strip_suffix("tpm").and_then(|number| number.trim().parse().ok());
            let message = format!("value = {text}: must be transactions a minute, \"1000 tpm\"");
            number.ok_or_else(|| section.error("value", message))?
        }
        FigureMetric::ProcessorShare | FigureMetric::Gain | FigureMetric::ProcessorUse => {
            section.percentage("value")?
        }
        FigureMetric::Power => section.quantity::<Watts>("value")?.as_watts(),
        FigureMetric::BatteryLife => section.quantity::<Duration>("value")?.as_seconds() / 3600.0,
    };
    if let Some(column) = column {
        check_power(section, metric, &column.system)?;
    }
    let over = if metric == FigureMetric::Gain {
        let over = section.text("over")?;
        known_system(systems, &over, section.location_of("over"))?;
        Some(over)
    } else {
        None
    };
    let bound = if section.has("bound") {
        section
            .choice("bound", &[("at-least", BoundKind::AtLeast), ("at-most", BoundKind::AtMost)])?
    } else {
        BoundKind::Exactly
    };
    let is_in_range = if metric == FigureMetric::Gain { published != 0.0 } else { published > 0.0 };
    if !is_in_range {
        return Err(section.error("value", format!("value = {published}: must be above zero")));
    }
    let place = section.text("place")?;
    section.finish()?;
    let calibrates = |setting: &StudySetting| setting.calibration.figure.as_ref() == Some(&id);
    let role = if settings.iter().any(calibrates) {
        FigureRole::Calibrated
    } else {
        FigureRole::Predicted
    };
    Ok(PublishedFigure { id, system, test, metric, published, bound, over, place, role })
}

/// Checks that the power of the drives is known for a figure about power, and that the platform's battery is known for
/// a figure about a battery.
fn check_power(
    section: &Section<'_>,
    metric: FigureMetric,
    system: &System,
) -> Result<(), StudyError> {
    if !matches!(metric, FigureMetric::Power | FigureMetric::BatteryLife) {
        return Ok(());
    }
    let SimulatedTarget { drive, platform, .. } = &system.target;
    if !system.spec.knows_power() {
        let message = format!("the power of {drive} is not known");
        return Err(section.error("metric", message).hint("add [power] to the drive's file"));
    }
    let battery = system.spec.host_power.and_then(|host| host.battery);
    if metric == FigureMetric::BatteryLife && battery.is_none() {
        let message = format!("{platform} does not have a battery");
        let hint = "add `battery` to the [power] of the platform's file";
        return Err(section.error("metric", message).hint(hint));
    }
    Ok(())
}

/// The two systems that are compared.
type ComparedSystems = Option<(String, String)>;

/// Reads the two systems that are compared, and the written answer with its claims.
fn read_answer(
    root: &Section<'_>,
    systems: &[StudyColumn],
) -> Result<(ComparedSystems, Option<WrittenAnswer>), StudyError> {
    let claims = root.tables("claim")?;
    let Some(section) = root.optional_table("answer")? else {
        return match claims.first() {
            None => Ok((None, None)),
            Some(claim) => Err(StudyError::new(claim.location(), "a claim needs an answer")
                .hint("add [answer] with `text`")),
        };
    };
    let runs = |name: &str, test: &str| {
        let column = systems.iter().find(|column| column.name == name);
        column.is_some_and(|column| column.workload.tests.iter().any(|one| one.name == test))
    };
    let written = WrittenAnswer::read(&section, &claims, &runs)?;
    let compared = if written.is_none() || section.has("compare") || section.has("with") {
        Some((section.text("compare")?, section.text("with")?))
    } else {
        None
    };
    if let Some((over, under)) = &compared {
        known_system(systems, over, section.location_of("compare"))?;
        known_system(systems, under, section.location_of("with"))?;
    }
    section.finish()?;
    Ok((compared, written))
}

fn known_system(systems: &[StudyColumn], name: &str, location: Location) -> Result<(), StudyError> {
    if systems.iter().any(|column| column.name == name) {
        return Ok(());
    }
    let known = systems.iter().map(|column| column.name.as_str());
    Err(StudyError::unknown(location, "system", name, known))
}

/// Moves an error about an unknown name to the line of the study that contains the name.
fn locate(error: StudyError, section: &Section<'_>, key: &str) -> StudyError {
    if error.is_unknown_name() && error.location.position.is_none() {
        StudyError { location: section.location_of(key), ..error }
    } else {
        error
    }
}

/// Compares a figure with the results of the systems.
fn check(figure: &PublishedFigure, systems: &[StudySystem]) -> Option<FigureCheck> {
    let result = |name: &str| {
        let system = systems.iter().find(|system| system.name == name)?;
        system.run.test(&figure.test)
    };
    let own_result = result(&figure.system)?;
    let simulated = match &figure.over {
        Some(over) => FigureMetric::gain(own_result, result(over)?),
        None => figure.metric.value_in(own_result),
    };
    Some(FigureCheck::new(figure.clone(), simulated))
}
