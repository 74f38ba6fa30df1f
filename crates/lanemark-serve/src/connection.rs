//! A connection with one client: negotiation, then requests until the connection ends.
//!
//! One thread reads requests. With a model, it passes each request to the engine and continues; the time of a request
//! is measured from its arrival ([`arrival`](crate::arrival)), before its payload and its data are transferred. A second
//! thread sends replies for which a slow client leaves no room, and writes long data. Without latency, the reading
//! thread does all work, and sends the replies to requests that arrived together with one call.
//!
//! If a client breaks the protocol so that the start of its next request is unknown, the server closes its connection;
//! any other error is sent as a reply.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanemark_schema::units::{self, Bytes};
use lanemark_schema::workload::{Access, Operation};

use crate::arrival::TimedReader;
use crate::clients::RegisteredConnection as NewClient;
use crate::data::ExportData;
use crate::delivered::DeliveryCounts;
use crate::engine::{Engine, EngineRequest};
use crate::file_to_socket;
use crate::job::{DataTask, RequestContext, RequestJob, Requester, TaskThread};
use crate::nbd::negotiation::{self, Negotiation, NegotiationStep, OPTION_MAX, OptionHeader};
use crate::nbd::transmission::{NbdCommand, ReplyWriter, RequestHeader, STRETCHES_MAX};
use crate::nbd::{Export, NbdError, NegotiatedExport, PAYLOAD_MAX};
use crate::outbox::Outbox;
use crate::storing::{StoringThread, store_data};

/// Time limit for a client's whole negotiation.
const NEGOTIATION: Duration = Duration::from_secs(5);
/// Maximum number of options in a negotiation.
const OPTIONS_MAX: usize = 256;
/// Number of bytes in one read.
const READ: usize = 128 << 10;
/// Number of bytes of replies that a server without latency gathers before it sends them.
const GATHERED: usize = 256 << 10;
/// Maximum length of a read that is gathered as a whole; a longer read is sent in pieces of this length.
const PIECE: usize = 256 << 10;
/// Weight of a request in bytes, in addition to its data.
const WEIGHT: u64 = 256;
/// Maximum length of a range in one request to the model; a longer range is split.
pub(crate) const RANGE_MAX: u64 = 1 << 40;

/// State shared by all connections of a server.
pub(crate) struct ServerState {
    pub(crate) export: Export,
    pub(crate) data: Arc<ExportData>,
    pub(crate) storing: Arc<StoringThread>,
    pub(crate) delivered: Arc<DeliveryCounts>,
    /// The model; `None` in a server without latency.
    pub(crate) engine: Option<Arc<Engine>>,
}

/// The input of a client: bytes that were received but not yet used.
struct ClientInput<'s> {
    outbox: &'s Outbox,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The estimate of arrivals, if arrivals affect the replies.
    arrivals: Option<TimedReader>,
    /// Arrival of the buffered bytes.
    came: units::Instant,
}

/// Reads bytes from the client, and records their arrival.
fn receive(
    outbox: &Outbox,
    arrivals: Option<&mut TimedReader>,
    bytes: &mut [u8],
) -> io::Result<usize> {
    let Some(arrivals) = arrivals else { return outbox.socket().receive(bytes) };
    if let Some(read) = outbox.socket().receive_now(bytes)? {
        arrivals.record_read(read < bytes.len());
        return Ok(read);
    }
    arrivals.begin_wait();
    let is_awaited = outbox.is_awaited();
    let read = outbox.socket().receive(bytes)?;
    arrivals.end_wait(is_awaited, read < bytes.len());
    Ok(read)
}

impl<'s> ClientInput<'s> {
    fn new(outbox: &'s Outbox) -> Self {
        let arrivals = None;
        let came = units::Instant::ZERO;
        Self { outbox, bytes: vec![0; READ], start: 0, end: 0, arrivals, came }
    }

    fn here(&self) -> usize {
        self.end - self.start
    }

    /// Reads until `length` bytes are buffered, up to [`READ`]; returns false if the stream ends first.
    fn fill(&mut self, length: usize) -> io::Result<bool> {
        while self.here() < length {
            if self.bytes.len() - self.start < length || self.start == self.end {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.here());
            }
            let room = &mut self.bytes[self.end..];
            let read = receive(self.outbox, self.arrivals.as_mut(), room)?;
            if read == 0 {
                return Ok(false);
            }
            self.end += read;
            self.came = self.arrivals.as_ref().map_or(self.came, TimedReader::came);
        }
        Ok(true)
    }

    /// Takes `length` buffered bytes.
    fn take(&mut self, length: usize) -> &[u8] {
        let taken = &self.bytes[self.start..self.start + length];
        self.start += length;
        taken
    }

    /// Fills `bytes`; returns false if the stream ends first.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        let here = self.here().min(bytes.len());
        bytes[..here].copy_from_slice(&self.bytes[self.start..self.start + here]);
        self.start += here;
        let mut filled = here;
        while filled < bytes.len() {
            match receive(self.outbox, self.arrivals.as_mut(), &mut bytes[filled..])? {
                0 => return Ok(false),
                read => filled += read,
            }
        }
        Ok(true)
    }

    /// Reads and discards `length` bytes; returns false if the stream ends first.
    fn skip(&mut self, mut length: u64) -> io::Result<bool> {
        while length > 0 {
            if !self.fill(1)? {
                return Ok(false);
            }
            let now = (self.here() as u64).min(length);
            self.start += now as usize;
            length -= now;
        }
        Ok(true)
    }
}

