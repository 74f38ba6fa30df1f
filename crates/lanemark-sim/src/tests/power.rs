//! Compares the power and energy of whole systems with closed forms, and tests invariants of every system.

use crate::run::energy::drive_energy;
use crate::spec::submission::Submission;
use crate::spec::*;
use crate::tests::runs::{at_rest, nvme, retrying, run, small_drive, test, times};
use crate::tests::{lasting, us};
use lanemark_schema::result::{EnergyUse, Sample};
use lanemark_schema::units::{Bytes, Duration, Instant, Joules, Watts};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};
use proptest::prelude::*;

fn mw(milliwatts: u64) -> Watts {
    Watts::from_milliwatts(milliwatts)
}

pub(crate) fn flash_power() -> PowerSpec {
    PowerSpec {
        idle: mw(500),
        controller: mw(1_000),
        media: MediaPower::Flash { read: mw(80), program: mw(90), erase: mw(70), channel: mw(100) },
        states: Vec::new(),
    }
}

fn state(name: &str, power: Watts, after: Duration, entry: Duration, exit: Duration) -> PowerState {
    PowerState { name: name.to_owned(), power, after, entry, exit, exit_power: mw(700) }
}

pub(crate) fn two_states() -> Vec<PowerState> {
    vec![
        state("slumber", mw(50), us(1_000), us(100), us(300)),
        state("sleep", mw(5), us(20_000), us(500), us(2_000)),
    ]
}

fn metered(power: PowerSpec) -> SystemSpec {
    nvme(DriveSpec { power: Some(power), ..small_drive() })
}

fn energy(sample: &Sample) -> &EnergyUse {
    sample.energy.as_ref().expect("the drive's power is known")
}

fn part(energy: &EnergyUse, name: &str) -> f64 {
    energy.parts.iter().find(|part| part.name == name).expect(name).energy_joules
}

fn time(energy: &EnergyUse, name: &str) -> Duration {
    energy.states.iter().find(|state| state.name == name).expect(name).time
}

fn close(seen: f64, expected: f64) {
    assert!((seen / expected - 1.0).abs() < 1e-9, "{seen} for {expected}");
}

/// Returns a test of single reads with a pause after each.
fn with_pauses(think: Duration, count: u64) -> Test {
    let block = Bytes::kibi(4);
    Test { volume: Some(block * count), ..test(block, Pattern::Uniform, true, 1) }
        .with(|asked| asked.think = think)
}

#[test]
fn unknown_power_is_absent_and_metering_changes_no_other_figure() {
    let mixed = test(Bytes::kibi(16), Pattern::Uniform, true, 8);
    let plain = run(&nvme(small_drive()), &mixed);
    assert_eq!(plain.energy, None);
    let seen = run(&metered(flash_power()), &mixed);
    assert_eq!(Sample { energy: None, ..seen }, plain);
    // A sum over drives would be too small if one value is unknown.
    let mut system = times(metered(flash_power()), 2);
    system.attachments[1].drive.power = None;
    assert_eq!(run(&system, &mixed).energy, None);
    system.attachments[1].drive.power = Some(flash_power());
    assert_eq!(energy(&run(&system, &mixed)).drives, 2);
}

/// The test has 2,048 reads of 16 KiB. Each read senses for 50 µs, and occupies its channel for 200 ns of commands and
/// 40.96 µs of data.
#[test]
fn saturated_reads_take_what_their_operations_take() {
    let sample = run(&metered(flash_power()), &test(Bytes::kibi(16), Pattern::Uniform, true, 32));
    let seen = energy(&sample);
    let reads = 2_048.0;
    close(part(seen, "flash read"), reads * 50e-6 * 0.080);
    close(part(seen, "flash channels"), reads * (0.2e-6 + 40.96e-6) * 0.100);
    assert_eq!((part(seen, "flash program"), part(seen, "flash erase")), (0.0, 0.0));
    // The drive works from the arrival of the first command until the last answer is sent.
    let working = time(seen, "working");
    assert!(working > sample.elapsed.saturating_sub(us(5)) && working < sample.elapsed);
    close(part(seen, "controller"), working.as_seconds());
    close(part(seen, "idle"), sample.elapsed.as_seconds() * 0.5);
    close(seen.parts.iter().map(|part| part.energy_joules).sum(), seen.energy_joules);
    let watts = seen.energy_joules / sample.elapsed.as_seconds();
    close(seen.power_mean_watts, watts);
    close(sample.iops_per_watt().unwrap(), reads / sample.elapsed.as_seconds() / watts);
    close(sample.joules_per_gigabyte().unwrap(), watts / (sample.throughput().0 as f64 / 1e9));
}

