//! The bottleneck of a test, found by experiment: runs of the system with one hop at twice its speed, and of the test
//! with twice the load.
//!
//! [`variants`] returns the systems and tests to run. Each runs with the random streams of the first run, so that the
//! same requests occur at the same offsets. [`compute_sensitivity`] compares the results. The runs are independent, so
//! a caller with several cores can execute them in parallel; this module does not start threads.
//!
//! *Twice as fast* halves every time of the hop: for a core, these include the times of drivers and interrupts on it;
//! for a link, its latency and every cost in its model; for dies, sensing, programming and erasing; for a disk, seeks,
//! rotation and firmware times. Rates double. The size of the write buffer doubles, because a buffer does not have a
//! speed. A hop that occurs on several drives, or at both ports of a drive, is changed in all locations.
//!
//! A faster hop does not reduce the throughput except in a few cases in which an order changes: dies that serve reads
//! first, arms and garbage collection that choose among waiting operations, an ATA interrupt handler that ends before
//! the next completion arrives and must run again. Losses of this kind are reported without correction. With two random
//! reads of 64 or 128 KiB at a time over SATA, faster channels caused losses of 20%, and a faster link caused gains of
//! 125%, more than its own time explains; the reason is not known.
//!
//! The busiest hop is not always the hop with the largest gain: a die without a cache register is occupied while its
//! page is on the channel, so the channel's time also counts as busy time of the die.
//!
//! Not covered: changes of two hops at once, fewer bytes or commands, more command slots, other policies.

use super::driver::{RunLength, run_length_watched, run_test};
use super::hops::{self, longest};
use crate::drive::formulas::{formulas_mut, formulas_of};
use crate::link::LinkSpec;
use crate::run::progress::Progress;
use crate::simulator::SimError;
use crate::spec::{
    AdapterSpec, AttachmentSpec, CheckedSystem, DriveSpec, OverloadCost, PortPathSpec,
    ProtocolSpec, SystemSpec,
};
use lanemark_schema::result::sensitivity::beyond_noise;
use lanemark_schema::result::{ChangeGain, HopId, Sample, Sensitivity, SystemChange};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::{CheckedTest, Load, SyntheticRequests, Test};

/// A system or a test with one change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedSystem {
    /// The hop that becomes faster, or the part of the load that doubles.
    pub id: SystemChange,
    /// The name of the hop or of the load.
    pub hop: String,
    /// The change as text.
    pub change: String,
    /// The system to run.
    pub spec: CheckedSystem,
    /// The test to run.
    pub test: CheckedTest,
}

impl ChangedSystem {
    /// Runs the variant with the random streams of `key`.
    ///
    /// # Errors
    /// Returns the errors of [`run_test`].
    pub fn run(&self, key: StreamKey) -> Result<Sample, SimError> {
        self.run_watched(key, RunLength::Whole, &mut |_| true)
    }

