//! The simulator's open interface: submit a request at a simulated time, and advance to the next completion.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::bound::BLOCK;
use lanemark_schema::workload::{Access, Operation, SECTOR};
use lanemark_sim::Submission;
use lanemark_sim::{HOPS, PriorContent, RequestStatus, Storage};
use pyo3::prelude::*;

use crate::failure::{Failure, input, refused};
use crate::system::System;
use crate::workload::quantity;

/// Maximum number of outstanding requests.
const OUTSTANDING_MAX: usize = 1_000_000;
/// The hops in the order of a budget.
const NAMES: [&str; HOPS] = [
    "cpu",
    "protocol",
    "front-end",
    "channels",
    "media",
    "data-path",
    "link0",
    "link1",
    "link2",
    "link3",
    "second.link0",
    "second.link1",
    "second.link2",
    "second.link3",
    "buffer",
    "power",
];
/// The operations, by their names in Python.
const OPERATIONS: [(&str, Operation); 4] = [
    ("read", Operation::Read),
    ("write", Operation::Write),
    ("flush", Operation::Flush),
    ("trim", Operation::Trim),
];

/// A running system. It is boxed because Python objects have a smaller alignment than the system's parts.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Simulator(Mutex<Box<RunningSystem>>);

struct RunningSystem {
    storage: Storage,
    outstanding: usize,
}

/// A completed request.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Completion(lanemark_sim::Completion);

/// Returns an instant, given as text or in picoseconds; `None` if neither is given.
fn instant(name: &str, text: Option<&str>, ps: Option<u64>) -> Result<Option<Instant>, Failure> {
    let at = match (text, ps) {
        (Some(_), Some(_)) => {
            return Err(input(format!("{name} and {name}_ps: use only one of them")));
        }
        (Some(_), None) => quantity::<Duration>(name, text)?.map(|time| time.picoseconds()),
        (None, ps) => ps,
    };
    let end = Instant::END.since(Instant::ZERO);
    match at.map(Instant::from_picoseconds) {
        Some(at) if at > Instant::END => {
            Err(input(format!("{name} is after the end of simulated time, {end}")))
        }
        at => Ok(at),
    }
}

/// Returns a size, given as text or in bytes; zero if neither is given.
fn size(name: &str, text: Option<&str>, bytes: Option<u64>) -> Result<Bytes, Failure> {
    match (text, bytes) {
        (Some(_), Some(_)) => Err(input(format!("{name} and {name}_bytes: use only one of them"))),
        (Some(_), None) => Ok(quantity(name, text)?.unwrap_or_default()),
        (None, bytes) => Ok(Bytes(bytes.unwrap_or_default())),
    }
}

impl Simulator {
    fn at_work(&self) -> MutexGuard<'_, Box<RunningSystem>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Simulator {
    #[new]
    fn new(
        system: &System,
        seed: u64,
        written: Option<&str>,
        compressibility: f64,
    ) -> Result<Self, Failure> {
        let ratio = Ratio::new(compressibility).ok_or_else(|| {
            input(format!("compressibility = {compressibility}: expected a share from 0 to 1"))
        })?;
        let capacity = system.system.capacity();
        let written = quantity::<Bytes>("written", written)?.unwrap_or(capacity);
        if written > capacity {
            return Err(input(format!(
                "written = {written}: more than the capacity of {capacity}"
            )));
        }
        let content = PriorContent { compressibility: ratio, ..PriorContent::from(written) };
        let storage = Storage::new(&system.system.spec, content, StreamKey::from_seed(seed));
        Ok(Self(Mutex::new(Box::new(RunningSystem { storage, outstanding: 0 }))))
    }

    #[getter]
    fn now_ps(&self) -> u64 {
        self.at_work().storage.now().picoseconds()
    }

    #[getter]
    fn outstanding(&self) -> usize {
        self.at_work().outstanding
    }

    #[getter]
    fn events(&self) -> u64 {
        self.at_work().storage.simulator().events()
    }

