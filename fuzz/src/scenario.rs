//! The faults of `serve --scenario`: each accepted fault can be written as on a command line, and the system that a
//! server builds with the faults is valid or rejected.

use std::sync::LazyLock;

use lanemark_schema::workload::Fault;
use lanemark_study::Location;
use lanemark_study::library::Library;
use lanemark_study::system::{NameLocations, System, SystemName};
use lanemark_study::workload::scenario;

static SYSTEMS: LazyLock<Vec<System>> = LazyLock::new(|| {
    let library = Library::built_in();
    let at = Location::file("SYSTEM");
    let drive = "samsung-850-pro-1tb@workstation-z170:sata";
    let names = [drive.to_owned(), format!("mirror:{drive}+sata-2")];
    let assemble = |name: &String| {
        let parts = SystemName::parse(name).unwrap();
        System::assemble(&library, &parts, &NameLocations::all(&at), name, &[]).unwrap()
    };
    names.iter().map(assemble).collect()
});

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(faults) = scenario("scenario.toml", text) else { return };
    assert!(!faults.is_empty());
    for fault in &faults {
        assert_eq!(fault.to_string().parse::<Fault>().unwrap(), *fault);
    }
    for system in &*SYSTEMS {
        let _ = system.with_faults(&faults, &Location::file("scenario.toml"));
    }
}
