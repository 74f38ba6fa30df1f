//! Compares pairs of faults, and of faults and states, with their closed form or a simple model.

use crate::fault::RequestStatus;
use crate::link::{LinkModel, Pcie, PcieGeneration};
use crate::simulator::Completion;
use crate::spec::submission::Submission;
use crate::spec::{DriveCondition, SystemSpec, WriteCacheMode};
use crate::storage::Storage;
use crate::tests::fault::with;
use crate::tests::link::{dual, read_of};
use crate::tests::power::flash_power;
use crate::tests::runs::{nvme, sas, sata, share, small_drive, storage_at_rest, times, uplink};
use crate::tests::{BLOCK, latency, ms, us};
use lanemark_schema::result::{ErrorKind, FaultImpact};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::fault::{Fault, FaultKind};
use lanemark_schema::workload::{Access, Operation};

/// Half of the driver's time for a command: before it is sent, and after it returns.
pub(crate) const HALF: Duration = Duration::from_nanoseconds(500);
/// The minimum time that the simulator can represent.
const TICK: Duration = Duration::from_picoseconds(1);

/// A request: its time, its drive and its access.
pub(crate) type Ask = (Duration, u16, Access);

pub(crate) fn block(operation: Operation, number: u64) -> Access {
    Access { operation, offset: BLOCK * number, length: BLOCK }
}

/// Returns a read of 4 KiB; each `number` selects a different die.
pub(crate) fn read(at: Duration, number: u64) -> Ask {
    (at, 0, block(Operation::Read, number * 8))
}

/// Returns a system to which all of `asks` have been submitted.
fn run_requests(system: &SystemSpec, asks: &[Ask]) -> Storage {
    let mut storage = storage_at_rest(system, Bytes::mebi(32).into());
    for (tag, &(at, drive, access)) in asks.iter().enumerate() {
        let request = Submission::new(Instant::ZERO + at, access).to(drive);
        storage.submit(request.tagged(tag as u64)).unwrap();
    }
    storage
}

/// Returns all completions in the order of `asks`, and the outcome of the faults.
pub(crate) fn outcomes(system: &SystemSpec, asks: &[Ask]) -> (Vec<Completion>, Vec<FaultImpact>) {
    let mut storage = run_requests(system, asks);
    let mut seen: Vec<Completion> = std::iter::from_fn(|| storage.advance()).collect();
    seen.sort_by_key(|done| done.tag);
    assert_eq!((seen.len(), storage.simulator().outstanding()), (asks.len(), 0));
    for done in &seen {
        assert_eq!(done.budget.total(), latency(done), "stages must sum to the latency");
    }
    (seen, storage.simulator().fault_uses())
}

/// Returns the time from the start of the run to the completion of a request.
pub(crate) fn end(done: &Completion) -> Duration {
    done.completed.since(Instant::ZERO)
}

/// Returns the latency of a single read of `length`.
pub(crate) fn alone(system: &SystemSpec, length: Bytes) -> Duration {
    latency(&outcomes(system, &[(us(0), 0, read_of(length))]).0[0])
}

/// Returns the time of an NVMe command until it reaches the media, and the time from the failure of a command there to
/// the completion of its request.
fn around_media(system: &SystemSpec, operation: Operation) -> (Duration, Duration) {
    let attachment = &system.attachments[0];
    let link = uplink(system);
    let front_end = &attachment.drive.front_end;
    let own = match operation {
        Operation::Read => front_end.read_time + front_end.read_latency,
        _ => front_end.write_time + front_end.write_latency,
    };
    // The time includes the doorbell and the fetch of the entry.
    let fetched = Duration::from_nanoseconds(150 + 300) + attachment.protocol.memory_read;
    let entry = link.write_time(Bytes(16)) + link.write_time(Bytes(4));
    (HALF + fetched + own, entry + Duration::from_nanoseconds(150) + HALF)
}

