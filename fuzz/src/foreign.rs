//! Results from other programs, and lists of drives: every accepted result passes the check of results.

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let check = |runs| {
        let imported = lanemark_formats::foreign::results(runs, &Default::default());
        imported.into_iter().flatten().for_each(|one| one.result.check().unwrap());
    };
    // The name of a log of fio determines the meaning of its values, and the averaged logs of a job are one result.
    let logs = ["it_bw.log", "it_iops.log", "it_lat.log"];
    let all = logs.map(|name| lanemark_formats::foreign::read(text, name).unwrap_or_default());
    all.iter().cloned().for_each(check);
    check(all.concat());
    if lanemark_formats::drives::is_ours(text) {
        let _ = lanemark_formats::drives::read(text, "it.txt");
    }
    if let Ok(words) = lanemark_formats::fio::words(text, "fio") {
        let _ = lanemark_formats::fio::command(&words, "fio");
    }
}
