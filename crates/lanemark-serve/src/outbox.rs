//! The outgoing replies of a connection, which are sent immediately if the socket has room, and otherwise by the
//! connection's thread.
//!
//! A thread that produces a reply never waits for a slow client. The backlog is bounded, because requests are accepted
//! only while the outstanding requests and their data do not exceed [`UNDER_WAY_MAX`] and [`BYTES_MAX`]; a single
//! request may be longer.
//!
//! A client that reads its answers slowly makes its own requests slow, although the answers were sent on time. For one
//! answer in [`SAMPLED`], the outbox therefore records how many earlier answers the client has not read. The kernel
//! reports the memory that unread answers occupy; the increase after one answer is the memory per answer.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::delivered::DeliveryCounts;
use crate::job::TaskThread;
use crate::socket::Socket;

/// Maximum number of outstanding requests of a connection.
pub(crate) const UNDER_WAY_MAX: usize = 1024;
/// Maximum number of bytes in these requests.
pub(crate) const BYTES_MAX: u64 = 48 << 20;
/// Unread answers are counted once per this many answers.
const SAMPLED: u32 = 8;
/// Minimum length of an answer that counts as long, which is an answer with data.
const LONG: usize = 512;

pub(crate) struct Outbox {
    socket: Socket,
    delivered: Arc<DeliveryCounts>,
    state: Mutex<OutboxState>,
    /// Notified when a reply or task is waiting, and when the connection ends.
    work: Condvar,
    /// Notified when a request is answered.
    room: Condvar,
}

#[derive(Default)]
struct OutboxState {
    waiting: VecDeque<WaitingReply>,
    /// Whether the connection's thread is sending the replies that it has taken.
    sending: bool,
    /// Whether the connection has ended.
    over: bool,
    under_way: usize,
    bytes: u64,
    /// Whether a thread waits for room.
    wanted: bool,
    /// Number of answers so far.
    answers: u32,
    /// Memory in the client's socket per byte of a short and of a long answer; 0 if it is not known.
    memory_per_byte: [f64; 2],
}

impl OutboxState {
    /// Records by how much the memory of the client's socket grew with an answer of `length` bytes. The growth is
    /// smaller if the client reads another answer at the same time, so the maximum is kept.
    fn note_memory(&mut self, length: usize, growth: u32) {
        let known = &mut self.memory_per_byte[usize::from(length >= LONG)];
        *known = known.max(f64::from(growth) / length.max(1) as f64);
    }

    /// Returns the memory of an answer of `length` bytes; 0 if it is not known.
    fn memory(&self, length: usize) -> f64 {
        self.memory_per_byte[usize::from(length >= LONG)] * length as f64
    }
}

/// A reply, or a task that produces one.
enum WaitingReply {
    Bytes(Vec<u8>, u64),
    Task(Box<dyn FnOnce() + Send>),
}

