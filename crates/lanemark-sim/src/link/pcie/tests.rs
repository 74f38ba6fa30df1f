//! Compares the PCI Express model with printed tables, published figures and closed forms.

use super::*;

const LANES: [u32; 5] = [1, 2, 4, 8, 16];

fn link(generation: u64, lanes: u32, payload_max: u64) -> Pcie {
    let generation = PcieGeneration::new(generation).unwrap();
    Pcie::new(generation, lanes, Bytes(payload_max), Bytes(512))
}

/// Returns a PCIe 3.0 x4 link with MPS 128 and MRRS 512, modified by `change`.
fn set_up(change: impl FnOnce(&mut PcieSetup)) -> Pcie {
    let mut setup = PcieSetup::new(Bytes(128), Bytes(512));
    change(&mut setup);
    Pcie::with_setup(PcieGeneration::Three, 4, Duration::ZERO, &setup)
}

fn rate(bytes: Bytes, time: Duration) -> f64 {
    (bytes / time).as_megabytes()
}

/// Acknowledgement limits in symbol times, as printed for 2.5 GT/s (Base Specification 5.0, table 3-7), by maximum
/// payload and width. The values in tables 3-8 (5 GT/s) and 3-9 (8 GT/s and above) are higher by 51 and 96.
const LIMITS: [(u64, [u64; 5]); 6] = [
    (128, [237, 128, 73, 67, 48]),
    (256, [416, 217, 118, 107, 72]),
    (512, [559, 289, 154, 86, 86]),
    (1024, [1071, 545, 282, 150, 150]),
    (2048, [2095, 1057, 538, 278, 278]),
    (4096, [4143, 2081, 1050, 534, 534]),
];

fn printed_limit(generation: u64, lanes: u32, payload_max: u64) -> u64 {
    let (_, row) = LIMITS.iter().find(|(payload, _)| *payload == payload_max).unwrap();
    let column = LANES.iter().position(|width| *width == lanes).unwrap();
    row[column] + [0, 51, 96, 96, 96][generation as usize - 1]
}

#[test]
fn acknowledgement_intervals_are_the_printed_limits() {
    for number in 1..=5 {
        let generation = PcieGeneration::new(number).unwrap();
        for lanes in LANES {
            for (payload_max, _) in LIMITS {
                let interval = generation.acknowledge_interval(lanes, Bytes(payload_max));
                let limit = printed_limit(number, lanes, payload_max);
                assert_eq!(interval as u64, limit, "generation {number} x{lanes}, {payload_max} B");
            }
        }
    }
}

/// Bytes per second of a lane after the line code, by generation.
const LANE_RATES: [f64; 5] = [
    2.5e9 / 10.0,
    5e9 / 10.0,
    8e9 / 8.0 * 128.0 / 130.0,
    16e9 / 8.0 * 128.0 / 130.0,
    32e9 / 8.0 * 128.0 / 130.0,
];

