//! Serial Attached SCSI: the cost of frames and connections at each line rate.
//!
//! Model (SAS Protocol Layer, SPL-4: link layer and SSP transport). At 3, 6 and 12 Gb/s, a dword takes 40 bit times
//! (8b/10b); at 22.5 Gb/s, four dwords take 150 bit times (128b/150b, including error correction). An SSP frame
//! consists of start, 6 dwords of header, its information unit, CRC and end: 9 dwords more than the information unit,
//! which is limited to 1024 bytes. One dword in 2048 is ALIGN, or another primitive that a receiver may drop.
//!
//! Frames travel inside *connections*. An OPEN address frame is 8 dwords between a start and an end, and the other port
//! accepts it with one dword. At the end, the sender waits for the acknowledgement of the last frame, and then DONE and
//! three CLOSE follow. Each of these exchanges is a *turn-around*, and a connection includes three turn-arounds. For
//! every frame, the other direction carries an ACK and an R_RDY, which is the credit for another frame.
//!
//! Commands (SSP) begin with a COMMAND frame. For a read, data frames and a RESPONSE follow; for a write, XFER_RDY,
//! data frames and a RESPONSE follow.
//!
//! Policy. There is one connection for each COMMAND, each XFER_RDY, each RESPONSE after a write, and each burst of
//! data; inside a connection the frames are back to back, and the RESPONSE of a read follows its last data.
//! [`Sas::kept_open`] is the opposite bound, which a busy link approaches: connections that never close and take no
//! time.
//!
//! The link is full duplex. The phys of a wide port carry one connection each, in parallel: the times here apply to one
//! phy, and a port serves one burst per phy at once.
//!
//! A SATA drive downstream of an expander is reached through STP: connections carry the frames of the SATA model at the
//! drive's rate, without separate DONE or acknowledgements. A SATA drive that is plugged directly into the host's phy
//! uses only SATA.
//!
//! Not modelled: expanders (arbitration, rate matching, blocked paths), OPENs that cross or are rejected, frames on a
//! connection that the other side opened, insufficient credits, NAK and retries, XFER_RDY for less than the whole
//! burst, wide-port affinity, link power states. At 22.5 Gb/s dwords travel in packets of four, and packets with
//! primitives contain no data; here a dword always costs a quarter of a packet. Padding of packets would cost a long
//! stream about 1%.

mod table;

use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration};

/// Number of dwords of a frame in addition to its information unit: start, header, CRC, end.
const FRAME_DWORDS: u64 = 1 + 6 + 1 + 1;
/// Maximum payload of one frame, in bytes.
const DATA_FRAME: u64 = 1024;
/// Information unit of a COMMAND with a CDB of up to 16 bytes, in bytes.
const COMMAND: u64 = 28;
/// Information unit of an XFER_RDY, in bytes.
const TRANSFER_READY: u64 = 12;
/// Information unit of a RESPONSE without further data, in bytes.
const RESPONSE: u64 = 24;
/// Answer to one frame, in the other direction: ACK and R_RDY.
const ACKNOWLEDGE_DWORDS: u64 = 2;
/// An OPEN address frame, including its start and its end.
const OPEN_DWORDS: u64 = 8 + 2;
/// OPEN_ACCEPT.
const ACCEPT_DWORDS: u64 = 1;
/// DONE, which each side sends once.
const DONE_DWORDS: u64 = 1;
/// CLOSE, which each side sends three times.
const CLOSE_DWORDS: u64 = 3;
/// Interval between ALIGN primitives, in dwords.
const ALIGN_INTERVAL: u64 = 2048;
/// Number of bit times from the end of a request to the start of its answer, with a short cable in both directions.
/// Derived: half of the SATA turn-around, which contains two such exchanges (X_RDY and R_RDY, WTRM and R_OK).
const TURN_AROUND_BITS: u64 = 1_500;
/// Time that an OPEN waits in addition to the time of its answer. Assumed: zero, because there is no expander that
/// arbitrates.
const ARBITRATION: Duration = Duration::ZERO;

/// A SAS line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SasRate {
    /// 3 Gb/s, SAS-1.
    Gen1,
    /// 6 Gb/s, SAS-2.
    Gen2,
    /// 12 Gb/s, SAS-3.
    Gen3,
    /// 22.5 Gb/s, SAS-4, sold as 24G.
    Gen4,
}

