//! `lsusb -t`: the tree of USB devices with their drivers and rates. Mass storage devices are the drives.

use super::super::described::{DescribedDrive, TEXT_MAX};

/// The finding about a bridge with the driver `usb-storage` (USB Mass Storage Class, Bulk-Only Transport).
pub(super) const BULK_ONLY: &str =
    "it uses usb-storage (bulk-only transport), which has one request outstanding; UAS has several";

pub(super) fn is_ours(text: &str) -> bool {
    text.lines().take(20).any(|line| line.trim_start().starts_with("/:  Bus "))
}

pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let mut drives: Vec<DescribedDrive> = Vec::new();
    let mut bus = String::new();
    // The indentation and the port of each device from the root hub to the current line.
    let mut ports: Vec<(usize, String)> = Vec::new();
    let mut is_below_drive = false;
    for line in text.lines() {
        // With -v, the line below a device names it: `ID 04e8:4001 Samsung Electronics Co., Ltd PSSD T7`.
        let name = line.trim_start().strip_prefix("ID ").and_then(|id| id.split_once(' '));
        if let (true, Some((_, name)), Some(drive)) = (is_below_drive, name, drives.last_mut()) {
            drive.model = Some(name.trim().chars().take(TEXT_MAX).collect());
        }
        is_below_drive = false;
        if let Some((_, rest)) = line.split_once("/:  Bus ") {
            bus = rest.chars().take_while(char::is_ascii_digit).take(8).collect();
            ports.clear();
        } else if let Some((indent, rest)) = line.split_once("|__ Port ") {
            let port = rest.trim_start_matches('0').chars();
            let port: String = port.take_while(char::is_ascii_digit).take(8).collect();
            ports.retain(|(above, _)| *above < indent.len());
            // USB permits six hubs below one another.
            if ports.len() < 7 {
                ports.push((indent.len(), port));
            }
        }
        if !line.contains("Class=Mass Storage") {
            continue;
        }
        let value = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            Some(rest.split(',').next()?.trim())
        };
        let driver = value("Driver=").filter(|name| *name != "[none]").unwrap_or_default();
        let megabits =
            line.rsplit(',').next().and_then(|rate| rate.trim().split_once('M')?.0.parse().ok());
        is_below_drive = true;
        let path: Vec<&str> = ports.iter().map(|(_, port)| port.as_str()).collect();
        drives.push(DescribedDrive {
            name: Some(format!("USB bus {bus}, port {}", path.join("."))),
            transport: Some(match megabits {
                Some(rate) if driver.is_empty() => format!("usb, {} Gb/s", f64::from(rate) / 1e3),
                Some(rate) => format!("usb ({driver}), {} Gb/s", f64::from(rate) / 1e3),
                None => "usb".to_owned(),
            }),
            findings: findings(driver, megabits),
            ..DescribedDrive::default()
        });
    }
    drives
}

fn findings(driver: &str, megabits: Option<u32>) -> Vec<String> {
    let mut all = Vec::new();
    if driver == "usb-storage" {
        all.push(BULK_ONLY.to_owned());
    } else if driver.is_empty() {
        all.push("no driver has claimed it".to_owned());
    }
    if megabits.is_some_and(|rate| rate <= 480) {
        all.push("the link runs at USB 2.0's 480 Mb/s, which carries about 40 MB/s".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_any;

    #[test]
    fn the_driver_and_the_rate_of_each_bridge_are_read() {
        let text = "/:  Bus 02.Port 1: Dev 1, Class=root_hub, Driver=xhci_hcd/4p, 5000M\n    \
                    |__ Port 1: Dev 3, If 0, Class=Mass Storage, Driver=usb-storage, 5000M\n    \
                    |__ Port 2: Dev 4, If 0, Class=Mass Storage, Driver=uas, 10000M\n\
                    /:  Bus 01.Port 1: Dev 1, Class=root_hub, Driver=xhci_hcd/1p, 480M\n    \
                    |__ Port 3: Dev 2, If 0, Class=Mass Storage, Driver=uas, 480M\n";
        let drives = read_any(text, "f").unwrap();
        let counts: Vec<usize> = drives.iter().map(|drive| drive.findings.len()).collect();
        assert_eq!(counts, [1, 0, 1]);
        assert_eq!(drives[0].name.as_deref(), Some("USB bus 02, port 1"));
        assert_eq!(drives[1].transport.as_deref(), Some("usb (uas), 10 Gb/s"));
        let hub = "/:  Bus 01.Port 1: Dev 1, Class=root_hub, Driver=xhci_hcd/1p, 480M\n    \
                   |__ Port 001: Dev 2, If 0, Class=Hub, Driver=hub/4p, 480M\n        \
                   |__ Port 003: Dev 5, If 0, Class=Mass Storage, Driver=uas, 480M\n        \
                   |__ Port 004: Dev 6, If 0, Class=Mass Storage, Driver=uas, 480M\n    \
                   |__ Port 002: Dev 7, If 0, Class=Mass Storage, Driver=uas, 480M\n";
        let below = read_any(hub, "f").unwrap();
        let names: Vec<_> = below.iter().map(|drive| drive.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["1.3", "1.4", "2"].map(|port| format!("USB bus 01, port {port}")));
        assert!(
            drives[0].findings[0].contains("one request")
                && drives[2].findings[0].contains("40 MB/s")
        );
    }
}
