//! The length of a test, and its rounds and intervals.

use serde::{Deserialize, Serialize};

use crate::named_enum;
use crate::text::saved_as_text;
use crate::units::Duration;

/// Rounds that run in succession until their figure is steady (`result::steady`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundSettings {
    /// Length of a round.
    #[serde(rename = "length_ns")]
    pub length: Duration,
    /// The figure that is tracked.
    pub tracked: TrackedFigure,
}

named_enum! {
    /// The figure that must become steady.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub enum TrackedFigure {
        /// Requests a second.
        #[default]
        Iops = "iops",
        /// Bytes a second.
        Throughput = "throughput",
        /// The mean latency.
        Latency = "latency",
    }
}
saved_as_text!(TrackedFigure);

/// The intervals of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesInterval {
    /// Up to a thousand intervals of a round length.
    Automatic,
    /// A given length.
    Fixed {
        /// Length of an interval.
        #[serde(rename = "interval_ns")]
        interval: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::super::Test;
    use super::super::tests::random_read;
    use super::*;
    use crate::units::Bytes;

    const MINUTE: Duration = Duration::from_seconds(60);

    fn rounds(length: Duration) -> Test {
        let rounds = Some(RoundSettings { length, tracked: TrackedFigure::Iops });
        Test { rounds, volume: None, ..random_read() }
    }

    #[test]
    fn rounds_are_their_own_limit() {
        assert_eq!(rounds(MINUTE).check(), Ok(()));
        let field = |test: Test| test.check().unwrap_err().field;
        assert_eq!(field(rounds(Duration::ZERO)), "round");
        assert_eq!(field(rounds(super::super::bound::ROUND.max + MINUTE)), "round");
        assert_eq!(field(Test { volume: Some(Bytes::mebi(1)), ..rounds(MINUTE) }), "volume");
        assert_eq!(field(Test { duration: Some(MINUTE), ..rounds(MINUTE) }), "duration");
    }

    #[test]
    fn an_interval_is_not_empty() {
        let interval = Some(SeriesInterval::Fixed { interval: Duration::ZERO });
        assert_eq!(Test { interval, ..random_read() }.check().unwrap_err().field, "interval");
    }

    #[test]
    fn every_figure_is_found_by_its_name() {
        for (name, tracked) in TrackedFigure::NAMES {
            assert_eq!((name.parse(), tracked.name()), (Ok(tracked), name));
        }
        assert!("speed".parse::<TrackedFigure>().is_err());
    }
}
