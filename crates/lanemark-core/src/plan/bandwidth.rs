//! The rate that a stream of data needs, and the interfaces that carry it.
//!
//! Interfaces are held against the stream by the laws of the simulator, for sequential requests of 1 MiB; a drive behind
//! them has limits of its own.

use serde::{Deserialize, Serialize};

use super::{Plan, PlanError, told, within};
use crate::sim::link::{LinkLaw, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate};
use crate::sim::over_link;
use crate::units::{BitsPerSecond, Bytes, BytesPerSecond};
use crate::workload::{Pattern, Test};

/// Uncompressed video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Pixels in a line.
    pub width: u32,
    /// Height of the picture, in lines.
    pub height: u32,
    /// Bits of one sample.
    pub bits: u32,
    /// Samples of a pixel: 3 for RGB, 2 for 4:2:2, 1.5 for 4:2:0.
    pub samples: f64,
    /// Frames a second.
    pub rate: f64,
}

/// A stream of data, all of whose streams run at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Bytes a second of one.
    pub bytes_per_second: f64,
    /// Number of streams at once.
    pub streams: u32,
}

/// An interface, and what it carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carrier {
    /// Name of the interface, `PCIe 3.0 x4`.
    pub name: String,
    /// Throughput of sequential reads of 1 MiB over the interface.
    #[serde(rename = "rate_bytes_per_second")]
    pub rate: BytesPerSecond,
    /// Number of such streams that the interface carries; below 1 not one.
    pub streams: f64,
}

impl Video {
    /// Computes the rate that the stream needs and the interfaces that carry it.
    ///
    /// # Errors
    /// Where an input is not above zero.
    pub fn plan(&self) -> Result<(Plan, Stream), PlanError> {
        let (width, height) = (f64::from(self.width), f64::from(self.height));
        within("width", width, (1.0, 1e6), "must be from 1 to 1,000,000 pixels")?;
        within("height", height, (1.0, 1e6), "must be from 1 to 1,000,000 pixels")?;
        within("bits", f64::from(self.bits), (1.0, 64.0), "must be from 1 to 64")?;
        within("samples", self.samples, (0.1, 64.0), "must be from 0.1 to 64 of a pixel")?;
        within("frames", self.rate, (0.001, 1e6), "must be from 0.001 to 1,000,000 a second")?;
        let mut plan = Plan::new("What does this video need, and which interfaces carry it?");
        let pixels =
            plan.step("pixels", format!("{} x {}", self.width, self.height), width * height, "");
        let frame = plan.step(
            "a frame",
            format!("{pixels} x {} x {} bit / 8", told(self.samples), self.bits),
            pixels * self.samples * f64::from(self.bits) / 8.0 / 1e6,
            "MB",
        );
        let rate = plan.step(
            "a second",
            format!("{frame:.3} MB x {}", told(self.rate)),
            frame * self.rate,
            "MB/s",
        );
        plan.step("an hour", format!("{rate:.1} MB/s x 3600 s"), rate * 3600.0 / 1e6, "TB");
        let hour = rate * 3600.0 / 1e6;
        // A small stream is not rounded to nothing.
        plan.answer = match rate >= 10.0 {
            true => format!("{rate:.0} MB/s, {hour:.2} TB an hour."),
            false => format!("{} MB/s, {} TB an hour.", told(rate), told(hour)),
        };
        plan.leave_out(&[
            "sound, and the frame around the data that a file format adds",
            "what drives behind the interface can keep up for hours",
        ]);
        Ok((plan, Stream { bytes_per_second: rate * 1e6, streams: 1 }))
    }
}

