//! The table of PCI Express: data and accesses are sent as packets, and the commands of a protocol consist of accesses.

use super::{Pcie, PcieGeneration};
use crate::link::formulas::{
    BurstPosition, CommandPhase, LinkFormulas, LinkLoad, PhaseTime, ProtocolAccesses,
};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::fault::TrainedRate;

/// The position of a burst that is the only burst of its command.
const ALONE: BurstPosition = BurstPosition { first: true, last: true };

impl LinkFormulas for Pcie {
    fn cost(&self, phase: CommandPhase) -> PhaseTime {
        match phase {
            CommandPhase::Command(_) | CommandPhase::Completion(_) => PhaseTime::NONE,
            CommandPhase::ToHost(bytes, _) => PhaseTime {
                to_host: self.write_time(bytes),
                to_drive: self.answer_time(self.write_bytes(bytes)),
            },
            CommandPhase::ToDrive(bytes, _) => PhaseTime {
                to_host: self.read_request_time(bytes)
                    + self.answer_time(self.completion_bytes(bytes)),
                to_drive: self.completion_time(bytes),
            },
            CommandPhase::Accesses(ProtocolAccesses {
                host_writes,
                device_writes,
                device_reads,
            }) => {
                let (bytes, requests) = device_reads;
                let written: Duration =
                    device_writes.into_iter().map(|bytes| self.write_time(bytes)).sum();
                PhaseTime {
                    to_host: written + self.read_request_time(Bytes(1)) * requests,
                    to_drive: self.write_time(host_writes) + self.completion_time(bytes),
                }
            }
        }
    }

    fn rate(&self) -> BytesPerSecond {
        self.rate()
    }

    /// Reads fill the direction to the host, and writes fill the direction to the drive. The direction that fills first
    /// is the bottleneck.
    fn ceiling(&self, LinkLoad { test, transfer_max, end, .. }: LinkLoad<'_>) -> BytesPerSecond {
        let share = test.ceiling_read_share().get();
        let count = test.block.get().div_ceil(transfer_max.get());
        let completion = self.cost(CommandPhase::Accesses(end)).to_host * count;
        let read = (self.write_time(test.block) + completion).as_seconds();
        let write = self.completion_time(test.block).as_seconds();
        let request_time = self.cost(CommandPhase::ToDrive(test.block, ALONE)).to_host.as_seconds();
        let answers = self.cost(CommandPhase::ToHost(test.block, ALONE)).to_drive.as_seconds();
        let to_host = read * share + (request_time + completion.as_seconds()) * (1.0 - share);
        let to_drive = write * (1.0 - share) + answers * share;
        BytesPerSecond((test.block.get() as f64 / to_host.max(to_drive)) as u64)
    }

    fn train(&self, TrainedRate { lanes, generation, speed }: TrainedRate) -> Option<Self> {
        let lanes = lanes.unwrap_or(self.lanes());
        let generation = match generation {
            Some(number) => PcieGeneration::new(number.into())?,
            None => self.generation(),
        };
        let fits = speed.is_none() && lanes.is_power_of_two() && lanes <= 16;
        fits.then(|| self.trained(generation, lanes))
    }

    fn trainings(&self) -> &'static str {
        "lanes of 1, 2, 4, 8 or 16, and a generation"
    }

    fn bits(&self, bytes: Bytes) -> u64 {
        self.write_bytes(bytes) * 8
    }

    fn replay_time(&self) -> Option<Duration> {
        Some(self.replay_time())
    }

    fn carries_accesses(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::units::Ratio;
    use lanemark_schema::workload::{LoadKind, Test};

    #[test]
    fn a_mix_is_limited_by_the_direction_that_fills_first() {
        let link = Pcie::new(PcieGeneration::Three, 4, Bytes(128), Bytes(512));
        let end = ProtocolAccesses {
            host_writes: Bytes::ZERO,
            device_writes: [Bytes(16), Bytes(4)],
            device_reads: (Bytes::ZERO, 0),
        };
        let block = Bytes(512);
        let time = |time: Duration| time.as_seconds();
        // Toward the host, the link carries the data of a read or the request for the data of a write, then the
        // completion-queue entry and the interrupt. Toward the drive, it carries the credits for a read or the data of
        // a write.
        let ended = time(link.write_time(Bytes(16))) + time(link.write_time(Bytes(4)));
        let read = (
            time(link.write_time(block)) + ended,
            time(link.cost(CommandPhase::ToHost(block, ALONE)).to_drive),
        );
        let write = (
            time(link.cost(CommandPhase::ToDrive(block, ALONE)).to_host) + ended,
            time(link.completion_time(block)),
        );
        for share in [0.0, 0.3, 0.5, 0.8, 1.0] {
            let mut test = Test::of_blocks(block);
            if let LoadKind::Requests(requests) = &mut test.asks {
                requests.read_share = Ratio::new(share).unwrap();
            }
            let to_host = share * read.0 + (1.0 - share) * write.0;
            let to_drive = share * read.1 + (1.0 - share) * write.1;
            let load = LinkLoad { test: &test, transfer_max: Bytes::kibi(128), least: block, end };
            let wanted = block.get() as f64 / to_host.max(to_drive);
            let ratio = link.ceiling(load).0 as f64 / wanted;
            assert!((ratio - 1.0).abs() < 1e-6, "{share}: {ratio}");
        }
    }
}
