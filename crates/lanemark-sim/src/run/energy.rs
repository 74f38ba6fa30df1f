//! Energy of drives: power multiplied by the times for which it was drawn.
//!
//! Model: energy is the integral of power over time. Because power is constant in each state and operation, the
//! integral is a sum of power times time. A drive that is awake always draws its idle power; the work of the controller
//! and of each die, channel or arm adds to this power. A drive in a power state draws only the power of that state.
//! Times are whole picoseconds and powers whole microwatts, so the sums are exact.
//!
//! [`EnergyMetering`] reads the meters only at the instants at which counting begins and ends, so it takes no processor
//! time while the test runs.
//!
//! Not modelled: the dependence of power on temperature, voltage and data; converter losses; peaks.

use std::collections::VecDeque;

use crate::drive::PowerStateTimes;
use crate::simulator::{Completion, PowerReading, Simulator};
use crate::spec::{PowerSpec, SystemSpec};
use crate::storage::Storage;
use lanemark_schema::result::{EnergyPart, EnergyUse, PlatformPower, PowerStateUse};
use lanemark_schema::units::{Duration, Instant, Joules};

/// The meters of a system, read when counting begins and ends.
#[derive(Debug)]
pub(crate) struct EnergyMetering {
    /// Whether the power of each drive is known.
    known: bool,
    from: Instant,
    until: Option<Instant>,
    begun: Option<Vec<PowerReading>>,
    /// Beginnings of the earlier periods that still count, each with the readings at that time.
    earlier: VecDeque<(Instant, Vec<PowerReading>)>,
    ended: Option<(Instant, Vec<PowerReading>)>,
}

impl EnergyMetering {
    /// Creates meters that begin at `from` and, if `until` is given, up to `until`.
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

    /// Advances to the next completion no later than `limit`, like [`EnergyMetering::advance`].
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

    /// Stops counting at `at`, unless counting has already stopped. The meters are not read again.
    pub(crate) fn end(&mut self, simulator: &Simulator, at: Instant) {
        if self.ended.is_none() && self.begun.is_some() {
            self.ended = simulator.power(at).map(|readings| (at, readings));
        }
    }

