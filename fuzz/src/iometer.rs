//! Iometer settings are read as valid tests or rejected.

use lanemark_schema::units::Bytes;

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(settings) = lanemark_formats::iometer::read(text, "a.icf", Some(Bytes::mebi(1024))) {
        settings.workload.tests.iter().for_each(|test| test.check().unwrap());
    }
}
