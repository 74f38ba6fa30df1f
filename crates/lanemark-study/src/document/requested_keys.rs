//! A record of the keys that readers request from files; the reference of all keys is written from it.
//!
//! The requests of a reader define the contents of a file. [`record`] records them for all files that the same thread
//! reads during the call: each key with the requested kinds of value, and an example. A key that depends on another
//! value is recorded only if one of these files has that value.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The requested keys, by the path of their table (`platform.link[]`) and their name.
pub type RequestedKeys = BTreeMap<(String, String), RequestedKey>;

/// The requests for one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestedKey {
    /// The requested kinds of value, with their bounds.
    pub kinds: BTreeSet<String>,
    /// Whether a reader requests the key without first checking for its presence.
    pub is_required: bool,
    /// Whether a reader first checks whether the key is present.
    pub may_be_absent: bool,
    /// The first value of the key in a file.
    pub example: Option<String>,
}

thread_local! {
    static ASKED: RefCell<Option<RequestedKeys>> = const { RefCell::new(None) };
}

/// Runs `read`, and returns its result and all keys that were requested during the run.
pub fn record<T>(read: impl FnOnce() -> T) -> (T, RequestedKeys) {
    let outer = ASKED.replace(Some(RequestedKeys::new()));
    let given = read();
    (given, ASKED.replace(outer).unwrap_or_default())
}

/// Records a request for a key of a table, if a recording is active.
pub(super) fn note(table: &str, key: &str, what: impl FnOnce(&mut RequestedKey)) {
    ASKED.with_borrow_mut(|recorded| {
        if let Some(recorded) = recorded {
            what(recorded.entry((table.to_owned(), key.to_owned())).or_default());
        }
    });
}

/// Returns the name of a quantity's type in plain words.
pub(super) fn quantity<T>() -> &'static str {
    match std::any::type_name::<T>().rsplit("::").next().unwrap_or_default() {
        "Bytes" => "a size, `\"4 KiB\"`",
        "BytesPerSecond" => "a rate, `\"500 MB/s\"`",
        "BitsPerSecond" => "a line rate, `\"6 Gb/s\"`",
        "Duration" => "a time, `\"50 us\"`",
        "Ratio" => "a share, `\"50%\"`",
        "Watts" => "a power, `\"5.7 W\"`",
        "Joules" => "an energy, `\"50 Wh\"`",
        _ => "a quantity with its unit",
    }
}
