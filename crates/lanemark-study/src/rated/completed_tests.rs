//! Completes drives of every kind from their ratings, and compares each value, its origin and its range with an
//! expected file. `LANEMARK_BLESS=1` rewrites the file.

use std::fmt::Write as _;
use std::path::Path;

use super::*;

/// The name, kind, capacity, port and ratings of a drive.
type DriveRatings = [&'static str; 5];

const NVME_4: &str = "protocol = \"nvme\", pcie = { generation = 4, lanes = 4 }";
const NVME_3: &str = "protocol = \"nvme\", pcie = { generation = 3, lanes = 4 }";
const SATA: &str = "protocol = \"ahci\", sata = \"6 Gb/s\"";
const SATA_2: &str = "protocol = \"ahci\", sata = \"3 Gb/s\"";
const SAS: &str = "protocol = \"sas\", sas = { rate = \"12 Gb/s\", phys = 1 }";

const DRIVES: [DriveRatings; 16] = [
    ["client without ratings", "ssd", "1000 GB", NVME_4, "market = \"client\"\nyear = 2021\n"],
    [
        "client with all ratings",
        "ssd",
        "2000 GB",
        NVME_4,
        "market = \"client\"\nyear = 2022\nnand = \"tlc\"\nread = \"7000 MB/s\"\nwrite = \"6500 MB/s\"\n\
         random_read = 1000000\nrandom_write = 900000\nrandom_read_qd1 = 22000\nrandom_write_qd1 = 80000\n\
         pseudo_slc = \"200 GB\"\npseudo_slc_kept = \"20 GB\"\n",
    ],
    [
        "client with a cache of unknown parts",
        "ssd",
        "1000 GB",
        NVME_4,
        "market = \"client\"\nyear = 2021\nnand = \"tlc\"\nwrite = \"5000 MB/s\"\npseudo_slc = \"100 GB\"\n\
         steady_write = \"1500 MB/s\"\nsteady_random_write = 120000\n",
    ],
    [
        "client without memory",
        "ssd",
        "512 GB",
        NVME_3,
        "market = \"client\"\nyear = 2020\nnand = \"qlc\"\nmemory = \"host\"\nread = \"2400 MB/s\"\n",
    ],
    [
        "client with a cache below the span of ratings",
        "ssd",
        "480 GB",
        SATA,
        "market = \"client\"\nyear = 2018\nnand = \"tlc\"\nmemory = \"none\"\npseudo_slc = \"500 MB\"\n\
         read_latency = \"90 us\"\nwrite_latency = \"40 us\"\n",
    ],
    [
        "client without a cache",
        "ssd",
        "256 GB",
        SATA,
        "market = \"client\"\nyear = 2015\nnand = \"tlc\"\npseudo_slc = \"0 B\"\nread = \"540 MB/s\"\n",
    ],
    [
        "client that compresses",
        "ssd",
        "120 GB",
        SATA,
        "market = \"client\"\nyear = 2011\nnand = \"mlc\"\nwrite = \"515 MB/s\"\nrandom_write = 85000\n\
         compresses_to = \"40%\"\n",
    ],
    ["early client", "ssd", "64 GB", SATA_2, "market = \"client\"\nwrite = \"90 MB/s\"\n"],
    [
        "early client of one bit a cell",
        "ssd",
        "32 GB",
        SATA_2,
        "market = \"client\"\nyear = 2008\nnand = \"slc\"\nrandom_read = 35000\nrandom_write = 3300\n",
    ],
    [
        "data center, steady",
        "ssd",
        "3840 GB",
        NVME_4,
        "read = \"6800 MB/s\"\nwrite = \"4000 MB/s\"\nrandom_read = 1000000\nrandom_write = 180000\n",
    ],
    [
        "data center, many dies",
        "ssd",
        "15360 GB",
        NVME_3,
        "market = \"data-center\"\nyear = 2019\nwrite = \"3000 MB/s\"\nrandom_write = 90000\n",
    ],
    ["data center without ratings", "ssd", "960 GB", SATA, "market = \"data-center\"\n"],
    [
        "data center, SAS",
        "ssd",
        "1600 GB",
        SAS,
        "year = 2016\nread = \"1000 MB/s\"\nrandom_read = 200000\nsteady_random_write = 90000\n",
    ],
    [
        "3D XPoint",
        "ssd",
        "960 GB",
        NVME_3,
        "market = \"client\"\nnand = \"3d-xpoint\"\nread = \"2600 MB/s\"\nwrite = \"2200 MB/s\"\n\
         random_read = 575000\nrandom_write = 550000\nread_latency = \"10 us\"\n",
    ],
    [
        "desktop disk",
        "hdd",
        "4000 GB",
        SATA,
        "year = 2014\nrpm = 5400\nread = \"150 MB/s\"\ncache = \"64 MiB\"\n",
    ],
    [
        "nearline disk",
        "hdd",
        "10000 GB",
        SAS,
        "year = 2016\nrpm = 7200\nread = \"249 MB/s\"\naverage_seek = \"8 ms\"\n\
         average_write_seek = \"8.6 ms\"\ntrack_to_track = \"0.3 ms\"\nheads = 14\ncache = \"256 MiB\"\n",
    ],
];

/// Returns each value of a drive, with its origin and the bounds of its range.
fn values([_, kind, capacity, port, rated]: DriveRatings) -> String {
    let text = format!(
        "[drive]\nname = \"a drive\"\nkind = \"{kind}\"\ncapacity = \"{capacity}\"\nport = {{ {port} }}\n\
         [rated]\n{rated}"
    );
    let ledger = Ledger::default();
    let context = Context { ledger: &ledger, overrides: &Overrides::default() };
    let file = Document::parse("the drive file", &text).unwrap();
    let completed = complete(&file, &Library::built_in(), context).unwrap().unwrap();
    let spec = Drive::read(&completed, context).unwrap().spec;
    spec.media.check(spec.capacity).unwrap();
    let mut values = String::new();
    for record in ledger.records() {
        let range =
            record.range.map(|range| format!("{:.4} to {:.4} times", range.low, range.high));
        let _ = writeln!(
            values,
            "{} = {}; {}; {:?}",
            record.parameter,
            record.text,
            range.unwrap_or_default(),
            record.origin
        );
    }
    values
}

#[test]
fn every_value_of_drives_of_every_kind() {
    let mut seen = String::new();
    for drive in DRIVES {
        let _ = writeln!(seen, "# {}\n{}", drive[0], values(drive));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/rated.txt");
    if std::env::var_os("LANEMARK_BLESS").is_some() {
        std::fs::write(&path, &seen).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    for (number, (seen, wanted)) in seen.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(seen, wanted, "line {}; bless it with LANEMARK_BLESS=1", number + 1);
    }
    assert_eq!(seen.lines().count(), wanted.lines().count());
}