/// A request of a client, which receives the reply.
struct ClientRequester {
    outbox: Arc<Outbox>,
    writer: ReplyWriter,
    header: RequestHeader,
    /// Weight of the request when it was accepted.
    weight: u64,
}

impl Requester for ClientRequester {
    fn answer(self, outcome: Result<Option<Vec<u8>>, NbdError>) {
        let Self { outbox, writer, header, weight } = self;
        let bytes = match outcome {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let mut bytes = Vec::with_capacity(32);
                writer.write_success(&header, &mut bytes);
                bytes
            }
            Err(error) => {
                let mut bytes = Vec::with_capacity(64);
                writer.write_failure(&header, error, &mut bytes);
                bytes
            }
        };
        outbox.answer(bytes, weight);
    }

    fn helper(&self) -> Arc<dyn TaskThread> {
        Arc::clone(&self.outbox) as _
    }
}

impl ServerState {
    /// Serves a client until either side ends the connection.
    pub(crate) fn serve(&self, outbox: &Arc<Outbox>, client: &NewClient) -> io::Result<()> {
        let mut input = ClientInput::new(outbox);
        let Some(agreed) = self.negotiate(&mut input)? else { return Ok(()) };
        if !client.negotiated() {
            return Ok(());
        }
        let thread = client.number();
        outbox.socket().set_time_out(None)?;
        match &self.engine {
            Some(engine) => self.serve_modelled(&mut input, agreed, engine, outbox, thread),
            None => self.serve_at_once(&mut input, agreed),
        }
    }

