//! A self-test before a session: the rate that this machine can serve, and the time that it adds to a request.
//!
//! A client in this process reads random pages through a socket, served by the same code as in every session:
//! connection, engine and data. The self-test uses a separate copy of the modelled system and a few MiB of zeroes, so
//! the state of the served drive does not change.
//!
//! | trial | purpose |
//! |---|---|
//! | a thousand times as fast, queue depth 1 | the shortest round trip |
//! | a thousand times as fast, queue depth 32 | requests a second, limited only by this machine |
//! | as it will be served, queue depth 1 | time outside the server, including the wake-ups of both sides |
//!
//! In the first trial, the model uses its usual processor time, but its latencies take hardly any wall-clock time. The
//! time outside the server is the median round trip minus the median delivered latency.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanemark_schema::result::{LatencyHistogram, LiveDelivery};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{self, Bytes};
use lanemark_sim::spec::{CheckedSystem, WriteCacheMode};

use crate::clients::ConnectionRegistry;
use crate::clock::TimeScale;
use crate::data::{DriveCache, ExportData};
use crate::needs::DriveNeeds;
use crate::server;
use crate::session::{Session, SessionPlan, StartContent};
use crate::socket::Socket;

/// Size of the data, in bytes.
const SIZE: u64 = 16 << 20;
/// Size of a request, in bytes.
const PAGE: u32 = 4096;
/// Number of outstanding requests in the trial that measures the rate.
const DEPTH: u64 = 32;
const TRIAL: Duration = Duration::from_millis(300);
/// Interval over which a rate is measured; the maximum over all intervals is used.
const SLICE: Duration = Duration::from_millis(50);
/// Time without a reply after which the self-test fails.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum modelled latency, in wall-clock time, at which the machine's own time is measured; for longer latencies this
/// time does not matter.
const LATENCY_MAX: Duration = Duration::from_millis(1);
/// Share of the measured rate that is assumed to remain next to other programs.
const MARGIN: f64 = 0.8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineSpeed {
    /// 4 KiB requests a second.
    pub rate: f64,
    /// The shortest round trip.
    pub round_trip: units::Duration,
    /// Median time of a request outside the server.
    pub client: units::Duration,
    /// Median time of a request in the server, in addition to the modelled time.
    pub late: units::Duration,
}

impl MachineSpeed {
    /// Measures this machine with a copy of `system`, over TCP or a Unix socket.
    ///
    /// # Errors
    /// Returns an error if a socket or thread cannot be created, or if the server of a trial does not answer.
    pub fn measure(
        system: &CheckedSystem,
        needs: &DriveNeeds,
        scale: TimeScale,
        over_tcp: bool,
    ) -> io::Result<Self> {
        let fast = TimeScale::FASTEST;
        let single = SpeedTrial::start(system, fast, over_tcp)?.run(1)?;
        let result_at_depth = SpeedTrial::start(system, fast, over_tcp)?.run(DEPTH)?;
        let ns = |latency: &LatencyHistogram, percentile| latency.percentile_ns(percentile);
        let round_trip = single.round_trips.min_ns().unwrap_or(0);
        let latency = needs.latency.as_seconds() * scale.factor();
        let timed = if latency <= LATENCY_MAX.as_secs_f64() {
            SpeedTrial::start(system, scale, over_tcp)?.run(1)?
        } else {
            single
        };
        let trip = ns(&timed.round_trips, 50.0).unwrap_or(0);
        let delivered =
            timed.live.as_ref().and_then(|live| ns(&live.delivered(), 50.0)).unwrap_or(0);
        let late = timed.live.as_ref().and_then(|live| ns(&live.lateness, 50.0)).unwrap_or(0);
        Ok(Self {
            rate: result_at_depth.rate,
            round_trip: units::Duration::from_nanoseconds(round_trip),
            client: units::Duration::from_nanoseconds(trip.saturating_sub(delivered)),
            late: units::Duration::from_nanoseconds(late),
        })
    }

