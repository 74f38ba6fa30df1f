//! The reading of a server of a measured drive, and the list of mounts: figures follow from every reading that is read.
#![no_main]

use lanemark_files::mounts;
use lanemark_serve::reading::ServedReading;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for mount in mounts::parse(bytes) {
        assert!(mounts::at(std::slice::from_ref(&mount), &mount.point).is_some());
    }
    let Ok(reading) = serde_json::from_slice::<ServedReading>(bytes) else { return };
    if reading.is_possible() {
        let live = reading.counters.since(&reading.counters).live();
        assert!(live.reads.is_none() && live.writes.is_none());
        reading.counters.live().verdict();
    }
});
