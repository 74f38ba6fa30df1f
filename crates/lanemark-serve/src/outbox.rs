//! The outgoing replies of a connection: sent at once if the socket has room, otherwise by a thread of the connection.
//!
//! A thread that produces a reply never waits for a slow client. The backlog is bounded, since requests are accepted
//! only while the outstanding ones, with their data, do not exceed [`UNDER_WAY_MAX`] and [`BYTES_MAX`]; a single
//! request may be longer.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::job::TaskThread;
use crate::socket::Socket;

/// Maximum number of outstanding requests of a connection.
pub(crate) const UNDER_WAY_MAX: usize = 1024;
/// Maximum data of these requests.
pub(crate) const BYTES_MAX: u64 = 48 << 20;

/// The outgoing replies of one connection.
pub(crate) struct Outbox {
    socket: Socket,
    state: Mutex<State>,
    /// Notified when a reply or task is waiting, and at the end.
    work: Condvar,
    /// Notified when a request is answered.
    room: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Whether the connection's thread is sending the replies that it took.
    sending: bool,
    /// Whether the connection has ended.
    over: bool,
    under_way: usize,
    bytes: u64,
    /// Whether a thread waits for room.
    wanted: bool,
}

/// A reply, or a task that produces one.
enum Waiting {
    Bytes(Vec<u8>, u64),
    Task(Box<dyn FnOnce() + Send>),
}

impl Outbox {
    pub(crate) fn new(socket: Socket) -> Self {
        let (work, room) = (Condvar::new(), Condvar::new());
        Self { socket, state: Mutex::default(), work, room }
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
        if !state.over && !state.sending && state.waiting.is_empty() {
            match self.socket.send_some(&bytes) {
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
        state.waiting.push_back(Waiting::Bytes(bytes, weight));
        drop(state);
        self.work.notify_one();
    }

    fn let_out(&self, mut state: MutexGuard<'_, State>, weight: u64) {
        state.under_way -= 1;
        state.bytes -= weight;
        if std::mem::take(&mut state.wanted) {
            drop(state);
            self.room.notify_one();
        }
    }

    fn end(&self, state: &mut State) {
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
                Waiting::Task(task) => task(),
                Waiting::Bytes(bytes, own) => {
                    weight = Some(own);
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

    fn state(&self) -> MutexGuard<'_, State> {
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
        state.waiting.push_back(Waiting::Task(task));
        drop(state);
        self.work.notify_one();
    }
}