    /// Runs `length` of the variant with the random streams of `key`, until `watch` returns false.
    ///
    /// # Errors
    /// Returns the errors of [`run_length_watched`].
    pub fn run_watched(
        &self,
        key: StreamKey,
        length: RunLength,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Sample, SimError> {
        run_length_watched(&self.spec, &self.test, key, length, watch)
    }
}

/// Returns all variants of `spec` and `test`, whose unchanged run returned `base`: first the hops from the processor to
/// the media, then the loads. Omits variants without a difference, and variants whose system or test is invalid.
pub fn variants(spec: &CheckedSystem, test: &CheckedTest, base: &Sample) -> Vec<ChangedSystem> {
    let mut all = hops(spec, test, base);
    all.extend(more_load(spec, test));
    all.retain(|variant| variant.spec != *spec || variant.test != *test);
    all
}

/// Returns the gain of each of `variants` over `base`.
pub fn compute_sensitivity(
    base: &Sample,
    variants: &[ChangedSystem],
    outcomes: &[Sample],
) -> Sensitivity {
    let latency = |sample: &Sample| sample.latency().mean_ns();
    let busy = |id: SystemChange| {
        if let SystemChange::Hop(id) = id {
            Some(base.path.as_ref()?.hop(id)?.utilisation)
        } else {
            None
        }
    };
    let gain = |(variant, outcome): (&ChangedSystem, &Sample)| ChangeGain {
        id: variant.id,
        hop: variant.hop.clone(),
        change: variant.change.clone(),
        utilisation: busy(variant.id),
        throughput_gain: beyond_noise(rate(outcome) / rate(base) - 1.0),
        latency_gain: beyond_noise(1.0 - latency(outcome) / latency(base)),
    };
    Sensitivity::new(variants.iter().zip(outcomes).map(gain).collect())
}

/// Runs `test` on `spec` once, and then each of its variants.
///
/// # Errors
/// Returns the errors of [`run_test`].
pub fn sensitivity(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
) -> Result<Sensitivity, SimError> {
    let base = run_test(spec, test, key)?;
    let variants = variants(spec, test, &base);
    let outcomes =
        variants.iter().map(|variant| variant.run(key)).collect::<Result<Vec<_>, _>>()?;
    Ok(compute_sensitivity(&base, &variants, &outcomes))
}

/// Returns the throughput, or the rate of requests if they do not move data.
fn rate(sample: &Sample) -> f64 {
    match sample.bytes().get() {
        0 => sample.iops(),
        _ => sample.throughput().0 as f64,
    }
}

fn hops(spec: &CheckedSystem, test: &CheckedTest, base: &Sample) -> Vec<ChangedSystem> {
    let changed = |id: HopId, change: &str, apply: &dyn Fn(&mut SystemSpec)| {
        let mut faster = spec.clone().into_spec();
        apply(&mut faster);
        let spec = faster.checked().ok()?.with_memory(spec.memory());
        Some(ChangedSystem {
            id: SystemChange::Hop(id),
            hop: hops::name(&spec, id),
            change: change.to_owned(),
            spec,
            test: test.clone(),
        })
    };
    let mut all = vec![
        changed(HopId::Cpu, "a processor twice as fast", &|spec| speed_up_processor(spec)),
        changed(HopId::Protocol, fetching(spec), &|spec| {
            each_protocol(spec, halve_fetch_time);
        }),
    ];
    for (depth, id) in links(spec).into_iter().enumerate() {
        all.push(changed(id, "a link twice as fast", &|spec| speed_up_link(spec, depth)));
    }
    let drives = |hop: HopId, change: &str, apply: fn(&mut DriveSpec)| {
        changed(hop, change, &|spec| each_drive(spec, apply))
    };
    if base.path.as_ref().is_some_and(|path| path.hop(HopId::Power).is_some()) {
        all.push(drives(HopId::Power, "half the wake-up time", wake));
    }
    all.push(drives(HopId::FrontEnd, "a front end twice as fast", front_end));
    if test.writes() {
        all.push(drives(HopId::Buffer, "a buffer of twice the size", |drive| {
            drive.buffer = drive.buffer * 2;
        }));
    }
    all.push(drives(HopId::DataPath, "a data path twice as fast", data_path));
    if spec.drive_specs().any(|drive| formulas_of(&drive.media).has_channels()) {
        all.push(drives(HopId::Channels, "channels twice as fast", |drive| {
            formulas_mut(&mut drive.media).double_channels();
        }));
    }
    all.push(drives(HopId::Media, "media twice as fast", |drive| {
        formulas_mut(&mut drive.media).double_media();
    }));
    all.into_iter().flatten().collect()
}

fn more_load(spec: &CheckedSystem, test: &CheckedTest) -> Vec<ChangedSystem> {
    let changed = |id: SystemChange, hop: &str, (from, to): (String, String), test: Test| {
        let change = format!("{to} instead of {from}");
        let test = test.checked().ok()?;
        Some(ChangedSystem { id, hop: hop.to_owned(), change, spec: spec.clone(), test })
    };
    let doubled = |from: u32| (from.to_string(), from.saturating_mul(2).to_string());
    let mut all = Vec::new();
    if let Some(&SyntheticRequests { queue_depth: depth, .. }) = test.requests() {
        let deeper =
            test.clone().into_test().with(|asked| asked.queue_depth = depth.saturating_mul(2));
        all.push(changed(SystemChange::QueueDepth, "queue depth", doubled(depth), deeper));
    }
    let wider = Test { threads: test.threads.saturating_mul(2), ..test.clone().into_test() };
    all.push(changed(SystemChange::Threads, "threads", doubled(test.threads), wider));
    if let Some(&SyntheticRequests { load: Load::Open { rate_per_second, process }, .. }) =
        test.requests()
    {
        let load = Load::Open { rate_per_second: rate_per_second * 2.0, process };
        let doubled = (format!("{rate_per_second}/s"), format!("{}/s", rate_per_second * 2.0));
        let faster = test.clone().into_test().with(|asked| asked.load = load);
        all.push(changed(SystemChange::Rate, "rate", doubled, faster));
    }
    all.into_iter().flatten().collect()
}

fn each_drive(spec: &mut SystemSpec, mut change: impl FnMut(&mut DriveSpec)) {
    spec.attachments.iter_mut().for_each(|attachment| change(&mut attachment.drive));
}

fn each_protocol(spec: &mut SystemSpec, mut change: impl FnMut(&mut ProtocolSpec)) {
    spec.attachments.iter_mut().for_each(|attachment| change(&mut attachment.protocol));
}

/// Returns a description of the change that halves the times of the protocol.
fn fetching(spec: &SystemSpec) -> &'static str {
    if spec.attachments.iter().any(|attachment| attachment.protocol.adapter.is_some()) {
        "an adapter twice as fast"
    } else {
        "half the time to fetch commands"
    }
}

fn halve_fetch_time(protocol: &mut ProtocolSpec) {
    protocol.memory_read = protocol.memory_read / 2;
    if let Some(AdapterSpec { command_time, crowded, .. }) = &mut protocol.adapter {
        *command_time = *command_time / 2;
        if let Some(OverloadCost { command_time, .. }) = crowded {
            *command_time = *command_time / 2;
        }
    }
}

