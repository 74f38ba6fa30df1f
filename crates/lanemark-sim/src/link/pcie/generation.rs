//! PCI Express generations: the rate of a lane, and the intervals at which a receiver acknowledges.

use lanemark_schema::units::{Bytes, BytesPerSecond};

/// Overhead of a packet in addition to its payload in the formula of the acknowledgement interval, in symbols.
const INTERVAL_OVERHEAD: f64 = 28.0;

/// A PCI Express generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PcieGeneration {
    /// 2.5 GT/s.
    One,
    /// 5 GT/s.
    Two,
    /// 8 GT/s.
    Three,
    /// 16 GT/s.
    Four,
    /// 32 GT/s.
    Five,
}

impl PcieGeneration {
    /// Returns generation `number`, if that is 1 to 5.
    pub fn new(number: u64) -> Option<Self> {
        [Self::One, Self::Two, Self::Three, Self::Four, Self::Five]
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
            .copied()
    }

    /// Returns the number of the generation, 1 to 5.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// Returns the rate of one lane in one direction, after the line code.
    pub fn lane_rate(self) -> BytesPerSecond {
        BytesPerSecond(match self {
            Self::One => 250_000_000,
            Self::Two => 500_000_000,
            Self::Three => 984_615_385,
            Self::Four => 1_969_230_769,
            Self::Five => 3_938_461_538,
        })
    }

    /// Returns the symbol times from one ACK to the next, and from one flow-control update to the next.
    pub(super) fn acknowledge_interval(self, lanes: u32, payload_max: Bytes) -> f64 {
        let packet = payload_max.get() as f64 + INTERVAL_OVERHEAD;
        packet * acknowledge_factor(lanes, payload_max) / f64::from(lanes) + self.internal_delay()
    }

    /// Returns the part of the interval that depends on neither packets nor lanes, in symbol times. One table of the
    /// specification covers generation 3 and all later generations.
    fn internal_delay(self) -> f64 {
        match self {
            Self::One => 19.0,
            Self::Two => 70.0,
            Self::Three | Self::Four | Self::Five => 115.0,
        }
    }
}

/// Returns how many packets one ACK may acknowledge.
fn acknowledge_factor(lanes: u32, payload_max: Bytes) -> f64 {
    match (payload_max.get(), lanes) {
        (..512, ..=4) => 1.4,
        (..512, ..=8) => 2.5,
        (..512, _) => 3.0,
        (_, ..=8) => 1.0,
        (_, _) => 2.0,
    }
}