/// A simple model of faults that delay a command at the media. Returns the instant at which the command continues, and
/// its error.
fn held_by(faults: &[Fault], operation: Operation, meets: Instant) -> (Instant, Option<ErrorKind>) {
    let holding = |now: Instant| {
        let holds = move |fault: &&Fault| {
            fault.at <= now && fault.length.is_none_or(|length| now < fault.at + length)
        };
        faults.iter().filter(holds)
    };
    let pause = |now: Instant| {
        let pauses = holding(now).filter(|fault| fault.kind == FaultKind::Pause);
        pauses.map(|fault| fault.at + fault.length.unwrap()).max().unwrap_or(now)
    };
    let mut until = pause(meets);
    let mut error = None;
    let slow = holding(meets).filter_map(|fault| match fault.kind {
        FaultKind::Latency { extra } => Some((fault.at, extra)),
        _ => None,
    });
    // The fault that began last applies; if two faults began together, the later one in the plan applies.
    if let Some((_, extra)) = slow.max_by_key(|(at, _)| *at) {
        until = until + extra;
    }
    for fault in holding(meets) {
        match (fault.kind, operation) {
            (FaultKind::MediaError { recovery, .. }, Operation::Read) if error.is_none() => {
                until = until + recovery;
                error = Some(ErrorKind::Media);
            }
            (FaultKind::ReadOnly { .. }, Operation::Write) => error = Some(ErrorKind::ReadOnly),
            _ => {}
        }
    }
    while until > meets && pause(until) > until {
        until = pause(until);
    }
    (until, error)
}

/// Tests each pair of faults that act at the media, with intervals that contain each other, overlap, or are disjoint. A
/// command reaches the media at each bound of the intervals, a picosecond earlier, and between the bounds.
#[test]
fn two_faults_at_the_media_hold_a_command_as_a_plain_model_says() {
    let base = nvme(small_drive());
    let kinds = [
        "latency extra=300us",
        "latency extra=40us",
        "pause",
        "media-error range=0B..1MiB recovery=200us",
        "read-only",
    ];
    let spans = [" at=1ms for=2ms", " at=2ms for=2ms", " at=1500us for=1ms", " at=1ms for=500us"];
    let mut bounds: Vec<Duration> = [1_000, 1_500, 2_500, 3_000, 4_000].map(us).to_vec();
    bounds.extend(bounds.clone().iter().map(|at| *at - TICK));
    bounds.push(us(2_200));
    let good = [Operation::Read, Operation::Write]
        .map(|operation| latency(&outcomes(&base, &[(us(0), 0, block(operation, 1))]).0[0]));
    for (first, second) in (0..kinds.len()).flat_map(|a| (a..kinds.len()).map(move |b| (a, b))) {
        for pair in 0..spans.len() * spans.len() {
            let texts = [(first, pair / 4), (second, pair % 4)]
                .map(|(kind, span)| format!("{}{}", kinds[kind], spans[span]));
            let faults = texts.clone().map(|text| text.parse::<Fault>().unwrap());
            let system = with(&base, &[&texts[0], &texts[1]]);
            let operations = [Operation::Read, Operation::Write];
            for (at, operation) in
                bounds.iter().flat_map(|at| operations.map(|operation| (at, operation)))
            {
                let (before, refused) = around_media(&base, operation);
                let (until, error) = held_by(&faults, operation, Instant::ZERO + *at);
                let seen = outcomes(&system, &[(*at - before, 0, block(operation, 1))]).0[0];
                let behind = match error {
                    Some(_) => refused,
                    None => good[usize::from(operation == Operation::Write)] - before,
                };
                let status = error.map_or(RequestStatus::Good, RequestStatus::Failed);
                assert_eq!(seen.status, status, "{texts:?}");
                assert_eq!(seen.completed, until + behind, "{texts:?}, {operation:?} at {at}");
            }
        }
    }
}

/// Returns reads, writes, a trim and flushes for two drives, one at a time and several at once.
fn mixed() -> Vec<Ask> {
    use Operation::{Flush, Read, Trim, Write};
    let one = |index: u64, operation| {
        let (offset, length) = match operation {
            Flush => (Bytes::ZERO, Bytes::ZERO),
            _ => (Bytes::kibi(128) * index, Bytes::kibi([4, 64, 128][index as usize % 3])),
        };
        Access { operation, offset, length }
    };
    let operations = [Read, Write, Flush, Read, Trim, Write, Read, Flush, Write, Read, Read, Flush];
    let many = operations.iter().zip(0..).flat_map(|(operation, index)| {
        [us(2_000 * index), ms(30), ms(30) + us(index)].map(|at| (at, index, *operation))
    });
    many.flat_map(|(at, index, operation)| [0, 1].map(|drive| (at, drive, one(index, operation))))
        .collect()
}

