//! Reads diskspd's output as a result, from text or from XML (`-Rxml`).
//!
//! Each time span is a test, and all targets of the time span together form one target. Bytes, requests and latencies
//! are sums over all threads that diskspd prints. Latencies are known only for a run with `-L`; the text states them in
//! ms.
//!
//! | file | contents |
//! |---|---|
//! | `settings` | the settings of a time span, from its description or from the command line |
//! | `text` | the text |
//! | `tree` | the XML |

mod settings;
mod text;
mod tree;

pub(crate) use text::{is_ours as is_text, read as read_text};
pub(crate) use tree::{is_ours as is_xml, read as read_xml};
