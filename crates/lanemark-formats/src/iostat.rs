//! The extended statistics of `iostat -x`, as text or JSON, as a workload: the load of one device.
//!
//! Each direction becomes a job of fio, and the jobs run together: requests of the mean length at the mean rate, at
//! random times and offsets. The first of several reports covers the time since the system started and is omitted.
//! iostat does not state the order of the requests, their single lengths, or the data that a flush covers; flushes
//! follow writes.

use std::collections::{BTreeMap, BTreeSet};

use lanemark_schema::pasted::restored;
use serde_json::Value;

use crate::error::{FormatError, OptionNote, SupportLevel, shown};
use crate::fio::FioCommandLine;

/// Maximum number of rows of devices in a text.
const ROWS_MAX: usize = 100_000;
/// Maximum number of omitted devices that a note names.
const DEVICES_MAX: usize = 8;
/// Maximum value of a column.
const VALUE_MAX: f64 = 1e12;
/// Range of the length of a request in bytes. A test accepts multiples of 512 B.
const LENGTHS: (f64, f64) = (512.0, (64 << 20) as f64);
/// Maximum rounding of a rate that a note need not mention.
const ROUNDING_MAX: f64 = 0.02;
/// Number of requests that the slower direction submits, within [`SECONDS`].
const REQUESTS: f64 = 2000.0;
/// Range of the duration of the load, in seconds.
const SECONDS: (f64, f64) = (10.0, 60.0);
/// Beginnings of the names of devices whose requests another device in the list also receives.
const STACKED: [&str; 5] = ["dm-", "md", "loop", "zram", "bcache"];
/// The columns of a rate in bytes, with the direction's letter omitted, and their units.
const BYTE_COLUMNS: [(&str, f64); 3] = [("kB/s", 1024.0), ("MB/s", 1_048_576.0), ("sec/s", 512.0)];
/// The directions: the letter of their columns, fio's name, and the plural in texts.
const DIRECTIONS: [(&str, &str, &str); 3] =
    [("r", "randread", "reads"), ("w", "randwrite", "writes"), ("d", "randtrim", "trims")];

/// The values of a device by column, and their line.
struct DeviceRow {
    line: u64,
    device: String,
    values: BTreeMap<String, f64>,
}

/// The rows of one interval.
type Report = Vec<DeviceRow>;

/// Returns whether a text contains extended statistics of iostat.
pub fn is_ours(text: &str) -> bool {
    let text = &*restored(text);
    let is_heading = |line: &str| heading(line).is_some();
    text.lines().any(is_heading) || text.contains("\"sysstat\"") && text.contains("\"disk_device\"")
}

/// Reads the load of `device`, or of the busiest device, as a fio job file. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error for an impossible value, an unknown device, or a device without requests.
pub fn read(text: &str, file: &str, device: Option<&str>) -> Result<FioCommandLine, FormatError> {
    let text = &*restored(text);
    let mut reports = if text.contains("\"sysstat\"") {
        // A prompt may precede the object.
        json_reports(&text[text.find('{').unwrap_or(0)..], file)?
    } else {
        text_reports(text, file)?
    };
    reports.retain(|report| !report.is_empty());
    let since_start = reports.len() > 1;
    if since_start {
        reports.remove(0);
    }
    let rows: Vec<&DeviceRow> = reports.iter().flatten().collect();
    let device = selected(&rows, file, device)?;
    let omitted = others(&rows, &device);
    let rows: Vec<&DeviceRow> = rows.into_iter().filter(|row| row.device == device).collect();
    let mut draft = LoadDraft { file, rows: &rows, device: &device, notes: Vec::new() };
    let text = draft.job()?;
    draft.note(if since_start {
        "the first report covers the time since the system started and is omitted"
    } else {
        "the only report is the mean since the system started, unless iostat ran with -y"
    });
    if !omitted.is_empty() {
        draft.note(format!(
            "the requests of {} are omitted; {file}:{} selects another device",
            omitted.join(", "),
            omitted[0]
        ));
    }
    Ok(FioCommandLine { text, notes: draft.notes })
}

