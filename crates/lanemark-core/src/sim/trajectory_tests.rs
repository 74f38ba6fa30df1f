//! The whole trajectory of a fixed run as one number: every completion with its tag, its time and its budget.
//!
//! Means and counts of events can stay while two changes cancel each other; this number does not. It says only that
//! something moved; the tests of each part say what.

use super::budget::HOPS;
use super::link_tests::{dual, held, pio};
use super::spec::{Content, DriveSpec, Multipath, SystemSpec, VolumeSpec};
use super::storage::Storage;
use super::tests::{nvme, sas, sata, small_drive, storage_at_rest, test};
use crate::rng::StreamKey;
use crate::units::{Bytes, BytesPerSecond, Instant, Ratio};
use crate::workload::{Accesses, Pattern, Test};

/// Adds a number to a hash (FNV-1a, of 64 bits, eight bytes at once).
fn mix(hash: u64, number: u64) -> u64 {
    (hash ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

/// The first twelve thousand completions of `test` in closed loop on the first target of `system`.
pub(super) fn trajectory(system: &SystemSpec, test: &Test) -> u64 {
    let mut accesses = Accesses::new(test, StreamKey::from_seed(1)).unwrap();
    let mut storage = storage_at_rest(system, Content::of(test));
    let target = system.targets()[0];
    let mut submit = |storage: &mut Storage, at, tag| {
        storage.submit(at, target, accesses.next_access(), tag as u32 % 4, tag).unwrap();
    };
    for tag in 0..u64::from(test.queue_depth()) {
        submit(&mut storage, Instant::ZERO, tag);
    }
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for _ in 0..12_000 {
        let done = storage.advance().unwrap();
        hash = mix(mix(hash, done.tag), done.completed.picoseconds());
        for hop in 0..HOPS {
            let (wait, service) = (done.budget.wait(hop), done.budget.service(hop));
            hash = mix(mix(hash, wait.picoseconds()), service.picoseconds());
        }
        submit(&mut storage, done.completed, done.tag);
    }
    hash
}

#[test]
fn the_trajectory_of_every_way_never_changes() {
    let mixed = test(Bytes::kibi(32), Pattern::Uniform, true, 8)
        .with(|asked| asked.read_share = Ratio::new(0.7).unwrap());
    let drive = small_drive();
    let slower = DriveSpec { data_path_read: Some(BytesPerSecond(300_000_000)), ..small_drive() };
    let striped = |volume| super::volume_tests::apart(&drive, 2, volume);
    let systems = [
        ("nvme", nvme(drive.clone())),
        ("sata", sata(drive.clone())),
        ("sas", sas(drive.clone(), 2)),
        ("pio", pio(&drive, Bytes(512))),
        ("held", held(&slower, Bytes(512))),
        ("round robin", dual(&drive, Multipath::RoundRobin)),
        ("failover", dual(&drive, Multipath::Failover)),
        ("stripe", striped(VolumeSpec::Stripe { chunk: Bytes::kibi(64) })),
        ("mirror", striped(VolumeSpec::Mirror)),
    ];
    let seen = systems.map(|(name, system)| (name, trajectory(&system, &mixed)));
    assert_eq!(seen, TRAJECTORIES, "the model moved: say so in CHANGELOG and set the new ones");
}

const TRAJECTORIES: [(&str, u64); 9] = [
    ("nvme", 8387775433756128659),
    ("sata", 16367959313592473593),
    ("sas", 8085320466872595873),
    ("pio", 4067133120720710054),
    ("held", 8985143415797492912),
    ("round robin", 899160184380185851),
    ("failover", 3637448962431975572),
    ("stripe", 4068623806386120844),
    ("mirror", 6923634831934429030),
];