    #[pyo3(signature = (operation, *, offset=None, offset_bytes=None, length=None, length_bytes=None, at=None,
        at_ps=None, tag=0, thread=0, drive=0))]
    fn submit(
        &self,
        operation: &str,
        offset: Option<&str>,
        offset_bytes: Option<u64>,
        length: Option<&str>,
        length_bytes: Option<u64>,
        at: Option<&str>,
        at_ps: Option<u64>,
        tag: u64,
        thread: u32,
        drive: u16,
    ) -> Result<(), Failure> {
        let found = OPERATIONS.iter().find(|(name, _)| *name == operation);
        let (_, operation) = *found.ok_or_else(|| {
            input(format!("operation = {operation}: expected read, write, flush or trim"))
        })?;
        let offset = size("offset", offset, offset_bytes)?;
        let length = size("length", length, length_bytes)?;
        let sectors = |bytes: Bytes| bytes.get().is_multiple_of(SECTOR.get());
        let whole = match operation {
            Operation::Flush => offset == Bytes::ZERO && length == Bytes::ZERO,
            _ => length > Bytes::ZERO && sectors(length) && sectors(offset),
        };
        let bound = if operation == Operation::Trim { Bytes(u64::MAX) } else { BLOCK.max };
        if !whole || length > bound {
            return Err(input(format!(
                "a request of {length} at offset {offset}: both must be multiples of {SECTOR}, and the length must be \
                 above 0 and up to {}; a flush takes neither",
                BLOCK.max
            )));
        }
        let at = instant("at", at, at_ps)?;
        let mut state = self.at_work();
        if state.outstanding >= OUTSTANDING_MAX {
            return Err(input(format!(
                "{OUTSTANDING_MAX} requests are outstanding, which is the maximum"
            )));
        }
        let now = state.storage.now();
        let at = at.unwrap_or(now);
        if at < now {
            let at = at.since(Instant::ZERO);
            let now = now.since(Instant::ZERO);
            return Err(input(format!("at = {at}: the simulation is already at {now}")));
        }
        let access = Access { operation, offset, length };
        state
            .storage
            .submit(Submission::new(at, access).to(drive).by(thread).tagged(tag))
            .map_err(refused)?;
        state.outstanding += 1;
        Ok(())
    }

    #[pyo3(signature = (*, until=None, until_ps=None))]
    fn advance(
        &self,
        py: Python<'_>,
        until: Option<&str>,
        until_ps: Option<u64>,
    ) -> Result<Option<Completion>, Failure> {
        let limit = instant("until", until, until_ps)?.unwrap_or(Instant::END);
        py.detach(|| {
            let mut state = self.at_work();
            let completion = state.storage.advance_until(limit);
            state.outstanding -= usize::from(completion.is_some());
            Ok(completion.map(Completion))
        })
    }
}

#[pymethods]
impl Completion {
    #[getter]
    fn tag(&self) -> u64 {
        self.0.tag
    }

    #[getter]
    fn operation(&self) -> &'static str {
        let found = OPERATIONS.iter().find(|(_, known)| *known == self.0.access.operation);
        found.map_or("", |(name, _)| name)
    }

    #[getter]
    fn offset_bytes(&self) -> u64 {
        self.0.access.offset.get()
    }

    #[getter]
    fn length_bytes(&self) -> u64 {
        self.0.access.length.get()
    }

    #[getter]
    fn submitted_ps(&self) -> u64 {
        self.0.submitted.picoseconds()
    }

    #[getter]
    fn completed_ps(&self) -> u64 {
        self.0.completed.picoseconds()
    }

    #[getter]
    fn latency_ps(&self) -> u64 {
        self.0.completed.since(self.0.submitted).picoseconds()
    }

    /// The name of the failure, or None if the request succeeded.
    #[getter]
    fn error(&self) -> Option<String> {
        match self.0.status {
            RequestStatus::Good => None,
            RequestStatus::Failed(kind) => {
                serde_json::to_value(kind).ok()?.as_str().map(str::to_owned)
            }
        }
    }

    /// The waiting and service times in ps at each hop, for hops at which one of the two is above zero.
    fn budget(&self) -> Vec<(&'static str, u64, u64)> {
        let budget = &self.0.budget;
        let hops = NAMES.iter().enumerate().map(|(hop, name)| {
            (*name, budget.wait(hop).picoseconds(), budget.service(hop).picoseconds())
        });
        hops.filter(|(_, wait, service)| wait + service > 0).collect()
    }
}
