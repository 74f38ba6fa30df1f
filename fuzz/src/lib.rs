//! Help for several targets: a text as a file, since what is opened by its path is read so.

use std::path::Path;

/// Hands `text` as a file to `read`.
pub fn with_file(text: &str, read: impl FnOnce(&Path)) {
    let file = tempfile::Builder::new().suffix(".toml").tempfile_in("/dev/shm").unwrap();
    std::fs::write(file.path(), text).unwrap();
    read(file.path());
}
