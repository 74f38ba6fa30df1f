//! The environment of a job file: its name, the target, the variables and the included files.

use lanemark_schema::units::Bytes;

/// The environment in which a job file is read.
pub struct JobEnvironment<'a> {
    /// The name of the file in errors.
    pub file: &'a str,
    /// The size of the target, which jobs need that use all of the target or a share of it.
    pub target_size: Option<Bytes>,
    /// Returns a variable of the environment.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Returns the text of an included file, or the reason why it cannot be read.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
}
