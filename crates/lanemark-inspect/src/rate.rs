//! Computes the throughput of a trained link with the simulator's formulas.
//!
//! The *line* rate is the rate minus the overhead of the line code. The *usable* rate is the simulator's rate for long
//! reads: PCIe packets as posted writes to memory, queued SATA reads of 128 KiB, or full SAS frames. For PCIe 6, USB,
//! and SAS at 1.5 Gb/s, only the line rate is known, because the simulator does not have a formula for them. The line
//! rate of PCIe 6 is 64 GT/s with one bit per transfer, without subtracting flits. USB uses no line code up to 480
//! Mb/s, 8b/10b at 5 Gb/s, and 128b/132b above (USB 3.2, 6.3).

use lanemark_schema::result::PcieRate;
use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond};
use lanemark_sim::link::{
    BurstPosition, CommandPhase, LinkModel, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands,
    SataRate,
};

/// The line rate and the usable rate of a link.
pub(crate) type LinkRates = (Option<BytesPerSecond>, Option<BytesPerSecond>);

/// Minimum and maximum packet payload that can be configured for a link (PCI Express Base Specification, 7.5.3.4).
pub(crate) const PAYLOADS: (Bytes, Bytes) = (Bytes(128), Bytes(4096));
/// Size of a long read, which is short enough for the simulator's arithmetic and long compared with all protocol
/// intervals.
const LONG: Bytes = Bytes::kibi(128);
/// Throughput of a PCIe 6 lane: 64 GT/s.
const LANE_SIX: u64 = 8_000_000_000;

/// Returns the rates of a PCIe link with packets of up to `payload`.
pub(crate) fn pcie(rate: PcieRate, payload: Bytes) -> LinkRates {
    let lanes = u32::from(rate.lanes);
    let Some(generation) = PcieGeneration::new(u64::from(rate.generation)) else {
        let line = (rate.generation == 6).then(|| BytesPerSecond(LANE_SIX * u64::from(lanes)));
        return (line, None);
    };
    let model = Pcie::new(generation, lanes, payload, payload);
    // The simulator's formula covers the widths of drives and slots.
    let lawful = [1, 2, 4, 8, 16].contains(&lanes);
    (Some(model.rate()), lawful.then(|| LONG / model.write_time(LONG)))
}

pub(crate) fn sata(bits_per_second: u64) -> LinkRates {
    let Some(rate) = SataRate::new(BitsPerSecond(bits_per_second)) else { return (None, None) };
    let model = LinkModel::Sata(Sata::new(rate, SataCommands::Queued));
    let line = model.rate();
    let whole = BurstPosition { first: true, last: true };
    (Some(line), Some(LONG / model.cost(CommandPhase::ToHost(LONG, whole)).to_host))
}

/// Returns the rate of a PATA cable in an Ultra DMA mode: two bytes per clock edge (ATA/ATAPI-7, volume 2, table of
/// Ultra DMA timing).
pub(crate) fn pata(ultra_dma: u8) -> Option<BytesPerSecond> {
    let rates =
        [16_700_000, 25_000_000, 33_300_000, 44_400_000, 66_700_000, 100_000_000, 133_000_000];
    rates.get(usize::from(ultra_dma)).map(|&rate| BytesPerSecond(rate))
}

/// Returns the rates of a SAS port with `phys` phys of `bits_per_second` each.
pub(crate) fn sas(bits_per_second: u64, phys: u32) -> LinkRates {
    let (times, parts) = match bits_per_second {
        22_500_000_000 => (128, 150 * 8),
        _ => (1, 10),
    };
    let line = BytesPerSecond((bits_per_second / parts * times).saturating_mul(u64::from(phys)));
    let usable = SasRate::new(BitsPerSecond(bits_per_second)).map(|rate| {
        BytesPerSecond(Sas::new(rate, 1).port_rate().0.saturating_mul(u64::from(phys)))
    });
    (Some(line), usable)
}