/// A trained SAS port: its model with all constants computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sas {
    rate: SasRate,
    phys: u32,
    full_data_frame: Duration,
    command: Duration,
    transfer_ready: Duration,
    response: Duration,
    acknowledge: Duration,
    /// Time to open and close a connection.
    connection: Duration,
    /// Time that opening and closing a connection takes in the other direction.
    connection_answer: Duration,
    stp_connection: Duration,
}

impl SasRate {
    /// Returns the SAS rate with the line rate `line_rate`, if there is one.
    pub fn new(line_rate: BitsPerSecond) -> Option<Self> {
        [Self::Gen1, Self::Gen2, Self::Gen3, Self::Gen4]
            .into_iter()
            .find(|rate| rate.line_rate() == line_rate)
    }

    /// Returns the bit rate on the wire.
    pub fn line_rate(self) -> BitsPerSecond {
        BitsPerSecond(match self {
            Self::Gen1 => 3_000_000_000,
            Self::Gen2 => 6_000_000_000,
            Self::Gen3 => 12_000_000_000,
            Self::Gen4 => 22_500_000_000,
        })
    }

    /// Returns the number of bit times that four dwords take.
    fn four_dwords(self) -> u64 {
        match self {
            Self::Gen1 | Self::Gen2 | Self::Gen3 => 160,
            Self::Gen4 => 150,
        }
    }

    /// Returns the time of `count` dwords, including their share of ALIGN.
    fn dwords(self, count: u64) -> Duration {
        let four_times = self.line_rate().time(count * self.four_dwords());
        four_times.scaled(ALIGN_INTERVAL, 4 * (ALIGN_INTERVAL - 1))
    }

    /// Returns the time of a frame with an information unit of `information_unit` bytes.
    fn frame(self, information_unit: u64) -> Duration {
        self.dwords(FRAME_DWORDS + information_unit.div_ceil(4))
    }

    fn turn_around(self) -> Duration {
        self.line_rate().time(TURN_AROUND_BITS)
    }

    fn open(self) -> Duration {
        self.dwords(OPEN_DWORDS) + ARBITRATION + self.turn_around()
    }
}

impl Sas {
    /// Creates a port with `phys` phys at `rate` and one connection per burst. The caller must have checked that `phys`
    /// is 1, 2 or 4.
    pub fn new(rate: SasRate, phys: u32) -> Self {
        let close = rate.dwords(CLOSE_DWORDS) + rate.turn_around();
        Self {
            rate,
            phys,
            full_data_frame: rate.frame(DATA_FRAME),
            command: rate.frame(COMMAND),
            transfer_ready: rate.frame(TRANSFER_READY),
            response: rate.frame(RESPONSE),
            acknowledge: rate.dwords(ACKNOWLEDGE_DWORDS),
            connection: rate.open() + rate.turn_around() + rate.dwords(DONE_DWORDS) + close,
            connection_answer: rate.dwords(ACCEPT_DWORDS + DONE_DWORDS + CLOSE_DWORDS),
            stp_connection: rate.open() + close,
        }
    }

    /// Returns the port with connections that are already open and stay open.
    pub fn kept_open(self) -> Self {
        Self {
            connection: Duration::ZERO,
            connection_answer: Duration::ZERO,
            stp_connection: Duration::ZERO,
            ..self
        }
    }

    /// Returns the port after it has trained to `phys` phys at `rate`.
    #[must_use]
    pub fn trained(&self, rate: SasRate, phys: u32) -> Self {
        let new = Self::new(rate, phys);
        if self.connection == Duration::ZERO { new.kept_open() } else { new }
    }

    /// Returns the rate to which the port's phys trained.
    pub fn rate(&self) -> SasRate {
        self.rate
    }

    /// Returns the number of connections that the port carries in parallel.
    pub fn phys(&self) -> u32 {
        self.phys
    }

    /// Returns the data rate of all phys together, in one direction and in full frames.
    pub fn port_rate(&self) -> BytesPerSecond {
        Bytes(DATA_FRAME * u64::from(self.phys)) / self.full_data_frame
    }

    /// Returns the time to open and close a connection, in the direction that opens it. All times below include the
    /// time of the connection unless their comments exclude it.
    #[cfg(test)]
    pub(crate) fn connection_time(&self) -> Duration {
        self.connection
    }

