//! The storage paths of a real machine: every block device with its path from the processor.
//!
//! All data comes from one tree: the machine's `/sys`, a captured copy, or the tree that a text of lspci describes.
//! [`Sysfs`] is that tree: links are resolved inside it, every read is bounded, and unreadable files are recorded. An
//! [`Inspection`](lanemark_schema::result::Inspection) is plain data of the schema, so it can be saved with a result,
//! and `lanemark-report` draws it.
//!
//! In an inspection, `block` lists the devices and reads their limits; `below` finds the components of each device;
//! `path` walks from the root of the device tree down to a device and adds a hop for each known component, while `pci`,
//! `ata`, `sas`, `nvme` and `usb` read the links; `rate`, and no other module, converts a trained link to bytes a
//! second, with the simulator's formulas; and `finding` searches for limits.
//!
//! [`ceilings`] applies the simulator's formulas to the links of a path, for a test; [`explain()`] compares a measured
//! run with these ceilings and with the machine's counters during the run.
//!
//! To add a finding, add a variant to [`Finding`](lanemark_schema::result::Finding) and a rule to `finding`. To add a
//! bus, add a variant to `ComponentKind` in `path` and a reader.
//!
//! An inspection does not query devices (with an ioctl or an identify command) or measure them. It does not guess
//! values that sysfs does not show, such as the uplink of an Intel chipset, the backplane of a RAID controller, or
//! the host of a virtual device.
//!
//! Without the feature `machine`, only texts are read; the page uses the crate in this form.

mod ata;
mod below;
mod block;
#[cfg(feature = "machine")]
mod capture;
mod ceiling;
mod error;
mod explain;
mod finding;
mod inspect;
#[cfg(feature = "machine")]
mod locate;
mod lspci;
mod nvme;
mod path;
mod pci;
mod pcie_config;
mod rate;
mod sas;
mod scsi;
mod sysfs;
mod target;
mod tree;
mod usb;
mod value;

pub use ceiling::{ceilings, hardware};
pub use error::InspectError;
pub use explain::explain;
pub use inspect::inspect;
pub use lspci::LspciProblem;
pub use sysfs::Sysfs;