/// Returns the line rate of a USB link.
pub(crate) fn usb(bits_per_second: u64) -> BytesPerSecond {
    BytesPerSecond(match bits_per_second {
        ..=999_999_999 => bits_per_second / 8,
        1_000_000_000..=5_000_000_000 => bits_per_second / 10,
        _ => bits_per_second / 132 * 16,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn megabytes(rate: Option<BytesPerSecond>) -> f64 {
        rate.unwrap().as_megabytes().round()
    }

    #[test]
    fn usable_rates_are_near_the_published_rates() {
        let (_, usable) = pcie(PcieRate { generation: 4, lanes: 4 }, Bytes(256));
        // The rate of one direction with 64-bit addresses: 1,534 of 1,538 symbols, and 256 of 280 bytes.
        assert!((7175.0..7190.0).contains(&megabytes(usable)), "{usable:?}");
        let (_, usable) = sata(6_000_000_000);
        assert!((555.0..575.0).contains(&megabytes(usable)), "{usable:?}");
        let (_, usable) = sas(12_000_000_000, 4);
        assert!((4600.0..4650.0).contains(&megabytes(usable)), "{usable:?}");
    }

    #[test]
    fn without_a_formula_the_line_rate_is_used() {
        let small = |generation, lanes| pcie(PcieRate { generation, lanes }, PAYLOADS.0);
        assert_eq!(small(3, 12).1, None);
        assert_eq!(small(9, 4), (None, None));
        assert_eq!(sata(1), (None, None));
    }

    #[test]
    fn every_generation_and_speed_has_the_line_rate_of_its_code() {
        // Rates of four lanes in MB/s: 8b/10b up to PCIe 2, 128b/130b from PCIe 3, and one bit per transfer in PCIe 6.
        for (generation, wanted) in
            [(1, 1000.0), (2, 2000.0), (3, 3938.0), (4, 7877.0), (5, 15_754.0), (6, 32_000.0)]
        {
            let rates = |lanes| pcie(PcieRate { generation, lanes }, PAYLOADS.0);
            assert_eq!(megabytes(rates(4).0), wanted, "PCIe {generation}");
            let one = rates(1).0.unwrap().0 as f64;
            let many = rates(16).0.unwrap().0 as f64;
            assert!((many / one - 16.0).abs() < 1e-6, "PCIe {generation}");
            for lanes in [1, 2, 4, 8, 16] {
                let usable = rates(lanes).1;
                assert_eq!(usable.is_some(), generation < 6, "PCIe {generation} x{lanes}");
                assert!(usable < rates(lanes).0, "PCIe {generation} x{lanes}");
            }
        }
        for (bits, wanted) in
            [(1_500_000_000, 150.0), (3_000_000_000, 300.0), (6_000_000_000, 600.0)]
        {
            assert_eq!(megabytes(sata(bits).0), wanted, "SATA {bits}");
        }
        for (bits, phys, wanted) in [
            (1_500_000_000, 1, 150_000_000),
            (3_000_000_000, 1, 300_000_000),
            (6_000_000_000, 4, 2_400_000_000),
            (12_000_000_000, 2, 2_400_000_000),
            // SAS at 22.5 Gb/s uses 128b/150b.
            (22_500_000_000, 1, 2_400_000_000),
            (22_500_000_000, 4, 9_600_000_000),
        ] {
            let (line, usable) = sas(bits, phys);
            assert_eq!(line, Some(BytesPerSecond(wanted)), "SAS {bits} x{phys}");
            assert_eq!(usable.is_some(), bits > 1_500_000_000, "SAS {bits} x{phys}");
        }
        for (bits, wanted) in [
            (12_000_000, 1_500_000),
            (999_999_999, 124_999_999),
            (1_000_000_000, 100_000_000),
            (5_000_000_000, 500_000_000),
            (5_000_000_001, 606_060_592),
            (20_000_000_000, 2_424_242_416),
        ] {
            assert_eq!(usb(bits), BytesPerSecond(wanted), "USB {bits}");
        }
        let modes: Vec<Option<u64>> =
            (0..8).map(|mode| pata(mode).map(|rate| rate.0 / 100_000)).collect();
        let wanted = [167, 250, 333, 444, 667, 1000, 1330].map(Some);
        assert_eq!(modes[..7], wanted);
        assert_eq!(modes[7], None);
    }
}
