//! Faults of served systems, as an NBD client sees them: faults in a share of requests, errors in ranges, wrong data
//! without an error, and changes while the server runs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lanemark_schema::result::FaultImpact;
use lanemark_serve::data::ExportData;
use lanemark_sim::FaultPhase;
use lanemark_testbed::NbdClient;

use super::{CACHE, SIZE, Served, Wanted};

/// The number of an I/O error in the protocol.
const EIO: u32 = 5;
const PAGE: u64 = 4096;

fn served(faults: &[&str], seed: u64) -> Served {
    let data = ExportData::memory(SIZE, CACHE, seed).unwrap();
    Served::new(Wanted { faults, data: Some(data), seed: Some(seed), ..Wanted::default() })
}

fn used(served: &Served) -> FaultImpact {
    served.session().figures().sample.faults[0].clone()
}

/// Returns content of a page that is unique to `value`.
fn page_of(value: u64) -> Vec<u8> {
    value.to_le_bytes().repeat(PAGE as usize / 8)
}

/// Writes unique content to each of these pages.
fn fill(client: &mut NbdClient, pages: std::ops::Range<u64>) {
    for page in pages {
        client.write(page * PAGE, &page_of(page + 1), false).unwrap().unwrap();
    }
}

fn read(client: &mut NbdClient, page: u64) -> Vec<u8> {
    client.read(page * PAGE, PAGE as u32).unwrap().unwrap()
}

/// Checks that `count`, the number of events among `all` independent events with this probability, is within four
/// standard deviations of its mean.
#[track_caller]
fn is_share(count: u64, all: u64, probability: f64) {
    let expected = all as f64 * probability;
    let bound = 4.0 * (expected * (1.0 - probability)).sqrt() + 0.5;
    assert!((count as f64 - expected).abs() < bound, "{count} for {expected} +/- {bound}");
}

#[test]
fn a_share_of_the_reads_fails_and_a_seed_fails_the_same_ones() {
    let failed = |seed| -> Vec<u64> {
        let served = served(&["media-error share=10% recovery=1us"], seed);
        let mut client = served.connect();
        let mut fails = |page: &u64| {
            let answer = client.read(page % 100 * PAGE, 512).unwrap();
            assert!(answer.is_ok() || answer == Err(EIO));
            answer.is_err()
        };
        let failed: Vec<u64> = (0..600).filter(|page| fails(page)).collect();
        assert_eq!(used(&served).failed, failed.len() as u64);
        failed
    };
    let one = failed(7);
    is_share(one.len() as u64, 600, 0.1);
    assert_eq!(one, failed(7));
    assert_ne!(one, failed(8));
}

#[test]
fn a_share_of_the_writes_is_slow() {
    let served = served(&["latency extra=20ms share=10%"], 3);
    let mut client = served.connect();
    let slow = |page: &u64, client: &mut NbdClient| {
        let began = Instant::now();
        client.write(page * PAGE, &[1; 512], false).unwrap().unwrap();
        began.elapsed() >= Duration::from_millis(20)
    };
    let count = (0..300).filter(|page| slow(page, &mut client)).count() as u64;
    let held = used(&served).held;
    is_share(held, 300, 0.1);
    // Other work on this machine may delay replies, but no reply is early.
    assert!(count >= held && count < 200, "{count} for {held}");
}

#[test]
fn a_rewritten_bad_range_can_be_read() {
    let served = served(&["media-error range=64KiB..128KiB recovery=1us heal=write at=1us"], 1);
    let mut client = served.connect();
    std::thread::sleep(Duration::from_millis(1));
    let good: BTreeSet<u64> = [17, 20, 21, 31].into();
    for page in &good {
        assert_eq!(client.read(page * PAGE, 512).unwrap(), Err(EIO));
        fill(&mut client, *page..page + 1);
    }
    // After a trim, or a write of a part of a page, the page is still bad.
    client.trim(18 * PAGE, PAGE as u32).unwrap().unwrap();
    client.write(19 * PAGE, &[1; 512], false).unwrap().unwrap();
    for page in 14..34 {
        let answer = client.read(page * PAGE, PAGE as u32).unwrap();
        if good.contains(&page) {
            assert_eq!(answer, Ok(page_of(page + 1)));
        } else if (16..32).contains(&page) {
            assert_eq!(answer, Err(EIO), "{page}");
        } else {
            assert_eq!(answer, Ok(vec![0; PAGE as usize]));
        }
    }
    assert_eq!(client.read(19 * PAGE, 512).unwrap(), Ok(vec![1; 512]));
}

