//! The host's side of a path: protocols, and host bus adapters with their caches.

pub(crate) mod adapter;
pub(crate) mod adapter_cache;
pub(crate) mod protocol;
