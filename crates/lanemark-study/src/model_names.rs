//! Library drives by the model name that a drive reports, such as `Samsung SSD 970 EVO Plus 1TB` or `CT1000MX500SSD1`.
//!
//! The file of a drive is named after its maker, product line and capacity. A model name matches if it contains all
//! words of the line and no word that could belong to another line. For makers whose drives report part numbers, there
//! is a table of the beginnings of these numbers. The table is based on the makers' numbering schemes; individual
//! numbers were not compared with data sheets.

use crate::library::{Library, LibraryKind};

/// Relative difference up to which two capacities count as equal; for example, 1024 GB is sold as 1 TB.
const CAPACITY_SLACK: f64 = 0.03;
/// Maximum length of a model name; NVMe's model-number field has 40 characters.
const MODEL_MAX: usize = 200;

/// Words in model names that do not identify a line.
const IGNORED: [&str; 20] = [
    "ssd", "nvme", "ata", "sata", "sas", "m", "2", "2280", "pcie", "with", "heatsink", "series",
    "gen4", "disk", "drive", "wdc", "corp", "inc", "solid", "state",
];
/// Makers; a model name may omit the maker, or join it to the line.
const MAKERS: [&str; 21] = [
    "adata",
    "corsair",
    "crucial",
    "gigabyte",
    "hgst",
    "hp",
    "intel",
    "kingston",
    "kioxia",
    "lexar",
    "micron",
    "ocz",
    "plextor",
    "samsung",
    "sandisk",
    "seagate",
    "solidigm",
    "teamgroup",
    "toshiba",
    "transcend",
    "wd",
];

