//! Compares the simulator with closed forms, and tests invariants of every system.

use crate::link::{LinkModel, LinkSpec, Pcie, PcieGeneration, Sas, SasRate, UsbRate, UsbTransport};
use crate::spec::*;
use crate::tests::link::enclosed;
use crate::tests::trajectory::fingerprint;
use crate::tests::{assert_within, lasting, latency, random_read, staged_ns, us};
use crate::*;
use lanemark_schema::result::{HopId, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant, Ratio};
use lanemark_schema::workload::fault::ReadRetries;
use lanemark_schema::workload::{Fault, FaultKind, Pattern, Test};
use proptest::prelude::*;

/// Returns a 64 MiB drive with slightly more flash.
pub(crate) fn small_drive() -> DriveSpec {
    DriveSpec::example()
}

pub(crate) fn nvme(drive: DriveSpec) -> SystemSpec {
    let mut system = SystemSpec::example();
    system.attachments[0].drive = drive;
    system
}

/// Returns a fault that repeats reads from the start, more often on older flash.
pub(crate) fn retrying(share: f64) -> Fault {
    let retries =
        ReadRetries { unworn: Ratio::ZERO, share: Ratio::new(share).unwrap(), endurance: 1_000 };
    Fault::at(Duration::ZERO, FaultKind::ReadRetries(retries))
}

/// Makes the first `count` links of the first drive's path the trunk.
pub(crate) fn share(system: &mut SystemSpec, count: usize) {
    let port_path = &mut system.attachments[0].port_path;
    system.trunk = port_path.links.drain(..count).collect();
    port_path.trunk = count;
}

/// Returns a system with `count` drives that are equal to the first drive of `system`, each on a separate path after
/// the trunk.
pub(crate) fn times(mut system: SystemSpec, count: usize) -> SystemSpec {
    system.attachments = vec![system.attachments[0].clone(); count];
    system
}

pub(crate) fn sata(drive: DriveSpec) -> SystemSpec {
    let mut system = SystemSpec::example_disk();
    system.attachments[0].drive = drive;
    system
}

pub(crate) fn sas(drive: DriveSpec, phys: u32) -> SystemSpec {
    let mut system = nvme(drive);
    system.attachments[0].protocol.kind = ProtocolKind::SasHba;
    system.attachments[0].protocol.queues = 1;
    system.attachments[0].protocol.queue_depth = 256;
    system.attachments[0].port_path.links.push(LinkSpec {
        name: "SAS 12 Gb/s".to_owned(),
        model: LinkModel::Sas(Sas::new(SasRate::Gen3, phys).kept_open()),
        latency: Duration::ZERO,
        speed: 1,
    });
    system
}

/// Returns the first link of the first drive's path.
pub(crate) fn uplink(system: &SystemSpec) -> Pcie {
    let LinkModel::Pcie(pcie) = system.attachments[0].port_path.links[0].model else {
        unreachable!()
    };
    pcie
}

/// Returns the time of a drive for a read of 4 KiB.
pub(crate) fn media_read_time(drive: &DriveSpec) -> Duration {
    let flash = drive.flash();
    let front_end = drive.front_end.read_time + drive.front_end.read_latency;
    front_end + flash.command_time + flash.read.mean() + Bytes::kibi(4) / flash.channel_rate
}

/// Returns a drive that is never the bottleneck of its path.
pub(crate) fn unlimited() -> DriveSpec {
    let mut drive = small_drive();
    drive.front_end.read_time = Duration::from_nanoseconds(10);
    drive.front_end.read_latency = Duration::ZERO;
    drive.flash_mut().read = PageTimes::alike(Duration::from_nanoseconds(10));
    drive.flash_mut().channel_rate = BytesPerSecond(100_000_000_000);
    drive.flash_mut().command_time = Duration::ZERO;
    drive
}

pub(crate) fn test(block: Bytes, pattern: Pattern, read: bool, depth: u32) -> Test {
    Test { block, span: Bytes::mebi(32), volume: Some(Bytes::mebi(32)), ..random_read() }.with(
        |load| {
            load.alignment = block;
            load.pattern = pattern;
            load.read_share = if read { Ratio::ONE } else { Ratio::ZERO };
            load.queue_depth = depth;
        },
    )
}

/// Checks `test` and `system`, and runs one repeat.
pub(crate) fn simulate(
    system: &SystemSpec,
    test: &Test,
    key: StreamKey,
) -> Result<Sample, SimError> {
    run_test(&checked(system), &test.clone().checked().unwrap(), key)
}

pub(crate) fn run(system: &SystemSpec, test: &Test) -> Sample {
    simulate(system, test, StreamKey::from_seed(1)).unwrap()
}

