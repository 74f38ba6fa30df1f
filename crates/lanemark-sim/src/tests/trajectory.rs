//! Represents the whole trajectory of a fixed run as one number, which covers every completion with its tag, time and
//! budget.
//!
//! Means and event counts can stay equal if two changes cancel each other; this number cannot. It shows only that some
//! behaviour has changed; the tests of each part show which behaviour.

use crate::engine::budget::HOPS;
use crate::spec::submission::Submission;
use crate::spec::{PriorContent, SystemSpec, VolumeSpec};
use crate::storage::Storage;
use crate::tests::link::{dual, pio};
use crate::tests::runs::{nvme, run, sas, sata, small_drive, storage_at_rest, test};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Instant, Ratio};
use lanemark_schema::workload::{Accesses, Pattern, Test};

/// Adds a number to a hash (FNV-1a, 64 bits, eight bytes at a time).
fn mix(hash: u64, number: u64) -> u64 {
    (hash ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

/// Returns the hash of the first twelve thousand completions of `test` in a closed loop on the first target of
/// `system`.
pub(crate) fn trajectory(system: &SystemSpec, test: &Test) -> u64 {
    let mut accesses = Accesses::new(test, StreamKey::from_seed(1)).unwrap();
    let mut storage = storage_at_rest(system, PriorContent::for_test(test));
    let target = system.targets().start;
    let mut submit = |storage: &mut Storage, at, tag| {
        let request = Submission::new(at, accesses.next_access()).to(target);
        storage.submit(request.by(tag as u32 % 4).tagged(tag)).unwrap();
    };
    for tag in 0..u64::from(test.issue_depth()) {
        submit(&mut storage, Instant::ZERO, tag);
    }
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for _ in 0..12_000 {
        let done = storage.advance().unwrap();
        hash = mix(mix(hash, done.tag), done.completed.picoseconds());
        for hop in 0..HOPS {
            let wait = done.budget.wait(hop);
            let service = done.budget.service(hop);
            hash = mix(mix(hash, wait.picoseconds()), service.picoseconds());
        }
        submit(&mut storage, done.completed, done.tag);
    }
    hash
}

/// Returns the duration of a whole run, its number of events, and its trajectory.
pub(crate) fn fingerprint(system: &SystemSpec, test: &Test) -> (u64, u64, u64) {
    let sample = run(system, test);
    let events = sample.path.unwrap().events;
    (sample.elapsed.picoseconds(), events, trajectory(system, test))
}

#[test]
fn the_trajectory_of_every_way_never_changes() {
    let mixed = test(Bytes::kibi(32), Pattern::Uniform, true, 8)
        .with(|asked| asked.read_share = Ratio::new(0.7).unwrap());
    let drive = small_drive();
    let striped = |volume| crate::tests::volume::build_volume(&drive, 2, volume);
    let systems = [
        ("nvme", nvme(drive.clone())),
        ("sata", sata(drive.clone())),
        ("sas", sas(drive.clone(), 2)),
        ("pio", pio(&drive)),
        ("round robin", dual(&drive)),
        ("stripe", striped(VolumeSpec::Stripe { chunk: Bytes::kibi(64) })),
        ("mirror", striped(VolumeSpec::Mirror)),
    ];
    let seen = systems.map(|(name, system)| (name, trajectory(&system, &mixed)));
    assert_eq!(seen, TRAJECTORIES, "the model moved: say so in CHANGELOG and set the new ones");
}

const TRAJECTORIES: [(&str, u64); 7] = [
    ("nvme", 5426650688351907851),
    ("sata", 16458119699208249257),
    ("sas", 12616332006353729628),
    ("pio", 4067133120720710054),
    ("round robin", 15219920848837504406),
    ("stripe", 4068623806386120844),
    ("mirror", 11063369831262362461),
];
