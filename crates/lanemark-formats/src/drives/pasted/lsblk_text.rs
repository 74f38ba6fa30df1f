//! `lsblk` as a table. A row whose words are below the headings is read by columns, so that columns may be empty. In
//! other rows only the model may contain spaces, and no column is empty except for the transport.

use super::super::described::{DescribedDrive, TEXT_MAX, capacity, device_name, is_drive_name};

/// Names of transports (`lsblk -o TRAN`).
const TRANSPORTS: [&str; 9] = ["sata", "ata", "nvme", "usb", "sas", "spi", "iscsi", "fc", "mmc"];
/// Headings by which a table is recognised.
const HEADINGS: [&str; 7] = ["SIZE", "MODEL", "TYPE", "FSTYPE", "TRAN", "ROTA", "MOUNTPOINT"];

pub(super) fn is_ours(text: &str) -> bool {
    headings(text).is_some()
}

/// A heading, with the positions of its first letter and after its last letter.
#[derive(Clone, Copy, Debug)]
struct Heading<'t> {
    name: &'t str,
    start: usize,
    end: usize,
}

/// Returns the words of a line with their positions, in characters.
fn words(line: &str) -> Vec<Heading<'_>> {
    let mut all: Vec<Heading<'_>> = Vec::new();
    let mut start = None;
    let ends = [(line.len(), ' ')];
    for (position, (at, letter)) in line.char_indices().chain(ends).enumerate() {
        match (start, letter.is_whitespace()) {
            (None, false) => start = Some((position, at)),
            (Some((first, from)), true) => {
                all.push(Heading { name: &line[from..at], start: first, end: position });
                start = None;
            }
            _ => {}
        }
    }
    all
}

/// Returns the headings and the number of their line.
fn headings(text: &str) -> Option<(Vec<Heading<'_>>, usize)> {
    let at = text.lines().take(20).position(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("NAME" | "KNAME"))
            && words.any(|word| HEADINGS.contains(&word) || word == "MOUNTPOINTS")
    })?;
    Some((words(text.lines().nth(at)?), at))
}

pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let Some((headings, at)) = headings(text) else { return Vec::new() };
    text.lines().skip(at + 1).filter_map(|line| disk(&headings, line)).collect()
}

/// Returns the words of each column, if all words of the row are below the headings.
fn aligned_cells(headings: &[Heading<'_>], line: &str) -> Option<Vec<String>> {
    let words = words(line);
    let mut cells = vec![String::new(); headings.len()];
    for word in &words {
        let is_below = |heading: &Heading<'_>| word.start < heading.end && heading.start < word.end;
        let before = headings.iter().rposition(|heading| heading.start <= word.start);
        let at = headings.iter().position(is_below).or(before)?;
        let cell = &mut cells[at];
        let heading = &headings[at];
        // Texts begin below the beginning of the heading, and numbers end below its end. A text may have further words.
        let fits = !cell.is_empty()
            || word.start == heading.start
            || word.end == heading.end
            || heading.name == "MAJ:MIN";
        if !fits {
            return None;
        }
        if !cell.is_empty() {
            cell.push(' ');
        }
        cell.push_str(word.name);
    }
    Some(cells)
}

/// Returns the words of each column if only the model contains spaces.
fn counted_cells(headings: &[Heading<'_>], line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let find = |name: &str| headings.iter().position(|heading| heading.name == name);
    let Some(model) = find("MODEL") else {
        return words.iter().map(|word| (*word).to_owned()).collect();
    };
    // A missing transport leaves its column empty, so that the model has one word more.
    let is_transport = |word: &&str| TRANSPORTS.contains(word);
    let missing = usize::from(find("TRAN").is_some() && !words.iter().any(is_transport));
    let after = (headings.len() - model - 1).saturating_sub(missing);
    let end = words.len().saturating_sub(after).max(model.min(words.len()));
    let mut cells: Vec<String> =
        words[..model.min(words.len())].iter().map(|word| (*word).to_owned()).collect();
    cells.push(words[cells.len()..end].join(" "));
    let mut rest = words[end..].iter();
    for heading in &headings[model + 1..] {
        let is_empty = missing == 1 && heading.name == "TRAN";
        cells.push(if is_empty {
            String::new()
        } else {
            rest.next().map_or("", |w| *w).to_owned()
        });
    }
    cells
}

fn disk(headings: &[Heading<'_>], line: &str) -> Option<DescribedDrive> {
    // A partition or a mapping is below its disk, after the lines of the tree.
    if !line.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        return None;
    }
    let cells = aligned_cells(headings, line).unwrap_or_else(|| counted_cells(headings, line));
    let of = |name: &str| -> Option<&str> {
        let at = headings.iter().position(|heading| heading.name == name)?;
        cells.get(at).map(String::as_str).filter(|cell| !cell.is_empty())
    };
    if of("TYPE").is_some_and(|kind| kind != "disk") {
        return None;
    }
    let name = device_name(line.split_whitespace().next()?)?;
    if !is_drive_name(&name) {
        return None;
    }
    let model = of("MODEL").map(|model| model.replace('_', " ").chars().take(TEXT_MAX).collect());
    let flag = |word: &str| match word {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    Some(DescribedDrive {
        name: Some(name),
        model,
        size_bytes: of("SIZE").and_then(capacity).filter(|bytes| *bytes > 0),
        rotational: of("ROTA").and_then(flag),
        transport: of("TRAN").filter(|word| TRANSPORTS.contains(word)).map(str::to_owned),
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

    #[test]
    fn empty_columns_and_columns_after_the_model_keep_their_meaning() {
        let text = "NAME    ROTA SCHED       MODEL                        SERIAL            SIZE\n\
                    sda        1 mq-deadline WDC WD40EFRX-68N32N0         WD-WCC7K0000000   3.6T\n\
                    nvme0n1    0 kyber       Samsung SSD 970 EVO Plus 1TB S4EWNF0M000000  931,5G\n\
                    mmcblk0    0 mq-deadline                              0x12345678       29.7G\n";
        let drives = read_any(text, "f").unwrap();
        let models: Vec<_> = drives.iter().map(|drive| drive.model.as_deref()).collect();
        assert_eq!(
            models,
            [Some("WDC WD40EFRX-68N32N0"), Some("Samsung SSD 970 EVO Plus 1TB"), None]
        );
        let sizes: Vec<_> = drives.iter().map(|drive| drive.size_bytes.unwrap() >> 30).collect();
        assert_eq!(sizes, [4_000_000_000_000 >> 30, 931, 29]);
        assert_eq!(drives[0].rotational, Some(true));
    }
}
