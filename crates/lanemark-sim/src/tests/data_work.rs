//! Tests of the processor times that depend on the data of a request: exact latencies, and the rates of one core and of
//! several cores.

use crate::engine::budget::Hop;
use crate::spec::{DataWorkSpec, SystemSpec};
use crate::tests::runs::{at_rest, ceiling_of, checked, nvme, run, small_drive, test, unlimited};
use crate::tests::{latency, us};
use crate::{Completion, Submission};
use lanemark_schema::result::HopId;
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

/// Returns the completion of the only request in an idle system.
fn completion(system: &SystemSpec, operation: Operation, length: Bytes) -> Completion {
    let mut simulator = at_rest(system, Bytes::mebi(32).into());
    let access = Access { operation, offset: Bytes::ZERO, length };
    simulator.submit(Submission::new(Instant::ZERO, access)).unwrap();
    simulator.advance().unwrap()
}

fn work(command_us: u64, per_mib_us: u64) -> DataWorkSpec {
    DataWorkSpec { command_time: us(command_us), per_mib: us(per_mib_us) }
}

#[test]
fn a_request_takes_its_pages_and_its_data_longer() {
    let plain = nvme(small_drive());
    let mut slow = plain.clone();
    slow.cpu.pin_per_mib = us(1_024);
    slow.cpu.read_work = work(10, 2_048);
    slow.cpu.write_work = work(7, 4_096);
    for (operation, kib, longer) in [
        (Operation::Read, 4, 4 + 10 + 8),
        (Operation::Read, 128, 128 + 10 + 256),
        (Operation::Write, 4, 4 + 7 + 16),
        (Operation::Write, 128, 128 + 7 + 512),
        (Operation::Flush, 0, 0),
    ] {
        let length = Bytes::kibi(kib);
        let before = completion(&plain, operation, length);
        let after = completion(&slow, operation, length);
        assert_eq!(latency(&after), latency(&before) + us(longer), "{operation:?}, {kib} KiB");
        let cpu = Hop::Cpu as usize;
        assert_eq!(after.budget.service(cpu), before.budget.service(cpu) + us(longer));
        assert_eq!(after.budget.total(), latency(&after));
    }
    // A trim moves no data.
    let trim = |system| latency(&completion(system, Operation::Trim, Bytes::mebi(1)));
    assert_eq!(trim(&slow), trim(&plain));
    let device = checked(&slow).device_side();
    let read = |system| latency(&completion(system, Operation::Read, Bytes::kibi(128)));
    assert_eq!(read(&device), read(&checked(&plain).device_side()));
}

/// A kernel thread waits until its core is awake. The only core of a system is awake, because it has just completed the
/// command.
#[test]
fn a_kernel_thread_wakes_its_core() {
    let mut system = nvme(small_drive());
    system.cpu.wake = us(40);
    let read = |system: &SystemSpec| latency(&completion(system, Operation::Read, Bytes::kibi(4)));
    let interrupt_only = read(&system);
    system.cpu.read_work = work(10, 0);
    assert_eq!(read(&system), interrupt_only + us(50));
    system.cpu.cores = 1;
    assert_eq!(read(&system), interrupt_only + us(10));
    (system.cpu.cores, system.cpu.idle_after) = (4, us(1_000_000));
    assert_eq!(read(&system), interrupt_only - us(40) + us(10));
}

/// The parts of a split request are worked on at the same time, if there are cores.
#[test]
fn the_commands_of_a_request_share_the_cores() {
    four_commands_are_shared_by(|system, cores| system.cpu.cores = cores);
}

/// Checks the rounds in which four commands of a request are worked on. `set` sets the number of cores or threads.
fn four_commands_are_shared_by(set: impl Fn(&mut SystemSpec, u32)) {
    let mut system = nvme(unlimited());
    system.attachments[0].protocol.transfer_max = Bytes::kibi(128);
    let read =
        |system: &SystemSpec| latency(&completion(system, Operation::Read, Bytes::kibi(512)));
    let plain = read(&system);
    system.cpu.read_work = work(10_000, 0);
    for (servers, rounds) in [(1, 4), (2, 2), (4, 1), (8, 1)] {
        set(&mut system, servers);
        let longer = (read(&system) - plain).as_microseconds() / 10_000.0;
        assert!((longer - f64::from(rounds)).abs() < 0.02, "{servers}: {longer}");
    }
}