#[test]
fn a_fault_that_is_yet_to_come_changes_nothing() {
    let mut protected = small_drive();
    protected.write_cache = WriteCacheMode::Protected;
    for base in [
        nvme(small_drive()),
        nvme(protected.clone()),
        sata(small_drive()),
        sata(protected),
        sas(small_drive(), 2),
        dual(&small_drive()),
    ] {
        let base = times(base, 2);
        let sound = outcomes(&base, &mixed()).0;
        for fault in [
            "media-error range=0B..4MiB",
            "latency extra=1ms",
            "pause for=1s",
            "stuck commands=9",
            "link-errors rate=1e-6",
            "port-loss",
            "read-only",
            "read-only written=1GiB at=0s drive=1",
            "power-cut",
            "latency extra=0ps at=0s",
        ] {
            let text =
                if fault.contains("at=") { fault.to_owned() } else { format!("{fault} at=9s") };
            let (seen, uses) = outcomes(&with(&base, &[&text]), &mixed());
            assert!(seen == sound, "{text}, {:?}", base.attachments[0].protocol.kind);
            assert!(uses.iter().all(|one| (one.held, one.failed) == (0, 0)), "{text}");
        }
    }
}

#[test]
fn a_drive_rests_when_all_is_answered_after_any_fault() {
    let mut drive = small_drive();
    drive.power = Some(flash_power());
    let mut shared = sata(drive.clone());
    let uplink = Pcie::new(PcieGeneration::One, 1, Bytes(128), Bytes(512));
    shared.attachments[0].port_path.links[0].model = LinkModel::Pcie(uplink);
    share(&mut shared, 1);
    for base in
        [shared, nvme(drive.clone()), sata(drive.clone()), sas(drive.clone(), 2), dual(&drive)]
    {
        let base = times(base, 2);
        for fault in [
            "media-error range=0B..4MiB recovery=1ms at=3ms",
            "latency extra=1ms at=3ms",
            "pause for=9ms at=3ms",
            "stuck commands=9 timeout=1ms reset=2ms at=3ms",
            "stuck commands=9 timeout=1ms reset=2ms at=3ms then=fail",
            "stuck commands=9 timeout=1ms abort=2ms at=3ms",
            "stuck commands=9 timeout=1ms abort=2ms at=3ms then=fail",
            "link-errors rate=1e-6 at=3ms recovery=10us",
            "port-loss timeout=1ms at=3ms",
            "port-loss timeout=1ms at=3ms for=10ms",
            "read-only at=3ms",
            "power-cut boot=5ms at=3ms",
            "power-cut boot=5ms at=30020us",
            "power-cut boot=5ms at=30020us drive=1",
            "power-cut boot=5ms at=30200us drive=1",
        ] {
            let mut storage = run_requests(&with(&base, &[fault]), &mixed());
            while storage.advance().is_some() {}
            assert_eq!(storage.simulator().outstanding(), 0, "{fault}");
            let working = |seconds: u64| {
                let readings = storage.simulator().power(Instant::ZERO + ms(seconds * 1_000));
                readings.unwrap().iter().map(|reading| reading.times.working).collect::<Vec<_>>()
            };
            assert!(working(100).iter().all(|time| *time > Duration::ZERO && *time < ms(60)));
            let kind = base.attachments[0].protocol.kind;
            assert_eq!(working(100), working(200), "{fault}, {kind:?}");
        }
    }
}

#[test]
fn reads_repeat_on_the_drive_and_at_the_time_of_a_fault() {
    let mut worn = times(nvme(small_drive()), 2);
    let alone = alone(&worn, BLOCK);
    worn.attachments.iter_mut().for_each(|attachment| attachment.drive.flash_mut().cycles = 1_000);
    let all = "read-retries share=100% endurance=1000";
    let asks: Vec<Ask> = (0..120)
        .map(|index| (us(index * 500), (index % 2) as u16, block(Operation::Read, index * 8)))
        .collect();
    // For each drive, whether reads are repeated in the first, second and third 20 ms.
    let repeats = |faults: &[String]| {
        let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
        let seen = outcomes(&with(&worn, &faults), &asks).0;
        [0, 1].map(|drive| {
            [0, 20, 40].map(|from| {
                let of = (from..from + 20).map(|index| &seen[2 * index + drive]);
                let repeated = of.filter(|done| latency(done) > alone).count();
                assert!(repeated == 0 || repeated > 12, "{repeated} of 20");
                repeated > 0
            })
        })
    };
    assert_eq!(repeats(&[all.to_owned()]), [[true; 3]; 2]);
    assert_eq!(repeats(&[format!("{all} drive=1")]), [[false; 3], [true; 3]]);
    assert_eq!(repeats(&[format!("{all} at=0s for=20ms")]), [[true, false, false]; 2]);
    assert_eq!(repeats(&[format!("{all} at=20ms")]), [[false, true, true]; 2]);
    let none = "read-retries share=0% at=20ms for=20ms";
    let interrupted = repeats(&[format!("{all} drive=0"), none.to_owned()]);
    assert_eq!(interrupted, [[true, false, true], [false; 3]]);
    let other = format!("{all} drive=1 at=20ms for=20ms");
    assert_eq!(repeats(&[format!("{all} drive=0"), other]), [[true; 3], [false, true, false]]);
}

