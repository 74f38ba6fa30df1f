//! The engine: one simulated system tied to a clock, and the thread that owns it.
//!
//! Requests come through a queue with the instant at which they came. The engine submits them, goes on to the present of
//! its clock and never past it, and hands each completion out when its modelled instant has come. While requests are
//! under way, it waits for the next event exactly; while none is, for the drive's own work (garbage collection, power
//! states), it looks only every `IDLE_LOOK`, since nobody sees when that is simulated; and where nothing at all is to
//! happen it sleeps until somebody asks.
//!
//! A completion that comes late is not hidden: the simulator keeps the modelled instant, and the difference is the
//! lateness that the run is judged by.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use lanemark_core::sim::spec::SpecError;
use lanemark_core::sim::{Live, Status};
use lanemark_core::units::{Bytes, Duration, Instant};
use lanemark_core::workload::{Access, Fault, FaultKind, Operation};

use crate::clock::{Bell, Clock, without_timer_slack};
use crate::delivered::{Delivered, Due};

/// Interval at which the engine simulates an idle drive's own work, in wall-clock time.
const IDLE_LOOK: Duration = Duration::from_microseconds(50_000);
/// Completions handed out before the engine looks for requests that came meanwhile.
const BURST: usize = 64;

/// A request under way, in the hands of whoever asked for it.
pub trait Work: Send {
    /// Takes the outcome of the request. Called when its modelled instant has come.
    fn completed(self: Box<Self>, status: Status, due: &Due) -> Step;
}

/// The step after a completion.
pub enum Step {
    /// The answer is on its way.
    Answered,
    /// Another thread answers, and counts that.
    Later,
    /// The drive's cache is flushed before the answer: a write with forced unit access, on drives that know none.
    Flush(Box<dyn Work>),
}

/// Whatever holds the data of the system.
pub trait Held: Send {
    /// Loses what a power cut takes. Returns a line that tells of it.
    fn power_cut(&self) -> String;
}

/// A request on its way to the engine.
pub struct Request {
    /// Operation and range of the request.
    pub access: Access,
    /// The number of the thread that asks; requests of one take one queue of the drive.
    pub thread: u32,
    /// Instant at which the request came.
    pub came: Instant,
    /// Whoever takes the outcome.
    pub work: Box<dyn Work>,
}

/// A question or change for the engine's thread.
type Errand = Box<dyn FnOnce(&mut Core) + Send>;

/// The queue into the engine.
#[derive(Default)]
struct Queue {
    requests: Vec<Request>,
    errands: Vec<Errand>,
    ended: bool,
}

/// The way into the engine, shared by all that ask.
pub struct Engine {
    queue: Mutex<Queue>,
    bell: Bell,
    clock: Arc<dyn Clock>,
    has_failed: AtomicBool,
}

/// A request that the simulator works on.
struct Pending {
    came: Instant,
    access: Access,
    thread: u32,
    work: Box<dyn Work>,
}

/// The simulated system with its requests under way: the engine without its thread.
pub struct Core {
    live: Live,
    pending: Vec<Option<Pending>>,
    free: Vec<usize>,
    /// The power cuts to come, the last one first.
    cuts: Vec<Instant>,
    held: Option<Box<dyn Held>>,
    delivered: Arc<Delivered>,
    clock: Arc<dyn Clock>,
    /// Lines of what the power cuts took, in their order.
    lost: Vec<String>,
}

impl Core {
    /// A system of which nothing is asked yet, with the `faults` of its plan.
    pub fn new(
        live: Live,
        faults: &[Fault],
        held: Option<Box<dyn Held>>,
        delivered: Arc<Delivered>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (pending, free, lost) = (Vec::new(), Vec::new(), Vec::new());
        let mut core = Self { live, pending, free, cuts: Vec::new(), held, delivered, clock, lost };
        faults.iter().for_each(|fault| core.note_cut(fault));
        core
    }

    /// The simulated system.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Lines of what power cuts have taken so far.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Adds a fault; its time counts from now.
    ///
    /// # Errors
    /// Where the system cannot have it.
    pub fn add_fault(&mut self, mut fault: Fault) -> Result<(), Vec<SpecError>> {
        let now = self.clock.now().max(self.live.now());
        // Behind what was handed out already.
        fault.at = now + Duration::from_picoseconds(1) + fault.at.since(Instant::ZERO);
        self.live.add_fault(fault.clone())?;
        self.note_cut(&fault);
        Ok(())
    }

    fn note_cut(&mut self, fault: &Fault) {
        if let FaultKind::PowerCut { .. } = fault.kind {
            self.cuts.push(fault.at);
            self.cuts.sort_unstable_by(|one, other| other.cmp(one));
        }
    }

    /// Submits a request.
    pub fn submit(&mut self, request: Request) {
        let Request { access, thread, came, work } = request;
        self.put(came, came, access, thread, work);
    }

