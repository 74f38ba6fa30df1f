//! The measuring engine on real targets: a file or block device of this Linux machine, by io_uring.
//!
//! A [`Bench`] runs one workload on one target and gives an [`Outcome`], whose types are those of
//! `lanemark_core::result`, so a measured run and a simulated one are read by the same views. The
//! offsets come from `lanemark_core::workload::Accesses`: a real drive is asked for the same places in
//! the same order as a modelled one.
//!
//! The life of a run: `target` opens or creates the file and refuses whatever could cost somebody data;
//! `layout` writes it full; `sample` starts the threads of one repeat and adds up what they counted;
//! `worker` is the loop of one thread, over an `engine` with its `arena` of buffers; `tally` is what it counts,
//! `rounds` what a test of rounds makes of that; `evidence` is what the machine shows meanwhile.
//!
//! `verify` writes so that everything can be judged afterwards, and judges it.
//!
//! Not done here: sockets and network targets. The processor time of the kernel's own
//! threads that work for a ring is in `CpuUse`; that of other threads of the kernel (a loop device's) is not.

mod arena;
mod awake;
mod bench;
mod claim;
mod clock;
mod created;
mod doubts;
mod engine;
mod error;
mod event;
mod evidence;
mod failures;
mod health;
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
mod verify;
mod window;
mod worker;

pub use awake::Awake;
pub use bench::Bench;
pub use created::{LeftOver, left_over, remove_created};
pub use engine::EngineKind;
pub use error::MeasureError;
pub use event::{Event, Outcome, Running};
pub use machine::machine;
pub use purge::Purge;
pub use settings::{OnError, Settings};
pub use verify::{Check, Verification, VerifyError, VerifyProgress};
