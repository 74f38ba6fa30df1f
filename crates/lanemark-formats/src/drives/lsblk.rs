//! `lsblk -J`: a tree of block devices. Only the disks are read. Columns that were not requested are absent.

use serde_json::Value;

use super::described::{DescribedDrive, capacity, count, device_name, is_drive_name, text};

pub(super) fn read(devices: &Value) -> Vec<DescribedDrive> {
    let list = devices.as_array().map_or(&[][..], Vec::as_slice);
    let disks = list.iter().filter(|device| {
        let kind = device.get("type").and_then(Value::as_str);
        // A list without a column of types contains the disks at its top level.
        kind.is_none_or(|kind| kind == "disk")
    });
    disks.filter_map(disk).collect()
}

fn disk(device: &Value) -> Option<DescribedDrive> {
    let name =
        text(device.get("name").or(device.get("kname"))).and_then(|name| device_name(&name))?;
    if !is_drive_name(&name) {
        return None;
    }
    // The size is in bytes with -b; otherwise it is rounded and in powers of 1024, such as 931.5G.
    let bytes = device
        .get("size")
        .and_then(|value| count(Some(value)).or_else(|| capacity(value.as_str()?.trim())));
    let flag = |key: &str| match device.get(key)? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => Some(text == "1"),
        _ => None,
    };
    Some(DescribedDrive {
        name: Some(name),
        model: text(device.get("model")),
        firmware: text(device.get("rev")),
        size_bytes: bytes.filter(|bytes| *bytes > 0),
        sector_bytes: count(device.get("log-sec")),
        rotational: flag("rota"),
        transport: text(device.get("tran")),
        ..DescribedDrive::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_read_and_their_parts_are_not() {
        let all = serde_json::json!([
            {"name": "nvme0n1", "type": "disk", "size": "931.5G", "model": "A 1TB", "rota": false, "tran": "nvme",
             "children": [{"name": "nvme0n1p1", "type": "part"}]},
            {"name": "sda", "type": "disk", "size": 4_000_787_030_016_u64, "rota": "1", "log-sec": "512"},
            {"name": "loop0", "type": "loop", "size": 7}, {"type": "disk"}, "x",
        ]);
        let drives = read(&all);
        assert_eq!(drives.len(), 2);
        assert_eq!((drives[0].rotational, drives[1].rotational), (Some(false), Some(true)));
        assert_eq!(drives[0].size_bytes.map(|bytes| bytes >> 30), Some(931));
        assert_eq!(
            (drives[1].size_bytes, drives[1].sector_bytes),
            (Some(4_000_787_030_016), Some(512))
        );
    }
}