    fn put(
        &mut self,
        at: Instant,
        came: Instant,
        access: Access,
        thread: u32,
        work: Box<dyn Work>,
    ) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.pending.push(None);
            self.pending.len() - 1
        });
        let submitted = self.live.submit(at, access, thread, place as u64);
        if submitted.is_ok() {
            self.pending[place] = Some(Pending { came, access, thread, work });
            return;
        }
        // Ranges are checked where requests come in; one that slipped by fails.
        self.free.push(place);
        let status = Status::Failed(lanemark_core::result::ErrorKind::Other);
        let _ = work.completed(status, &Due { access, came, at });
    }

    /// Goes on to the present, and hands out what is complete. False where there may be more.
    pub fn turn(&mut self) -> bool {
        for _ in 0..BURST {
            let now = self.clock.now();
            let cut = self.cuts.last().copied().filter(|cut| *cut <= now);
            // What completes at the instant of a cut may be before it or after it: it is after.
            let limit = match cut {
                Some(cut) => Instant::from_picoseconds(cut.picoseconds().saturating_sub(1)),
                None => now,
            };
            if let Some(done) = self.live.advance_until(limit) {
                self.hand_out(done.tag as usize, done.status, done.completed);
                continue;
            }
            if cut.is_none() {
                return true;
            }
            self.cuts.pop();
            if let Some(held) = &self.held {
                self.lost.push(held.power_cut());
            }
        }
        false
    }

    fn hand_out(&mut self, place: usize, status: Status, at: Instant) {
        let Some(pending) = self.pending.get_mut(place).and_then(Option::take) else { return };
        self.free.push(place);
        let Pending { came, access, thread, work } = pending;
        let due = Due { access, came, at };
        match work.completed(status, &due) {
            Step::Answered => self.delivered.count(&due, &*self.clock),
            Step::Later => {}
            Step::Flush(work) => {
                let (operation, nowhere) = (Operation::Flush, Bytes::ZERO);
                let flush = Access { operation, offset: nowhere, length: nowhere };
                self.put(at, came, flush, thread, work);
            }
        }
    }

    /// Returns the instant of the next step, and whether it must be exact.
    fn next(&self) -> (Option<Instant>, bool) {
        let busy = self.live.outstanding() > 0;
        let event = self.live.next_at();
        let event = match busy {
            true => event,
            false => event.map(|at| at.max(self.idle_look())),
        };
        let cut = self.cuts.last().copied();
        (event.into_iter().chain(cut).min(), busy)
    }

    /// The instant of the next step, where anything is to happen.
    #[cfg(feature = "exact")]
    pub(crate) fn next_event(&self) -> Option<Instant> {
        self.next().0
    }

    /// The instant of the next look at a drive of which nothing is asked.
    fn idle_look(&self) -> Instant {
        // A simulated second takes so many real ones, and the wait is of real time.
        let second = Duration::from_seconds(1);
        let real = self.clock.real(second).picoseconds().max(1);
        self.clock.now() + IDLE_LOOK.scaled(second.picoseconds(), real)
    }
}

impl Engine {
    /// Starts the thread that owns `core`, and gives it back when it ends; not where it has failed.
    ///
    /// # Errors
    /// Where there can be no thread.
    pub fn start(mut core: Core) -> std::io::Result<(Arc<Self>, JoinHandle<Option<Core>>)> {
        let (queue, bell, clock) = (Mutex::default(), Bell::default(), Arc::clone(&core.clock));
        let engine = Arc::new(Self { queue, bell, clock, has_failed: AtomicBool::new(false) });
        let own = Arc::clone(&engine);
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            own.bell.wait_here();
            without_timer_slack();
            if catch_unwind(AssertUnwindSafe(|| own.run(&mut core))).is_ok() {
                return Some(core);
            }
            own.refuse(mem::take(&mut core.pending));
            None
        })?;
        Ok((engine, thread))
    }

    /// The clock of the system.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether the engine's thread has failed. It answers every request with an error from then on, so that nobody waits
    /// for ever and whatever uses the system can let go of it.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    /// Hands a request to the system.
    pub fn submit(&self, request: Request) {
        let first = {
            let mut queue = self.queue();
            queue.requests.push(request);
            queue.requests.len() == 1
        };
        if first {
            self.bell.ring();
        }
    }

    /// Lets the engine's thread do `errand` and returns its answer; none where the engine has ended or failed.
    pub fn ask<A: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut Core) -> A + Send + 'static,
    ) -> Option<A> {
        let (answer, asked) = std::sync::mpsc::sync_channel(1);
        {
            let mut queue = self.queue();
            if queue.ended || self.has_failed() {
                return None;
            }
            queue.errands.push(Box::new(move |core| {
                let _ = answer.send(errand(core));
            }));
        }
        self.bell.ring();
        asked.recv().ok()
    }

    /// Ends the thread. What is under way is not answered.
    pub fn end(&self) {
        self.queue().ended = true;
        self.bell.ring();
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers with an error what is under way and what still comes, until the engine is ended.
    fn refuse(&self, pending: Vec<Option<Pending>>) {
        self.has_failed.store(true, Ordering::SeqCst);
        let refuse = |access, came, work: Box<dyn Work>| {
            let due = Due { access, came, at: self.clock.now() };
            let status = Status::Failed(lanemark_core::result::ErrorKind::Other);
            let mut next = Some(work);
            while let Some(work) = next.take() {
                if let Step::Flush(work) = work.completed(status, &due) {
                    next = Some(work);
                }
            }
        };
        pending.into_iter().flatten().for_each(|one| refuse(one.access, one.came, one.work));
        loop {
            let (requests, ended) = {
                let mut queue = self.queue();
                queue.errands.clear();
                (mem::take(&mut queue.requests), queue.ended)
            };
            requests.into_iter().for_each(|one| refuse(one.access, one.came, one.work));
            if ended {
                return;
            }
            if !self.bell.was_rung() {
                self.clock.wait(None, false, &self.bell);
            }
        }
    }

    fn run(&self, core: &mut Core) {
        let mut came = Vec::new();
        loop {
            if self.bell.was_rung() {
                let errands = {
                    let mut queue = self.queue();
                    mem::swap(&mut came, &mut queue.requests);
                    if queue.ended {
                        return;
                    }
                    mem::take(&mut queue.errands)
                };
                came.drain(..).for_each(|request| core.submit(request));
                errands.into_iter().for_each(|errand| errand(core));
            }
            if core.turn() {
                let (until, exact) = core.next();
                self.clock.wait(until, exact, &self.bell);
            }
        }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
