//! The file systems of a trial.

use std::fmt;
use std::str::FromStr;

/// A file system on each system of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, which a user without privileges can mount too.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
    /// The bare device.
    None,
}

impl FileSystem {
    /// All file systems with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Ext4, "ext4"), (Self::Xfs, "xfs"), (Self::Btrfs, "btrfs"), (Self::None, "none")];

    /// Returns the kernel's name of the file system; `None` for a bare device.
    pub fn name(self) -> Option<&'static str> {
        Self::ALL.iter().find(|(one, _)| *one == self && self != Self::None).map(|(_, name)| *name)
    }
}

impl FromStr for FileSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text).map(|(one, _)| *one);
        found.ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            format!("`{text}` is not a file system of a trial: expected one of {names}")
        })
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("none"))
    }
}