/// The interfaces with what each carries of `stream`, the slowest first.
pub fn carriers(stream: &Stream) -> Vec<Carrier> {
    let test = sequential();
    let transfer = Bytes::kibi(128);
    let needed = stream.bytes_per_second * f64::from(stream.streams);
    let carrier = |name: String, law: LinkLaw, transfer: Bytes| {
        let rate = over_link(&law, transfer, &test);
        Carrier {
            name,
            rate,
            streams: rate.0 as f64 / needed.max(1e-9) * f64::from(stream.streams),
        }
    };
    let mut all = Vec::new();
    for rate in [1_500_000_000, 3_000_000_000, 6_000_000_000] {
        let Some(line) = SataRate::new(BitsPerSecond(rate)) else { continue };
        let law = LinkLaw::Sata(Sata::new(line, SataCommands::Queued));
        all.push(carrier(format!("SATA {} Gb/s", rate as f64 / 1e9), law, Bytes::mebi(1)));
    }
    for rate in [3_000_000_000, 6_000_000_000, 12_000_000_000, 22_500_000_000] {
        let Some(line) = SasRate::new(BitsPerSecond(rate)) else { continue };
        let law = LinkLaw::Sas(Sas::new(line, 1));
        all.push(carrier(format!("SAS {} Gb/s", rate as f64 / 1e9), law, Bytes::mebi(1)));
    }
    for generation in 1..=5u64 {
        let Some(known) = PcieGeneration::new(generation) else { continue };
        for lanes in [1, 2, 4, 8, 16] {
            let law = LinkLaw::Pcie(Pcie::new(known, lanes, Bytes(256), Bytes(512)));
            all.push(carrier(format!("PCIe {generation}.0 x{lanes}"), law, transfer));
        }
    }
    all.sort_by_key(|one| one.rate);
    all
}

/// Sequential reads of 1 MiB.
fn sequential() -> Test {
    Test {
        name: "sequential read".to_owned(),
        volume: Some(Bytes::mebi(1024)),
        ..Test::of_blocks(Bytes::mebi(1))
    }
    .with(|asked| {
        asked.pattern = Pattern::Sequential;
        asked.queue_depth = 8;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CINEMA: Video = Video { width: 3840, height: 2160, bits: 12, samples: 3.0, rate: 24.0 };

    #[test]
    fn the_published_video_needs_nine_hundred_megabytes_a_second() {
        let (plan, stream) = CINEMA.plan().unwrap();
        assert!((stream.bytes_per_second / 1e6 - 895.8).abs() < 0.1);
        let hour = plan.steps.last().unwrap().value;
        assert!((hour - 3.225).abs() < 0.001, "{hour} TB");
    }

    #[test]
    fn it_just_passes_through_one_lane_of_pcie_3_and_not_through_sata() {
        let (_, stream) = CINEMA.plan().unwrap();
        let carried = |name: &str| {
            let all = carriers(&stream);
            all.iter().find(|one| one.name == name).unwrap().streams >= 1.0
        };
        assert!(!carried("SATA 6 Gb/s") && !carried("PCIe 2.0 x1") && !carried("PCIe 1.0 x2"));
        assert!(carried("PCIe 3.0 x2") && carried("PCIe 2.0 x4") && carried("SAS 12 Gb/s"));
        // SKP sets leave 1,534 of 1,538 symbols, and of a command of 128 KiB 512 packets and its end take 12,356 B.
        let left = 1534.0 / 1538.0 * 131_072.0 / (131_072.0 + 12_356.0);
        for (name, line) in [("PCIe 2.0 x2", 1e9), ("PCIe 3.0 x1", 8e9 / 8.0 * 128.0 / 130.0)] {
            let all = carriers(&stream);
            let narrow = all.iter().find(|one| one.name == name).unwrap();
            assert!((narrow.rate.0 as f64 / (line * left) - 1.0).abs() < 1e-4, "{}", narrow.rate);
            assert!((1.0..1.02).contains(&narrow.streams), "{} streams", narrow.streams);
        }
    }

    #[test]
    fn no_video_without_pixels() {
        assert!(Video { width: 0, ..CINEMA }.plan().is_err());
        for rate in [0.0, -1.0, 1e-9, 1e308, f64::INFINITY, f64::NAN] {
            let error = Video { rate, ..CINEMA }.plan().unwrap_err().to_string();
            assert!(error.contains("from 0.001 to 1,000,000"), "{error}");
        }
        let least = Video { width: 1, height: 1, bits: 1, samples: 0.1, rate: 0.001 };
        let most =
            Video { width: 1_000_000, height: 1_000_000, bits: 64, samples: 64.0, rate: 1e6 };
        for video in [least, most] {
            let (plan, stream) = video.plan().unwrap();
            assert!(!plan.answer.starts_with("0 MB/s"), "{}", plan.answer);
            let finite = |value: f64| value.is_finite() && value > 0.0;
            assert!(plan.steps.iter().all(|step| finite(step.value)));
            assert!(carriers(&stream).iter().all(|one| finite(one.streams)));
        }
    }
}
