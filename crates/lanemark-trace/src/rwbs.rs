//! The kinds of requests in the kernel's letters (RWBS), which blkparse, ftrace and biosnoop print.

use lanemark_schema::workload::Operation;

/// Returns whether a word is the kind of a request (RWBS).
pub(crate) fn is_kind(word: &[u8]) -> bool {
    (1..=6).contains(&word.len()) && word.iter().all(|letter| b"RWDNFSMA".contains(letter))
}

/// Returns whether a flush precedes the request of a kind (RWBS), and the operation of the request.
pub(crate) fn direction(kind: &[u8]) -> (bool, Option<Operation>) {
    let (flush_first, letter) = match kind {
        [b'F', letter, ..] => (true, *letter),
        [b'F'] => (true, b'N'),
        [letter, ..] => (false, *letter),
        [] => (false, b'N'),
    };
    let operations = [(b'R', Operation::Read), (b'W', Operation::Write), (b'D', Operation::Trim)];
    let operation = operations.into_iter().find(|(known, _)| *known == letter);
    (flush_first, operation.map(|(_, operation)| operation))
}
