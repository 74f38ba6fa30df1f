//! Time that a drive spends at work, idle, and in each power state.
//!
//! A drive is at work while it has a command or its media are busy. A drive that has been without work for a state's
//! idle time begins to enter the state, which takes the entry latency; work that arrives during the entry waits until
//! the entry has ended. A command that arrives while the drive is in a state waits for the exit latency; commands that
//! arrive during the exit also wait for its end (NVM Express 1.2, 8.4.2: autonomous transitions; Serial ATA 3.2, 8.4).
//! During the entry, the drive draws the power of the previous state.
//!
//! The meter does not schedule events. When a period without work ends, its length determines the states that the drive
//! reached.
//!
//! Not modelled: operational states that are slower, several states at once (link and drive), the exit latency before
//! background work (which begins immediately), the read-ahead of a disk while no command waits for it.

use crate::spec::PowerState;
use lanemark_schema::units::{Duration, Instant};

/// Time that a drive has spent at work, idle, and in each power state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PowerStateTimes {
    /// Time at work.
    pub working: Duration,
    /// Time awake without work, including entries into the first state.
    pub idle: Duration,
    /// Time in each state, including entries into the next state.
    pub states: Vec<Duration>,
    /// Time in exits from each state.
    pub exits: Vec<Duration>,
    /// Number of times that each state was reached.
    pub reached: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct PowerMeter {
    states: Vec<PowerState>,
    commands: u32,
    phase: PowerPhase,
    times: PowerStateTimes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PowerPhase {
    /// At work since the instant.
    Working(Instant),
    /// Without work since the instant.
    Resting(Instant),
    /// The drive has been without work since `rested`; it left a state at `left`, and is awake at `awake`.
    Waking { rested: Instant, state: usize, left: Instant, awake: Instant },
}

impl PowerMeter {
    /// Creates the meter of a drive that is awake and without work at the start.
    pub(crate) fn new(states: &[PowerState]) -> Self {
        let none = vec![Duration::ZERO; states.len()];
        Self {
            states: states.to_vec(),
            commands: 0,
            phase: PowerPhase::Resting(Instant::ZERO),
            times: PowerStateTimes {
                states: none.clone(),
                exits: none,
                reached: vec![0; states.len()],
                ..PowerStateTimes::default()
            },
        }
    }

    /// Records a command for the drive. Returns the instant at which the drive is awake, if it is not awake yet.
    pub(crate) fn note_command(&mut self, now: Instant) -> Option<Instant> {
        self.commands += 1;
        if let PowerPhase::Resting(since) = self.phase {
            self.wake(now, since);
        }
        if let PowerPhase::Waking { awake, .. } = self.phase
            && now < awake
        {
            Some(awake)
        } else {
            None
        }
    }

    /// Records that the drive has completed a command. `media` states whether its media are still at work.
    pub(crate) fn note_answer(&mut self, now: Instant, media: bool) {
        self.commands -= 1;
        if self.commands == 0 && !media {
            self.enter(now, PowerPhase::Resting(now));
        }
    }

    /// Records that the drive has lost its power and all its commands.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.commands = 0;
        self.enter(now, PowerPhase::Resting(now));
    }

    /// Returns whether the drive is without commands, so that only its media determine whether it is at work.
    #[inline]
    pub(crate) fn has_no_command(&self) -> bool {
        self.commands == 0
    }

    /// Records whether the media are at work while the drive is without commands.
    pub(crate) fn background(&mut self, now: Instant, media: bool) {
        match (self.phase, media) {
            (PowerPhase::Resting(_), true) => self.enter(now, PowerPhase::Working(now)),
            (PowerPhase::Working(_) | PowerPhase::Waking { .. }, false) => {
                self.enter(now, PowerPhase::Resting(now));
            }
            _ => {}
        }
    }

    /// Returns the times until `at`, which must not precede the last recorded instant.
    pub(crate) fn times(&self, at: Instant) -> PowerStateTimes {
        let mut times = self.times.clone();
        self.add_phase(&mut times, at);
        times
    }

    /// Adds the current phase up to `at`.
    fn add_phase(&self, times: &mut PowerStateTimes, at: Instant) {
        match self.phase {
            PowerPhase::Working(since) => times.working += at.since(since),
            PowerPhase::Resting(since) => self.rest(times, at.since(since)),
            PowerPhase::Waking { rested, state, left, awake } => {
                self.rest(times, at.min(left).since(rested));
                times.exits[state] += at.clamp(left, awake).since(left);
                times.working += at.max(awake).since(awake);
            }
        }
    }

    fn enter(&mut self, now: Instant, phase: PowerPhase) {
        let mut times = std::mem::take(&mut self.times);
        self.add_phase(&mut times, now);
        self.times = times;
        self.phase = phase;
    }

    /// Ends a period without work, in the state that the drive has reached.
    fn wake(&mut self, now: Instant, since: Instant) {
        let rested = now.since(since);
        let Some(state) = self.states.iter().rposition(|state| state.after <= rested) else {
            return self.enter(now, PowerPhase::Working(now));
        };
        // A drive that is entering a state completes the entry first.
        let left = now.max(since + self.states[state].reached_after());
        let awake = left + self.states[state].exit;
        self.phase = PowerPhase::Waking { rested: since, state, left, awake };
    }

    /// Adds a period without work to the states that the drive reached.
    fn rest(&self, times: &mut PowerStateTimes, length: Duration) {
        let mut left = length;
        for (index, state) in self.states.iter().enumerate().rev() {
            let reached = state.reached_after();
            if left >= reached {
                times.states[index] += left.saturating_sub(reached);
                times.reached[index] += 1;
                left = reached;
            }
        }
        times.idle += left;
    }
}