/// Beginnings of part numbers, each with its library drive.
const PARTS: &[(&str, &str)] = &[
    ("INTEL SSDPEKNW010T8", "intel-660p-1tb"),
    ("INTEL SSDPEKNW020T8", "intel-660p-2tb"),
    ("INTEL SSDPEKNW512G8", "intel-660p-512gb"),
    ("INTEL SSDPEKNW010T9", "intel-665p-1tb"),
    ("INTEL SSDPEKNU010TZ", "intel-670p-1tb"),
    ("INTEL SSDPEKNU020TZ", "intel-670p-2tb"),
    ("INTEL SSDPEKKW256G7", "intel-600p-256gb"),
    ("INTEL SSDPEKKW512G7", "intel-600p-512gb"),
    ("INTEL SSDPEKKW512G8", "intel-760p-512gb"),
    ("INTEL SSDPED1D280GA", "intel-optane-900p-280gb"),
    ("INTEL SSDPED1D960GA", "intel-optane-905p-960gb"),
    ("INTEL SSDPE21D960GA", "intel-optane-905p-960gb"),
    ("INTEL SSDPED1K375GA", "intel-optane-p4800x-375gb"),
    ("INTEL SSDPEK1A118GA", "intel-optane-p1600x-118gb"),
    ("INTEL MEMPEK1W032GA", "intel-optane-memory-32gb"),
    ("INTEL SSDPEDMW400G4", "intel-750-400gb"),
    ("INTEL SSDPE2MW400G4", "intel-750-400gb"),
    ("INTEL SSDPEDMD400G4", "intel-dc-p3700-400gb"),
    ("INTEL SSDPE2MD400G4", "intel-dc-p3700-400gb"),
    ("INTEL SSDPE2KX010T8", "intel-dc-p4510-1tb"),
    ("INTEL SSDPE2KX040T8", "intel-dc-p4510-4tb"),
    ("INTEL SSDPE2KX020T7", "intel-dc-p4500-2tb"),
    ("INTEL SSDPE2KX040T7", "intel-dc-p4500-4tb"),
    ("INTEL SSDPE2KE016T8", "intel-dc-p4610-1600gb"),
    ("INTEL SSDPE2MX020T7", "intel-dc-p3520-2tb"),
    ("INTEL SSDPEDME016T4", "intel-dc-p3600-1600gb"),
    ("INTEL SSDSC2BB480G4", "intel-dc-s3500-480gb"),
    ("INTEL SSDSC2BB480G6", "intel-dc-s3510-480gb"),
    ("INTEL SSDSC2BX800G4", "intel-dc-s3610-800gb"),
    ("INTEL SSDSC2BA400G3", "intel-dc-s3700-400gb"),
    ("INTEL SSDSC2BA400G4", "intel-dc-s3710-400gb"),
    ("INTEL SSDSC2KB960G8", "intel-d3-s4510-960gb"),
    ("INTEL SSDSC2KG960G8", "intel-d3-s4610-960gb"),
    ("INTEL SSDSC2KB960G7", "intel-s4500-960gb"),
    ("INTEL SSDSA2CW300G3", "intel-320-300gb"),
    ("INTEL SSDSC2CT120A3", "intel-330-120gb"),
    ("INTEL SSDSC2CT240A4", "intel-335-240gb"),
    ("INTEL SSDSC2CW240A3", "intel-520-240gb"),
    ("INTEL SSDSC2BW240A4", "intel-530-240gb"),
    ("INTEL SSDSC2BP480G4", "intel-730-480gb"),
    ("INTEL SSDSC2KW480H6", "intel-540s-480gb"),
    ("INTEL SSDSA2M160G2", "intel-x25-m-g2-160gb"),
    ("INTEL SSDSA2M080G2", "intel-x25-m-g2-80gb"),
    ("SSDSA2SH032G1", "intel-x25-e-32gb"),
    ("SSDSA2SH064G1", "intel-x25-e-64gb"),
    ("KINGSTON SA400S37480G", "kingston-a400-480gb"),
    ("KINGSTON SA2000M81000G", "kingston-a2000-1tb"),
    ("KINGSTON SA1000M8480G", "kingston-a1000-480gb"),
    ("KINGSTON SKC2000M81000G", "kingston-kc2000-1tb"),
    ("KINGSTON SKC2500M81000G", "kingston-kc2500-1tb"),
    ("KINGSTON SKC3000S1024G", "kingston-kc3000-1tb"),
    ("KINGSTON SKC3000D2048G", "kingston-kc3000-2tb"),
    ("KINGSTON SKC600512G", "kingston-kc600-512gb"),
    ("KINGSTON SNVS1000G", "kingston-nv1-1tb"),
    ("KINGSTON SNV2S1000G", "kingston-nv2-1tb"),
    ("KINGSTON SNV3S1000G", "kingston-nv3-1tb"),
    ("KINGSTON SUV400S37480G", "kingston-uv400-480gb"),
    ("KINGSTON SUV500480G", "kingston-uv500-480gb"),
    ("KINGSTON SV300S37A120G", "kingston-v300-120gb"),
    ("KINGSTON SFYRS1000G", "kingston-fury-renegade-1tb"),
    ("KINGSTON SEDC500M960G", "kingston-dc500m-960gb"),
    ("KINGSTON SEDC500R960G", "kingston-dc500r-960gb"),
    ("KINGSTON SEDC600M960G", "kingston-dc600m-960gb"),
    ("KINGSTON SEDC450R960G", "kingston-dc450r-960gb"),
    ("KINGSTON SEDC1000BM8480G", "kingston-dc1000b-480gb"),
    ("SAMSUNG MZVL21T0HCLR", "samsung-pm9a1-1tb"),
    ("SAMSUNG MZQL2960HCJR", "samsung-pm9a3-960gb"),
    ("SAMSUNG MZQL27T6HBLA", "samsung-pm9a3-7680gb"),
    ("SAMSUNG MZQLB1T9HAJR", "samsung-pm983-1920gb"),
    ("SAMSUNG MZQLB3T8HALS", "samsung-pm983-3840gb"),
    ("SAMSUNG MZWLJ3T8HBLS", "samsung-pm1733-3840gb"),
    ("SAMSUNG MZ7LM960HMJP", "samsung-pm863a-960gb"),
    ("SAMSUNG MZHPU512HCGL", "samsung-xp941-512gb"),
    ("SHGP31-1000GM", "sk-hynix-gold-p31-1tb"),
    ("SHGS31-1000GS", "sk-hynix-gold-s31-1tb"),
    ("SHPP41-1000GM", "sk-hynix-platinum-p41-1tb"),
    ("WDS100T1X0E", "wd-black-sn850-1tb"),
    ("WDS100T2X0E", "wd-black-sn850x-1tb"),
    ("WDS200T2X0E", "wd-black-sn850x-2tb"),
    ("WDS100T3X0E", "wd-black-sn770-1tb"),
    ("WDS100T3X0C", "wd-black-sn750-1tb"),
    ("WDS100T2X0C", "wd-black-nvme-1tb"),
    ("WDS500G2X0C", "wd-black-nvme-500gb"),
    ("WDS512G1X0C", "wd-black-pcie-512gb"),
    ("WDS500G1B0C", "wd-blue-sn500-500gb"),
    ("WDS100T2B0C", "wd-blue-sn550-1tb"),
    ("WDS100T3B0C", "wd-blue-sn570-1tb"),
    ("WDS100T3B0E", "wd-blue-sn580-1tb"),
    ("WDS100T2B0A", "wd-blue-3d-1tb"),
    ("WDS100T3B0A", "wd-blue-sa510-1tb"),
    ("WDS100T1R0A", "wd-red-sa500-1tb"),
    ("WDS100T1R0C", "wd-red-sn700-1tb"),
    ("ST31000528AS", "seagate-barracuda-7200-12-1tb"),
    ("ST32000641AS", "seagate-barracuda-xt-2tb"),
    ("ST16000NM001G", "seagate-exos-x16-16tb"),
    ("ST18000NM000J", "seagate-exos-x18-18tb"),
    ("ST4000VN008", "seagate-ironwolf-4tb"),
    ("ST18000NE000", "seagate-ironwolf-pro-18tb"),
    ("TOSHIBA MG08ACA16T", "toshiba-mg08-16tb"),
];

