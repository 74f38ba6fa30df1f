//! The text that CrystalDiskInfo copies: one section for each drive.

use super::super::described::{DescribedDrive, ReportedHealth, ReportedUsage};
use super::super::smart_attributes::SmartAttribute;
use super::keyed::KeyedLines;

pub(super) fn is_ours(text: &str) -> bool {
    text.lines().take(20).any(|line| line.trim_start().starts_with("CrystalDiskInfo "))
}

pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let mut sections: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        // `Model : …` is the first line of a drive.
        if line.split(':').next().is_some_and(|key| key.trim() == "Model") {
            sections.push(Vec::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push(line);
        }
    }
    sections.iter().filter_map(|section| drive(section)).collect()
}

fn drive(section: &[&str]) -> Option<DescribedDrive> {
    let lines = KeyedLines::read(section.iter().copied());
    // `PCIe 3.0 x2 | PCIe 4.0 x4` is the current and the maximum rate; `----` is not known.
    let link = lines.text(&["transfer mode"]).and_then(|modes| {
        let (now, most) = modes.split_once('|')?;
        Some((now.trim().to_owned(), most.trim().to_owned()))
    });
    let status = lines.text(&["health status"]);
    let remaining = status.as_ref().and_then(|status| {
        let (_, share) = status.split_once('(')?;
        share.trim_end_matches(')').trim_end_matches('%').trim().parse::<f64>().ok()
    });
    let interface = lines.text(&["interface"])?;
    let attributes: Vec<SmartAttribute<'_>> =
        section.iter().filter_map(|line| attribute(line)).collect();
    let mut health = ReportedHealth {
        is_failing: status.as_ref().map(|status| status.starts_with("Bad")),
        media_errors: attributes
            .iter()
            .find(|one| one.name == "Media and Data Integrity Errors")
            .map(|one| one.raw),
        ..ReportedHealth::default()
    };
    SmartAttribute::judge(&attributes, &mut health);
    Some(DescribedDrive {
        model: Some(lines.text(&["model"])?),
        firmware: lines.text(&["firmware"]),
        size_bytes: lines.number(&["disk size"]).map(|gigabytes| (gigabytes * 1e9) as u64),
        // `7200 RPM`, `---- (SSD)` or `Unknown`
        rotational: lines.text(&["rotation rate"]).and_then(|rate| {
            let is_disk = rate.to_lowercase().contains("rpm");
            (is_disk || rate.contains("SSD")).then_some(is_disk)
        }),
        transport: Some(if interface.contains("NVM") {
            "nvme".to_owned()
        } else {
            interface.to_lowercase()
        }),
        link,
        temperature: lines.celsius(&["temperature"]),
        endurance_used: remaining
            .filter(|share| (0.0..=100.0).contains(share))
            .map(|share| 100.0 - share),
        health,
        usage: ReportedUsage {
            written_bytes: lines.number(&["host writes"]).map(|gigabytes| gigabytes * 1e9),
            power_on_hours: lines.number(&["power on hours"]),
            ..ReportedUsage::default()
        },
        findings: status
            .filter(|status| status.starts_with("Caution"))
            .map(|status| format!("CrystalDiskInfo rates its health as {status}"))
            .into_iter()
            .collect(),
        ..DescribedDrive::default()
    })
}

/// Reads a row of the table of attributes, whose raw value is hexadecimal. The rows of an NVMe drive lack normalised
/// values.
///
/// ```text
/// C7 100 100 __0 000000000411 CRC Error Count
/// 0E 000000000007 Media and Data Integrity Errors
/// ```
fn attribute<'t>(line: &'t str) -> Option<SmartAttribute<'t>> {
    let hexadecimal = |word: &str| u64::from_str_radix(word, 16).ok();
    let (id, rest) = line.trim().split_once(' ').filter(|(id, _)| id.len() == 2)?;
    let is_raw = |word: &&str| word.len() == 12 && hexadecimal(word).is_some();
    let raw = rest.split_whitespace().take(4).find(is_raw)?;
    let (_, name) = rest.split_once(raw)?;
    Some(SmartAttribute {
        id: u32::try_from(hexadecimal(id)?).ok()?,
        name: name.trim(),
        value: f64::NAN,
        raw: hexadecimal(raw)? as f64,
        is_failing: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_any;

    #[test]
    fn each_drive_has_its_link_and_the_fastest_link_that_it_supports() {
        let drive = |model: &str, mode: &str, health: &str| {
            format!(
                " ({model}) : 1 GB\n Model : {model}\n Disk Size : 1000.2 GB\n Interface : NVM Express\n \
                 Transfer Mode : {mode}\n Temperature : 71 C (159 F)\n Health Status : {health}\n"
            )
        };
        let text = format!(
            "----\nCrystalDiskInfo 8.17.14 (C) 2008-2023 hiyohiyo\n{}{}",
            drive("Samsung SSD 980 PRO 1TB", "PCIe 3.0 x2 | PCIe 4.0 x4", "Good (96 %)"),
            drive("B", "SATA/600 | SATA/600", "Bad (3 %)")
        );
        let drives = read_any(&text, "f").unwrap();
        assert_eq!(drives.len(), 2);
        assert_eq!((drives[0].endurance_used, drives[0].temperature), (Some(4.0), Some(71.0)));
        assert_eq!(
            drives[0].findings,
            ["the link runs at PCIe 3.0 x2, but the drive supports PCIe 4.0 x4"]
        );
        assert_eq!(drives[1].findings.len(), 2, "{:?}", drives[1].findings);
        let table = format!(
            "CrystalDiskInfo 8\n{}-- S.M.A.R.T. ----\nID Cur Wor Thr RawValues(6) Attribute Name\n\
             BB 100 100 __0 000000000031 Reported Uncorrectable Errors\nC7 100 100 __0 000000000411 CRC Error Count\n{}\
             ID RawValues(6) Attribute Name\n0E 000000000007 Media and Data Integrity Errors\n",
            drive("K", "SATA/600 | SATA/600", "Good (41 %)"),
            drive("N", "PCIe 4.0 x4 | PCIe 4.0 x4", "Good (90 %)")
        );
        let drives = read_any(&table, "f").unwrap();
        let errors = "1041 checksum errors on the link since it was made: check the cable";
        assert_eq!(drives[0].findings, ["49 media errors", errors]);
        assert_eq!(drives[1].findings, ["7 media errors"]);
    }
}
