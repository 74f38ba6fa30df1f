//! Energy of drives: power over the times in which it was drawn.
//!
//! Model: the integral of power over time, which for powers that are constant in each state and operation is the sum of
//! power times time. A drive that is awake always takes its idle power; the work of the controller and of each die,
//! channel or arm adds to it. A drive in a state takes only that state's power. Times are whole picoseconds and powers
//! whole microwatts, so the sums are exact.
//!
//! [`Metering`] reads the meters at the instants between which a test counts, which takes no time while the test runs.
//!
//! Not modelled: changes of power with temperature, voltage and data; losses of converters; peaks.

use std::collections::VecDeque;

use crate::drive::PowerTimes;
use crate::simulator::{Completion, PowerReading, Simulator};
use crate::spec::{PowerSpec, SystemSpec};
use crate::storage::Storage;
use lanemark_schema::result::{EnergyPart, EnergyUse, PlatformPower, PowerStateUse};
use lanemark_schema::units::{Duration, Instant, Joules};

/// The meters of a system, read when counting begins and ends.
#[derive(Debug)]
pub(crate) struct Metering {
    /// Whether the power of each drive is known.
    known: bool,
    from: Instant,
    until: Option<Instant>,
    begun: Option<Vec<PowerReading>>,
    /// Beginnings of the earlier periods that still count, with their readings.
    earlier: VecDeque<(Instant, Vec<PowerReading>)>,
    ended: Option<(Instant, Vec<PowerReading>)>,
}

impl Metering {
    /// Creates meters that count from `from` on and, if `until` is given, until `until` at the latest.
    pub(crate) fn new(spec: &SystemSpec, from: Instant, until: Option<Instant>) -> Self {
        let known = spec.knows_power();
        Self { known, from, until, begun: None, earlier: VecDeque::new(), ended: None }
    }

    /// Advances to the next completion, and reads the meters if counting begins or must end before it.
    pub(crate) fn advance(&mut self, storage: &mut Storage) -> Option<Completion> {
        if !self.known {
            return storage.advance();
        }
        if self.begun.is_none() {
            let before = storage.advance_until(self.from);
            if before.is_some() {
                return before;
            }
            self.begun = storage.simulator().power(self.from);
        }
        if let (None, Some(until)) = (&self.ended, self.until) {
            let before = storage.advance_until(until);
            if before.is_some() {
                return before;
            }
            self.end(storage.simulator(), until);
        }
        storage.advance()
    }

    /// Advances to the next completion no later than `limit`, as [`Metering::advance`] does.
    pub(crate) fn advance_until(
        &mut self,
        storage: &mut Storage,
        limit: Instant,
    ) -> Option<Completion> {
        if self.known && self.begun.is_none() {
            let before = storage.advance_until(self.from.min(limit));
            if before.is_some() || limit < self.from {
                return before;
            }
            self.begun = storage.simulator().power(self.from);
        }
        storage.advance_until(limit)
    }

    /// Ends counting at `at` if it has not ended: there are no further readings.
    pub(crate) fn end(&mut self, simulator: &Simulator, at: Instant) {
        if self.ended.is_none() && self.begun.is_some() {
            self.ended = simulator.power(at).map(|readings| (at, readings));
        }
    }

    /// Continues counting after its end, until `until`. The result covers the last `stretches` periods, including this
    /// one; there is no result if one of them ends before any reading.
    pub(crate) fn go_on(&mut self, simulator: &Simulator, until: Instant, stretches: usize) {
        match (self.begun.take(), self.ended.take()) {
            (Some(begun), Some((at, ended))) if self.known && until > simulator.now() => {
                self.earlier.push_back((self.from, begun));
                while self.earlier.len() >= stretches.max(1) {
                    self.earlier.pop_front();
                }
                (self.from, self.begun) = (at, Some(ended));
                self.until = Some(until);
            }
            _ => self.known = false,
        }
    }

    /// Returns the readings from the beginning of counting until `at`, if counting has begun and the power is known.
    pub(crate) fn until(&self, simulator: &Simulator, at: Instant) -> Option<Vec<PowerReading>> {
        let (begun, now) = (self.begun.as_ref()?, simulator.power(at)?);
        Some(now.iter().zip(begun).map(|(now, begin)| now.since(begin)).collect())
    }

