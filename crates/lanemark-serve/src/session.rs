//! A session: a modelled system with its data, served until the session ends.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

pub use lanemark_schema::result::StartContent;
use lanemark_schema::result::{DirectionResult, DriveUse, OutsideTime, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{Fault, Test};
use lanemark_sim::spec::{CheckedSystem, DriveCondition, MediaSpec, SystemSpec, WriteCacheMode};
use lanemark_sim::{FaultState, LiveSystem, PriorContent};

use crate::clock::{Clock, TimeScale, WallClock};
use crate::connection::ServerState;
use crate::data::{DriveCache, ExportData};
use crate::delivered::DeliveryCounts;
use crate::engine::{Engine, SimulatedSystem, lines_of};
use crate::mount::Mounts;
use crate::nbd::Export;
use crate::reading::SessionCounters;
use crate::server::Server;
use crate::socket::{Endpoint, Listener};
use crate::storing::StoringThread;

pub struct SessionPlan<'s> {
    /// The system with the faults of its plan. The host's processor is not modelled.
    pub system: &'s CheckedSystem,
    /// The faults in the plan whose times are measured from the start.
    pub faults: &'s [Fault],
    /// Description of the system, for clients.
    pub description: String,
    /// The system's data.
    pub data: ExportData,
    /// The drive's content at the start, unless its condition determines it.
    pub content: StartContent,
    /// Address of the NBD server, if there is one.
    pub endpoint: Option<Endpoint>,
    /// The speed of simulated time.
    pub scale: TimeScale,
    /// The seed of all random draws.
    pub seed: u64,
    /// The time of a request outside the server, if it is known.
    pub outside: Option<OutsideTime>,
    /// Whether the model determines the latency. If not, the data is served as fast as possible.
    pub has_latency: bool,
}

pub struct Session {
    server: Option<Server>,
    shared: Arc<ServerState>,
    mounts: Mounts,
    data: Arc<ExportData>,
    storing: Arc<StoringThread>,
    storing_thread: Option<JoinHandle<()>>,
    engine: Option<(Arc<Engine>, JoinHandle<Option<SimulatedSystem>>)>,
    delivered: Arc<DeliveryCounts>,
    scale: TimeScale,
    content: Option<StartContent>,
    outside: Option<OutsideTime>,
    clock: Arc<dyn Clock>,
    began: std::time::Instant,
}

/// Figures of a session so far.
#[derive(Clone, Debug)]
pub struct SessionFigures {
    /// The sample, with the delivered latencies; without a model, it contains only the delivered latencies.
    pub sample: Sample,
    /// All requests, summarised as a test.
    pub test: Option<Test>,
    /// Lines about the data lost in power cuts.
    pub lost: Vec<String>,
    /// Notes on problems that occurred while the session was being ended.
    pub notes: Vec<String>,
    pub outstanding: u64,
    pub connections: usize,
}

impl Session {
    /// Starts to serve.
    ///
    /// # Errors
    /// Returns an error if the address is not available, or no thread can be started.
    pub fn start(plan: SessionPlan<'_>) -> io::Result<Self> {
        let listener = plan.endpoint.as_ref().map(Listener::bind).transpose()?;
        let mut data = plan.data;
        if !plan.has_latency {
            data.without_power_cuts();
        }
        let data = Arc::new(data);
        let system = plan.system.device_side();
        let delivered = Arc::new(DeliveryCounts::default());
        let (storing, storing_thread) = StoringThread::start(Arc::clone(&data))?;
        let clock: Arc<dyn Clock> = Arc::new(WallClock::start(plan.scale));
        let engine = if plan.has_latency {
            let content = prior_content(plan.content);
            let live = LiveSystem::new(&system, content, StreamKey::from_seed(plan.seed));
            let held = Some(Box::new(Arc::clone(&data)) as Box<_>);
            let counts = Arc::clone(&delivered);
            let clock = Arc::clone(&clock);
            Some(Engine::start(SimulatedSystem::new(live, plan.faults, held, counts, clock))?)
        } else {
            None
        };
        let export = Export {
            name: "lanemark".to_owned(),
            description: plan.description,
            size: data.size(),
            is_rotational: matches!(system.first().drive.media, MediaSpec::Disk(_)),
        };
        let shared = Arc::new(ServerState {
            export,
            data: Arc::clone(&data),
            storing: Arc::clone(&storing),
            delivered: Arc::clone(&delivered),
            engine: engine.as_ref().map(|(engine, _)| Arc::clone(engine)),
        });
        let server = listener.map(|listener| Server::start(listener, Arc::clone(&shared)));
        let server = server.transpose()?;
        let scale = plan.scale;
        let began = std::time::Instant::now();
        let content = is_content_free(&system).then_some(plan.content);
        let storing_thread = Some(storing_thread);
        Ok(Self {
            server,
            mounts: Mounts::new(Arc::clone(&shared)),
            shared,
            data,
            storing,
            storing_thread,
            engine,
            delivered,
            scale,
            content,
            outside: plan.outside,
            clock,
            began,
        })
    }

