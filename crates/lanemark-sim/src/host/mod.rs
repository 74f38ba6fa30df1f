//! The host's side of a path: protocols, interrupt coalescing, and host bus adapters with their caches.

pub(crate) mod adapter;
pub(crate) mod adapter_cache;
pub(crate) mod coalescing;
pub(crate) mod protocol;
