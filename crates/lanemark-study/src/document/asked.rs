//! Keys that the readers ask files for, taken down, so that the reference of all keys is written from the readers.
//!
//! A reader says what a file may contain by what it asks a section for. [`record`] takes that down for all files that
//! are read meanwhile on the same thread: each key with the kinds of value that were asked for, and an example. A key
//! that is asked for only beside another value is there only if a file that was read has that value.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The keys that were asked for, by the place of their table (`platform.link[]`) and their name.
pub type Asked = BTreeMap<(String, String), AskedKey>;

/// A key as readers ask for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskedKey {
    /// Kinds of value that were asked for, with their bounds.
    pub kinds: BTreeSet<String>,
    /// Whether some reader must have it, where it does not look first whether it is there.
    pub is_required: bool,
    /// Whether a reader looks first whether it is there.
    pub may_be_absent: bool,
    /// The first value that a file had.
    pub example: Option<String>,
}

thread_local! {
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// Runs `read`, and returns what it gave with all keys that were asked for meanwhile.
pub fn record<T>(read: impl FnOnce() -> T) -> (T, Asked) {
    let outer = ASKED.replace(Some(Asked::new()));
    let given = read();
    (given, ASKED.replace(outer).unwrap_or_default())
}

/// Takes down something about the key of a table, while anybody records.
pub(super) fn note(table: &str, key: &str, what: impl FnOnce(&mut AskedKey)) {
    ASKED.with_borrow_mut(|asked| {
        if let Some(asked) = asked {
            what(asked.entry((table.to_owned(), key.to_owned())).or_default());
        }
    });
}

/// The name of a quantity's type in plain words.
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
