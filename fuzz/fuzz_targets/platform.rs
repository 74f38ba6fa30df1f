//! A platform file is read or refused.
#![no_main]

use lanemark_study::document::{Context, Document};
use lanemark_study::platform::Platform;
use lanemark_study::{Ledger, Overrides};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(document) = Document::parse("platform.toml", text) else { return };
    let (ledger, overrides) = (Ledger::default(), Overrides::default());
    let _ = Platform::read(&document, Context { ledger: &ledger, overrides: &overrides });
});
