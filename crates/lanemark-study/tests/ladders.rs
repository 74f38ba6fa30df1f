//! A faster component never reduces the throughput. The test runs ladders over the library's drives, in which one
//! parameter is twice as fast on each rung as on the previous one.
//!
//! All other values, including random numbers, are equal on all rungs of a ladder. On a rung with a settled run, the
//! throughput may be up to 2% lower than on the previous rung. A run that is still filling the write buffer is not
//! settled, and is marked accordingly.

use lanemark_schema::result::{FILLING_MAX, Sample};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{Pattern, SyntheticRequests, Test};
use lanemark_sim::spec::{DriveCondition, DriveSpec, MediaSpec, PageTimes};
use lanemark_sim::{SystemSpec, run_test};
use lanemark_study::library::LibraryKind;

mod placed;

/// Maximum relative loss of throughput from a faster component.
const LOSS_MAX: f64 = 0.02;
/// Ladders with a larger loss, for a reason that a test in this file demonstrates. An entry is removed when its ladder
/// no longer has the loss.
const UNDERSTOOD: [&str; 3] = [
    // The link can transfer the writes in two stable orders: [`four_writes_over_two_phys_have_two_orders`].
    "samsung-pm1653-3840gb@server-pcie5:sas driver: 128 KiB Sequential QD4, 0 reads",
    // The order at the link changes: [`two_commands_over_two_phys_change_their_order`].
    "samsung-pm1653-3840gb@server-pcie5:sas front_end.write_latency: 512 KiB Uniform QD2, 0.7 reads",
    // A faster link delivers more reads to a die while the die programs:
    // [`suspended_programs_cost_a_faster_link_throughput`].
    "samsung-980-pro-1tb@workstation-z170:m2 link: 128 KiB Sequential QD8, 0.7 reads",
];
/// Factors by which a component is faster on each rung than on the first rung.
const RUNGS: [u64; 4] = [1, 2, 4, 8];
/// Buffer size of drives that are written.
const BUFFER: Bytes = Bytes::mebi(2);

/// Makes a component faster by this factor.
type Faster = fn(&mut SystemSpec, u64);

const PARTS: [(&str, Faster); 12] = [
    ("front_end.read_time", |spec, by| front_end(spec).read_time = front_end(spec).read_time / by),
    ("front_end.write_time", |spec, by| {
        front_end(spec).write_time = front_end(spec).write_time / by;
    }),
    ("front_end.read_latency", |spec, by| {
        front_end(spec).read_latency = front_end(spec).read_latency / by;
    }),
    ("front_end.write_latency", |spec, by| {
        front_end(spec).write_latency = front_end(spec).write_latency / by;
    }),
    ("data_path", |spec, by| {
        let drive = &mut spec.first_mut().drive;
        let rates = [&mut drive.data_path_read, &mut drive.data_path_write];
        rates.into_iter().flatten().for_each(|rate| rate.0 *= by);
    }),
    ("channel_rate", |spec, by| media(spec, |flash| flash.channel_rate.0 *= by)),
    ("command_time", |spec, by| media(spec, |flash| flash.command_time = flash.command_time / by)),
    ("tR", |spec, by| media(spec, |flash| flash.read = faster(flash.read, by))),
    ("tPROG", |spec, by| media(spec, |flash| flash.program = faster(flash.program, by))),
    ("processor", |spec, by| {
        spec.cpu.request_submit = spec.cpu.request_submit / by;
        spec.cpu.request_complete = spec.cpu.request_complete / by;
    }),
    ("driver", |spec, by| {
        let protocol = &mut spec.first_mut().protocol;
        protocol.read_time = protocol.read_time / by;
        protocol.write_time = protocol.write_time / by;
    }),
    ("link", |spec, by| {
        for link in spec.first_mut().port_path.links.iter_mut() {
            link.speed *= by as u32;
            link.latency = link.latency / by;
        }
    }),
];

fn front_end(spec: &mut SystemSpec) -> &mut lanemark_sim::spec::FrontEndSpec {
    &mut spec.first_mut().drive.front_end
}

fn media(spec: &mut SystemSpec, change: impl FnOnce(&mut lanemark_sim::spec::FlashSpec)) {
    if let DriveSpec { media: MediaSpec::Flash(flash), .. } = &mut spec.first_mut().drive {
        change(flash);
    }
}

fn faster(times: PageTimes, by: u64) -> PageTimes {
    let mut times = times;
    (0..by.ilog2()).for_each(|_| times = times.halved());
    times
}

/// Returns the library's flash drives, except rated drives, because there are many of them and they are similar.
fn systems() -> Vec<(String, SystemSpec)> {
    all_systems(false)
}

