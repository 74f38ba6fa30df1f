//! Reads a journal of written data, and compares it with a target of zeros.

use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use lanemark_measure::EngineKind;
use lanemark_verify::Check;
use tempfile::NamedTempFile;

static STOP: AtomicBool = AtomicBool::new(false);
static TARGET: LazyLock<NamedTempFile> = LazyLock::new(|| {
    let file = NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    file
});

pub(crate) fn read(bytes: &[u8]) {
    let mut journal = NamedTempFile::new_in("/dev/shm").unwrap();
    journal.write_all(bytes).unwrap();
    let check = Check {
        path: TARGET.path(),
        journal: journal.path(),
        since: None,
        engine: EngineKind::Synchronous,
        stop: &STOP,
    };
    let _ = check.run(&mut |_| ());
}
