//! A disk for virtual machines: a virtio block device over the vhost-user protocol.
//!
//! The module follows `docs/interop/vhost-user.rst` of QEMU and the virtio specification 1.2 (2.7 split queues, 5.2
//! block devices). It supports one queue. The guest's memory is read and written through its files and never mapped. A
//! guest therefore cannot crash the server by truncating a file, and the module contains no `unsafe` code.
//!
//! | file | purpose |
//! |---|---|
//! | [`message`] | messages of the protocol, as pure functions of bytes |
//! | `wire` | messages and their files on a socket |
//! | `memory` | the guest's memory, addressed by either end |
//! | `ring` | the queue: takes chains of descriptors out and puts replies in |
//! | [`block`] | the content of requests, and the device's own description |
//! | `device` | the device that combines all of these, and its requests as [`crate::engine::RequestOwner`] |
//! | `machine` | virtual machines in real time, one connection after another |
//!
//! Not implemented: packed queues, several queues, migration (dirty logs, inflight buffers), IOMMUs.

pub mod block;
pub(crate) mod device;
pub(crate) mod machine;
pub(crate) mod memory;
pub mod message;
pub(crate) mod ring;
pub(crate) mod wire;
