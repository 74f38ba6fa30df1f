//! An `async` file on a virtual drive, under a log that must survive power cuts.
//!
//! Four writers append records to the log in parallel, and sync it after every eighth record. A power cut stops them at
//! a random time: it loses or tears records that no sync covered. The recovery then reads the log up to the first
//! incomplete record, and must find every record that was synced. The example repeats this with a writer that forgets
//! to sync, which loses records. Run it with `cargo run --release -p lanemark-sim --example async_file`.
//!
//! The executor is forty lines: when no task can continue, it advances the drive to its next completion.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use lanemark_sim::virtual_drive::{
    Bytes, DriveCompletion, DriveRequest, Duration, ErrorKind, Instant, SystemSpec, VirtualDrive,
};

/// Size of a record. A record fills eight sectors, so a power cut can tear it.
const RECORD: Bytes = Bytes::kibi(4);
/// Number of records that fit on the drive. The power is cut long before the log is full.
const RECORDS: u64 = 16_384;
const WRITERS: u64 = 4;

/// The drive, and the completions that no task has taken yet.
struct DriveState {
    drive: VirtualDrive,
    completions: BTreeMap<u64, DriveCompletion>,
}

/// A file that covers the whole drive.
#[derive(Clone)]
struct FakeFile(Rc<RefCell<DriveState>>);

impl FakeFile {
    fn open(drive: VirtualDrive) -> Self {
        Self(Rc::new(RefCell::new(DriveState { drive, completions: BTreeMap::new() })))
    }

    async fn write_at(&self, offset: Bytes, data: Vec<u8>) -> Result<(), ErrorKind> {
        self.request(DriveRequest::Write { offset, data }).await.map(|_| ())
    }

    async fn read_at(&self, offset: Bytes, length: Bytes) -> Result<Vec<u8>, ErrorKind> {
        self.request(DriveRequest::Read { offset, length }).await
    }

    async fn sync(&self) -> Result<(), ErrorKind> {
        self.request(DriveRequest::Flush).await.map(|_| ())
    }

    async fn request(&self, request: DriveRequest) -> Result<Vec<u8>, ErrorKind> {
        let number = {
            let mut state = self.0.borrow_mut();
            let now = state.drive.now();
            state.drive.submit(now, request).map_err(|_| ErrorKind::Other)?
        };
        let state = Rc::clone(&self.0);
        let completion =
            std::future::poll_fn(move |_| match state.borrow_mut().completions.remove(&number) {
                Some(completion) => Poll::Ready(completion),
                None => Poll::Pending,
            });
        completion.await.data
    }

    /// Runs all tasks to their ends, in simulated time.
    fn run(&self, mut tasks: Vec<Pin<Box<dyn Future<Output = ()>>>>) {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            if tasks.is_empty() {
                return;
            }
            let mut state = self.0.borrow_mut();
            let completion = state.drive.advance_until(Instant::END);
            let completion = completion.expect("every task waits for a request");
            state.completions.insert(completion.number, completion);
        }
    }
}

/// Returns a record: its number, and bytes that only this record contains.
fn record(number: u64) -> Vec<u8> {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(RECORD.get() as usize / 8)
}

/// The records that a power cut left.
#[derive(Debug, PartialEq, Eq)]
struct CutOutcome {
    /// Number of records that were synced before the cut.
    synced: u64,
    /// Number of complete records from the start of the log.
    recovered: u64,
    /// Number of records that the cut stored only in part.
    torn: u64,
}

/// Writes the log until the power is cut, and recovers it. `syncs` states whether the writers sync the log before they
/// report that records are safe.
fn write_until_cut(seed: u64, syncs: bool) -> Result<CutOutcome, Box<dyn std::error::Error>> {
    let mut drive = VirtualDrive::new(&SystemSpec::example().checked()?, seed)?;
    let cut = Instant::ZERO + Duration::from_microseconds(1_000 + seed * 997 % 40_000);
    drive
        .cut_power(cut, Duration::from_microseconds(500))
        .map_err(|errors| format!("{errors:?}"))?;
    let file = FakeFile::open(drive);
    let safe = Rc::new(RefCell::new(BTreeMap::new()));
    let writer = |writer: u64| -> Pin<Box<dyn Future<Output = ()>>> {
        let file = file.clone();
        let safe = Rc::clone(&safe);
        Box::pin(async move {
            let mut unsynced = Vec::new();
            for number in (writer..RECORDS).step_by(WRITERS as usize) {
                if file.write_at(RECORD * number, record(number)).await.is_err() {
                    return;
                }
                unsynced.push(number);
                if unsynced.len() == 8 {
                    if syncs && file.sync().await.is_err() {
                        return;
                    }
                    safe.borrow_mut().extend(unsynced.drain(..).map(|number| (number, ())));
                }
            }
        })
    };
    file.run((0..WRITERS).map(writer).collect());
    let recovered = Rc::new(RefCell::new(0));
    let recovery: Pin<Box<dyn Future<Output = ()>>> = Box::pin({
        let file = file.clone();
        let recovered = Rc::clone(&recovered);
        async move {
            for number in 0..RECORDS {
                let read = file.read_at(RECORD * number, RECORD).await;
                if read.as_ref() != Ok(&record(number)) {
                    return;
                }
                *recovered.borrow_mut() += 1;
            }
        }
    });
    file.run(vec![recovery]);
    let torn = file.0.borrow().drive.power_cuts().iter().map(|loss| loss.torn).sum();
    let synced = (0..).take_while(|number| safe.borrow().contains_key(number)).count() as u64;
    let recovered = *recovered.borrow();
    Ok(CutOutcome { synced, recovered, torn })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for syncs in [true, false] {
        let mut lossy_cuts = 0;
        let mut torn = 0;
        for seed in 0..50 {
            let outcome = write_until_cut(seed, syncs)?;
            lossy_cuts += u64::from(outcome.recovered < outcome.synced);
            torn += outcome.torn;
        }
        let writer = if syncs { "with sync" } else { "without sync" };
        println!("{writer}: {lossy_cuts} of 50 power cuts lost safe records; {torn} torn records");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synced_records_survive_and_unsynced_records_do_not() {
        let lossy = |syncs| {
            let outcomes = (0..20).map(|seed| write_until_cut(seed, syncs).unwrap());
            outcomes.filter(|outcome| outcome.recovered < outcome.synced).count()
        };
        assert_eq!(lossy(true), 0);
        assert!(lossy(false) > 5);
        assert_eq!(write_until_cut(3, true).unwrap(), write_until_cut(3, true).unwrap());
    }

    #[test]
    fn it_runs() {
        main().unwrap();
    }
}
