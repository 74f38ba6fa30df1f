//! Clients that write to an export until it fails, and record each answer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_testbed::NbdClient;

use super::ledger::{Content, Ledger, SECTOR, SectorWrite};

/// Number of clients. All but the last share the first half of the export in alternating runs of three sectors, so that
/// the blocks of an overlay contain the sectors of several clients. The last client has the second half.
const CLIENTS: u64 = 3;
/// Length of the runs of sectors in the first half.
const RUN: u64 = 3;

/// State of all clients: the number of the next write, and a clock that orders submissions and answers.
#[derive(Debug, Default)]
pub(super) struct Shared {
    next_write: AtomicU64,
    clock: AtomicU64,
    pub(super) stop: AtomicBool,
}

impl Shared {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// The events of one client, in order.
#[derive(Debug, Default)]
struct Recorded {
    writes: Vec<(u64, SectorWrite)>,
    flushes: Vec<u64>,
    acknowledged: u64,
}

/// Ends the clients when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Writes to the export at `socket` until the connections fail or `shared.stop` is set, and adds all events to
/// `ledger`. `during` runs at the same time. Returns the number of acknowledged writes.
pub(super) fn write_during(
    socket: &Path,
    shared: &Shared,
    ledger: &mut Ledger,
    seed: u64,
    during: impl FnOnce(),
) -> u64 {
    shared.stop.store(false, Ordering::SeqCst);
    let recorded: Vec<Recorded> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = NbdClient::connect(socket).unwrap();
                let random = Rng::new(StreamKey::from_seed(seed * CLIENTS + number));
                scope.spawn(move || write_until_stopped(client, number, random, shared))
            })
            .collect();
        // The clients also end if `during` panics.
        let stop = StopOnDrop(&shared.stop);
        during();
        drop(stop);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for (sector, write) in recorded.iter().flat_map(|recorded| &recorded.writes) {
        ledger.add(*sector, *write);
    }
    recorded.iter().flat_map(|recorded| &recorded.flushes).for_each(|at| ledger.add_flush(*at));
    recorded.iter().map(|recorded| recorded.acknowledged).sum()
}

/// Returns a random range of sectors that belongs to client `number`.
fn draw_range(random: &mut Rng, number: u64, sectors: u64) -> (u64, u64) {
    let half = sectors / 2;
    if number == CLIENTS - 1 {
        let length = 1 + random.below(64);
        return (half + random.below(sectors - half - length), length);
    }
    let turns = half / (RUN * (CLIENTS - 1));
    let first = (random.below(turns) * (CLIENTS - 1) + number) * RUN;
    let skipped = random.below(RUN);
    (first + skipped, 1 + random.below(RUN - skipped))
}

fn write_until_stopped(
    mut client: NbdClient,
    number: u64,
    mut random: Rng,
    shared: &Shared,
) -> Recorded {
    let mut recorded = Recorded::default();
    while !shared.stop.load(Ordering::SeqCst) {
        if random.chance(0.03) {
            let submitted = shared.tick();
            match client.flush() {
                Ok(Ok(())) => recorded.flushes.push(submitted),
                Ok(Err(_)) => {}
                Err(_) => break,
            }
            continue;
        }
        let (first, length) = draw_range(&mut random, number, client.size / SECTOR as u64);
        let offset = first * SECTOR as u64;
        let write = 1 + shared.next_write.fetch_add(1, Ordering::SeqCst);
        let is_zero = random.chance(0.04);
        let is_stored = !is_zero && random.chance(0.03);
        let content = if is_zero { Content::Zeros } else { Content::Of(write) };
        let answer = if is_zero {
            client.zero(offset, (length * SECTOR as u64) as u32, random.chance(0.5))
        } else {
            let bytes: Vec<u8> =
                (first..first + length).flat_map(|sector| content.bytes(sector)).collect();
            client.write(offset, &bytes, is_stored)
        };
        let acknowledged = matches!(answer, Ok(Ok(()))).then(|| shared.tick());
        recorded.acknowledged += u64::from(acknowledged.is_some());
        for sector in first..first + length {
            recorded.writes.push((sector, SectorWrite { content, acknowledged, is_stored }));
        }
        if answer.is_err() {
            break;
        }
    }
    recorded
}

pub(super) fn read_export(socket: &Path) -> Vec<u8> {
    let mut client = NbdClient::connect(socket).unwrap();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < client.size {
        let length = (client.size - bytes.len() as u64).min(1 << 20) as u32;
        bytes.extend(client.read(bytes.len() as u64, length).unwrap().unwrap());
    }
    bytes
}