    /// Returns the time to issue a command: a COMMAND frame to the drive.
    pub fn command_time(&self) -> Duration {
        self.connection + self.command
    }

    /// Returns the time of the data frames to the host for a read burst of `bytes`.
    pub(crate) fn read_data_time(&self, bytes: Bytes) -> Duration {
        self.connection + self.data_time(bytes)
    }

    /// Returns the time of a read's RESPONSE to the host, which follows the last data in the same connection.
    pub(crate) fn response_behind_data_time(&self) -> Duration {
        self.response
    }

    /// Returns the time to request a burst of a write: an XFER_RDY frame to the host.
    pub(crate) fn transfer_ready_time(&self) -> Duration {
        self.connection + self.transfer_ready
    }

    /// Returns the time of the data frames to the drive for a write burst of `bytes`.
    pub(crate) fn write_data_time(&self, bytes: Bytes) -> Duration {
        self.connection + self.data_time(bytes)
    }

    /// Returns the time of a write's RESPONSE to the host.
    pub(crate) fn response_time(&self) -> Duration {
        self.connection + self.response
    }

    /// Returns the time for which a burst of data occupies the other direction: the answers for its connection, and ACK
    /// and R_RDY for each of its frames.
    pub(crate) fn data_acknowledge_time(&self, bytes: Bytes) -> Duration {
        self.connection_answer + self.acknowledge * bytes.get().div_ceil(DATA_FRAME)
    }

    /// Returns the time for which a COMMAND, an XFER_RDY or the RESPONSE of a write occupies the other direction.
    pub(crate) fn frame_acknowledge_time(&self) -> Duration {
        self.connection_answer + self.acknowledge
    }

    /// Returns the time that an STP connection adds to the frames of a SATA drive. These frames occupy their phy in
    /// both directions for the time of the SATA model, because SATA is half duplex.
    pub fn stp_connection_time(&self) -> Duration {
        self.stp_connection
    }

