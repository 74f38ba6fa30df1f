//! Requests to the server and their answers: the page, the library, systems, simulations.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use lanemark_lab::LabError;
use lanemark_report::{palette, path_svg};
use lanemark_schema::workload::Test;
use lanemark_study::document::Document;
use lanemark_study::library::LibraryKind;
use lanemark_study::search::LibraryIndex;
use lanemark_study::{Library, path};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::answer::{self, AnswerRequest};
use crate::curve::CurveJob;
use crate::find::{self, FindRequest};
use crate::guard::Guard;
use crate::jobs::Jobs;
use crate::machine::{self, MachineSource};
use crate::request::{SLOTS, SystemRequest, TestRequest};
use crate::simulation::Simulation;
use crate::suite::WorkloadRun;
use crate::visitor::Visitor;
use crate::{command, listing, result_file, saved, stream, suite};

/// Maximum size of a request body in bytes.
const BODY_MAX: usize = 64 << 10;
/// Number of files that are read at a time; other files wait.
const FILES_AT_ONCE: usize = 1;
/// Time limit for receiving a complete request body.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Maximum length of the name that a page chooses.
const PAGE_MAX: usize = 64;
/// The content security policy: the page may load its own files, and drawings that the server sent.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Debug)]
pub struct UiServerState {
    guard: Guard,
    /// The permit to read a file into memory.
    files: Semaphore,
    jobs: Arc<Jobs>,
    library: Mutex<Library>,
    machine: MachineSource,
    listing: OnceLock<Bytes>,
    /// The names in the library, for search boxes; the first search creates this index.
    index: Mutex<Option<LibraryIndex>>,
}

/// A request about a system.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemQuery {
    system: SystemRequest,
    test: TestRequest,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SimulateRequest {
    page: String,
    slot: u8,
    system: SystemRequest,
    test: TestRequest,
}

/// A request for the tests of a workload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SimulateAllRequest {
    page: String,
    slot: u8,
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

/// A study file in an answer.
#[derive(Serialize)]
struct StudyJson {
    text: String,
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

#[derive(Serialize)]
struct ErrorJson<'e> {
    message: &'e str,
    hint: Option<&'e str>,
}

#[derive(Debug)]
struct RouteError(StatusCode, LabError);

impl From<LabError> for RouteError {
    fn from(error: LabError) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, error)
    }
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let Self(status, error) = self;
        let body = ErrorJson { message: &error.message, hint: error.hint.as_deref() };
        let json = serde_json::to_vec(&body).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/json")], json).into_response()
    }
}

impl UiServerState {
    /// Creates a server with this library on this machine, which accepts the requests that `guard` accepts.
    pub fn new(
        guard: Guard,
        library: Library,
        machine: MachineSource,
        threads: usize,
    ) -> Arc<Self> {
        let jobs = Jobs::new(threads);
        let library = Mutex::new(library);
        let files = Semaphore::new(FILES_AT_ONCE);
        Arc::new(Self {
            guard,
            files,
            jobs,
            library,
            machine,
            listing: OnceLock::new(),
            index: Mutex::default(),
        })
    }

    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// Calls `with` with the index of the library, which the first call creates.
    fn with_index<T>(&self, with: impl FnOnce(&mut LibraryIndex) -> T) -> T {
        let library = self.library();
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        with(index.get_or_insert_with(|| LibraryIndex::new(&library)))
    }

    fn add_machine_to_index(&self, file: &Document) -> Result<(), LabError> {
        self.with_index(|index| find::add_machine(index, file))
    }

