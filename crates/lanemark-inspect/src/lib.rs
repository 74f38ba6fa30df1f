//! The storage paths of a real machine: every block device with its way from the processor.
//!
//! All comes from one folder, the machine's `/sys` or a captured copy of it. [`Sysfs`] is that folder:
//! links are resolved inside it, every read is bounded, and what could not be read is written down. An
//! [`Inspection`](lanemark_core::result::Inspection) is plain data of core, so it can be saved with a
//! result, and `lanemark-report` draws it.
//!
//! The life of an inspection: `block` lists the devices and reads their limits; `below` says what each is
//! made of; `way` walks from the root of the device tree down to a device and makes a hop of each part
//! that it knows, with `pci`, `ata`, `sas`, `nvme` and `usb` reading the links; `rate` is the one place
//! that turns a trained link into bytes a second, by core's laws; `finding` looks for what limits them.
//!
//! [`ceilings`] are the laws of core applied to the links of a path, for a test; [`explain()`] holds a measured run
//! against them and against what the machine showed meanwhile.
//!
//! Where to go on: a finding is an arm of
//! [`Finding`](lanemark_core::result::Finding) with its rule in `finding`; a bus is an arm of `Part` in
//! `way` with its reader.
//!
//! Not done here: nothing is asked of a device itself (no ioctl, no identify command), nothing is
//! measured, and what sysfs does not show is not guessed: the uplink of an Intel chipset, the backplane
//! behind a RAID controller, the host behind a virtual device.

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
mod pci;
mod pcie_config;
mod rate;
mod sas;
mod scsi;
mod sysfs;
mod target;
mod usb;
mod value;
mod way;

pub use ceiling::{ceilings, hardware};
pub use error::InspectError;
pub use explain::explain;
pub use inspect::inspect;
pub use sysfs::Sysfs;