    /// Continues counting after its end, until `until`. The result covers the last `stretches` periods, including the
    /// new period; there is no result if one of these periods ends before its meters were read.
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
        let begun = self.begun.as_ref()?;
        let now = simulator.power(at)?;
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

/// Returns the energy of a system's drives over `elapsed`, during which their meters advanced by `readings`. Returns
/// `None` if a drive's power is not known or no time has passed.
pub(crate) fn energy(
    spec: &SystemSpec,
    readings: impl Iterator<Item = PowerReading>,
    elapsed: Duration,
) -> Option<EnergyUse> {
    let mut sums = NamedSums::default();
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

/// Returns the energy of one drive for the times of a reading.
#[cfg(test)]
pub(crate) fn drive_energy(spec: &PowerSpec, reading: &PowerReading) -> Joules {
    parts(spec, reading).into_iter().map(|(_, energy)| energy).sum()
}

/// Sums of energy and time by name, in the order of their first use.
#[derive(Default)]
struct NamedSums {
    parts: Vec<(&'static str, Joules)>,
    states: Vec<PowerStateUse>,
}

impl NamedSums {
    fn add(&mut self, spec: &PowerSpec, reading: &PowerReading) {
        for (name, energy) in parts(spec, reading) {
            match self.parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += energy,
                None => self.parts.push((name, energy)),
            }
        }
        let PowerStateTimes { working, idle, states, exits, reached } = &reading.times;
        self.add_state_time("working", *working, None);
        self.add_state_time("idle", *idle, None);
        for (state, (time, reached)) in spec.states.iter().zip(states.iter().zip(reached)) {
            self.add_state_time(&state.name, *time, Some(*reached));
        }
        if !spec.states.is_empty() {
            self.add_state_time("waking", exits.iter().copied().sum(), None);
        }
    }

    fn add_state_time(&mut self, name: &str, time: Duration, reached: Option<u64>) {
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
    let PowerStateTimes { working, idle, states, exits, .. } = &reading.times;
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

    /// Returns this reading plus the reading `other` multiplied by `factor`.
    #[must_use]
    pub(crate) fn plus(&self, other: &Self, factor: f64) -> Self {
        let media = self.media.iter().zip(&other.media);
        let media = media.map(|(own, other)| *own + other.times(factor)).collect();
        Self { times: self.times.plus(&other.times, factor), media }
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::{MediaPower, PowerState};
    use lanemark_schema::units::Watts;

    use super::*;

    const fn watts(milliwatts: u64) -> Watts {
        Watts::from_milliwatts(milliwatts)
    }

    fn state(name: &str, power: Watts, exit_power: Watts) -> PowerState {
        let after = Duration::from_seconds(1);
        PowerState {
            name: name.to_owned(),
            power,
            after,
            entry: Duration::ZERO,
            exit: Duration::from_seconds(1),
            exit_power,
        }
    }

    fn spec() -> PowerSpec {
        PowerSpec {
            idle: watts(1_000),
            controller: watts(2_000),
            media: MediaPower::Disk { seek: watts(4_000), transfer: watts(3_000) },
            states: vec![
                state("slumber", watts(100), watts(6_000)),
                state("standby", watts(10), watts(8_000)),
            ],
        }
    }

    fn reading(seconds: [u64; 8], reached: [u64; 2]) -> PowerReading {
        let [working, idle, slumber, standby, from_slumber, from_standby, seek, transfer] =
            seconds.map(Duration::from_seconds);
        let states = vec![slumber, standby];
        let times = PowerStateTimes {
            working,
            idle,
            states,
            exits: vec![from_slumber, from_standby],
            reached: reached.to_vec(),
        };
        PowerReading { times, media: vec![seek, transfer] }
    }

    #[test]
    fn energies_and_times_of_drives_add_up_by_name() {
        let mut system = SystemSpec::example();
        let spec = spec();
        system.attachments[0].drive.power = Some(spec.clone());
        system.attachments.push(system.attachments[0].clone());
        let readings = [
            reading([3, 5, 20, 40, 2, 1, 2, 1], [7, 5]),
            reading([1, 2, 3, 4, 5, 6, 1, 1], [1, 2]),
        ];
        let all =
            energy(&system, readings.clone().into_iter(), Duration::from_seconds(10)).unwrap();
        assert_eq!((all.drives, all.elapsed), (2, Duration::from_seconds(10)));
        // A drive that is awake draws 1 W. The controller adds 2 W, the arm 4 W and the heads 3 W.
        let wanted = [
            ("idle", 8.0 + 3.0),
            ("controller", 6.0 + 2.0),
            ("arm", 8.0 + 4.0),
            ("heads", 3.0 + 3.0),
            ("states", 2.4 + 0.34),
            ("waking", 20.0 + 78.0),
        ];
        let parts: Vec<(&str, f64)> =
            all.parts.iter().map(|part| (part.name.as_str(), part.energy_joules)).collect();
        assert_eq!(parts.len(), wanted.len());
        for ((name, joules), (wanted_name, wanted)) in parts.iter().zip(wanted) {
            assert_eq!(*name, wanted_name);
            assert!((joules - wanted).abs() < 1e-9, "{name}: {joules}, expected {wanted}");
        }
        let total: f64 = wanted.iter().map(|(_, joules)| joules).sum();
        assert!((all.energy_joules - total).abs() < 1e-9);
        assert!((all.power_mean_watts - total / 10.0).abs() < 1e-9);
        let used = |name: &str, seconds, reached| PowerStateUse {
            name: name.to_owned(),
            time: Duration::from_seconds(seconds),
            reached,
        };
        let states = [
            used("working", 4, None),
            used("idle", 7, None),
            used("slumber", 23, Some(8)),
            used("standby", 44, Some(7)),
            used("waking", 14, None),
        ];
        assert_eq!(all.states, states);
        let first: f64 = parts_of(&spec, &readings[0]).iter().sum();
        assert!((drive_energy(&spec, &readings[0]).as_joules() - first).abs() < 1e-9);
        assert_eq!(energy(&system, readings.into_iter(), Duration::ZERO), None);
        assert_eq!(energy(&system, std::iter::empty(), Duration::from_seconds(1)), None);
        system.attachments[0].drive.power = None;
        let readings = [reading([1; 8], [1; 2]), reading([1; 8], [1; 2])];
        assert_eq!(energy(&system, readings.into_iter(), Duration::from_seconds(1)), None);
    }

    fn parts_of(spec: &PowerSpec, reading: &PowerReading) -> Vec<f64> {
        let seconds = |time: Duration| time.as_seconds();
        let PowerStateTimes { working, idle, states, exits, .. } = &reading.times;
        let mut parts = vec![seconds(*idle) + 3.0 * seconds(*working)];
        parts.extend([4.0 * seconds(reading.media[0]), 3.0 * seconds(reading.media[1])]);
        for (number, state) in spec.states.iter().enumerate() {
            parts.push(state.power.as_watts() * seconds(states[number]));
            parts.push(state.exit_power.as_watts() * seconds(exits[number]));
        }
        parts
    }

    #[test]
    fn readings_are_subtracted_and_weighed_part_by_part() {
        let late = reading([9, 8, 7, 6, 5, 4, 3, 2], [10, 20]);
        let early = reading([1, 2, 3, 1, 2, 3, 1, 2], [4, 8]);
        let between = late.since(&early);
        assert_eq!(between, reading([8, 6, 4, 5, 3, 1, 2, 0], [6, 12]));
        assert_eq!(between.plus(&early, 1.0), late);
        assert_eq!(between.plus(&early, 0.0), between);
        let twice = reading([10, 10, 10, 7, 7, 7, 4, 4], [14, 28]);
        assert_eq!(between.plus(&early, 2.0), twice);
    }
}
