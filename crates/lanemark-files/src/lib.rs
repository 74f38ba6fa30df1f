//! Files that a command makes without being given their names: next to a file that its user named, and in temporary
//! folders.
//!
//! | file | contents |
//! |---|---|
//! | [`companion`] | the opener of files next to a named one, which overwrites nothing that is not ours |
//! | [`private`] | temporary folders of this user only, removed when the process ends |
//!
//! Nothing here prints, reads arguments or catches signals.

pub mod companion;
pub mod private;