/// Tests every generation, width and MPS, with both headers. If data fills one direction, the
/// rate equals the formula without acknowledgements, which travel in the opposite direction. If data fills both
/// directions, the rate equals the formula of pcie-bench with the printed acknowledgement limits, except that the time
/// of the acknowledgements themselves does not count toward their intervals; the error is the square of their share,
/// 0.5% on the slowest link.
#[test]
fn saturated_throughput_is_the_formula_within_a_thousandth() {
    let block = Bytes::mebi(4);
    let mut checked = 0;
    for (number, lane_rate) in (1..).zip(LANE_RATES) {
        let generation = PcieGeneration::new(number).unwrap();
        for (lanes, payload) in LANES.iter().flat_map(|n| [128, 256, 512].map(|mps| (*n, mps))) {
            let n = f64::from(lanes);
            let limit = printed_limit(number, lanes, payload) as f64;
            let answers = 8.0 / (limit * n) + 8.0 / (limit * n);
            let one_way = lane_rate * n * (1.0 - 4.0 / 1538.0);
            let both_ways = lane_rate * n * (1.0 - answers - 4.0 / 1538.0);
            for (address, header) in [(PcieAddress::Short, 12.0), (PcieAddress::Long, 16.0)] {
                let usual = PcieSetup::new(Bytes(payload), Bytes(512));
                let setup = PcieSetup { address, ..usual };
                let pcie = Pcie::with_setup(generation, lanes, Duration::ZERO, &setup);
                let held = |raw: f64, time: Duration, overhead: f64, within: f64| {
                    let mps = payload as f64;
                    let formula = raw * mps / (mps + overhead) / 1e6;
                    let seen = rate(block, time);
                    let off = (seen / formula - 1.0).abs();
                    assert!(off < within, "{pcie}: {seen} for {formula} MB/s");
                };
                let written = 8.0 + header;
                let completed = 8.0 + 12.0;
                held(one_way, pcie.write_time(block), written, 0.001);
                held(one_way, pcie.completion_time(block), completed, 0.001);
                // Both directions carry the same amount: each has its own data and the acknowledgements of the
                // other direction's data.
                let back = |bytes| pcie.wire_time(bytes) + pcie.answer_time(bytes);
                let within = 0.001 + answers * answers;
                held(both_ways, back(pcie.write_bytes(block)), written, within);
                held(both_ways, back(pcie.completion_bytes(block)), completed, within);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 5 * 5 * 3 * 2);
}

/// Data to the host occupies its own direction, and 16 bytes per interval of the other direction. Data to the drive
/// also occupies the direction to the host, with its read requests and acknowledgements.
#[test]
fn answers_travel_only_against_the_data() {
    use crate::link::formulas::{BurstPosition, CommandPhase, LinkFormulas, PhaseTime};
    let pcie = set_up(|_| ());
    let block = Bytes::mebi(1);
    let whole = BurstPosition { first: true, last: true };
    // An interval of PCIe 3.0 x4 with 128 B packets is (128 + 28) · 1.4 / 4 + 115 symbol times on four lanes, or 678.4
    // B.
    let near = |seen: Duration, bytes: u64| {
        let expected = pcie.wire_time(bytes).as_seconds() * 16.0 / 678.4;
        (seen.as_seconds() / expected - 1.0).abs() < 1e-4
    };
    let PhaseTime { to_host, to_drive } = pcie.cost(CommandPhase::ToHost(block, whole));
    assert_eq!(to_host, pcie.write_time(block));
    assert!(near(to_drive, block.get() / 128 * 152), "{to_drive}");
    let PhaseTime { to_host, to_drive } = pcie.cost(CommandPhase::ToDrive(block, whole));
    assert_eq!(to_drive, pcie.completion_time(block));
    let answers = to_host - pcie.read_request_time(block);
    assert!(near(answers, block.get() / 128 * 148), "{answers} of {to_host}");
}

/// Tests the bytes of a 4 KiB NVMe read in the documents: 140 B down, and 4,956 / 4,572 / 4,380 B up.
#[test]
fn a_4k_nvme_read_has_the_published_cost() {
    for (payload, up) in [(128, 4956), (256, 4572), (512, 4380)] {
        let pcie = link(3, 4, payload);
        let to_drive = pcie.write_bytes(Bytes(4)) * 2 + pcie.completion_bytes(Bytes(64));
        let to_host = pcie.write_bytes(Bytes(4096))
            + pcie.write_bytes(Bytes(16))
            + pcie.write_bytes(Bytes(4))
            + pcie.read_request_bytes(Bytes(64));
        assert_eq!((to_drive, to_host), (140, up));
    }
}

#[test]
fn a_burst_costs_the_same_as_its_packets_one_by_one() {
    let pcie = link(3, 4, 128);
    let burst = pcie.write_time(Bytes(32_768)).picoseconds();
    let packets = pcie.write_time(Bytes(128)).picoseconds() * 256;
    assert!(burst.abs_diff(packets) <= 256, "rounding is at most half a picosecond a packet");
}

#[test]
fn a_short_address_is_on_all_packets_but_completions() {
    let bytes = |pcie: Pcie| {
        let payload = Bytes(1024);
        [
            pcie.write_bytes(payload),
            pcie.completion_bytes(payload),
            pcie.read_request_bytes(payload),
        ]
    };
    // There are 8 packets of 128 B in each direction, and 2 requests of 512 B.
    assert_eq!(bytes(set_up(|_| ())), [1024 + 8 * 24, 1024 + 8 * 20, 2 * 24]);
    let short = set_up(|setup| setup.address = PcieAddress::Short);
    assert_eq!(bytes(short), [1024 + 8 * 20, 1024 + 8 * 20, 2 * 20]);
}

#[test]
fn completions_are_cut_as_the_completer_does_and_answer_one_request_each() {
    let cut = |payload_max, read_request_max, completion_payload, read| {
        let usual = PcieSetup::new(Bytes(payload_max), Bytes(read_request_max));
        let setup = PcieSetup { completion_payload: Bytes(completion_payload), ..usual };
        let pcie = Pcie::with_setup(PcieGeneration::Three, 4, Duration::ZERO, &setup);
        (pcie.completion_bytes(Bytes(read)) - read) / 20
    };
    assert_eq!(cut(256, 512, 256, 4096), 16);
    assert_eq!(cut(256, 512, 64, 4096), 64);
    assert_eq!(cut(256, 512, 64, 4097), 65);
    assert_eq!(cut(256, 512, 128, 576), 5, "512 B in four, and 64 B of the next request");
    assert_eq!(cut(512, 128, 512, 4096), 32, "a request of 128 B does not have an answer of 512 B");
}

/// If a tunnel carries less than the lanes, it limits long transfers in both directions and at each payload size. If it
/// carries more, it does not have an effect.
#[test]
fn a_tunnel_bounds_data_in_full_packets() {
    let block = Bytes::mebi(1);
    for payload in [128, 256] {
        let time = |rate_max: Option<u64>| {
            let rate_max = rate_max.map(BytesPerSecond);
            let setup = PcieSetup { rate_max, ..PcieSetup::new(Bytes(payload), Bytes(512)) };
            let model = Pcie::with_setup(PcieGeneration::Three, 4, Duration::ZERO, &setup);
            (model.write_time(block), model.completion_time(block))
        };
        let (post, fetch) = time(Some(2_750_000_000));
        let seen = (block / post).as_megabytes();
        assert!((seen / 2_750.0 - 1.0).abs() < 1e-4, "{seen} MB/s");
        // Completions have a header of 12 bytes instead of 16.
        let formula = 2_750.0 * (payload + 24) as f64 / (payload + 20) as f64;
        let seen = (block / fetch).as_megabytes();
        assert!((seen / formula - 1.0).abs() < 1e-4, "{seen} for {formula} MB/s");
        assert_eq!(time(Some(9_000_000_000)), time(None));
    }
}