/// Pinned pages occupy the submitting thread's core; the work on data uses all cores.
#[test]
fn rates_equal_the_closed_forms_of_the_cores() {
    let block = Bytes::kibi(64);
    let rate = |system: &SystemSpec, read, threads| {
        let load = test(block, Pattern::Uniform, read, 32);
        let load = Test { threads, volume: Some(Bytes::mebi(256)), ..load };
        let formula = ceiling_of(system, &load, HopId::Cpu).rate.unwrap();
        (run(system, &load).iops(), formula.0 as f64 / block.get() as f64)
    };
    let mut pinning = nvme(unlimited());
    pinning.cpu.pin_per_mib = us(1_600);
    let mut working = nvme(unlimited());
    (working.cpu.read_work, working.cpu.write_work) = (work(50, 800), work(400, 41_600));
    // A request of 64 KiB pins for 100 µs or is worked on for 100 or 3,000 µs, and the driver takes 1 µs.
    for (system, read, threads, expected) in [
        (&pinning, true, 1, 1e6 / 101.0),
        (&pinning, true, 4, 4e6 / 101.0),
        (&working, true, 1, 4e6 / 101.0),
        (&working, false, 1, 4e6 / 3_001.0),
    ] {
        let (seen, formula) = rate(system, read, threads);
        // Kernel threads keep the test's thread from its core for short times, so that the other cores become idle.
        let range = 0.96 * expected..1.001 * expected;
        assert!(range.contains(&seen), "{read}, {threads} threads: {seen} of {expected}");
        assert!((formula / expected - 1.0).abs() < 1e-3, "{formula} of {expected}");
    }
}

/// The I/O threads of a hypervisor are awake, work on one command each, and leave the guest's cores free.
#[test]
fn the_threads_of_a_hypervisor_are_their_own_limit() {
    let mut system = nvme(small_drive());
    system.cpu.wake = us(40);
    let read = |system: &SystemSpec| latency(&completion(system, Operation::Read, Bytes::kibi(4)));
    let interrupt_only = read(&system);
    (system.cpu.read_work, system.cpu.io_threads) = (work(10, 0), 1);
    assert_eq!(read(&system), interrupt_only + us(10));

    four_commands_are_shared_by(|system, threads| system.cpu.io_threads = threads);

    let mut guest = nvme(unlimited());
    guest.cpu.read_work = work(50, 0);
    let load = test(Bytes::kibi(4), Pattern::Uniform, true, 32);
    let load = Test { volume: Some(Bytes::mebi(64)), ..load };
    for (threads, cores) in [(1, 1), (1, 8), (2, 8), (4, 8)] {
        (guest.cpu.io_threads, guest.cpu.cores) = (threads, cores);
        let expected = f64::from(threads) * 1e6 / 50.0;
        let sample = run(&guest, &load);
        assert!((sample.iops() / expected - 1.0).abs() < 0.01, "{threads}, {cores}: {sample:?}");
        let hops = &sample.path.as_ref().unwrap().hops;
        let busy = hops.iter().find(|hop| hop.id == HopId::Cpu).unwrap().utilisation;
        assert!(busy > 0.99, "{threads} threads, {cores} cores: {busy}");
        let ceiling = ceiling_of(&guest, &load, HopId::Cpu);
        let rate = ceiling.rate.unwrap().0 as f64 / 4096.0;
        assert!((rate / expected - 1.0).abs() < 1e-3 && ceiling.formula.contains("I/O threads"));
    }
    // If the guest's thread takes longer than the I/O threads, it is the limit.
    (guest.cpu.request_submit, guest.cpu.io_threads) = (us(100), 4);
    let ceiling = ceiling_of(&guest, &load, HopId::Cpu);
    assert!(ceiling.formula.contains("cores"), "{}", ceiling.formula);
    guest.cpu.io_threads = 1_025;
    let error = guest.checked().unwrap_err().to_string();
    assert_eq!(error, "platform.cpu.io_threads = 1025: from 0 to 1024");
}
