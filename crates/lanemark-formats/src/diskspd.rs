//! diskspd's output, as text and as XML (`-Rxml`), as a result.
//!
//! Each time span is a test, and all of its targets together form one target. Bytes, requests and latencies are the
//! sums over all threads that the program prints. Latencies are known only for a run with `-L`; in the text they are in
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