/// The library drives that match a model name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelMatches {
    /// The drives of the model's line that have the same capacity.
    pub same: Vec<String>,
    /// The drives of the line that have another capacity, if there is no drive with the same capacity.
    pub other_capacity: Vec<String>,
}

/// Returns the library drives that match a model name. `bytes` is the size of the drive, for model names that do not
/// state the capacity.
pub fn drives_of(library: &Library, model: &str, bytes: Option<u64>) -> ModelMatches {
    let model: String = model.chars().take(MODEL_MAX).collect();
    let names = library.names(LibraryKind::Drive);
    if let Some(name) = of_part(&model).filter(|name| names.contains(name)) {
        return ModelMatches { same: vec![name], other_capacity: Vec::new() };
    }
    let words = words(&model);
    let stated = words.iter().rev().find_map(|word| gigabytes(word));
    let capacity = stated.or(bytes.map(|bytes| bytes as f64 / 1e9));
    let line: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| gigabytes(word).is_none() && !IGNORED.contains(word))
        .collect();
    let mut found = ModelMatches::default();
    for name in names {
        let (own_line, own_capacity) = match name.rsplit_once('-') {
            Some((line, capacity)) => (line, gigabytes(capacity)),
            None => continue,
        };
        let Some(own_capacity) = own_capacity.filter(|_| is_line(own_line, &line)) else {
            continue;
        };
        let is_near_capacity =
            |capacity: f64| (capacity / own_capacity - 1.0).abs() <= CAPACITY_SLACK;
        match capacity {
            Some(capacity) if is_near_capacity(capacity) => found.same.push(name),
            _ => found.other_capacity.push(name),
        }
    }
    if !found.same.is_empty() {
        found.other_capacity.clear();
    }
    found
}

/// Returns the drive of the library with a part number, such as `MZ-V8P1T0BW` or `SA400S37/480G`.
pub(crate) fn drive_of_part(library: &Library, part: &str) -> Option<String> {
    let is_long = part.len() >= PART_MIN && part.bytes().any(|byte| byte.is_ascii_digit());
    let name = of_part(part).filter(|_| is_long)?;
    library.names(LibraryKind::Drive).contains(&name).then_some(name)
}

/// Returns the library drive for a part number.
fn of_part(model: &str) -> Option<String> {
    // A part number on a box has separators that the drive does not report.
    let upper = model.trim().to_ascii_uppercase().replace(['-', '/'], "");
    // The maker's name may be omitted, or precede the part number.
    let matches_part = |beginning: &str| {
        let bare = beginning.rsplit(' ').next().unwrap_or(beginning).replace('-', "");
        upper.split_whitespace().any(|word| word.starts_with(&bare))
    };
    if let Some((_, name)) = PARTS.iter().find(|(beginning, _)| matches_part(beginning)) {
        return Some((*name).to_owned());
    }
    upper.split_whitespace().find_map(|word| {
        of_crucial(word)
            .or_else(|| of_samsung(word))
            .or_else(|| of_wd(word))
            .or_else(|| of_seagate(word))
    })
}

/// Minimum length of a part number in a text.
const PART_MIN: usize = 8;

/// Codes of Samsung's retail drives, which follow `MZ` and precede the capacity, each with its line.
const SAMSUNG: [(&str, &str); 27] = [
    ("V5P", "950-pro"),
    ("V6E", "960-evo"),
    ("V6P", "960-pro"),
    ("V7E", "970-evo"),
    ("V7P", "970-pro"),
    ("V7S", "970-evo-plus"),
    ("V8V", "980"),
    ("V8P", "980-pro"),
    ("V9P", "990-pro"),
    ("V9E", "990-evo"),
    ("V9S", "990-evo-plus"),
    ("VAP", "9100-pro"),
    ("750", "750-evo"),
    ("75E", "850-evo"),
    ("N5E", "850-evo"),
    ("7KE", "850-pro"),
    ("76E", "860-evo"),
    ("N6E", "860-evo"),
    ("76P", "860-pro"),
    ("76Q", "860-qvo"),
    ("77E", "870-evo"),
    ("77Q", "870-qvo"),
    ("7TE", "840-evo"),
    ("7TD", "840"),
    ("7PD", "840-pro"),
    ("7PC", "830"),
    ("5PA", "470"),
];

