//! Independent pieces of work on several threads.
//!
//! A thread takes the next piece after finishing a piece. The calling thread receives messages in their order of
//! arrival, on which the caller must not depend. The messages of one piece arrive in order.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// A number of threads that can work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    threads: NonZeroUsize,
}

impl Default for Pool {
    /// Creates a pool with one thread for each core that this process may use.
    fn default() -> Self {
        Self { threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN) }
    }
}

impl Pool {
    /// Creates a pool with this number of threads.
    pub fn new(threads: NonZeroUsize) -> Self {
        Self { threads }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// Runs the pieces 0 to `count` - 1. Each thread begins with `start`. `work` sends messages about its piece; each
    /// send returns whether the receiver is still listening. `seen` receives each message with the number of its piece.
    /// If `seen` returns `false`, all work ends, and later messages are dropped.
    pub fn run_pieces<S, M: Send>(
        &self,
        count: usize,
        start: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize, &dyn Fn(M) -> bool) + Sync,
        mut seen: impl FnMut(usize, M) -> bool,
    ) {
        let threads = self.threads().min(count);
        // A browser's module consists of one thread.
        if threads <= 1 || cfg!(target_arch = "wasm32") {
            return run_in_sequence(count, start, work, seen);
        }
        let next = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // The bound is small, so that threads that are ahead of the receiver do not fill the memory.
            let (sender, receiver) = mpsc::sync_channel(2 * threads.max(1));
            for _ in 0..threads {
                let sender = sender.clone();
                let next = &next;
                let ended = &ended;
                let start = &start;
                let work = &work;
                scope.spawn(move || {
                    let mut state = start();
                    while !ended.load(Ordering::Relaxed) {
                        let piece = next.fetch_add(1, Ordering::Relaxed);
                        if piece >= count {
                            break;
                        }
                        let tell = |messages| {
                            !ended.load(Ordering::Relaxed) && sender.send((piece, messages)).is_ok()
                        };
                        work(&mut state, piece, &tell);
                    }
                });
            }
            drop(sender);
            while let Ok((piece, messages)) = receiver.recv() {
                if !seen(piece, messages) {
                    ended.store(true, Ordering::Relaxed);
                    break;
                }
            }
            // After the receiver is dropped, a thread that sends ends too.
            drop(receiver);
        });
    }

    /// Returns the results of `work` for the pieces 0 to `count` - 1, in order.
    pub fn map<R: Send>(&self, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let mut made: Vec<Option<R>> = (0..count).map(|_| None).collect();
        let one = |(): &mut (), piece: usize, tell: &dyn Fn(R) -> bool| {
            tell(work(piece));
        };
        self.run_pieces(count, || (), one, |piece, result| made[piece].replace(result).is_none());
        made.into_iter().flatten().collect()
    }
}

/// Runs the pieces in order on the calling thread.
fn run_in_sequence<S, M>(
    count: usize,
    start: impl Fn() -> S,
    work: impl Fn(&mut S, usize, &dyn Fn(M) -> bool),
    seen: impl FnMut(usize, M) -> bool,
) {
    let mut state = start();
    let seen = RefCell::new(seen);
    let is_listening = Cell::new(true);
    for piece in 0..count {
        let tell = |message| {
            is_listening.set(is_listening.get() && seen.borrow_mut()(piece, message));
            is_listening.get()
        };
        work(&mut state, piece, &tell);
        if !is_listening.get() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> Pool {
        Pool::new(NonZeroUsize::new(threads).unwrap())
    }

    #[test]
    fn every_piece_is_done_once_and_in_its_place() {
        for (threads, count) in [(1, 5), (3, 100), (8, 2), (2, 0)] {
            let doubles: Vec<usize> = (0..count).map(|piece| 2 * piece).collect();
            assert_eq!(pool(threads).map(count, |piece| piece * 2), doubles);
        }
    }

    #[test]
    fn messages_of_a_piece_arrive_in_order() {
        let mut messages = vec![Vec::new(); 50];
        let count = |(): &mut (), _: usize, tell: &dyn Fn(u32) -> bool| {
            assert!((0..20).all(tell));
        };
        pool(4).run_pieces(
            50,
            || (),
            count,
            |piece, number| {
                messages[piece].push(number);
                true
            },
        );
        assert!(messages.iter().all(|message| *message == (0..20).collect::<Vec<_>>()));
    }

    #[test]
    fn the_work_ends_on_request_also_within_a_piece() {
        let mut seen = 0;
        // Each piece runs until the receiver stops listening.
        let endless =
            |(): &mut (), piece: usize, tell: &dyn Fn(usize) -> bool| while tell(piece) {};
        pool(4).run_pieces(
            1_000_000,
            || (),
            endless,
            |_, _| {
                seen += 1;
                seen < 10
            },
        );
        assert_eq!(seen, 10);
    }
}