/// Returns the library's flash drives, each in a port of the first platform that accepts it.
fn all_systems(with_rated: bool) -> Vec<(String, SystemSpec)> {
    let mut systems = placed::systems(|library, name| {
        with_rated || !library.open(LibraryKind::Drive, name).unwrap().has_table("rated")
    });
    systems.retain(|(_, spec)| matches!(spec.first().drive.media, MediaSpec::Flash(_)));
    systems
}

/// Returns a test chosen by `random`. Tests with writes have a small buffer that they fill a hundred times, because the
/// time until it is full is not of interest.
fn test(random: &mut Rng, spec: &mut SystemSpec, requests: u64) -> Test {
    let one = |random: &mut Rng, of: &[u64]| of[random.below(of.len() as u64) as usize];
    let share = one(random, &[100, 100, 70, 30, 0]) as f64 / 100.0;
    let blocks: &[u64] = if share < 1.0 { &[64, 128, 512] } else { &[4, 16, 64, 128, 256, 512] };
    let block = Bytes::kibi(one(random, blocks));
    let mut volume = block * requests;
    if share < 1.0 {
        spec.first_mut().drive.buffer = BUFFER;
        volume = volume.max(Bytes((BUFFER.get() as f64 * 120.0 / (1.0 - share)) as u64));
    }
    let pattern = if random.chance(0.5) { Pattern::Sequential } else { Pattern::Uniform };
    let built = Test::random_read(block)
        .pattern(pattern)
        .read_share(Ratio::new(share).unwrap())
        .queue_depth(one(random, &[1, 2, 3, 4, 8, 32]) as u32)
        .span(Bytes::mebi(4096))
        .volume(volume)
        .build();
    built.unwrap().into_test()
}

fn rate(sample: &Sample) -> f64 {
    sample.throughput().0 as f64
}

/// Returns the rate on each rung of a ladder, up to the first invalid or unsettled rung.
fn rungs(spec: &SystemSpec, test: &Test, faster: Faster, seed: u64) -> Vec<f64> {
    RUNGS.iter().map_while(|by| rung(spec, test, faster, seed, *by)).collect()
}

/// Returns the rate with a component that is faster by a factor, if the system is valid and the run has settled.
fn rung(spec: &SystemSpec, test: &Test, faster: Faster, seed: u64, by: u64) -> Option<f64> {
    let mut spec = spec.clone();
    faster(&mut spec, by);
    let spec = spec.checked().ok()?;
    let sample =
        run_test(&spec, &test.clone().checked().unwrap(), StreamKey::from_seed(seed)).unwrap();
    let settled = sample.drive.is_none_or(|drive| drive.filling() <= FILLING_MAX);
    settled.then(|| rate(&sample))
}

/// Runs `count` ladders of library drives, chosen from `seed`. Returns the number of ladders with two or more rungs,
/// and the losses.
fn climb(count: u64, seed: u64, requests: u64) -> (usize, Vec<String>) {
    let systems = systems();
    assert!(systems.len() > 30, "{} drives have a port", systems.len());
    let mut random = Rng::new(StreamKey::from_seed(seed));
    let mut climbed = 0;
    let mut lost = Vec::new();
    for number in 0..count {
        let (name, spec) = &systems[random.below(systems.len() as u64) as usize];
        let (part, faster) = PARTS[random.below(PARTS.len() as u64) as usize];
        let mut spec = spec.clone();
        let test = test(&mut random, &mut spec, requests);
        let rates = rungs(&spec, &test, faster, number);
        climbed += usize::from(rates.len() > 1);
        if rates.windows(2).any(|pair| pair[1] < pair[0] * (1.0 - LOSS_MAX)) {
            let block = test.block;
            let SyntheticRequests { pattern, queue_depth, read_share, .. } =
                test.requests().unwrap();
            let share = read_share.get();
            lost.push(format!(
                "{name} {part}: {block} {pattern:?} QD{queue_depth}, {share} reads: {rates:?}"
            ));
        }
    }
    (climbed, lost)
}

/// Returns the losses of ladders with a known cause, and the other losses.
fn separate_known(lost: Vec<String>) -> (Vec<String>, Vec<String>) {
    lost.into_iter().partition(|one| UNDERSTOOD.iter().any(|known| one.starts_with(known)))
}

/// `LANEMARK_LADDERS` sets the number of ladders, which is 60 by default (`make ladders`).
#[test]
fn no_faster_part_costs_throughput() {
    let more = std::env::var("LANEMARK_LADDERS").ok().map(|count| count.parse::<u64>().unwrap());
    let (climbed, lost) = climb(60 + more.unwrap_or(0), 1, 600);
    let (known, lost) = separate_known(lost);
    assert!(lost.is_empty(), "{lost:#?}");
    if more.is_some() {
        assert_eq!(known.len(), UNDERSTOOD.len(), "strike what loses nothing any more: {known:#?}");
    }
    assert!(climbed > 30, "{climbed} ladders had two settled rungs");
}

