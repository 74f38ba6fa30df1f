//! The measuring engine for real targets: a file or block device of this Linux machine, through io_uring.
//!
//! A [`Bench`] runs one workload on one target and returns a [`MeasureOutcome`] with the types of
//! `lanemark_schema::result`, so that the same views show measured and simulated runs. The offsets come from
//! `lanemark_schema::workload::Accesses`: a real drive receives the same offsets in the same order as a modelled drive.
//!
//! In a run, `target` opens or creates the file, and rejects any target on which data could be lost; `layout` writes
//! the file in full; `sample` starts the threads of one repeat and adds up their counts; `worker` is the loop of one
//! thread, which uses an `engine` with its `arena` of buffers; `tally` contains the counts, from which `rounds` forms
//! the rounds of a test; and `evidence` reads the machine's counters.
//!
//! Sockets and network targets are not supported. `CpuUse` includes the processor time of the kernel threads that work
//! for a ring; it does not include other kernel threads, such as the thread of a loop device.

mod arena;
mod awake;
mod bench;
mod claim;
mod clock;
mod created;
mod engine;
mod error;
mod event;
mod evidence;
mod failures;
mod health;
pub mod host;
mod kernel_threads;
mod layout;
mod limits;
mod location;
mod machine;
mod payload;
mod pin;
mod plan;
mod purge;
mod rounds;
mod sample;
mod settings;
mod source;
mod tally;
mod target;
mod temperature;
mod warnings;
mod window;
mod worker;

pub use awake::AwakeProcessors;
pub use bench::Bench;
pub use created::{LeftoverFile, left_over, remove_created};
pub use engine::EngineKind;
pub use error::MeasureError;
pub use event::{Event, MeasureOutcome, SampleInProgress};
pub use machine::machine;
pub use purge::PurgeMethod;
pub use settings::{ErrorReaction, MeasureSettings, Preconditioning};

/// The parts of the engine that other load generators can use, such as `lanemark-verify`.
pub mod parts {
    pub use crate::arena::Arena;
    pub use crate::engine::{
        Engine, EngineKind, EngineRequest, NullEngine, Ring, RingOptions, SynchronousEngine,
        open_uring,
    };
    pub use crate::location::TargetLocation;
    pub use crate::plan::{ConcurrentRun, SamplePlan};
    pub use crate::sample::PROGRESS_INTERVAL;
    pub use crate::target::{OverwritePermission, Target};
    pub use crate::window::quota;
    pub use crate::worker::POLL_NS;
}
