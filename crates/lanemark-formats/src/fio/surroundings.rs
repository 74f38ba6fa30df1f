//! The surroundings of a job file: its name, the target, the environment and the files that it includes.

use lanemark_core::units::Bytes;

/// The surroundings in which a job file is read.
pub struct Surroundings<'a> {
    /// The file as it is named in errors.
    pub file: &'a str,
    /// The size of the target, for jobs that use all of it or a share.
    pub target_size: Option<Bytes>,
    /// A variable of the environment.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file that is included, or why there is none.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
}
