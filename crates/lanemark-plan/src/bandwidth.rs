//! The rate that a stream of data needs, and the interfaces that can carry it.
//!
//! The caller provides the throughput of each interface, which it computes with the simulator's models. A drive
//! downstream of an interface has its own limits.

use serde::{Deserialize, Serialize};

use lanemark_schema::units::BytesPerSecond;

use super::{Plan, PlanError, check_range, number_text};

/// Uncompressed video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Number of pixels per line.
    pub width: u32,
    /// Height of the picture, in lines.
    pub height: u32,
    /// Number of bits per sample.
    pub bits: u32,
    /// Number of samples per pixel: 3 for RGB, 2 for 4:2:2, 1.5 for 4:2:0.
    pub samples: f64,
    /// Number of frames a second.
    pub rate: f64,
}

/// A stream of data, or several equal streams in parallel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Rate of one stream, in bytes a second.
    pub bytes_per_second: f64,
    /// Number of parallel streams.
    pub streams: u32,
}

/// An interface, and the number of streams that it carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carrier {
    /// Name of the interface, such as `PCIe 3.0 x4`.
    pub name: String,
    /// Throughput of sequential reads of 1 MiB over the interface.
    #[serde(rename = "rate_bytes_per_second")]
    pub rate: BytesPerSecond,
    /// Number of these streams that the interface carries; a number below 1 means that it cannot carry one stream.
    pub streams: f64,
}

impl Video {
    /// Computes the rate that the stream needs.
    ///
    /// # Errors
    /// Returns the first input that is not above zero.
    pub fn plan(&self) -> Result<(Plan, Stream), PlanError> {
        let width = f64::from(self.width);
        let height = f64::from(self.height);
        check_range("width", width, 1.0..=1e6, "must be from 1 to 1,000,000 pixels")?;
        check_range("height", height, 1.0..=1e6, "must be from 1 to 1,000,000 pixels")?;
        check_range("bits", f64::from(self.bits), 1.0..=64.0, "must be from 1 to 64")?;
        check_range("samples", self.samples, 0.1..=64.0, "must be from 0.1 to 64 per pixel")?;
        check_range("frames", self.rate, 0.001..=1e6, "must be from 0.001 to 1,000,000 a second")?;
        let mut plan = Plan::new("Which rate does this video need, and which interfaces carry it?");
        let pixels =
            plan.step("pixels", format!("{} x {}", self.width, self.height), width * height, "");
        let frame = plan.step(
            "a frame",
            format!("{pixels} x {} x {} bit / 8", number_text(self.samples), self.bits),
            pixels * self.samples * f64::from(self.bits) / 8.0 / 1e6,
            "MB",
        );
        let rate = plan.step(
            "a second",
            format!("{frame:.3} MB x {}", number_text(self.rate)),
            frame * self.rate,
            "MB/s",
        );
        plan.step("an hour", format!("{rate:.1} MB/s x 3600 s"), rate * 3600.0 / 1e6, "TB");
        let hour = rate * 3600.0 / 1e6;
        // The rate of a small stream is not rounded to zero.
        plan.answer = if rate >= 10.0 {
            format!("{rate:.0} MB/s, {hour:.2} TB an hour.")
        } else {
            format!("{} MB/s, {} TB an hour.", number_text(rate), number_text(hour))
        };
        plan.leave_out(&[
            "sound, and the overhead of a file format",
            "the rate that drives on the interface sustain for hours",
        ]);
        Ok((plan, Stream { bytes_per_second: rate * 1e6, streams: 1 }))
    }
}

impl Stream {
    /// Returns the number of streams that each of `interfaces` can carry, the slowest interface first. An interface is
    /// given by its name and its throughput of sequential reads.
    pub fn carriers(
        &self,
        interfaces: impl IntoIterator<Item = (String, BytesPerSecond)>,
    ) -> Vec<Carrier> {
        let needed = self.bytes_per_second * f64::from(self.streams);
        let carrier = |(name, rate): (String, BytesPerSecond)| {
            let streams = rate.0 as f64 / needed.max(1e-9) * f64::from(self.streams);
            Carrier { name, rate, streams }
        };
        let mut all: Vec<Carrier> = interfaces.into_iter().map(carrier).collect();
        all.sort_by_key(|one| one.rate);
        all
    }
}