    /// Returns a copy of the library. Each request has a separate copy, because a library records the files that it
    /// reads.
    fn library(&self) -> Library {
        self.library.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns all routes, protected by the guard.
pub fn router(server: Arc<UiServerState>) -> Router {
    let page = get(|| async { file("text/html; charset=utf-8", include_str!("page/index.html")) });
    Router::new()
        .route("/", page)
        .route("/ui.css", get(|| async { file("text/css", include_str!("page/ui.css")) }))
        .route("/ui.js", get(|| async { script(include_str!("page/ui.js")) }))
        .route("/colours.css", get(|| async { file("text/css", palette::style()) }))
        .route("/draw.js", get(|| async { script(include_str!("page/draw.js")) }))
        .route("/curves.js", get(|| async { script(include_str!("page/curves.js")) }))
        .route("/details.js", get(|| async { script(include_str!("page/details.js")) }))
        .route("/server.js", get(|| async { script(include_str!("page/server.js")) }))
        .route("/pick.js", get(|| async { script(include_str!("page/pick.js")) }))
        .route("/results.js", get(|| async { script(include_str!("page/results.js")) }))
        .route("/api/library", get(library))
        .route("/api/machine", get(machine))
        .route("/api/status", get(status))
        .route("/api/result", post(result))
        .route("/api/study", post(study))
        .route("/api/find", post(find_systems))
        .route("/api/answer", post(answer))
        .route("/api/curve", post(simulate_curve))
        .route("/api/system", post(system))
        .route("/api/simulate", post(simulate))
        .route("/api/workload", post(simulate_all))
        .fallback(|| async { refuse(StatusCode::NOT_FOUND, "There is no such page.") })
        .layer(middleware::from_fn_with_state(Arc::clone(&server), guarded))
        .with_state(server)
}

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

fn script(text: &'static str) -> Response {
    file("text/javascript; charset=utf-8", text)
}

fn refuse(status: StatusCode, text: &'static str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{text}\n"))
        .into_response()
}

/// Accepts or rejects a request, and adds the security headers to every answer.
async fn guarded(
    State(server): State<Arc<UiServerState>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = server.guard.check(request.method(), request.uri(), request.headers());
    let mut answer = match &checked {
        Ok(_) => {
            if let Some(visitor) = request.extensions().get::<Arc<Visitor>>() {
                visitor.let_in();
            }
            next.run(request).await
        }
        Err(refused) => refuse(refused.status, refused.text),
    };
    let headers = answer.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if checked == Ok(true)
        && let Ok(cookie) = HeaderValue::from_str(&server.guard.cookie())
    {
        headers.insert(header::SET_COOKIE, cookie);
    }
    answer
}

fn route_error(status: StatusCode, text: &str) -> RouteError {
    RouteError(status, LabError::input(text))
}

/// Reads a request body as JSON, within its limits on time and length.
async fn question<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, RouteError> {
    let bytes = read_body(headers, body, BODY_MAX).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| route_error(StatusCode::BAD_REQUEST, &format!("the question: {error}")))
}

/// Reads a complete body with the JSON content type, within its time limit and up to `most` bytes.
async fn read_body(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, RouteError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_none_or(|kind| kind.split(';').next() != Some("application/json")) {
        let text = "the request's Content-Type is not application/json";
        return Err(route_error(StatusCode::BAD_REQUEST, text));
    }
    let read = tokio::time::timeout(BODY_TIME, to_bytes(body, most)).await;
    let late = |_| {
        route_error(StatusCode::REQUEST_TIMEOUT, "the request did not arrive completely in time")
    };
    let length_error = |_| {
        let text = format!("the request was cut short, or is longer than {most} bytes");
        route_error(StatusCode::PAYLOAD_TOO_LARGE, &text)
    };
    read.map_err(late)?.map_err(length_error)
}

fn json(value: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

async fn library(State(server): State<Arc<UiServerState>>) -> Response {
    let listed = tokio::task::spawn_blocking(move || {
        let make = || serde_json::to_vec(&listing::listing(&server.library())).unwrap_or_default();
        server.listing.get_or_init(|| Bytes::from(make())).clone()
    });
    match listed.await {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(_) => RouteError(
            StatusCode::INTERNAL_SERVER_ERROR,
            LabError::run("the library could not be listed"),
        )
        .into_response(),
    }
}

/// Reads this machine again. From then on, the machine is the platform `this-machine`.
async fn machine(State(server): State<Arc<UiServerState>>) -> Result<Response, RouteError> {
    let (file, made) = server.machine.read().await?;
    let listed = listing::machine(&file, made.left_out)?;
    server.add_machine_to_index(&file)?;
    let mut library = server.library.lock().unwrap_or_else(PoisonError::into_inner);
    library.add(LibraryKind::Platform, machine::NAME, file);
    drop(library);
    Ok(json(&listed))
}

/// Reads a result file. The server does not store it.
async fn result(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let broke = || RouteError::from(LabError::run("the file could not be read"));
    let permit = server.files.acquire().await.map_err(|_| broke())?;
    let bytes = read_body(&headers, body, result_file::FILE_MAX).await?;
    let summary = tokio::task::spawn_blocking(move || result_file::read(bytes.into())).await;
    drop(permit);
    Ok(json(&summary.map_err(|_| broke())??))
}

async fn study(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let request: SaveStudyRequest = question(&headers, body).await?;
    if !(1..=usize::from(SLOTS)).contains(&request.systems.len()) {
        let text = format!("a study from the page must contain 1 to {SLOTS} systems");
        return Err(route_error(StatusCode::BAD_REQUEST, &text));
    }
    let library = server.library();
    let permit = server.jobs.permit().await;
    let made = tokio::task::spawn_blocking(move || {
        let test = request.test.read()?;
        saved::study(&library, &request.systems, &request.test, &test)
    });
    let made = made.await;
    drop(permit);
    let broke = |_| RouteError::from(LabError::run("the study could not be created"));
    Ok(json(&StudyJson { text: made.map_err(broke)?? }))
}

/// Answers a search box. The running machine is read if the text names it, unless it was read before.
async fn find_systems(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let request: FindRequest = question(&headers, body).await?;
    let has_machine =
        server.library().names(LibraryKind::Platform).iter().any(|name| name == machine::NAME);
    if find::names_machine(&request.text) && !has_machine {
        machine(State(Arc::clone(&server))).await?;
    }
    let broke = |_| RouteError::from(LabError::run("the library could not be searched"));
    let found = tokio::task::spawn_blocking(move || {
        let library = server.library();
        server.with_index(|index| find::find(index, &library, &request))
    });
    Ok(json(&found.await.map_err(broke)?))
}

async fn answer(headers: HeaderMap, body: Body) -> Result<Response, RouteError> {
    let request: AnswerRequest = question(&headers, body).await?;
    if request.systems.len() > usize::from(SLOTS) {
        let text = format!("an answer compares up to {SLOTS} systems");
        return Err(route_error(StatusCode::BAD_REQUEST, &text));
    }
    Ok(json(&answer::answer(&request)))
}

async fn simulate_curve(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let request: SimulateRequest = question(&headers, body).await?;
    let job = server.jobs.begin(answer_destination(request.page, request.slot)?);
    let jobs = Arc::clone(&server.jobs);
    let library = server.library();
    Ok(lines(stream::begin(job, jobs, library, move |library, cancel, began| {
        let test = request.test.read()?;
        let assembled = request.system.assemble(library)?;
        Ok(stream::SteppedWork::Curve(Box::new(CurveJob::new(assembled, test, cancel, began))))
    })))
}

async fn status(State(server): State<Arc<UiServerState>>) -> Response {
    json(&server.jobs.counts())
}

async fn system(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let request: SystemQuery = question(&headers, body).await?;
    let library = server.library();
    let permit = server.jobs.permit().await;
    let answer = tokio::task::spawn_blocking(move || {
        let test = request.test.read()?;
        let assembled = request.system.assemble(&library)?;
        let view = path::view(&assembled.system, &test, None);
        let target = &assembled.system.target;
        Ok::<_, LabError>(SystemJson {
            system: target.system.clone(),
            drive: target.drive.clone(),
            platform: target.platform.clone(),
            port: target.port.clone(),
            capacity: assembled.system.capacity().to_string(),
            values: listing::values(&assembled.system),
            drawing: path_svg(&view),
            command: command::shell(&request.system, &request.test, &test),
        })
    });
    let answer = answer.await;
    drop(permit);
    let broke = |_| RouteError::from(LabError::run("the system could not be assembled"));
    Ok(json(&answer.map_err(broke)??))
}

/// Checks the origin of a request for a simulation.
fn answer_destination(page: String, slot: u8) -> Result<(String, u8), RouteError> {
    if page.len() <= PAGE_MAX && slot < SLOTS {
        Ok((page, slot))
    } else {
        let text =
            format!("`page` must have up to {PAGE_MAX} bytes, and `slot` must be below {SLOTS}");
        Err(RouteError(StatusCode::BAD_REQUEST, LabError::input(text)))
    }
}

fn lines(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

async fn simulate(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let request: SimulateRequest = question(&headers, body).await?;
    let job = server.jobs.begin(answer_destination(request.page, request.slot)?);
    let jobs = Arc::clone(&server.jobs);
    let library = server.library();
    Ok(lines(stream::begin(job, jobs, library, move |library, cancel, began| {
        let test = request.test.read()?;
        let assembled = request.system.assemble(library)?;
        let simulation = Simulation::new(assembled, test, cancel, began);
        Ok(stream::SteppedWork::One(Box::new(simulation)))
    })))
}

async fn simulate_all(
    State(server): State<Arc<UiServerState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RouteError> {
    let request: SimulateAllRequest = question(&headers, body).await?;
    let job = server.jobs.begin(answer_destination(request.page, request.slot)?);
    let jobs = Arc::clone(&server.jobs);
    let library = server.library();
    Ok(lines(stream::begin(job, jobs, library, move |library, cancel, began| {
        let tests = match &request.workload {
            Some(name) => suite::open(library, name)?.tests,
            None => suite::checked_tests(request.tests)?,
        };
        let assembled = request.system.assemble(library)?;
        Ok(stream::SteppedWork::Suite(Box::new(WorkloadRun::new(assembled, tests, cancel, began))))
    })))
}
