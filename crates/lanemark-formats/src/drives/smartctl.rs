//! `smartctl -j`: the identity of one drive, and its health if that was requested (`-a`).

use serde_json::Value;

use super::described::{
    DescribedDrive, NVME_UNIT, ReportedHealth, ReportedUsage, count, device_name, text,
};
use super::smart_attributes::{SECTOR, SmartAttribute};

pub(super) fn read(root: &Value) -> Vec<DescribedDrive> {
    let value_at = |path: &[&str]| path.iter().try_fold(root, |value, key| value.get(key));
    let figure =
        |path: &[&str]| value_at(path).and_then(Value::as_f64).filter(|value| *value >= 0.0);
    let model = text(value_at(&["model_name"])).or_else(|| text(value_at(&["scsi_model_name"])));
    let name = text(value_at(&["device", "name"])).and_then(|path| device_name(&path));
    if model.is_none() && name.is_none() {
        return Vec::new();
    }
    const NVME: &str = "nvme_smart_health_information_log";
    let nvme = |key: &str| figure(&[NVME, key]);
    let temperature = figure(&["temperature", "current"]).or_else(|| nvme("temperature"));
    let attributes = attributes(root);
    let mut health = ReportedHealth {
        is_failing: value_at(&["smart_status", "passed"])
            .and_then(Value::as_bool)
            .map(|passed| !passed),
        temperature_warning: ["warning", "op_limit_max"].iter().find_map(|key| {
            figure(&["nvme_composite_temperature_threshold", key])
                .or_else(|| figure(&["temperature", key]))
        }),
        critical_warning: nvme("critical_warning").map(|bits| bits as u64),
        minutes_above_warning: nvme("warning_temp_time"),
        minutes_above_critical: nvme("critical_comp_time"),
        media_errors: nvme("media_errors")
            .or_else(|| scsi_errors(root))
            .or_else(|| statistic(root, UNCORRECTED)),
        reallocated_sectors: figure(&["scsi_grown_defect_list"]),
        spare: nvme("available_spare"),
        spare_threshold: nvme("available_spare_threshold"),
        ..ReportedHealth::default()
    };
    SmartAttribute::judge(&attributes, &mut health);
    let speed = |key: &str| text(value_at(&["interface_speed", key, "string"]));
    vec![DescribedDrive {
        name,
        model,
        firmware: text(value_at(&["firmware_version"])),
        size_bytes: count(value_at(&["user_capacity", "bytes"]))
            .or_else(|| count(value_at(&["nvme_total_capacity"]))),
        sector_bytes: count(value_at(&["logical_block_size"])),
        rotational: figure(&["rotation_rate"]).map(|rate| rate > 0.0),
        transport: text(value_at(&["device", "protocol"])).map(|name| name.to_lowercase()),
        link: speed("current").zip(speed("max")),
        pci: Vec::new(),
        temperature,
        endurance_used: nvme("percentage_used")
            .or_else(|| figure(&["endurance_used", "current_percent"]))
            .or_else(|| figure(&["scsi_percentage_used_endurance_indicator"]))
            .or_else(|| statistic(root, "Percentage Used Endurance Indicator"))
            .or_else(|| SmartAttribute::endurance_used(&attributes)),
        health,
        usage: ReportedUsage {
            written_bytes: nvme("data_units_written")
                .map(|units| units * NVME_UNIT)
                .or_else(|| Some(statistic(root, "Logical Sectors Written")? * SECTOR))
                .or_else(|| SmartAttribute::written(&attributes))
                .or_else(|| scsi_written(root)),
            power_on_hours: figure(&["power_on_time", "hours"]),
            reported_at: figure(&["local_time", "time_t"]),
            serial: text(value_at(&["serial_number"])),
        },
        findings: Vec::new(),
    }]
}

/// Returns the errors that a SAS drive could not correct, in all rows of its error counters.
fn scsi_errors(root: &Value) -> Option<f64> {
    let rows = root.get("scsi_error_counter_log")?.as_object()?;
    let errors = rows.values().filter_map(|row| row.get("total_uncorrected_errors")?.as_f64());
    errors.reduce(|sum, errors| sum + errors)
}

/// The ATA device statistic with the errors that the drive could not correct.
pub(super) const UNCORRECTED: &str = "Number of Reported Uncorrectable Errors";

/// Returns a value of the ATA device statistics.
fn statistic(root: &Value, name: &str) -> Option<f64> {
    let pages = root.get("ata_device_statistics")?.get("pages")?.as_array()?;
    let rows = pages.iter().filter_map(|page| page.get("table")?.as_array()).flatten();
    let mut found = rows.filter(|row| row.get("name").and_then(Value::as_str) == Some(name));
    found.next()?.get("value")?.as_f64().filter(|value| *value >= 0.0)
}

/// Returns the ATA attributes.
fn attributes(root: &Value) -> Vec<SmartAttribute<'_>> {
    let rows = root.get("ata_smart_attributes").and_then(|all| all.get("table")?.as_array());
    rows.into_iter().flatten().filter_map(attribute).collect()
}

fn attribute(row: &Value) -> Option<SmartAttribute<'_>> {
    let raw = row.get("raw")?.get("value")?.as_f64().filter(|raw| *raw >= 0.0)?;
    let id = u32::try_from(row.get("id")?.as_u64()?).ok()?;
    Some(SmartAttribute {
        id,
        name: row.get("name")?.as_str()?,
        value: row.get("value").and_then(Value::as_f64).unwrap_or(f64::NAN),
        raw,
        is_failing: row.get("when_failed").and_then(Value::as_str) == Some("now"),
    })
}

