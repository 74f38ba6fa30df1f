//! The one mechanical recipe by which a row of the corpus becomes a drive file, a platform file and a test. It knows what
//! the row and the drive's ratings say, and nothing of any drive.

use std::fmt::Write;

use lanemark_core::units::{Bytes, Duration, Ratio};
use lanemark_core::workload::Test;

use crate::corpus::Row;

/// The connector of a drive or port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plug {
    /// Generation and lanes.
    Pcie(u32, u32),
    /// Gb/s.
    Sata(f64),
    /// Gb/s and phys.
    Sas(f64, u32),
    /// Gb/s of a USB port with a bridge that speaks UASP. Drives are never of this kind.
    Usb(f64),
}

impl Plug {
    /// Finds `PCIe 3.0 x4`, `SATA 6 Gb/s` or `SAS 12 Gb/s` in a text.
    pub(crate) fn find(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split([' ', ',', ';', '(', ')']).collect();
        let after = |name: &str, place: usize| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + place)?.parse::<f64>().ok()
        };
        if let Some(generation) = after("pcie", 1) {
            let lanes = words.iter().find_map(|word| word.strip_prefix('x')?.parse().ok());
            return Some(Self::Pcie(generation as u32, lanes.unwrap_or(4)));
        }
        if let Some(rate) = after("sata", 1) {
            return Some(Self::Sata(rate));
        }
        after("sas", 1).map(|rate| Self::Sas(rate, 1))
    }

    /// The port that a row's path names, else one like the drive's own; an error for USB 2.0, which the simulator does not have.
    pub(crate) fn of_path(row: &Row, drive: Self) -> Result<Self, String> {
        let path = row.text("path").to_lowercase();
        if path.contains("usb 2") {
            return Err("USB 2.0 is not simulated".into());
        }
        if path.contains("usb 3") {
            return Ok(Self::Usb(if path.contains("10 gb/s") { 10.0 } else { 5.0 }));
        }
        Ok(Self::find(&path).unwrap_or(drive))
    }

    /// Bytes a second after the line code.
    pub(crate) fn rate(self) -> f64 {
        match self {
            Self::Pcie(generation, lanes) => {
                let lane = [250e6, 500e6, 984.6e6, 1969.2e6, 3938.5e6];
                lane[(generation as usize - 1).min(4)] * f64::from(lanes)
            }
            Self::Sata(rate) => rate * 1e8,
            Self::Sas(rate, phys) => rate * 1e8 * f64::from(phys),
            Self::Usb(rate) if rate < 10.0 => rate * 1e8,
            Self::Usb(rate) => rate * 1e9 / 8.0 * 128.0 / 132.0,
        }
    }

    fn toml(self) -> String {
        match self {
            Self::Pcie(generation, lanes) => {
                format!("pcie = {{ generation = {generation}, lanes = {lanes} }}")
            }
            Self::Sata(rate) => format!("sata = \"{rate} Gb/s\""),
            Self::Sas(rate, phys) => format!("sas = {{ rate = \"{rate} Gb/s\", phys = {phys} }}"),
            Self::Usb(rate) => format!("usb = \"{rate} Gb/s\""),
        }
    }

    fn protocol(self) -> &'static str {
        match self {
            Self::Pcie(..) => "nvme",
            Self::Sata(_) => "ahci",
            Self::Sas(..) => "sas",
            Self::Usb(_) => "uasp",
        }
    }
}

/// The connector of the row's drive: as its ratings or the row say, else as drives of the kind had when such rates were
/// rated.
pub(crate) fn drive_plug(row: &Row, rated: Option<&Row>) -> Plug {
    let told = rated.and_then(|rated| Plug::find(rated.text("interface")));
    if let Some(plug) = told.or_else(|| Plug::find(row.text("interface"))) {
        return plug;
    }
    let read = rated.and_then(|rated| rated.number("seq_read_mb_s")).unwrap_or(3000.0);
    match row.text("drive_kind") {
        "nvme-ssd" | "optane" if read > 7600.0 => Plug::Pcie(5, 4),
        "nvme-ssd" | "optane" if read > 3800.0 => Plug::Pcie(4, 4),
        "nvme-ssd" | "optane" => Plug::Pcie(3, 4),
        "sas-ssd" => Plug::Sas(12.0, 1),
        _ => Plug::Sata(6.0),
    }
}

