//! The start of a served system: the content of its drive, the self-test of this machine, and notes about both.

use lanemark_schema::result::{DEVIATION_MAX, OutsideTime, StartContent};
use lanemark_schema::text::grouped;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_serve::clock::TimeScale;
use lanemark_serve::needs::{self, DriveNeeds};
use lanemark_serve::selftest::MachineSpeed;
use lanemark_serve::session::is_content_free;
use lanemark_sim::spec::MediaSpec;
use lanemark_study::System;

/// If the latency of a small part of a disk is below this share of the usual latency, a note reports it.
const SHORT: f64 = 0.9;

/// The content of a drive at the start. It affects neither hard disks nor drives whose condition determines their
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartState {
    /// All sectors were just written.
    JustWritten,
    /// All sectors were written long before.
    Rested,
    /// The drive is empty.
    Empty,
}

/// Returns the content of a drive that stores `size` bytes, and the remark about it, if the content matters.
pub fn content(start: StartState, system: &System, size: u64) -> (StartContent, Option<String>) {
    let size = Bytes(size);
    let (written_bytes, is_just_written, state) = match start {
        StartState::JustWritten => (size, true, format!("with {size} of data, just written")),
        StartState::Rested => (size, false, format!("with {size} of data, written long before")),
        StartState::Empty => (Bytes::ZERO, false, "empty".to_owned()),
    };
    let remark = || format!("the drive starts {state} (--start)");
    let content = StartContent { written_bytes, is_just_written };
    (content, is_content_free(&system.spec).then(remark))
}

/// Returns the remark that a small part of a disk is faster than the whole disk.
pub fn short_stroke(system: &System, size: u64) -> Option<String> {
    if !matches!(system.spec.first().drive.media, MediaSpec::Disk(_)) {
        return None;
    }
    let size = Bytes(size);
    let capacity = system.capacity();
    let drive = system.spec.device_side();
    let of = |span| needs::latency(&drive, span).map(Duration::as_seconds);
    let short = of(size)?;
    let whole = of(capacity)?;
    let share = 100.0 * size.get() as f64 / capacity.get() as f64;
    let remark = || {
        format!(
            "the disk's heads move less within {share:.1}% of the disk (--size): a random read takes {:.1} ms \
             instead of {:.1} ms",
            short * 1e3,
            whole * 1e3
        )
    };
    (short < SHORT * whole).then(remark)
}

/// Tests this machine, adds remarks that compare its speed with the drive's speed, and returns the time of a request
/// outside the server. If the self-test fails, a remark reports the failure, and the verdict omits that time.
pub fn self_test(
    system: &System,
    size: u64,
    time_scale: TimeScale,
    over_tcp: bool,
    remarks: &mut Vec<String>,
) -> Option<OutsideTime> {
    let needs = DriveNeeds::simulate(&system.spec, Bytes(size))?;
    let measured = MachineSpeed::measure(&system.spec, &needs, time_scale, over_tcp);
    let failed = |error| remarks.push(format!("the self-test failed: {error}"));
    let speed = measured.map_err(failed).ok()?;
    let us = |time: Duration| time.as_microseconds();
    remarks.push(format!(
        "this machine serves up to {} 4 KiB requests/s, and adds {:.0} µs (minimum {:.0} µs) to each \
         request at queue depth 1",
        rounded(speed.rate),
        us(speed.client) + us(speed.late),
        us(speed.round_trip)
    ));
    let scale = speed.scale_for(&needs, DEVIATION_MAX);
    if f64::from(scale) > time_scale.factor() {
        remarks.push(format!(
            "this drive reaches {} requests/s, and one request takes {:.0} µs including the host's \
             time; use --time-scale {scale}",
            rounded(needs.rate),
            us(needs.latency) + us(needs.host)
        ));
    }
    let host = needs.host.times(time_scale.factor());
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
