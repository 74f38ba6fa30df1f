//! `lsblk` as a table. Columns are separated by spaces, and only the model contains spaces.

use super::super::described::{DescribedDrive, TEXT_MAX, device_name};
use crate::words::size;

/// Names of transports (`lsblk -o TRAN`).
const TRANSPORTS: [&str; 9] = ["sata", "ata", "nvme", "usb", "sas", "spi", "iscsi", "fc", "mmc"];

pub(super) fn is_ours(text: &str) -> bool {
    headings(text).is_some()
}

/// Returns the headings and the number of their line.
fn headings(text: &str) -> Option<(Vec<&str>, usize)> {
    let at = text.lines().take(20).position(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("NAME" | "KNAME"))
            && words.any(|word| matches!(word, "SIZE" | "MODEL" | "TYPE"))
    })?;
    Some((text.lines().nth(at)?.split_whitespace().collect(), at))
}

pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let Some((headings, at)) = headings(text) else { return Vec::new() };
    text.lines().skip(at + 1).filter_map(|line| disk(&headings, line)).collect()
}

fn disk(headings: &[&str], line: &str) -> Option<DescribedDrive> {
    // A partition or a mapping is below its disk, after the lines of the tree.
    if !line.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let model_at = headings.iter().position(|heading| *heading == "MODEL");
    let of = |name: &str| -> Option<&str> {
        let at = headings.iter().position(|heading| *heading == name)?;
        match model_at {
            // Words after the model are counted from the end of the line.
            Some(model) if at > model => words
                .len()
                .checked_sub(headings.len() - at)
                .filter(|at| *at > model)
                .map(|at| words[at]),
            _ => words.get(at).copied(),
        }
    };
    if of("TYPE").is_some_and(|kind| kind != "disk") {
        return None;
    }
    let name = device_name(words.first()?)?;
    if ["loop", "ram", "zram", "dm-", "md", "sr"].iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let transport = of("TRAN").filter(|word| TRANSPORTS.contains(word));
    let model = model_at.and_then(|at| {
        // A missing transport leaves its column empty, so that the model has one word more.
        let missing = usize::from(headings.contains(&"TRAN") && transport.is_none());
        let end = (words.len() + missing).checked_sub(headings.len() - at - 1)?;
        let model = words.get(at..end.min(words.len()))?.join(" ").replace('_', " ");
        let model: String = model.chars().take(TEXT_MAX).collect();
        (!model.is_empty()).then_some(model)
    });
    let flag = |word: &str| match word {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    Some(DescribedDrive {
        name: Some(name),
        model,
        size_bytes: of("SIZE")
            .and_then(|text| Some(size(text, false)?.0 as u64))
            .filter(|bytes| *bytes > 0),
        rotational: of("ROTA").and_then(flag),
        transport: transport.map(str::to_owned),
        ..DescribedDrive::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_any;

    #[test]
    fn disks_are_read_although_the_columns_are_not_aligned() {
        let text = "NAME MODEL TRAN SIZE ROTA\nsda Samsung_SSD_870_QVO_1TB sata 931.5G 0\n├─sda1 1G 0\n\
                    nvme0n1 Samsung SSD 970 EVO Plus 500GB nvme 465.8G 0\nsdb WDC WD10EZEX 931.5G 1\n";
        let drives = read_any(text, "f").unwrap();
        let models: Vec<_> = drives.iter().map(|drive| drive.model.clone().unwrap()).collect();
        assert_eq!(
            models,
            ["Samsung SSD 870 QVO 1TB", "Samsung SSD 970 EVO Plus 500GB", "WDC WD10EZEX"]
        );
        assert_eq!(drives[1].transport.as_deref(), Some("nvme"));
        assert_eq!((drives[2].transport.as_deref(), drives[2].rotational), (None, Some(true)));
        assert_eq!(drives[0].size_bytes.map(|bytes| bytes >> 30), Some(931));
        let plain = "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT\nsda           8:0    0 931.5G  0 disk\n\
                     └─sda1        8:1    0   512M  0 part /boot\nloop0 7:0 0 4K 1 loop /snap\nsr0 11:0 1 1024M 0 rom\n";
        let drives = read_any(plain, "f").unwrap();
        assert_eq!(drives.len(), 1);
        assert_eq!((drives[0].name.as_deref(), drives[0].model.as_deref()), (Some("sda"), None));
        assert!(read_any("NAME SIZE\n", "f").is_err());
    }
}
