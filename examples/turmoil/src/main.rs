//! A server on a simulated network (turmoil) and a simulated drive (Lanemark), both deterministic.
//!
//! The server appends each number that a client sends to a log on its drive, flushes the drive, and acknowledges the
//! number. A crash of the server cuts the power of its drive. After the restart, the server reads its log and must know
//! every acknowledged number. `--no-flush` makes the server forget the flush, and the program finds the loss.
//!
//! turmoil's clock advances in ticks of a millisecond, and tokio's timers have the same resolution. A request therefore
//! completes in the first tick after its modelled instant, never before it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time;

use lanemark_sim::virtual_drive::{
    Bytes, DriveCompletion, DriveRequest, Duration, Instant, SystemSpec, VirtualDrive,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use turmoil::net::{TcpListener, TcpStream};

const PORT: u16 = 7_000;
/// Length of a record in the log: one sector, with the number in its first eight bytes.
const RECORD: Bytes = Bytes(512);
const RECORDS_MAX: u64 = 256;
const BOOT: Duration = Duration::from_microseconds(10_000);

/// The server's drive, which outlives the server's process.
#[derive(Clone)]
struct ServerDrive(Arc<Mutex<DriveState>>);

struct DriveState {
    drive: VirtualDrive,
    completions: BTreeMap<u64, DriveCompletion>,
}

impl ServerDrive {
    fn new(seed: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let drive = VirtualDrive::new(&SystemSpec::example().checked()?, seed)?;
        Ok(Self(Arc::new(Mutex::new(DriveState { drive, completions: BTreeMap::new() }))))
    }

    /// Performs a request in the simulation's time.
    async fn request(&self, request: DriveRequest) -> io::Result<Vec<u8>> {
        let number = self.with(|state| state.drive.submit(now(), request));
        let number = number.map_err(io::Error::other)?;
        loop {
            let wake = self.with(|state| {
                while let Some(completion) = state.drive.advance_until(now()) {
                    state.completions.insert(completion.number, completion);
                }
                let next = state.drive.next_at();
                state.completions.remove(&number).ok_or(next)
            });
            match wake {
                Ok(completion) => {
                    return completion.data.map_err(|kind| io::Error::other(format!("{kind:?}")));
                }
                Err(next) => {
                    let wait = next.map_or(Duration::ZERO, |next| next.since_or_zero(now()));
                    // At least one tick.
                    let wait = time::Duration::from_nanos(wait.nanoseconds().max(1));
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    fn cut_power(&self, at: Instant) {
        self.with(|state| {
            state.drive.cut_power(at, BOOT).expect("the drive supports power cuts");
            state.completions.clear();
        });
    }

    fn with<T>(&self, action: impl FnOnce(&mut DriveState) -> T) -> T {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the simulated time.
fn now() -> Instant {
    let elapsed = turmoil::sim_elapsed().unwrap_or_default().as_nanos();
    Instant::ZERO + Duration::from_nanoseconds(u64::try_from(elapsed).unwrap_or(u64::MAX / 1_000))
}

/// Reads the log, then accepts one connection after another. A client sends a number, or 0 to request the last number.
async fn serve(drive: ServerDrive, flushes: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut last = 0;
    for record in 0..RECORDS_MAX {
        let read = DriveRequest::Read { offset: RECORD * record, length: RECORD };
        let bytes = drive.request(read).await?;
        let number = u64::from_le_bytes(bytes[..8].try_into()?);
        if number != record + 1 {
            break;
        }
        last = number;
    }
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (mut client, _) = listener.accept().await?;
        while let Ok(number) = client.read_u64().await {
            if number > 0 {
                let mut data = vec![0; RECORD.get() as usize];
                data[..8].copy_from_slice(&number.to_le_bytes());
                drive.request(DriveRequest::Write { offset: RECORD * (number - 1), data }).await?;
                if flushes {
                    drive.request(DriveRequest::Flush).await?;
                }
                last = number;
            }
            if client.write_u64(last).await.is_err() {
                break;
            }
        }
    }
}

/// The last acknowledged number, and the last number that the server knows after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CrashOutcome {
    acknowledged: u64,
    recovered: u64,
}

/// Sends numbers until the server crashes, and then requests the last number from the restarted server.
async fn send(outcome: Arc<Mutex<CrashOutcome>>) -> Result<(), Box<dyn std::error::Error>> {
    let record = |change: &dyn Fn(&mut CrashOutcome)| {
        change(&mut outcome.lock().unwrap_or_else(PoisonError::into_inner));
    };
    let mut server = connect().await;
    for number in 1..=RECORDS_MAX {
        let sent = server.write_u64(number).await;
        let answer = if sent.is_ok() { server.read_u64().await } else { break };
        let Ok(answer) = answer else { break };
        record(&|outcome| outcome.acknowledged = answer);
    }
    let mut server = connect().await;
    server.write_u64(0).await?;
    let answer = server.read_u64().await?;
    record(&|outcome| outcome.recovered = answer);
    Ok(())
}

/// Connects to the server, again and again until it listens.
async fn connect() -> TcpStream {
    loop {
        if let Ok(stream) = TcpStream::connect(("server", PORT)).await {
            return stream;
        }
        tokio::time::sleep(time::Duration::from_millis(20)).await;
    }
}

/// Runs the server and its client, with a crash and a power cut at a time that the seed determines.
fn crash(seed: u64, flushes: bool) -> Result<CrashOutcome, Box<dyn std::error::Error>> {
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .simulation_duration(time::Duration::from_secs(30))
        .build();
    let drive = ServerDrive::new(seed)?;
    let outcome = Arc::new(Mutex::new(CrashOutcome { acknowledged: 0, recovered: 0 }));
    let server = drive.clone();
    sim.host("server", move || serve(server.clone(), flushes));
    sim.client("client", send(Arc::clone(&outcome)));
    let crash_at = time::Duration::from_millis(500 + seed * 37 % 700);
    let mut crashed = false;
    while !sim.step()? {
        if !crashed && sim.elapsed() >= crash_at {
            crashed = true;
            sim.crash("server");
            let at = Duration::from_nanoseconds(sim.elapsed().as_nanos() as u64);
            drive.cut_power(Instant::ZERO + at);
            sim.bounce("server");
        }
    }
    let outcome = *outcome.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(outcome)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flushes = std::env::args().all(|argument| argument != "--no-flush");
    let mut lost = 0;
    for seed in 0..50 {
        let outcome = crash(seed, flushes)?;
        if outcome.recovered < outcome.acknowledged {
            lost += 1;
            println!("seed {seed}: {outcome:?}");
        }
    }
    println!("{lost} of 50 crashes lost acknowledged numbers");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledged_numbers_survive_only_with_a_flush() {
        let outcomes = |flushes| (0..20).map(move |seed| crash(seed, flushes).unwrap());
        assert!(outcomes(true).all(|one| one.acknowledged > 5 && one.recovered >= one.acknowledged));
        assert!(outcomes(false).any(|one| one.recovered < one.acknowledged));
    }

    #[test]
    fn a_seed_always_gives_the_same_outcome() {
        assert_eq!(crash(3, false).unwrap(), crash(3, false).unwrap());
    }
}
