//! `lanemark serve`: serves a modelled system as a block device, until a signal or `lanemark serve stop` ends it.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_lab::scale::faults;
use lanemark_lab::{ErrorCause, assemble, input, settings};
use lanemark_schema::result::{Provenance, RunResult};
use lanemark_schema::workload::Fault;
use lanemark_serve::data::{DataLocation, DataPlan, OpenedData};
use lanemark_serve::metrics;
use lanemark_serve::query_server::QueryServer;
use lanemark_serve::session::{Session, SessionFigures, SessionPlan, cache_of};
use lanemark_serve::socket::{Endpoint, Listener};
use lanemark_study::system::SystemName;
use lanemark_study::{Location, System};
use lanemark_trial::server::control::{ControlledServer, ask, check_servable};
use lanemark_trial::server::{self, start};

use crate::args::{ServeArgs, ServeCommand};
use crate::model::library;
use crate::output::delivery::{ExtraFiles, ResultDelivery};
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::progress::Progress;
use crate::output::saving::Destination;
use crate::output::{self, formats, messages, provenance, stop};

/// Interval at which the command checks whether to end.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum time for writing a disk's cached pages when the server ends.
const MOUNTED_ENDS: Duration = Duration::from_secs(10);
/// Maximum length of a scenario, which is enough for a thousand faults with comments.
const SCENARIO_MAX: u64 = 1 << 20;
/// Interval between the lines of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &ServeArgs) -> Result<CommandOutcome, Failure> {
    if let Some(command) = &args.command {
        return control(command);
    }
    let signal = stop::on_signal();
    let library = library::open(&args.library)?;
    let system = assemble(&library, args.system(), &settings(&args.set)?)?;
    let (planned, from) = read_fault_plan(args)?;
    server::one_target(&system, args.system())?;
    let size = server::size(args.size, args.over.as_deref(), &system)?;
    planned.iter().try_for_each(|fault| check_servable(&system, size, fault))?;
    let spec = system.with_faults(&planned, &from)?;
    let location = match &args.data {
        Some(file) => DataLocation::File(file.clone()),
        None => DataLocation::Memory,
    };
    let plan =
        DataPlan { location, over: args.over.clone(), size, overwrite: args.overwrite.clone() };
    let OpenedData { data, notes } = plan.open(cache_of(&spec), args.seed)?;
    notes.iter().for_each(|line| tell!("note: {line}"));
    let mut provenance = provenance::own_provenance(args.seed);
    provenance.inputs = library.used();
    let delivery = open_delivery(args, &provenance)?;
    let socket = args.socket.clone().map(Endpoint::Unix);
    let endpoint = socket.or(args.port.map(Endpoint::Loopback));
    let named = match &endpoint {
        Some(Endpoint::Unix(path)) => format!("--socket {}", path.display()),
        Some(Endpoint::Loopback(port)) => format!("--port {port}"),
        None => "the server".to_owned(),
    };
    let (content, remark) = start::content(args.start.into(), &system, size);
    let outside = messages::with_remarks(|remarks| {
        if args.no_latency {
            return None;
        }
        remarks.extend(remark);
        remarks.extend(start::short_stroke(&system, size));
        if args.no_self_test {
            return None;
        }
        start::self_test(&system, size, args.time_scale, args.port.is_some(), remarks)
    });
    let session = Session::start(SessionPlan {
        system: &spec,
        faults: &planned,
        description: system.target.system.clone(),
        data,
        content,
        endpoint,
        scale: args.time_scale,
        seed: args.seed,
        outside,
        has_latency: !args.no_latency,
    });
    let mut session = session.map_err(|error| Failure::input(format!("{named}: {error}")))?;
    let mut addresses: Vec<String> = session.address().map(str::to_owned).into_iter().collect();
    addresses.extend(mount_exports(args, &mut session)?);
    let session = Arc::new(session);
    // Without the registration, measurements on the served file and disk do not find the server.
    let unregistered = |error| tell!("note: measurements will not find this server: {error}");
    let registration = server::register(&system, &session).map_err(unregistered).ok();
    let stop_requested = Arc::new(AtomicBool::new(false));
    let served = ControlledServer {
        session: Arc::clone(&session),
        system: system.clone(),
        size,
        stop: Arc::clone(&stop_requested),
    };
    let control = open_control(args, served)?;
    for address in &addresses {
        if args.json { tell!("{address}") } else { output::print(address)? }
    }
    tell!("note: Ctrl-C ends the server");
    watch(args.watch, &session, || {
        stop::requested(&signal) || stop_requested.load(Ordering::SeqCst) || session.is_broken()
    });
    let is_broken = session.is_broken();
    drop((control, registration));
    let Some(session) = Arc::into_inner(session) else {
        return Err(Failure::run("a part of the server is still running"));
    };
    let (figures, closed) = session.end();
    figures.lost.iter().chain(&figures.notes).for_each(|line| tell!("note: {line}"));
    let saved = deliver(delivery, &system, figures, planned, provenance);
    closed.map_err(|error| Failure::run(format!("the data could not be stored: {error}")))?;
    saved?;
    if is_broken {
        return Err(Failure::run("the server's engine failed and ended the server"));
    }
    Ok(if stop::requested(&signal) { CommandOutcome::Interrupted } else { CommandOutcome::Done })
}

