//! The laboratory of a page: one function that answers each request with JSON or an error.
//!
//! | request | answer |
//! |---|---|
//! | `machine` | adds the machine on which `lanemark ui` ran, and lists its ports |
//! | `find` | the systems that a text may mean |
//! | `system` | values, drawing and command of a system |
//! | `simulate`, `curve`, `workload` | begins a simulation, and returns the report of its first step |
//! | `step` | the report of the next step; a new simulation ends the previous one |
//! | `answer` | the figures of a page as a sentence |
//! | `result` | the tests in a result file |
//! | `report` | the report of simulations and result files |
//! | `study` | the page as a study file |
//! | `published` | the outcome of a built-in study |

use std::path::Path;

use lanemark_lab::study::AdditionalResults;
use lanemark_lab::{Lab, LabError};
use lanemark_report::{path_svg, study_answer};
use lanemark_schema::result::{Provenance, StudyOutcome};
use lanemark_schema::workload::Test;
use lanemark_study::document::Document;
use lanemark_study::library::LibraryKind;
use lanemark_study::search::LibraryIndex;
use lanemark_study::{Library, Study, path, studies};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::answer::{self, AnswerRequest};
use crate::curve::CurveJob;
use crate::find::{self, FindRequest};
use crate::request::{MEMORY, SLOTS, SystemRequest, TestRequest};
use crate::simulation::{SEED, Simulation, StepReport};
use crate::workload_run::{self, WorkloadRun};
use crate::{command, listing, machine, report, result_file, saved};

/// Maximum length of a request that is not a file, in bytes.
const REQUEST_MAX: usize = 64 << 10;

/// The library, and the current simulation.
#[derive(Debug)]
pub struct Laboratory {
    library: Library,
    /// The names in the library, for search boxes; the first search creates this index.
    index: Option<LibraryIndex>,
    lab: Lab,
    work: Option<SteppedWork>,
}

/// A simulation that is done in steps.
#[derive(Debug)]
enum SteppedWork {
    One(Box<Simulation>),
    Workload(Box<WorkloadRun>),
    /// A curve over queue depth.
    Curve(Box<CurveJob>),
}

/// A request about a system and a test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemQuery {
    system: SystemRequest,
    test: TestRequest,
}

/// A request for the tests of a workload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadRequest {
    system: SystemRequest,
    #[serde(default)]
    workload: Option<String>,
    /// Tests from a result file, instead of a workload.
    #[serde(default)]
    tests: Vec<Test>,
}

/// A request to save a page as a study file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaveStudyRequest {
    systems: Vec<SystemRequest>,
    test: TestRequest,
}

/// The file of the machine on which `lanemark ui` ran, and its devices without a port.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFile {
    /// The platform file.
    pub text: String,
    /// Devices without a port, each with the reason.
    pub left_out: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedRequest {
    study: String,
}

/// A study file in an answer.
#[derive(Serialize)]
struct StudyJson {
    text: String,
}

#[derive(Serialize)]
struct PublishedJson {
    answer: String,
    outcome: StudyOutcome,
}

#[derive(Serialize)]
struct SystemJson {
    system: String,
    drive: String,
    platform: String,
    port: String,
    capacity: String,
    values: Vec<listing::ListedValue>,
    /// Drawing of the platform that includes the path.
    drawing: String,
    /// The shell command that runs the test.
    command: String,
}

impl Default for Laboratory {
    fn default() -> Self {
        Self::new(Library::built_in(), Lab::default())
    }
}

impl Laboratory {
    /// Creates a laboratory with this library. `lab` can cancel simulations.
    pub fn new(library: Library, lab: Lab) -> Self {
        let lab = Lab { memory: Some(MEMORY), ..lab };
        Self { library, index: None, lab, work: None }
    }

    /// Answers a request with JSON.
    ///
    /// # Errors
    /// Returns an error if the request is unknown or invalid, or if it cannot be answered.
    pub fn answer(&mut self, request: &str, body: &[u8]) -> Result<String, LabError> {
        match request {
            "machine" => self.add_machine(&read(body)?),
            "find" => self.find(&read(body)?),
            "system" => self.system(&read(body)?),
            "simulate" | "curve" | "workload" => {
                self.work = None;
                self.work = Some(self.begin(request, body)?);
                self.step()
            }
            "step" => self.step(),
            "report" => json(&report::report(body)?),
            "answer" => compare(&read(body)?),
            "result" => json(&result_file::read(&self.library, body.to_vec())?),
            "study" => self.save_study(&read(body)?),
            "published" => self.published(&read(body)?),
            _ => {
                let request: String = request.chars().take(40).collect();
                Err(LabError::input(format!("there is no request `{request}`")))
            }
        }
    }

