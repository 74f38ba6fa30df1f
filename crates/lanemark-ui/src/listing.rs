//! The library and the values of a system, as a page lists them.

use lanemark_lab::LabError;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};
use lanemark_sim::spec::ProtocolKind;
use lanemark_study::document::{Context, Document};
use lanemark_study::library::LibraryKind;
use lanemark_study::platform::Platform;
use lanemark_study::{Ledger, Library, Origin, Overrides, System, ValueRecord, catalogue};
use serde::Serialize;

use crate::{machine, workload_run};

#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    /// Drives, by the names of their files.
    pub drives: Vec<ListedDrive>,
    /// Platforms, by the names of their files.
    pub platforms: Vec<ListedPlatform>,
    /// The workloads that a page can run.
    pub workloads: Vec<ListedWorkload>,
    /// Files that could not be read, each with the reason.
    pub unread: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ListedDrive {
    id: String,
    name: String,
    maker: String,
    year: Option<u16>,
    kind: &'static str,
    interface: String,
    connector: String,
    capacity: String,
    capacity_bytes: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ListedPlatform {
    id: String,
    name: String,
    ports: Vec<ListedPort>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ListedMachine {
    platform: ListedPlatform,
    /// Devices without a port, each with the reason.
    left_out: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ListedPort {
    name: String,
    connector: String,
    /// The links to the processor, in order from the processor.
    behind: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ListedWorkload {
    id: String,
    name: String,
    tests: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ListedValue {
    /// Path of the value, as used with `--set`.
    parameter: String,
    /// The value as written.
    text: String,
    quantity: &'static str,
    /// Origin of the value: `sourced`, `derived`, `assumed` or `set`.
    origin: &'static str,
    /// The source, the derivation or the reason.
    note: String,
    /// Bounds of the range that contains 80% of values of this kind, each divided by the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[f64; 2]>,
    /// The possible values, if there are few.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    choices: &'static [&'static str],
}

/// Reads the beginnings of all library files that a page can use.
pub fn listing(library: &Library) -> Listing {
    let mut unread = Vec::new();
    let mut drives = Vec::new();
    for id in library.names(LibraryKind::Drive) {
        match catalogue::drive(library, &id) {
            Ok(entry) => drives.push(drive_listed(entry)),
            Err(error) => unread.push(error.to_string()),
        }
    }
    let mut platforms = Vec::new();
    for id in library.names(LibraryKind::Platform) {
        match platform(library, &id) {
            Ok(one) => platforms.push(platform_listed(id, one)),
            Err(error) => unread.push(error.message),
        }
    }
    let mut workloads = Vec::new();
    for id in library.names(LibraryKind::Workload) {
        // Workloads that are too long for a page can be run only on the command line.
        if let Ok(workload) = workload_run::open(library, &id) {
            let tests = workload.tests.iter().map(|test| test.name.clone()).collect();
            workloads.push(ListedWorkload { id, name: workload.name, tests });
        }
    }
    Listing { drives, platforms, workloads, unread }
}

fn platform(library: &Library, id: &str) -> Result<Platform, LabError> {
    read(&library.open(LibraryKind::Platform, id)?)
}

fn read(file: &Document) -> Result<Platform, LabError> {
    let ledger = Ledger::default();
    let overrides = Overrides::default();
    Ok(Platform::read(file, Context { ledger: &ledger, overrides: &overrides })?)
}

/// Lists this machine for a page.
///
/// # Errors
/// Returns an error if the machine's file is not a platform.
pub fn machine(file: &Document, left_out: Vec<String>) -> Result<ListedMachine, LabError> {
    Ok(ListedMachine { platform: platform_listed(machine::NAME.to_owned(), read(file)?), left_out })
}

fn drive_listed(entry: catalogue::DriveEntry) -> ListedDrive {
    let interface = match entry.protocol {
        ProtocolKind::Nvme => "NVMe",
        ProtocolKind::SasHba => "SAS",
        _ => "SATA",
    };
    ListedDrive {
        id: entry.id,
        name: entry.name,
        maker: entry.maker,
        year: entry.year,
        kind: entry.kind.words(),
        interface: interface.to_owned(),
        connector: entry.plug.to_string(),
        capacity: entry.capacity.to_string(),
        capacity_bytes: entry.capacity.get(),
    }
}

fn platform_listed(id: String, platform: Platform) -> ListedPlatform {
    let ports = platform.ports.iter().map(|port| ListedPort {
        name: port.name.clone(),
        connector: port.plug.to_string(),
        behind: port.behind.iter().map(|link| link.spec.name.clone()).collect(),
    });
    ListedPlatform { id, ports: ports.collect(), name: platform.name }
}

/// Returns the values of a system that a page can set, without repeats: first the values of the path's links, then the
/// other assumed values, then the rest.
pub fn values(system: &System) -> Vec<ListedValue> {
    let mut seen = std::collections::BTreeSet::new();
    let records = system.values.iter().filter(|record| seen.insert(record.parameter.as_str()));
    let mut values: Vec<_> = records.map(|record| value_listed(system, record)).collect();
    values.sort_by_key(|value| {
        let is_of_link = ["platform.link.", "platform.port.", "drive.port."]
            .iter()
            .any(|prefix| value.parameter.starts_with(prefix));
        (!is_of_link, value.origin != "assumed")
    });
    values
}

fn value_listed(system: &System, record: &ValueRecord) -> ListedValue {
    let (origin, note) = match &record.origin {
        Origin::Sourced(text) => ("sourced", text.as_str()),
        Origin::Derived(text) => ("derived", text.as_str()),
        Origin::Assumed(text) => ("assumed", text.as_deref().unwrap_or_default()),
        Origin::Overridden => ("set", ""),
    };
    let uncertain = system.uncertain.iter().find(|value| value.parameter == record.parameter);
    ListedValue {
        parameter: record.parameter.clone(),
        text: record.text.clone(),
        quantity: quantity(&record.text),
        origin,
        note: note.to_owned(),
        range: uncertain.map(|value| [value.range.low, value.range.high]),
        choices: choices(&record.parameter),
    }
}

/// Returns the quantity of a text, determined from its unit.
fn quantity(text: &str) -> &'static str {
    match text {
        _ if text.parse::<Duration>().is_ok() => "time",
        _ if text.parse::<BytesPerSecond>().is_ok() => "rate",
        _ if text.parse::<Bytes>().is_ok() => "size",
        _ if text.parse::<Ratio>().is_ok() => "share",
        _ if text.replace('_', "").parse::<f64>().is_ok() => "number",
        _ => "text",
    }
}

/// Returns the possible values of a link's parameter, if there are few.
fn choices(parameter: &str) -> &'static [&'static str] {
    let is_link = parameter.contains(".pcie.");
    match parameter.rsplit('.').next() {
        Some("lanes") if is_link => &["1", "2", "4", "8", "16"],
        Some("generation") if is_link => &["1", "2", "3", "4", "5", "6"],
        Some("sata") => &["1.5 Gb/s", "3 Gb/s", "6 Gb/s"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_library_is_listed() {
        let library = Library::built_in();
        let listing = listing(&library);
        assert_eq!(listing.unread, Vec::<String>::new());
        assert_eq!(listing.drives.len(), library.names(LibraryKind::Drive).len());
        assert_eq!(listing.platforms.len(), library.names(LibraryKind::Platform).len());
        let eight = listing.workloads.iter().find(|entry| entry.id == "crystaldiskmark-8").unwrap();
        assert_eq!(eight.tests.len(), 8);
        let board = listing.platforms.iter().find(|entry| entry.id == "workstation-z170").unwrap();
        let m2 = board.ports.iter().find(|port| port.name == "m2").unwrap();
        assert_eq!((m2.connector.as_str(), m2.behind.len()), ("PCIe 3.0 x4", 1));
    }

    #[test]
    fn a_value_has_its_quantity_origin_and_range() {
        let name = "samsung-950-pro-512gb@workstation-z170:m2";
        let system = lanemark_lab::assemble(&Library::built_in(), name, &[]).unwrap();
        let values = values(&system);
        let find = |parameter: &str| values.iter().find(|value| value.parameter == parameter);
        let read = find("drive.flash.read").unwrap();
        assert_eq!((read.text.as_str(), read.quantity, read.origin), ("50 us", "time", "sourced"));
        assert!(find("platform.link.dmi.pcie.lanes").is_some_and(|value| value.choices.len() == 5));
        let assumed = find("platform.cpu.request_submit").unwrap();
        assert!(assumed.origin == "assumed" && assumed.range.is_some_and(|[low, high]| low < high));
        let place = |parameter: &str| values.iter().position(|value| value.parameter == parameter);
        assert!(place("platform.port.m2.pcie.lanes") < place("platform.cpu.request_submit"));
        assert!(place("platform.cpu.request_submit") < place("drive.flash.read"));
    }

    #[test]
    fn a_text_has_the_quantity_of_its_unit() {
        for (text, wanted) in [
            ("50 us", "time"),
            ("600 MB/s", "rate"),
            ("4 KiB", "size"),
            ("70%", "share"),
            ("12", "number"),
            ("1_000.5", "number"),
            ("tlc", "text"),
            ("", "text"),
        ] {
            assert_eq!(quantity(text), wanted, "{text}");
        }
        for (parameter, count) in [
            ("platform.link.dmi.pcie.lanes", 5),
            ("platform.link.dmi.pcie.generation", 6),
            ("drive.port.sata", 3),
            ("drive.flash.lanes", 0),
            ("drive.flash.generation", 0),
            ("drive.flash.read", 0),
        ] {
            assert_eq!(choices(parameter).len(), count, "{parameter}");
        }
    }
}
