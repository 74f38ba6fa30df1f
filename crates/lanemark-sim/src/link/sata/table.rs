//! The table of Serial ATA: frames, one direction at a time.

use super::{Sata, SataRate};
use crate::engine::station::Demand;
use crate::link::LINE_BITS;
use crate::link::formulas::{CommandPhase, LinkFormulas, LinkLoad, PhaseTime};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::Operation;
use lanemark_schema::workload::fault::TrainedRate;

impl LinkFormulas for Sata {
    /// SATA announces a command's first burst with a DMA Setup frame; the end of the command follows the last burst.
    /// FLUSH CACHE and DATA SET MANAGEMENT are not queued, so the drive does not release the bus before their end.
    fn cost(&self, phase: CommandPhase) -> PhaseTime {
        let end = |last, time| if last { time } else { Duration::ZERO };
        let to_host = |to_host| PhaseTime { to_host, ..PhaseTime::NONE };
        let to_drive = |to_drive| PhaseTime { to_drive, ..PhaseTime::NONE };
        match phase {
            CommandPhase::Command(operation) if operation.moves_data() => {
                to_drive(self.issue_time())
            }
            CommandPhase::Command(_) => to_drive(self.register_time()),
            CommandPhase::ToHost(bytes, place) => to_host(
                self.read_data_time(bytes, place.first)
                    + end(place.last, self.read_completion_time()),
            ),
            CommandPhase::ToDrive(bytes, place) => to_drive(
                self.write_data_time(bytes, place.first) + end(place.last, self.completion_time()),
            ),
            CommandPhase::Completion(Operation::Flush) => to_host(self.register_time()),
            CommandPhase::Completion(_) | CommandPhase::Accesses(_) => PhaseTime::NONE,
        }
    }

    fn rate(&self) -> BytesPerSecond {
        BytesPerSecond(self.rate().line_rate().0 / LINE_BITS)
    }

    /// Counts the commands of a request: the commands of maximum length, and the remainder. Data that leaves the media
    /// in small parts travels in more and shorter frames; a small FIFO delays each of these frames for a shorter time.
    fn ceiling(&self, LinkLoad { test, transfer_max, least, .. }: LinkLoad<'_>) -> BytesPerSecond {
        let count = test.block.get() / transfer_max.get();
        let rest = test.block.get() % transfer_max.get();
        let time_of_whole = |time: &dyn Fn(Bytes) -> Duration| match rest {
            0 => time(transfer_max) * count,
            rest => time(transfer_max) * count + time(Bytes(rest)),
        };
        let issue = self.issue_time();
        let read_end = self.read_completion_time();
        let write_end = self.completion_time();
        let read_data = |length: Bytes| {
            let parts = length.get() / least.get();
            let rest = length.get() % least.get();
            let one_by_one =
                (0..parts).map(|part| self.read_data_time(least, part == 0)).sum::<Duration>();
            let rest = if rest > 0 {
                self.read_data_time(Bytes(rest), parts == 0)
            } else {
                Duration::ZERO
            };
            self.read_data_time(length, true).min(one_by_one + rest)
        };
        let demand = Demand {
            read: time_of_whole(&|length| issue + read_data(length) + read_end),
            write: time_of_whole(&|length| issue + self.write_data_time(length, true) + write_end),
        };
        demand.rate(test.block, test.ceiling_read_share(), 1).unwrap_or_default()
    }

    fn train(&self, TrainedRate { lanes, generation, speed }: TrainedRate) -> Option<Self> {
        let fits = lanes.is_none() && generation.is_none();
        Some(self.trained(SataRate::new(speed.filter(|_| fits)?)?))
    }

    fn trainings(&self) -> &'static str {
        "a speed of 1.5, 3 or 6 Gb/s"
    }

    fn bits(&self, bytes: Bytes) -> u64 {
        bytes.get() * LINE_BITS
    }

    fn half_duplex_frame(&self) -> Option<Duration> {
        Some(self.data_frame_time())
    }
}
