//! The table of Serial Attached SCSI: frames in one direction, and their acknowledgements in the other.

use std::fmt;

use super::{Sas, SasRate};
use crate::link::LINE_BITS;
use crate::link::formulas::{CommandPhase, LinkFormulas, LinkLoad, PhaseTime};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::fault::TrainedRate;

impl LinkFormulas for Sas {
    fn cost(&self, phase: CommandPhase) -> PhaseTime {
        match phase {
            CommandPhase::Command(_) => {
                PhaseTime { to_host: self.frame_acknowledge_time(), to_drive: self.command_time() }
            }
            CommandPhase::ToHost(bytes, place) => {
                let response =
                    if place.last { self.response_behind_data_time() } else { Duration::ZERO };
                let to_host = self.read_data_time(bytes) + response;
                PhaseTime { to_host, to_drive: self.data_acknowledge_time(bytes) }
            }
            CommandPhase::ToDrive(bytes, _) => PhaseTime {
                to_host: self.transfer_ready_time() + self.data_acknowledge_time(bytes),
                to_drive: self.write_data_time(bytes),
            },
            CommandPhase::Completion(_) => {
                PhaseTime { to_host: self.response_time(), to_drive: self.frame_acknowledge_time() }
            }
            CommandPhase::Accesses(_) => PhaseTime::NONE,
        }
    }

    fn rate(&self) -> BytesPerSecond {
        self.port_rate()
    }

    /// Returns the maximum throughput of both directions together, with all phys of the port in use.
    fn ceiling(&self, LinkLoad { test, transfer_max, .. }: LinkLoad<'_>) -> BytesPerSecond {
        let share = test.ceiling_read_share().get();
        let count = test.block.get().div_ceil(transfer_max.get());
        let length = Bytes(test.block.get().div_ceil(count));
        let times = count as f64;
        let read = (self.read_data_time(length) + self.response_behind_data_time()).as_seconds();
        let written = (self.transfer_ready_time() + self.response_time()).as_seconds();
        let command = self.command_time().as_seconds();
        let to_host = (read * share + written * (1.0 - share)) * times;
        let write = self.write_data_time(length).as_seconds();
        let to_drive = (command + write * (1.0 - share)) * times;
        let seconds = to_host.max(to_drive) / f64::from(self.phys());
        BytesPerSecond((test.block.get() as f64 / seconds) as u64)
    }

    fn train(&self, TrainedRate { lanes, generation, speed }: TrainedRate) -> Option<Self> {
        let phys = lanes.unwrap_or(self.phys());
        let rate = speed.map_or(Some(self.rate()), SasRate::new)?;
        let fits = generation.is_none() && [1, 2, 4].contains(&phys);
        fits.then(|| self.trained(rate, phys))
    }

    fn trainings(&self) -> &'static str {
        "a speed of 3, 6, 12 or 22.5 Gb/s, and 1, 2 or 4 lanes"
    }

    fn bits(&self, bytes: Bytes) -> u64 {
        bytes.get() * LINE_BITS
    }

    fn connections(&self) -> u32 {
        self.phys()
    }
}

impl fmt::Display for Sas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x{}, frames of 1 KiB", self.rate().line_rate(), self.phys())
    }
}
