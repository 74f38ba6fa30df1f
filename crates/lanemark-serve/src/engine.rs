//! The engine: one simulated system tied to a clock, and the thread that owns it.
//!
//! Requests come through a queue, with their arrival times. The engine submits them, advances to the current time of
//! its clock but never past it, and delivers each completion at its modelled instant. While requests are outstanding,
//! the engine waits until the exact time of the next event. While only the drive's own work is pending (garbage
//! collection, power states), it wakes every `IDLE_LOOK`, because clients cannot observe when that work is simulated.
//! If no event is pending, it sleeps until a request arrives.
//!
//! A late completion is recorded. The simulator keeps the modelled latency; the time from the arrival of the request to
//! its answer exceeds this latency by the lateness. A request that reaches the engine after the simulator has passed
//! its arrival is submitted late, and that delay counts as lateness too.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use lanemark_schema::result::Sample;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Fault, FaultKind, Operation};
use lanemark_sim::Submission;
use lanemark_sim::spec::SpecError;
use lanemark_sim::{Completion, FaultClearError, FaultState, LiveSystem, RequestStatus};

use crate::clock::{Clock, WakeUp, without_timer_slack};
use crate::delivered::{DeliveryCounts, DueCompletion};

/// Wall-clock interval between two simulations of an idle drive's own work.
const IDLE_LOOK: Duration = Duration::from_microseconds(50_000);
/// Maximum wall-clock time without an outstanding request that still counts as active: if another program delays a
/// client, the next request may arrive this late.
const PAUSE: Duration = Duration::from_microseconds(20_000);
/// Number of completions that are delivered before the engine checks for new requests.
const BURST: usize = 64;

/// An outstanding request, owned by the code that submitted it.
pub trait RequestOwner: Send {
    /// Receives the outcome of the request when the modelled instant of its completion is reached.
    fn completed(self: Box<Self>, status: RequestStatus, due: &DueCompletion) -> CompletionStep;
}

/// The step after a completion.
pub enum CompletionStep {
    /// The reply was sent at this instant; `None` means now. Now may be later, because a client that the reply wakes
    /// may take the processor.
    Answered(Option<Instant>),
    /// Another thread replies, and counts the reply.
    Later,
    /// The reply was an error of this machine, which is already counted.
    Failed,
    /// The drive's cache is flushed before the reply. This emulates a write with forced unit access on drives that do
    /// not support it.
    Flush(Box<dyn RequestOwner>),
}

/// The owner of the system's data.
pub trait DataOwner: Send {
    /// Applies a power cut to the data. Returns a line that describes the lost data.
    fn power_cut(&self) -> String;
}

/// A request on its way to the engine.
pub struct EngineRequest {
    /// Operation and range of the request.
    pub access: Access,
    /// Number of the submitting thread; all requests of a thread use the same queue of the drive.
    pub thread: u32,
    /// Arrival of the request.
    pub came: Instant,
    /// The code that receives the outcome.
    pub work: Box<dyn RequestOwner>,
}

/// A query or change that runs in the engine's thread.
type EngineTask = Box<dyn FnOnce(&mut SimulatedSystem) + Send>;

#[derive(Default)]
struct EngineQueue {
    requests: Vec<EngineRequest>,
    errands: Vec<EngineTask>,
    ended: bool,
}

/// The handle of the engine, shared by all threads that use it.
pub struct Engine {
    queue: Mutex<EngineQueue>,
    bell: WakeUp,
    clock: Arc<dyn Clock>,
    has_failed: AtomicBool,
}

/// A request that the simulator is processing.
struct SimulatedRequest {
    came: Instant,
    access: Access,
    thread: u32,
    /// Modelled latency of earlier steps of the request: the write before its flush.
    before: Duration,
    work: Box<dyn RequestOwner>,
}

