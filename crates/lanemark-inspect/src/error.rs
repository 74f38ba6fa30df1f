//! The errors of an inspection, each with its cause, its location, and a hint on how to continue.

use std::io;
use std::path::PathBuf;

use crate::lspci::LspciProblem;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The root cannot be opened.
    #[error("{} cannot be read as a sysfs tree: {source}", root.display())]
    Root {
        /// The root as the user wrote it.
        root: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A text that is not output of lspci, or does not contain storage.
    #[error("{}: {}", file.display(), lspci(problem))]
    Lspci {
        /// The file as the user wrote it.
        file: PathBuf,
        /// Reason why the text cannot be used.
        problem: LspciProblem,
    },
    /// The root does not contain block devices.
    #[error("{} does not contain block devices", root.display())]
    NoDevices {
        /// The root as the user wrote it.
        root: PathBuf,
    },
    /// No device has the given name.
    #[error("there is no block device `{name}`")]
    UnknownDevice {
        /// The name as the user wrote it.
        name: String,
        /// Similar names, or any names if no name is similar.
        nearest: Vec<String>,
    },
    /// The target is a path, but the tree does not belong to this machine.
    #[error("{} is a path, which is not valid in the tree {}", path.display(), root.display())]
    ForeignPath {
        /// The path as the user wrote it.
        path: PathBuf,
        /// The root as the user wrote it.
        root: PathBuf,
    },
    /// The path does not exist.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path as the user wrote it.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The path is not on a block device.
    #[error("{} is not on a block device{}", path.display(), file_system_clause(file_system))]
    NoDevice {
        /// The path as the user wrote it.
        path: PathBuf,
        /// Type of the path's file system, such as `tmpfs`.
        file_system: Option<String>,
    },
}

impl InspectError {
    /// Returns one line of advice on how to continue.
    pub fn hint(&self) -> String {
        match self {
            Self::Root { .. } | Self::NoDevices { .. } => {
                "name the folder that contains `block` and `devices`, such as /sys, or a capture FILE.tar of that folder"
                    .to_owned()
            }
            Self::Lspci { problem, .. } => lspci_hint(problem).to_owned(),
            Self::UnknownDevice { nearest, .. } if nearest.is_empty() => {
                "omit the name to see all devices".to_owned()
            }
            Self::UnknownDevice { nearest, .. } => {
                format!("the nearest names are {}; omit the name to see all devices", nearest.join(", "))
            }
            Self::ForeignPath { .. } => "name a device of that tree, such as nvme0n1".to_owned(),
            Self::Path { .. } => "name a device such as nvme0n1, or a path that exists".to_owned(),
            Self::NoDevice { .. } => {
                "name a path on a local disk; network, memory and overlay file systems \
                 are not stored on a block device"
                    .to_owned()
            }
        }
    }
}

fn lspci(problem: &LspciProblem) -> String {
    match problem {
        LspciProblem::Empty => "is empty".to_owned(),
        LspciProblem::NotLspci => "the text does not contain a PCI function".to_owned(),
        LspciProblem::LinksOnly => {
            "the text contains lines about links (LnkCap, LnkSta) but not the lines that name their functions"
                .to_owned()
        }
        LspciProblem::MachineReadable => {
            "the text is output of `lspci -vmm`, which does not print links".to_owned()
        }
        LspciProblem::BrokenTree => {
            "the tree of `lspci -tv` has lost its line breaks or indentation".to_owned()
        }
        LspciProblem::NoStorage { functions } => {
            let count = if *functions == 1 { "function" } else { "functions" };
            format!("there is no storage controller among its {functions} PCI {count}")
        }
        LspciProblem::NoClass { functions, slow } => {
            let links = match slow.as_slice() {
                [] => "no link runs below its capability".to_owned(),
                slow => slow.join("; "),
            };
            format!(
                "the classes of its {functions} PCI functions are missing, so that storage controllers are not recognised: {links}"
            )
        }
    }
}

fn lspci_hint(problem: &LspciProblem) -> &'static str {
    match problem {
        LspciProblem::Empty | LspciProblem::NotLspci | LspciProblem::MachineReadable => {
            "use the whole output of `sudo lspci -vvv`, or the tree of `lspci -tv`"
        }
        LspciProblem::LinksOnly | LspciProblem::NoClass { .. } => {
            "also include the function's first line, such as `01:00.0 Non-Volatile memory controller: \
             …`, or preferably the whole output of `sudo lspci -vvv`"
        }
        LspciProblem::BrokenTree => {
            "save it with `lspci -tv > lspci.txt`, or use the output of `sudo lspci -vvv`, which does not depend on columns"
        }
        LspciProblem::NoStorage { .. } => {
            "use the whole output of `sudo lspci -vvv`; drives without a PCI controller, such as \
             eMMC, UFS or SD cards, are shown by `lanemark inspect` on the machine itself"
        }
    }
}

fn file_system_clause(file_system: &Option<String>) -> String {
    file_system.as_ref().map_or(String::new(), |kind| format!(", but on {kind}"))
}