fn speed_up_processor(spec: &mut SystemSpec) {
    spec.cpu.wake = spec.cpu.wake / 2;
    spec.cpu.deep_wake = spec.cpu.deep_wake / 2;
    spec.cpu.request_times_mut().into_iter().for_each(|(_, time)| *time = *time / 2);
    each_protocol(spec, |protocol| {
        let ProtocolSpec {
            kind: _,
            queues: _,
            queue_depth: _,
            read_time,
            write_time,
            submit_share: _,
            transfer_max: _,
            // `halve_fetch_time` halves these two times.
            memory_read: _,
            adapter: _,
            interrupt_time,
        } = protocol;
        for time in [read_time, write_time, interrupt_time] {
            *time = *time / 2;
        }
    });
}

/// Returns the hops of the links on the longest first path, starting at the host.
fn links(spec: &SystemSpec) -> Vec<HopId> {
    let mut links: Vec<HopId> = (0..longest(spec)).map(HopId::Link).collect();
    for PortPathSpec { trunk, links: own } in spec.second_ports().map(|port| &port.port_path) {
        let further = (links.len()..trunk + own.len()).map(|depth| (depth - trunk) as u8);
        links.extend(further.map(HopId::SecondLink));
    }
    links
}

/// Doubles the speed of the link at `place` on every path.
fn speed_up_link(spec: &mut SystemSpec, place: usize) {
    let double = |link: &mut LinkSpec| {
        link.speed *= 2;
        link.latency = link.latency / 2;
    };
    spec.trunk.get_mut(place).into_iter().for_each(double);
    for port_path in spec.attachments.iter_mut().flat_map(AttachmentSpec::ways_mut) {
        let own = place.checked_sub(port_path.trunk).and_then(|own| port_path.links.get_mut(own));
        own.into_iter().for_each(double);
    }
}

fn wake(drive: &mut DriveSpec) {
    let states = drive.power.iter_mut().flat_map(|power| &mut power.states);
    states.for_each(|state| state.exit = state.exit / 2);
}

fn front_end(drive: &mut DriveSpec) {
    for (_, time) in drive.front_end.times_mut() {
        *time = *time / 2;
    }
}

fn data_path(drive: &mut DriveSpec) {
    // All values are named, so that adding a value is a compile error here.
    let DriveSpec {
        capacity: _,
        front_end: _,
        buffer: _,
        write_cache: _,
        read_ahead: _,
        data_path_read,
        data_path_write,
        media: _,
        power: _,
    } = drive;
    for rate in [data_path_read, data_path_write].into_iter().flatten() {
        rate.0 = rate.0.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PowerSpec;
    use crate::tests::power::{flash_power, two_states};
    use crate::tests::runs::{nvme, small_drive};
    use lanemark_schema::units::{BytesPerSecond, Duration};

    #[test]
    fn waking_takes_half_the_time_in_every_state_and_nothing_else_changes() {
        let power = PowerSpec { states: two_states(), ..flash_power() };
        let mut drive = DriveSpec { power: Some(power.clone()), ..small_drive() };
        let before = drive.clone();
        wake(&mut drive);
        let mut wanted = power;
        for state in &mut wanted.states {
            assert!(state.exit > Duration::ZERO);
            state.exit = state.exit / 2;
        }
        assert_eq!(drive, DriveSpec { power: Some(wanted), ..before });
        let mut without = small_drive();
        wake(&mut without);
        assert_eq!(without, small_drive());
    }

    #[test]
    fn a_faster_front_end_halves_its_times_and_a_faster_data_path_doubles_its_rates() {
        let mut drive = small_drive();
        let mut before = drive.front_end;
        front_end(&mut drive);
        let mut after = drive.front_end;
        let pairs = before.times_mut().into_iter().zip(after.times_mut());
        let pairs: Vec<(Duration, Duration)> =
            pairs.map(|((_, before), (_, after))| (*before, *after)).collect();
        assert!(pairs.iter().any(|(before, _)| *before > Duration::ZERO));
        assert!(pairs.iter().all(|(before, after)| *before / 2 == *after), "{pairs:?}");
        let mut drive = small_drive();
        drive.data_path_read = Some(BytesPerSecond(3));
        data_path(&mut drive);
        let rates = (drive.data_path_read, drive.data_path_write);
        assert_eq!(rates, (Some(BytesPerSecond(6)), None));
    }

    #[test]
    fn a_link_is_doubled_on_every_path_that_has_it() {
        let mut system = nvme(small_drive());
        let other = system.attachments[0].port_path.links[0].clone();
        system.trunk = vec![other.clone()];
        let port_path = &mut system.attachments[0].port_path;
        port_path.trunk = 1;
        port_path.links.push(other.clone());
        for place in 0..4 {
            let mut changed = system.clone();
            speed_up_link(&mut changed, place);
            let all = changed.trunk.iter().chain(&changed.attachments[0].port_path.links);
            for (index, one) in all.enumerate() {
                let (speed, latency) =
                    if index == place { (2, other.latency / 2) } else { (1, other.latency) };
                assert_eq!((one.speed, one.latency), (speed, latency), "{index} of {place}");
            }
        }
    }
}
