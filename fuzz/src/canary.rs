//! A reader that breaks its promise. A fuzzer that does not report it would report nothing.

pub(crate) fn read(bytes: &[u8]) {
    let number = bytes.strip_prefix(b"canary ").and_then(|rest| rest.first());
    assert!(number.is_none_or(|number| !(b'5'..=b'7').contains(number)), "the canary is dead");
}