/// Returns the names of the devices with requests that are neither `selected` nor on top of others.
fn others(rows: &[&DeviceRow], selected: &str) -> Vec<String> {
    let has_requests = |row: &DeviceRow| {
        ["r/s", "w/s"].iter().any(|column| row.values.get(*column).is_some_and(|rate| *rate >= 1.0))
    };
    let is_stacked = |name: &str| STACKED.iter().any(|stacked| name.starts_with(stacked));
    let names: BTreeSet<&str> = rows
        .iter()
        .filter(|row| has_requests(row) && !is_stacked(&row.device))
        .filter(|row| row.device != selected && !is_partition(&row.device, selected))
        .map(|row| row.device.as_str())
        .collect();
    names.into_iter().take(DEVICES_MAX).map(shown).collect()
}

/// Returns whether `name` is a partition of the disk, whose requests include the requests to its partitions.
fn is_partition(name: &str, disk: &str) -> bool {
    let number = name.strip_prefix(disk).map(|rest| rest.trim_start_matches('p'));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns the columns of a heading, with the position of the device's name: the first or, with `-h`, the last.
fn heading(line: &str) -> Option<(Vec<&str>, usize)> {
    let mut columns: Vec<&str> = line.split_whitespace().collect();
    let device = columns.iter().position(|word| word.trim_end_matches(':') == "Device")?;
    columns.remove(device);
    let is_extended = ["r/s", "w/s", "%util"].iter().all(|name| columns.contains(name));
    is_extended.then_some((columns, device))
}

fn text_reports(text: &str, file: &str) -> Result<Vec<Report>, FormatError> {
    let mut reports: Vec<Report> = Vec::new();
    let mut columns: Vec<&str> = Vec::new();
    let mut device_at = 0;
    let mut count = 0;
    for (line, raw) in (1..).zip(text.lines()) {
        if let Some((found, at)) = heading(raw) {
            columns = found;
            device_at = at;
            reports.push(Report::new());
            continue;
        }
        let mut values: Vec<&str> = raw.split_whitespace().collect();
        let Some(report) = reports.last_mut().filter(|_| !values.is_empty()) else {
            columns.clear();
            continue;
        };
        if columns.is_empty() {
            continue;
        }
        let device = values.remove(device_at.min(values.len() - 1));
        if values.len() != columns.len() {
            let message = format!(
                "{} has {} values; expected {}",
                shown(device),
                values.len(),
                columns.len()
            );
            return Err(FormatError::at(file, line, message)
                .hint("paste the lines of iostat without line breaks"));
        }
        count += 1;
        if count > ROWS_MAX {
            return Err(FormatError::at(file, line, "too many rows").hint("use fewer reports"));
        }
        let mut row = DeviceRow { line, device: device.to_owned(), values: BTreeMap::new() };
        for (column, text) in columns.iter().zip(values) {
            let value = value(column, text);
            row.values.insert((*column).to_owned(), checked(file, line, column, text, value)?);
        }
        report.push(row);
    }
    Ok(reports)
}

/// Returns the value of a column. Some locales write a decimal comma; with `-h`, percentages have a sign, and sizes
/// have a unit, such as `28.5M` in a column in kB/s.
fn value(column: &str, text: &str) -> Option<f64> {
    let text = text.replace(',', ".");
    let digits = text.trim_end_matches(['%', 'k', 'M', 'G', 'T']);
    let number: f64 = digits.parse().ok()?;
    // Sizes of requests are in kB.
    let unit = BYTE_COLUMNS.iter().find(|(name, _)| column.ends_with(name));
    let unit = unit.map_or(1024.0, |(_, unit)| *unit);
    match &text[digits.len()..] {
        "" | "%" => Some(number),
        prefix => {
            let power = ["k", "M", "G", "T"].iter().position(|known| *known == prefix)?;
            Some(number * 1024_f64.powi(power as i32 + 1) / unit)
        }
    }
}

fn json_reports(text: &str, file: &str) -> Result<Vec<Report>, FormatError> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| FormatError::at(file, error.line() as u64, error.to_string()))?;
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let hosts = list(&document["sysstat"], "hosts");
    let mut reports = Vec::new();
    for report in hosts.iter().take(1).flat_map(|host| list(host, "statistics")) {
        let mut rows = Report::new();
        for disk in list(&report, "disk") {
            let Some(device) = disk["disk_device"].as_str() else { continue };
            let mut row = DeviceRow { line: 1, device: device.to_owned(), values: BTreeMap::new() };
            let columns = disk.as_object().into_iter().flatten();
            for (column, value) in columns.filter(|(_, value)| value.is_number()) {
                let text = value.to_string();
                // JSON names the column of utilisation `util`.
                let name = if column == "util" { "%util" } else { column };
                row.values
                    .insert(name.to_owned(), checked(file, 1, column, &text, value.as_f64())?);
            }
            rows.push(row);
        }
        reports.push(rows);
    }
    Ok(reports)
}

