//! Texts that can be recognised, but not read: their names, and the text or command to use instead.

/// A text that is recognised, but not read as a result or as a list of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFormat {
    /// The name of the text, with its article.
    pub name: &'static str,
    /// An alternative to the text.
    pub advice: &'static str,
}

/// Strings that must all occur in a text, its name, and the advice.
type Entry = (&'static [&'static str], &'static str, &'static str);

const MEASURE: &str =
    "measure the same with `lanemark bench`, fio, CrystalDiskMark, KDiskMark or diskspd";
const FIO: &str = "run the same load with `fio --output-format=json+`, and read that output with `lanemark report`; it has the counts and settings";
const METADATA: &str = "it measures operations on names, which are not modelled";
const DATABASE: &str = "`lanemark oltp` runs a database's transactions and measures its storage";
pub(crate) const INSPECT: &str = "it describes a machine: `lanemark inspect FILE` shows its drives";
const REPLAY: &str = "it is a trace: `lanemark sim` and `lanemark bench` replay it";
const LOAD: &str = "it describes a load: `lanemark sim SYSTEM FILE` runs the load on another drive";
const IOSTAT: &str = "use the output of `iostat -x 1`, which states reads, writes and their sizes";
pub(crate) const WORKLOAD: &str =
    "it is a workload: use it with `lanemark sim` or `lanemark bench`";
const SCRIPT: &str =
    "use one of its commands as a workload: `lanemark sim SYSTEM -- fio --name=a …`";
const LISTED: &str = "use the output of `lsblk -J -O`";
const SMART: &str = "use the output of `sudo smartctl -a /dev/sda`, or of `lsblk -J -O`";
const WINDOWS: &str =
    "use the text that CrystalDiskInfo copies with Ctrl+C, or the output of `smartctl -a /dev/sda`";
const MAC: &str = "use the output of `smartctl -a disk0`";
const ADAPTER: &str = "use the output of `sudo smartctl -a -d megaraid,0 /dev/sda`";

/// Texts that another command reads, and results of other programs.
const RESULTS: &[Entry] = &[
    (&["\"schema_version\"", "\"provenance\""], "a Lanemark result", "it needs no conversion"),
    (&["\"json_format_version\"", "\"smartctl\""], "smartctl's JSON", INSPECT),
    (&["\"json_format_version\"", "\"model_name\""], "smartctl's JSON", INSPECT),
    (&["\"Devices\"", "\"ModelNumber\""], "the JSON of `nvme list`", INSPECT),
    (&["\"blockdevices\""], "lsblk's JSON", INSPECT),
    (&["<topology"], "lstopo's XML", INSPECT),
    (&["LnkSta:", "LnkCap:"], "lspci's output", INSPECT),
    (&[" Non-Volatile memory controller: "], "lspci's output", INSPECT),
    (&[" SATA controller: "], "lspci's output", INSPECT),
    (&["iolog", "fio version 2"], "a fio trace", REPLAY),
    (&["'TEST SETUP"], "Iometer's settings", WORKLOAD),
    (&["AS SSD Benchmark"], "an AS SSD Benchmark result", MEASURE),
    (&["ATTO Disk Benchmark"], "an ATTO Disk Benchmark result", MEASURE),
    (&["HD Tune"], "an HD Tune result", MEASURE),
    (&["Anvil's Storage Utilities"], "a result from Anvil's Storage Utilities", MEASURE),
    (&["Timing buffered disk reads"], "hdparm's output", MEASURE),
    (&["Timing O_DIRECT disk reads"], "hdparm's output", MEASURE),
    (&["records in", "records out"], "dd's output", MEASURE),
    (&["sysbench", "File operations"], "sysbench's output", MEASURE),
    (&["Iozone"], "iozone's output", MEASURE),
    (&["Sequential Output", "Sequential Input"], "bonnie++'s output", MEASURE),
    (&["ioping statistics"], "ioping's output", MEASURE),
    (&["Vdbench"], "vdbench's output", MEASURE),
    (&["vdbench"], "vdbench's output", MEASURE),
    (&["IOS/call=", "IOPS="], "the output of fio's t/io_uring", FIO),
    (&["<PhoronixTestSuite"], "a result of the Phoronix Test Suite", FIO),
    (&["Queue Depth/Thread", "Write %"], "a table of ezFIO", FIO),
    (&["IOR-", "Max Write"], "IOR's output", MEASURE),
    (&["mdtest-", "SUMMARY rate"], "mdtest's output", METADATA),
    (&["fio Disk Speed Tests"], "the output of YABS", FIO),
    (&["I/O Speed(1st run)"], "the output of bench.sh, which runs dd", MEASURE),
    (&["Windows System Assessment Tool"], "the output of winsat", MEASURE),
    (&["number of transactions actually processed", "tps ="], "pgbench's output", DATABASE),
    (&["filebench", "IO Summary"], "Filebench's output", MEASURE),
];

