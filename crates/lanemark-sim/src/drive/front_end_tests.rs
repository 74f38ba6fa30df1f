//! Tests of the command engines: the arbiter determines the order, regardless of the commands that are booked in
//! advance.

use super::*;
use crate::engine::slab::Handle;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Command {
    at: Instant,
    queue: QueueNumber,
    operation: Operation,
    /// Length in units of 4 KiB.
    units: u64,
    put_back: bool,
    next: CommandHandle,
}
impl Linked for Command {
    type Kind = Commands;
    fn next(&mut self) -> &mut CommandHandle {
        &mut self.next
    }
}
impl DecodableCommand for Command {
    fn queue(&self) -> QueueNumber {
        self.queue
    }

    fn operation(&self) -> Operation {
        self.operation
    }

    fn length(&self) -> Bytes {
        SLOT * self.units
    }

    fn put_back(&mut self) {
        assert!(!self.put_back, "no command is put back twice");
        self.put_back = true;
    }
}

const SPEC: FrontEndSpec = FrontEndSpec {
    engines: 1,
    read_time: Duration::from_nanoseconds(10),
    write_time: Duration::from_nanoseconds(13),
    read_latency: Duration::from_nanoseconds(40),
    write_latency: Duration::from_nanoseconds(5),
    ..FrontEndSpec::INSTANT
};

/// Returns the decoding instant of each command, the number of `EngineFree` events, and the busy time. If `port_path`
/// is given, commands are sent this long before they arrive.
fn run(
    mut front_end: FrontEnd,
    arrivals: &[Command],
    port_path: Option<Duration>,
) -> (Vec<Instant>, u64, Duration) {
    let mut commands = Slab::new();
    let mut events = EventSchedule::new();
    for &command in arrivals {
        let handle = commands.insert(command);
        let first: fn(CommandHandle) -> Event =
            if port_path.is_some() { Event::Submitted } else { Event::Arrived };
        events.schedule(command.at, first(handle));
    }
    let mut decoded = vec![None; arrivals.len()];
    let mut submitted = 0;
    while let Some((now, event)) = events.pop() {
        match event {
            Event::Submitted(command) => {
                let arrival = now + port_path.unwrap();
                if !front_end.send(now, arrival, command, &mut commands, &mut events) {
                    front_end.expect(now, &mut commands, &mut events);
                    events.schedule(arrival, Event::Arrived(command));
                }
            }
            Event::Arrived(command) => {
                if port_path.is_some() {
                    front_end.expected_is_here();
                }
                front_end.arrive(now, command, &mut commands, &mut events);
            }
            Event::EngineFree(_) => {
                submitted += 1;
                front_end.engine_free(now, &mut commands, &mut events);
            }
            Event::Decoded(command) => {
                front_end.catch_up(now, &mut commands, &mut events);
                if !std::mem::take(&mut commands[command].put_back) {
                    assert_eq!(decoded[command.number() as usize].replace(now), None);
                }
            }
            other => unreachable!("{other:?}"),
        }
    }
    let decoded = decoded.into_iter().map(|at| at.expect("every command is decoded"));
    (decoded.collect(), submitted, front_end.busy().into_iter().sum())
}

/// Returns the decoding instants with an arbiter that receives every command individually, without booking commands in
/// advance.
fn one_by_one(spec: FrontEndSpec, arrivals: &[Command]) -> Vec<Instant> {
    let mut commands = Slab::new();
    let mut arbiter = Arbiter::new();
    let mut engines = vec![Instant::ZERO; spec.engines as usize];
    let mut decoded = vec![Instant::ZERO; arrivals.len()];
    let mut coming = arrivals.iter().peekable();
    let front_end = FrontEnd::new(DriveNumber(0), spec);
    loop {
        let engine = (0..engines.len()).min_by_key(|&index| engines[index]).unwrap();
        while let Some(&command) =
            coming.next_if(|command| arbiter.is_empty() || command.at <= engines[engine])
        {
            let handle = commands.insert(command);
            arbiter.push(&mut commands, command.queue, handle);
            engines[engine] = engines[engine].max(command.at);
        }
        let Some(handle) = arbiter.pop(&mut commands) else { return decoded };
        let (time, latency) = front_end.times(commands[handle].operation);
        decoded[handle.number() as usize] = engines[engine] + time + latency;
        engines[engine] = engines[engine] + time + front_end.time_behind(&commands[handle]);
    }
}

