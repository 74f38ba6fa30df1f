//! The controller's command engines: decoding and firmware.

use super::bounds::{SpecError, check_step_times};
use lanemark_schema::units::Duration;

/// The command engines of a drive's controller.
///
/// A new value needs a field here and in [`FrontEndSpec::INSTANT`]. The compiler then reports every location that must
/// handle the value: the times below, the simulated engines (`drive/front_end.rs`), their ceiling (`run/ceiling.rs`),
/// and the reader of library files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEndSpec {
    /// Number of engines; each processes one command at a time.
    pub engines: u32,
    /// Time for which a read occupies an engine; this time limits the number of reads per second.
    pub read_time: Duration,
    /// Time for which a write occupies an engine.
    pub write_time: Duration,
    /// Time for which a read occupies an engine for each 4 KiB after the first, because the engine looks up the map
    /// unit by unit. The flash starts to read the first unit during this time.
    pub read_unit_time: Duration,
    /// Pipelined firmware time of a read, in addition to `read_time`.
    pub read_latency: Duration,
    /// Additional pipelined time of a read whose data was not read ahead, for commands to the media and error
    /// correction.
    pub miss_latency: Duration,
    /// Pipelined firmware time of a write, in addition to `write_time`.
    pub write_latency: Duration,
    /// Additional pipelined time of a flush if a power cut would lose data in the buffer, because the map's journal is
    /// stored after the data.
    pub flush_latency: Duration,
}

impl FrontEndSpec {
    /// One engine whose times are all zero.
    pub const INSTANT: Self = Self {
        engines: 1,
        read_time: Duration::ZERO,
        write_time: Duration::ZERO,
        read_unit_time: Duration::ZERO,
        read_latency: Duration::ZERO,
        miss_latency: Duration::ZERO,
        write_latency: Duration::ZERO,
        flush_latency: Duration::ZERO,
    };

    /// Returns every time with its key in a drive's file.
    pub(crate) fn times_mut(&mut self) -> [(&'static str, &mut Duration); 7] {
        let Self {
            engines: _,
            read_time,
            write_time,
            read_unit_time,
            read_latency,
            miss_latency,
            write_latency,
            flush_latency,
        } = self;
        [
            ("drive.front_end.read_time", read_time),
            ("drive.front_end.write_time", write_time),
            ("drive.front_end.read_unit_time", read_unit_time),
            ("drive.front_end.read_latency", read_latency),
            ("drive.front_end.miss_latency", miss_latency),
            ("drive.front_end.write_latency", write_latency),
            ("drive.front_end.flush_latency", flush_latency),
        ]
    }

    pub(super) fn check_times(mut self) -> Result<(), SpecError> {
        check_step_times(self.times_mut().map(|(key, time)| (key, *time)))
    }
}