    /// Negotiates within its time limit; returns `None` if the client disconnects without selecting the export.
    fn negotiate(&self, input: &mut ClientInput<'_>) -> io::Result<Option<NegotiatedExport>> {
        let end = Instant::now() + NEGOTIATION;
        let socket = input.outbox.socket();
        let in_time = || {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                Err(io::ErrorKind::TimedOut.into())
            } else {
                socket.set_time_out(Some(left))
            }
        };
        in_time()?;
        socket.send_all(&negotiation::greeting())?;
        let mut flags = [0; 4];
        if !input.read(&mut flags)? {
            return Ok(None);
        }
        let flags = u32::from_be_bytes(flags);
        let Some(mut negotiation) = Negotiation::new(&self.export, flags) else { return Ok(None) };
        let mut answer = Vec::new();
        for _ in 0..OPTIONS_MAX {
            in_time()?;
            let mut header = [0; negotiation::HEADER];
            if !input.read(&mut header)? {
                return Ok(None);
            }
            let Some(header) = OptionHeader::read(&header) else { return Ok(None) };
            answer.clear();
            let step = if header.length > OPTION_MAX {
                // The option is longer than any valid option, so its data is not read completely.
                if u64::from(header.length) > PAYLOAD_MAX || !input.skip(header.length.into())? {
                    return Ok(None);
                }
                Negotiation::too_long(header.option, &mut answer);
                NegotiationStep::Next
            } else {
                let mut data = vec![0; header.length as usize];
                if !input.read(&mut data)? {
                    return Ok(None);
                }
                negotiation.answer(header.option, &data, &mut answer)
            };
            socket.send_all(&answer)?;
            match step {
                NegotiationStep::Next => {}
                NegotiationStep::Transmit(agreed) => return Ok(Some(agreed)),
                NegotiationStep::End => return Ok(None),
            }
        }
        Ok(None)
    }

    fn serve_modelled(
        &self,
        input: &mut ClientInput<'_>,
        agreed: NegotiatedExport,
        engine: &Arc<Engine>,
        outbox: &Arc<Outbox>,
        thread: u32,
    ) -> io::Result<()> {
        let length = RequestHeader::length_of(agreed.replies);
        let around = RequestContext {
            data: Arc::clone(&self.data),
            storing: Arc::clone(&self.storing),
            delivered: Arc::clone(&self.delivered),
            clock: Arc::clone(engine.clock()),
        };
        let writer = ReplyWriter::new(agreed.replies);
        let reports = self.data.new_client();
        let clock = Arc::clone(engine.clock());
        let delivered = Arc::clone(&self.delivered);
        input.arrivals = Some(TimedReader::new(clock, delivered));
        // Some bytes may have arrived during the negotiation.
        input.came = engine.clock().now();
        while input.fill(length)? {
            let came = input.came;
            let Some(header) = RequestHeader::read(input.take(length), agreed.replies) else {
                break;
            };
            let command = header.command(&agreed, self.data.size());
            if command == Ok(NbdCommand::Disconnect) {
                outbox.drain();
                break;
            }
            let sent = match command {
                Ok(NbdCommand::Read | NbdCommand::Write { .. }) => header.length,
                _ => 0,
            };
            let weight = WEIGHT + sent;
            if !outbox.let_in(weight) {
                break;
            }
            let command = match command {
                Ok(command) => command,
                Err(error) => {
                    if header.payload() > 2 * PAYLOAD_MAX || !input.skip(header.payload())? {
                        break;
                    }
                    let mut bytes = Vec::new();
                    writer.write_failure(&header, error, &mut bytes);
                    outbox.answer(bytes, weight);
                    continue;
                }
            };
            let task = match command {
                NbdCommand::Write { stored } => {
                    let mut payload = vec![0; header.length as usize];
                    if !input.read(&mut payload)? {
                        break;
                    }
                    DataTask::Write { payload, stored }
                }
                NbdCommand::Status { one } => {
                    let mut bytes = Vec::new();
                    self.status(&header, one, writer, &mut bytes);
                    outbox.answer(bytes, weight);
                    continue;
                }
                NbdCommand::Read => {
                    let mut bytes = Vec::new();
                    match self.read(&header, writer, &mut bytes) {
                        Ok(()) => DataTask::Read(bytes),
                        Err(error) => DataTask::Failed(error),
                    }
                }
                NbdCommand::Flush => {
                    DataTask::Stored(self.storing.store(self.data.mark_for(&reports)))
                }
                NbdCommand::Trim { stored } => DataTask::Zero { hole: true, stored },
                NbdCommand::Zero { hole, stored } => DataTask::Zero { hole, stored },
                NbdCommand::Cache | NbdCommand::Disconnect => DataTask::Nothing,
            };
            let access = access(&header, command);
            let range = (header.offset, header.length);
            let asker = ClientRequester { outbox: Arc::clone(outbox), writer, header, weight };
            let work = Box::new(RequestJob { around: around.clone(), asker, range, task });
            engine.submit(EngineRequest { access, thread, came, work });
        }
        Ok(())
    }

    fn serve_at_once(
        &self,
        input: &mut ClientInput<'_>,
        agreed: NegotiatedExport,
    ) -> io::Result<()> {
        let length = RequestHeader::length_of(agreed.replies);
        let writer = ReplyWriter::new(agreed.replies);
        let socket = input.outbox.socket();
        let mut out = Vec::with_capacity(GATHERED);
        let mut payload = Vec::new();
        let mut piece = Vec::new();
        loop {
            // Replies to waiting clients are sent before this thread waits.
            if input.here() < length || out.len() >= GATHERED {
                socket.send_all(&out)?;
                out.clear();
                out.shrink_to(2 * GATHERED);
            }
            if !input.fill(length)? {
                return Ok(());
            }
            let Some(header) = RequestHeader::read(input.take(length), agreed.replies) else {
                socket.send_all(&out)?;
                return Ok(());
            };
            let command = match header.command(&agreed, self.data.size()) {
                Ok(command) => command,
                Err(error) => {
                    if header.payload() > 2 * PAYLOAD_MAX || !input.skip(header.payload())? {
                        return Ok(());
                    }
                    writer.write_failure(&header, error, &mut out);
                    continue;
                }
            };
            let offset = header.offset;
            let length = header.length;
            let mut is_stored = false;
            let done = match command {
                NbdCommand::Read => {
                    self.delivered.count_at_once(Operation::Read, Bytes(length));
                    if length > PIECE as u64 {
                        self.read_in_pieces(input.outbox, &header, writer, &mut out, &mut piece)?;
                        continue;
                    }
                    let before = out.len();
                    let read = self.read(&header, writer, &mut out);
                    if let Err(error) = read {
                        out.truncate(before);
                        writer.write_failure(&header, error, &mut out);
                    }
                    continue;
                }
                NbdCommand::Write { stored } => {
                    is_stored = stored;
                    payload.resize(length as usize, 0);
                    if input.here() < payload.len() {
                        socket.send_all(&out)?;
                        out.clear();
                    }
                    if !input.read(&mut payload)? {
                        return Ok(());
                    }
                    self.delivered.count_at_once(Operation::Write, Bytes(length));
                    let written = self.data.write(offset, &payload);
                    payload.shrink_to(PIECE * 8);
                    written
                }
                NbdCommand::Flush => {
                    is_stored = true;
                    Ok(())
                }
                NbdCommand::Trim { stored } => {
                    is_stored = stored;
                    self.data.zero(offset, length, true)
                }
                NbdCommand::Zero { hole, stored } => {
                    is_stored = stored;
                    self.data.zero(offset, length, hole)
                }
                NbdCommand::Status { one } => {
                    self.status(&header, one, writer, &mut out);
                    continue;
                }
                NbdCommand::Cache => Ok(()),
                NbdCommand::Disconnect => {
                    socket.send_all(&out)?;
                    return Ok(());
                }
            };
            let done = done.map_err(NbdError::from).and_then(|()| {
                if is_stored { store_data(&self.data, self.data.mark()) } else { Ok(()) }
            });
            match done {
                Ok(()) => writer.write_success(&header, &mut out),
                Err(error) => writer.write_failure(&header, error, &mut out),
            }
        }
    }

    /// Writes the whole reply to a successful read.
    fn read(
        &self,
        header: &RequestHeader,
        writer: ReplyWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), NbdError> {
        // One allocation has room for the header and the data.
        out.reserve(header.length as usize + 64);
        writer.before_data(header, out);
        let start = out.len();
        out.resize(start + header.length as usize, 0);
        Ok(self.data.read(header.offset, &mut out[start..])?)
    }

    /// Sends the gathered replies, and then the data of a long read piece by piece. If the read fails after its reply
    /// has begun, the connection ends, because the reply cannot be ended in any other way.
    fn read_in_pieces(
        &self,
        outbox: &Outbox,
        header: &RequestHeader,
        writer: ReplyWriter,
        out: &mut Vec<u8>,
        piece: &mut Vec<u8>,
    ) -> io::Result<()> {
        let end = header.offset + header.length;
        // The head of the reply is sent with the first piece; sending it separately would wake the client
        // unnecessarily.
        let before = out.len();
        writer.before_data(header, out);
        let start = out.len();
        out.resize(start + PIECE, 0);
        if let Err(error) = self.data.read(header.offset, &mut out[start..]) {
            out.truncate(before);
            writer.write_failure(header, error.into(), out);
            return Ok(());
        }
        outbox.socket().send_all(out)?;
        out.clear();
        let mut at = header.offset + PIECE as u64;
        if let Some(file) = self.data.to_read() {
            return file_to_socket::send(file, at, end - at, outbox.socket());
        }
        piece.resize(PIECE, 0);
        while at < end {
            let length = (end - at).min(PIECE as u64);
            self.data.read(at, &mut piece[..length as usize])?;
            outbox.socket().send_all(&piece[..length as usize])?;
            at += length;
        }
        Ok(())
    }

    fn status(&self, header: &RequestHeader, one: bool, writer: ReplyWriter, out: &mut Vec<u8>) {
        let most = if one { 1 } else { STRETCHES_MAX };
        let stretches = self.data.stretches(header.offset, header.length, most);
        writer.status(header, &stretches, out);
    }
}

