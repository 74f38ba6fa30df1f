//! Drives of the library, each in the first port that accepts it.

use std::path::Path;

use lanemark_sim::SystemSpec;
use lanemark_study::library::LibraryKind;
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Library, Location, System};

/// Ports for each kind of drive; a drive uses the first port that it fits into.
const PORTS: [&str; 4] =
    ["workstation-z170:sata", "workstation-z170:m2", "server-pcie5:bay", "server-pcie5:sas"];

/// Returns the systems of the drives that `is_included` selects, in the order of their names.
pub(crate) fn systems(is_included: impl Fn(&Library, &str) -> bool) -> Vec<(String, SystemSpec)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library");
    let library = Library::in_folder(&folder).unwrap();
    let assembled = |drive: String| {
        PORTS.iter().find_map(|port| {
            let name = format!("{drive}@{port}");
            let parts = SystemName::parse(&name).unwrap();
            let named_at = NameLocations::all(&Location::file(&name));
            let system = System::assemble(&library, &parts, &named_at, &name, &[]).ok()?;
            Some((name, system.spec.into_spec()))
        })
    };
    let mut drives = library.names(LibraryKind::Drive);
    drives.sort();
    drives.retain(|drive| is_included(&library, drive));
    drives.into_iter().filter_map(assembled).collect()
}
