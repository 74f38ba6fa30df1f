//! The systems and tests for which the cost of simulation is measured.

use lanemark_schema::result::ParameterOverride;
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{CheckedTest, Pattern, Test};
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Library, Location, System};

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
/// Settings of a 1 TB NVMe drive in steady state, with 12% spare flash.
const STEADY: &[(&str, &str)] = &[
    ("drive.capacity", "1 TB"),
    ("drive.flash.blocks_per_plane", "4200"),
    ("drive.state.condition", "random"),
];
const WRITTEN: &[(&str, &str)] = &[
    ("drive.capacity", "1 TB"),
    ("drive.flash.blocks_per_plane", "4200"),
    ("drive.state.condition", "sequential"),
];

/// Settings of a drive in steady state with 32 dies, one plane per die, and pages of 4 KiB.
const SMALL_PAGES: &[(&str, &str)] = &[
    ("drive.capacity", "256 GB"),
    ("drive.flash.channels", "8"),
    ("drive.flash.dies_per_channel", "4"),
    ("drive.flash.planes", "1"),
    ("drive.flash.page", "4 KiB"),
    ("drive.flash.pages_per_block", "256"),
    ("drive.flash.blocks_per_plane", "8600"),
    ("drive.state.condition", "random"),
];
const STRIPE: &str = "stripe-64KiB:kioxia-rm5-960gb@dell-r730xd:sas+sas-2+sas-3+sas-4";

/// A system and a test whose simulation is measured.
pub(crate) struct Case {
    pub(crate) name: String,
    system: &'static str,
    settings: Vec<(&'static str, String)>,
    test: Test,
    /// Number of requests in the measured run.
    pub(crate) requests: u64,
}

fn case(name: &str, settings: &[(&'static str, &str)], read: f64, requests: u64) -> Case {
    let test = Test {
        name: name.to_owned(),
        // This is the span of the tests in other simulators; writes use the whole drive.
        span: Bytes::mebi(1024),
        ..Test::of_blocks(Bytes::kibi(4))
    }
    .with(|asked| {
        asked.read_share = Ratio::new(read).expect("a share");
        asked.queue_depth = 32;
    });
    let settings = settings.iter().map(|&(key, value)| (key, value.to_owned())).collect();
    Case { name: name.to_owned(), system: NVME, settings, test, requests }
}

fn everywhere(case: Case) -> Case {
    Case { test: Test { span: Bytes(1_000_000_000_000 / 4096 * 4096), ..case.test }, ..case }
}

/// Returns the test with sequential requests of 128 KiB.
fn large_in_order(test: Test) -> Test {
    let block = Bytes::kibi(128);
    Test { block, ..test }.with(|asked| {
        asked.alignment = block;
        asked.pattern = Pattern::Sequential;
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut sequential = case("128 KiB sequential read QD32", WRITTEN, 1.0, 400_000);
    sequential.test = large_in_order(sequential.test);
    let mut cases = vec![
        case("4 KiB random read QD32", WRITTEN, 1.0, 2_000_000),
        sequential,
        everywhere(case("4 KiB random write QD32, steady state", STEADY, 0.0, 1_000_000)),
        everywhere(case("4 KiB 70/30 QD32, steady state", STEADY, 0.7, 1_000_000)),
        case("4 KiB random write QD32, fresh drive", &[], 0.0, 1_000_000),
        everywhere(case("4 KiB random read QD32, steady state", STEADY, 1.0, 1_000_000)),
        Case { system: SATA, ..case("4 KiB random read QD32, SATA", &[], 1.0, 2_000_000) },
    ];
    let mut in_order = case("128 KiB sequential read QD32, SATA", &[], 1.0, 400_000);
    in_order.test = large_in_order(in_order.test);
    in_order.system = SATA;
    cases.push(in_order);
    let mut small_pages =
        case("4 KiB random write QD32, pages of 4 KiB", SMALL_PAGES, 0.0, 500_000);
    small_pages.test.span = Bytes(256_000_000_000 / 4096 * 4096);
    cases.push(small_pages);
    let mut striped = case("4 KiB 70/30 QD32, stripe of four", &[], 0.7, 500_000);
    striped.system = STRIPE;
    cases.push(striped);
    // These drives have more flash of the same kind; reads use the whole drive.
    for (capacity, blocks) in
        [("128 GB", "512"), ("512 GB", "2048"), ("2 TB", "8192"), ("16 TB", "64000")]
    {
        let settings = [("drive.capacity", capacity), ("drive.flash.blocks_per_plane", blocks)];
        let mut sized =
            case(&format!("4 KiB random read QD32, {capacity}"), &settings, 1.0, 1_000_000);
        let bytes: Bytes = capacity.parse().expect("a capacity");
        sized.test.span = Bytes(bytes.get() / 4096 * 4096);
        cases.push(sized);
    }
    for depth in [1, 1024, 65_536] {
        let queue = depth.max(1024).to_string();
        let settings = [("platform.nvme.queue_depth", queue.as_str())];
        let mut deep = case(&format!("4 KiB random read QD{depth}"), &settings, 1.0, 1_000_000);
        deep.test = deep.test.with(|asked| asked.queue_depth = depth);
        cases.push(deep);
    }
    for queues in [4, 64] {
        let count = queues.to_string();
        let settings =
            [("platform.nvme.queues", count.as_str()), ("platform.cpu.cores", count.as_str())];
        let name = format!("4 KiB random read QD16 x {queues} queues");
        let mut wide = case(&name, &settings, 1.0, 1_000_000);
        wide.test = Test { threads: queues, ..wide.test }.with(|asked| asked.queue_depth = 16);
        cases.push(wide);
    }
    cases
}

impl Case {
    pub(crate) fn test(&self, requests: u64) -> CheckedTest {
        let volume = Some(Bytes(self.test.block.get() * requests));
        Test { volume, ..self.test.clone() }.checked().expect("a case is a test that can be")
    }

    pub(crate) fn system(&self) -> System {
        let parts = SystemName::parse(self.system).expect("a system's name");
        let at = Location::file(self.system);
        let setting = |(parameter, value): &(&str, String)| {
            (
                ParameterOverride {
                    parameter: (*parameter).to_owned(),
                    value: value.clone(),
                    figure: None,
                    reason: None,
                },
                at.clone(),
            )
        };
        let settings: Vec<(ParameterOverride, Location)> =
            self.settings.iter().map(setting).collect();
        System::assemble(
            &Library::built_in(),
            &parts,
            &NameLocations::all(&at),
            self.system,
            &settings,
        )
        .expect("a system of the library")
    }
}