/// Returns the data that the host has written according to the SCSI log of write errors, which prints units of 10^9
/// bytes.
fn scsi_written(root: &Value) -> Option<f64> {
    let log = root.get("scsi_error_counter_log")?.get("write")?;
    let printed = log.get("gigabytes_processed")?.as_str()?.parse::<f64>().ok()?;
    (printed >= 0.0 && printed.is_finite()).then_some(printed * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_at_their_threshold_and_the_wear_of_ata_and_sas_are_findings() {
        let findings = |rest: Value| {
            let mut drive = serde_json::json!({"json_format_version": [1, 0], "model_name": "A"});
            drive.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            crate::drives::read(&drive.to_string(), "f").unwrap().remove(0).findings
        };
        let ata = serde_json::json!({"ata_smart_attributes": {"table": [
            {"id": 202, "name": "Percent_Lifetime_Remain", "value": 1, "when_failed": "now", "raw": {"value": 99}},
            {"id": 230, "name": "Media_Wearout_Indicator", "value": 1, "when_failed": "", "raw": {"value": 9}},
        ]}});
        let wanted = [
            "Percent_Lifetime_Remain is at its failure threshold",
            "99% of the rated endurance is used",
        ];
        assert_eq!(findings(ata), wanted);
        let sas = serde_json::json!({"scsi_percentage_used_endurance_indicator": 103});
        assert_eq!(findings(sas), ["103% of the rated endurance is used"]);
    }

    #[test]
    fn heat_wear_and_a_slow_link_are_findings() {
        let drive = serde_json::json!({
            "json_format_version": [1, 0], "device": {"name": "/dev/nvme0", "protocol": "NVMe"},
            "model_name": "A 1TB", "user_capacity": {"bytes": 1_000_204_886_016_u64},
            "nvme_composite_temperature_threshold": {"warning": 77},
            "nvme_smart_health_information_log": {
                "temperature": 78, "percentage_used": 104, "warning_temp_time": 431, "media_errors": 0,
                "available_spare": 9, "available_spare_threshold": 10, "critical_warning": 0},
        });
        let described = super::super::read(&drive.to_string(), "f").unwrap().remove(0);
        assert_eq!((described.temperature, described.endurance_used), (Some(78.0), Some(104.0)));
        let all = described.findings.join("\n");
        for part in ["78 °C", "431 min above its warning", "9% of the spare"] {
            assert!(all.contains(part), "no {part} in {all}");
        }
        assert!(!all.contains("media"));
        let sata = serde_json::json!({"json_format_version": [1, 0], "model_name": "B", "rotation_rate": 7200,
            "interface_speed": {"max": {"string": "6.0 Gb/s"}, "current": {"string": "3.0 Gb/s"}}});
        let described = super::super::read(&sata.to_string(), "f").unwrap().remove(0);
        assert_eq!((described.rotational, described.findings.len()), (Some(true), 1));
        assert!(described.findings[0].contains("3.0 Gb/s"));
    }

    #[test]
    fn each_protocol_reports_the_data_written_in_its_own_unit() {
        let read = |part: Value| {
            let mut drive = serde_json::json!({"json_format_version": [1, 0], "model_name": "A",
                "power_on_time": {"hours": 100}, "local_time": {"time_t": 1_700_000_000}});
            drive.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            super::super::read(&drive.to_string(), "f").unwrap().remove(0).usage
        };
        let attribute = |id: u32, name: &str, value: Value| {
            serde_json::json!({"ata_smart_attributes": {"table": [
                {"id": 9, "name": "Power_On_Hours", "raw": {"value": 7}},
                {"id": 249, "name": "Total_NAND_Writes_GiB", "raw": {"value": 9}},
                {"id": id, "name": name, "raw": {"value": value}}]}})
        };
        let statistic = serde_json::json!({"ata_device_statistics": {"pages": [{"table": []}, {"table": [
            {"name": "Number of Write Commands", "value": 5},
            {"name": "Logical Sectors Written", "value": 1000}]}]}});
        for (part, written) in [
            (
                serde_json::json!({"nvme_smart_health_information_log": {"data_units_written": 3}}),
                Some(1_536e3),
            ),
            (statistic, Some(512e3)),
            (attribute(241, "Total_LBAs_Written", 2000.into()), Some(1_024e3)),
            (attribute(241, "Host_Writes_32MiB", 2.into()), Some(67_108_864.0)),
            (attribute(241, "Lifetime_Writes_GiB", 2.into()), Some(2_147_483_648.0)),
            (attribute(241, "Total_LBAs_Written", (-1).into()), None),
            (attribute(241, "Total_LBAs_Written", "many".into()), None),
            (attribute(241, "Unknown_Attribute", 2.into()), None),
            (serde_json::json!({"ata_smart_attributes": {"table": 7}}), None),
            (
                serde_json::json!({"scsi_error_counter_log": {"write": {"gigabytes_processed": "12.5"}}}),
                Some(12.5e9),
            ),
            (
                serde_json::json!({"scsi_error_counter_log": {"write": {"gigabytes_processed": "inf"}}}),
                None,
            ),
        ] {
            let usage = read(part.clone());
            assert_eq!(usage.written_bytes, written, "{part}");
            assert_eq!((usage.power_on_hours, usage.reported_at), (Some(100.0), Some(1.7e9)));
        }
    }

    #[test]
    fn values_of_a_wrong_kind_are_absent() {
        let drive = serde_json::json!({"json_format_version": 1, "model_name": "A", "temperature": "hot",
            "nvme_smart_health_information_log": [], "user_capacity": {"bytes": -5}, "rotation_rate": null});
        let described = read(&drive).remove(0);
        assert_eq!(
            (described.temperature, described.size_bytes, described.rotational),
            (None, None, None)
        );
        assert!(described.findings.is_empty());
    }
}
