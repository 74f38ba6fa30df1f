//! A drive with 3D XPoint from its ratings.

use super::completion::{MissingValues, RatingUnit};
use super::flash::{host, rate};
use super::printed::{BoxRatings, PAGE};
use super::priors::ControllerPrior;

/// Completes the file of a 3D XPoint drive with 28 dies that are written in place. The times of the media for reads and
/// writes are the rated times minus the other times of a request.
pub(super) fn phase_change(
    rated: &BoxRatings,
    controller: &ControllerPrior,
    out: &mut MissingValues,
) {
    const DIES: f64 = 28.0;
    const BLOCK: f64 = 256.0 * PAGE;
    let why = "like the first 3D XPoint drives";
    for (place, text) in [
        ("flash.technology", "3d-xpoint"),
        ("flash.channels", "7"),
        ("flash.dies_per_channel", "4"),
        ("flash.planes", "1"),
        ("flash.page", "4 KiB"),
        ("flash.pages_per_block", "256"),
        ("flash.read", "1 us"),
        ("flash.program", "10 us"),
        ("flash.erase", "1 us"),
        ("flash.channel_rate", "2400 MB/s"),
        ("flash.command_time", "50 ns"),
    ] {
        out.add_assumed(place, text.to_owned(), why);
    }
    let blocks = (1.1 * rated.capacity / DIES / BLOCK).ceil();
    out.add_derived(
        "flash.blocks_per_plane",
        RatingUnit::Count.text(blocks),
        "the capacity plus a tenth",
    );
    let random = rate(rated.random_read, &controller.random_read);
    let fixed = host(rated.protocol) + PAGE / (0.85 * rated.link) + 1.0 / random + 3e-6;
    let usual = 14e-6;
    for (place, one) in [
        ("front_end.read_latency", rated.one_read.unwrap_or(usual)),
        ("front_end.write_latency", rated.one_write.unwrap_or(usual)),
    ] {
        let why = format!("{:.0} µs per request at queue depth 1", one * 1e6);
        out.add_derived(place, RatingUnit::Time.text((one - fixed).max(0.0)), why);
    }
}