fn checked(
    file: &str,
    line: u64,
    column: &str,
    text: &str,
    value: Option<f64>,
) -> Result<f64, FormatError> {
    value.filter(|value| (0.0..=VALUE_MAX).contains(value)).ok_or_else(|| {
        let message =
            format!("{} is `{}`; expected a number from 0 to 1e12", shown(column), shown(text));
        FormatError::at(file, line, message)
    })
}

/// Returns the requested device, or the device with the most requests. Devices on top of others are selected last.
fn selected(rows: &[&DeviceRow], file: &str, wanted: Option<&str>) -> Result<String, FormatError> {
    let mut requests: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        let rate = |column: &str| row.values.get(column).copied().unwrap_or(0.0);
        *requests.entry(&row.device).or_default() += rate("r/s") + rate("w/s") + rate("d/s");
    }
    let names: Vec<String> = requests.keys().map(|name| shown(name)).collect();
    if let Some(wanted) = wanted {
        let error = || {
            FormatError::file(file, format!("there is no device `{}`", shown(wanted)))
                .hint(format!("one of {}", names.join(", ")))
        };
        return requests
            .get_key_value(wanted)
            .map(|(name, _)| (*name).to_owned())
            .ok_or_else(error);
    }
    let is_physical = |name: &str| !STACKED.iter().any(|stacked| name.starts_with(stacked));
    let busiest = requests.iter().max_by(|a, b| {
        is_physical(a.0).cmp(&is_physical(b.0)).then(a.1.total_cmp(b.1)).then(b.0.cmp(a.0))
    });
    busiest.map(|(name, _)| (*name).to_owned()).ok_or_else(|| {
        FormatError::file(file, "iostat's output contains no device")
            .hint("use the output of `iostat -x`")
    })
}

/// The load of a device under construction.
struct LoadDraft<'a> {
    file: &'a str,
    rows: &'a [&'a DeviceRow],
    device: &'a str,
    notes: Vec<OptionNote>,
}