    fn data_time(&self, bytes: Bytes) -> Duration {
        let full = self.full_data_frame * (bytes.get() / DATA_FRAME);
        match bytes.get() % DATA_FRAME {
            0 => full,
            rest => full + self.rate.frame(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [SasRate; 4] = [SasRate::Gen1, SasRate::Gen2, SasRate::Gen3, SasRate::Gen4];

    fn megabytes(bytes: Bytes, time: Duration) -> f64 {
        (bytes / time).as_megabytes()
    }

    /// Returns the rate of 4 KiB reads that the direction to the host carries.
    fn reads_a_second(sas: &Sas) -> f64 {
        1.0 / (sas.read_data_time(Bytes::kibi(4)) + sas.response_behind_data_time()).as_seconds()
    }

    /// The data rate is the line rate after 8b/10b or 128b/150b, times 256/265 (the data dwords of a full frame), less
    /// one ALIGN in 2,048 dwords: 1,158 MB/s at 12 Gb/s.
    #[test]
    fn long_reads_in_an_open_connection_meet_the_closed_form() {
        for (rate, coded, expected) in [
            (SasRate::Gen1, 300.0, 289.67),
            (SasRate::Gen2, 600.0, 579.34),
            (SasRate::Gen3, 1_200.0, 1_158.68),
            (SasRate::Gen4, 2_400.0, 2_317.36),
        ] {
            let formula: f64 = coded * 256.0 / 265.0 * 2047.0 / 2048.0;
            assert!((formula - expected).abs() < 0.005, "{formula} MB/s");
            let block = Bytes::mebi(32);
            let seen = megabytes(block, Sas::new(rate, 1).kept_open().read_data_time(block));
            assert!((seen - expected).abs() < 0.01, "{seen} for {expected} MB/s");
        }
    }

    /// Each frame costs two more dwords if the same amount of data travels in the other direction: 1,150 MB/s.
    #[test]
    fn acknowledging_as_much_reverse_traffic_costs_two_dwords_a_frame() {
        let sas = Sas::new(SasRate::Gen3, 1).kept_open();
        let block = Bytes::mebi(32);
        let time = sas.read_data_time(block) + sas.data_acknowledge_time(block);
        let seen = megabytes(block, time);
        assert!((seen - 1_150.0).abs() < 0.1, "{seen} MB/s");
    }

    /// A read takes 1,075 dwords: four full frames and a RESPONSE of 15 dwords.
    #[test]
    fn reads_of_4k_at_12_gigabits_reach_279_thousand_in_an_open_connection() {
        let seen = reads_a_second(&Sas::new(SasRate::Gen3, 1).kept_open());
        let formula = 300e6 / 1075.0 * 2047.0 / 2048.0;
        assert!((seen / formula - 1.0).abs() < 1e-4, "{seen} for {formula} IOPS");
        assert!((278_500.0..279_500.0).contains(&seen), "{seen} IOPS");
    }

    /// A connection adds 14 dwords and three turn-arounds, a total of 0.42 µs at 12 Gb/s.
    #[test]
    fn a_connection_for_each_read_of_4k_takes_a_tenth_of_them() {
        let sas = Sas::new(SasRate::Gen3, 1);
        let connection = (14.0 / 300e6 * 2048.0 / 2047.0 + 3.0 * 1500.0 / 12e9) * 1e6;
        assert!((sas.connection_time().as_microseconds() - connection).abs() < 1e-5);
        let share = reads_a_second(&sas) / reads_a_second(&sas.kept_open());
        assert!((share - 0.895).abs() < 0.001, "{share}");
    }

    #[test]
    fn a_burst_costs_the_same_as_its_frames_one_by_one_and_one_connection() {
        for rate in RATES {
            let sas = Sas::new(rate, 1);
            let open = sas.kept_open();
            let frames = open.read_data_time(Bytes(1024)) * 16 + open.read_data_time(Bytes(514));
            let burst = Bytes(16 * 1024 + 514);
            assert_eq!(open.read_data_time(burst), frames);
            assert_eq!(sas.read_data_time(burst), sas.connection_time() + frames);
            assert_eq!(sas.write_data_time(burst), sas.read_data_time(burst));
            assert_eq!(open.data_acknowledge_time(burst), open.frame_acknowledge_time() * 17);
        }
    }

    /// COMMAND contains 7 dwords, XFER_RDY contains 3 and RESPONSE contains 6, in addition to the 9 dwords of each
    /// frame.
    #[test]
    fn small_frames_have_16_12_and_15_dwords() {
        let sas = Sas::new(SasRate::Gen3, 1).kept_open();
        for (time, dwords) in
            [(sas.command_time(), 16), (sas.transfer_ready_time(), 12), (sas.response_time(), 15)]
        {
            let exact = dwords as f64 / 300.0 * 2048.0 / 2047.0;
            assert!((time.as_microseconds() - exact).abs() < 1e-6, "{dwords} dwords");
        }
    }

    /// A MultiLink port carries two connections in parallel, each at the rate of one phy.
    #[test]
    fn a_wide_port_carries_more_but_no_burst_faster() {
        let narrow = Sas::new(SasRate::Gen3, 1);
        let wide = Sas::new(SasRate::Gen3, 2);
        let block = Bytes::kibi(128);
        assert_eq!(wide.read_data_time(block), narrow.read_data_time(block));
        let one = narrow.port_rate().as_megabytes();
        let two = wide.port_rate().as_megabytes();
        assert!((one - 1_158.68).abs() < 0.01, "{one} MB/s");
        assert!((two - 2.0 * one).abs() < 0.01, "{two} MB/s");
    }

    /// STP has neither DONE nor a last acknowledgement, so it takes one dword and one turn-around less than SSP.
    #[test]
    fn an_stp_connection_is_shorter_than_one_of_ssp() {
        let sas = Sas::new(SasRate::Gen2, 4);
        let less = sas.connection_time() - sas.stp_connection_time();
        let expected = 40.0 / 6e3 * 2048.0 / 2047.0 + 1500.0 / 6e3;
        assert!((less.as_microseconds() - expected).abs() < 1e-5, "{less:?}");
        assert_eq!(sas.kept_open().stp_connection_time(), Duration::ZERO);
    }

    #[test]
    fn only_rates_of_sas_are_taken() {
        for rate in RATES {
            assert_eq!(SasRate::new(rate.line_rate()), Some(rate));
        }
        assert_eq!(SasRate::new(BitsPerSecond(1_500_000_000)), None);
        assert_eq!(SasRate::new(BitsPerSecond(24_000_000_000)), None);
    }
}
