//! A priors file of each kind is read or rejected, and drives that are completed with it form systems that pass the
//! check of systems.

use std::fs;

use lanemark_study::Location;
use lanemark_study::library::Library;
use lanemark_study::system::{NameLocations, System, SystemName};

const FILES: [&str; 3] = ["nand.toml", "controllers.toml", "disks.toml"];
/// Rated drives, each with its port.
const RATED: [(&str, &str); 3] = [
    (
        r#"
[drive]
name = "NVMe"
kind = "ssd"
source = "none"
capacity = "1024 GB"
port = { protocol = "nvme", pcie = { generation = 3, lanes = 4 } }
[rated]
source = "none"
year = 2018
nand = "tlc"
memory = "dram"
read = "3500 MB/s"
"#,
        "pcie-slot",
    ),
    (
        r#"
[drive]
name = "SATA"
kind = "ssd"
source = "none"
capacity = "512 GB"
port = { protocol = "ahci", sata = "6 Gb/s" }
[rated]
source = "none"
year = 2014
memory = "dram"
steady_random_write = 15000
"#,
        "sata",
    ),
    (
        r#"
[drive]
name = "Disk"
kind = "hdd"
source = "none"
capacity = "1000 GB"
port = { protocol = "ahci", sata = "6 Gb/s" }
[rated]
source = "none"
year = 2012
rpm = 7200
"#,
        "sata",
    ),
];

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // The table in the text determines which of the three files the text replaces.
    let Some(own) =
        ["[[nand]]", "[[controller]]", "[[disk]]"].iter().position(|table| text.contains(table))
    else {
        return;
    };
    let source = super::root().join("library");
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let place = |name: &str| folder.path().join(name);
    for name in ["drives", "priors", "platforms"] {
        fs::create_dir(place(name)).unwrap();
    }
    for file in FILES {
        fs::copy(source.join("priors").join(file), place("priors").join(file)).unwrap();
    }
    fs::write(place("priors").join(FILES[own]), text).unwrap();
    let platform = "workstation-z170.toml";
    fs::copy(source.join("platforms").join(platform), place("platforms").join(platform)).unwrap();
    let library = Library::in_folder(folder.path()).unwrap();
    let at = Location::file("SYSTEM");
    for (index, (drive, port)) in RATED.iter().enumerate() {
        let path = place("drives").join(format!("drive-{index}.toml"));
        fs::write(&path, drive).unwrap();
        let name = format!("{}@workstation-z170:{port}", path.display());
        let parts = SystemName::parse(&name).unwrap();
        if let Ok(system) = System::assemble(&library, &parts, &NameLocations::all(&at), &name, &[])
        {
            system.spec.check().unwrap();
        }
    }
}
