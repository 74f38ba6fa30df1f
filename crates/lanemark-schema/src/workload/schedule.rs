//! The times at which requests of an open loop are due.

use super::Test;
use super::load::{ArrivalProcess, Load};
use crate::rng::{Rng, StreamKey};
use crate::units::Duration;

/// Distinguishes the stream of times from the stream of offsets with the same key.
const TIME_STREAM: u64 = 0x71de_ab1e_0f7e_4157;

/// The times at which the requests of one thread are due.
#[derive(Clone, Debug)]
pub struct ArrivalSchedule {
    rng: Rng,
    process: ArrivalProcess,
    /// The time between two requests of the thread, in ns.
    mean_ns: f64,
    next_ns: f64,
}

impl ArrivalSchedule {
    /// Creates the schedule of thread `key.thread` of `test`, if its loop is open.
    pub fn new(test: &Test, key: StreamKey) -> Option<Self> {
        let Load::Open { rate_per_second, process } = test.requests()?.load else { return None };
        let mean_ns = f64::from(test.threads) / rate_per_second * 1e9;
        let rng = Rng::new(StreamKey { seed: key.seed ^ TIME_STREAM, ..key });
        let share = f64::from(key.thread) / f64::from(test.threads);
        let mut schedule = Self { rng, process, mean_ns, next_ns: share * mean_ns };
        if process == ArrivalProcess::Poisson {
            schedule.next_ns = schedule.gap_ns();
        }
        Some(schedule)
    }

    /// Returns the time at which the next request is due, counted from the start of the load.
    pub fn next_due(&self) -> Duration {
        Duration::from_picoseconds((self.next_ns * 1e3) as u64)
    }

    /// Continues with the next request.
    pub fn advance(&mut self) {
        self.next_ns += self.gap_ns();
    }

    fn gap_ns(&mut self) -> f64 {
        match self.process {
            ArrivalProcess::Even => self.mean_ns,
            ArrivalProcess::Poisson => self.rng.exponential() * self.mean_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::random_read;
    use super::*;

    fn open(process: ArrivalProcess, threads: u32) -> Test {
        Test { threads, ..random_read() }
            .with(|requests| requests.load = Load::Open { rate_per_second: 1000.0, process })
    }

    fn times(test: &Test, thread: u32, count: usize) -> Vec<f64> {
        let key = StreamKey { thread, ..StreamKey::from_seed(3) };
        let mut schedule = ArrivalSchedule::new(test, key).unwrap();
        let mut next = || {
            let due = schedule.next_due().as_seconds();
            schedule.advance();
            due
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn even_threads_take_turns() {
        let test = open(ArrivalProcess::Even, 2);
        assert_eq!(times(&test, 0, 3), [0.0, 0.002, 0.004]);
        assert_eq!(times(&test, 1, 3), [0.001, 0.003, 0.005]);
    }

    #[test]
    fn poisson_intervals_have_the_mean_and_the_deviation_of_an_exponential() {
        let times = times(&open(ArrivalProcess::Poisson, 1), 0, 200_000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance =
            gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e-3 - 1.0).abs() < 0.01, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.01, "deviation {}", variance.sqrt());
    }

    #[test]
    fn closed_loops_lack_times_and_open_loops_lack_think_time() {
        assert!(ArrivalSchedule::new(&random_read(), StreamKey::from_seed(1)).is_none());
        let thinks = open(ArrivalProcess::Even, 1)
            .with(|requests| requests.think = Duration::from_microseconds(1));
        assert_eq!(thinks.check().unwrap_err().field, "think");
        let never = Load::Open { rate_per_second: 0.0, process: ArrivalProcess::Even };
        assert_eq!(
            random_read().with(|requests| requests.load = never).check().unwrap_err().field,
            "rate"
        );
    }
}
