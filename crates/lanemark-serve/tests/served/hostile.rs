//! Clients that violate the protocol, request invalid ranges, or do not read replies; each client affects only itself.

use std::io::Write;
use std::time::{Duration, Instant};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_serve::server::{ARRIVING_MAX, CONNECTIONS_MAX};
use lanemark_testbed::NbdClient;

use super::{Served, Wanted};

/// Checks that the server still works by writing and reading a page.
#[track_caller]
fn still_serves(served: &Served) {
    let mut client = served.connect();
    client.write(4096, &[9; 4096], false).unwrap().unwrap();
    assert_eq!(client.read(4096, 4096).unwrap().unwrap(), [9; 4096]);
}

#[test]
fn noise_ends_only_its_own_connection() {
    for served in Served::both() {
        let mut random = Rng::new(StreamKey::from_seed(4));
        for round in 0..60 {
            let mut noise: Vec<u8> = (0..2000).map(|_| random.next_u64() as u8).collect();
            let mut stream = NbdClient::raw(served.path()).unwrap();
            match round % 3 {
                // Valid flags are followed by noise instead of an option.
                0 => noise[..4].copy_from_slice(&[0, 0, 0, 3]),
                // The length of an option exceeds its data.
                1 => {
                    noise[..4].copy_from_slice(&[0, 0, 0, 3]);
                    noise[4..12].copy_from_slice(b"IHAVEOPT");
                    noise[12..16].copy_from_slice(&7u32.to_be_bytes());
                }
                _ => {}
            }
            let _ = stream.write_all(&noise);
        }
        let mut client = served.connect();
        let noise: Vec<u8> = (0..5000).map(|_| random.next_u64() as u8).collect();
        let _ = client.stream.write_all(&noise);
        assert!(client.answer().is_err());
        still_serves(&served);
    }
}

#[test]
fn requests_beyond_32_mib_are_refused_and_the_connection_continues() {
    for served in Served::both() {
        let mut client = served.connect();
        assert_eq!(client.read(0, (32 << 20) + 512).unwrap(), Err(22));
        let payload = vec![1; (32 << 20) + 512];
        assert_eq!(client.write(0, &payload, false).unwrap(), Err(28));
        assert_eq!(client.read(0, 512).unwrap().unwrap(), [0; 512]);
        // The server does not wait for the data of an invalid request.
        client.send(0, 1, 0, u32::MAX, &[]).unwrap();
        assert!(client.answer().is_err());
        still_serves(&served);
    }
}

#[test]
fn a_client_that_does_not_read_delays_no_other_and_gets_a_bounded_amount() {
    for served in Served::both() {
        let mut slow = served.connect();
        slow.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut requests = 0u64;
        // The answers would take a gigabyte, which the server must not keep in memory.
        while requests < 1024 && slow.send(0, 0, 0, 1 << 20, &[]).is_ok() {
            requests += 1;
        }
        let began = Instant::now();
        still_serves(&served);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: u64 = kib.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib < 700 << 10, "{kib} KiB with {requests} requests of a MiB");
    }
}

#[test]
fn half_open_connections_exclude_no_other_and_end_after_their_time() {
    let served = Served::new(Wanted::default());
    let silent: Vec<_> = (0..2 * CONNECTIONS_MAX + ARRIVING_MAX)
        .map(|_| NbdClient::raw(served.path()).unwrap())
        .collect();
    let began = Instant::now();
    still_serves(&served);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    std::thread::sleep(Duration::from_millis(200));
    assert!(served.session().figures().connections <= ARRIVING_MAX);
    // The other clients have five seconds for the negotiation.
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(served.session().figures().connections, 0);
    drop(silent);
}

#[test]
fn clients_beyond_the_places_are_sent_away() {
    let served = Served::new(Wanted::default());
    let mut clients: Vec<_> = (0..CONNECTIONS_MAX).map(|_| served.connect()).collect();
    // Another client negotiates, and is then disconnected.
    let mut more = served.connect();
    assert!(more.read(4096, 4096).is_err());
    clients.truncate(CONNECTIONS_MAX / 2);
    std::thread::sleep(Duration::from_millis(200));
    still_serves(&served);
}

#[test]
fn a_request_that_stops_in_the_middle_delays_no_other() {
    for served in Served::both() {
        let mut half = served.connect();
        half.send(0, 1, 0, 1 << 20, &[1; 1000]).unwrap();
        let mut header = served.connect();
        header.stream.write_all(&0x2560_9513u32.to_be_bytes()).unwrap();
        still_serves(&served);
        drop(half);
        let mut client = served.connect();
        assert_eq!(client.read(0, 512).unwrap().unwrap(), [0; 512], "half a write is not a write");
    }
}

#[test]
fn a_long_write_lies_in_its_place_however_it_comes() {
    for served in Served::both() {
        let mut client = served.connect();
        let mut random = Rng::new(StreamKey::from_seed(9));
        // The data is sent in one piece, in short pieces, and in pieces that are not aligned to pages.
        for (length, piece) in [(1 << 20, 1 << 20), (1 << 20, 900), (3_000_320, 70_001)] {
            let bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            let offset = 512 * (1 + random.next_u64() % 1000);
            client.send(0, 1, offset, length as u32, &[]).unwrap();
            for piece in bytes.chunks(piece) {
                client.stream.write_all(piece).unwrap();
            }
            assert_eq!(client.answer().unwrap().1, 0);
            assert!(client.read(offset, length as u32).unwrap().unwrap() == bytes, "{piece}");
            let around = client.read(offset - 512, length as u32 + 1024).unwrap().unwrap();
            assert!(around[..512] == [0; 512] && around[length + 512..] == [0; 512]);
            client.zero(offset, length as u32, true).unwrap().unwrap();
        }
    }
}

#[test]
fn a_server_ends_regardless_of_its_clients() {
    let served = Served::new(Wanted { faults: &["pause at=1us for=100s"], ..Wanted::default() });
    let mut waiting = served.connect();
    let idle = served.connect();
    std::thread::sleep(Duration::from_millis(1));
    waiting.send(0, 0, 0, 4096, &[]).unwrap();
    let began = Instant::now();
    drop(served);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(waiting.answer().is_err());
    drop(idle);
}