pub(crate) fn checked(system: &SystemSpec) -> CheckedSystem {
    system.clone().checked().unwrap()
}

#[test]
fn the_ceiling_of_a_write_includes_the_file_systems_processor_time() {
    let mut system = nvme(unlimited());
    system.cpu.write_submit = us(100);
    let write = test(Bytes::kibi(4), Pattern::Uniform, false, 16);
    let formula = ceiling_of(&system, &write, HopId::Cpu).formula;
    assert!(formula.contains("a read") && formula.contains("a write on 1 of 4 cores"), "{formula}");
    assert_eq!(checked(&system).device_side().cpu.write_submit, Duration::ZERO);
}

/// Returns an idle system.
pub(crate) fn at_rest(system: &SystemSpec, content: PriorContent) -> Simulator {
    Simulator::new(&checked(system), content, StreamKey::from_seed(1))
}

/// Returns the ceiling of a hop under a load.
pub(crate) fn ceiling_of(system: &SystemSpec, load: &Test, hop: HopId) -> Ceiling {
    ceilings(system, load).into_iter().find(|ceiling| ceiling.id == hop).unwrap()
}

/// Submits `requests`, and returns their completions in the order of `requests`.
pub(crate) fn complete_all(
    simulator: &mut Simulator,
    requests: impl Iterator<Item = Submission>,
) -> Vec<Completion> {
    let requests: Vec<Submission> = requests.collect();
    for (tag, request) in (0..).zip(&requests) {
        simulator.submit(request.tagged(tag)).unwrap();
    }
    let mut seen: Vec<Completion> = std::iter::from_fn(|| simulator.advance()).collect();
    for done in &seen {
        assert_eq!(done.budget.total(), latency(done), "stages must sum to the latency");
    }
    assert_eq!((seen.len(), simulator.outstanding()), (requests.len(), 0));
    seen.sort_by_key(|done| done.tag);
    seen
}

/// Returns an idle system with its volume.
pub(crate) fn storage_at_rest(system: &SystemSpec, content: PriorContent) -> Storage {
    Storage::new(&checked(system), content, StreamKey::from_seed(1))
}

pub(crate) fn megabytes(sample: &Sample) -> f64 {
    sample.throughput().as_megabytes()
}

#[test]
fn one_read_takes_the_sum_of_its_stages() {
    let system = nvme(small_drive());
    let sample = run(&system, &test(Bytes::kibi(4), Pattern::Uniform, true, 1));
    let pcie = uplink(&system);
    let drive = &system.attachments[0].drive;
    let expected = system.attachments[0].protocol.read_time
        + Duration::from_nanoseconds(150)       // doorbell
        + Duration::from_nanoseconds(500 + 300) // entry fetched
        + media_read_time(drive)
        + pcie.write_time(Bytes::kibi(4)) // data, followed by the completion
        + pcie.write_time(Bytes(16))
        + pcie.write_time(Bytes(4))
        + Duration::from_nanoseconds(150);
    assert_eq!(sample.latency().min_ns(), Some(expected.nanoseconds()));
    assert_eq!(sample.latency().max_ns(), Some(expected.nanoseconds()));
}

#[test]
fn a_saturated_pcie_link_carries_its_closed_form() {
    let system = nvme(unlimited());
    let pcie = uplink(&system);
    let block = Bytes::kibi(128);
    let overhead =
        pcie.read_request_time(Bytes(64)) + pcie.write_time(Bytes(16)) + pcie.write_time(Bytes(4));
    let formula = (block / (pcie.write_time(block) + overhead)).as_megabytes();
    let seen = megabytes(&run(&system, &test(block, Pattern::Sequential, true, 16)));
    assert_within(seen, formula, 0.002);
}

#[test]
fn saturated_dies_carry_their_closed_form() {
    let mut system = nvme(small_drive());
    system.attachments[0].drive.flash_mut().read = PageTimes::alike(us(400));
    let flash = system.attachments[0].drive.flash().clone();
    let block = flash.unit();
    let per_unit = flash.command_time + flash.read.mean() + block / flash.channel_rate;
    let formula = (block * flash.dies() / per_unit).as_megabytes();
    let seen = megabytes(&run(&system, &test(block, Pattern::Sequential, true, 64)));
    assert_within(seen, formula, 0.005);
}

#[test]
fn saturated_channels_carry_their_closed_form() {
    let mut system = nvme(small_drive());
    system.attachments[0].drive.flash_mut().read = PageTimes::alike(us(1));
    system.attachments[0].drive.flash_mut().channel_rate = BytesPerSecond(100_000_000);
    system.attachments[0].drive.front_end.read_time = Duration::from_nanoseconds(10);
    let flash = system.attachments[0].drive.flash().clone();
    let block = flash.unit();
    let on_channel = flash.command_time + block / flash.channel_rate;
    let formula = (block * u64::from(flash.channels) / on_channel).as_megabytes();
    let seen = megabytes(&run(&system, &test(block, Pattern::Sequential, true, 32)));
    assert_within(seen, formula, 0.005);
}

