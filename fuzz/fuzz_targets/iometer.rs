//! Iometer's settings are read as valid tests or refused.
#![no_main]

use lanemark_schema::units::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(settings) = lanemark_formats::iometer::read(text, "a.icf", Some(Bytes::mebi(1024))) {
        settings.workload.tests.iter().for_each(|test| test.check().unwrap());
    }
});
