//! The storage paths of a real machine: every block device with its path from the processor.
//!
//! All data comes from one folder, the machine's `/sys` or a captured copy of it. [`Sysfs`] is that folder: links are
//! resolved inside it, every read is bounded, and unreadable files are recorded. An
//! [`Inspection`](lanemark_schema::result::Inspection) is plain data of the schema, so it can be saved with a result,
//! and `lanemark-report` draws it.
//!
//! The life of an inspection: `block` lists the devices and reads their limits; `below` finds the components of each
//! device; `path` walks from the root of the device tree down to a device and makes a hop from each known part, with
//! `pci`, `ata`, `sas`, `nvme` and `usb` reading the links; `rate` is the only module that converts a trained link to
//! bytes a second, by the simulator's formulas; `finding` searches for the limits.
//!
//! [`ceilings`] applies the simulator's formulas to the links of a path, for a test; [`explain()`] compares a measured
//! run with them and with the machine's counters during the run.
//!
//! To extend it: a finding is an arm of [`Finding`](lanemark_schema::result::Finding) with its rule in `finding`; a bus
//! is an arm of `Part` in `path` with its reader.
//!
//! Not covered: no device is queried (no ioctl, no identify command), no measurement is made, and values that sysfs
//! does not show are not guessed: the uplink of an Intel chipset, the backplane behind a RAID controller, the host of a
//! virtual device.

mod ata;
mod below;
mod block;
mod capture;
mod ceiling;
mod error;
mod explain;
mod finding;
mod inspect;
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
mod usb;
mod value;

pub use ceiling::{ceilings, hardware};
pub use error::InspectError;
pub use explain::explain;
pub use inspect::inspect;
pub use lspci::LspciProblem;
pub use sysfs::Sysfs;