/// Returns `count` SATA drives downstream of one uplink with `lanes` PCIe 1.0 lanes.
fn behind_one_uplink(drive: DriveSpec, count: usize, lanes: u32) -> SystemSpec {
    let mut system = sata(drive);
    let model = Pcie::new(PcieGeneration::One, lanes, Bytes(128), Bytes(512));
    system.attachments[0].port_path.links[0].model = LinkModel::Pcie(model);
    share(&mut system, 1);
    times(system, count)
}

#[test]
fn a_shared_uplink_is_fair_to_its_ports() {
    use lanemark_schema::workload::{Access, Operation};
    let system = behind_one_uplink(unlimited(), 4, 1);
    let mut simulator = at_rest(&system, Bytes::mebi(32).into());
    let access = |turn: u64| Access {
        operation: Operation::Read,
        offset: Bytes::kibi(128) * (turn % 256),
        length: Bytes::kibi(128),
    };
    // Drive 0 keeps sixteen requests outstanding, and the others keep two.
    let submit = |simulator: &mut Simulator, at, drive: u16, turn| {
        let read = Submission::new(at, access(turn)).to(drive);
        simulator.submit(read.by(drive.into()).tagged(drive.into())).unwrap();
    };
    for drive in 0..4 {
        for turn in 0..if drive == 0 { 16 } else { 2 } {
            submit(&mut simulator, Instant::ZERO, drive, turn);
        }
    }
    let mut counts = [0u64; 4];
    for turn in 0..4000 {
        let done = simulator.advance().unwrap();
        counts[done.tag as usize] += 1;
        submit(&mut simulator, done.completed, done.tag as u16, turn);
    }
    // Two bursts in flight suffice for an equal share; sixteen do not increase it.
    assert!(counts.iter().all(|&count| (960..1040).contains(&count)), "{counts:?}");
}

#[test]
fn the_trajectory_of_a_fixed_system_never_changes() {
    let mixed = test(Bytes::kibi(16), Pattern::Uniform, true, 8)
        .with(|load| load.read_share = Ratio::new(0.7).unwrap());
    let seen = [
        fingerprint(&nvme(small_drive()), &mixed),
        fingerprint(&sata(small_drive()), &mixed),
        fingerprint(&sata(small_drive()), &test(Bytes::mebi(1), Pattern::Sequential, false, 1)),
    ];
    assert_eq!(seen, GOLDEN, "the model moved: say so in CHANGELOG and set the new fingerprint");
}

const GOLDEN: [(u64, u64, u64); 3] = [
    (84207914123, 12565, 13072328339309354218),
    (93249338747, 16051, 17085620618067019397),
    (169735925941, 2784, 2342722973525052703),
];

prop_compose! {
    fn any_drive()(
        channels in 1u32..5, dies_per_channel in 1u32..4, planes in 1u32..4, page in 1u64..5,
        engines in 1u32..3, read_us in 1u64..100, program_us in 50u64..900, rate in 50u64..800,
        buffer in 1u64..4, limited: bool,
    ) -> DriveSpec {
        let mut drive = small_drive();
        *drive.flash_mut() = FlashSpec {
            channels, dies_per_channel, planes, page: Bytes::kibi(4 * page),
            read: PageTimes::alike(us(read_us)),
            program: PageTimes::alike(us(program_us)),
            channel_rate: BytesPerSecond(rate * 1_000_000),
            blocks_per_plane: 4096,
            ..drive.flash().clone()
        };
        drive.front_end.engines = engines;
        drive.buffer = Bytes::mebi(buffer);
        drive.data_path_read = limited.then_some(BytesPerSecond(300_000_000));
        drive.data_path_write = limited.then_some(BytesPerSecond(200_000_000));
        drive
    }
}

