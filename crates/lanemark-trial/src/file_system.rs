//! The file systems of a trial.

lanemark_schema::named_enum! {
    /// A file system on each system of a trial.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileSystem {
        /// ext4, which a user without privileges can mount too.
        Ext4 = "ext4",
        /// XFS.
        Xfs = "xfs",
        /// Btrfs.
        Btrfs = "btrfs",
        /// The bare device.
        None = "none",
    }
}

impl FileSystem {
    /// Returns the kernel's name of the file system; `None` for a bare device.
    pub(crate) fn kernel_name(self) -> Option<&'static str> {
        (self != Self::None).then(|| self.name())
    }
}