/// Returns the flash drives of the library, rated or not, each in both states of a used drive and in a port.
fn used_systems() -> Vec<(String, SystemSpec)> {
    let of_state = |(name, spec): &(String, SystemSpec), condition: DriveCondition| {
        let mut spec = spec.clone();
        let mut is_written_in_place = false;
        media(&mut spec, |flash| {
            is_written_in_place = flash.technology.in_place();
            flash.condition = condition;
        });
        spec.first_mut().drive.buffer = BUFFER;
        (!is_written_in_place).then(|| (format!("{name} {condition:?}"), spec))
    };
    let all = all_systems(true);
    let of_drive = |system| {
        [DriveCondition::Sequential, DriveCondition::Random].map(|state| of_state(system, state))
    };
    all.iter().flat_map(of_drive).flatten().collect()
}

/// Returns the loss of a mixed sequential load if the latency of a read in the front end falls from ten times the
/// drive's value to the drive's value, and both runs have settled.
fn mixed_loss(spec: &SystemSpec, block: Bytes, read_share: f64, queue_depth: u32) -> Option<f64> {
    let volume = Bytes((BUFFER.get() as f64 * 40.0 / (1.0 - read_share)) as u64);
    let chosen = mix(block, Pattern::Sequential, read_share, queue_depth);
    let test = Test { volume: Some(volume), ..chosen };
    let mut slow = spec.clone();
    front_end(&mut slow).read_latency = front_end(&mut slow).read_latency * 10;
    let faster: Faster = |spec, by| {
        front_end(spec).read_latency = front_end(spec).read_latency / by;
    };
    let rates = [1, 10].map(|by| rung(&slow, &test, faster, 1, by));
    Some(1.0 - rates[1]? / rates[0]?)
}

/// A write into the read-ahead once ended its stream, so the rate depended on the order in which reads and writes
/// reached the media, and a faster front end made these drives a third slower. `LANEMARK_LADDERS` runs all drives.
#[test]
fn a_faster_front_end_does_not_slow_mixed_sequential_loads() {
    let is_whole = std::env::var("LANEMARK_LADDERS").is_ok();
    let named = ["samsung-980-pro-1tb@", "samsung-970-evo-1tb@", "crucial-t700-2tb@"];
    let is_named = |name: &str| named.iter().any(|drive| name.starts_with(drive));
    let mut settled = 0;
    let mut lost = Vec::new();
    for (name, spec) in used_systems() {
        if !is_whole && !is_named(&name) {
            continue;
        }
        let Some(loss) = mixed_loss(&spec, Bytes::kibi(8), 0.7, 32) else { continue };
        settled += 1;
        if loss > LOSS_MAX {
            lost.push(format!("{name} loses {loss:.3}"));
        }
    }
    assert!(settled >= 6 && lost.is_empty(), "{settled} settled: {lost:#?}");
}