    /// Returns the energy between the readings.
    pub(crate) fn energy(&self, spec: &SystemSpec) -> Option<EnergyUse> {
        let (Some(begun), Some((at, ended))) = (&self.begun, &self.ended) else { return None };
        let (from, begun) = match self.earlier.front() {
            Some((from, begun)) => (*from, begun),
            None => (self.from, begun),
        };
        let readings = ended.iter().zip(begun).map(|(end, begin)| end.since(begin));
        energy(spec, readings, at.since(from))
    }
}

/// Returns the energy of a system's drives in `elapsed`, during which their meters advanced by `readings`, or `None` if
/// a drive's power is not known, or no time has passed.
pub(crate) fn energy(
    spec: &SystemSpec,
    readings: impl Iterator<Item = PowerReading>,
    elapsed: Duration,
) -> Option<EnergyUse> {
    let mut sums = Sums::default();
    let mut count = 0;
    for (drive, reading) in spec.drive_specs().zip(readings) {
        sums.add(drive.power.as_ref()?, &reading);
        count += 1;
    }
    if count == 0 || elapsed == Duration::ZERO {
        return None;
    }
    let total: Joules = sums.parts.iter().map(|(_, energy)| *energy).sum();
    let watts = total.as_joules() / elapsed.as_seconds();
    let platform = spec.host_power.map(|host| PlatformPower {
        base_watts: host.base.as_watts(),
        battery_hours: host.battery_hours(watts),
    });
    let part = |(name, energy): (&str, Joules)| EnergyPart {
        name: name.to_owned(),
        energy_joules: energy.as_joules(),
    };
    Some(EnergyUse {
        elapsed,
        drives: count,
        energy_joules: total.as_joules(),
        power_mean_watts: watts,
        parts: sums.parts.into_iter().map(part).collect(),
        states: sums.states,
        platform,
    })
}

/// Returns the energy of one drive over a whole reading.
#[cfg(test)]
pub(crate) fn drive_energy(spec: &PowerSpec, reading: &PowerReading) -> Joules {
    parts(spec, reading).into_iter().map(|(_, energy)| energy).sum()
}

/// Energies and times by name, in the order of their first use.
#[derive(Default)]
struct Sums {
    parts: Vec<(&'static str, Joules)>,
    states: Vec<PowerStateUse>,
}

impl Sums {
    fn add(&mut self, spec: &PowerSpec, reading: &PowerReading) {
        for (name, energy) in parts(spec, reading) {
            match self.parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += energy,
                None => self.parts.push((name, energy)),
            }
        }
        let PowerTimes { working, idle, states, exits, reached } = &reading.times;
        self.stay("working", *working, None);
        self.stay("idle", *idle, None);
        for (state, (time, reached)) in spec.states.iter().zip(states.iter().zip(reached)) {
            self.stay(&state.name, *time, Some(*reached));
        }
        if !spec.states.is_empty() {
            self.stay("waking", exits.iter().copied().sum(), None);
        }
    }

    fn stay(&mut self, name: &str, time: Duration, reached: Option<u64>) {
        match self.states.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.time += time;
                known.reached = known.reached.zip(reached).map(|(one, other)| one + other);
            }
            None => self.states.push(PowerStateUse { name: name.to_owned(), time, reached }),
        }
    }
}

fn parts(spec: &PowerSpec, reading: &PowerReading) -> Vec<(&'static str, Joules)> {
    let PowerTimes { working, idle, states, exits, .. } = &reading.times;
    let mut parts = vec![
        ("idle", spec.idle * *idle + spec.idle * *working),
        ("controller", spec.controller * *working),
    ];
    let media = spec.media.parts().into_iter().zip(&reading.media);
    parts.extend(media.map(|(part, time)| (part.name, part.power * *time)));
    if !spec.states.is_empty() {
        let each = spec.states.iter().zip(states);
        parts.push(("states", each.map(|(state, time)| state.power * *time).sum()));
        let each = spec.states.iter().zip(exits);
        parts.push(("waking", each.map(|(state, time)| state.exit_power * *time).sum()));
    }
    parts
}

impl PowerReading {
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let media = self.media.iter().zip(&earlier.media);
        let media = media.map(|(own, other)| own.saturating_sub(*other)).collect();
        Self { times: self.times.since(&earlier.times), media }
    }

    /// Returns the sum of this reading and of `factor` times the reading `other`.
    #[must_use]
    pub(crate) fn plus(&self, other: &Self, factor: f64) -> Self {
        let media = self.media.iter().zip(&other.media);
        let media = media.map(|(own, other)| *own + other.times(factor)).collect();
        Self { times: self.times.plus(&other.times, factor), media }
    }
}
