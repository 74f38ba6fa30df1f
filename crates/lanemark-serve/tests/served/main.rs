//! Tests of served systems and their clients: data, timing, faults, hostile clients and files, and third-party
//! programs.

mod data;
mod faults;
mod files;
mod hostile;
mod timing;
mod tools;

use std::path::{Path, PathBuf};

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Fault;
use lanemark_serve::clock::TimeScale;
use lanemark_serve::data::{DriveCache, ExportData};
use lanemark_serve::session::{Session, SessionPlan, StartContent};
use lanemark_serve::socket::Endpoint;
use lanemark_sim::SystemSpec;
use lanemark_sim::spec::{CheckedSystem, WriteCacheMode};
use lanemark_testbed::NbdClient;
use tempfile::TempDir;

/// Length of the exports.
const SIZE: u64 = 32 << 20;
const CACHE: DriveCache = DriveCache { kind: WriteCacheMode::Volatile, size: 4 << 20 };

struct Served {
    session: Option<Session>,
    socket: PathBuf,
    _folder: TempDir,
}

/// Settings of a served system that differ from the defaults.
#[derive(Default)]
struct Wanted<'f> {
    faults: &'f [&'f str],
    data: Option<ExportData>,
    no_latency: bool,
    /// The served system, if it is not the example.
    system: Option<SystemSpec>,
    scale: Option<TimeScale>,
    /// The seed; 1 if absent.
    seed: Option<u64>,
}

fn example() -> CheckedSystem {
    SystemSpec::example().checked().unwrap()
}

fn memory() -> ExportData {
    ExportData::memory(SIZE, CACHE, 1).unwrap()
}

impl Served {
    fn new(wanted: Wanted<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let faults: Vec<Fault> = wanted.faults.iter().map(|text| text.parse().unwrap()).collect();
        let system = wanted.system.map_or_else(example, |system| system.checked().unwrap());
        let system = system.with_faults(&faults).unwrap();
        let plan = SessionPlan {
            system: &system,
            faults: &faults,
            description: "the example".to_owned(),
            data: wanted.data.unwrap_or_else(memory),
            endpoint: Some(Endpoint::Unix(socket.clone())),
            content: StartContent { written_bytes: Bytes(SIZE), is_just_written: false },
            scale: wanted.scale.unwrap_or(TimeScale::ONE),
            seed: wanted.seed.unwrap_or(1),
            outside: None,
            has_latency: !wanted.no_latency,
        };
        Self { session: Some(Session::start(plan).unwrap()), socket, _folder: folder }
    }

    /// Returns a served system with a model, and one without a model.
    fn both() -> [Self; 2] {
        [false, true].map(|no_latency| Self::new(Wanted { no_latency, ..Wanted::default() }))
    }

    fn session(&self) -> &Session {
        self.session.as_ref().unwrap()
    }

    fn connect(&self) -> NbdClient {
        NbdClient::connect(&self.socket).unwrap()
    }

    fn path(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let (_, closed) = session.end();
            if !std::thread::panicking() {
                closed.unwrap();
            }
        }
    }
}