impl LoadDraft<'_> {
    fn note(&mut self, reason: impl Into<String>) {
        self.notes.push(OptionNote {
            file: self.file.to_owned(),
            line: self.rows.first().map_or(1, |row| row.line),
            option: shown(self.device),
            kept: SupportLevel::Nearly,
            reason: reason.into(),
        });
    }

    /// Returns the mean of a column over the reports, if a report contains it.
    fn mean(&self, column: &str) -> Option<f64> {
        let values: Vec<f64> =
            self.rows.iter().filter_map(|row| row.values.get(column).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns the mean of a latency column in ms, weighted by the rate of its requests.
    fn latency(&self, column: &str, rate: &str) -> Option<f64> {
        let pairs = self
            .rows
            .iter()
            .filter_map(|row| Some((*row.values.get(column)?, *row.values.get(rate)?)));
        let (sum, count) =
            pairs.fold((0.0, 0.0), |(sum, count), (ms, rate)| (sum + ms * rate, count + rate));
        (count > 0.0).then(|| sum / count)
    }

    fn job(&mut self) -> Result<String, FormatError> {
        let mut jobs = String::new();
        let mut slowest = f64::INFINITY;
        let mut loads = Vec::new();
        for (letter, rw, plural) in DIRECTIONS {
            let stated = self.mean(&format!("{letter}/s")).unwrap_or(0.0);
            let rate = stated.round();
            if rate < 1.0 {
                if stated > 0.0 {
                    self.note(format!(
                        "{stated:.2} {plural}/s are omitted: less than one in two seconds"
                    ));
                }
                continue;
            }
            if (rate / stated - 1.0).abs() > ROUNDING_MAX {
                self.note(format!("{stated:.2} {plural}/s are rounded to {rate}"));
            }
            let Some(length) = self.length(letter) else {
                return Err(self.lacks(&format!("{letter}kB/s")));
            };
            jobs += &format!("[{plural}]\nrw={rw}\nbs={length}\nrate_iops={rate}\n");
            loads.push(format!("{rate} {plural}/s of {:.1} KiB", length as f64 / 1024.0));
            if letter == "w" {
                jobs += &self.flushes(rate, &mut loads);
            }
            slowest = slowest.min(rate);
        }
        if loads.is_empty() {
            let message = format!("{} has less than one request a second", shown(self.device));
            return Err(FormatError::file(self.file, message).hint("record iostat under load"));
        }
        self.note(format!(
            "{}; their order is not stated: random times and offsets",
            loads.join(", ")
        ));
        self.note_outcome();
        let seconds = (REQUESTS / slowest).clamp(SECONDS.0, SECONDS.1).round();
        let head = "[global]\nioengine=io_uring\ndirect=1\nnorandommap=1\niodepth=256\nrate_process=poisson\n";
        Ok(format!("{head}time_based=1\nruntime={seconds}\n{jobs}"))
    }

    /// Returns the mean length of the requests of a direction, a multiple of 512 B.
    fn length(&self, letter: &str) -> Option<u64> {
        let rate = self.mean(&format!("{letter}/s"))?;
        let bytes = BYTE_COLUMNS
            .iter()
            .find_map(|(column, unit)| Some(self.mean(&format!("{letter}{column}"))? * unit))?;
        let sectors = (bytes / rate).clamp(LENGTHS.0, LENGTHS.1) / LENGTHS.0;
        Some(sectors.round() as u64 * 512)
    }

    /// Returns the option for the flushes that follow `writes` writes a second.
    fn flushes(&self, writes: f64, loads: &mut Vec<String>) -> String {
        let Some(flushes) = self.mean("f/s").filter(|flushes| *flushes >= 0.5) else {
            return String::new();
        };
        // The nearest rate, not the nearest number of writes: 742 writes and 310 flushes are 371/s or 247/s.
        let less = (writes / flushes).floor().max(1.0);
        let apart = |every: f64| (writes / every / flushes).ln().abs();
        let every = if apart(less) <= apart(less + 1.0) { less } else { less + 1.0 };
        loads.push(format!(
            "a flush after each {}, {:.0}/s (iostat: {flushes:.0}/s)",
            match every as u64 {
                1 => "write".to_owned(),
                count => format!("{count} writes"),
            },
            writes / every
        ));
        format!("fdatasync={every}\n")
    }

    /// Adds a note with the latencies that iostat states, which are outcomes and not part of the load.
    fn note_outcome(&mut self) {
        let mut parts = Vec::new();
        for (column, rate, plural) in [
            ("r_await", "r/s", "reads"),
            ("w_await", "w/s", "writes"),
            ("f_await", "f/s", "flushes"),
        ] {
            if let Some(ms) = self.latency(column, rate) {
                parts.push(format!("{plural} {ms:.2} ms"));
            }
        }
        if let Some(depth) = self.mean("aqu-sz").or_else(|| self.mean("avgqu-sz")) {
            parts.push(format!("{depth:.1} requests outstanding"));
        }
        if let Some(busy) = self.mean("%util") {
            parts.push(format!("busy for {busy:.0}% of the time"));
        }
        if !parts.is_empty() {
            self.note(format!("measured on its own machine: {}", parts.join(", ")));
        }
    }

    fn lacks(&self, column: &str) -> FormatError {
        FormatError::file(self.file, format!("{} lacks the column {column}", shown(self.device)))
            .hint("use the output of `iostat -x`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "Device r/s rkB/s r_await w/s wkB/s w_await f/s f_await aqu-sz %util";
    const BUSY: &str = "nvme0n1 1822.00 29152.00 0.21 742.00 9310.00 4.10 310.00 2.90 4.32 99.60";

    fn load(text: &str, device: Option<&str>) -> FioCommandLine {
        read(text, "iostat.txt", device).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_busiest_device_becomes_jobs_of_its_mean_requests() {
        let text = format!(
            "Linux\n\n{HEADING}\n{BUSY}\nsda 1 8 1 0 0 0 0 0 0.1 3\ndm-0 9000 9000 1 0 0 0 0 0 1 9\n"
        );
        let read = load(&text, None);
        assert_eq!(
            read.text.replace('\n', " "),
            "[global] ioengine=io_uring direct=1 norandommap=1 iodepth=256 rate_process=poisson time_based=1 runtime=10 \
             [reads] rw=randread bs=16384 rate_iops=1822 [writes] rw=randwrite bs=12800 rate_iops=742 fdatasync=2 "
        );
        let notes: Vec<String> = read.notes.iter().map(ToString::to_string).collect();
        assert!(
            notes[1]
                .starts_with("iostat.txt:4: nvme0n1: measured on its own machine: reads 0.21 ms"),
            "{notes:?}"
        );
        assert!(load(&text, Some("sda")).text.contains("rate_iops=1\n"));
    }

    #[test]
    fn the_first_of_several_reports_is_omitted_and_the_others_are_averaged() {
        let row = |rate: u32| format!("{HEADING}\nsda {rate} {} 1,5 0 0 0 0 0 0 1\n", rate * 8);
        let read = load(&[row(9), row(100), row(300)].join("\n"), None);
        assert!(read.text.contains("bs=8192\nrate_iops=200\n"), "{}", read.text);
        assert!(
            read.notes.last().is_some_and(|note| note.reason.contains("since the system started"))
        );
    }

    #[test]
    fn other_units_and_json_give_the_same_load() {
        let old = "Device: rrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\nsda 0 50 0 400 0 8 1 1 1 5";
        let json = r#"{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk_device": "sda",
            "r/s": 50.0, "w/s": 0.0, "rkB/s": 200.0, "util": 5.0}]}]}]}}"#;
        for text in [old, json] {
            assert!(is_ours(text));
            assert!(
                load(text, None).text.contains("[reads]\nrw=randread\nbs=4096\nrate_iops=50\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_units_of_human_output_and_a_prompt_give_the_same_load() {
        let text = "$ iostat -xh 1\n  r/s rkB/s r_await rareq-sz w/s wkB/s %util Device\n 1822.00 28.5M 0,21 16.0k 0.00 0.0k 99.6% nvme0n1\n";
        assert!(
            load(text, None).text.contains("bs=16384\nrate_iops=1822\n"),
            "{}",
            load(text, None).text
        );
        let json = r#"$ iostat -o JSON
            {"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk_device": "sda",
            "r/s": 50.0, "w/s": 0.0, "rkB/s": 200.0, "util": 5.0}]}]}]}}"#;
        assert!(load(json, None).text.contains("bs=4096\nrate_iops=50\n"));
    }

    #[test]
    fn hostile_texts_are_errors_that_name_the_cause() {
        let with = |row: &str| format!("{HEADING}\n{row}\n");
        for (text, says) in [
            (with("sda 1 2"), "iostat.txt:2: sda has 2 values; expected 10"),
            (with("sda x 0 0 0 0 0 0 0 0 0"), "r/s is `x`"),
            (with("sda -1 0 0 0 0 0 0 0 0 0"), "r/s is `-1`"),
            (with("sda inf 0 0 0 0 0 0 0 0 0"), "r/s is `inf`"),
            (with("sda 0.2 1 0 0 0 0 0 0 0 0"), "less than one request a second"),
            (HEADING.to_owned(), "contains no device"),
            ("Device r/s w/s %util\nsda 5 0 1".to_owned(), "lacks the column rkB/s"),
            (r#"{"sysstat": {"disk_device": 1"#.to_owned(), "EOF"),
            (
                r#"{"sysstat": {"hosts": [{"statistics": 5}]}, "disk_device": 1}"#.to_owned(),
                "contains no device",
            ),
        ] {
            let error = read(&text, "iostat.txt", None).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = read(&with(BUSY), "iostat.txt", Some("sdz")).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("one of nvme0n1"));
    }
}
