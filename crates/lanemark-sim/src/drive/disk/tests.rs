//! A small disk for tests.

use crate::spec::DiskSpec;

/// Returns a 7,200 rpm disk with two zones and a capacity of 78 MiB.
pub(crate) fn small_disk() -> DiskSpec {
    DiskSpec::example()
}
