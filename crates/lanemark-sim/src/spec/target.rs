//! The targets of requests: the volume of a system, or its drives.
//!
//! Not modelled: several namespaces on an NVMe drive (NVM Express 1.2, 6.1).

use crate::spec::SystemSpec;
use lanemark_schema::units::Bytes;

impl SystemSpec {
    /// Returns the capacities of [`SystemSpec::targets`], in the same order.
    pub fn capacities(&self) -> Vec<Bytes> {
        self.volume_capacity().map_or_else(|| self.drive_capacities(), |capacity| vec![capacity])
    }

    /// Returns the numbers of all drives, or 0 for the volume if there is one.
    pub fn targets(&self) -> std::ops::Range<u16> {
        0..if self.volume.is_some() { 1 } else { self.drives() as u16 }
    }
}