/// Returns the library drive for Samsung's retail part numbers, such as `MZ-V8P1T0BW` without its dash.
fn of_samsung(word: &str) -> Option<String> {
    let rest = word.strip_prefix("MZ")?;
    let (_, line) = SAMSUNG.iter().find(|(code, _)| rest.starts_with(code))?;
    // The capacity has three characters: `500` is 500 GB, and `1T0` is 1 TB.
    let capacity = rest.get(3..6)?;
    let capacity = match capacity.split_once('T') {
        Some((whole, "0")) => format!("{}tb", whole.parse::<u32>().ok()?),
        Some(_) => return None,
        None => format!("{}gb", capacity.parse::<u32>().ok()?),
    };
    Some(format!("samsung-{line}-{capacity}"))
}

/// Endings of Western Digital's part numbers, which follow the capacity, each with its line.
const WD: [(&str, &str); 19] = [
    ("1X0E", "black-sn850"),
    ("2X0E", "black-sn850x"),
    ("3X0E", "black-sn770"),
    ("4X0E", "black-sn7100"),
    ("1X0M", "black-sn8100"),
    ("3X0C", "black-sn750"),
    ("2X0C", "black-nvme"),
    ("1X0C", "black-pcie"),
    ("1B0C", "blue-sn500"),
    ("2B0C", "blue-sn550"),
    ("3B0C", "blue-sn570"),
    ("3B0E", "blue-sn580"),
    ("4B0E", "blue-sn5000"),
    ("2B0A", "blue-3d"),
    ("2B0B", "blue-3d"),
    ("3B0A", "blue-sa510"),
    ("3B0B", "blue-sa510"),
    ("1R0A", "red-sa500"),
    ("1R0C", "red-sn700"),
];

/// Returns the library drive for Western Digital's part numbers of solid-state drives, such as `WDS100T2B0C`.
fn of_wd(word: &str) -> Option<String> {
    let rest = word.strip_prefix("WDS")?;
    let digits: u32 = rest.get(..3)?.parse().ok()?;
    // `100T` is 1 TB, and `500G` is 500 GB.
    let capacity = match rest.get(3..4)? {
        "T" if digits.is_multiple_of(100) => format!("{}tb", digits / 100),
        "G" => format!("{digits}gb"),
        _ => return None,
    };
    let (_, line) = WD.iter().find(|(ending, _)| rest.get(4..8) == Some(ending))?;
    Some(format!("wd-{line}-{capacity}"))
}

/// Returns the library drive for Seagate's part numbers of solid-state drives, such as `ZP1000GM30013`.
fn of_seagate(word: &str) -> Option<String> {
    const LINES: [(&str, &str); 4] = [
        ("GM30002", "firecuda-520"),
        ("GM3A002", "firecuda-520"),
        ("GM30013", "firecuda-530"),
        ("GM3A004", "firecuda-540"),
    ];
    let rest = word.strip_prefix("ZP")?;
    let end = rest.find('G')?;
    let gigabytes: u32 = rest.get(..end)?.parse().ok().filter(|gigabytes| *gigabytes > 0)?;
    let (_, line) = LINES.iter().find(|(ending, _)| rest[end..].starts_with(ending))?;
    let capacity = match gigabytes {
        _ if gigabytes.is_multiple_of(1000) => format!("{}tb", gigabytes / 1000),
        _ => format!("{gigabytes}gb"),
    };
    Some(format!("seagate-{line}-{capacity}"))
}

/// Returns the library drive for Crucial's part numbers, such as `CT1000MX500SSD1`, which consist of the capacity in GB
/// and the line.
fn of_crucial(word: &str) -> Option<String> {
    let rest = word.strip_prefix("CT")?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
    let gigabytes: u32 = rest[..digits].parse().ok()?;
    let line = rest[digits..].split("SSD").next()?.to_ascii_lowercase();
    let line = match line.strip_suffix('p').filter(|line| matches!(*line, "p3" | "p5")) {
        Some(line) => format!("{line}-plus"),
        None => line,
    };
    let capacity = match gigabytes {
        0 => return None,
        _ if gigabytes.is_multiple_of(1000) => format!("{}tb", gigabytes / 1000),
        _ => format!("{gigabytes}gb"),
    };
    (!line.is_empty()).then(|| format!("crucial-{line}-{capacity}"))
}

