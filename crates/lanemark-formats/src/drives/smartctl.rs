//! `smartctl -j`: the identity of one drive, and its health if that was requested (`-a`).

use serde_json::Value;

use super::described::{DescribedDrive, ReportedHealth, count, device_name, text};

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
    let health = ReportedHealth {
        is_failing: value_at(&["smart_status", "passed"])
            .and_then(Value::as_bool)
            .map(|passed| !passed),
        temperature_warning: ["warning", "op_limit_max"].iter().find_map(|key| {
            figure(&["nvme_composite_temperature_threshold", key])
                .or_else(|| figure(&["temperature", key]))
        }),
        minutes_above_warning: nvme("warning_temp_time"),
        minutes_above_critical: nvme("critical_comp_time"),
        thermal_transitions: None,
        media_errors: nvme("media_errors"),
        spare: nvme("available_spare"),
        spare_threshold: nvme("available_spare_threshold"),
    };
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
            .or_else(|| figure(&["endurance_used", "current_percent"])),
        health,
        findings: Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_wear_and_a_slow_link_are_findings() {
        let drive = serde_json::json!({
            "json_format_version": [1, 0], "device": {"name": "/dev/nvme0", "protocol": "NVMe"},
            "model_name": "A 1TB", "user_capacity": {"bytes": 1_000_204_886_016_u64},
            "nvme_composite_temperature_threshold": {"warning": 77},
            "nvme_smart_health_information_log": {
                "temperature": 78, "percentage_used": 104, "warning_temp_time": 431, "media_errors": 0,
                "available_spare": 9, "available_spare_threshold": 10},
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
