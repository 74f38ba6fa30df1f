//! States of a drive that change so slowly that the first batches of a run do not show the change.

use super::Convergence;
use crate::spec::{DriveCondition, DriveSpec, MediaSpec, SystemSpec, WriteCacheMode};
use lanemark_schema::workload::Test;

/// Minimum number of writes in a steady part, as a multiple of the window from which a disk chooses buffered writes.
const DESTAGE_WINDOWS: u64 = 128;
/// Minimum number of superblocks that a steady part of reads and writes in order fills.
const SUPERBLOCKS: u64 = 16;

impl Convergence {
    /// Returns `rule` for a test of `spec`, whose drives have slow transients:
    ///
    /// - Writes in order change the layout that random writes have left, so a steady part begins after the writes have
    ///   passed their span once.
    /// - A disk writes its buffered data in the order of positioning times. Data at unfavourable positions accumulates
    ///   in the window from which the disk chooses, so that the rate oscillates with a period of many windows.
    /// - If reads and writes in order meet at the same dies, their phase remains the same until the writes continue in
    ///   another superblock. The phase does not matter if a request occupies all dies.
    pub(in crate::run::driver) fn with_slow_states(
        spec: &SystemSpec,
        test: &Test,
        rule: Self,
    ) -> Self {
        if !test.writes() {
            return rule;
        }
        let scattered = |drive: &DriveSpec| match &drive.media {
            MediaSpec::Flash(flash) => flash.condition == DriveCondition::Random,
            MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
        };
        let window = |drive: &DriveSpec| {
            if let MediaSpec::Disk(disk) = &drive.media
                && drive.write_cache != WriteCacheMode::Off
            {
                u64::from(disk.destage_window)
            } else {
                0
            }
        };
        let superblock = |drive: &DriveSpec| {
            if let MediaSpec::Flash(flash) = &drive.media
                && test.block < flash.unit() * flash.dies()
            {
                flash.superblock().get()
            } else {
                0
            }
        };
        let meet = test.is_in_order() && test.reads();
        let superblock = spec.drive_specs().map(superblock).max().filter(|_| meet).unwrap_or(0);
        let changes_layout = test.is_in_order() && spec.drive_specs().any(scattered);
        let window = spec.drive_specs().map(window).max().unwrap_or(0);
        Self {
            first_pass: if changes_layout { test.span.get() } else { 0 },
            written_min: superblock * SUPERBLOCKS,
            least: rule.least.max(window * DESTAGE_WINDOWS),
            has_disk_buffer: window > 0,
            ..rule
        }
    }
}
