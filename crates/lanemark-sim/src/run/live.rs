//! A system that serves other programs: it accepts requests, returns completions, and reports the results so far.
//!
//! This layer above [`Storage`] is for a server that ties simulated time to a clock. The live system counts requests
//! like a replay, and can report its results at any time. Faults can be added while it runs. Its memory use does not
//! grow with the number of requests.
//!
//! Not modelled: the host's processor if the system is a [device side](CheckedSystem::device_side); a real processor
//! does the host's work.

use super::energy::energy;
use crate::engine::budget::BudgetSum;
use crate::fault::{
    FaultClearError, FaultNumber, FaultPhase, FaultState, RequestStatus, SilentDamage,
    standing_retries,
};
use crate::run::path_use::path_use;
use crate::simulator::{Completion, SimError};
use crate::spec::submission::Submission;
use crate::spec::{CheckedSystem, PriorContent, SpecError};
use crate::storage::Storage;
use lanemark_schema::result::{DirectionResult, RequestErrors, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::bound::QUEUE_DEPTH;
use lanemark_schema::workload::{Fault, LoadKind, Operation, SECTOR, Test, TraceSummary};

/// A running system that counts its requests.
///
/// ```
/// use lanemark_schema::rng::StreamKey;
/// use lanemark_sim::{LiveSystem, Submission, SystemSpec};
/// use lanemark_schema::units::{Bytes, Instant};
/// use lanemark_schema::workload::{Access, Operation};
///
/// let system = SystemSpec::example().checked()?;
/// let mut live = LiveSystem::new(&system, Bytes::mebi(1).into(), StreamKey::from_seed(1));
/// let read = Access { operation: Operation::Read, offset: Bytes::ZERO, length: Bytes::kibi(4) };
/// live.submit(Submission::new(Instant::ZERO, read).tagged(7))?;
/// let done = live.advance_until(Instant::END).expect("it is under way");
/// assert_eq!((done.tag, live.sample().operations()), (7, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LiveSystem {
    storage: Storage,
    /// The system, with the faults that were not over when the last fault was added.
    system: CheckedSystem,
    reads: DirectionResult,
    writes: DirectionResult,
    flushes: DirectionResult,
    trims: DirectionResult,
    budget: BudgetSum,
    errors: RequestErrors,
    outstanding: u64,
    outstanding_max: u64,
    /// The highest end offset of an access.
    end: Bytes,
    completed: Instant,
    /// Start of the current period with outstanding requests; without requests, the value is meaningless.
    busy_since: Instant,
    /// Total length of the earlier periods with outstanding requests.
    busy: Duration,
}

