//! The writes, the wear and the age of a drive, from SMART data.

use std::path::{Path, PathBuf};

use lanemark_formats::drives::{self, DescribedDrive};
use lanemark_lab::input;

use crate::output::failure::Failure;

const HOURS_PER_YEAR: f64 = 24.0 * 365.25;
/// Maximum used share that a drive can report: NVMe stores the per cent in a byte.
const USED_MAX: f64 = 255.0;

/// The use of a drive until its last SMART report.
pub(super) struct SmartUse {
    /// Name of the last file.
    pub(super) file: String,
    pub(super) model: Option<String>,
    pub(super) size_bytes: Option<u64>,
    pub(super) written_terabytes: f64,
    /// Used share of the rated endurance.
    pub(super) share: Option<f64>,
    pub(super) age_years: f64,
    pub(super) daily_gigabytes: f64,
    /// Description of the writes and their time.
    pub(super) source: String,
}

/// A file and the drive that it describes.
struct SmartReport {
    file: String,
    drive: DescribedDrive,
    written: f64,
}

/// Reads one or two reports of a drive. Returns `None` without a file.
pub(super) fn read(files: &[PathBuf]) -> Result<Option<SmartUse>, Failure> {
    let mut reports =
        files.iter().map(|file| SmartReport::read(file)).collect::<Result<Vec<_>, _>>()?;
    let (gigabytes, hours, source) = match reports.as_mut_slice() {
        [] => return Ok(None),
        [only] => since_new(only)?,
        [one, two] => between(one, two)?,
        more => {
            let message = format!("{} files with --smart", more.len());
            return Err(Failure::input(message).hint("use the oldest and the newest report"));
        }
    };
    let Some(SmartReport { file, drive, written }) = reports.pop() else { return Ok(None) };
    if gigabytes <= 0.0 {
        return Err(Failure::input(format!("{file}: the host has not written in this time"))
            .hint("a drive that is not written to does not wear"));
    }
    if let Some(used) = drive.endurance_used.filter(|used| *used > USED_MAX) {
        let message = format!("{file}: {used}% of the endurance used: the maximum is {USED_MAX}%");
        return Err(Failure::input(message).hint("the file is damaged"));
    }
    let age_hours = drive.usage.power_on_hours.unwrap_or(0.0);
    Ok(Some(SmartUse {
        model: drive.model,
        size_bytes: drive.size_bytes,
        written_terabytes: written / 1e12,
        share: drive.endurance_used.map(|used| used / 100.0),
        age_years: age_hours / HOURS_PER_YEAR,
        daily_gigabytes: gigabytes * 24.0 / hours,
        source,
        file,
    }))
}

/// Returns the GB and the hours of one report.
fn since_new(report: &SmartReport) -> Result<(f64, f64, String), Failure> {
    let hours = report.drive.usage.power_on_hours.filter(|hours| *hours > 0.0);
    let Some(hours) = hours else {
        return Err(Failure::input(format!("{}: no power-on hours", report.file))
            .hint("add a second report of the drive, from another day, with --smart"));
    };
    let gigabytes = report.written / 1e9;
    let source = format!(
        "{gigabytes:.0} GB in {hours:.0} power-on hours; the time without power is not counted"
    );
    Ok((gigabytes, hours, source))
}

/// Returns the GB and the hours between two reports, and puts them in the order of their dates.
fn between(one: &mut SmartReport, two: &mut SmartReport) -> Result<(f64, f64, String), Failure> {
    let date = |report: &SmartReport| {
        report.drive.usage.reported_at.ok_or_else(|| {
            Failure::input(format!("{}: no date (local_time)", report.file))
                .hint("use the output of `smartctl -j -x`")
        })
    };
    if date(one)? > date(two)? {
        std::mem::swap(one, two);
    }
    let drives = [&one.drive, &two.drive].map(|drive| (&drive.model, &drive.usage.serial));
    if drives[0] != drives[1] {
        let message = format!("{} and {} are of different drives", one.file, two.file);
        return Err(Failure::input(message).hint("use two reports of one drive"));
    }
    let hours = (date(two)? - date(one)?) / 3600.0;
    if hours <= 0.0 {
        let message = format!("{} and {} have the same date", one.file, two.file);
        return Err(Failure::input(message).hint("use reports of two days"));
    }
    if two.written < one.written {
        let message =
            format!("{}: less data written than in {}, which is older", two.file, one.file);
        return Err(Failure::input(message).hint("use two reports of one drive"));
    }
    let gigabytes = (two.written - one.written) / 1e9;
    let days = hours / 24.0;
    Ok((gigabytes, hours, format!("{gigabytes:.1} GB in {days:.1} days between two reports")))
}