impl Outbox {
    pub(crate) fn new(socket: Socket, delivered: Arc<DeliveryCounts>) -> Self {
        Self {
            socket,
            delivered,
            state: Mutex::default(),
            work: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Returns whether the client waits for an answer.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state().under_way > 0
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Waits until there is room for a request of `weight` bytes, and accepts it. Returns false if the connection has
    /// ended.
    pub(crate) fn let_in(&self, weight: u64) -> bool {
        let mut state = self.state();
        while !state.over
            && state.under_way > 0
            && (state.under_way >= UNDER_WAY_MAX || state.bytes + weight > BYTES_MAX)
        {
            state.wanted = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.under_way += 1;
        state.bytes += weight;
        !state.over
    }

    /// Sends the reply to a request that was accepted with this weight.
    pub(crate) fn answer(&self, mut bytes: Vec<u8>, weight: u64) {
        let mut state = self.state();
        state.answers = state.answers.wrapping_add(1);
        let unread = match state.answers % SAMPLED {
            0 => self.socket.unread(),
            _ => None,
        };
        if let (Some(unread), false) = (unread, state.waiting.is_empty()) {
            self.sample(&state, unread, bytes.len());
        }
        if !state.over && !state.sending && state.waiting.is_empty() {
            let sent = self.socket.send_some(&bytes);
            if let (Some(before), Ok(sent)) = (unread, sent) {
                let after = self.socket.unread().unwrap_or(0);
                if sent == bytes.len() {
                    state.note_memory(sent, after.saturating_sub(before));
                }
                self.sample(&state, before, bytes.len());
            }
            match sent {
                Ok(sent) if sent < bytes.len() => {
                    bytes.drain(..sent);
                }
                Ok(_) => return self.let_out(state, weight),
                Err(_) => self.end(&mut state),
            }
        }
        if state.over {
            return self.let_out(state, weight);
        }
        state.waiting.push_back(WaitingReply::Bytes(bytes, weight));
        drop(state);
        self.work.notify_one();
    }

    /// Counts the answers that the client had not read when an answer of `length` bytes was sent.
    fn sample(&self, state: &OutboxState, unread: u32, length: usize) {
        let memory = state.memory(length);
        if memory > 0.0 {
            let sent = f64::from(unread) / memory;
            self.delivered.unread.count(sent + state.waiting.len() as f64);
        }
    }

    fn let_out(&self, mut state: MutexGuard<'_, OutboxState>, weight: u64) {
        state.under_way -= 1;
        state.bytes -= weight;
        if std::mem::take(&mut state.wanted) {
            drop(state);
            self.room.notify_one();
        }
    }

    fn end(&self, state: &mut OutboxState) {
        state.over = true;
        self.socket.close();
        self.room.notify_all();
        self.work.notify_all();
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        self.end(&mut self.state());
    }

    /// Waits until all accepted requests are answered, or the connection has ended.
    pub(crate) fn drain(&self) {
        let mut state = self.state();
        while !state.over && state.under_way > 0 {
            state.wanted = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends waiting replies and runs waiting tasks, until the connection ends.
    pub(crate) fn run(&self) {
        let mut state = self.state();
        loop {
            let Some(next) = state.waiting.pop_front() else {
                if state.over {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.sending = true;
            let over = state.over;
            drop(state);
            let mut sent = Ok(());
            let mut weight = None;
            match next {
                WaitingReply::Task(task) => task(),
                WaitingReply::Bytes(bytes, memory) => {
                    weight = Some(memory);
                    if !over {
                        sent = self.socket.send_all(&bytes);
                    }
                }
            }
            let mut after = self.state();
            after.sending = false;
            if sent.is_err() {
                self.end(&mut after);
            }
            if let Some(weight) = weight {
                self.let_out(after, weight);
                after = self.state();
            }
            state = after;
        }
    }

    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskThread for Outbox {
    fn later(&self, task: Box<dyn FnOnce() + Send>) {
        let mut state = self.state();
        if state.over {
            drop(state);
            return task();
        }
        state.waiting.push_back(WaitingReply::Task(task));
        drop(state);
        self.work.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn answer(outbox: &Outbox, length: usize) {
        assert!(outbox.let_in(0));
        outbox.answer(vec![0; length], 0);
    }

    #[test]
    fn answers_that_a_client_has_not_read_are_counted() {
        let (server_end, mut other) = UnixStream::pair().unwrap();
        let delivered: Arc<DeliveryCounts> = Arc::default();
        let outbox = Outbox::new(Socket::Unix(server_end), Arc::clone(&delivered));
        assert_eq!(delivered.unread.sum().mean(), 0.0);
        // The client reads each answer before the next one.
        let mut bytes = vec![0; 4112];
        for _ in 0..4 * SAMPLED {
            answer(&outbox, 4112);
            other.read_exact(&mut bytes).unwrap();
        }
        assert_eq!(delivered.unread.sum().mean(), 0.0);
        let before = delivered.unread.sum().mean();
        // The client stops reading, so the sample after 8 answers finds 7 unread answers.
        (0..SAMPLED).for_each(|_| answer(&outbox, 4112));
        let mean = delivered.unread.sum().mean();
        assert!(before == 0.0 && (mean - 7.0 / 5.0).abs() < 0.01, "{mean}");
    }
}
