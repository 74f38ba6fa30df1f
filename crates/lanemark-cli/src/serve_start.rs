//! The start of a served system: the content of its drive, the self-test of this machine, and notes about both.

use lanemark_schema::result::{DEVIATION_MAX, OutsideTime, StartContent};
use lanemark_schema::text::grouped;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_serve::needs::{self, DriveNeeds};
use lanemark_serve::selftest::MachineSpeed;
use lanemark_serve::session::is_content_free;
use lanemark_sim::spec::MediaSpec;
use lanemark_study::System;

use crate::args::{ServeArgs, StartArg};
use crate::messages::tell;

/// If the latency of a small part of a disk is below this share of the usual latency, a note reports it.
const SHORT: f64 = 0.9;

/// Returns the content of the drive at the start, and prints a note about it.
pub(crate) fn content(args: &ServeArgs, system: &System, size: u64) -> StartContent {
    let size = Bytes(size);
    let (written_bytes, is_just_written, state) = match args.start {
        StartArg::JustWritten => (size, true, format!("with {size} of data, just written")),
        StartArg::Rested => (size, false, format!("with {size} of data, written long before")),
        StartArg::Empty => (Bytes::ZERO, false, "empty".to_owned()),
    };
    if !args.no_latency && is_content_free(&system.spec) {
        tell!("note: the drive starts {state} (--start)");
    }
    StartContent { written_bytes, is_just_written }
}

/// Prints a note that a small part of a disk is faster than the whole disk.
pub(crate) fn note_short_stroke(system: &System, size: u64) {
    if !matches!(system.spec.first().drive.media, MediaSpec::Disk(_)) {
        return;
    }
    let size = Bytes(size);
    let capacity = system.capacity();
    let drive = system.spec.device_side();
    let of = |span| needs::latency(&drive, span).map(Duration::as_seconds);
    if let (Some(short), Some(whole)) = (of(size), of(capacity))
        && short < SHORT * whole
    {
        let share = 100.0 * size.get() as f64 / capacity.get() as f64;
        tell!(
            "note: the disk's heads move less within {share:.1}% of the disk (--size): a random read takes {:.1} ms \
             instead of {:.1} ms",
            short * 1e3,
            whole * 1e3
        );
    }
}

/// Tests this machine, prints a note that compares its speed with the drive's speed, and returns the time of a request
/// outside the server. If the self-test fails, a note reports the failure, and the verdict omits that time.
pub(crate) fn self_test(args: &ServeArgs, system: &System, size: u64) -> Option<OutsideTime> {
    if args.no_self_test || args.no_latency {
        return None;
    }
    let needs = DriveNeeds::simulate(&system.spec, Bytes(size))?;
    let over_tcp = args.port.is_some();
    let speed = match MachineSpeed::measure(&system.spec, &needs, args.time_scale, over_tcp) {
        Ok(speed) => speed,
        Err(error) => {
            tell!("note: the self-test failed: {error}");
            return None;
        }
    };
    let us = |time: Duration| time.as_microseconds();
    tell!(
        "note: this machine serves up to {} 4 KiB requests/s, and adds {:.0} µs (minimum {:.0} µs) to each \
         request at queue depth 1",
        rounded(speed.rate),
        us(speed.client) + us(speed.late),
        us(speed.round_trip)
    );
    let scale = speed.scale_for(&needs, DEVIATION_MAX);
    if f64::from(scale) > args.time_scale.factor() {
        tell!(
            "note: this drive reaches {} requests/s, and one request takes {:.0} µs including the host's \
             time; use --time-scale {scale}",
            rounded(needs.rate),
            us(needs.latency) + us(needs.host)
        );
    }
    let host = needs.host.times(args.time_scale.factor());
    Some(OutsideTime { client: speed.client, host })
}

/// Formats a rate with two significant digits and commas between thousands.
fn rounded(rate: f64) -> String {
    let step = 10f64.powf((rate.max(1.0).log10().floor() - 1.0).max(0.0));
    grouped(&format!("{:.0}", (rate / step).round() * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_two_digits_and_separators() {
        for (rate, text) in [
            (0.0, "0"),
            (7.4, "7"),
            (84.0, "84"),
            (137_245.0, "140,000"),
            (1_349_999.0, "1,300,000"),
            (996.0, "1,000"),
        ] {
            assert_eq!(rounded(rate), text);
        }
    }
}