#[test]
fn counting_from_the_end_of_a_ramp_covers_the_duration_and_no_more() {
    let test = lasting(us(20_000), test(Bytes::kibi(16), Pattern::Uniform, true, 32));
    let test = Test { ramp: us(5_000), ..test };
    let sample = run(&metered(flash_power()), &test);
    let seen = energy(&sample);
    assert_eq!(seen.elapsed, us(20_000));
    assert_eq!(time(seen, "working"), us(20_000));
    // Up to four dies sense at all times, and the channel of a die is busy for 40.96 of 91 µs.
    let read = part(seen, "flash read") / (0.080 * 0.020);
    assert!((1.5..4.0).contains(&read), "{read} dies");
}

/// Returns the mean latency of single reads with a pause after each, in picoseconds, and the sample.
fn latency(states: Vec<PowerState>, think: Duration) -> (f64, Sample) {
    let system = metered(PowerSpec { states, ..flash_power() });
    let sample = run(&system, &with_pauses(think, 20));
    (sample.latency().mean_ns() * 1e3, sample)
}

#[test]
fn a_command_waits_for_the_exit_of_the_state_that_it_finds() {
    let (awake, _) = latency(two_states(), us(900));
    let (slumbering, sample) = latency(two_states(), us(5_000));
    // The first request finds the drive awake, as after power-on.
    close(slumbering - awake, 300e6 * 19.0 / 20.0);
    let seen = energy(&sample);
    assert_eq!(time(seen, "waking"), us(300) * 19);
    let slumber = seen.states.iter().find(|state| state.name == "slumber").unwrap();
    assert_eq!(slumber.reached, Some(19));
    close(part(seen, "waking"), 19.0 * 300e-6 * 0.7);
    close(part(seen, "states"), slumber.time.as_seconds() * 0.05);
    let hop = sample.path.as_ref().unwrap().hops.iter().find(|hop| hop.name == "power state");
    close(hop.unwrap().wait_ns, 300e3 * 19.0 / 20.0);
    let (asleep, _) = latency(two_states(), us(50_000));
    close(asleep - awake, 2_000e6 * 19.0 / 20.0);
}

/// All written data is programmed, and each program consumes energy, including programs in the background.
#[test]
fn writes_take_their_programs_after_the_last_answer_too() {
    let system = metered(flash_power());
    let mut simulator = at_rest(&system, Bytes::ZERO.into());
    let length = Bytes::kibi(512);
    let access = Access { operation: Operation::Write, offset: Bytes::ZERO, length };
    simulator.submit(Submission::new(Instant::ZERO, access)).unwrap();
    let answered = simulator.advance().unwrap().completed;
    let early = simulator.power(answered).unwrap();
    assert_eq!(simulator.advance(), None);
    let end = simulator.now();
    let readings = simulator.power(end).unwrap();
    // For flash, the second part is the energy of programs. A unit has two planes of 16 KiB.
    let before = early[0].media[1];
    let program = readings[0].media[1];
    assert_eq!(program, us(600) * 16);
    assert!(before < program);
    assert!(end > answered + us(1_000));
    // The drive works until the last program has ended, and then rests.
    let later = end + us(100);
    let resting = simulator.power(later).unwrap()[0].times.since(&readings[0].times);
    assert_eq!((resting.idle, resting.working), (us(100), Duration::ZERO));
    let idle = readings[0].times.idle;
    assert!(idle < us(10), "{idle}");
}

