//! A disk for virtual machines: a virtio block device over the vhost-user protocol.
//!
//! After `docs/interop/vhost-user.rst` of QEMU and the virtio specification 1.2 (2.7 split queues, 5.2 block devices).
//! One queue. The guest's memory is read and written through its files and never mapped, so that no guest can take the
//! server down by making a file shorter, and no line here is `unsafe`.
//!
//! | file | what it does |
//! |---|---|
//! | [`message`] | messages of the protocol, as pure functions of bytes |
//! | `wire` | messages and their files on a socket |
//! | `memory` | the guest's memory, by the addresses of both ends |
//! | `ring` | the queue: chains of descriptors out of it, answers into it |
//! | [`block`] | what a request asks, and the device's own description |
//! | `device` | the device that all of these make, and its requests as [`Work`](crate::engine::Work) |
//! | `machine` | machines in real time: their connections, one after the other |
//!
//! Not spoken: packed queues, several queues, migration (dirty logs, inflight buffers), IOMMUs.

pub mod block;
pub(crate) mod device;
#[cfg(feature = "vhost-user")]
pub(crate) mod machine;
pub(crate) mod memory;
pub mod message;
pub(crate) mod ring;
pub(crate) mod wire;