impl PowerStateTimes {
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let subtract_each = |own: &[Duration], other: &[Duration]| {
            own.iter().zip(other).map(|(own, other)| own.saturating_sub(*other)).collect()
        };
        let reached = self.reached.iter().zip(&earlier.reached);
        Self {
            working: self.working.saturating_sub(earlier.working),
            idle: self.idle.saturating_sub(earlier.idle),
            states: subtract_each(&self.states, &earlier.states),
            exits: subtract_each(&self.exits, &earlier.exits),
            reached: reached.map(|(own, other)| own.saturating_sub(*other)).collect(),
        }
    }

    /// Returns these times plus the times of `other` multiplied by `factor`.
    #[must_use]
    pub(crate) fn plus(&self, other: &Self, factor: f64) -> Self {
        let add_scaled = |own: &[Duration], other: &[Duration]| {
            own.iter().zip(other).map(|(own, other)| *own + other.times(factor)).collect()
        };
        let reached = self.reached.iter().zip(&other.reached);
        Self {
            working: self.working + other.working.times(factor),
            idle: self.idle + other.idle.times(factor),
            states: add_scaled(&self.states, &other.states),
            exits: add_scaled(&self.exits, &other.exits),
            reached: reached
                .map(|(own, other)| own + (*other as f64 * factor).round() as u64)
                .collect(),
        }
    }

    #[cfg(test)]
    pub(crate) fn total(&self) -> Duration {
        self.working + self.idle + self.states.iter().chain(&self.exits).copied().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{at, us};
    use lanemark_schema::units::Watts;
    use proptest::prelude::*;

    const PICOSECOND: Duration = Duration::from_picoseconds(1);

    fn state(name: &str, after: u64, entry: u64, exit: u64) -> PowerState {
        PowerState {
            name: name.to_owned(),
            power: Watts::ZERO,
            after: us(after),
            entry: us(entry),
            exit: us(exit),
            exit_power: Watts::ZERO,
        }
    }

    fn meter() -> PowerMeter {
        PowerMeter::new(&[state("partial", 100, 0, 10), state("slumber", 1_000, 50, 300)])
    }

    #[test]
    fn a_state_is_entered_at_its_time_and_not_before() {
        let soon = Instant::from_picoseconds(at(100).picoseconds() - 1);
        assert_eq!(meter().note_command(soon), None);
        assert_eq!(meter().note_command(at(100)), Some(at(110)));
        let before = Instant::from_picoseconds(at(1_000).picoseconds() - 1);
        assert_eq!(meter().note_command(before), Some(before + us(10)));
    }

    #[test]
    fn what_comes_on_the_way_into_a_state_waits_for_the_way_in_and_out() {
        assert_eq!(meter().note_command(at(1_000)), Some(at(1_350)));
        assert_eq!(meter().note_command(at(1_049)), Some(at(1_350)));
        assert_eq!(meter().note_command(at(1_050)), Some(at(1_350)));
        assert_eq!(meter().note_command(at(1_051)), Some(at(1_351)));
    }

    #[test]
    fn what_comes_while_it_wakes_waits_for_the_rest_and_later_for_nothing() {
        let mut meter = meter();
        assert_eq!(meter.note_command(at(500)), Some(at(510)));
        assert_eq!(meter.note_command(at(509)), Some(at(510)));
        assert_eq!(meter.note_command(at(510)), None);
        let seen = meter.times(at(600));
        assert_eq!((seen.idle, seen.states.clone()), (us(100), vec![us(400), us(0)]));
        assert_eq!((seen.exits.clone(), seen.working), (vec![us(10), us(0)], us(90)));
        assert_eq!(seen.reached, [1, 0]);
    }

    #[test]
    fn times_can_be_read_at_any_moment() {
        let mut meter = meter();
        assert_eq!(meter.times(at(1_060)).states, [us(950), us(10)]);
        meter.note_command(at(1_020));
        // The entry lasts until 1,050 and the exit until 1,350.
        assert_eq!(meter.times(at(1_040)).exits, [us(0), us(0)]);
        assert_eq!(meter.times(at(1_040)).states, [us(940), us(0)]);
        assert_eq!(meter.times(at(1_060)).exits, [us(0), us(10)]);
        assert_eq!(meter.times(at(1_400)).working, us(50));
    }

    #[test]
    fn media_that_continue_without_a_command_are_work() {
        let mut meter = meter();
        meter.note_command(at(10));
        meter.note_answer(at(20), true);
        meter.background(at(50), false);
        assert_eq!(meter.note_command(at(149)), None);
        let seen = meter.times(at(149));
        assert_eq!((seen.working, seen.idle), (us(40), us(109)));
        meter.note_answer(at(149) + PICOSECOND, false);
        meter.background(at(400), true);
        assert_eq!(meter.times(at(400)).reached, [1, 0]);
    }

    proptest! {
        /// The sum of all times equals the elapsed time, regardless of the order of calls.
        #[test]
        fn no_time_is_lost(gaps in proptest::collection::vec((0u64..3_000, 0u64..100, any::<bool>()), 1..40)) {
            let mut meter = meter();
            let mut now = Instant::ZERO;
            for (gap, work, media) in gaps {
                now = now + us(gap);
                now = meter.note_command(now).unwrap_or(now) + us(work);
                meter.note_answer(now, media);
                if media {
                    now = now + us(work);
                    prop_assert!(meter.has_no_command());
                    meter.background(now, false);
                }
                prop_assert_eq!(meter.times(now).total(), now.since(Instant::ZERO));
            }
        }
    }
}
