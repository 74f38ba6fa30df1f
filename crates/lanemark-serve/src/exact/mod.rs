//! The exact mode: programs in a guest kernel that runs on the simulator's clock.
//!
//! User-mode Linux with `time-travel=ext` must ask a calendar when it may continue; this module provides the calendar.
//! Its disk is a virtio block device over vhost-user, which this module serves in the same thread. While the guest
//! works, only its own timers advance the time. While it waits, the simulator advances to its next completion or to the
//! time that the guest requested, whichever comes first. The result depends neither on the host's speed nor on its
//! load.
//!
//! | file | purpose |
//! |---|---|
//! | [`calendar`] | messages of the calendar, as pure functions of bytes |
//! | `course` | runs calendar, device and simulator in one loop |
//! | [`boot`] | starts the guest's kernel, and ends it |
//! | [`init`] | the guest's first process |
//! | `processor` | pins guest and calendar to one processor |
//!
//! The time of the guest's processor is not modelled. Reading the guest's clock advances it by 256 ns, so that programs
//! that poll the clock until it advances terminate. The kernel defines this step (`arch/um/kernel/time.c`).

pub mod boot;
pub mod calendar;
mod course;
pub mod init;
mod processor;

use std::io;
use std::os::unix::net::UnixListener;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use lanemark_schema::result::Sample;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Fault, Test};
use lanemark_sim::LiveSystem;
use lanemark_sim::spec::CheckedSystem;

use crate::clock::ManualClock;
use crate::data::ExportData;
use crate::engine::SimulatedSystem;
use crate::job::RequestContext;
use crate::session::{StartContent, prior_content};
use crate::storing::StoringThread;
use crate::vhost::device::VhostDevice;
use boot::{Boot, Guest};
use course::GuestRun;
use processor::ProcessorPin;

/// The parameters of a run.
pub struct ExactPlan<'s> {
    /// The system with the faults of the plan. The host's processor is not modelled.
    pub system: &'s CheckedSystem,
    /// The faults in the plan whose times count from the start.
    pub faults: &'s [Fault],
    /// The system's data.
    pub data: ExportData,
    /// Seed of all random draws.
    pub seed: u64,
    /// The guest to start.
    pub boot: Boot,
    /// Called each time the guest has sent no message for 30 s.
    pub silent: &'s dyn Fn(Duration),
}

/// The outcome of a run.
#[derive(Debug)]
pub struct ExactRun {
    /// The drive's sample.
    pub sample: Sample,
    /// All requests, summarised as a test.
    pub test: Test,
    /// Lines about the data lost in power cuts.
    pub lost: Vec<String>,
    /// The command's exit code; `None` if the command did not end.
    pub code: Option<i32>,
    /// The exit status of the guest's kernel, unless it was stopped.
    pub ended: Option<ExitStatus>,
    /// Last lines that the guest's kernel printed, if the exit code of the command is not known.
    pub last_lines: String,
    /// The reason why the guest could not continue, if there is one.
    pub why: Option<String>,
}

/// Runs a command in a guest until the command ends or `is_stopped` returns true. This process prints the command's
/// output.
///
/// # Errors
/// Returns an error if the guest cannot be started or its data cannot be stored.
pub fn run(plan: ExactPlan<'_>, is_stopped: &dyn Fn() -> bool) -> io::Result<ExactRun> {
    let system = plan.system.device_side();
    let data = Arc::new(plan.data);
    let (clock, delivered) = (Arc::new(ManualClock::default()), Arc::default());
    let content = StartContent { written_bytes: Bytes(data.size()), is_just_written: true };
    let live = LiveSystem::new(&system, prior_content(content), StreamKey::from_seed(plan.seed));
    let held = Some(Box::new(Arc::clone(&data)) as Box<_>);
    let core = SimulatedSystem::new(live, plan.faults, held, Arc::clone(&delivered), clock.clone());
    let storing = StoringThread::at_once(Arc::clone(&data));
    let around =
        RequestContext { data: Arc::clone(&data), storing, delivered, clock: clock.clone() };
    let folder = plan.boot.folder().to_owned();
    let listeners = (
        UnixListener::bind(folder.join(boot::CALENDAR))?,
        UnixListener::bind(folder.join(boot::DISK))?,
    );
    let mut course = GuestRun::new(core, clock, VhostDevice::new(around, 1, true), listeners)?;
    // The thread stays pinned until this function ends, and so does the guest.
    let _one = ProcessorPin::hold();
    let mut guest = Guest::start(plan.boot)?;
    let gone = course.run(&mut guest, is_stopped, plan.silent);
    let (ended, code, last_lines) = guest.end(gone.is_ok() && !is_stopped())?;
    let core = course.into_core();
    let why = match code {
        Some(_) => None,
        None => gone.err().map(|error| error.to_string()),
    };
    let sample = core.sample();
    let test = core.live().summary("exact", &sample);
    let lost = core.lost().to_vec();
    data.close()?;
    Ok(ExactRun { sample, test, lost, code, ended, last_lines, why })
}
