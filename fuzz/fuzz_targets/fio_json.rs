//! Output of fio with `--output-format=json`: a result that is read passes the check of results.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(printed) = lanemark_formats::fio_json::read(text, "fio.json") {
        let imported = lanemark_formats::fio_json::results(printed, &Default::default());
        imported.into_iter().flatten().for_each(|one| one.result.check().unwrap());
    }
});
