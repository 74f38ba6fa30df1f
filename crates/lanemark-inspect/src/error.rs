//! The errors of an inspection: what, where, and one hint how to go on.

use std::io;
use std::path::PathBuf;

/// The error of an inspection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The root cannot be opened.
    #[error("{}: it cannot be read as a sysfs tree: {source}", root.display())]
    Root {
        /// The root as given.
        root: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A text that is none of lspci's.
    #[error("{}: tells of no PCI function", file.display())]
    NoText {
        /// The file as given.
        file: PathBuf,
    },
    /// The root has no block devices.
    #[error("{}: there are no block devices in it", root.display())]
    NoDevices {
        /// The root as given.
        root: PathBuf,
    },
    /// No device has that name.
    #[error("there is no block device `{name}`")]
    UnknownDevice {
        /// The name as given.
        name: String,
        /// Names that are like it, or any where none is.
        nearest: Vec<String>,
    },
    /// A path, and the tree is not this machine's.
    #[error("{}: a path means nothing in the tree {}", path.display(), root.display())]
    ForeignPath {
        /// The path as given.
        path: PathBuf,
        /// The root as given.
        root: PathBuf,
    },
    /// The path leads nowhere.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The path lies on no block device.
    #[error("{}: it lies on no block device{}", path.display(), told(file_system))]
    NoDevice {
        /// The path as given.
        path: PathBuf,
        /// File system that the path lies on instead, `tmpfs`.
        file_system: Option<String>,
    },
}

impl InspectError {
    /// Returns one line on how to go on.
    pub fn hint(&self) -> String {
        match self {
            Self::Root { .. } | Self::NoDevices { .. } => {
                "name the folder that holds `block` and `devices`, as /sys does, or a capture of it, FILE.tar"
                    .to_owned()
            }
            Self::NoText { .. } => {
                "give what `lspci -vvv` or `lspci -tv` printed, whole".to_owned()
            }
            Self::UnknownDevice { nearest, .. } if nearest.is_empty() => {
                "leave it out to see all devices".to_owned()
            }
            Self::UnknownDevice { nearest, .. } => {
                format!("the nearest names are {}; leave it out to see all", nearest.join(", "))
            }
            Self::ForeignPath { .. } => "name a device of that tree, such as nvme0n1".to_owned(),
            Self::Path { .. } => "name a device such as nvme0n1, or a path that exists".to_owned(),
            Self::NoDevice { .. } => {
                "name a path on a local disk: network, memory and overlay file systems have none"
                    .to_owned()
            }
        }
    }
}

fn told(file_system: &Option<String>) -> String {
    file_system.as_ref().map_or(String::new(), |kind| format!(", but on {kind}"))
}
