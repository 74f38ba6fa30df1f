//! The measuring engine on real targets: a file or block device of this Linux machine, by io_uring.
//!
//! A [`Bench`] runs one workload on one target and gives an [`Outcome`], whose types are those of
//! `lanemark_core::result`, so a measured run and a simulated one are read by the same views. The
//! offsets come from `lanemark_core::workload::Accesses`: a real drive is asked for the same places in
//! the same order as a modelled one.
//!
//! The life of a run: `target` opens or creates the file and refuses whatever could cost somebody data;
//! `layout` writes it full; `sample` starts the threads of one repeat and adds up what they counted;
//! `worker` is the closed loop of one thread, over a `ring` with its `arena` of buffers.
//!
//! Not done here: writing to block devices, sockets and network targets, engines other than io_uring,
//! processor pinning, and the time that kernel worker threads spend where a file system punts requests
//! to them (tmpfs and zram do): it is in no thread's account, so `CpuUse` is too low there.

mod arena;
mod bench;
mod clock;
mod created;
mod error;
mod layout;
mod location;
mod machine;
mod payload;
mod ring;
mod sample;
mod target;
mod worker;

pub use bench::{Bench, Event, Outcome};
pub use error::MeasureError;
pub use machine::machine;
