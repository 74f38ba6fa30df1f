//! The data that a simulated drive writes to its flash, by reason.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The data that a simulated drive has written to its flash since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveUse {
    /// Bytes written by the host, in whole slots.
    #[serde(rename = "host_written_bytes")]
    pub host_written: Bytes,
    /// Valid data moved by collection and wear levelling.
    #[serde(rename = "moved_bytes")]
    pub moved: Bytes,
    /// Data moved out of the pseudo-SLC cache.
    #[serde(rename = "folded_bytes")]
    pub folded: Bytes,
    /// Bytes left empty because a unit had to be stored before it was full.
    #[serde(rename = "padded_bytes")]
    pub padded: Bytes,
    /// Data written to store pages of the map.
    #[serde(rename = "map_written_bytes")]
    pub map_written: Bytes,
    /// Number of erased superblocks.
    pub superblocks_erased: u64,
    /// Erased flash, beyond the amount that collection maintains, that was used up. While this amount increases,
    /// collection has not begun.
    #[serde(rename = "erased_used_bytes", default, skip_serializing_if = "Bytes::is_zero")]
    pub erased_used: Bytes,
    /// Bytes in the write buffer; in a sample, the increase during the sample.
    #[serde(rename = "buffered_bytes", default, skip_serializing_if = "Bytes::is_zero")]
    pub buffered: Bytes,
    /// Bytes in the cache of a RAID adapter upstream of the drives, counted like [`DriveUse::buffered`].
    #[serde(rename = "adapter_cached_bytes", default, skip_serializing_if = "Bytes::is_zero")]
    pub adapter_cached: Bytes,
}

/// Maximum share of the written data that may fill empty space in the buffer without a warning.
pub const FILLING_MAX: f64 = 0.01;

/// Maximum amount of erased flash that a drive in its steady state uses up, as a share of the host's writes.
const ERASED_USED_MAX: f64 = 0.05;

impl DriveUse {
    /// Returns the total amount of data written to flash.
    pub fn flash_written(&self) -> Bytes {
        self.host_written + self.moved + self.folded + self.padded + self.map_written
    }

    /// Returns the bytes written to flash per byte that the host wrote, or `None` if the host wrote nothing.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.host_written.get() as f64;
        (host > 0.0).then(|| self.flash_written().get() as f64 / host)
    }

    /// Returns the share of the host's writes that only filled free space in the buffer and the adapter. The drive
    /// cannot sustain this part of the rate.
    pub fn filling(&self) -> f64 {
        let host = (self.host_written + self.adapter_cached).get() as f64;
        let filled = (self.buffered + self.adapter_cached).get() as f64;
        if host > 0.0 { (filled / host).min(1.0) } else { 0.0 }
    }

    /// Returns whether the host's writes use up erased flash, so that the drive will change at its end.
    pub fn uses_up_flash(&self) -> bool {
        self.erased_used.get() as f64 > ERASED_USED_MAX * self.host_written.get() as f64
    }

    /// Returns the bytes written since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let increase = |now: Bytes, before: Bytes| Bytes(now.get().saturating_sub(before.get()));
        Self {
            host_written: self.host_written - earlier.host_written,
            moved: self.moved - earlier.moved,
            folded: self.folded - earlier.folded,
            padded: self.padded - earlier.padded,
            map_written: self.map_written - earlier.map_written,
            superblocks_erased: self.superblocks_erased - earlier.superblocks_erased,
            erased_used: increase(self.erased_used, earlier.erased_used),
            buffered: increase(self.buffered, earlier.buffered),
            adapter_cached: increase(self.adapter_cached, earlier.adapter_cached),
        }
    }

    /// Returns the writes multiplied by `factor`, usually a share from 0 to 1. The amount of data that filled the
    /// buffers is multiplied by the same factor.
    #[must_use]
    pub fn thinned(&self, factor: f64) -> Self {
        let scaled_down = |bytes: Bytes| Bytes((bytes.get() as f64 * factor).round() as u64);
        Self {
            host_written: scaled_down(self.host_written),
            moved: scaled_down(self.moved),
            folded: scaled_down(self.folded),
            padded: scaled_down(self.padded),
            map_written: scaled_down(self.map_written),
            superblocks_erased: (self.superblocks_erased as f64 * factor).round() as u64,
            erased_used: scaled_down(self.erased_used),
            buffered: scaled_down(self.buffered),
            adapter_cached: scaled_down(self.adapter_cached),
        }
    }

    /// Adds the writes of another drive.
    pub fn add(&mut self, other: &Self) {
        self.host_written += other.host_written;
        self.moved += other.moved;
        self.folded += other.folded;
        self.padded += other.padded;
        self.map_written += other.map_written;
        self.superblocks_erased += other.superblocks_erased;
        self.erased_used += other.erased_used;
        self.buffered += other.buffered;
        self.adapter_cached += other.adapter_cached;
    }

    /// Returns `factor` times as many writes.
    #[must_use]
    pub fn times(&self, factor: u64) -> Self {
        let multiplied = |bytes: Bytes| Bytes(bytes.get().saturating_mul(factor));
        let Self {
            host_written,
            moved,
            folded,
            padded,
            map_written,
            superblocks_erased,
            erased_used,
            buffered,
            adapter_cached,
        } = *self;
        Self {
            host_written: multiplied(host_written),
            moved: multiplied(moved),
            folded: multiplied(folded),
            padded: multiplied(padded),
            map_written: multiplied(map_written),
            superblocks_erased: superblocks_erased.saturating_mul(factor),
            erased_used: multiplied(erased_used),
            buffered: multiplied(buffered),
            adapter_cached: multiplied(adapter_cached),
        }
    }
}