    fn begin(&self, request: &str, body: &[u8]) -> Result<SteppedWork, LabError> {
        if request == "workload" {
            let request: WorkloadRequest = read(body)?;
            let workload = match &request.workload {
                Some(name) => workload_run::open(&self.library, name)?,
                None => workload_run::workload_of(request.tests)?,
            };
            let assembled = request.system.assemble(&self.library)?;
            let run = WorkloadRun::new(assembled, workload);
            return Ok(SteppedWork::Workload(Box::new(run)));
        }
        let SystemQuery { system, test } = read(body)?;
        if request == "curve" {
            let assembled = system.assemble(&self.library)?;
            let workload = command::workload(&test, &assembled.faults)?;
            return Ok(SteppedWork::Curve(Box::new(CurveJob::new(assembled, workload))));
        }
        let simulation = Simulation::new(&self.library, &self.lab, &system, &test)?;
        Ok(SteppedWork::One(Box::new(simulation)))
    }

    /// Runs the next step of the current simulation. The last step, and a step that fails, end the simulation.
    fn step(&mut self) -> Result<String, LabError> {
        let Some(mut work) = self.work.take() else {
            return Err(LabError::input("no simulation has begun"));
        };
        let report = match &mut work {
            SteppedWork::One(simulation) => simulation.step(&self.library, &self.lab)?,
            SteppedWork::Workload(run) => run.step(&self.library, &self.lab)?,
            SteppedWork::Curve(curve) => curve.step(&self.lab)?,
        };
        let Some(report) = report else {
            return Err(LabError::run("the simulation was cancelled"));
        };
        if !matches!(report, StepReport::Done { .. }) {
            self.work = Some(work);
        }
        json(&report)
    }

    fn add_machine(&mut self, machine: &MachineFile) -> Result<String, LabError> {
        let file = Document::parse(machine::FILE, &machine.text)?;
        let listed = listing::machine(&file, machine.left_out.clone())?;
        find::add_machine(self.index(), &file)?;
        self.library.add(LibraryKind::Platform, machine::NAME, file);
        json(&listed)
    }

    fn index(&mut self) -> &mut LibraryIndex {
        self.index.get_or_insert_with(|| LibraryIndex::new(&self.library))
    }

    fn find(&mut self, request: &FindRequest) -> Result<String, LabError> {
        self.index();
        let Some(index) = &self.index else { return json(&()) };
        json(&find::find(index, &self.library, request))
    }

    fn system(&self, request: &SystemQuery) -> Result<String, LabError> {
        let test = request.test.read()?;
        let assembled = request.system.assemble(&self.library)?;
        let view = path::view(&assembled.system, &test, None);
        let target = &assembled.system.target;
        json(&SystemJson {
            system: target.system.clone(),
            drive: target.drive.clone(),
            platform: target.platform.clone(),
            port: target.port.clone(),
            capacity: assembled.system.capacity().to_string(),
            values: listing::values(&assembled.system),
            drawing: path_svg(&view),
            command: command::shell(&request.system, &request.test, &test, &assembled.faults),
        })
    }

    fn save_study(&self, request: &SaveStudyRequest) -> Result<String, LabError> {
        if !(1..=usize::from(SLOTS)).contains(&request.systems.len()) {
            let message = format!("a study from the page must contain 1 to {SLOTS} systems");
            return Err(LabError::input(message));
        }
        let test = request.test.read()?;
        let text = saved::study(&self.library, &request.systems, &request.test, &test)?;
        json(&StudyJson { text })
    }

    /// Runs a built-in study, as `lanemark study` does without intervals.
    fn published(&self, request: &PublishedRequest) -> Result<String, LabError> {
        if !studies::names().contains(&request.study.as_str()) {
            let name: String = request.study.chars().take(40).collect();
            return Err(LabError::input(format!("there is no study `{name}`")));
        }
        let study = Study::find(&self.library, Path::new(&request.study))?;
        let provenance = Provenance { seed: SEED, ..Provenance::default() };
        let extras = AdditionalResults::default();
        let outcome = self.lab.study(&study, &provenance, extras, &mut |_| ())?;
        json(&PublishedJson { answer: study_answer(&outcome), outcome })
    }
}

fn compare(request: &AnswerRequest) -> Result<String, LabError> {
    if request.systems.len() > usize::from(SLOTS) {
        return Err(LabError::input(format!("an answer compares up to {SLOTS} systems")));
    }
    json(&answer::answer(request))
}

/// Reads a request of limited length.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, LabError> {
    if body.len() > REQUEST_MAX {
        let message = format!("the request is longer than {REQUEST_MAX} bytes");
        return Err(LabError::input(message));
    }
    serde_json::from_slice(body).map_err(|error| LabError::input(format!("the request: {error}")))
}

fn json(value: &impl Serialize) -> Result<String, LabError> {
    serde_json::to_string(value)
        .map_err(|error| LabError::run(format!("the answer can't be written: {error}")))
}