impl SmartReport {
    fn read(path: &Path) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let text = input::text(path, input::JOB_MAX)?;
        let mut listed = drives::read(&text, &file)?;
        if listed.len() != 1 {
            return Err(Failure::input(format!("{file} lists {} drives", listed.len()))
                .hint("use the output of `smartctl -j -x` for one drive"));
        }
        let drive = listed.remove(0);
        let Some(written) = drive.usage.written_bytes else {
            return Err(Failure::input(format!(
                "{file}: the amount of written data is not stated"
            ))
            .hint("use the output of `smartctl -j -x`"));
        };
        Ok(Self { file, drive, written })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Reads reports with these changes to a usual report.
    fn read_all(changes: &[Value]) -> Result<SmartUse, String> {
        let folder = tempfile::tempdir().unwrap();
        let files = changes.iter().enumerate().map(|(number, change)| {
            let mut report = json!({"json_format_version": [1, 0], "model_name": "A 1TB", "serial_number": "S1",
                "local_time": {"time_t": 1_700_000_000}, "power_on_time": {"hours": 1000},
                "nvme_smart_health_information_log": {"data_units_written": 2_000_000, "percentage_used": 61}});
            report.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let file = folder.path().join(format!("{number}.json"));
            std::fs::write(&file, report.to_string()).unwrap();
            file
        });
        let files: Vec<PathBuf> = files.collect();
        read(&files).map(Option::unwrap).map_err(|failure| failure.to_string())
    }

    fn later(days: i64, units: u64) -> Value {
        json!({"local_time": {"time_t": 1_700_000_000 + days * 86_400},
            "nvme_smart_health_information_log": {"data_units_written": units, "percentage_used": 62}})
    }

    #[test]
    fn writes_are_divided_by_the_time_of_the_reports() {
        // 2,000,000 units of 512,000 bytes are 1,024 GB.
        let one = read_all(&[json!({})]).unwrap();
        assert!((one.daily_gigabytes - 24.576).abs() < 1e-9, "{}", one.daily_gigabytes);
        assert_eq!((one.share, one.written_terabytes), (Some(0.61), 1.024));
        let two = read_all(&[json!({}), later(10, 3_000_000)]).unwrap();
        assert!((two.daily_gigabytes - 51.2).abs() < 1e-9, "{}", two.daily_gigabytes);
        assert_eq!((two.share, two.written_terabytes), (Some(0.62), 1.536));
        // The order of the files does not matter.
        let swapped = read_all(&[later(10, 3_000_000), json!({})]).unwrap();
        assert_eq!((swapped.daily_gigabytes, swapped.share), (two.daily_gigabytes, two.share));
    }

    #[test]
    fn reports_that_contradict_each_other_or_themselves_are_refused() {
        let log = |log: Value| json!({"nvme_smart_health_information_log": log});
        for (reports, part) in [
            (vec![json!({}), json!({})], "the same date"),
            (vec![json!({}), later(10, 1_000_000)], "less data written"),
            (vec![json!({}), later(10, 2_000_000)], "has not written"),
            (vec![json!({}), json!({"serial_number": "S2"})], "different drives"),
            (vec![json!({}), json!({"local_time": {"time_t": "now"}})], "no date"),
            (vec![json!({"power_on_time": {"hours": 0}})], "no power-on hours"),
            (vec![json!({"power_on_time": {"hours": -4}})], "no power-on hours"),
            (vec![log(json!({"data_units_written": -1}))], "not stated"),
            (vec![log(json!([]))], "not stated"),
            (vec![log(json!({"data_units_written": 0}))], "has not written"),
            (
                vec![log(json!({"data_units_written": 9, "percentage_used": 1e300}))],
                "maximum is 255%",
            ),
            (vec![json!({}), json!({}), json!({})], "3 files"),
        ] {
            let error = read_all(&reports).err().unwrap();
            assert!(error.contains(part) && error.contains("hint: "), "{part}: {error}");
        }
    }
}