/// Loads of a running machine.
const LOADS: &[Entry] = &[
    (&["%util", "r/s"], "iostat's output", LOAD),
    (&["\"sysstat\"", "\"disk_device\""], "iostat's output", LOAD),
    (&["kB_read/s", "tps"], "iostat's output without -x", IOSTAT),
    (&["MB_read/s", "tps"], "iostat's output without -x", IOSTAT),
    (
        &["%util", "rqm/s", "areq-sz"],
        "iostat's output with -s, which adds reads and writes",
        IOSTAT,
    ),
    (&["%util", "tps", "aqu-sz"], "sar's output, which adds reads and writes", IOSTAT),
    (&["operations", "bandwidth", "alloc"], "the output of `zpool iostat`", IOSTAT),
    (&["procs --", "-io--"], "vmstat's output", IOSTAT),
    (&["Total DISK READ"], "iotop's output", IOSTAT),
];

/// Texts about machines that state neither links nor health.
const MACHINES: &[Entry] = &[
    (&["Personalities :"], "/proc/mdstat, which lists arrays without their drives' models", LISTED),
    (&["Raid Level :", "Raid Devices :"], "mdadm's list of an array", LISTED),
    (&["  pool: ", "config:"], "zpool's list of pools, without their drives' models", LISTED),
    (&["Filesystem", "Mounted on"], "df's list of file systems", LISTED),
    (&["Disk /dev/", " sectors"], "fdisk's list of partitions", LISTED),
    (&["major minor ", "#blocks"], "the kernel's list of partitions", LISTED),
    (&[" UUID=\"", " TYPE=\""], "blkid's list of file systems", LISTED),
    (&["*-disk", "logical name:"], "lshw's list of disks", LISTED),
    (&["Hardware Class: disk"], "hwinfo's list of disks", LISTED),
    (&["Drives:", "Local Storage:"], "inxi's list of drives", LISTED),
    (&["Subsystem-NQN"], "the output of `nvme list -v`", "use the output of `nvme list`"),
    (
        &["Bus 0", " Device 0", ": ID "],
        "lsusb's list of devices, without their drivers and rates",
        "use the output of `lsusb -t`",
    ),
    (
        &["/:  Bus "],
        "lsusb's tree without a mass storage device",
        "connect the drive, and use the output of `lsusb -t`",
    ),
    (
        &["Smartctl open device:", "failed"],
        "smartctl's message that it could not open the drive",
        "run it with sudo, and name the drive: `sudo smartctl -a /dev/nvme0`",
    ),
    (&[" -d ", " # /dev/"], "smartctl's list of devices", SMART),
    (&["ATA device, with"], "hdparm's list of a drive's features", SMART),
    (&["EID:Slt", "State"], "the list of drives of storcli", ADAPTER),
    (&["Enclosure Device ID:"], "the list of drives of MegaCli", ADAPTER),
    (&["Friendly Name", "HealthStatus"], "PowerShell's list of disks", WINDOWS),
    (&["FriendlyName", "HealthStatus"], "PowerShell's list of disks", WINDOWS),
    (&["PHYSICALDRIVE"], "wmic's list of disks", WINDOWS),
    (&["/dev/disk", "IDENTIFIER"], "diskutil's list of disks", MAC),
    (&["NVMExpress:", "BSD Name:"], "system_profiler's list of disks", MAC),
];

/// A script of commands. Other texts may contain one, so it comes last.
const SCRIPTS: &[Entry] = &[(&["#!/", "fio "], "a shell script that runs fio", SCRIPT)];

/// Returns the format of a text that contains the strings of an entry within its first MiB.
pub(crate) fn find(text: &str) -> Option<KnownFormat> {
    find_in(text, entries())
}

/// Returns the format of a text like [`find`], if it is a result or a load.
pub(crate) fn find_result(text: &str) -> Option<KnownFormat> {
    find_in(text, [RESULTS, LOADS].into_iter().flatten())
}

fn find_in(text: &str, mut entries: impl Iterator<Item = &'static Entry>) -> Option<KnownFormat> {
    let head = text.char_indices().nth(1 << 20).map_or(text, |(end, _)| &text[..end]);
    entries
        .find(|(parts, ..)| parts.iter().all(|part| head.contains(part)))
        .map(|&(_, name, advice)| KnownFormat { name, advice })
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    [RESULTS, LOADS, MACHINES, SCRIPTS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives;
    use crate::recognised::{RecognisedFormat, recognise};

    /// No entry hides another one, and no reader takes the text of an entry for its own.
    #[test]
    fn each_text_has_its_own_name() {
        for (parts, name, advice) in entries() {
            let known = KnownFormat { name, advice };
            let text = format!("-\n{}\n", parts.join("\n"));
            if drives::is_ours(&text) {
                let error = drives::read(&text, "f").unwrap_err().to_string();
                assert_eq!(error, format!("f: is {name}"), "{parts:?}");
            } else {
                assert_eq!(recognise(&text), RecognisedFormat::Known(known), "{parts:?}");
            }
        }
    }
}
