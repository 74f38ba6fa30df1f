//! Data through the protocol: random operations compared with a model, several connections, and power cuts.

use std::collections::BTreeSet;

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_serve::data::{DataLocation, DataPlan};

use super::{CACHE, SIZE, Served, Wanted};

/// Runs random operations of one connection in a separate part of the export, and compares each read with a model.
fn random_operations(served: &Served, part: u64, seed: u64, operations: u32) {
    let mut client = served.connect();
    let mut random = Rng::new(StreamKey::from_seed(seed));
    let length = SIZE / 4;
    let start = part * length;
    let mut model = vec![0u8; length as usize];
    for _ in 0..operations {
        let most = if random.chance(0.1) { 1024 } else { 16 };
        let sectors = 1 + random.below(most);
        let at = random.below(length / 512 - sectors) * 512;
        let range = at as usize..(at + sectors * 512) as usize;
        let offset = start + at;
        let bytes = sectors * 512;
        match random.below(8) {
            0..3 => {
                let data: Vec<u8> = (0..bytes).map(|_| random.next_u64() as u8).collect();
                client.write(offset, &data, random.chance(0.2)).unwrap().unwrap();
                model[range].copy_from_slice(&data);
            }
            3 => {
                client.trim(offset, bytes as u32).unwrap().unwrap();
                model[range].fill(0);
            }
            4 => {
                client.zero(offset, bytes as u32, random.chance(0.5)).unwrap().unwrap();
                model[range].fill(0);
            }
            5 => client.flush().unwrap().unwrap(),
            _ => assert!(client.read(offset, bytes as u32).unwrap().unwrap() == model[range]),
        }
    }
}

#[test]
fn four_connections_read_their_writes() {
    for served in &Served::both() {
        std::thread::scope(|scope| {
            for part in 0..4 {
                scope.spawn(move || random_operations(served, part, part, 400));
            }
        });
    }
}

#[test]
fn many_requests_at_once_are_all_answered() {
    for served in Served::both() {
        let mut client = served.connect();
        let mut pending = BTreeSet::new();
        for page in 0..500u64 {
            let payload = vec![page as u8; 4096];
            pending.insert(client.send(0, 1, page * 4096, 4096, &payload).unwrap());
        }
        for _ in 0..500 {
            let (cookie, error) = client.answer().unwrap();
            assert!(pending.remove(&cookie) && error == 0);
        }
        for page in [0, 17, 499] {
            let read = client.read(page * 4096, 4096).unwrap().unwrap();
            assert!(read.iter().all(|byte| *byte == page as u8));
        }
    }
}

#[test]
fn acknowledged_data_is_visible_to_other_connections() {
    let served = Served::new(Wanted::default());
    let mut one = served.connect();
    let mut other = served.connect();
    for round in 1..50u8 {
        one.write(0, &[round; 4096], false).unwrap().unwrap();
        assert_eq!(other.read(0, 4096).unwrap().unwrap(), [round; 4096]);
        other.flush().unwrap().unwrap();
    }
}

/// A power cut keeps flushed data. Any other sector contains data that was written to it, or its previous content.
#[test]
fn a_power_cut_loses_only_unflushed_data() {
    let mut lost = 0;
    for seed in 0..12u64 {
        let data = lanemark_serve::data::ExportData::memory(SIZE, CACHE, seed).unwrap();
        let served = Served::new(Wanted { data: Some(data), ..Wanted::default() });
        let mut client = served.connect();
        let mut random = Rng::new(StreamKey::from_seed(seed));
        let sectors = 256;
        let mut may: Vec<BTreeSet<u8>> = vec![BTreeSet::from([0]); sectors];
        let mut now = vec![0u8; sectors];
        for value in 1..60u8 {
            let first = random.below(sectors as u64 - 8);
            let count = 1 + random.below(8);
            client.write(first * 512, &vec![value; count as usize * 512], false).unwrap().unwrap();
            for at in first..first + count {
                now[at as usize] = value;
                may[at as usize].insert(value);
            }
            if random.chance(0.1) {
                client.flush().unwrap().unwrap();
                (0..sectors).for_each(|at| may[at] = BTreeSet::from([now[at]]));
            }
        }
        served.session().add_fault("power-cut at=0s boot=1ms".parse().unwrap()).unwrap();
        // Requests that arrive while the host is down wait until it is up again.
        let read = client.read(0, sectors as u32 * 512).unwrap();
        let read = read.unwrap_or_else(|_| client.read(0, sectors as u32 * 512).unwrap().unwrap());
        for (at, sector) in read.chunks(512).enumerate() {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "sector {at} is torn within");
            assert!(
                may[at].contains(&sector[0]),
                "seed {seed}, {at}: {} of {:?}",
                sector[0],
                may[at]
            );
            lost += u32::from(sector[0] != now[at]);
        }
        assert_eq!(served.session().figures().lost.len(), 1);
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn a_file_is_there_for_the_next_server() {
    let folder = tempfile::tempdir().unwrap();
    let location = DataLocation::File(folder.path().join("disk"));
    let plan = DataPlan { location, over: None, size: SIZE, overwrite: None };
    for round in 0..3u8 {
        let opened = plan.open(CACHE, 1).unwrap();
        assert!(opened.notes.is_empty(), "{:?}", opened.notes);
        let served = Served::new(Wanted { data: Some(opened.data), ..Wanted::default() });
        let mut client = served.connect();
        assert_eq!(client.read(8192, 512).unwrap().unwrap(), [round; 512]);
        client.write(8192, &[round + 1; 512], true).unwrap().unwrap();
    }
}
