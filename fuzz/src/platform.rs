//! A platform file is read or rejected.

use lanemark_study::document::{Context, Document};
use lanemark_study::platform::Platform;
use lanemark_study::{Ledger, Overrides};

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(document) = Document::parse("platform.toml", text) else { return };
    let ledger = Ledger::default();
    let overrides = Overrides::default();
    let _ = Platform::read(&document, Context { ledger: &ledger, overrides: &overrides });
}
