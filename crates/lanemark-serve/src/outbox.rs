//! The answers of a connection on their way: sent at once where there is room, and else by a thread of the connection.
//!
//! Whoever has an answer never waits for a slow client. What waits is bounded, since requests are let in only while
//! those under way, with their data, are no more than [`UNDER_WAY_MAX`] and [`BYTES_MAX`]; one may be longer by itself.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::job::Helper;
use crate::socket::Socket;

/// The most requests of a connection that are under way.
pub(crate) const UNDER_WAY_MAX: usize = 1024;
/// The most data of these.
pub(crate) const BYTES_MAX: u64 = 48 << 20;

/// The answers of one connection.
pub(crate) struct Outbox {
    socket: Socket,
    state: Mutex<State>,
    /// Rung when something waits to be sent or done, and when all is over.
    work: Condvar,
    /// Rung when a request is answered.
    room: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Whether the connection's thread is sending what it took.
    sending: bool,
    /// Whether the connection has ended.
    over: bool,
    under_way: usize,
    bytes: u64,
    /// Whether somebody waits for room.
    wanted: bool,
}

/// An answer, or what has to be done for one.
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

    /// Waits until there is room for a request that weighs so many bytes, and lets it in. False where the connection has
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

    /// Answers a request that was let in with this weight.
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

    /// Waits until all that was let in is answered, or the connection has ended.
    pub(crate) fn drain(&self) {
        let mut state = self.state();
        while !state.over && state.under_way > 0 {
            state.wanted = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends and does what waits, until the connection ends.
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

impl Helper for Outbox {
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