impl LiveSystem {
    /// Creates an idle system with `content` and the faults of its plan. `key` determines random events.
    pub fn new(system: &CheckedSystem, content: PriorContent, key: StreamKey) -> Self {
        Self {
            storage: Storage::new(system, content, key),
            system: system.clone(),
            reads: DirectionResult::new(),
            writes: DirectionResult::new(),
            flushes: DirectionResult::new(),
            trims: DirectionResult::new(),
            budget: BudgetSum::default(),
            errors: RequestErrors::default(),
            outstanding: 0,
            outstanding_max: 0,
            end: Bytes::ZERO,
            completed: Instant::ZERO,
            busy_since: Instant::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Instant {
        self.storage.now()
    }

    /// Returns the instant of the next event, if any work is in progress.
    pub fn next_at(&self) -> Option<Instant> {
        self.storage.simulator().next_at()
    }

    /// Returns the number of requests that have not completed.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Returns the simulated time during which requests were outstanding, up to the last completion.
    pub fn busy(&self) -> Duration {
        match self.outstanding {
            0 => self.busy,
            _ => self.busy + self.completed.since(self.busy_since.min(self.completed)),
        }
    }

    /// Submits a request at its time, or now if that is in the past.
    ///
    /// # Errors
    /// Returns the errors of [`Simulator::submit`](crate::Simulator::submit).
    pub fn submit(&mut self, submission: Submission) -> Result<(), SimError> {
        let at = submission.at.max(self.now());
        let access = submission.access;
        self.storage.submit(Submission { at, ..submission })?;
        self.busy_since = if self.outstanding == 0 { at } else { self.busy_since.min(at) };
        self.outstanding += 1;
        self.outstanding_max = self.outstanding_max.max(self.outstanding);
        self.end = self.end.max(access.offset + access.length);
        Ok(())
    }

    /// Advances to the next completion no later than `limit`, and counts it; returns `None` if there is no such
    /// completion.
    pub fn advance_until(&mut self, limit: Instant) -> Option<Completion> {
        let completion = self.storage.advance_until(limit)?;
        self.outstanding -= 1;
        self.completed = completion.completed;
        if self.outstanding == 0 {
            self.busy += self.completed.since(self.busy_since);
        }
        let Completion { access, submitted, completed, status, ref budget, .. } = completion;
        let latency = completed.since(submitted);
        match (status, access.operation) {
            (RequestStatus::Failed(kind), _) => self.errors.record(kind),
            (RequestStatus::Good, Operation::Flush) => self.flushes.record(Bytes::ZERO, latency),
            (RequestStatus::Good, Operation::Trim) => self.trims.record(access.length, latency),
            (RequestStatus::Good, Operation::Read) => self.reads.record(access.length, latency),
            (RequestStatus::Good, Operation::Write) => self.writes.record(access.length, latency),
        }
        if status == RequestStatus::Good && access.operation.moves_data() {
            self.budget.add(budget, latency);
        }
        Some(completion)
    }

    /// Returns the damage of the request that completed last, if a silent fault made its data wrong.
    pub fn damage(&self) -> Option<SilentDamage> {
        self.storage.simulator().damage()
    }

    /// Adds a fault that begins at its time, or now if that is in the past. Returns the fault's number. Faults that are
    /// over do not count towards the maximum number of faults, but they keep their numbers.
    ///
    /// # Errors
    /// Returns the errors, each with the accepted values, if the system does not support the fault.
    pub fn add_fault(&mut self, mut fault: Fault) -> Result<u16, Vec<SpecError>> {
        // A fault at time zero would be a property of the drive, which is read only when a run begins.
        fault.at = fault.at.max(self.now()).max(Instant::from_picoseconds(1));
        let states = self.faults(self.now());
        if states.len() > usize::from(FaultNumber::MAX) {
            let bound = format!("at most {} in the life of a system", states.len());
            let value = (states.len() + 1).to_string();
            return Err(vec![SpecError { field: "number of faults", value, bound }]);
        }
        let standing = self.system.faults.iter().filter(|fault| standing_retries(fault).is_some());
        let lasting = states.iter().filter(|state| state.phase != FaultPhase::Over);
        let mut faults: Vec<Fault> =
            standing.chain(lasting.map(|state| &state.fault)).cloned().collect();
        faults.push(fault.clone());
        self.system = self.system.with_only_faults(faults)?;
        Ok(self.storage.add_fault(&self.system, fault))
    }

    /// Returns all faults, in the order of their numbers, with their states at `now`. Read retries from the start of
    /// the run are a property of the drive and not a fault.
    pub fn faults(&self, now: Instant) -> Vec<FaultState> {
        self.storage.simulator().faults(now)
    }

    /// Ends a fault at `at`, or now if that is in the past; removes the fault if it begins later.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub fn clear_fault(&mut self, number: FaultNumber, at: Instant) -> Result<(), FaultClearError> {
        self.storage.clear_fault(number, at.max(self.now()))
    }

    /// Returns whether a fault can be cleared at `at`.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub fn check_clear(&self, number: FaultNumber, at: Instant) -> Result<(), FaultClearError> {
        self.storage.simulator().check_clear(number, at)
    }

    /// Returns the sample of all requests that have completed so far.
    pub fn sample(&self) -> Sample {
        let elapsed = self.completed.since(Instant::ZERO);
        let operations = self.reads.latency.count() + self.writes.latency.count();
        let bytes = self.reads.bytes + self.writes.bytes;
        let simulator = self.storage.simulator();
        let busy = simulator.busy();
        let path =
            path_use(&self.system, simulator, &busy, &self.budget, operations, bytes, elapsed);
        let if_counted = |direction: &DirectionResult| {
            (direction.latency.count() > 0).then(|| direction.clone())
        };
        let now = self.now();
        let readings = simulator.power(self.now());
        Sample {
            elapsed,
            reads: if_counted(&self.reads),
            writes: if_counted(&self.writes),
            unified: None,
            flushes: if_counted(&self.flushes),
            trims: if_counted(&self.trims),
            errors: self.errors.clone(),
            faults: simulator.fault_uses(),
            cpu: None,
            evidence: None,
            in_flight: None,
            punctuality: None,
            path: Some(path),
            drive: Some(simulator.drive_use()),
            energy: readings.and_then(|readings| {
                energy(&self.system, readings.into_iter(), now.since(Instant::ZERO))
            }),
            replay: None,
            series: None,
            steady: None,
            transactions: None,
            converged: None,
            similar: None,
            phases: Vec::new(),
            credits: simulator.credits(),
            live: None,
            complete: true,
        }
    }

