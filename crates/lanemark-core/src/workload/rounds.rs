//! The length of a test, and its rounds and intervals.

use serde::{Deserialize, Serialize};

use super::{Test, TestError};
use crate::units::{Bytes, Duration};

/// The longest round; 25 of them are not longer than a run can be.
pub const ROUND_MAX: Duration = Duration::from_seconds(7 * 86_400);

/// Rounds that follow each other until a figure of theirs is steady (`result::steady`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Length of a round.
    #[serde(rename = "length_ns")]
    pub length: Duration,
    /// The figure that is to be steady.
    pub tracked: Tracked,
}

/// The figure that is to be steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracked {
    /// Requests a second.
    #[default]
    Iops,
    /// Bytes a second.
    Throughput,
    /// The mean latency.
    Latency,
}

/// The intervals of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interval {
    /// A round length, so that there are at most a thousand.
    Automatic,
    /// A given length.
    Fixed {
        /// Length of an interval.
        #[serde(rename = "interval_ns")]
        interval: Duration,
    },
}

impl Tracked {
    /// All figures by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("iops", Self::Iops), ("throughput", Self::Throughput), ("latency", Self::Latency)];

    /// Returns the figure's name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
        }
    }
}

impl std::str::FromStr for Tracked {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, tracked)| *tracked)
            .ok_or_else(|| "one of iops, throughput, latency".to_owned())
    }
}

impl Test {
    /// Checks that the test ends, and what it is cut into.
    pub(super) fn check_limits(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        match (self.rounds, self.volume, self.duration) {
            (Some(Rounds { length, .. }), None, None)
                if length == Duration::ZERO || length > ROUND_MAX =>
            {
                return fail("round", length.to_string(), "more than 0 s, at most 168 h");
            }
            (Some(_), Some(volume), _) => {
                return fail("volume", volume.to_string(), "none beside round");
            }
            (Some(_), None, Some(duration)) => {
                return fail("duration", duration.to_string(), "none beside round");
            }
            (None, None, None) => {
                let bound = "give volume, duration or both: the test never ends";
                return fail("volume", "none".to_owned(), bound);
            }
            _ => {}
        }
        if self.volume == Some(Bytes::ZERO) {
            return fail("volume", "0 B".to_owned(), "more than 0 B");
        }
        let times = [
            ("duration", self.duration.unwrap_or_default()),
            ("ramp", self.ramp),
            ("think", self.think),
        ];
        for (field, time) in times {
            if time > Duration::INPUT_MAX {
                return fail(field, time.to_string(), "at most 1000 h");
            }
        }
        if self.duration == Some(Duration::ZERO) {
            return fail("duration", "0 s".to_owned(), "more than 0 s");
        }
        if let Some(Interval::Fixed { interval }) = self.interval
            && (interval == Duration::ZERO || interval > ROUND_MAX)
        {
            return fail("interval", interval.to_string(), "more than 0 s, at most 168 h");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::random_read;
    use super::*;

    const MINUTE: Duration = Duration::from_seconds(60);

    fn rounds(length: Duration) -> Test {
        let rounds = Some(Rounds { length, tracked: Tracked::Iops });
        Test { rounds, volume: None, ..random_read() }
    }

    #[test]
    fn rounds_are_a_limit_of_their_own() {
        assert_eq!(rounds(MINUTE).check(), Ok(()));
        let field = |test: Test| test.check().unwrap_err().field;
        assert_eq!(field(rounds(Duration::ZERO)), "round");
        assert_eq!(field(rounds(ROUND_MAX + MINUTE)), "round");
        assert_eq!(field(Test { volume: Some(Bytes::mebi(1)), ..rounds(MINUTE) }), "volume");
        assert_eq!(field(Test { duration: Some(MINUTE), ..rounds(MINUTE) }), "duration");
    }

    #[test]
    fn an_interval_is_not_empty() {
        let interval = Some(Interval::Fixed { interval: Duration::ZERO });
        assert_eq!(Test { interval, ..random_read() }.check().unwrap_err().field, "interval");
    }

    #[test]
    fn every_figure_is_found_by_its_name() {
        for (name, tracked) in Tracked::ALL {
            assert_eq!((name.parse(), tracked.name()), (Ok(tracked), name));
        }
        assert!("speed".parse::<Tracked>().is_err());
    }
}
