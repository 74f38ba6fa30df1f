//! `lanemark exact`: runs a command in a guest that runs on the simulator's clock.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanemark_files::private::PrivateFolder;
use lanemark_lab::scale::faults;
use lanemark_lab::{assemble, settings};
use lanemark_schema::result::{Provenance, RunResult};
use lanemark_schema::units::Bytes;
use lanemark_serve::data::{DataLocation, DataPlan, OpenedData};
use lanemark_serve::exact::boot::Boot;
use lanemark_serve::exact::init::{self, InitPlan};
use lanemark_serve::exact::{ExactPlan, ExactRun, run as run_guest};
use lanemark_serve::session::cache_of;
use lanemark_study::system::SystemName;
use lanemark_study::{Location, System};

use crate::args::ExactArgs;
use crate::delivery::ResultDelivery;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::saving::Destination;
use crate::serve_control::check_servable;
use crate::warden::CleanupProcess;
use crate::{library, provenance, serve, stop};

/// The kernel that `make exact` builds.
const KERNEL: &str = "target/exact/linux";
/// Minimum and maximum memory of a guest.
const MEMORY: (Bytes, Bytes) = (Bytes::mebi(64), Bytes::mebi(65_536));

pub(crate) fn run(args: &ExactArgs) -> Result<CommandOutcome, Failure> {
    let signal = stop::on_signal();
    let library = library::open(&args.library)?;
    let system = assemble(&library, &args.system, &settings(&args.set)?)?;
    let planned = faults(&args.fault)?;
    serve::one_target(&system, &args.system)?;
    let size = serve::size(args.size, args.over.as_deref(), &system)?;
    planned.iter().try_for_each(|fault| check_servable(&system, size, fault))?;
    let spec = system.with_faults(&planned, &Location::file("--fault"))?;
    let fail = |error: std::io::Error| Failure::run(format!("the guest can't be started: {error}"));
    let folder = PrivateFolder::new("lanemark-").map_err(fail)?;
    let boot = boot(args, folder.path())?;
    let warden = CleanupProcess::of(folder.path())?;
    // The warden identifies the guest's processes by the files in the folder, and removes the folder after they have
    // ended.
    folder.leave_to_another_process();
    let location = args.data.clone().map_or(DataLocation::Memory, DataLocation::File);
    let plan = DataPlan { location, over: args.over.clone(), size, overwrite: None };
    let OpenedData { data, notes } = plan.open(cache_of(&spec), args.seed)?;
    notes.iter().for_each(|line| tell!("note: {line}"));
    let mut provenance = provenance::own_provenance(args.seed);
    provenance.inputs = library.used();
    let drive = SystemName::parse(&args.system)?.drive;
    let what = format!("exact-{}", drive.rsplit('/').next().unwrap_or("drive"));
    // Stdout carries only the command's output.
    let printer = |_: &RunResult| Ok(String::new());
    let out = Destination::of(args.out.as_deref());
    let delivery = ResultDelivery::open(out, &what, &provenance.started_at, None, printer)?;
    let (seed, silent) = (args.seed, &|time| report_silence(time));
    let plan = ExactPlan { system: &spec, faults: &planned, data, seed, boot, silent };
    let ended = run_guest(plan, &|| stop::requested(&signal)).map_err(fail)?;
    drop(folder);
    drop(warden);
    ended.lost.iter().for_each(|line| tell!("note: {line}"));
    let (code, failure) = (ended.code, failure_of_end(&ended));
    deliver(&delivery, &system, ended, planned, provenance)?;
    match code {
        _ if stop::requested(&signal) => Ok(CommandOutcome::Interrupted),
        Some(code) => Ok(CommandOutcome::Code(u8::try_from(code).unwrap_or(u8::MAX))),
        None => Err(failure),
    }
}

/// Reports a guest that has printed nothing for `time`.
fn report_silence(time: Duration) {
    tell!(
        "note: the guest has run for {} s without reading its clock, so the clock does not advance; a program that \
         polls for another program waits forever (see docs/exact.md); Ctrl-C ends the guest",
        time.as_secs()
    );
}

/// Returns the guest that the arguments describe; its sockets and files are in `folder`.
fn boot(args: &ExactArgs, folder: &Path) -> Result<Boot, Failure> {
    let memory = args.guest_memory;
    if memory < MEMORY.0 || memory > MEMORY.1 {
        let (least, most) = MEMORY;
        return Err(Failure::input(format!("--guest-memory {memory}: expected {least} to {most}")));
    }
    let fail = |error: std::io::Error| Failure::run(format!("the guest can't be started: {error}"));
    let program = std::env::current_exe().map_err(fail)?;
    let kernel = args.kernel.clone().unwrap_or_else(|| kernel(&program));
    let here = std::env::current_dir().map_err(fail)?;
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    // The programs that create file systems are in folders that only root's `PATH` contains.
    path.push(":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin");
    let output = folder.to_owned();
    let plan = InitPlan { output, folder: here, path, words: args.command.clone() };
    Boot::new(kernel, &program, folder, memory.get(), plan).map_err(|why| {
        Failure::input(why)
            .hint("build it with `make exact`, or name a different kernel with --kernel")
    })
}

/// Returns the kernel in the current folder, or next to the folder of this program.
fn kernel(program: &Path) -> PathBuf {
    let here = PathBuf::from(KERNEL);
    let beside = program.parent().and_then(Path::parent).map(|target| target.join("exact/linux"));
    match beside {
        Some(beside) if !here.is_file() && beside.is_file() => beside,
        _ => here,
    }
}

/// Returns the failure of a guest that ended without reporting the exit code of its command.
fn failure_of_end(ended: &ExactRun) -> Failure {
    let why = ended.why.clone().unwrap_or_else(|| match ended.ended {
        Some(status) => format!("its kernel ended with {status}"),
        None => "it did not end".to_owned(),
    });
    let message = ended.last_lines.trim_end();
    let message = if message.is_empty() { "nothing".to_owned() } else { format!("\n{message}") };
    Failure::run(format!("the guest failed: {why}; last output of its kernel: {message}"))
}

fn deliver(
    delivery: &ResultDelivery,
    system: &System,
    ended: ExactRun,
    faults: Vec<lanemark_schema::workload::Fault>,
    provenance: Provenance,
) -> Result<(), Failure> {
    if ended.sample.operations() == 0 {
        delivery.deliver_nothing();
        return Ok(());
    }
    let (id, name) = ("exact", "programs in virtual time");
    let mut result = serve::result(system, ended.test, ended.sample, faults, id, name);
    result.provenance = provenance;
    delivery.deliver(&mut result)
}

/// Runs as a guest's first process if `words` request it; in that case the program does nothing else.
pub(crate) fn as_first_process(words: &[OsString]) {
    // The kernel may append more arguments.
    if let [_, word, plan, ..] = words
        && word == init::WORD
    {
        init::run(Path::new(plan));
    }
}