    /// Returns a summary of the requests in `sample`, as a test named `name`.
    pub fn summary(&self, name: &str, sample: &Sample) -> Test {
        let count = |direction: &Option<DirectionResult>| {
            direction.as_ref().map_or((0, Bytes::ZERO), |it| (it.latency.count(), it.bytes))
        };
        let (reads, bytes_read) = count(&sample.reads);
        let (writes, bytes_written) = count(&sample.writes);
        let operations = (reads + writes).max(1);
        let bytes = bytes_read + bytes_written;
        let read_share = Ratio::new(reads as f64 / operations as f64).unwrap_or_default();
        let queue_depth =
            self.outstanding_max.clamp(QUEUE_DEPTH.min.into(), QUEUE_DEPTH.max.into()) as u32;
        Test {
            name: name.to_owned(),
            span: self.end,
            volume: Some(bytes),
            asks: LoadKind::Trace(TraceSummary { read_share, queue_depth, alignment: SECTOR }),
            ..Test::of_blocks(Bytes((bytes.get() / operations).max(1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SystemSpec;
    use lanemark_schema::result::ErrorKind;
    use lanemark_schema::workload::fault::FAULTS_MAX;
    use lanemark_schema::workload::{Access, FaultKind};

    fn live() -> LiveSystem {
        let system = SystemSpec::example().checked().unwrap();
        LiveSystem::new(&system, Bytes::mebi(64).into(), StreamKey::from_seed(1))
    }

    fn access(operation: Operation, page: u64) -> Access {
        Access { operation, offset: Bytes::kibi(4) * page, length: Bytes::kibi(4) }
    }

    fn after(us: u64) -> Instant {
        Instant::ZERO + Duration::from_microseconds(us)
    }

    #[test]
    fn a_completion_comes_at_its_instant_and_not_before() {
        let mut live = live();
        live.submit(Submission::new(after(10), access(Operation::Read, 3)).tagged(1)).unwrap();
        assert_eq!(live.advance_until(after(10)), None);
        let done = live.advance_until(Instant::END).unwrap();
        assert_eq!(done.submitted, after(10));
        let before = Instant::from_picoseconds(done.completed.picoseconds() - 1);
        let mut again = self::live();
        again.submit(Submission::new(after(10), access(Operation::Read, 3)).tagged(1)).unwrap();
        assert_eq!(again.advance_until(before), None);
        assert_eq!(again.advance_until(done.completed), Some(done));
    }

    #[test]
    fn a_summary_has_the_mean_length_and_the_share_of_reads() {
        let mut live = live();
        // This is the shortest length that a test may have.
        assert_eq!(live.summary("idle", &live.sample()).block, Bytes(1));
        for (us, operation, length) in [
            (10, Operation::Read, 4),
            (2_000, Operation::Read, 12),
            (4_000, Operation::Write, 8),
            (6_000, Operation::Read, 24),
        ] {
            let one = Access { length: Bytes::kibi(length), ..access(operation, us) };
            live.submit(Submission::new(after(us), one).tagged(us)).unwrap();
        }
        while live.advance_until(Instant::END).is_some() {}
        let test = live.summary("four requests", &live.sample());
        assert_eq!((test.block, test.volume), (Bytes::kibi(12), Some(Bytes::kibi(48))));
        assert_eq!(test.read_share().unwrap().get(), 0.75);
    }

    #[test]
    fn the_time_with_requests_counts_overlapping_requests_once() {
        let mut live = live();
        assert_eq!(live.busy(), Duration::ZERO);
        // Two reads overlap, and a third read follows long after both.
        for (us, page) in [(10, 1), (11, 9), (50_000, 5)] {
            let read = Submission::new(after(us), access(Operation::Read, page)).tagged(page);
            if us == 50_000 {
                while live.advance_until(after(us)).is_some() {}
                let overlapping = live.completed.since(after(10));
                assert_eq!(live.busy(), overlapping);
            }
            live.submit(read).unwrap();
        }
        let before = live.busy();
        let last = live.advance_until(Instant::END).unwrap();
        assert_eq!(live.busy(), before + last.completed.since(after(50_000)));
    }

    /// Submits a write now, and returns its status.
    fn written(live: &mut LiveSystem) -> RequestStatus {
        let later = live.now() + Duration::from_microseconds(1);
        live.submit(Submission::new(later, access(Operation::Write, 1)).tagged(2)).unwrap();
        live.advance_until(Instant::END).unwrap().status
    }

    #[test]
    fn a_fault_that_is_cleared_ends_and_a_later_one_never_begins() {
        let refused = RequestStatus::Failed(ErrorKind::ReadOnly);
        let mut live = live();
        assert!(live.faults(live.now()).is_empty());
        let texts = ["read-only at=1us", "read-only at=900ms", "power-cut at=950ms boot=1ms"];
        let numbers = texts.map(|text| live.add_fault(text.parse().unwrap()).unwrap());
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(live.advance_until(after(5)), None);
        assert_eq!(written(&mut live), refused);
        let phases = |live: &LiveSystem, now| {
            live.faults(now).iter().map(|fault| fault.phase).collect::<Vec<_>>()
        };
        use FaultPhase::{Active, Over, Pending};
        assert_eq!(phases(&live, live.now()), [Active, Pending, Pending]);
        let now = live.now() + Duration::from_picoseconds(1);
        (0..3).for_each(|number| live.clear_fault(number, now).unwrap());
        assert_eq!(written(&mut live), RequestStatus::Good);
        assert_eq!(phases(&live, live.now()), [Over, Over, Over]);
        // This request is submitted after the times of the removed faults.
        live.submit(Submission::new(after(2_000_000), access(Operation::Write, 1))).unwrap();
        assert_eq!(live.advance_until(Instant::END).unwrap().status, RequestStatus::Good);
        let faults = live.sample().faults;
        assert_eq!(faults.iter().map(|fault| fault.failed).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn ended_and_permanent_faults_are_not_cleared() {
        let mut live = live();
        assert_eq!(live.clear_fault(0, after(1)), Err(FaultClearError::Unknown));
        for text in ["pause at=1us for=2us", "power-cut at=10us boot=1ms"] {
            live.add_fault(text.parse().unwrap()).unwrap();
        }
        let clear = |live: &mut LiveSystem, number, us| live.clear_fault(number, after(us));
        assert_eq!(clear(&mut live, 2, 1), Err(FaultClearError::Unknown));
        assert_eq!(live.advance_until(after(20)), None);
        assert_eq!(clear(&mut live, 0, 20), Err(FaultClearError::Over));
        assert_eq!(clear(&mut live, 1, 20), Err(FaultClearError::PowerIsCut));
        assert_eq!(clear(&mut live, 1, 2_000), Err(FaultClearError::Over));
    }

    #[test]
    fn an_added_power_cut_fails_outstanding_requests() {
        let mut live = live();
        live.submit(Submission::new(Instant::ZERO, access(Operation::Read, 1)).tagged(1)).unwrap();
        let boot = Duration::from_microseconds(500);
        let at = Duration::from_microseconds(3);
        live.add_fault(Fault::at(at, FaultKind::PowerCut { boot })).unwrap();
        let failed = live.advance_until(Instant::END).unwrap();
        assert_eq!(failed.status, RequestStatus::Failed(ErrorKind::DeviceGone));
        assert_eq!(failed.completed, Instant::ZERO + at);
        live.submit(Submission::new(failed.completed, access(Operation::Read, 1)).tagged(2))
            .unwrap();
        let done = live.advance_until(Instant::END).unwrap();
        assert!(done.status == RequestStatus::Good && done.completed > failed.completed + boot);
    }

    #[test]
    fn faults_that_are_over_do_not_count_towards_the_maximum() {
        let mut live = live();
        let add =
            |live: &mut LiveSystem| live.add_fault("latency at=1ms extra=1ms".parse().unwrap());
        for number in 0..FAULTS_MAX as u16 + 10 {
            assert_eq!(add(&mut live), Ok(number));
            live.clear_fault(number, live.now()).unwrap();
        }
        let cleared = FAULTS_MAX as u16 + 10;
        assert!((cleared..cleared + FAULTS_MAX as u16).all(|number| add(&mut live) == Ok(number)));
        let errors = add(&mut live).unwrap_err();
        assert!(errors[0].to_string().contains("at most 1000"), "{errors:?}");
        live.clear_fault(cleared, live.now()).unwrap();
        assert!(add(&mut live).is_ok());
    }

    #[test]
    fn a_fault_that_the_system_cannot_have_is_reported() {
        let fault: Fault = "latency at=1ms extra=1ms drive=7".parse().unwrap();
        let errors = live().add_fault(fault).unwrap_err();
        assert!(errors[0].to_string().contains("drives 0 to 0"), "{errors:?}");
    }
}
