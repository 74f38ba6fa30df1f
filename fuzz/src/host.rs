//! A host file is read or rejected, and a valid host on a platform forms a system that passes the check of systems.

use super::with_file;
use lanemark_study::Location;
use lanemark_study::library::Library;
use lanemark_study::system::{NameLocations, System, SystemName};

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    with_file(text, |path| {
        let library = Library::built_in();
        let at = Location::file("SYSTEM");
        for (drive, port) in
            [("samsung-950-pro-512gb", "pcie-slot"), ("samsung-850-pro-1tb", "sata")]
        {
            let name = format!("{drive}@workstation-z170,{}:{port}", path.display());
            let parts = SystemName::parse(&name).unwrap();
            if let Ok(system) =
                System::assemble(&library, &parts, &NameLocations::all(&at), &name, &[])
            {
                system.spec.check().unwrap();
            }
        }
    });
}