#[test]
fn a_range_that_cannot_be_written_keeps_its_data() {
    let served = served(&[], 1);
    let mut client = served.connect();
    fill(&mut client, 0..64);
    let fault = "write-error range=64KiB..128KiB recovery=1us";
    served.session().add_fault(fault.parse().unwrap()).unwrap();
    for page in 0..64 {
        let answer = client.write(page * PAGE, &[9; PAGE as usize], false).unwrap();
        let is_bad = (16..32).contains(&page);
        assert_eq!(answer, if is_bad { Err(EIO) } else { Ok(()) }, "{page}");
        let expected = if is_bad { page_of(page + 1) } else { vec![9; PAGE as usize] };
        assert_eq!(read(&mut client, page), expected);
    }
    assert_eq!(used(&served).failed, 16);
}

/// Writes pages, flushes them, and cuts the power. Returns the number of pages that are lost completely or in part.
fn lost_after_flush(faults: &[&str], seed: u64) -> u64 {
    let served = served(faults, seed);
    let mut client = served.connect();
    fill(&mut client, 0..100);
    client.flush().unwrap().unwrap();
    served.session().add_fault("power-cut at=0s boot=1ms".parse().unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    (0..100).filter(|page| read(&mut client, *page) != page_of(page + 1)).count() as u64
}

#[test]
fn a_power_cut_after_a_lying_flush_loses_acknowledged_data() {
    let mut lost = 0;
    for seed in 0..5 {
        assert_eq!(lost_after_flush(&[], seed), 0);
        lost += lost_after_flush(&["lying-flush"], seed);
    }
    // A third of the writes are lost, and nearly all of another third are torn.
    assert!((250..420).contains(&lost), "{lost} of 500");
}

/// After a power cut that lost writes, a flush of each client fails once, whether or not the client had a request in
/// flight. A client that connects after the cut receives no error.
#[test]
fn every_client_learns_of_lost_writes_from_its_first_flush() {
    let served = served(&[], 1);
    let mut clients = [served.connect(), served.connect()];
    for client in &mut clients {
        client.flush().unwrap().unwrap();
    }
    fill(&mut clients[0], 0..100);
    served.session().add_fault("power-cut at=0s boot=1ms".parse().unwrap()).unwrap();
    while served.session().figures().lost.is_empty() {
        std::thread::yield_now();
    }
    let mut late = served.connect();
    for client in &mut clients {
        assert_eq!(client.write(0, &[1; 512], true).unwrap(), Ok(()));
        assert_eq!([client.flush().unwrap(), client.flush().unwrap()], [Err(EIO), Ok(())]);
    }
    assert_eq!(late.flush().unwrap(), Ok(()));
}

#[test]
fn a_write_with_forced_unit_access_is_a_lie_too() {
    let mut lost = 0;
    for seed in 0..20 {
        let served = served(&["lying-flush"], seed);
        let mut client = served.connect();
        client.write(0, &page_of(1), true).unwrap().unwrap();
        served.session().add_fault("power-cut at=0s boot=1ms".parse().unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        lost += u32::from(read(&mut client, 0) != page_of(1));
        assert_eq!(used(&served).silent, 1);
    }
    assert!((6..20).contains(&lost), "{lost} of 20");
}

#[test]
fn reads_have_as_many_wrong_bits_as_the_fault_says_and_the_data_stays_right() {
    let served = served(&["bit-flips share=20% bits=3 range=0B..1MiB"], 5);
    let mut client = served.connect();
    fill(&mut client, 0..300);
    let wrong = |client: &mut NbdClient, page: u64| -> u32 {
        let bytes = read(client, page);
        let expected = page_of(page + 1);
        bytes.iter().zip(&expected).map(|(one, other)| (one ^ other).count_ones()).sum()
    };
    let mut count = 0;
    for page in 0..300 {
        let bits = wrong(&mut client, page);
        assert!(bits == 0 || bits == 3 && page < 256, "{bits} in {page}");
        count += u64::from(bits > 0);
    }
    is_share(count, 256, 0.2);
    let used = used(&served);
    assert_eq!((used.silent, used.failed, used.held), (count, 0, 0));
    served.session().clear_fault(0).unwrap();
    assert!((0..300).all(|page| wrong(&mut client, page) == 0));
}

#[test]
fn lost_writes_leave_the_former_data() {
    let served = served(&["lost-write share=20%"], 6);
    let mut client = served.connect();
    fill(&mut client, 0..300);
    let mut count = 0;
    for page in 0..300 {
        let bytes = read(&mut client, page);
        let is_lost = bytes == [0; PAGE as usize];
        assert!(is_lost || bytes == page_of(page + 1));
        count += u64::from(is_lost);
    }
    is_share(count, 300, 0.2);
    assert_eq!(used(&served).silent, count);
    // Written zeroes are also lost.
    served.session().add_fault("lost-write share=100%".parse().unwrap()).unwrap();
    let kept = (0..300).find(|page| read(&mut client, *page) == page_of(page + 1)).unwrap();
    client.zero(kept * PAGE, PAGE as u32, false).unwrap().unwrap();
    client.write(kept * PAGE, &vec![3; 2 << 20], true).unwrap().unwrap();
    assert_eq!(read(&mut client, kept), page_of(kept + 1));
}

#[test]
fn misdirected_writes_are_at_another_offset() {
    let served = served(&["misdirected-write range=16MiB..17MiB"], 7);
    let mut client = served.connect();
    let written: BTreeSet<u64> = (4096..4116).collect();
    fill(&mut client, 4096..4116);
    assert_eq!(used(&served).silent, 20);
    let mut elsewhere = BTreeSet::new();
    for page in 0..SIZE / PAGE {
        let bytes = read(&mut client, page);
        let value = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        assert_eq!(bytes, page_of(value));
        if value > 0 {
            assert_ne!(value, page + 1, "a write is at its own offset");
            elsewhere.insert(value - 1);
        }
    }
    // Later writes may replace earlier writes.
    assert!(elsewhere.is_subset(&written) && elsewhere.len() >= 18, "{elsewhere:?}");
}

#[test]
fn faults_are_listed_cleared_and_changed_while_the_system_is_served() {
    let served = served(&["read-only at=1us"], 1);
    let mut client = served.connect();
    let session = served.session();
    std::thread::sleep(Duration::from_millis(1));
    assert_eq!(client.write(0, &[1; 512], false).unwrap(), Err(1));
    assert_eq!(client.read(0, 512).unwrap(), Ok(vec![0; 512]));
    let states = session.faults().unwrap();
    assert_eq!((states.len(), states[0].phase), (1, FaultPhase::Active));
    assert_eq!(states[0].effect.failed, 1);
    session.clear_fault(0).unwrap();
    client.write(0, &[1; 512], false).unwrap().unwrap();
    assert_eq!(session.clear_fault(0), Err("the fault is already over".to_owned()));
    assert_eq!(session.clear_fault(1), Err("no fault has this number".to_owned()));

    let bad = |range: &str| format!("media-error range={range} recovery=1us").parse().unwrap();
    assert_eq!(session.add_fault(bad("0B..4KiB")), Ok(1));
    assert_eq!(client.read(0, 512).unwrap(), Err(EIO));
    assert_eq!(session.change_fault(1, bad("4KiB..8KiB")), Ok(2));
    assert!(client.read(0, 512).unwrap().is_ok());
    assert_eq!(client.read(PAGE, 512).unwrap(), Err(EIO));
    // A fault that the system does not support is rejected and changes nothing.
    assert!(session.change_fault(2, bad("1TiB..2TiB")).unwrap_err().contains("the drive ends at"));
    assert_eq!(client.read(PAGE, 512).unwrap(), Err(EIO));
    assert!(session.change_fault(1, bad("0B..4KiB")).unwrap_err().contains("already over"));

    // A power cut that is cleared before it begins never occurs.
    let cut = session.add_fault("power-cut at=1500ms boot=10s".parse().unwrap()).unwrap();
    assert_eq!(session.faults().unwrap()[usize::from(cut)].phase, FaultPhase::Pending);
    session.clear_fault(cut).unwrap();
    std::thread::sleep(Duration::from_millis(1_600));
    assert!(client.read(0, 512).unwrap().is_ok());
    assert!(session.figures().lost.is_empty());
    let cut = session.add_fault("power-cut boot=10s".parse().unwrap()).unwrap();
    assert!(session.clear_fault(cut).unwrap_err().contains("returns after `boot`"));
}
