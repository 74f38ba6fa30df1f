//! The memory of a simulation, estimated before it starts.
//!
//! Nearly all memory of a simulation is the record of the data that it writes to flash. The estimate is a lower bound:
//! it is known for tests that end with their volume, and that write in order or uniformly at random. Tests with other
//! ends or patterns are estimated as zero. Garbage collection, which moves more data, is not included. The memory of a
//! running simulation is checked in addition ([`Storage`](crate::Storage)).

use crate::drive::{in_order_bytes, scattered_bytes};
use crate::spec::{MediaSpec, SLOT, SystemSpec};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Pattern, Test};

/// Returns the memory that a simulation of the whole `test` needs at least for the data that it writes.
///
/// ```
/// use lanemark_schema::workload::Test;
/// use lanemark_sim::{SystemSpec, memory_needed};
///
/// let spec = SystemSpec::example();
/// let in_order = Test::sequential_write("1 MiB").span("32 MiB").volume("32 MiB").build()?;
/// let random = Test::random_write("4 KiB").span("32 MiB").volume("32 MiB").build()?;
/// assert!(memory_needed(&spec, &in_order) < memory_needed(&spec, &random));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn memory_needed(spec: &SystemSpec, test: &Test) -> Bytes {
    let (Some(volume), None, Some(requests)) = (test.volume, test.duration, test.requests()) else {
        return Bytes::ZERO;
    };
    let is_mapped = |media: &MediaSpec| match media {
        MediaSpec::Flash(flash) => !flash.technology.in_place(),
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
    };
    let is_plain =
        requests.mix.is_plain() && spec.drive_specs().all(|drive| is_mapped(&drive.media));
    if !is_plain || test.rounds.is_some() {
        return Bytes::ZERO;
    }
    // A volume spreads the data of its only target over its drives.
    let per_drive = spec.targets().len() as f64 / spec.drives() as f64;
    let slots = |bytes: f64| bytes / SLOT.get() as f64 * per_drive;
    let written = slots(volume.get() as f64 * (1.0 - requests.read_share.get()));
    let span = slots(test.span.get() as f64);
    let of_drive = if requests.pattern == Pattern::Sequential {
        in_order_bytes(written.min(span) as u64)
    } else if requests.pattern == Pattern::Uniform && test.block <= SLOT {
        scattered_bytes((span * -libm::expm1(-written / span)) as u64)
    } else {
        0
    };
    Bytes(of_drive.saturating_mul(spec.drives() as u64))
}
