//! What fio prints with `--output-format=json`: what is read of it passes the check of results.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(imported) = lanemark_formats::fio_json::read(text, "fio.json") {
        imported.result.check().unwrap();
    }
});
