//! Converts a row of the corpus to a drive file, a platform file and a test. The recipe uses only the row and the
//! drive's ratings, and does not contain rules for individual drives.

use std::fmt::Write;

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Test;

use crate::corpus::CorpusRow;
use crate::plug::{Connector, drive_plug};

/// Returns the capacity in a drive's name, such as `512GB`, `7.68TB` or `256 GB`.
pub fn capacity(name: &str) -> f64 {
    let text = name.to_uppercase();
    let mut found: Vec<(bool, f64)> = Vec::new();
    for (unit, bytes) in [("TB", 1e12), ("GB", 1e9)] {
        for (at, _) in text.match_indices(unit) {
            let before = text[..at].trim_end();
            let from = before.rfind(|c: char| !(c.is_ascii_digit() || c == '.'));
            let number = &before[from.map_or(0, |from| from + 1)..];
            let is_separate =
                from.is_none_or(|from| !before.as_bytes()[from].is_ascii_alphanumeric());
            if let Ok(number) = number.parse::<f64>() {
                found.push((is_separate, number * bytes));
            }
        }
    }
    // A separate number takes precedence over a number within a part number, as in `T253480GB 480GB`.
    let separate = found.iter().find(|(is_separate, _)| *is_separate);
    separate.or(found.first()).map_or(1e12, |(_, bytes)| *bytes)
}

/// Returns the drive file, with only the rated values.
pub fn drive_file(row: &CorpusRow, rated: Option<&CorpusRow>) -> String {
    let plug = drive_plug(row, rated);
    let kind = if row.text("drive_kind") == "hdd" { "hdd" } else { "ssd" };
    let capacity = capacity(row.text("drive"));
    let name = row.text("drive").replace('"', "'");
    let protocol = plug.protocol();
    let toml = plug.toml();
    let mut text = format!(
        "[drive]\nname = \"{name}\"\nkind = \"{kind}\"\ncapacity = \"{capacity:.0} B\"\n\
         port = {{ protocol = \"{protocol}\", {toml} }}\n\n[rated]\n"
    );
    if kind == "ssd" && is_for_servers(row.text("drive")) {
        text += "market = \"data-center\"\n";
    }
    if row.text("drive_kind") == "optane" {
        text += "nand = \"3d-xpoint\"\n";
    }
    let Some(rated) = rated else { return text };
    if let Some(year) = rated.number("year") {
        let _ = writeln!(text, "year = {year:.0}");
    }
    let cells = rated.text("nand").to_lowercase();
    let technology = ["qlc", "tlc", "mlc", "slc"].into_iter().find(|name| cells.contains(name));
    if let Some(name) = technology.filter(|_| row.text("drive_kind") != "optane" && kind == "ssd") {
        let _ = writeln!(text, "nand = \"{name}\"");
    }
    let memory = rated.text("dram").to_lowercase();
    if memory.starts_with("no") && kind == "ssd" {
        let of = if protocol == "nvme" { "host" } else { "none" };
        let _ = writeln!(text, "memory = \"{of}\"");
    }
    if let Some(rpm) = rated.number("rpm") {
        let _ = writeln!(text, "rpm = {rpm:.0}");
    }
    let link = plug.rate() / 1e6;
    for (column, key) in [("seq_read_mb_s", "read"), ("seq_write_mb_s", "write")] {
        if let Some(rate) = rated.number(column) {
            let _ = writeln!(text, "{key} = \"{:.0} MB/s\"", rate.min(link));
        }
    }
    if kind == "ssd" {
        for (column, key) in
            [("rand_read_iops", "random_read"), ("rand_write_iops", "random_write")]
        {
            if let Some(iops) = rated.number(column) {
                let _ = writeln!(text, "{key} = {iops:.0}");
            }
        }
        if let Some(latency) = rated.number("latency_us") {
            let _ = writeln!(text, "read_latency = \"{latency} us\"");
        }
    }
    text
}