/// A command that is sent at the instant of a reset without duration counts as sent after the reset, and completes.
#[test]
fn a_reset_loses_only_answers_to_earlier_commands() {
    let base = sata(small_drive());
    let alone = alone(&base, BLOCK);
    for reset in [us(0), ms(2)] {
        let text = format!("stuck timeout=1ms reset={}ps at=0s", reset.picoseconds());
        let system = with(&base, &[&text]);
        let reset_at = HALF + ms(1);
        // The command is sent so shortly before the reset that the answer would arrive after it; a picosecond before
        // the reset; or exactly at the reset.
        for (at, lost) in [(ms(1) - us(20), true), (ms(1) - TICK, true), (ms(1), false)] {
            let (seen, uses) = outcomes(&system, &[read(us(0), 0), read(at, 1)]);
            let over = reset_at + reset;
            // A lost answer leads to another command if the answer has arrived; otherwise the host waits for the end of
            // the reset.
            let least = if lost {
                over.max(at + alone - HALF) + alone
            } else {
                over.max(at + HALF) + alone - HALF
            };
            assert!(end(&seen[1]) >= least && end(&seen[1]) < least + us(12), "{at}, {reset}");
            // The fault delays the stuck command, and a command that is lost or waits for the end of the reset.
            let held = 1 + u64::from(lost || reset > us(0));
            assert_eq!((uses[0].held, uses[0].failed), (held, 0), "{at}, {reset}");
        }
    }
}

#[test]
fn of_two_limits_of_writes_the_lower_counts() {
    let base = nvme(small_drive());
    let write = |at, number| (at, 0, block(Operation::Write, number));
    let asks = [write(us(500), 0), write(ms(2), 1), write(ms(4), 2), write(ms(6), 3)];
    let statuses = |faults: &[&str]| {
        let seen = outcomes(&with(&base, faults), &asks).0;
        seen.iter().map(|done| done.status == RequestStatus::Good).collect::<Vec<_>>()
    };
    let seen = statuses(&["read-only at=1ms for=4ms", "read-only written=1GiB at=3ms"]);
    assert_eq!(seen, [true, false, false, true]);
    // A command that begins later may reach the media earlier.
    let seen = statuses(&["read-only written=8KiB", "read-only written=4KiB at=5ms"]);
    assert_eq!(seen, [true, true, false, false]);
}

#[test]
fn a_power_cut_at_any_instant_of_a_read_forgets_it() {
    let base = nvme(small_drive());
    let mut watched = run_requests(&base, &[read(us(10), 0)]);
    let mut instants = Vec::new();
    while let Some(at) = watched.simulator().next_at() {
        instants.push(at.since(Instant::ZERO));
        watched.advance_until(at);
    }
    let alone = alone(&base, BLOCK);
    assert!(instants.len() > 5 && instants.last() == Some(&(us(10) + alone)), "{instants:?}");
    for cut in instants.iter().flat_map(|at| [*at - TICK, *at, *at + TICK]) {
        let text = format!("power-cut boot=1ms at={}ps", cut.picoseconds());
        let asks = [read(us(10), 0), read(us(900), 1), read(ms(3), 2)];
        let (seen, uses) = outcomes(&with(&base, &[&text]), &asks);
        let up = cut + ms(1);
        // A cut at the instant of the submission precedes the submission, and the host submits all requests after the
        // boot.
        if cut <= us(10) {
            assert_eq!((seen[0].status, end(&seen[0])), (RequestStatus::Good, up + alone));
            assert!(end(&seen[1]) < up + alone * 2);
        } else {
            assert_eq!(end(&seen[1]), up + alone, "at {cut}");
        }
        let failed = cut > us(10) && cut <= us(10) + alone;
        if failed {
            assert_eq!(seen[0].status, RequestStatus::Failed(ErrorKind::DeviceGone), "at {cut}");
            assert_eq!(end(&seen[0]), cut);
        } else if cut > us(10) {
            assert_eq!((seen[0].status, latency(&seen[0])), (RequestStatus::Good, alone));
        }
        assert_eq!(uses[0].failed, u64::from(failed), "at {cut}");
        assert_eq!(end(&seen[2]), ms(3) + alone, "at {cut}");
    }
}