/// Reserves the outputs of the result; `None` without a model, because there is no result.
fn open_delivery(
    args: &ServeArgs,
    provenance: &Provenance,
) -> Result<Option<ResultDelivery>, Failure> {
    if args.no_latency {
        return Ok(None);
    }
    let drive = SystemName::parse(args.system())?.drive;
    let what = format!("serve-{}", drive.rsplit('/').next().unwrap_or("drive"));
    let json = args.json;
    let printer = move |result: &RunResult| {
        formats::result_text(
            result,
            json,
            None,
            formats::RequestedSections { detail: true, evidence: false },
        )
    };
    let out = Destination::from_out(args.out.as_deref());
    Ok(Some(ResultDelivery::open(
        out,
        &what,
        &provenance.started_at,
        ExtraFiles::default(),
        printer,
    )?))
}

/// Provides the system as a file or as a disk, if requested, and returns their paths.
fn mount_exports(args: &ServeArgs, session: &mut Session) -> Result<Vec<String>, Failure> {
    use lanemark_serve::mount::MountError;
    let note = match (&args.mount, args.attach) {
        (None, false) => return Ok(Vec::new()),
        (Some(file), false) => session.mounts().mount(file),
        (file, true) => session.mounts().attach(file.as_deref()),
    };
    // The cached pages of the disk are written before the disk is removed.
    stop::extend_patience(MOUNTED_ENDS);
    let option = if args.attach { "--attach" } else { "--mount" };
    let note = note.map_err(|error| {
        let message = format!("{option}: {error}");
        match error {
            MountError::Refused { .. } => {
                let hint = "name a file that is empty or does not exist".to_owned();
                Failure::new(ErrorCause::Refused, message, Some(hint))
            }
            MountError::System { .. } => Failure::input(message),
        }
    })?;
    note.iter().for_each(|line| tell!("note: {line}"));
    let mounts = session.mounts();
    let file = args.mount.as_ref().and_then(|_| mounts.file());
    Ok(file.into_iter().chain(mounts.disk()).map(|path| path.display().to_string()).collect())
}

/// Returns the faults from the command line and from the scenario, and the location that errors name.
fn read_fault_plan(args: &ServeArgs) -> Result<(Vec<Fault>, Location), Failure> {
    let mut planned = faults(&args.fault)?;
    let Some(path) = &args.scenario else { return Ok((planned, Location::file("--fault"))) };
    let name = path.display().to_string();
    let fail = |why: String| Failure::input(format!("--scenario {name}: {why}"));
    let bytes = input::bytes(path, SCENARIO_MAX).map_err(|error| fail(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("not UTF-8 text".to_owned()))?;
    planned.extend(lanemark_study::workload::scenario(&name, &text)?);
    Ok((planned, Location::file(&name)))
}

/// Opens the control socket, if it is requested.
fn open_control(
    args: &ServeArgs,
    served: ControlledServer,
) -> Result<Option<QueryServer>, Failure> {
    let Some(path) = &args.control else { return Ok(None) };
    let fail = |error| Failure::input(format!("--control {}: {error}", path.display()));
    let listener = Listener::bind(&Endpoint::Unix(path.clone())).map_err(fail)?;
    let answer = move |question: &str| served.answer(question);
    QueryServer::open(listener, answer).map(Some).map_err(fail)
}

/// Waits for the end, and prints progress.
fn watch(is_reporting: bool, session: &Session, is_over: impl Fn() -> bool) {
    let mut progress = Progress::new();
    let mut last = Instant::now();
    let mut before = is_reporting.then(|| session.figures());
    while !is_over() {
        std::thread::sleep(LOOK);
        if let Some(figures) = &mut before
            && last.elapsed() >= WATCH
        {
            let now = session.figures();
            let line = metrics::line_of(&now, figures, last.elapsed().as_secs_f64());
            // Output to a log cannot be overwritten, so each state is a new line.
            if std::io::stderr().is_terminal() {
                progress.show(&line);
            } else {
                tell!("{line}");
            }
            (last, *figures) = (Instant::now(), now);
        }
    }
}

/// Saves the served requests as a result.
fn deliver(
    delivery: Option<ResultDelivery>,
    system: &System,
    figures: SessionFigures,
    faults: Vec<Fault>,
    provenance: Provenance,
) -> Result<(), Failure> {
    let SessionFigures { sample, test, .. } = figures;
    let (Some(delivery), Some(test)) = (delivery, test) else { return Ok(()) };
    if sample.operations() == 0 && sample.errors.is_empty() {
        delivery.deliver_nothing();
        return Ok(());
    }
    let mut result = server::result(system, test, sample, faults);
    result.provenance = provenance;
    delivery.deliver(&mut result)
}

/// Sends a command to a running server, and prints its answer.
fn control(command: &ServeCommand) -> Result<CommandOutcome, Failure> {
    let (socket, words) = match command {
        ServeCommand::Status(args) => (&args.socket, "status".to_owned()),
        ServeCommand::Fault(args) => (&args.socket, format!("fault {}", args.fault.join(" "))),
        ServeCommand::Cut(args) => {
            let boot = args.boot.iter().map(|boot| format!(" {boot}")).collect::<String>();
            (&args.socket, format!("power-cut{boot}"))
        }
        ServeCommand::Stop(args) => (&args.socket, "stop".to_owned()),
    };
    let answer = ask(socket, &words).map_err(|error| {
        Failure::run(format!("{}: {error}", socket.display()))
            .hint("use the socket from the server's option --control")
    })?;
    match answer.strip_prefix("error: ") {
        Some(error) => Err(Failure::input(error.trim_end())),
        None => {
            output::print(&answer)?;
            Ok(CommandOutcome::Done)
        }
    }
}
