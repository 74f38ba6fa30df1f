//! Work that needs nothing of each other, on several cores.
//!
//! Threads take the next piece when they are done with one; what comes out goes to the calling thread in the order
//! in which it ends, which the caller must not depend on.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Does the pieces 0 to `count` - 1 on `threads` threads. Each thread begins with `start`; `done` sees what comes out
/// with its number, and ends the work by returning false: what others have begun is then dropped.
pub(crate) fn each<S, R: Send>(
    threads: usize,
    count: usize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
    mut done: impl FnMut(usize, R) -> bool,
) {
    let next = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A few places, so that threads that are ahead of the one that writes do not fill the memory.
        let (sender, receiver) = mpsc::sync_channel(2 * threads.max(1));
        for _ in 0..threads.clamp(1, count.max(1)) {
            let sender = sender.clone();
            let (next, ended, start, work) = (&next, &ended, &start, &work);
            scope.spawn(move || {
                let mut state = start();
                while !ended.load(Ordering::Relaxed) {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    if piece >= count || sender.send((piece, work(&mut state, piece))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        while let Ok((piece, result)) = receiver.recv() {
            if !done(piece, result) {
                ended.store(true, Ordering::Relaxed);
                break;
            }
        }
        // With the receiver gone a thread that wants to send ends too.
        drop(receiver);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        for (threads, count) in [(1, 5), (3, 100), (8, 2), (2, 0)] {
            let mut seen = vec![0; count];
            each(
                threads,
                count,
                || (),
                |(), piece| piece * 2,
                |piece, double| {
                    assert_eq!(double, piece * 2);
                    seen[piece] += 1;
                    true
                },
            );
            assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        }
    }

    #[test]
    fn the_work_ends_when_told_to() {
        let mut seen = 0;
        each(
            4,
            1_000_000,
            || (),
            |(), piece| piece,
            |_, _| {
                seen += 1;
                seen < 10
            },
        );
        assert_eq!(seen, 10);
    }
}