    /// Returns the state that all connections share.
    pub(crate) fn shared(&self) -> &Arc<ServerState> {
        &self.shared
    }

    /// Returns the address, as an NBD URI, if the session has an NBD server.
    pub fn address(&self) -> Option<&str> {
        self.server.as_ref().map(Server::address)
    }

    /// Returns the port, if the server listens on TCP.
    pub fn port(&self) -> Option<u16> {
        self.server.as_ref().and_then(Server::port)
    }

    /// Returns the mounts: the system as a file and as a disk.
    pub fn mounts(&mut self) -> &mut Mounts {
        &mut self.mounts
    }

    /// Returns the path of the mounted file.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.mounts.file()
    }

    /// Returns the path of the disk's node.
    pub fn disk(&self) -> Option<&std::path::Path> {
        self.mounts.disk()
    }

    /// Returns whether the engine's thread has failed. In this case, all requests fail.
    pub fn is_broken(&self) -> bool {
        self.engine.as_ref().is_some_and(|(engine, _)| engine.has_failed())
    }

    /// Adds a fault, whose times are measured from now, and returns its number.
    ///
    /// # Errors
    /// Returns an error if the system does not support the fault, or the session serves without a model.
    pub fn add_fault(&self, fault: Fault) -> Result<u16, String> {
        self.ask(move |core| core.add_fault(fault))?.map_err(|errors| lines_of(&errors))
    }

    /// Returns all faults with their present states, in the order of their numbers.
    ///
    /// # Errors
    /// Returns an error if the session serves without a model or has ended.
    pub fn faults(&self) -> Result<Vec<FaultState>, String> {
        self.ask(|core| core.faults())
    }

    /// Ends a fault, or removes it if it has not begun.
    ///
    /// # Errors
    /// Returns an error if the fault cannot be cleared, or the session serves without a model.
    pub fn clear_fault(&self, number: u16) -> Result<(), String> {
        self.ask(move |core| core.clear_fault(number))?.map_err(|error| error.to_string())
    }

    /// Replaces a fault with `fault`, whose times are measured from now, and returns the number of the new fault.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the old fault cannot be cleared, the system does not support the new
    /// fault, or the session serves without a model.
    pub fn change_fault(&self, number: u16, fault: Fault) -> Result<u16, String> {
        self.ask(move |core| core.change_fault(number, fault))?
    }

    fn ask<A: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut SimulatedSystem) -> A + Send + 'static,
    ) -> Result<A, String> {
        let Some((engine, _)) = &self.engine else {
            return Err("a server without latency does not support faults".to_owned());
        };
        engine.ask(errand).ok_or_else(|| "the session has ended".to_owned())
    }

    /// Returns the figures of the session so far.
    pub fn figures(&self) -> SessionFigures {
        let answer = self.engine.as_ref().and_then(|(engine, _)| engine.ask(look));
        self.complete(answer)
    }

    fn complete(&self, looked: Option<EngineFigures>) -> SessionFigures {
        let mut looked = looked.unwrap_or_else(|| {
            let mut sample = empty();
            sample.elapsed = elapsed_since(self.began);
            EngineFigures {
                sample,
                test: None,
                lost: Vec::new(),
                outstanding: 0,
                active: Duration::ZERO,
                busy: Duration::ZERO,
            }
        });
        looked.sample.live = Some(self.counters(&looked).live());
        let EngineFigures { sample, test, lost, outstanding, .. } = looked;
        let connections = self.server.as_ref().map_or(0, Server::connections);
        SessionFigures { sample, test, lost, notes: Vec::new(), outstanding, connections }
    }

    /// Returns the counters of the session so far, and its faults; `None` without a model.
    pub fn reading(&self) -> Option<(SessionCounters, Vec<String>)> {
        let looked = self.engine.as_ref().and_then(|(engine, _)| engine.ask(look))?;
        let faults = looked.sample.faults.iter().map(|fault| fault.fault.clone()).collect();
        Some((self.counters(&looked), faults))
    }

    /// Returns the counters of delivery and of the engine; `looked` contains the figures that the engine returned at
    /// one instant.
    fn counters(&self, looked: &EngineFigures) -> SessionCounters {
        let delivered = self.delivered.counts();
        let sample = &looked.sample;
        let elapsed_ns = sample.elapsed.nanoseconds() as f64;
        let directions = [&sample.reads, &sample.writes, &sample.flushes, &sample.trims];
        let total_ns = |direction: &DirectionResult| {
            direction.latency.mean_ns() * direction.latency.count() as f64
        };
        let hops = sample.path.iter().flat_map(|path| &path.hops);
        SessionCounters {
            time_scale: self.scale.factor(),
            served: elapsed_since(self.began),
            active: looked.active,
            busy: looked.busy,
            requests: sample.operations(),
            modelled_total_ns: directions.into_iter().flatten().map(total_ns).sum(),
            modelled: sample.latency(),
            lateness: delivered.lateness,
            reads: delivered.reads,
            writes: delivered.writes,
            host_errors: delivered.failed.host_errors,
            hops_busy_ns: hops.map(|hop| hop.utilisation * elapsed_ns).collect(),
            intake: self.delivered.intake.time(),
            engine: self.delivered.engine.time(),
            unread: self.delivered.unread.sum(),
            outside: self.outside,
            content: self.content,
            processor_s: processor_s(),
        }
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Duration {
        self.clock.now().since(lanemark_schema::units::Instant::ZERO)
    }

    /// Ends all connections, stores the data, and returns the final figures.
    ///
    /// # Errors
    /// Returns an error if the data cannot be stored.
    pub fn end(mut self) -> (SessionFigures, io::Result<()>) {
        let notes = self.mounts.end();
        if let Some(server) = &mut self.server {
            server.end();
        }
        let mut looked = None;
        if let Some((engine, thread)) = self.engine.take() {
            engine.end();
            looked = thread.join().ok().flatten().map(|mut core| look(&mut core));
        }
        self.storing.end();
        if let Some(thread) = self.storing_thread.take() {
            let _ = thread.join();
        }
        let mut figures = self.complete(looked);
        figures.notes = notes;
        let closed = self.data.close();
        (figures, closed)
    }
}

