//! The beginning of a page: the list of the library, the presets of the test, and well-known questions. Each question
//! is a link that anyone can send.

use lanemark_schema::workload::Fault;
use lanemark_study::Library;
use serde::Serialize;

use crate::listing::{self, Listing};
use crate::request::{OffsetOrder, SystemRequest, TestRequest};

/// The data in a page at its start.
#[derive(Debug, Serialize)]
pub struct PageStart {
    library: Listing,
    presets: Vec<Preset>,
    questions: Vec<Question>,
    /// The kinds of faults.
    faults: Vec<&'static str>,
}

/// A preset of the test.
#[derive(Clone, Debug, Serialize)]
pub struct Preset {
    pub name: &'static str,
    pub test: TestRequest,
}

/// A question that a page answers.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// The part of the address after `#question=`.
    pub id: &'static str,
    pub title: &'static str,
    pub systems: Vec<SystemRequest>,
    pub test: TestRequest,
}

impl PageStart {
    /// Returns the beginning of a page with the built-in library.
    pub fn new() -> Self {
        let library = listing::listing(&Library::built_in());
        let faults = Fault::kinds().collect();
        Self { library, presets: presets().into(), questions: questions().into(), faults }
    }
}

impl Default for PageStart {
    fn default() -> Self {
        Self::new()
    }
}

fn test(block: &str, pattern: OffsetOrder, read_percent: f64, queue_depth: u32) -> TestRequest {
    let block = block.to_owned();
    TestRequest { block, pattern, read_percent, queue_depth, ..TestRequest::default() }
}

fn span(span: &str, test: TestRequest) -> TestRequest {
    TestRequest { span: span.to_owned(), ..test }
}

fn database() -> TestRequest {
    span("8 GiB", test("8 KiB", OffsetOrder::Random, 70.0, 32))
}

fn systems<const N: usize>(names: [&str; N]) -> Vec<SystemRequest> {
    names.map(SystemRequest::named).into()
}

fn boot() -> TestRequest {
    span("8 GiB", test("16 KiB", OffsetOrder::Random, 95.0, 4))
}

/// Returns the presets of the test.
pub fn presets() -> [Preset; 4] {
    let video = span("8 GiB", test("1 MiB", OffsetOrder::Sequential, 80.0, 4));
    let files = span("32 GiB", test("16 KiB", OffsetOrder::Random, 80.0, 16));
    [
        Preset { name: "Database", test: database() },
        Preset { name: "Video", test: video },
        Preset { name: "Boot", test: boot() },
        Preset { name: "File server", test: TestRequest { threads: 4, ..files } },
    ]
}

pub fn questions() -> [Question; 8] {
    let fast = "samsung-980-pro-1tb@amd-b550:m2";
    let third = ("platform.port.m2.pcie.generation".to_owned(), "3".to_owned());
    let slow = SystemRequest { set: vec![third], ..SystemRequest::named(fast) };
    [
        Question {
            id: "pcie-4",
            title: "Does my SSD need PCIe 4.0?",
            systems: vec![SystemRequest::named(fast), slow],
            test: boot(),
        },
        Question {
            id: "sata-or-nvme",
            title: "SATA or NVMe for my database?",
            systems: systems([
                "samsung-860-pro-1tb@workstation-z170:sata",
                "samsung-970-pro-1tb@workstation-z170:m2",
            ]),
            // One processor core would limit the faster drive.
            test: TestRequest { threads: 4, ..database() },
        },
        Question {
            id: "chipset-slot",
            title: "What does the chipset slot cost?",
            systems: systems([
                "samsung-980-pro-1tb@amd-b650:m2",
                "samsung-980-pro-1tb@amd-b650:m2-2",
            ]),
            test: test("4 KiB", OffsetOrder::Random, 100.0, 1),
        },
        Question {
            id: "full-cache",
            title: "How long until the cache is full?",
            systems: systems([fast]),
            test: TestRequest {
                duration: "60 s".to_owned(),
                ..span("256 GiB", test("1 MiB", OffsetOrder::Sequential, 0.0, 8))
            },
        },
        Question {
            id: "one-uplink",
            title: "Four drives behind one uplink",
            systems: systems([
                "stripe-64KiB:samsung-860-pro-1tb@intel-x99:sata+sata-2+sata-3+sata-4",
                "stripe-64KiB:samsung-860-pro-1tb@intel-z270:sata+sata-2+sata-3+sata-4",
            ]),
            test: test("1 MiB", OffsetOrder::Sequential, 100.0, 8),
        },
        Question {
            id: "queue-depth",
            title: "How deep a queue?",
            systems: systems([fast]),
            test: test("4 KiB", OffsetOrder::Random, 100.0, 32),
        },
        Question {
            id: "etcd",
            title: "Is this drive good enough for etcd?",
            systems: systems([fast, "intel-dc-p4510-1tb@server-xeon-scalable-sas3008:bay"]),
            test: TestRequest { flush: true, ..test("4 KiB", OffsetOrder::Sequential, 0.0, 1) },
        },
        Question {
            id: "cloud",
            title: "Cloud volume or local drive?",
            systems: systems(["aws-gp3-1tib@aws-m5-4xlarge:volume", fast]),
            test: database(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command;
    use crate::request::SLOTS;

    #[test]
    fn each_question_and_preset_can_be_simulated() {
        let library = Library::built_in();
        let questions = questions();
        for question in &questions {
            assert!(question.systems.len() <= usize::from(SLOTS), "{}", question.id);
            command::workload(&question.test, &[]).unwrap();
            for system in &question.systems {
                system.assemble(&library).unwrap_or_else(|error| panic!("{system:?}: {error}"));
            }
        }
        let ids: BTreeSet<&str> = questions.iter().map(|question| question.id).collect();
        assert_eq!(ids.len(), questions.len());
        for preset in presets() {
            command::workload(&preset.test, &[]).unwrap();
        }
    }
}