    /// Returns the smallest whole time scale at which this machine serves a drive with these `needs` within `deviation`
    /// of its rate and latency.
    pub fn scale_for(&self, needs: &DriveNeeds, deviation: f64) -> u32 {
        let by_rate = needs.rate / (self.rate * MARGIN).max(1.0);
        let added = (self.client + self.late).as_seconds();
        let latency = needs.latency.as_seconds();
        let host = needs.host.as_seconds();
        let by_latency = added / (deviation * (latency + host) + host).max(1e-9);
        by_rate.max(by_latency).ceil().clamp(1.0, 1e5) as u32
    }
}

/// A session with a copy of the system and one client.
struct SpeedTrial {
    session: Session,
    clients: Arc<ConnectionRegistry>,
    client: TestClient,
}

/// The outcome of a trial.
struct SpeedTrialResult {
    rate: f64,
    round_trips: LatencyHistogram,
    live: Option<LiveDelivery>,
}

impl SpeedTrial {
    fn start(system: &CheckedSystem, scale: TimeScale, over_tcp: bool) -> io::Result<Self> {
        let cache = DriveCache { kind: WriteCacheMode::Protected, size: 0 };
        let session = Session::start(SessionPlan {
            system,
            faults: &[],
            description: "self-test".to_owned(),
            data: ExportData::memory(SIZE, cache, 1)?,
            content: StartContent { written_bytes: Bytes(SIZE), is_just_written: true },
            endpoint: None,
            scale,
            seed: 1,
            outside: None,
            has_latency: true,
        })?;
        let (own, other) = pair(over_tcp)?;
        let clients: Arc<ConnectionRegistry> = Arc::default();
        server::serve_plain_client(other, &clients, session.shared())?;
        let client = TestClient::connect(own)?;
        Ok(Self { session, clients, client })
    }

    /// Reads for the duration of a trial with `depth` requests outstanding.
    fn run(mut self, depth: u64) -> io::Result<SpeedTrialResult> {
        let outcome = self.client.load(depth);
        self.clients.end();
        let (figures, _) = self.session.end();
        let (rate, round_trips) = outcome?;
        Ok(SpeedTrialResult { rate, round_trips, live: figures.sample.live })
    }
}

/// Returns both ends of a connection.
fn pair(over_tcp: bool) -> io::Result<(Socket, Socket)> {
    if !over_tcp {
        let (own, other) = UnixStream::pair()?;
        return Ok((Socket::Unix(own), Socket::Unix(other)));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let own = TcpStream::connect(listener.local_addr()?)?;
    // Another process may have connected first.
    loop {
        let (other, from) = listener.accept()?;
        if from == own.local_addr()? {
            own.set_nodelay(true)?;
            other.set_nodelay(true)?;
            return Ok((Socket::Tcp(own), Socket::Tcp(other)));
        }
    }
}

/// A client that reads pages and discards them.
struct TestClient {
    socket: Socket,
    bytes: Vec<u8>,
    pages: Rng,
}

impl TestClient {
    /// Negotiates the default export, with simple replies.
    fn connect(socket: Socket) -> io::Result<Self> {
        socket.set_time_out(Some(PATIENCE))?;
        let pages = Rng::new(StreamKey::from_seed(1));
        let mut client = Self { socket, bytes: vec![0; 16 + PAGE as usize], pages };
        // The server sends its greeting.
        client.receive(18)?;
        let mut hello = 3u32.to_be_bytes().to_vec();
        hello.extend_from_slice(b"IHAVEOPT");
        hello.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0]);
        client.socket.send_all(&hello)?;
        // The server sends the length and flags of the export.
        client.receive(10)?;
        Ok(client)
    }

    /// Keeps `depth` requests outstanding for the duration of a trial. Returns the rate and the round trips.
    fn load(&mut self, depth: u64) -> io::Result<(f64, LatencyHistogram)> {
        let mut round_trips = LatencyHistogram::new();
        let mut sent: Vec<Instant> = Vec::new();
        for cookie in 0..depth {
            sent.push(Instant::now());
            self.send(cookie)?;
        }
        let began = Instant::now();
        let mut slice = began;
        let mut answers = 0u32;
        let mut rate = 0.0f64;
        while began.elapsed() < TRIAL {
            let cookie = self.answer()?;
            let now = Instant::now();
            if let Some(sent) = sent.get_mut(cookie as usize) {
                let trip = now.duration_since(*sent).as_nanos();
                round_trips.record_ns(u64::try_from(trip).unwrap_or(u64::MAX));
                *sent = now;
            }
            answers += 1;
            let elapsed = now.duration_since(slice);
            if elapsed >= SLICE {
                rate = rate.max(f64::from(answers) / elapsed.as_secs_f64());
                (slice, answers) = (now, 0);
            }
            self.send(cookie)?;
        }
        for _ in 0..depth {
            self.answer()?;
        }
        Ok((rate, round_trips))
    }

    fn send(&mut self, cookie: u64) -> io::Result<()> {
        let offset = page_offset(&mut self.pages);
        let mut request = Vec::with_capacity(28);
        request.extend_from_slice(&0x2560_9513_u32.to_be_bytes());
        request.extend_from_slice(&[0; 4]);
        request.extend_from_slice(&cookie.to_be_bytes());
        request.extend_from_slice(&offset.to_be_bytes());
        request.extend_from_slice(&PAGE.to_be_bytes());
        Ok(self.socket.send_all(&request)?)
    }

    /// Reads a reply with its page, and returns its cookie.
    fn answer(&mut self) -> io::Result<u64> {
        self.receive(16)?;
        let error = self.bytes.get(4..8).is_some_and(|error| error != [0; 4]);
        let cookie = self.bytes.get(8..16).and_then(|bytes| bytes.try_into().ok());
        match (error, cookie.map(u64::from_be_bytes)) {
            (false, Some(cookie)) => {
                self.receive(PAGE as usize)?;
                Ok(cookie)
            }
            _ => Err(io::Error::other("the self-test's server answered with an error")),
        }
    }

    fn receive(&mut self, length: usize) -> io::Result<()> {
        let mut filled = 0;
        while let Some(rest) = self.bytes.get_mut(filled..length).filter(|rest| !rest.is_empty()) {
            match self.socket.receive(rest)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(())
    }
}

