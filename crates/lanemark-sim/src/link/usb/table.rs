//! The table of USB: packets in one direction, and their answers in the other. In USB 2.0, both directions share the
//! wires.

use std::fmt;

use super::{HEADER_PACKET, LINK_COMMANDS, SymbolCounts, Usb, UsbRate, UsbTransport};
use crate::link::formulas::{BurstPosition, CommandPhase, LinkFormulas, LinkLoad, PhaseTime};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::Operation;
use lanemark_schema::workload::fault::TrainedRate;

/// The position of a burst that is the only burst of its command.
const ALONE: BurstPosition = BurstPosition { first: true, last: true };

impl Usb {
    fn cost_to_host(&self, SymbolCounts { forth, back }: SymbolCounts) -> PhaseTime {
        PhaseTime { to_host: self.time(forth), to_drive: self.time(back) }
    }

    fn cost_to_drive(&self, SymbolCounts { forth, back }: SymbolCounts) -> PhaseTime {
        PhaseTime { to_host: self.time(back), to_drive: self.time(forth) }
    }

    /// Returns the total time for which a command of `length` occupies each direction.
    fn whole_command(&self, operation: Operation, length: Bytes) -> PhaseTime {
        let issue = self.cost(CommandPhase::Command(operation));
        match operation {
            Operation::Read => issue + self.cost(CommandPhase::ToHost(length, ALONE)),
            Operation::Write | Operation::Flush | Operation::Trim => {
                let data = self.cost(CommandPhase::ToDrive(length, ALONE));
                issue + data + self.cost(CommandPhase::Completion(operation))
            }
        }
    }
}

impl LinkFormulas for Usb {
    fn cost(&self, phase: CommandPhase) -> PhaseTime {
        let symbols_if = |is, symbols| if is { symbols } else { SymbolCounts::NONE };
        match phase {
            CommandPhase::Command(_) => self.cost_to_drive(self.command()),
            CommandPhase::ToHost(bytes, place) => self.cost_to_host(
                symbols_if(place.first, self.ask_in())
                    + self.data(bytes)
                    + symbols_if(place.last, self.status()),
            ),
            CommandPhase::ToDrive(bytes, place) => {
                self.cost_to_drive(symbols_if(place.first, self.ask_out()) + self.data(bytes))
            }
            CommandPhase::Completion(_) => self.cost_to_host(self.status()),
            CommandPhase::Accesses(_) => PhaseTime::NONE,
        }
    }

    fn rate(&self) -> BytesPerSecond {
        self.symbol_rate()
    }

    /// Counts the commands of a request: the commands of maximum length, and the remainder. The direction that fills
    /// first is the bottleneck.
    fn ceiling(&self, LinkLoad { test, transfer_max, .. }: LinkLoad<'_>) -> BytesPerSecond {
        let block = test.block.get();
        let count = block / transfer_max.get();
        let rest = block % transfer_max.get();
        let share = test.ceiling_read_share().get();
        let time = |direction: fn(PhaseTime) -> Duration| {
            let time_of = |operation| {
                let time_of_command =
                    |length| direction(self.whole_command(operation, length)).as_seconds();
                let last = if rest > 0 { time_of_command(Bytes(rest)) } else { 0.0 };
                count as f64 * time_of_command(transfer_max) + last
            };
            time_of(Operation::Read) * share + time_of(Operation::Write) * (1.0 - share)
        };
        let up = time(|cost| cost.to_host);
        let down = time(|cost| cost.to_drive);
        let seconds = match self.rate {
            UsbRate::High => up + down,
            UsbRate::Gen1 | UsbRate::Gen2 | UsbRate::Gen2x2 => up.max(down),
        };
        BytesPerSecond((block as f64 / seconds) as u64)
    }

    fn train(&self, TrainedRate { lanes, generation, speed }: TrainedRate) -> Option<Self> {
        let fits = lanes.is_none() && generation.is_none();
        Some(Self::new(UsbRate::new(speed.filter(|_| fits)?)?, self.transport))
    }

    fn trainings(&self) -> &'static str {
        "a speed of 480 Mb/s, or 5, 10 or 20 Gb/s"
    }

    fn bits(&self, bytes: Bytes) -> u64 {
        let (bits, symbols) = self.rate.line_code();
        self.data(bytes).forth * bits / symbols
    }

    /// If a data packet has a wrong CRC-32, an ACK with the retry bit requests the packet again (8.11.1), and the
    /// packet follows that ACK. In USB 2.0, the host repeats the transaction.
    fn replay_time(&self) -> Option<Duration> {
        let packet = self.data(Bytes(self.rate.data_packet())).forth;
        let request = match self.rate {
            UsbRate::High => 0,
            UsbRate::Gen1 | UsbRate::Gen2 | UsbRate::Gen2x2 => HEADER_PACKET + LINK_COMMANDS,
        };
        Some(self.time(packet + request))
    }

    fn half_duplex_frame(&self) -> Option<Duration> {
        let packet = self.data(Bytes(self.rate.data_packet())).forth;
        (self.rate == UsbRate::High).then(|| self.time(packet))
    }
}

impl fmt::Display for Usb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            UsbTransport::BulkOnly => "bulk-only",
            UsbTransport::AttachedScsi => "UASP",
        };
        let packet = Bytes(self.rate.data_packet());
        write!(f, "USB {}, {transport}, packets of {packet}", self.rate.line_rate())
    }
}
