//! The throughput of each interface that a drive or a data stream may use.

use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond};
use lanemark_schema::workload::{Pattern, Test};
use lanemark_sim::link::{
    LinkModel, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate,
};
use lanemark_sim::over_link;

/// Returns the name of each interface and its throughput for sequential reads of 1 MiB, according to the simulator's
/// formulas.
pub fn interfaces() -> Vec<(String, BytesPerSecond)> {
    let test = sequential();
    let mut all = Vec::new();
    for rate in [1_500_000_000, 3_000_000_000, 6_000_000_000] {
        let Some(line) = SataRate::new(BitsPerSecond(rate)) else { continue };
        let model = LinkModel::Sata(Sata::new(line, SataCommands::Queued));
        all.push((
            format!("SATA {} Gb/s", rate as f64 / 1e9),
            over_link(&model, Bytes::mebi(1), &test),
        ));
    }
    for rate in [3_000_000_000, 6_000_000_000, 12_000_000_000, 22_500_000_000] {
        let Some(line) = SasRate::new(BitsPerSecond(rate)) else { continue };
        let model = LinkModel::Sas(Sas::new(line, 1));
        all.push((
            format!("SAS {} Gb/s", rate as f64 / 1e9),
            over_link(&model, Bytes::mebi(1), &test),
        ));
    }
    for generation in 1..=5u64 {
        let Some(known) = PcieGeneration::new(generation) else { continue };
        for lanes in [1, 2, 4, 8, 16] {
            let model = LinkModel::Pcie(Pcie::new(known, lanes, Bytes(256), Bytes(512)));
            let name = format!("PCIe {generation}.0 x{lanes}");
            all.push((name, over_link(&model, Bytes::kibi(128), &test)));
        }
    }
    all
}

/// Returns a test of sequential reads of 1 MiB.
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

    #[test]
    fn interfaces_carry_their_line_rate_less_packets_and_commands() {
        let all = interfaces();
        let rate = |name: &str| all.iter().find(|one| one.0 == name).unwrap().1.0 as f64;
        // A stream of 895.8 MB/s fits PCIe 3.0 x1 and PCIe 2.0 x2, but no slower interface.
        for (name, carries) in [
            ("SATA 6 Gb/s", false),
            ("PCIe 2.0 x1", false),
            ("PCIe 1.0 x2", false),
            ("PCIe 3.0 x2", true),
            ("PCIe 2.0 x4", true),
            ("SAS 12 Gb/s", true),
        ] {
            assert_eq!(rate(name) >= 895.8e6, carries, "{name}");
        }
        // SKP sets leave 1,534 of 1,538 symbols. The overhead of a 128 KiB command is 12,356 B for its 512 packets and
        // its end.
        let left = 1534.0 / 1538.0 * 131_072.0 / (131_072.0 + 12_356.0);
        for (name, line) in [("PCIe 2.0 x2", 1e9), ("PCIe 3.0 x1", 8e9 / 8.0 * 128.0 / 130.0)] {
            let over = rate(name) / (line * left) - 1.0;
            assert!(over.abs() < 1e-4, "{name}: {over}");
        }
    }
}
