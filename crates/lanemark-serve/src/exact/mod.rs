//! The exact mode: programs in a kernel whose clock is the simulator's.
//!
//! User-mode Linux with `time-travel=ext` asks a calendar, which is here, when it may go on. Its disk is a virtio block
//! device over vhost-user, which is here too, in the same thread. So while the guest works, no time passes but what its
//! own timers take; while it waits, the simulator goes on to its next completion or to the time that the guest asked for,
//! whichever is first. Nothing depends on how fast the host is, or on what else it does.
//!
//! | file | what it does |
//! |---|---|
//! | [`calendar`] | messages of the calendar, as pure functions of bytes |
//! | `course` | calendar, device and simulator as one |
//! | [`boot`] | starts the guest's kernel, and ends it |
//! | [`init`] | the guest's first process |
//! | `processor` | both on one processor |
//!
//! Not modelled: the time of the guest's processor. A reading of its clock takes 256 ns, so that programs that wait for it
//! to move come to an end; that is the kernel's (`arch/um/kernel/time.c`), and its clock has steps of 256 ns.

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

use lanemark_core::result::Sample;
use lanemark_core::rng::StreamKey;
use lanemark_core::sim::Live;
use lanemark_core::sim::spec::CheckedSystem;
use lanemark_core::units::Bytes;
use lanemark_core::workload::{Fault, Test};

use crate::clock::ManualClock;
use crate::data::Data;
use crate::engine::Core;
use crate::job::Around;
use crate::storing::Storing;
use crate::vhost::device::Device;
use boot::{Boot, Guest};
use course::Course;
use processor::OneProcessor;

/// A run as it is asked for.
pub struct ExactPlan<'s> {
    /// The system with the faults of its plan. The host's processor is left out of it.
    pub system: &'s CheckedSystem,
    /// The faults among these whose times count from the start.
    pub faults: &'s [Fault],
    /// Its data.
    pub data: Data,
    /// The seed of all that happens by chance.
    pub seed: u64,
    /// The guest.
    pub boot: Boot,
    /// Whoever is told of a guest that has said nothing for 30 s, once each time.
    pub silent: &'s dyn Fn(Duration),
}

/// The outcome of a run.
#[derive(Debug)]
pub struct ExactRun {
    /// The drive's sample.
    pub sample: Sample,
    /// Requests, summed up as a test.
    pub test: Test,
    /// Lines of what power cuts took.
    pub lost: Vec<String>,
    /// The command's exit code; none where the guest did not come to its end.
    pub code: Option<i32>,
    /// How the guest's kernel ended, where it was not stopped.
    pub ended: Option<ExitStatus>,
    /// Last lines of the guest's kernel, where the command has no exit code.
    pub said: String,
    /// The reason why the guest could not go on, where there is one.
    pub why: Option<String>,
}

/// Runs a command in a guest until it ends, or `is_stopped`. What the command prints goes to this process's output.
///
/// # Errors
/// Where the guest cannot be started, or its data cannot be stored.
pub fn run(plan: ExactPlan<'_>, is_stopped: &dyn Fn() -> bool) -> io::Result<ExactRun> {
    let system = plan.system.device_side();
    let data = Arc::new(plan.data);
    let (clock, delivered) = (Arc::new(ManualClock::default()), Arc::default());
    let live = Live::new(&system, Bytes(data.size()).into(), StreamKey::from_seed(plan.seed));
    let held = Some(Box::new(Arc::clone(&data)) as Box<_>);
    let core = Core::new(live, plan.faults, held, Arc::clone(&delivered), clock.clone());
    let storing = Storing::at_once(Arc::clone(&data));
    let around = Around { data: Arc::clone(&data), storing, delivered, clock: clock.clone() };
    let folder = plan.boot.folder().to_owned();
    let listeners = (
        UnixListener::bind(folder.join(boot::CALENDAR))?,
        UnixListener::bind(folder.join(boot::DISK))?,
    );
    let mut course = Course::new(core, clock, Device::new(around, 1, true), listeners)?;
    // Until this ends, and for the guest too.
    let _one = OneProcessor::hold();
    let mut guest = Guest::start(plan.boot)?;
    let gone = course.run(&mut guest, is_stopped, plan.silent);
    let (ended, code, said) = guest.end(gone.is_ok() && !is_stopped())?;
    let core = course.into_core();
    let why = match code {
        Some(_) => None,
        None => gone.err().map(|error| error.to_string()),
    };
    let (sample, test) = (core.live().sample(), core.live().summary("exact"));
    let lost = core.lost().to_vec();
    data.close()?;
    Ok(ExactRun { sample, test, lost, code, ended, said, why })
}
