//! The error of a test.

/// A value of a test that is out of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {bound}")]
pub struct TestError {
    /// Name of the field in a workload file.
    pub field: &'static str,
    /// The value as the user wrote it.
    pub value: String,
    /// The values that are accepted.
    pub bound: String,
}
