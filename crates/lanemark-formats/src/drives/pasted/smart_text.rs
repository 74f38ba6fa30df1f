//! `smartctl -a`, `nvme smart-log` and `nvme id-ctrl`: the identity and the health of one drive.

use serde_json::Value;

use super::super::described::{
    DescribedDrive, NVME_UNIT, ReportedHealth, ReportedUsage, count, device_name, text,
};
use super::super::smart_attributes::SmartAttribute;
use super::super::smartctl::UNCORRECTED;
use super::keyed::{KELVIN, KeyedLines};
use crate::words::localised_number;

/// Returns whether the text is the output of `smartctl`.
pub(super) fn is_ours(text: &str) -> bool {
    let head: Vec<&str> = text.lines().take(20).collect();
    head.iter().any(|line| line.trim_start().starts_with("smartctl "))
        || head.iter().any(|line| line.starts_with("=== START OF"))
}

/// Reads the outputs of `smartctl`; each output describes one drive.
pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let titles = ["smartctl ", "=== START OF INFORMATION SECTION"];
    let title = titles.into_iter().find(|title| text.lines().any(|line| line.starts_with(title)));
    sections(text, title.unwrap_or("=== START OF")).into_iter().filter_map(drive).collect()
}

/// Returns the parts of a text that begin with a line that starts with `title`; the first part also contains the lines
/// before.
fn sections<'t>(text: &'t str, title: &str) -> Vec<&'t str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(title) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let begins = [0].into_iter().chain(starts.iter().skip(1).copied());
    begins.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

fn drive(text: &str) -> Option<DescribedDrive> {
    let lines = KeyedLines::read(text.lines());
    let product = || {
        let vendor = lines.text(&["vendor"]).unwrap_or_default();
        Some(format!("{vendor} {}", lines.text(&["product"])?).trim().to_owned())
    };
    let model = lines.text(&["model number", "device model"]).or_else(product);
    let attributes: Vec<SmartAttribute<'_>> =
        text.lines().filter_map(SmartAttribute::of_line).collect();
    let attribute = |id: u32| SmartAttribute::raw(&attributes, id);
    // `0x07  0x008  1             112  N--  Percentage Used Endurance Indicator`
    let statistic = |name: &str| {
        let row = text.lines().find(|line| line.trim_end().ends_with(name))?;
        row.starts_with("0x").then(|| localised_number(row.split_whitespace().nth(3)?))?
    };
    let used = lines
        .number(&["percentage used", "percentage used endurance indicator"])
        .or_else(|| statistic("Percentage Used Endurance Indicator"))
        .or_else(|| SmartAttribute::endurance_used(&attributes));
    if model.is_none() && used.is_none() && attributes.is_empty() {
        return None;
    }
    // `SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)` contains the maximum and the current rate.
    let link = lines.text(&["sata version is"]).and_then(|version| {
        let (before, current) = version.split_once("(current:")?;
        let most = before.rsplit(',').next()?.trim().to_owned();
        Some((current.trim_end_matches(')').trim().to_owned(), most))
    });
    let verdict =
        lines.text(&["smart overall-health self-assessment test result", "smart health status"]);
    let logged = health(&lines);
    let passes = |verdict: String| verdict.starts_with("PASSED") || verdict.starts_with("OK");
    let mut health = ReportedHealth {
        is_failing: verdict.map(|verdict| !passes(verdict)),
        temperature_warning: lines
            .celsius(&["warning comp. temp. threshold", "drive trip temperature"]),
        reallocated_sectors: lines.number(&["elements in grown defect list"]),
        media_errors: logged
            .media_errors
            .or_else(|| sas_errors(text))
            .or_else(|| statistic(UNCORRECTED)),
        ..logged
    };
    SmartAttribute::judge(&attributes, &mut health);
    let transport = if lines.text(&["nvme version", "total nvm capacity"]).is_some() {
        Some("nvme".to_owned())
    } else if lines.text(&["transport protocol"]).is_some_and(|name| name.starts_with("SAS")) {
        Some("sas".to_owned())
    } else {
        lines.text(&["sata version is"]).map(|_| "sata".to_owned())
    };
    let usage = usage(&lines);
    // `Accumulated power on time, hours:minutes 24755:57`
    let minutes = lines.text(&["accumulated power on time, hours"]);
    let hours = || localised_number(minutes.as_ref()?.strip_prefix("minutes ")?.split(':').next()?);
    Some(DescribedDrive {
        name: None,
        // An SSD reports `Solid State Device`, and an NVMe drive nothing.
        rotational: lines.text(&["rotation rate"]).map(|rate| rate.contains("rpm")),
        transport,
        model,
        firmware: lines.text(&["firmware version", "revision"]),
        size_bytes: lines
            .number(&["total nvm capacity", "user capacity", "namespace 1 size/capacity"])
            .map(|bytes| bytes as u64),
        link,
        temperature: lines
            .celsius(&["temperature", "current drive temperature"])
            .or_else(|| attribute(194))
            .or_else(|| attribute(190)),
        endurance_used: used,
        health,
        usage: ReportedUsage {
            written_bytes: usage
                .written_bytes
                .or_else(|| SmartAttribute::written(&attributes))
                .or_else(|| sas_written(text)),
            power_on_hours: usage.power_on_hours.or_else(hours).or_else(|| attribute(9)),
            ..usage
        },
        ..DescribedDrive::default()
    })
}

