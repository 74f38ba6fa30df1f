//! Files that a command makes without being given their names: next to a file that its user named, and in temporary
//! folders. Also the mounts that contain files.
//!
//! | file | contents |
//! |---|---|
//! | [`companion`] | the opener of files next to a named one, which overwrites nothing that is not ours |
//! | [`mounts`] | the mounts of this process |
//! | [`private`] | temporary folders of this user only, removed when the process ends |
//!
//! Nothing here prints, reads arguments or catches signals.

pub mod companion;
pub mod mounts;
pub mod private;