/// The simulated system with its outstanding requests: the engine without its thread.
pub struct SimulatedSystem {
    live: LiveSystem,
    pending: Vec<Option<SimulatedRequest>>,
    free: Vec<usize>,
    /// The future power cuts, the latest first.
    cuts: Vec<Instant>,
    held: Option<Box<dyn DataOwner>>,
    delivered: Arc<DeliveryCounts>,
    clock: Arc<dyn Clock>,
    /// Lines about the data lost in power cuts, in order.
    lost: Vec<String>,
    /// Instant of the last completion.
    completed: Instant,
    /// Simulated time during which all clients paused.
    paused: Duration,
}

impl SimulatedSystem {
    /// Creates an idle system with the `faults` of the plan.
    pub fn new(
        live: LiveSystem,
        faults: &[Fault],
        held: Option<Box<dyn DataOwner>>,
        delivered: Arc<DeliveryCounts>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let pending = Vec::new();
        let free = Vec::new();
        let lost = Vec::new();
        let completed = Instant::ZERO;
        let paused = Duration::ZERO;
        let cuts = Vec::new();
        let mut core =
            Self { live, pending, free, cuts, held, delivered, clock, lost, completed, paused };
        faults.iter().for_each(|fault| core.note_cut(fault));
        core
    }

    pub fn live(&self) -> &LiveSystem {
        &self.live
    }

    /// Returns the sample of all answered requests.
    pub fn sample(&self) -> Sample {
        let mut sample = self.live.sample();
        self.delivered.counts().failed.remove_from(&mut sample);
        sample
    }

    /// Returns lines about the data lost in power cuts so far.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Returns the simulated time until the last completion, without the times during which all clients paused.
    pub fn active(&self) -> Duration {
        self.completed.since(Instant::ZERO).saturating_sub(self.paused)
    }

    /// Adds a fault, whose times are measured from now, and returns its number.
    ///
    /// # Errors
    /// Returns errors if the system does not support the fault.
    pub fn add_fault(&mut self, mut fault: Fault) -> Result<u16, Vec<SpecError>> {
        fault.at = self.next_instant() + fault.at.since(Instant::ZERO);
        let number = self.live.add_fault(fault.clone())?;
        self.note_cut(&fault);
        Ok(number)
    }

    /// Returns the instant when a change takes effect, which is after every completion that was already delivered.
    fn next_instant(&self) -> Instant {
        self.clock.now().max(self.live.now()) + Duration::from_picoseconds(1)
    }

    /// Returns all faults with their current states.
    pub fn faults(&self) -> Vec<FaultState> {
        self.live.faults(self.clock.now().max(self.live.now()))
    }