/// Returns the data that the host has written to a SAS drive, from the row `write:` of its error counters, whose sixth
/// column is in units of 10^9 bytes.
fn sas_written(text: &str) -> Option<f64> {
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix("write:"))?;
    localised_number(row.split_whitespace().nth(5)?).map(|gigabytes| gigabytes * 1e9)
}

/// Returns the errors that a SAS drive could not correct, which are the last column of its error counters.
fn sas_errors(text: &str) -> Option<f64> {
    let rows = text
        .lines()
        .map(str::trim_start)
        .filter(|line| ["read:", "write:", "verify:"].iter().any(|row| line.starts_with(row)));
    let errors = rows.filter_map(|row| localised_number(row.split_whitespace().nth(7)?));
    errors.reduce(|sum, errors| sum + errors)
}

/// Returns whether the text is the output of `nvme smart-log` or `nvme id-ctrl`.
pub(super) fn is_health_log(text: &str) -> bool {
    // smartctl's JSON contains the same keys.
    if text.trim_start().starts_with('{') {
        return false;
    }
    let head: Vec<&str> = text.lines().take(20).map(str::trim_start).collect();
    head.iter().any(|line| {
        line.starts_with("Smart Log for NVME device")
            || line.starts_with("NVME Identify Controller")
    }) || ["critical_warning", "percentage_used"].iter().all(|key| text.contains(key))
}

/// Reads the outputs of `nvme smart-log` or `nvme id-ctrl`; each health log describes one drive.
pub(super) fn read_health_log(text: &str) -> Vec<DescribedDrive> {
    sections(text, "Smart Log for NVME device").into_iter().filter_map(logged_drive).collect()
}

fn logged_drive(text: &str) -> Option<DescribedDrive> {
    // `Smart Log for NVME device:nvme1n1 namespace-id:ffffffff`
    let title =
        text.lines().find_map(|line| line.trim_start().strip_prefix("Smart Log for NVME device:"));
    let name = title.and_then(|title| device_name(title.split_whitespace().next()?));
    let lines = KeyedLines::read(text.lines());
    let model = lines.text(&["mn"]);
    let used = lines.number(&["percentage used"]);
    if model.is_none() && used.is_none() {
        return None;
    }
    Some(DescribedDrive {
        name,
        model,
        firmware: lines.text(&["fr"]),
        size_bytes: lines.number(&["tnvmcap"]).map(|bytes| bytes as u64).filter(|bytes| *bytes > 0),
        transport: Some("nvme".to_owned()),
        temperature: lines.celsius(&["temperature"]),
        endurance_used: used,
        health: ReportedHealth {
            temperature_warning: lines
                .number(&["wctemp"])
                .filter(|kelvin| *kelvin > KELVIN)
                .map(|kelvin| kelvin - KELVIN),
            ..health(&lines)
        },
        usage: usage(&lines),
        ..DescribedDrive::default()
    })
}

/// Reads the counters of an NVMe drive, which `smartctl` and `nvme` have in common.
fn usage(lines: &KeyedLines) -> ReportedUsage {
    ReportedUsage {
        written_bytes: lines.number(&["data units written"]).map(|units| units * NVME_UNIT),
        power_on_hours: lines.number(&["power on hours"]),
        ..ReportedUsage::default()
    }
}

/// Reads the lines that `smartctl` and `nvme` have in common.
fn health(lines: &KeyedLines) -> ReportedHealth {
    let transitions = [
        lines.number(&["thermal temp. 1 transition count", "thermal management t1 trans count"]),
        lines.number(&["thermal temp. 2 transition count", "thermal management t2 trans count"]),
    ];
    ReportedHealth {
        critical_warning: lines.bits(&["critical warning"]),
        minutes_above_warning: lines
            .number(&["warning comp. temperature time", "warning temperature time"]),
        minutes_above_critical: lines
            .number(&["critical comp. temperature time", "critical composite temperature time"]),
        thermal_transitions: sum(transitions),
        media_errors: lines.number(&["media and data integrity errors", "media errors"]),
        spare: lines.number(&["available spare"]),
        spare_threshold: lines.number(&["available spare threshold"]),
        ..ReportedHealth::default()
    }
}