/// Returns the access that a command submits to the model. For the drive, zeroes that leave a hole are a trim, other
/// zeroes are a write, and caching a range is a read.
fn access(header: &RequestHeader, command: NbdCommand) -> Access {
    let operation = match command {
        NbdCommand::Read
        | NbdCommand::Cache
        | NbdCommand::Status { .. }
        | NbdCommand::Disconnect => Operation::Read,
        NbdCommand::Write { .. } | NbdCommand::Zero { hole: false, .. } => Operation::Write,
        NbdCommand::Trim { .. } | NbdCommand::Zero { hole: true, .. } => Operation::Trim,
        NbdCommand::Flush => Operation::Flush,
    };
    let length = Bytes(header.length.min(RANGE_MAX));
    Access { operation, offset: Bytes(header.offset), length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Socket;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// Requests of several lengths arrive in one stream that is longer than the buffer.
    #[test]
    fn every_byte_of_a_long_stream_is_taken_in_order() {
        let (server_end, mut client) = UnixStream::pair().unwrap();
        let outbox = Outbox::new(Socket::Unix(server_end), Arc::default());
        let stream: Vec<u8> = (0..5 * READ).map(|at| (at / 7) as u8).collect();
        let sent = stream.clone();
        let writer = std::thread::spawn(move || client.write_all(&sent));
        let mut input = ClientInput::new(&outbox);
        let mut taken = Vec::new();
        for length in [28, 100, 4096, 60_000, READ, 1].into_iter().cycle() {
            let length = length.min(stream.len() - taken.len());
            if length == 0 {
                break;
            }
            assert!(input.fill(length).unwrap(), "{length} after {}", taken.len());
            taken.extend_from_slice(input.take(length));
        }
        writer.join().unwrap().unwrap();
        assert!(taken == stream);
        assert!(!input.fill(1).unwrap(), "the stream has ended");
    }
}
