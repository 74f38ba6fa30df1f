//! Files that a command creates under names that it chooses: next to a file that the user named, and in temporary
//! folders. The crate also lists the mounts that contain files.
//!
//! | file | contents |
//! |---|---|
//! | [`companion`] | opens files next to a file that the user named, and never overwrites a foreign file |
//! | [`mounts`] | the mounts of this process |
//! | [`private`] | temporary folders that only this user can read, removed when the process ends |
//! | [`removal`] | removes a folder with its contents, and never a file of another mount |
//!
//! The crate does not print, read arguments or catch signals.

pub mod companion;
pub mod mounts;
pub mod private;
pub mod removal;
