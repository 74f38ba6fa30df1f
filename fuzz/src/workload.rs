//! A workload file is read as valid tests or rejected.

use super::with_file;
use lanemark_study::library::Library;

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    with_file(text, |path| {
        let library = Library::built_in();
        let name = path.to_str().unwrap();
        if let Ok(workload) = lanemark_study::workload::open(&library, name) {
            workload.tests.iter().for_each(|test| test.check().unwrap());
        }
    });
}
