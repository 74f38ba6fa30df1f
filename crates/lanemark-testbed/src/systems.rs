//! Names of library systems that tests of several crates use.

/// Path of the drive file of [`SATA`].
pub const DRIVE: &str = "library/drives/samsung-850-pro-1tb.toml";
/// A SATA drive on a port of the chipset.
pub const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
/// An NVMe drive in a slot attached to the processor.
pub const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
