//! A reading from the server of a measured drive, the list of mounts, and the head of an HTTP query. Figures can be
//! computed from every accepted reading, and the answer to every query is short.

use lanemark_files::mounts;
use lanemark_serve::query_server;
use lanemark_serve::reading::SystemReading;

pub(crate) fn read(bytes: &[u8]) {
    for mount in mounts::parse(bytes) {
        assert!(mounts::mount_at(std::slice::from_ref(&mount), &mount.point).is_some());
    }
    let answer = query_server::http(&String::from_utf8_lossy(bytes), String::new);
    assert!(answer.starts_with("HTTP/1.1 ") && answer.len() < 256);
    let Ok(reading) = serde_json::from_slice::<SystemReading>(bytes) else { return };
    if reading.is_possible() {
        let live = reading.counters.since(&reading.counters).live();
        assert!(live.reads.is_none() && live.writes.is_none());
        reading.counters.live().verdict();
    }
}
