//! A workload file is read as valid tests or refused.
#![no_main]

use lanemark_fuzz::with_file;
use lanemark_study::library::Library;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    with_file(text, |path| {
        let library = Library::built_in();
        let name = path.to_str().unwrap();
        if let Ok(workload) = lanemark_study::workload::open(&library, name) {
            workload.tests.iter().for_each(|test| test.check().unwrap());
        }
    });
});