/// Checks that the stages of a sample add up to its latency, and that no hop is more than fully utilised.
pub(crate) fn check_stages(sample: &Sample) -> Result<(), TestCaseError> {
    let path = sample.path.as_ref().unwrap();
    // The histogram stores whole nanoseconds, so the means may differ by half a nanosecond.
    prop_assert!((staged_ns(sample) - sample.latency().mean_ns()).abs() <= 0.51);
    for hop in &path.hops {
        prop_assert!((0.0..=1.0).contains(&hop.utilisation), "{} {}", hop.name, hop.utilisation);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bytes moved equal the bytes requested, the stages sum to the latency, no hop is busy for longer than the
    /// run, and throughput multiplied by response time equals the number of outstanding requests (Little's law).
    #[test]
    fn any_system_keeps_the_invariants(
        drive in any_drive(), kind in 0..8, beside in 0usize..3, shares: bool, blocks in 1u64..80, sequential: bool,
        read_share in 0.0f64..=1.0, depth in 1u32..40, threads in 1u32..7, seed: u64,
        (queues, slots, interrupt_us) in (1u32..6, 1u32..40, 0u64..20),
    ) {
        let mut system = match kind {
            0 => sata(drive.clone()),
            1 => sas(drive.clone(), 2),
            2 => crate::tests::link::pio(&drive),
            3 => crate::tests::link::dual(&drive),
            4 => enclosed(&drive, UsbRate::Gen2, UsbTransport::AttachedScsi),
            5 => enclosed(&drive, UsbRate::Gen1, UsbTransport::BulkOnly),
            _ => nvme(drive.clone()),
        };
        let protocol = &mut system.attachments[0].protocol;
        protocol.interrupt_time = us(interrupt_us);
        if protocol.kind == ProtocolKind::Nvme {
            (protocol.queues, protocol.queue_depth) = (queues, slots);
        }
        if shares && system.trunk.is_empty() {
            share(&mut system, 1);
        }
        let system = times(system, 1 + beside);
        let drives = system.targets().len() as u64;
        prop_assert_eq!(system.check(), Ok(()));
        let block = Bytes(blocks * 4096);
        let pattern = if sequential { Pattern::Sequential } else { Pattern::Uniform };
        let volume = Some(Bytes(block.get() * 300));
        let test = Test { block, threads, volume, ..test(block, pattern, true, depth) }
            .with(|load| load.read_share = Ratio::new(read_share).unwrap());
        prop_assert_eq!(test.check(), Ok(()));
        let sample = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(sample.bytes(), Bytes(block.get() * 300 * drives));
        check_stages(&sample)?;
        let outstanding = sample.iops() * sample.latency().mean_ns() / 1e9;
        prop_assert!(outstanding <= (test.population() * drives) as f64 * 1.001, "{outstanding} outstanding");
        // In the steady state, no hop carries more than its model allows. Filling the write buffer is not a steady
        // state, and reads from the buffer do not need flash.
        let reads = sample.reads.as_ref().map_or(0, |reads| reads.latency.count());
        let share = Ratio::new(reads as f64 / sample.operations() as f64).unwrap();
        let pure = share == Ratio::ZERO || share == Ratio::ONE;
        let seen = test.clone().with(|load| load.read_share = share);
        let alone = if system.drives() == 1 { ceilings(&system, &seen) } else { Vec::new() };
        for ceiling in alone {
            let in_flash = ceiling.name.starts_with("flash");
            let buffered = if in_flash && test.writes() { system.attachments[0].drive.buffer } else { Bytes::ZERO };
            let drained = sample.bytes().get().saturating_sub(buffered.get());
            let carried = (Bytes(drained) / sample.elapsed).0 as f64;
            let most = ceiling.rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
            let held = carried <= most * 1.02 || (in_flash && !pure);
            prop_assert!(held, "{}: {} of {}", ceiling.name, carried, most);
        }
        let again = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(again, sample);
    }
}

/// Returns a drive with this read time.
fn reading_in(time: Duration) -> SystemSpec {
    let mut system = nvme(small_drive());
    system.attachments[0].drive.flash_mut().read = PageTimes::alike(time);
    system
}

#[test]
fn a_step_that_takes_too_long_is_no_system() {
    assert!(reading_in(STEP_TIME_MAX).checked().is_ok());
    let longer = STEP_TIME_MAX + Duration::from_picoseconds(1);
    let error = reading_in(longer).checked().unwrap_err();
    assert_eq!((error.field, error.bound.as_str()), ("drive.flash.read", "at most 60 s"));
}

#[test]
fn a_run_that_reaches_the_end_of_simulated_time_ends_and_is_no_result() {
    let span = Bytes::mebi(32);
    let timed = lasting(Duration::from_seconds(1), Test { span, ..random_read() });
    let sample = simulate(&reading_in(STEP_TIME_MAX), &timed, StreamKey::from_seed(1)).unwrap();
    assert!(sample.reads.is_none(), "a drive that has not answered yet has read nothing");
    let pausing = Test { span, ..random_read() }.with(|load| load.think = Duration::INPUT_MAX);
    let outcome = simulate(&nvme(small_drive()), &pausing, StreamKey::from_seed(1));
    assert_eq!(outcome.unwrap_err(), SimError::NeverEnds);
}
