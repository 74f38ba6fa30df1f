//! Replaces `served_target` in builds without `lanemark serve`: in these builds no target is a served system.

use std::path::Path;

use lanemark_schema::result::{RunResult, TestResult};

use crate::failure::Failure;

/// A measurement whose target is a served system. There are no values of this type.
pub(crate) enum ServedMeasurement {}

impl ServedMeasurement {
    pub(crate) fn find(_: &Path, named: Option<&Path>) -> Result<Option<Self>, Failure> {
        match named {
            None => Ok(None),
            Some(_) => {
                Err(Failure::input("--served requires the feature `serve`, which this build lacks")
                    .hint("use a program with the default features"))
            }
        }
    }

    pub(crate) fn begin(&mut self) {
        match *self {}
    }

    pub(crate) fn end(&mut self, _: &[TestResult]) {
        match *self {}
    }

    pub(crate) fn complete(&self, _: &mut RunResult) {
        match *self {}
    }
}
