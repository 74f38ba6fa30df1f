//! `smartctl -a`, `nvme smart-log` and `nvme id-ctrl`: the identity and the health of one drive.

use serde_json::Value;

use super::super::described::{
    DescribedDrive, NVME_UNIT, ReportedHealth, ReportedUsage, count, device_name, text,
};
use super::keyed::KeyedLines;

/// Kelvin at 0 °C. `nvme smart-log -o json` prints kelvins.
const KELVIN: f64 = 273.0;

/// Returns whether the text is the output of `smartctl`.
pub(super) fn is_ours(text: &str) -> bool {
    let head: Vec<&str> = text.lines().take(20).collect();
    head.iter().any(|line| line.trim_start().starts_with("smartctl "))
        || head.iter().any(|line| line.starts_with("=== START OF"))
}

/// Reads the output of `smartctl`.
pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let lines = KeyedLines::read(text.lines());
    let model = lines.text(&["model number", "device model", "product"]);
    if model.is_none() && lines.number(&["percentage used"]).is_none() {
        return Vec::new();
    }
    // `SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)` contains the maximum and the current rate.
    let link = lines.text(&["sata version is"]).and_then(|version| {
        let (before, current) = version.split_once("(current:")?;
        let most = before.rsplit(',').next()?.trim().to_owned();
        Some((current.trim_end_matches(')').trim().to_owned(), most))
    });
    let verdict =
        lines.text(&["smart overall-health self-assessment test result", "smart health status"]);
    let attribute = |name: &str| {
        // `194 Temperature_Celsius 0x0022 064 050 000 Old_age Always - 36 (Min/Max 20/50)`
        let line = text.lines().find(|line| line.split_whitespace().nth(1) == Some(name))?;
        line.split_whitespace().nth(9)?.parse::<f64>().ok()
    };
    let health = ReportedHealth {
        is_failing: verdict
            .map(|verdict| !(verdict.starts_with("PASSED") || verdict.starts_with("OK"))),
        temperature_warning: lines.number(&["warning comp. temp. threshold"]),
        ..health(&lines)
    };
    vec![DescribedDrive {
        name: None,
        rotational: lines.text(&["rotation rate"]).map(|rate| rate.contains("rpm")),
        transport: if lines.text(&["nvme version", "total nvm capacity"]).is_some() {
            Some("nvme".to_owned())
        } else {
            lines.text(&["sata version is"]).map(|_| "sata".to_owned())
        },
        model,
        firmware: lines.text(&["firmware version", "revision"]),
        size_bytes: lines
            .number(&["total nvm capacity", "user capacity", "namespace 1 size/capacity"])
            .map(|bytes| bytes as u64),
        link,
        temperature: lines
            .number(&["temperature", "current drive temperature"])
            .or_else(|| attribute("Temperature_Celsius"))
            .or_else(|| attribute("Airflow_Temperature_Cel")),
        endurance_used: lines.number(&["percentage used", "percentage used endurance indicator"]),
        health,
        usage: usage(&lines),
        ..DescribedDrive::default()
    }]
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

/// Reads the output of `nvme smart-log` or `nvme id-ctrl`.
pub(super) fn read_health_log(text: &str) -> Vec<DescribedDrive> {
    // `Smart Log for NVME device:nvme1n1 namespace-id:ffffffff`
    let title =
        text.lines().find_map(|line| line.trim_start().strip_prefix("Smart Log for NVME device:"));
    let name = title.and_then(|title| device_name(title.split_whitespace().next()?));
    let lines = KeyedLines::read(text.lines());
    let model = lines.text(&["mn"]);
    let used = lines.number(&["percentage used"]);
    if model.is_none() && used.is_none() {
        return Vec::new();
    }
    vec![DescribedDrive {
        name,
        model,
        firmware: lines.text(&["fr"]),
        size_bytes: lines.number(&["tnvmcap"]).map(|bytes| bytes as u64).filter(|bytes| *bytes > 0),
        transport: Some("nvme".to_owned()),
        temperature: lines.number(&["temperature"]),
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
    }]
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
        is_failing: lines.number(&["critical warning"]).and_then(failing),
        temperature_warning: None,
        minutes_above_warning: lines
            .number(&["warning comp. temperature time", "warning temperature time"]),
        minutes_above_critical: lines
            .number(&["critical comp. temperature time", "critical composite temperature time"]),
        thermal_transitions: sum(transitions),
        media_errors: lines.number(&["media and data integrity errors", "media errors"]),
        spare: lines.number(&["available spare"]),
        spare_threshold: lines.number(&["available spare threshold"]),
    }
}

/// Returns whether the bits of a critical warning other than the temperature's are set (NVMe Base Specification, SMART
/// log: bit 1 is the temperature).
fn failing(warning: f64) -> Option<bool> {
    Some(warning as u64 & !0b10 != 0)
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
            is_failing: number("critical_warning").and_then(failing),
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
        assert_eq!(of_text.findings.len(), 2);
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
}