#[test]
fn of_two_power_cuts_the_longer_counts() {
    let base = nvme(small_drive());
    let alone = alone(&base, BLOCK);
    for (second, up) in [("at=15ms boot=5ms", 30), ("at=15ms boot=25ms", 40)] {
        let cuts = ["power-cut at=10ms boot=20ms", &format!("power-cut {second}")];
        let asks = [read(ms(12), 0), read(ms(22), 1), read(ms(45), 2)];
        let (seen, uses) = outcomes(&with(&base, &cuts), &asks);
        assert!(seen.iter().all(|done| done.status == RequestStatus::Good));
        // The driver processes the two commands one after the other.
        let first = end(&seen[0]).min(end(&seen[1]));
        let last = end(&seen[0]).max(end(&seen[1]));
        assert_eq!(first, ms(up) + alone);
        assert!(last > first && last < ms(up) + alone * 2);
        assert_eq!(end(&seen[2]), ms(45) + alone);
        assert_eq!((uses[0].failed, uses[1].failed), (0, 0));
    }
    // The host is up, so commands of one drive wait for the drive.
    let pair = times(base, 2);
    let cuts = ["power-cut at=10ms boot=20ms drive=0", "power-cut at=15ms boot=5ms drive=0"];
    let asks = [read(ms(22), 0), (ms(22), 1, block(Operation::Read, 0))];
    let (seen, _) = outcomes(&with(&pair, &cuts), &asks);
    assert_eq!(end(&seen[0]), ms(30) + alone - HALF);
    assert!(latency(&seen[1]) <= alone + HALF);
}

#[test]
fn a_pause_outlives_a_power_cut() {
    let base = nvme(small_drive());
    let (before, _) = around_media(&base, Operation::Read);
    let faults = ["power-cut at=1ms boot=2ms", "pause at=500us for=4ms"];
    let seen = outcomes(&with(&base, &faults), &[read(ms(2), 0)]).0;
    assert_eq!(end(&seen[0]), us(4_500) + alone(&base, BLOCK) - before);
}

#[test]
fn protected_data_are_stored_after_a_cut_although_the_host_resets_the_drive_for_longer() {
    const WRITTEN: u64 = 24;
    let mut drive = small_drive();
    (drive.write_cache, drive.buffer) = (WriteCacheMode::Protected, Bytes::mebi(32));
    let flash = drive.flash_mut();
    (flash.blocks_per_plane, flash.condition) = (60, DriveCondition::Random);
    let base = nvme(drive);
    let mebibyte = |index: u64| Access {
        operation: Operation::Write,
        offset: Bytes::mebi(index),
        length: Bytes::mebi(1),
    };
    let mut asks: Vec<Ask> = (0..WRITTEN).map(|index| (us(0), 0, mebibyte(index))).collect();
    let written = outcomes(&base, &asks).0.iter().map(end).max().unwrap();
    asks.push((written + us(10), 0, block(Operation::Read, 0)));
    let cut = format!("power-cut at={}ps boot=1ms", (written + ms(1)).picoseconds());
    let stuck = format!("stuck timeout=100us reset=500ms at={}ps", written.picoseconds());
    for faults in [&[cut.as_str()][..], &[&cut, &stuck]] {
        let mut storage = run_requests(&with(&base, faults), &asks);
        let until = |storage: &mut Storage, at: Duration| {
            while storage.advance_until(Instant::ZERO + at).is_some() {}
            storage.simulator().drive_use()
        };
        let held = until(&mut storage, written + ms(2) - TICK).buffered;
        assert!(held > Bytes::ZERO, "{faults:?}: the test needs data that wait");
        let used = until(&mut storage, written + ms(450));
        assert_eq!((used.buffered, used.host_written), (Bytes::ZERO, Bytes::mebi(WRITTEN)));
    }
}