/// Returns whether the drive's name belongs to a series for servers.
fn is_for_servers(name: &str) -> bool {
    let name = name.to_lowercase();
    let series = [
        "dc ", "dc1", "dc5", "dc6", "pm8", "pm17", "pm983", "pm9a3", "pm16", "sm8", "p4510",
        "p4610", "cd6", "cd7", "cd8", "cm6", "cm7", "7300", "7400", "7450", "9300", "5300", "5400",
        "d7-", "d5-", "d3-", "s3", "s4", "p55", "p58", "hgst", "sn6", "sn8",
    ];
    let word = |start: &str| name.split([' ', '-', '_']).any(|word| word.starts_with(start.trim()));
    series.iter().any(|start| word(start))
        && !name.contains("black")
        && !name.contains("blue")
        && !name.contains("sn850")
        && !name.contains("evo")
}

/// Returns the platform file, with a port for each drive, for the board that the row names.
pub fn platform_file(row: &CorpusRow, plug: Connector, path: Connector, drives: usize) -> String {
    // A SATA or SAS drive downstream of a PCIe adapter is limited by its own connector.
    let port = match (path, plug) {
        (Connector::Pcie(..), Connector::Sata(_) | Connector::Sas(..)) => plug,
        (path, _) => path,
    };
    // The values equal the values in the library's platforms for these boards.
    let board = row.text("platform").to_lowercase();
    let is_one_of = |names: [&str; 2]| names.iter().any(|name| board.contains(name));
    let (payload, completion) = if is_one_of(["compute module 4", "raspberry pi 4"]) {
        (128, 64)
    } else if is_one_of(["raspberry pi 5", "compute module 5"]) {
        (256, 128)
    } else {
        (256, 256)
    };
    let link = |indent: &str, generation, lanes| {
        format!(
            "{indent}pcie = {{ generation = {generation}, lanes = {lanes} }}\n{indent}payload_max = \"{payload} B\"\n\
             {indent}read_request_max = \"512 B\"\n{indent}completion_payload = \"{completion} B\"\n{indent}latency = {{ value = \"150 ns\", assumed = \"like a PCIe switch\" }}\n"
        )
    };
    // Rows with the same machine share the values of its platform.
    let name = row.text("platform").replace(['"', '\\'], "'");
    let name = if name.is_empty() { "unnamed" } else { &name };
    let mut text = format!(
        "[platform]\nname = \"{name}\"\n[cpu]\ncores = 16\nrequest_submit = \"1 us\"\nrequest_complete = \"1 us\"\n",
    );
    if let Some(processor) = lanemark_study::processors::of_machine(row.text("platform")) {
        let _ = writeln!(text, "speed = {}", processor.speed);
    }
    let memory = "memory_read = { value = \"500 ns\", assumed = \"SIGCOMM 2018\" }";
    for (table, queues, largest) in [
        ("ahci", "", "128 KiB"),
        ("nvme", "queues = 16\nqueue_depth = 1024\n", "1 MiB"),
        ("sas", "", "256 KiB"),
        ("uasp", "", "1 MiB"),
        ("bulk_only", "", "120 KiB"),
    ] {
        let _ = write!(
            text,
            "[{table}]\n{queues}driver_time = \"2 us\"\nsubmit_share = \"50%\"\ntransfer_max = \"{largest}\"\n{memory}\n"
        );
    }
    let uplink = match port {
        Connector::Pcie(..) => "",
        // The uplink belongs to the controller of a SATA or SAS port.
        _ => {
            let of = match path {
                Connector::Pcie(generation, lanes) => (generation, lanes),
                // The USB controller of the board is downstream of one lane.
                Connector::Usb(_) if board.contains("raspberry pi 4") => (2, 1),
                _ => (3, if drives > 4 { 8 } else { 4 }),
            };
            let _ = write!(
                text,
                "[[link]]\nname = \"uplink\"\nto = \"controller\"\nlabel = \"uplink\"\n{}",
                link("", of.0, of.1)
            );
            "behind = [\"uplink\"]\n"
        }
    };
    for number in 0..drives {
        let _ = write!(text, "[[port]]\nname = \"p{number}\"\n{uplink}");
        match port {
            Connector::Pcie(generation, lanes) => text += &link("", generation, lanes),
            other => text += &format!("{}\n", other.toml()),
        }
        if let Connector::Usb(_) = port {
            text += &bridge(plug, port.protocol());
        }
    }
    text
}