/// Draws the offset of a page within the served range.
fn page_offset(pages: &mut Rng) -> u64 {
    pages.below(SIZE / u64::from(PAGE)) * u64::from(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_sim::SystemSpec;

    fn us(us: u64) -> units::Duration {
        units::Duration::from_microseconds(us)
    }

    #[test]
    fn requests_begin_at_pages_of_the_whole_range() {
        let mut pages = Rng::new(StreamKey::from_seed(1));
        let offsets: Vec<u64> = (0..1000).map(|_| page_offset(&mut pages)).collect();
        assert!(offsets.iter().all(|offset| offset % u64::from(PAGE) == 0 && *offset < SIZE));
        assert!(offsets.iter().any(|offset| *offset >= SIZE / 4 * 3), "{offsets:?}");
    }

    #[test]
    fn a_machine_is_measured_over_both_kinds_of_socket() {
        let system = SystemSpec::example().checked().unwrap();
        let needs = DriveNeeds::simulate(&system, Bytes(SIZE)).unwrap();
        for over_tcp in [false, true] {
            let speed = MachineSpeed::measure(&system, &needs, TimeScale::ONE, over_tcp).unwrap();
            assert!(speed.rate > 100.0, "{speed:?}");
            assert!(speed.round_trip > us(0) && speed.client > us(0), "{speed:?}");
            // At queue depth 1, the round trips of a client do not overlap.
            assert!(speed.round_trip < us(1_000_000), "{speed:?}");
        }
    }

    #[test]
    fn a_slow_machine_needs_a_larger_time_scale() {
        let speed =
            MachineSpeed { rate: 100_000.0, round_trip: us(20), client: us(25), late: us(5) };
        let needs = |rate, latency, host| DriveNeeds { rate, latency: us(latency), host: us(host) };
        assert_eq!(speed.scale_for(&needs(10_000.0, 1_000, 5), 0.1), 1);
        assert_eq!(speed.scale_for(&needs(400_000.0, 1_000, 5), 0.1), 5);
        // 30 µs at a scale of 5 are 6 µs of simulated time, which is less than the host's 5 µs plus a tenth of 15 µs.
        assert_eq!(speed.scale_for(&needs(10_000.0, 10, 5), 0.1), 5);
    }
}
