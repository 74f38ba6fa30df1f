//! A study file is read or rejected. Its systems pass the check of systems.

use super::with_file;
use lanemark_study::Study;
use lanemark_study::library::Library;

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    with_file(text, |path| {
        if let Ok(study) = Study::open(&Library::built_in(), path) {
            study.systems().for_each(|(_, system, _)| system.spec.check().unwrap());
        }
    });
}
