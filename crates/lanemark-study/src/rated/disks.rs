//! A hard disk from its ratings.

use super::completion::{MissingValues, RatingUnit};
use super::printed::{BoxRatings, Market};
use super::priors::{Prior, Priors};

const SECTOR: f64 = 512.0;
/// Ratio of the sectors in the innermost tracks to the sectors in the outermost tracks: about half.
const INNER: f64 = 0.5;
const ZONES: f64 = 16.0;
/// The maximum number of tracks per surface.
const TRACKS_MAX: f64 = 900_000.0;
/// Ratio of the seek time to the next track for writes to the seek time for reads, as in data sheets.
const WRITE_SETTLE: f64 = 1.2;

/// Ratio of a server disk's seek time to the next track to a desktop disk's seek time. Nearline disks reach their rated
/// random reads with half of a desktop disk's time.
const SERVER_SETTLE: f64 = 0.5;

/// The time that the firmware needs before it moves the arm for a read, in seconds.
const OVERHEAD: f64 = 0.2e-3;
/// The share of a revolution for which the arm of a desktop disk stays on its track to read ahead, even if a single
/// command is waiting. A queue of commands hides this time.
const LINGERING: f64 = 0.25;
/// The range of this share.
const LINGERING_RANGE: [f64; 2] = [0.02, 0.55];

/// Sets the command overhead: the time from the arrival of a read until the arm moves.
fn command_overhead(market: Market, revolution: f64, out: &mut MissingValues) {
    let place = "disk.command_overhead";
    match market {
        Market::DataCenter => {
            let why = "data sheets state seek times with and without this overhead";
            out.add_assumed(place, RatingUnit::Time.text(OVERHEAD), why);
        }
        Market::Client => {
            let why = "firmware, and a quarter of a revolution in which a desktop disk still reads ahead: this time makes a \
                       single read on four training disks 1.36 times as long, and queued reads hide it";
            let time = |share: f64| OVERHEAD + share * revolution;
            let range = Some(LINGERING_RANGE.map(time));
            let prior = Prior { value: time(LINGERING), range, why: why.to_owned() };
            out.add_prior(place, RatingUnit::Time, &prior, 1.0);
        }
    }
}

/// Completes the file of a hard disk.
pub(super) fn complete(rated: &BoxRatings, priors: &Priors, out: &mut MissingValues) {
    let rpm = rated.disk.rpm.unwrap_or(7200);
    let usual = priors.disk(rpm, rated.year);
    out.add_assumed("front_end.engines", "1".to_owned(), "one processor");
    for place in ["front_end.read_time", "front_end.write_time"] {
        out.add_assumed(place, "20 us".to_owned(), "decoding, and the cache lookup");
    }
    for place in ["front_end.read_latency", "front_end.write_latency"] {
        out.add_assumed(place, "0 us".to_owned(), "the remaining time is command_overhead");
    }
    let cache = rated.disk.cache.unwrap_or(usual.cache);
    out.add_assumed(
        "buffer.capacity",
        RatingUnit::Size.text(cache / 4.0),
        "a quarter of the cache, for writes",
    );

    out.add_derived("disk.rpm", rpm.to_string(), "rated, or usual");

    let rate = rated.read.unwrap_or(usual.read.value);
    let settle = match rated.market {
        Market::Client => 1.0,
        Market::DataCenter => SERVER_SETTLE,
    };
    let next = rated.disk.track_to_track.unwrap_or(settle * usual.track_to_track.value);
    // A write needs slightly more time to settle than a read does.
    let write_next = WRITE_SETTLE * next;
    let skew = write_next + 0.05e-3;
    // The head transfers the data of a track in one revolution, and the next track begins after the skew.
    let outer = (rate * (60.0 / rpm as f64 + skew) / SECTOR).round().clamp(64.0, 65_535.0);
    let inner = (outer * INNER).round().max(1.0);
    let track = (outer + inner) / 2.0 * SECTOR;
    // A surface has up to the usual number of tracks for disks with this rate, and the capacity determines the number
    // of surfaces.
    let needed = (rated.capacity / track / TRACKS_MAX).ceil() as u64;
    let heads = rated.disk.heads.unwrap_or(usual.heads.max(needed)).min(64);
    out.add_assumed("disk.heads", heads.to_string(), format!("usual: {}", usual.name));
    let cylinders =
        (1.003 * rated.capacity / track / heads as f64).ceil().clamp(ZONES, 1_048_576.0);
    out.add_assumed(
        "disk.zones.count",
        RatingUnit::Count.text(ZONES),
        "the number of zones is not published",
    );
    out.add_derived("disk.zones.cylinders", RatingUnit::Count.text(cylinders), "the capacity");
    let why = format!("{:.0} MB/s at {rpm} rpm", rate / 1e6);
    out.derived_within("disk.zones.sectors_outer", RatingUnit::Count, outer, 0.93..=1.05, why);
    out.add_derived(
        "disk.zones.sectors_inner",
        RatingUnit::Count.text(inner),
        "half of the outermost tracks",
    );

    for place in ["disk.head_switch", "disk.track_skew", "disk.cylinder_skew"] {
        let time = if place == "disk.head_switch" { next } else { skew };
        out.add_derived(place, RatingUnit::Time.text(time), "a seek to the next track");
    }
    let average = rated.disk.average_seek.unwrap_or(usual.average_seek.value);
    let write = rated.disk.average_write_seek.unwrap_or(average + 1e-3);
    let kinds = [
        (
            [
                "disk.read_seek.track_to_track",
                "disk.read_seek.average",
                "disk.read_seek.full_stroke",
            ],
            average,
            next,
        ),
        (
            [
                "disk.write_seek.track_to_track",
                "disk.write_seek.average",
                "disk.write_seek.full_stroke",
            ],
            write,
            write_next,
        ),
    ];
    for ([first, middle, last], average, next) in kinds {
        out.add_derived(first, RatingUnit::Time.text(next), "rated, or usual");
        match rated.disk.average_seek {
            Some(_) => out.add_derived(middle, RatingUnit::Time.text(average), "rated"),
            None => {
                let scale = average / usual.average_seek.value;
                let Prior { value, range, why } = &usual.average_seek;
                let prior = Prior { value: *value, range: *range, why: why.clone() };
                out.add_prior(middle, RatingUnit::Time, &prior, scale);
            }
        }
        out.add_derived(
            last,
            RatingUnit::Time.text(2.1 * average),
            "about twice the average, as in data sheets",
        );
    }
    for (place, text, why) in [
        ("disk.segments", "32", "usual"),
        ("disk.write_cache", "on", "the factory setting of disks"),
        (
            "disk.destage_window",
            "512",
            "disks sort more buffered writes than the 32 queued commands of a link",
        ),
        ("disk.age_max", "1 s", "far below the 30 s timeout of hosts"),
    ] {
        out.add_assumed(place, text.to_owned(), why);
    }
    command_overhead(rated.market, 60.0 / rpm as f64, out);
    match rated.market {
        Market::Client => {
            out.add_prior("disk.reorder_margin", RatingUnit::Time, &usual.reorder_margin, 1.0);
        }
        Market::DataCenter => {
            let why = "without a margin, nearline disks reach their rated 170 reads a second at queue depth 16";
            out.add_assumed("disk.reorder_margin", "0 ms".to_owned(), why);
        }
    }
    for place in ["disk.segment", "disk.read_ahead"] {
        out.add_assumed(place, "1 MiB".to_owned(), "about one track");
    }
}
