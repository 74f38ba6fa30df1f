//! Output of fio with `--output-format=json`: every accepted result passes the check of results.

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(printed) = lanemark_formats::fio_json::read(text, "fio.json") {
        let imported = lanemark_formats::fio_json::results(printed, &Default::default());
        imported.into_iter().flatten().for_each(|one| one.result.check().unwrap());
    }
}