/// Returns whether a model name contains all words of a library drive's line, and no other words.
fn is_line(own: &str, model: &[&str]) -> bool {
    let own: Vec<&str> = own.split('-').collect();
    let is_maker = |word: &&str| MAKERS.contains(word);
    let needed: Vec<&&str> = own.iter().filter(|word| !is_maker(word)).collect();
    // A line whose words do not contain a digit is too common to be recognised without its maker.
    let is_distinct = needed.iter().any(|word| word.bytes().any(|byte| byte.is_ascii_digit()));
    let makers_agree = own
        .iter()
        .filter(|word| is_maker(word))
        .all(|maker| model.contains(maker) || is_distinct && !model.iter().any(&is_maker));
    !needed.is_empty()
        && makers_agree
        && needed.iter().all(|word| model.contains(*word))
        && model.iter().all(|word| is_maker(word) || own.contains(word))
}

/// Returns the words of a model name in lower case.
fn words(model: &str) -> Vec<String> {
    let lower = model.to_ascii_lowercase();
    let parts = lower.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Parses a capacity such as `500gb` or `1tb`, in gigabytes.
fn gigabytes(word: &str) -> Option<f64> {
    let (number, unit) = match (word.strip_suffix("tb"), word.strip_suffix("gb")) {
        (Some(number), _) => (number, 1000.0),
        (_, Some(number)) => (number, 1.0),
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|number| *number > 0.0).map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_number_names_a_drive_of_the_library() {
        let names = Library::built_in().names(LibraryKind::Drive);
        for (part, drive) in PARTS {
            assert!(names.iter().any(|name| name == drive), "{part}: {drive}");
            let model = format!("{part}-00XYZ0");
            assert_eq!(drives_of(&Library::built_in(), &model, None).same, [*drive], "{model}");
        }
    }

    #[test]
    fn a_model_finds_its_line_and_capacity_and_no_other() {
        let library = Library::built_in();
        let same = |model: &str, bytes| drives_of(&library, model, bytes).same;
        for (model, bytes, drive) in [
            ("Samsung SSD 970 EVO Plus 1TB", None, "samsung-970-evo-plus-1tb"),
            ("Samsung SSD 970 EVO 500GB", None, "samsung-970-evo-500gb"),
            ("Samsung SSD 980 PRO with Heatsink 1TB", None, "samsung-980-pro-1tb"),
            ("WD_BLACK SN850X 2000GB", None, "wd-black-sn850x-2tb"),
            ("CT1000MX500SSD1", None, "crucial-mx500-1tb"),
            ("CT1000P3PSSD8", None, "crucial-p3-plus-1tb"),
            ("Corsair MP600", Some(1_000_204_886_016), "corsair-mp600-1tb"),
            ("WDC WDS100T2B0C-00PXH0", None, "wd-blue-sn550-1tb"),
            ("MZ-V8P1T0BW", None, "samsung-980-pro-1tb"),
            ("MZ-V7S500BW", None, "samsung-970-evo-plus-500gb"),
            ("MZ-77E1T0B/AM", None, "samsung-870-evo-1tb"),
            ("MZ-V9P4T0BW", None, "samsung-990-pro-4tb"),
            ("WDS200T2X0E", None, "wd-black-sn850x-2tb"),
            ("WDS100T1X0M", None, "wd-black-sn8100-1tb"),
            ("ZP2000GM30013", None, "seagate-firecuda-530-2tb"),
            ("SA400S37/480G", None, "kingston-a400-480gb"),
            ("SKC3000S/1024G", None, "kingston-kc3000-1tb"),
            ("CT2000T500SSD8", None, "crucial-t500-2tb"),
        ] {
            assert_eq!(same(model, bytes), [drive], "{model}");
        }
        let other = drives_of(&library, "Samsung SSD 970 EVO Plus 2TB", Some(2_000_398_934_016));
        assert_eq!(other.same, Vec::<String>::new());
        assert!(other.other_capacity.contains(&"samsung-970-evo-plus-1tb".to_owned()));
        assert!(!other.other_capacity.contains(&"samsung-970-evo-1tb".to_owned()));
        for model in ["", "QEMU HARDDISK", "1TB", "EVO", "SSD", "é\u{202e}", "CT0SSD", "CTSSD1"] {
            assert_eq!(
                drives_of(&library, model, Some(1_000_204_886_016)),
                ModelMatches::default(),
                "{model}"
            );
        }
        same(&"970-".repeat(10_000), None);
    }
}