    /// Ends a fault now, or removes it if it has not begun.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub fn clear_fault(&mut self, number: u16) -> Result<(), FaultClearError> {
        let at = self.next_instant();
        let cleared = self.live.faults(at).into_iter().nth(number.into());
        self.live.clear_fault(number, at)?;
        if let Some(FaultState { fault, .. }) = cleared
            && let FaultKind::PowerCut { .. } = fault.kind
            && let Some(index) = self.cuts.iter().position(|cut| *cut == fault.at)
        {
            self.cuts.remove(index);
        }
        Ok(())
    }

    /// Replaces a fault with `fault`, whose times are measured from now, and returns the number of the new fault.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the old fault cannot be cleared or the system does not support the new
    /// fault.
    pub fn change_fault(&mut self, number: u16, fault: Fault) -> Result<u16, String> {
        let check = self.live.check_clear(number, self.next_instant());
        check.map_err(|error| error.to_string())?;
        let new = self.add_fault(fault).map_err(|errors| lines_of(&errors))?;
        self.clear_fault(number).map_err(|error| error.to_string())?;
        Ok(new)
    }

    fn note_cut(&mut self, fault: &Fault) {
        if let FaultKind::PowerCut { .. } = fault.kind {
            self.cuts.push(fault.at);
            self.cuts.sort_unstable_by(|one, other| other.cmp(one));
        }
    }

    pub fn submit(&mut self, request: EngineRequest) {
        let EngineRequest { access, thread, came, work } = request;
        if self.live.outstanding() == 0 {
            let pause = came.since_or_zero(self.completed);
            let real = self.clock.real(pause);
            let beyond = real.saturating_sub(PAUSE).picoseconds();
            self.paused += pause.scaled(beyond, real.picoseconds().max(1));
        }
        let before = Duration::ZERO;
        self.put(came, access, SimulatedRequest { came, access, thread, before, work });
    }

    /// Submits the `access` of a request at the instant `at`.
    fn put(&mut self, at: Instant, access: Access, pending: SimulatedRequest) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.pending.push(None);
            self.pending.len() - 1
        });
        let submission = Submission::new(at, access).by(pending.thread).tagged(slot as u64);
        if self.live.submit(submission).is_ok() {
            self.pending[slot] = Some(pending);
            return;
        }
        // Ranges are checked on arrival; an invalid range that was missed there fails here.
        self.free.push(slot);
        let status = RequestStatus::Failed(lanemark_schema::result::ErrorKind::Other);
        let SimulatedRequest { came, before: modelled, work, .. } = pending;
        let before_flush = Duration::ZERO;
        let due = DueCompletion { access, came, at, modelled, before_flush, damage: None };
        let _ = work.completed(status, &due);
    }

    /// Advances to the current time, and delivers completed requests. Returns false if more requests may be complete.
    pub fn advance_to_now(&mut self) -> bool {
        for _ in 0..BURST {
            let now = self.clock.now();
            let cut = self.cuts.last().copied().filter(|cut| *cut <= now);
            // A completion at the instant of a power cut may happen before or after the cut; it counts as after the
            // cut.
            let limit = match cut {
                Some(cut) => Instant::from_picoseconds(cut.picoseconds().saturating_sub(1)),
                None => now,
            };
            if let Some(done) = self.live.advance_until(limit) {
                self.hand_out(&done);
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

    fn hand_out(&mut self, done: &Completion) {
        let slot = done.tag as usize;
        let at = done.completed;
        let Some(pending) = self.pending.get_mut(slot).and_then(Option::take) else { return };
        self.free.push(slot);
        self.completed = at;
        let SimulatedRequest { came, access, thread, before, work } = pending;
        let modelled = before + at.since(done.submitted);
        let damage = self.live.damage();
        let due = DueCompletion { access, came, at, modelled, before_flush: before, damage };
        match work.completed(done.status, &due) {
            CompletionStep::Answered(sent) => self.delivered.count(&due, sent, &*self.clock),
            CompletionStep::Later | CompletionStep::Failed => {}
            CompletionStep::Flush(work) => {
                let nowhere = Bytes::ZERO;
                let flush =
                    Access { operation: Operation::Flush, offset: nowhere, length: nowhere };
                self.put(
                    at,
                    flush,
                    SimulatedRequest { came, access, thread, before: modelled, work },
                );
            }
        }
    }

    /// Returns the instant of the next step, and whether it must be exact.
    fn next(&self) -> (Option<Instant>, bool) {
        let busy = self.live.outstanding() > 0;
        let event = self.live.next_at();
        let event = if busy { event } else { event.map(|at| at.max(self.idle_look())) };
        let cut = self.cuts.last().copied();
        (event.into_iter().chain(cut).min(), busy)
    }

    /// Returns the instant when the engine next advances an idle drive.
    fn idle_look(&self) -> Instant {
        // The interval is in real time, and a simulated second takes a fixed number of real seconds.
        let second = Duration::from_seconds(1);
        let real = self.clock.real(second).picoseconds().max(1);
        self.clock.now() + IDLE_LOOK.scaled(second.picoseconds(), real)
    }
}

/// Joins all errors into one line.
pub(crate) fn lines_of(errors: &[SpecError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Engine {
    /// Starts the thread that owns `core`. The thread returns `core` when it ends, unless it has failed.
    ///
    /// # Errors
    /// Returns the kernel's error if no thread can be started.
    pub fn start(
        mut core: SimulatedSystem,
    ) -> std::io::Result<(Arc<Self>, JoinHandle<Option<SimulatedSystem>>)> {
        let engine = Arc::new(Self {
            queue: Mutex::default(),
            bell: WakeUp::default(),
            clock: Arc::clone(&core.clock),
            has_failed: AtomicBool::new(false),
        });
        let shared = Arc::clone(&engine);
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            shared.bell.wait_here();
            without_timer_slack();
            if catch_unwind(AssertUnwindSafe(|| shared.run(&mut core))).is_ok() {
                return Some(core);
            }
            shared.refuse(mem::take(&mut core.pending));
            None
        })?;
        Ok((engine, thread))
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns whether the engine's thread has failed. A failed engine answers every request with an error, so that no
    /// client waits forever and all users of the system can release it.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    pub fn submit(&self, request: EngineRequest) {
        let first = {
            let mut queue = self.queue();
            queue.requests.push(request);
            queue.requests.len() == 1
        };
        if first {
            self.bell.ring();
        }
    }

    /// Runs `errand` in the engine's thread, and returns the result; `None` if the engine has ended or failed.
    pub fn ask<A: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut SimulatedSystem) -> A + Send + 'static,
    ) -> Option<A> {
        let (answer, receiver) = std::sync::mpsc::sync_channel(1);
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
        receiver.recv().ok()
    }

    /// Ends the thread. Outstanding requests are not answered.
    pub fn end(&self) {
        self.queue().ended = true;
        self.bell.ring();
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, EngineQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers outstanding and new requests with an error, until the engine is ended.
    fn refuse(&self, pending: Vec<Option<SimulatedRequest>>) {
        self.has_failed.store(true, Ordering::SeqCst);
        let refuse = |access, came, work: Box<dyn RequestOwner>| {
            let at = self.clock.now();
            let modelled = Duration::ZERO;
            let before_flush = Duration::ZERO;
            let due = DueCompletion { access, came, at, modelled, before_flush, damage: None };
            let status = RequestStatus::Failed(lanemark_schema::result::ErrorKind::Other);
            let mut next = Some(work);
            while let Some(work) = next.take() {
                if let CompletionStep::Flush(work) = work.completed(status, &due) {
                    next = Some(work);
                }
            }
        };
        pending
            .into_iter()
            .flatten()
            .for_each(|request| refuse(request.access, request.came, request.work));
        loop {
            let (requests, ended) = {
                let mut queue = self.queue();
                queue.errands.clear();
                (mem::take(&mut queue.requests), queue.ended)
            };
            requests
                .into_iter()
                .for_each(|request| refuse(request.access, request.came, request.work));
            if ended {
                return;
            }
            if !self.bell.was_rung() {
                self.clock.wait(None, false, &self.bell);
            }
        }
    }

    fn run(&self, core: &mut SimulatedSystem) {
        let mut arrivals = Vec::new();
        let mut turned = self.clock.now();
        loop {
            if self.bell.was_rung() {
                let errands = {
                    let mut queue = self.queue();
                    mem::swap(&mut arrivals, &mut queue.requests);
                    if queue.ended {
                        return;
                    }
                    mem::take(&mut queue.errands)
                };
                arrivals.drain(..).for_each(|request| core.submit(request));
                errands.into_iter().for_each(|errand| errand(core));
            }
            if core.advance_to_now() {
                let (until, exact) = core.next();
                let began = self.clock.now();
                self.clock.wait(until, exact, &self.bell);
                let ended = self.clock.now();
                if exact {
                    let used = &core.delivered.engine;
                    used.add_work(self.clock.real(began.since(turned)));
                    used.add_wait(self.clock.real(ended.since(began)));
                }
                turned = ended;
            }
        }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