/// Drives of the whole library, in both states, with mixed sequential loads of any size and depth.
#[test]
fn used_drives_do_not_lose_mixed_sequential_throughput() {
    let systems = used_systems();
    let mut random = Rng::new(StreamKey::from_seed(3));
    let mut lost = Vec::new();
    for _ in 0..16 {
        let (name, spec) = &systems[random.below(systems.len() as u64) as usize];
        let one = |random: &mut Rng, of: &[u64]| of[random.below(of.len() as u64) as usize];
        let block = Bytes::kibi(one(&mut random, &[4, 8, 16, 64, 128]));
        let read_share = one(&mut random, &[30, 50, 70, 90]) as f64 / 100.0;
        let queue_depth = one(&mut random, &[1, 4, 8, 32]) as u32;
        let loss = mixed_loss(spec, block, read_share, queue_depth);
        if loss.is_some_and(|loss| loss > LOSS_MAX) {
            lost.push(format!("{name}: {block}, {read_share} reads, QD{queue_depth}: {loss:?}"));
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

/// Two commands once ran in lockstep over SATA, and a drive with a faster command engine read less.
#[test]
fn ladders_that_once_lost_lose_nothing() {
    let cases = [
        ("samsung-850-pro-1tb", "tR", Bytes::kibi(64), Pattern::Uniform, 1.0, 2),
        (
            "samsung-pm983-3840gb",
            "front_end.read_time",
            Bytes::kibi(512),
            Pattern::Sequential,
            0.7,
            1,
        ),
    ];
    for (drive, part, block, pattern, read_share, queue_depth) in cases {
        let systems = systems();
        let (name, spec) = systems.iter().find(|(name, _)| name.starts_with(drive)).unwrap();
        let (_, faster) = PARTS.iter().find(|(name, _)| *name == part).unwrap();
        let mut spec = spec.clone();
        let mut random = Rng::new(StreamKey::from_seed(1));
        let read_share = Ratio::new(read_share).unwrap();
        let chosen = test(&mut random, &mut spec, 2000);
        let test = Test { block, volume: Some(block * 2000), ..chosen }.with(|asked| {
            asked.alignment = block;
            asked.pattern = pattern;
            asked.read_share = read_share;
            asked.queue_depth = queue_depth;
        });
        if test.writes() {
            spec.first_mut().drive.buffer = BUFFER;
        }
        let rates = rungs(&spec, &test, *faster, 1);
        assert!(rates.len() > 2, "{name}: {rates:?}");
        assert!(
            rates.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - LOSS_MAX)),
            "{name}: {rates:?}"
        );
    }
}

/// Four writes of one thread and of two threads run on a drive with two phys, with the drive's own driver time and with
/// half of it. With two threads, the slower order is stable for both driver times, so the faster driver does not lose
/// throughput.
#[test]
fn four_writes_over_two_phys_have_two_orders() {
    let spec = find_system(&systems(), "samsung-pm1653-3840gb@");
    let of = |threads: u32| {
        let block = Bytes::kibi(128);
        let test = Test::sequential_write(block)
            .threads(threads)
            .queue_depth(4 / threads)
            .span(Bytes::mebi(4096))
            .volume(block * 4000)
            .build()
            .unwrap()
            .into_test();
        rungs(&spec, &test, part("driver"), 1)
    };
    let one = of(1);
    let two = of(2);
    let near = |rate: f64, other: f64| (rate / other - 1.0).abs() < 0.005;
    assert!(one[0] > 1.025 * one[1], "one thread: {one:?}");
    assert!(near(two[0], two[1]) && near(two[0], one[1]), "two threads: {two:?}, one: {one:?}");
}

/// Returns a test in which one thread submits requests with this share of reads. The small buffer of the drive is
/// filled many times.
fn mix(block: Bytes, pattern: Pattern, read_share: f64, queue_depth: u32) -> Test {
    let volume = Bytes((BUFFER.get() as f64 * 300.0 / (1.0 - read_share)) as u64);
    let test = Test::random_read(block)
        .pattern(pattern)
        .read_share(Ratio::new(read_share).unwrap())
        .queue_depth(queue_depth)
        .span(Bytes::mebi(4096))
        .volume(volume);
    test.build().unwrap().into_test()
}

fn find_system(systems: &[(String, SystemSpec)], drive: &str) -> SystemSpec {
    let (_, spec) = systems.iter().find(|(name, _)| name.starts_with(drive)).unwrap();
    let mut spec = spec.clone();
    spec.first_mut().drive.buffer = BUFFER;
    spec
}

fn part(name: &str) -> Faster {
    PARTS.iter().find(|(part, _)| *part == name).unwrap().1
}

/// A read and a write, each with two commands, run over two phys. If a write completes before the host has submitted
/// its next command, another command precedes that command at the link. A driver that takes a quarter of the time is
/// early enough, and the step of the ladder no longer loses throughput. If the program time is zero, the result is the
/// same, so the media are not the cause.
#[test]
fn two_commands_over_two_phys_change_their_order() {
    let mut spec = find_system(&systems(), "samsung-pm1653-3840gb@");
    media(&mut spec, |flash| flash.program = faster(flash.program, 512));
    let test = mix(Bytes::kibi(512), Pattern::Uniform, 0.7, 2);
    let slow = rungs(&spec, &test, part("front_end.write_latency"), 1);
    part("driver")(&mut spec, 4);
    let quick = rungs(&spec, &test, part("front_end.write_latency"), 1);
    assert!(slow[1] < 0.98 * slow[0], "{slow:?}, {quick:?}");
    assert!(quick[1] > 0.998 * quick[0], "{slow:?} {quick:?}");
}

/// If a faster link fills the queue immediately, reads arrive during more programs, and each suspension costs a die the
/// times to suspend and resume. Without suspension, the same ladders do not lose throughput. The drive does not read
/// ahead here, because read-ahead would remove reads from the queue.
#[test]
fn suspended_programs_cost_a_faster_link_throughput() {
    let systems = systems();
    let mut spec = find_system(&systems, "samsung-980-pro-1tb@");
    spec.first_mut().drive.read_ahead = Bytes::ZERO;
    let test = mix(Bytes::kibi(128), Pattern::Sequential, 0.7, 8);
    let with = rungs(&spec, &test, part("link"), 1);
    media(&mut spec, |flash| flash.die.suspend = None);
    let without = rungs(&spec, &test, part("link"), 1);
    let least = |rates: &[f64]| {
        rates.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min)
    };
    assert!(least(&with) < 0.99, "{with:?}");
    assert!(least(&without) > 1.0 - LOSS_MAX, "{without:?}");
}
