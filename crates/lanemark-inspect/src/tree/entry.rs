//! The kinds of entries in a tree.

/// Maximum number of bytes that are read from a file; nearly all sysfs files contain up to one page.
pub(crate) const READ_MAX: u64 = 64 * 1024;

/// The kind of an entry. A link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    Link,
    File,
    /// A device or a named pipe, which a captured tree may contain.
    #[cfg(feature = "machine")]
    Special,
}