fn sum(counts: [Option<f64>; 2]) -> Option<f64> {
    let known: Vec<f64> = counts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Reads the JSON of `nvme smart-log` or `nvme id-ctrl`; `None` if the object is something else.
pub(super) fn json(root: &Value) -> Option<Vec<DescribedDrive>> {
    let number = |key: &str| root.get(key).and_then(Value::as_f64).filter(|value| *value >= 0.0);
    let celsius =
        |key: &str| number(key).filter(|kelvin| *kelvin > KELVIN).map(|kelvin| kelvin - KELVIN);
    let is_log = number("percent_used").is_some() && root.get("critical_warning").is_some();
    let model = text(root.get("mn"));
    if !is_log && (model.is_none() || root.get("vid").is_none()) {
        return None;
    }
    Some(vec![DescribedDrive {
        model,
        firmware: text(root.get("fr")),
        size_bytes: count(root.get("tnvmcap")).filter(|bytes| *bytes > 0),
        transport: Some("nvme".to_owned()),
        temperature: celsius("temperature"),
        endurance_used: number("percent_used"),
        health: ReportedHealth {
            critical_warning: number("critical_warning")
                .or_else(|| root.get("critical_warning")?.get("value")?.as_f64())
                .map(|bits| bits as u64),
            temperature_warning: celsius("wctemp"),
            minutes_above_warning: number("warning_temp_time"),
            minutes_above_critical: number("critical_comp_time"),
            thermal_transitions: sum([
                number("thm_temp1_trans_count"),
                number("thm_temp2_trans_count"),
            ]),
            media_errors: number("media_errors"),
            spare: number("avail_spare"),
            spare_threshold: number("spare_thresh"),
            ..ReportedHealth::default()
        },
        usage: ReportedUsage {
            written_bytes: number("data_units_written").map(|units| units * NVME_UNIT),
            power_on_hours: number("power_on_hours"),
            ..ReportedUsage::default()
        },
        ..DescribedDrive::default()
    }])
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_any;

    #[test]
    fn the_text_and_the_json_of_a_health_log_say_the_same() {
        let text = "Smart Log for NVME device:nvme1n1 namespace-id:ffffffff\ncritical_warning : 0x02\n\
                    temperature : 81 C (354 Kelvin)\navailable_spare : 100%\npercentage_used : 3%\n\
                    Warning Temperature Time : 211\nThermal Management T1 Trans Count : 1,021\n\
                    Data Units Written : 1,000 (512.00 MB)\npower_on_hours : 12\n";
        let json = r#"{"critical_warning":2,"temperature":354,"avail_spare":100,"percent_used":3,
            "warning_temp_time":211,"thm_temp1_trans_count":1021,
            "data_units_written":1000,"power_on_hours":12}"#;
        let of_text = read_any(text, "f").unwrap().remove(0);
        let of_json = read_any(json, "f").unwrap().remove(0);
        assert_eq!(of_text.findings, of_json.findings);
        assert_eq!(of_text.findings.len(), 3);
        assert_eq!((of_text.temperature, of_json.temperature), (Some(81.0), Some(81.0)));
        assert_eq!(of_text.name.as_deref(), Some("nvme1n1"));
        assert_eq!(of_text.usage, of_json.usage);
        assert_eq!(
            (of_text.usage.written_bytes, of_text.usage.power_on_hours),
            (Some(512e6), Some(12.0))
        );
    }

    #[test]
    fn the_text_of_smartctl_has_the_identity_the_link_and_the_health() {
        let text = "smartctl 7.3 2022-02-28 r5338\n=== START OF INFORMATION SECTION ===\n\
                    Device Model:     Samsung SSD 850 EVO 250GB\nFirmware Version: EMT01B6Q\n\
                    User Capacity:    250,059,350,016 bytes [250 GB]\nRotation Rate:    Solid State Device\n\
                    SATA Version is:  SATA 3.1, 6.0 Gb/s (current: 3.0 Gb/s)\n\
                    SMART overall-health self-assessment test result: FAILED!\n\
                    194 Temperature_Celsius     0x0022   064   050   000    Old_age   Always       -       36\n";
        let drive = read_any(text, "f").unwrap().remove(0);
        assert_eq!((drive.size_bytes, drive.temperature), (Some(250_059_350_016), Some(36.0)));
        assert_eq!((drive.rotational, drive.transport.as_deref()), (Some(false), Some("sata")));
        assert_eq!(drive.findings.len(), 2, "{:?}", drive.findings);
        assert!(drive.findings[0].contains("3.0 Gb/s, but the drive supports 6.0 Gb/s"));
        assert!(read_any("smartctl 7.3\nSmartctl open device failed\n", "f").is_err());
    }

    #[test]
    fn several_drives_other_locales_and_the_tables_of_ata_and_sas_are_read() {
        let text = "smartctl 6.6 2016-05-31 r4324 [x86_64-linux-4.15.0] (local build)\n\
                    Model Number:                       INTEL SSDPE2KE016T7\n\
                    Total NVM Capacity:                 1.600.321.314.816 [1,60 TB]\n\
                    Critical Warning:                   0x04\nTemperature:                        43 Celsius\n\
                    Percentage Used:                    3%\nData Units Written:                 28’604’965 [14,6 TB]\n\
                    smartctl 7.1 2019-12-30 r5022\nDevice Model:     Samsung SSD 860 EVO 500GB\n\
                    User Capacity:    500 107 862 016 bytes [500 GB]\n\
                    \u{20} 5 Reallocated_Sector_Ct PO--CK 100 100 010 - 12\n\
                    \u{20} 9 Power_On_Hours 0x0032 098 098 000 Old_age Always - 7212h+22m+10.1s\n\
                    194 Temperature_Celsius 0x0022 040 053 000 Old_age Always - 40 (0 17 0 0 0)\n\
                    199 CRC_Error_Count 0x003e 100 100 000 Old_age Always - 431\n\
                    241 Total_LBAs_Written 0x0032 099 099 000 Old_age Always - 2000\n\
                    smartctl 7.2 2020-12-30 r5155\nVendor:               SEAGATE\nProduct:              ST10000NM002G\n\
                    Transport protocol:   SAS (SPL-3)\nSMART Health Status: OK\nCurrent Drive Temperature:     62 C\n\
                    Drive Trip Temperature:        60 C\nAccumulated power on time, hours:minutes 24755:57\n\
                    Elements in grown defect list: 7\n\
                    read:          0        0         0         0          0      34567.890           3\n\
                    write:         0        0         0         0          0      34567.890           2\n";
        let drives = read_any(text, "f").unwrap();
        let sizes: Vec<_> = drives.iter().map(|drive| drive.size_bytes).collect();
        assert_eq!(sizes, [Some(1_600_321_314_816), Some(500_107_862_016), None]);
        let [nvme, ata, sas] = drives.as_slice() else { panic!("{}", drives.len()) };
        assert_eq!(nvme.findings, ["the drive reports that its reliability is degraded"]);
        assert_eq!(nvme.usage.written_bytes, Some(28_604_965.0 * 512_000.0));
        assert_eq!((ata.temperature, ata.usage.power_on_hours), (Some(40.0), Some(7212.0)));
        assert_eq!(ata.usage.written_bytes, Some(1_024_000.0));
        assert_eq!(ata.findings.len(), 2, "{:?}", ata.findings);
        assert!(
            ata.findings[0].starts_with("12 replaced")
                && ata.findings[1].starts_with("431 checksum")
        );
        assert_eq!(sas.model.as_deref(), Some("SEAGATE ST10000NM002G"));
        assert_eq!(
            (sas.usage.power_on_hours, sas.usage.written_bytes),
            (Some(24_755.0), Some(34_567_890_000_000.0))
        );
        assert_eq!(
            sas.findings,
            ["62 °C; the drive's warning limit is 60 °C", "5 media errors", "7 replaced sectors"]
        );
        let worn = "smartctl 7.3 2022-02-28 r5338\nDevice Model:     CT500MX500SSD1\n\
                    202 Percent_Lifetime_Remain 0x0030   001   001   001    Old_age   Offline  FAILING_NOW 99\n\
                    \u{20}10 Spin_Retry_Count        PO--CK   080   080   097    NOW  77\n\
                    0x04  0x008  4             231  ---  Number of Reported Uncorrectable Errors\n";
        let findings = [
            "Percent_Lifetime_Remain is at its failure threshold",
            "Spin_Retry_Count is at its failure threshold",
            "231 media errors",
            "99% of the rated endurance is used",
        ];
        assert_eq!(read_any(worn, "f").unwrap()[0].findings, findings);
        let statistic =
            "0x07  0x008  1             112  N--  Percentage Used Endurance Indicator\n";
        let both = read_any(&format!("{worn}{statistic}"), "f").unwrap();
        assert_eq!(both[0].endurance_used, Some(112.0));
        let virtual_disk = "smartctl 7.2\nProduct:  PERC\nCurrent Drive Temperature:     0 C\n\
                            Drive Trip Temperature:        0 C\n";
        assert!(read_any(virtual_disk, "f").unwrap()[0].findings.is_empty());
        let fahrenheit =
            "critical_warning : 0\ntemperature : 102 °F (312 K)\npercentage_used : 3%\n";
        assert_eq!(read_any(fahrenheit, "f").unwrap()[0].temperature, Some(39.0));
        let without_kelvin = fahrenheit.replace(" (312 K)", "");
        assert_eq!(read_any(&without_kelvin, "f").unwrap()[0].temperature, Some(39.0));
    }
}
