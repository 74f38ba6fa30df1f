//! Helper for several targets: a text as a file, because some inputs are opened by their path.

use std::path::Path;

/// Passes `text` as a file to `read`.
pub fn with_file(text: &str, read: impl FnOnce(&Path)) {
    let file = tempfile::Builder::new().suffix(".toml").tempfile_in("/dev/shm").unwrap();
    std::fs::write(file.path(), text).unwrap();
    read(file.path());
}