#[test]
fn impossible_power_is_reported_with_its_place() {
    let says = |power: PowerSpec, expected: &str| {
        let seen = metered(power).check().unwrap_err().to_string();
        assert!(seen.contains(expected), "{seen}");
    };
    let with = |states: Vec<PowerState>| PowerSpec { states, ..flash_power() };
    assert_eq!(metered(with(two_states())).check(), Ok(()));
    says(PowerSpec { idle: mw(20_000_000), ..flash_power() }, "drive.power.idle = 20 kW: at most");
    let media = MediaPower::Disk { seek: mw(1), transfer: mw(1) };
    says(PowerSpec { media, ..flash_power() }, "drive.power = other media");
    let one = |power, after, exit| vec![state("one", power, after, us(0), exit)];
    says(with(one(mw(501), us(1), us(1))), "drive.power.state.power = 501 mW: at most 500 mW");
    says(with(one(mw(1), us(4_000_000_000), us(1))), "drive.power.state.after");
    says(with(one(mw(1), us(1), us(4_000_000_000))), "drive.power.state.exit");
    let mut states = two_states();
    states[1].after = us(1_099);
    says(with(states), "drive.power.state.after = 1.099 ms: at least 1.1 ms");
    let at_once = state("slumber", mw(50), Duration::ZERO, Duration::ZERO, us(300));
    assert_eq!(metered(with(vec![at_once.clone(); 32])).check(), Ok(()));
    says(with(vec![at_once; 33]), "drive.power.state = 33");
    let host = |host_power| SystemSpec { host_power: Some(host_power), ..metered(flash_power()) };
    let flat = HostPower { base: mw(1), battery: Some(Joules::ZERO) };
    assert!(host(flat).check().unwrap_err().to_string().contains("platform.power.battery"));
    let hot = HostPower { base: mw(20_000_000), battery: None };
    assert!(host(hot).check().unwrap_err().to_string().contains("platform.power.base"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any requests at any time, the times sum to the elapsed time, and the energy equals power times time plus the
    /// energy of operations. No value decreases between two readings, and no die is busy for longer than the elapsed
    /// time.
    #[test]
    fn energy_is_conserved(
        gaps in proptest::collection::vec((0u64..40_000, 0u64..6, 1u64..40), 1..40), seed: u64,
        cache: bool, suspends: bool,
    ) {
        let power = PowerSpec { states: two_states(), ..flash_power() };
        let mut system = metered(power.clone());
        let flash = system.attachments[0].drive.flash_mut();
        flash.die.cache_read = cache;
        flash.die.cache_program = cache;
        flash.die.suspend =
            suspends.then_some(SuspendSpec { enter: us(20), resume: us(10) });
        system.faults = vec![retrying(if suspends { 0.3 } else { 0.0 })];
        prop_assert_eq!(system.check(), Ok(()));
        let dies = system.attachments[0].drive.flash().dies();
        let mut simulator = at_rest(&system, Bytes::mebi(32).into());
        let mut at = Instant::ZERO;
        for (index, (gap, kind, blocks)) in gaps.into_iter().enumerate() {
            at = at + us(gap);
            let operation = if kind < 3 { Operation::Read } else { Operation::Write };
            let offset = Bytes::kibi(4) * (seed.wrapping_mul(index as u64 + 1) % 8_000);
            let access = Access { operation, offset, length: Bytes::kibi(4) * blocks };
            simulator.submit(Submission::new(at, access).by(index as u32)).unwrap();
        }
        let mut last = simulator.power(Instant::ZERO).unwrap().remove(0);
        let mut sum = Joules::ZERO;
        let mut now = Instant::ZERO;
        while simulator.next_at().is_some() {
            now = now + us(137);
            simulator.advance_until(now);
            if simulator.now() < now && simulator.next_at().is_some_and(|next| next <= now) {
                now = simulator.now();
            }
            let reading = simulator.power(now).unwrap().remove(0);
            let step = reading.since(&last);
            prop_assert_eq!(reading.times.total(), now.since(Instant::ZERO));
            prop_assert_eq!(step.times.total() + last.times.total(), reading.times.total());
            let passed = step.times.total();
            prop_assert!(step.media[..3].iter().copied().sum::<Duration>() <= passed * dies);
            sum += drive_energy(&power, &step);
            last = reading;
        }
        // The energy is the same to the attojoule, whether it is computed in several steps or in one.
        prop_assert_eq!(sum, drive_energy(&power, &last));
    }
}