/// The capacity in a drive's name, `512GB`, `7.68TB`, `256 GB`.
pub(crate) fn capacity(name: &str) -> f64 {
    let text = name.to_uppercase();
    let mut found: Vec<(bool, f64)> = Vec::new();
    for (unit, bytes) in [("TB", 1e12), ("GB", 1e9)] {
        for (at, _) in text.match_indices(unit) {
            let before = text[..at].trim_end();
            let from = before.rfind(|c: char| !(c.is_ascii_digit() || c == '.'));
            let number = &before[from.map_or(0, |from| from + 1)..];
            let stands_alone =
                from.is_none_or(|from| !before.as_bytes()[from].is_ascii_alphanumeric());
            if let Ok(number) = number.parse::<f64>() {
                found.push((stands_alone, number * bytes));
            }
        }
    }
    // A number that stands alone, not one in the name of a part: `T253480GB 480GB`.
    let alone = found.iter().find(|(stands_alone, _)| *stands_alone);
    alone.or(found.first()).map_or(1e12, |(_, bytes)| *bytes)
}

/// The drive file: what is rated, and nothing else.
pub(crate) fn drive_file(row: &Row, rated: Option<&Row>) -> String {
    let plug = drive_plug(row, rated);
    let kind = if row.text("drive_kind") == "hdd" { "hdd" } else { "ssd" };
    let capacity = capacity(row.text("drive"));
    let name = row.text("drive").replace('"', "'");
    let (protocol, toml) = (plug.protocol(), plug.toml());
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

/// Whether a name is one of a series for servers, as makers name these. Of other drives the ratings tell.
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

/// The platform file: one port that the drive goes into, with the host that the row tells of.
pub(crate) fn platform_file(row: &Row, (plug, path): (Plug, Plug), drives: usize) -> String {
    // What stands in between limits, not what is beyond the drive.
    let port = match (path, plug) {
        (Plug::Pcie(..), Plug::Sata(_) | Plug::Sas(..)) => plug,
        (path, _) => path,
    };
    // As the library's platforms of these boards.
    let board = row.text("platform").to_lowercase();
    let is_one_of = |names: [&str; 2]| names.iter().any(|name| board.contains(name));
    let (payload, completion) = match () {
        () if is_one_of(["compute module 4", "raspberry pi 4"]) => (128, 64),
        () if is_one_of(["raspberry pi 5", "compute module 5"]) => (256, 128),
        () => (256, 256),
    };
    let link = |indent: &str, generation, lanes| {
        format!(
            "{indent}pcie = {{ generation = {generation}, lanes = {lanes} }}\n{indent}payload_max = \"{payload} B\"\n\
             {indent}read_request_max = \"512 B\"\n{indent}completion_payload = \"{completion} B\"\n{indent}latency = {{ value = \"150 ns\", assumed = \"as a PCIe switch\" }}\n"
        )
    };
    let mut text = String::from(
        "[platform]\nname = \"of the row\"\n[cpu]\ncores = 16\nrequest_submit = \"1 us\"\nrequest_complete = \"1 us\"\n",
    );
    let memory = "memory_read = { value = \"500 ns\", assumed = \"SIGCOMM 2018\" }";
    for (table, queues, largest) in [
        ("ahci", "", "128 KiB"),
        ("nvme", "queues = 16\nqueue_depth = 1024\n", "1 MiB"),
        ("sas", "", "256 KiB"),
        ("uasp", "", "1 MiB"),
    ] {
        let _ = write!(
            text,
            "[{table}]\n{queues}driver_time = \"2 us\"\nsubmit_share = \"50%\"\ntransfer_max = \"{largest}\"\n{memory}\n"
        );
    }
    let behind = match port {
        Plug::Pcie(..) => "",
        // The controller of a SATA or SAS port.
        _ => {
            let of = match path {
                Plug::Pcie(generation, lanes) => (generation, lanes),
                // The USB controller of the board sits behind one lane.
                Plug::Usb(_) if board.contains("raspberry pi 4") => (2, 1),
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
        let _ = write!(text, "[[port]]\nname = \"p{number}\"\n{behind}");
        match port {
            Plug::Pcie(generation, lanes) => text += &link("", generation, lanes),
            other => text += &format!("{}\n", other.toml()),
        }
        if let Plug::Usb(_) = port {
            text += &bridge(plug);
        }
    }
    text
}

/// The bridge of a USB enclosure, as the library's platforms have such.
fn bridge(drive: Plug) -> String {
    let (beyond, rate) = match drive {
        Plug::Pcie(..) => {
            let link = "pcie = { generation = 3, lanes = 2 }\npayload_max = \"256 B\"\nread_request_max = \"512 B\"\n";
            (link.to_owned(), "1050 MB/s")
        }
        other => (format!("{}\n", other.toml()), "460 MB/s"),
    };
    format!(
        "[port.bridge]\nname = \"UASP bridge\"\n{beyond}protocol = \"uasp\"\nlatency = {{ value = \"5 us\", assumed = \"firmware\" }}\n\
         command_time = {{ value = \"25 us\", assumed = \"about 40,000 commands a second\" }}\n\
         rate = {{ value = \"{rate}\", assumed = \"as such enclosures are measured\" }}\n"
    )
}

/// The host of the library that the row tells of.
pub(crate) fn host(row: &Row) -> &'static str {
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
        match row.text("flush").starts_with("fsync after") {
            true => "linux-fsync",
            false => "linux-file",
        }
    } else {
        "linux-block"
    }
}

/// Whether a row tells how many requests its tool had outstanding: by its depth, its threads, or its tool, which asks for
/// one at a time by the way that it is written.
fn tells_what_is_outstanding(row: &Row) -> bool {
    let told = ["queue_depth", "threads"].iter().any(|column| row.number(column).is_some());
    told || row.text("tool").starts_with("PowerShell")
}

/// Whether a row is of a drive that is written from end to end, without telling how much of that: then it is of what comes
/// once the cache is full, as its class says.
fn is_once_the_cache_is_full(row: &Row) -> bool {
    let is_told = ["span_bytes", "duration_s"].iter().any(|column| row.number(column).is_some());
    row.text("class") == "writes-sustained" && row.text("pattern") == "sequential" && !is_told
}

/// Whether a row is of a file that lies for long on the drive that the system runs from. resctl-bench is one of those: its
/// manual asks for such a drive, and its program makes the file once for all of its runs, which end in writes for minutes.
/// What is read has left the pseudo-SLC cache by then.
pub(crate) fn is_of_a_system_drive(row: &Row) -> bool {
    row.text("tool").contains("resctl-bench")
}

/// Whether a row is of a drive that was written from end to end before.
pub(crate) fn is_preconditioned(row: &Row) -> bool {
    row.text("state") == "preconditioned"
}

/// Whether a row is the mean over a drive that is written from end to end once.
pub(crate) fn is_of_the_whole_drive(row: &Row, drive_capacity: f64) -> bool {
    let span = row.number("span_bytes").unwrap_or(0.0);
    row.text("class") == "writes-sustained"
        && row.text("pattern") == "sequential"
        && row.text("state") == "fresh"
        && (span >= 0.9 * drive_capacity || row.text("place").contains("the whole capacity"))
}

/// The test of the row; none where what it asks is not told or not simulated.
pub(crate) fn test(row: &Row, drive_capacity: f64) -> Option<Test> {
    if !tells_what_is_outstanding(row) {
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
    // CrystalDiskMark's file is 1 GiB unless somebody says otherwise.
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
