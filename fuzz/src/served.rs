//! A reading from the server of a measured drive, and the list of mounts. Figures can be computed from every accepted
//! reading.

use lanemark_files::mounts;
use lanemark_serve::reading::SystemReading;

pub(crate) fn read(bytes: &[u8]) {
    for mount in mounts::parse(bytes) {
        assert!(mounts::mount_at(std::slice::from_ref(&mount), &mount.point).is_some());
    }
    let Ok(reading) = serde_json::from_slice::<SystemReading>(bytes) else { return };
    if reading.is_possible() {
        let live = reading.counters.since(&reading.counters).live();
        assert!(live.reads.is_none() && live.writes.is_none());
        reading.counters.live().verdict();
    }
}
