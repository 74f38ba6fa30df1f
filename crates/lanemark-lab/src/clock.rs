//! The time that has passed. A browser's module lacks a clock, and calls the page's clock.

use std::time::Duration;

/// A stopwatch, which measures from its start.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Reading);

#[cfg(not(target_arch = "wasm32"))]
type Reading = std::time::Instant;
#[cfg(target_arch = "wasm32")]
type Reading = f64;

impl Stopwatch {
    /// Starts a stopwatch.
    #[must_use]
    pub fn start() -> Self {
        Self(read())
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        since(self.0)
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn read() -> Reading {
    std::time::Instant::now()
}

#[cfg(not(target_arch = "wasm32"))]
fn since(start: Reading) -> Duration {
    start.elapsed()
}

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Returns the milliseconds since a fixed instant.
    safe fn milliseconds() -> f64;
}

#[cfg(target_arch = "wasm32")]
fn read() -> Reading {
    milliseconds()
}

#[cfg(target_arch = "wasm32")]
fn since(start: Reading) -> Duration {
    Duration::from_secs_f64((milliseconds() - start).max(0.0) / 1e3)
}
