//! A small disk for tests.

use crate::spec::{DiskSpec, DiskZone, SeekSpec};
use lanemark_schema::units::{Bytes, Duration};

/// Returns a 7,200 rpm disk with two zones and a capacity of 78 MiB.
pub(crate) fn small_disk() -> DiskSpec {
    let us = Duration::from_microseconds;
    DiskSpec {
        rpm: 7_200,
        heads: 3,
        zones: vec![
            DiskZone { cylinders: 100, sectors_per_track: 333 },
            DiskZone { cylinders: 100, sectors_per_track: 201 },
        ],
        read_seek: SeekSpec { track_to_track: us(300), average: us(4_000), full_stroke: us(9_000) },
        write_seek: SeekSpec {
            track_to_track: us(500),
            average: us(4_500),
            full_stroke: us(9_700),
        },
        head_switch: us(400),
        track_skew: us(650),
        cylinder_skew: us(700),
        command_overhead: us(100),
        segments: 8,
        segment: Bytes::mebi(1),
        read_ahead: Bytes::kibi(512),
        write_cache: true,
        destage_window: 64,
        age_max: us(500_000),
        reorder_margin: us(0),
    }
}
