//! `nvme list`: JSON, or a table whose columns begin at the dashes of its rule.
//!
//! Versions 2.11 and later print nested JSON: subsystems, controllers and their namespaces.

use serde_json::Value;

use super::described::{DescribedDrive, count, device_name, text};

/// Maximum depth of nested lists.
const DEPTH_MAX: usize = 8;

pub(super) fn is_table(text: &str) -> bool {
    columns(text).is_some()
}

/// Returns the name and the first character of each column, and the line number of the rule.
fn columns(text: &str) -> Option<(Vec<(String, usize)>, usize)> {
    let lines: Vec<&str> = text.lines().take(100).collect();
    let rule = lines.windows(2).position(|pair| {
        pair[0].contains("Model") && pair[0].contains("Node") && pair[1].starts_with("---")
    })? + 1;
    let head: Vec<char> = lines[rule - 1].chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    for dashes in lines[rule].split(' ').filter(|part| !part.is_empty()) {
        // The rule contains only ASCII, so byte offsets are character offsets.
        let start = lines[rule][at..].find(dashes)? + at;
        at = start + dashes.len();
        let name: String = head.iter().skip(start).take(dashes.len()).collect();
        all.push((name.trim().to_owned(), start));
    }
    Some((all, rule))
}

pub(super) fn table(text: &str) -> Vec<DescribedDrive> {
    let Some((columns, rule)) = columns(text) else { return Vec::new() };
    let mut drives = Vec::new();
    for line in text.lines().skip(rule + 1) {
        let letters: Vec<char> = line.chars().collect();
        let cell = |name: &str| {
            let at = columns.iter().position(|(heading, _)| heading == name)?;
            let end = columns.get(at + 1).map_or(letters.len(), |(_, start)| *start);
            let cell: String = letters.get(columns[at].1..end.min(letters.len()))?.iter().collect();
            let cell = cell.trim();
            (!cell.is_empty()).then(|| cell.to_owned())
        };
        let Some(name) = cell("Node").and_then(|path| device_name(&path)) else { continue };
        // `  1.00  TB /   1.00  TB` is the used size and the total size, rounded, in units of 10^12 bytes.
        let size = cell("Usage").and_then(|usage| {
            let (_, whole) = usage.split_once('/')?;
            let mut words = whole.split_whitespace();
            let number: f64 = words.next()?.parse().ok()?;
            let unit = match words.next()? {
                "TB" => 1e12,
                "GB" => 1e9,
                _ => return None,
            };
            (0.0..1e6).contains(&number).then_some((number * unit) as u64)
        });
        drives.push(DescribedDrive {
            name: Some(name),
            model: cell("Model"),
            firmware: cell("FW Rev"),
            size_bytes: size,
            transport: Some("nvme".to_owned()),
            ..DescribedDrive::default()
        });
    }
    drives
}

/// Reads the JSON list `Devices`.
pub(super) fn json(devices: &Value) -> Vec<DescribedDrive> {
    let mut drives = Vec::new();
    collect(devices, &DescribedDrive::default(), 0, &mut drives);
    drives
}

fn collect(value: &Value, above: &DescribedDrive, depth: usize, drives: &mut Vec<DescribedDrive>) {
    let Value::Array(list) = value else { return };
    if depth > DEPTH_MAX {
        return;
    }
    for device in list {
        let text_of = |key: &str| text(device.get(key));
        let path = text_of("DevicePath").or_else(|| text_of("NameSpace"));
        let mut drive = DescribedDrive {
            name: path.and_then(|path| device_name(&path)),
            model: text_of("ModelNumber").or_else(|| above.model.clone()),
            firmware: text_of("Firmware").or_else(|| above.firmware.clone()),
            size_bytes: count(device.get("PhysicalSize")),
            sector_bytes: count(device.get("SectorSize")),
            transport: Some(text_of("Transport").unwrap_or_else(|| "nvme".to_owned())),
            ..DescribedDrive::default()
        };
        if drive.name.is_some() && drive.model.is_some() {
            drives.push(drive);
            continue;
        }
        drive.name = None;
        for key in ["Subsystems", "Controllers", "Namespaces"] {
            if let Some(list) = device.get(key) {
                collect(list, &drive, depth + 1, drives);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_by_its_columns() {
        let text = "\
Node             SN                   Model                                    Namespace Usage                      Format           FW Rev  
---------------- -------------------- ---------------------------------------- --------- -------------------------- ---------------- --------
/dev/nvme0n1     S000NS0000000        Samsung SSD 980 PRO 1TB                  1         100.00  GB /   1.00  TB    512   B +  0 B   5B2QGXA7
/dev/nvme1n1     X                    WD Blue SN570 500GB                      1         500.11  GB / 500.11  GB    512   B +  0 B   234110WD
";
        let drives = table(text);
        assert_eq!(drives.len(), 2);
        assert_eq!(drives[0].model.as_deref(), Some("Samsung SSD 980 PRO 1TB"));
        assert_eq!(
            (drives[0].size_bytes, drives[1].size_bytes),
            (Some(1_000_000_000_000), Some(500_110_000_000))
        );
        assert_eq!(drives[1].firmware.as_deref(), Some("234110WD"));
        assert!(table(&text.replace("/dev/nvme0n1 ", "é\u{202e}          ")).len() == 1);
        assert!(!is_table("Node Model\n") && !is_table("---\n---"));
    }

    #[test]
    fn both_layouts_of_the_json_are_read() {
        let flat = serde_json::json!([{"DevicePath": "/dev/nvme0n1", "ModelNumber": " A 1TB ", "PhysicalSize": 1_000, "SectorSize": 512}]);
        let drives = json(&flat);
        assert_eq!(
            (drives[0].name.as_deref(), drives[0].model.as_deref()),
            (Some("nvme0n1"), Some("A 1TB"))
        );
        let nested = serde_json::json!([{"HostNQN": "x", "Subsystems": [{"Controllers": [{
            "ModelNumber": "B", "Firmware": "1", "Transport": "pcie",
            "Namespaces": [{"NameSpace": "nvme1n1", "PhysicalSize": 7}]}]}]}]);
        let drives = json(&nested);
        assert_eq!(
            (drives[0].name.as_deref(), drives[0].model.as_deref()),
            (Some("nvme1n1"), Some("B"))
        );
        assert_eq!(drives[0].size_bytes, Some(7));
    }
}