/// Returns the bridge of a USB enclosure, with the values from the library's platforms.
fn bridge(drive: Connector, protocol: &str) -> String {
    let (beyond, rate) = match drive {
        Connector::Pcie(..) => {
            let link = "pcie = { generation = 3, lanes = 2 }\npayload_max = \"256 B\"\nread_request_max = \"512 B\"\n";
            (link.to_owned(), "1050 MB/s")
        }
        other => (format!("{}\n", other.toml()), "430 MB/s"),
    };
    format!(
        "[port.bridge]\nname = \"{protocol} bridge\"\n{beyond}protocol = \"{protocol}\"\nlatency = {{ value = \"15 us\", assumed = \"firmware\", range = [\"8 us\", \"20 us\"] }}\n\
         command_time = {{ value = \"25 us\", assumed = \"about 40,000 commands a second\" }}\n\
         rate = {{ value = \"{rate}\", assumed = \"usual for measured enclosures\" }}\n"
    )
}

/// Returns the library host for the system that the row names.
pub fn host(row: &CorpusRow) -> &'static str {
    let os = row.text("os").to_lowercase();
    let platform = row.text("platform").to_lowercase();
    let year_of_windows =
        os.contains("windows 7") || os.contains("windows 8") || os.contains("vista");
    let is_of = |names: &[&str]| names.iter().any(|name| platform.contains(name));
    if is_of(&["raspberry pi 5", "compute module 5", "rock 5", "orange pi 5", "rk3588", "rk3576"]) {
        "single-board-a76"
    } else if is_of(&["raspberry", "rock", "orange pi", "banana", "odroid", "single-board"]) {
        "single-board"
    } else if year_of_windows {
        "windows-7"
    } else if os.contains("windows") || row.text("tool").contains("CrystalDiskMark") {
        "windows-ntfs"
    } else if row.text("target").starts_with("file") {
        if row.text("flush").starts_with("fsync after") { "linux-fsync" } else { "linux-file" }
    } else {
        "linux-block"
    }
}

/// Returns whether a row states the number of outstanding requests, with its queue depth, its threads, or a tool that
/// submits one request at a time.
fn states_outstanding(row: &CorpusRow) -> bool {
    let is_stated = ["queue_depth", "threads"].iter().any(|column| row.number(column).is_some());
    is_stated || row.text("tool").starts_with("PowerShell")
}

/// Returns whether a row measures sequential writes after the cache is full, and does not state their span and
/// duration. The test then spans the whole drive.
fn is_once_the_cache_is_full(row: &CorpusRow) -> bool {
    let is_stated = ["span_bytes", "duration_s"].iter().any(|column| row.number(column).is_some());
    row.text("class") == "writes-sustained" && row.text("pattern") == "sequential" && !is_stated
}

/// Returns whether a row measures an old file on the system drive. This applies to resctl-bench: its manual requires
/// the system drive, and the program creates the file once for all runs, which end with minutes of writes. By then, the
/// file is no longer in the pseudo-SLC cache.
pub fn is_of_a_system_drive(row: &CorpusRow) -> bool {
    row.text("tool").contains("resctl-bench")
}

/// Returns whether a row measures a drive that was completely written before the test.
pub fn is_preconditioned(row: &CorpusRow) -> bool {
    row.text("state") == "preconditioned"
}

/// Returns whether a row is the mean rate of writing the whole drive once.
pub fn is_of_the_whole_drive(row: &CorpusRow, drive_capacity: f64) -> bool {
    let span = row.number("span_bytes").unwrap_or(0.0);
    row.text("class") == "writes-sustained"
        && row.text("pattern") == "sequential"
        && row.text("state") == "fresh"
        && (span >= 0.9 * drive_capacity || row.text("place").contains("the whole capacity"))
}