/// Figures that only the engine's thread can read.
struct EngineFigures {
    sample: Sample,
    test: Option<Test>,
    lost: Vec<String>,
    outstanding: u64,
    busy: Duration,
    /// Simulated time without the pauses of all clients.
    active: Duration,
}

fn look(core: &mut SimulatedSystem) -> EngineFigures {
    let sample = core.sample();
    let live = core.live();
    let busy = live.busy();
    EngineFigures {
        test: Some(live.summary("served", &sample)),
        sample,
        lost: core.lost().to_vec(),
        outstanding: live.outstanding(),
        active: core.active(),
        busy,
    }
}

/// Returns the content of the drive before the session.
pub(crate) fn prior_content(content: StartContent) -> PriorContent {
    let StartContent { written_bytes, is_just_written } = content;
    PriorContent { is_just_written, ..written_bytes.into() }
}

/// Returns whether a drive's content at the start depends on the plan. The timing of disks and cloud volumes does not
/// depend on the content.
pub fn is_content_free(system: &SystemSpec) -> bool {
    system.attachments.iter().any(|attachment| match &attachment.drive.media {
        MediaSpec::Flash(flash) => flash.condition == DriveCondition::Fresh,
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
    })
}

/// Returns one cache for all drives of a system, which loses every write that any of the drives may lose.
pub fn cache_of(system: &SystemSpec) -> DriveCache {
    match system.volatile_cache() {
        None => DriveCache { kind: WriteCacheMode::Protected, size: 0 },
        Some(size) => DriveCache { kind: WriteCacheMode::Volatile, size: size.get() },
    }
}

fn elapsed_since(began: std::time::Instant) -> Duration {
    Duration::from_nanoseconds(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX / 1000))
}

/// Returns the processor time of this process in seconds.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn empty() -> Sample {
    Sample {
        elapsed: Duration::ZERO,
        reads: None,
        writes: None,
        unified: None,
        flushes: None,
        trims: None,
        errors: Default::default(),
        faults: Vec::new(),
        cpu: None,
        evidence: None,
        in_flight: None,
        punctuality: None,
        path: None,
        drive: Some(DriveUse::default()),
        energy: None,
        replay: None,
        series: None,
        steady: None,
        transactions: None,
        converged: None,
        similar: None,
        phases: Vec::new(),
        credits: Vec::new(),
        live: None,
        complete: true,
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;

#[cfg(test)]
mod processor_tests {
    use super::processor_s;

    #[test]
    fn processor_time_is_in_seconds() {
        let before = processor_s();
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        // Other threads of this program also use time.
        let used = processor_s() - before;
        assert!((0.005..60.0).contains(&used), "{used} s");
    }
}