/// Returns arrivals in order and at distinct instants, a picosecond or more apart.
fn any_arrivals() -> impl Strategy<Value = Vec<Command>> {
    let arrival = (0u64..30, prop_oneof![3 => Just(0u32), 2 => 0u32..4], 0usize..8, 1u64..5);
    proptest::collection::vec(arrival, 0..120).prop_map(|arrivals| {
        let mut at = 0;
        let arrivals = arrivals.into_iter().enumerate();
        arrivals
            .map(|(index, (gap, queue, kind, units))| {
                at += gap * 1_000;
                let operation = match kind {
                    0..=3 => Operation::Read,
                    4..=5 => Operation::Write,
                    6 => Operation::Flush,
                    _ => Operation::Trim,
                };
                let at = Instant::from_picoseconds(at + index as u64);
                Command {
                    at,
                    queue: QueueNumber(queue),
                    operation,
                    units,
                    put_back: false,
                    next: Handle::NONE,
                }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Booking in advance, cancelling, and querying the arbiter late have the same result as querying the arbiter for
    /// every command.
    #[test]
    fn booking_ahead_changes_no_order(
        arrivals in any_arrivals(), engines in 1u32..4,
        in_order: bool, by_unit: bool, flush in prop_oneof![Just(0u64), Just(13), Just(14), Just(40)],
    ) {
        let read_latency = Duration::from_nanoseconds(if in_order { 12 } else { 40 });
        let read_unit_time = Duration::from_nanoseconds(if by_unit { 7 } else { 0 });
        let flush_latency = Duration::from_nanoseconds(flush);
        let spec = FrontEndSpec { engines, read_latency, read_unit_time, flush_latency, ..SPEC };
        // A write takes 18 ns in total, and the maximum latency must not exceed this.
        let is_in_order = in_order && !by_unit && 5 + flush <= 18;
        prop_assert_eq!(FrontEnd::new(DriveNumber(0), spec).in_order, is_in_order);
        let front_end = FrontEnd::new(DriveNumber(0), spec).arbitrated(Some(Arbiter::new()));
        let (decoded, _, busy) = run(front_end, &arrivals, None);
        prop_assert_eq!(&decoded, &one_by_one(spec, &arrivals));
        let front_end = FrontEnd::new(DriveNumber(0), spec).arbitrated(Some(Arbiter::new()));
        let port_path = Duration::from_nanoseconds(27);
        let sent = run(front_end, &arrivals, Some(port_path)).0;
        let later: Vec<Instant> = decoded.iter().map(|&at| at + port_path).collect();
        prop_assert_eq!(sent, later);
        let idle = FrontEnd::new(DriveNumber(0), spec);
        let times =
            arrivals.iter().map(|command| idle.times(command.operation).0 + idle.time_behind(command));
        prop_assert_eq!(busy, times.sum());
    }

    /// Commands of one queue are served as if there were no arbiter, without additional events.
    #[test]
    fn one_queue_needs_no_arbiter(arrivals in any_arrivals(), engines in 1u32..4) {
        let alone: Vec<Command> =
            arrivals.iter().map(|command| Command { queue: QueueNumber(2), ..*command }).collect();
        let spec = FrontEndSpec { engines, ..SPEC };
        let arbiter = Arbiter::new();
        let with = run(FrontEnd::new(DriveNumber(0), spec).arbitrated(Some(arbiter)), &alone, None);
        prop_assert_eq!(with.1, 0);
        prop_assert_eq!(with, run(FrontEnd::new(DriveNumber(0), spec), &alone, None));
    }
}