/// Returns the test of the row, or `None` if the row does not state its requests or if these requests are not
/// simulated.
pub fn test(row: &CorpusRow, drive_capacity: f64) -> Option<Test> {
    if !states_outstanding(row) {
        return None;
    }
    let block = row.number("block_bytes").unwrap_or(match row.text("pattern") {
        "sequential" => 131_072.0,
        _ => 4096.0,
    });
    let block = Bytes(block as u64);
    let read = row.number("read_percent")? / 100.0;
    let mut test = match row.text("pattern") {
        "sequential" => Test::sequential_read(block),
        _ => Test::random_read(block),
    }
    .span(Bytes(64 << 30))
    .duration("1 s")
    .build()
    .ok()?
    .into_test();
    let requests = test.requests_mut()?;
    requests.read_share = Ratio::new(read)?;
    requests.queue_depth = row.number("queue_depth").unwrap_or(1.0) as u32;
    if ["each", "every", "synchronous"].iter().any(|word| row.text("flush").contains(word)) {
        requests.mix.flush_every = Some(1);
    }
    test.threads = row.number("threads").unwrap_or(1.0) as u32;
    // By default, CrystalDiskMark's file has a size of 1 GiB.
    let usual = match row.text("drive_kind") {
        _ if row.text("tool").contains("CrystalDiskMark") => f64::from(1 << 30),
        "hdd" if !row.text("target").contains("file") => drive_capacity,
        _ if row.text("target") == "device" => drive_capacity,
        _ if is_once_the_cache_is_full(row) => drive_capacity,
        _ => 8e9,
    };
    let span = row.number("span_bytes").unwrap_or(usual).min(drive_capacity);
    let lot = block.get() * u64::from(test.threads);
    test.span = Bytes((span as u64 / lot).max(1) * lot);
    test.volume = None;
    test.ramp = Duration::ZERO;
    test.duration = Some(Duration::from_seconds(1));
    Some(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_solid_state_drives_have_a_market() {
        for (name, kind, wanted) in [
            ("HGST Invented 4 TB", "hdd", false),
            ("HGST Invented 400 GB", "sata-ssd", true),
            ("Invented 1 TB", "nvme-ssd", false),
            ("Invented 1 TB", "hdd", false),
        ] {
            let row = [("drive", name), ("drive_kind", kind), ("interface", "SATA 6 Gb/s")];
            let text = drive_file(&CorpusRow::from_columns(&row), None);
            assert_eq!(text.contains("data-center"), wanted, "{name}, {kind}: {text}");
        }
    }

    #[test]
    fn a_drive_file_has_every_rating_and_no_more() {
        let row = CorpusRow::from_columns(&[
            ("drive", "Invented \"Pro\" 512GB"),
            ("drive_kind", "nvme-ssd"),
            ("interface", "PCIe 2.0 x2"),
        ]);
        let rated = CorpusRow::from_columns(&[
            ("year", "2019"),
            ("nand", "3D TLC (64 layers)"),
            ("dram", "none"),
            ("seq_read_mb_s", "3500"),
            ("seq_write_mb_s", "900"),
            ("rand_read_iops", "250000"),
            ("rand_write_iops", "240000"),
            ("latency_us", "85.5"),
        ]);
        // The link carries 1,000 MB/s.
        let wanted = "[drive]\nname = \"Invented 'Pro' 512GB\"\nkind = \"ssd\"\ncapacity = \"512000000000 B\"\n\
            port = { protocol = \"nvme\", pcie = { generation = 2, lanes = 2 } }\n\n[rated]\nyear = 2019\n\
            nand = \"tlc\"\nmemory = \"host\"\nread = \"1000 MB/s\"\nwrite = \"900 MB/s\"\n\
            random_read = 250000\nrandom_write = 240000\nread_latency = \"85.5 us\"\n";
        assert_eq!(drive_file(&row, Some(&rated)), wanted);
        let disk = CorpusRow::from_columns(&[("drive", "Invented 4 TB"), ("drive_kind", "hdd")]);
        let of_disk = CorpusRow::from_columns(&[
            ("rpm", "7200"),
            ("dram", "no"),
            ("nand", "none"),
            ("seq_read_mb_s", "180"),
            ("rand_read_iops", "100"),
            ("latency_us", "4000"),
        ]);
        let wanted = "[drive]\nname = \"Invented 4 TB\"\nkind = \"hdd\"\ncapacity = \"4000000000000 B\"\n\
            port = { protocol = \"ahci\", sata = \"6 Gb/s\" }\n\n[rated]\nrpm = 7200\nread = \"180 MB/s\"\n";
        assert_eq!(drive_file(&disk, Some(&of_disk)), wanted);
        let optane =
            CorpusRow::from_columns(&[("drive", "Invented 280GB"), ("drive_kind", "optane")]);
        let text = drive_file(
            &optane,
            Some(&CorpusRow::from_columns(&[("nand", "MLC"), ("dram", "yes")])),
        );
        assert!(text.ends_with("[rated]\nnand = \"3d-xpoint\"\n"), "{text}");
        let sata =
            CorpusRow::from_columns(&[("drive", "Invented 240GB"), ("drive_kind", "sata-ssd")]);
        let text = drive_file(&sata, Some(&CorpusRow::from_columns(&[("dram", "No DRAM")])));
        assert!(text.ends_with("[rated]\nmemory = \"none\"\n"), "{text}");
    }

    #[test]
    fn series_for_servers_are_found_by_their_names() {
        for (name, wanted) in [
            ("Intel SSD DC P4510 1TB", true),
            ("Samsung PM983 960GB", true),
            ("Kingston DC500R 480GB", true),
            ("Solidigm D7-P5510", true),
            ("Micron 7450 PRO", true),
            ("WD Black SN850X 1TB", false),
            ("WD Blue SN640", false),
            ("WD SN850 1TB", false),
            ("WD SN840 1TB", true),
            ("Samsung 850 EVO S3 1TB", false),
            ("Crucial MX500 1TB", false),
            ("Samsung 980 PRO", false),
        ] {
            assert_eq!(is_for_servers(name), wanted, "{name}");
        }
    }

    /// Returns the uplink and the ports of a platform file.
    fn ports(board: &str, plug: Connector, path: Connector, drives: usize) -> String {
        let text =
            platform_file(&CorpusRow::from_columns(&[("platform", board)]), plug, path, drives);
        let start = text.find("[[").unwrap();
        let name = if board.is_empty() { "unnamed" } else { board };
        let head = format!("[platform]\nname = \"{name}\"\n[cpu]\ncores = 16\n");
        assert!(text[..start].starts_with(&head), "{text}");
        for table in ["ahci", "nvme", "sas", "uasp", "bulk_only"] {
            assert!(text[..start].contains(&format!("[{table}]\n")), "{text}");
        }
        text[start..].to_owned()
    }

    /// Returns the keys of a PCIe link.
    fn link(generation: u32, lanes: u32, payload: u32, completion: u32) -> String {
        format!(
            "pcie = {{ generation = {generation}, lanes = {lanes} }}\npayload_max = \"{payload} B\"\n\
             read_request_max = \"512 B\"\ncompletion_payload = \"{completion} B\"\n\
             latency = {{ value = \"150 ns\", assumed = \"like a PCIe switch\" }}\n"
        )
    }

    #[test]
    fn a_platform_has_a_port_for_each_drive_on_its_board() {
        let nvme = Connector::Pcie(4, 4);
        let sata = Connector::Sata(6.0);
        let port = |number: u32| format!("[[port]]\nname = \"p{number}\"\n");
        let uplink = |keys: String| {
            format!("[[link]]\nname = \"uplink\"\nto = \"controller\"\nlabel = \"uplink\"\n{keys}")
        };
        let downstream = |number: u32| port(number) + "behind = [\"uplink\"]\nsata = \"6 Gb/s\"\n";
        let wanted = port(0) + &link(3, 4, 256, 256) + &port(1) + &link(3, 4, 256, 256);
        assert_eq!(ports("a board", nvme, Connector::Pcie(3, 4), 2), wanted);
        for (board, payload, completion) in [
            ("Raspberry Pi 5", 256, 128),
            ("Compute Module 5 IO", 256, 128),
            ("Raspberry Pi 4", 128, 64),
            ("Compute Module 4", 128, 64),
        ] {
            let wanted = port(0) + &link(2, 1, payload, completion);
            assert_eq!(ports(board, nvme, Connector::Pcie(2, 1), 1), wanted, "{board}");
        }
        // A SATA drive downstream of an adapter has the adapter's link as uplink. On a board, the uplink has four
        // lanes, or eight for more than four drives.
        let wanted = uplink(link(2, 1, 256, 256)) + &downstream(0);
        assert_eq!(ports("a board", sata, Connector::Pcie(2, 1), 1), wanted);
        let four: String = (0..4).map(downstream).collect();
        assert_eq!(ports("", sata, sata, 4), uplink(link(3, 4, 256, 256)) + &four);
        let five: String = (0..5).map(downstream).collect();
        assert_eq!(ports("", sata, sata, 5), uplink(link(3, 8, 256, 256)) + &five);
    }

    #[test]
    fn an_enclosure_has_a_bridge_to_its_drive() {
        let usb =
            |drive: Connector, board: &str, rate: f64| ports(board, drive, Connector::Usb(rate), 1);
        let text = usb(Connector::Sata(6.0), "a board", 5.0);
        assert!(
            text.contains(
                "usb = \"5 Gb/s\"\n[port.bridge]\nname = \"uasp bridge\"\nsata = \"6 Gb/s\"\n"
            ),
            "{text}"
        );
        assert!(text.contains("rate = { value = \"430 MB/s\""), "{text}");
        assert!(text.contains("generation = 3, lanes = 4"), "{text}");
        let text = usb(Connector::Pcie(3, 4), "a board", 0.48);
        assert!(
            text.contains(
                "[port.bridge]\nname = \"bulk-only bridge\"\npcie = { generation = 3, lanes = 2 }\n"
            ),
            "{text}"
        );
        assert!(text.contains("rate = { value = \"1050 MB/s\""), "{text}");
        let text = usb(Connector::Sata(6.0), "Raspberry Pi 4", 5.0);
        assert!(text.contains("generation = 2, lanes = 1") && text.contains("\"128 B\""), "{text}");
    }

    #[test]
    fn a_host_follows_from_system_board_and_tool() {
        for (values, wanted) in [
            (&[("platform", "Raspberry Pi 5"), ("os", "Windows")][..], "single-board-a76"),
            (&[("platform", "Radxa ROCK 5B")], "single-board-a76"),
            (&[("platform", "Radxa ROCK Pi 4")], "single-board"),
            (&[("platform", "Odroid HC4")], "single-board"),
            (&[("os", "Windows 7 x64")], "windows-7"),
            (&[("os", "Windows Vista")], "windows-7"),
            (&[("os", "Windows 10")], "windows-ntfs"),
            (&[("tool", "CrystalDiskMark 8")], "windows-ntfs"),
            (&[("os", "Linux"), ("target", "file on ext4")], "linux-file"),
            (&[("target", "file"), ("flush", "fsync after each write")], "linux-fsync"),
            (&[("os", "Linux"), ("target", "device")], "linux-block"),
        ] {
            assert_eq!(host(&CorpusRow::from_columns(values)), wanted, "{values:?}");
        }
    }

    #[test]
    fn the_test_of_a_row_has_its_requests_in_a_span_of_whole_blocks() {
        let of = |more: &[(&str, &str)]| {
            let mut values = vec![
                ("pattern", "random"),
                ("read_percent", "70"),
                ("queue_depth", "8"),
                ("target", "device"),
            ];
            values.extend(more);
            test(&CorpusRow::from_columns(&values), 1e12)
        };
        let plain = of(&[]).unwrap();
        assert_eq!((plain.block, plain.issue_depth(), plain.threads), (Bytes(4096), 8, 1));
        assert_eq!(plain.read_share().unwrap(), Ratio::new(0.7).unwrap());
        assert_eq!(plain.span.get(), (1e12 as u64) / 4096 * 4096);
        assert_eq!((plain.volume, plain.ramp), (None, Duration::ZERO));
        assert_eq!(plain.duration, Some(Duration::from_seconds(1)));
        let sequential = of(&[("pattern", "sequential"), ("threads", "3")]).unwrap();
        assert!(sequential.is_in_order() && sequential.block == Bytes::kibi(128));
        assert_eq!(sequential.span.get() % (3 * 131_072), 0);
        assert!(1e12 as u64 - sequential.span.get() < 3 * 131_072);
        for (flush, every) in [
            ("after each write", Some(1)),
            ("every write", Some(1)),
            ("synchronous", Some(1)),
            ("none", None),
            ("", None),
        ] {
            assert_eq!(of(&[("flush", flush)]).unwrap().mix().flush_every, every, "{flush}");
        }
        let span = |more: &[(&str, &str)]| of(more).unwrap().span.get();
        assert_eq!(span(&[("span_bytes", "1000000")]), 1_000_000 / 4096 * 4096);
        assert_eq!(span(&[("span_bytes", "100")]), 4096);
        assert_eq!(span(&[("span_bytes", "9000000000000")]), plain.span.get());
        assert_eq!(span(&[("tool", "CrystalDiskMark 6")]), 1 << 30);
        let file = 8_000_000_000 / 4096 * 4096;
        assert_eq!(span(&[("target", "file")]), file);
        assert_eq!(span(&[("target", "file"), ("drive_kind", "hdd")]), file);
        assert_eq!(span(&[("target", "disk"), ("drive_kind", "hdd")]), plain.span.get());
        let sustained =
            [("target", "file"), ("class", "writes-sustained"), ("pattern", "sequential")];
        assert!(span(&sustained) > 900_000_000_000);
        let mut timed = sustained.to_vec();
        timed.push(("duration_s", "60"));
        assert!(span(&timed) < 9_000_000_000);
        // A row that does not state its requests is not simulated.
        let unstated = [("pattern", "random"), ("read_percent", "100")];
        assert_eq!(test(&CorpusRow::from_columns(&unstated), 1e12), None);
        let by_tool = [unstated[0], unstated[1], ("tool", "PowerShell script")];
        assert_eq!(test(&CorpusRow::from_columns(&by_tool), 1e12).unwrap().issue_depth(), 1);
        let threads = [unstated[0], unstated[1], ("threads", "4")];
        assert_eq!(test(&CorpusRow::from_columns(&threads), 1e12).unwrap().threads, 4);
    }

    #[test]
    fn rows_of_whole_drives_state_it() {
        let of = |more: &[(&str, &str)]| {
            let mut values =
                vec![("class", "writes-sustained"), ("pattern", "sequential"), ("state", "fresh")];
            values.extend(more);
            is_of_the_whole_drive(&CorpusRow::from_columns(&values), 1e12)
        };
        assert!(of(&[("span_bytes", "900000000000")]) && !of(&[("span_bytes", "899999999999")]));
        assert!(of(&[("place", "writing the whole capacity")]) && !of(&[]));
        let whole = ("span_bytes", "1000000000000");
        assert!(!of(&[whole, ("state", "steady")]) && !of(&[whole, ("pattern", "random")]));
        assert!(!of(&[whole, ("class", "mix")]));
        assert!(is_preconditioned(&CorpusRow::from_columns(&[("state", "preconditioned")])));
        assert!(!is_preconditioned(&CorpusRow::from_columns(&[("state", "fresh")])));
        assert!(is_of_a_system_drive(&CorpusRow::from_columns(&[("tool", "resctl-bench 2")])));
        assert!(!is_of_a_system_drive(&CorpusRow::from_columns(&[("tool", "fio")])));
    }
}
