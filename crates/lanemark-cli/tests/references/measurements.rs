//! The corpus of published measurements, `reference/measurements.csv` and `measured-drives.csv`: each row is read, each
//! mistake is reported with its row, and each drive is assigned to one set by its model's name. `reference/README.md`
//! describes the columns; METHOD.md describes the use of the training set and the validation set.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use sha2::{Digest, Sha256};

use super::{assert_empty, project};

const COLUMNS: [&str; 28] = [
    "id",
    "drive",
    "model",
    "drive_kind",
    "drives",
    "interface",
    "platform",
    "path",
    "os",
    "tool",
    "target",
    "read_percent",
    "pattern",
    "block_bytes",
    "queue_depth",
    "threads",
    "flush",
    "span_bytes",
    "duration_s",
    "state",
    "figure",
    "value",
    "unit",
    "class",
    "grade",
    "url",
    "place",
    "accessed",
];
const KINDS: [&str; 5] = ["hdd", "nvme-ssd", "optane", "sas-ssd", "sata-ssd"];
const STATES: [&str; 4] = ["fresh", "preconditioned", "steady", "unknown"];
/// Figures and their units. Figures for one direction appear only for mixes, if a tool distinguishes reads from writes.
const FIGURES: [(&str, &str); 10] = [
    ("throughput", "MB/s"),
    ("read_throughput", "MB/s"),
    ("write_throughput", "MB/s"),
    ("iops", "IOPS"),
    ("read_iops", "IOPS"),
    ("write_iops", "IOPS"),
    ("latency_mean", "us"),
    ("latency_p50", "us"),
    ("latency_p99", "us"),
    ("latency_p99.9", "us"),
];
const CLASSES: [&str; 10] = [
    "path-limited",
    "one-at-a-time",
    "below-saturation",
    "saturated",
    "writes-fresh",
    "writes-sustained",
    "writes-steady",
    "mix",
    "hard-disk",
    "several-drives",
];
/// The columns of a drive's ratings: the values on the box or the data sheet, and their source.
const RATINGS: [&str; 14] = [
    "drive",
    "interface",
    "year",
    "nand",
    "controller",
    "dram",
    "seq_read_mb_s",
    "seq_write_mb_s",
    "rand_read_iops",
    "rand_write_iops",
    "latency_us",
    "endurance_tbw",
    "rpm",
    "source",
];

/// A set of the corpus: models and values are chosen with the training set and judged with the validation set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum SetOfModel {
    Training,
    Validation,
}

impl SetOfModel {
    /// Returns the set to which a model belongs. The set depends on whether the first byte of the SHA-256 of the
    /// lower-case model name is even or odd.
    fn for_model(model: &str) -> SetOfModel {
        match Sha256::digest(model.to_lowercase().as_bytes())[0] % 2 {
            0 => SetOfModel::Training,
            _ => SetOfModel::Validation,
        }
    }
}

/// A table, whose rows map column names to values.
struct Table {
    rows: Vec<BTreeMap<String, String>>,
    faults: Vec<String>,
}

impl Table {
    fn read(name: &str, text: &str, columns: &[&str]) -> Table {
        let mut faults = Vec::new();
        let mut rows = Vec::new();
        let mut file = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = file.headers().cloned().unwrap_or_default();
        let expected: Vec<&str> = columns.iter().copied().chain(["note"]).collect();
        if !header.iter().eq(expected.iter().copied()) {
            faults.push(format!("{name}:1: the columns must be {}", expected.join(",")));
            return Table { rows, faults };
        }
        for (index, record) in file.records().enumerate() {
            let line = index + 2;
            match record {
                Ok(record) if record.len() == expected.len() => {
                    let cells = expected.iter().zip(&record);
                    rows.push(
                        cells.map(|(key, cell)| (key.to_string(), cell.to_owned())).collect(),
                    );
                }
                Ok(record) => faults.push(format!(
                    "{name}:{line}: {} cells, not {}; a comma within a cell needs quotes",
                    record.len(),
                    expected.len()
                )),
                Err(error) => faults.push(format!("{name}:{line}: {error}")),
            }
        }
        Table { rows, faults }
    }
}

/// Returns the errors in the measurements, one sentence per error, with the row's id.
fn measurement_faults(text: &str) -> Vec<String> {
    let Table { rows, mut faults } = Table::read("measurements.csv", text, &COLUMNS);
    let mut ids = BTreeSet::new();
    let mut measured = BTreeSet::new();
    let mut models: BTreeMap<&str, &str> = BTreeMap::new();
    for row in &rows {
        let id = row["id"].as_str();
        let mut fault = |what: String| faults.push(format!("measurements.csv: {id}: {what}"));
        if !ids.insert(id) {
            fault("the id is defined twice".to_owned());
        }
        let of_the_value =
            COLUMNS.iter().filter(|&&key| key != "id" && key != "value").map(|&key| &row[key]);
        if !measured.insert(of_the_value.collect::<Vec<_>>()) {
            fault("the same figure of the same test is defined twice".to_owned());
        }
        for (key, known) in [
            ("drive_kind", &KINDS[..]),
            ("state", &STATES[..]),
            ("class", &CLASSES[..]),
            ("grade", &["A", "B", "C"][..]),
            ("pattern", &["random", "sequential", ""][..]),
        ] {
            if !known.contains(&row[key].as_str()) {
                fault(format!("{key} is {:?}, not one of {known:?}", row[key]));
            }
        }
        match FIGURES.iter().find(|(figure, _)| *figure == row["figure"]) {
            None => fault(format!("figure {:?} is not known", row["figure"])),
            Some((_, unit)) if *unit != row["unit"] => {
                fault(format!("{} is in {unit}, not in {:?}", row["figure"], row["unit"]));
            }
            Some(_) => {}
        }
        if !row["value"].parse().is_ok_and(|value: f64| value > 0.0 && value < 1e9) {
            fault(format!("the value {:?} is not a number above 0", row["value"]));
        }
        let read_percent = whole(&row["read_percent"]);
        let drives = whole(&row["drives"]);
        if read_percent.is_none_or(|share| share > 100) {
            fault(format!("read_percent {:?} is not 0 to 100", row["read_percent"]));
        }
        if drives.is_none_or(|count| count == 0) {
            fault(format!("drives {:?} is not a number above 0", row["drives"]));
        }
        for key in ["block_bytes", "queue_depth", "threads", "span_bytes", "duration_s"] {
            if !row[key].is_empty() && whole(&row[key]).is_none_or(|number| number == 0) {
                fault(format!("{key} {:?} is not a whole number above 0", row[key]));
            }
        }
        for key in ["drive", "model", "block_bytes", "place"] {
            if row[key].is_empty() {
                fault(format!("{key} is missing"));
            }
        }
        if !row["url"].starts_with("https://") && !row["url"].starts_with("http://") {
            fault(format!("url {:?} is no address", row["url"]));
        }
        if !date(&row["accessed"]) {
            fault(format!("accessed {:?} is no date such as 2026-11-22", row["accessed"]));
        }
        for (class, holds) in [
            ("several-drives", drives.is_some_and(|count| count > 1)),
            ("hard-disk", drives == Some(1) && row["drive_kind"] == "hdd"),
        ] {
            if (row["class"] == class) != holds {
                fault(format!("class {} does not fit its drives", row["class"]));
            }
        }
        let mixed = read_percent.is_some_and(|share| (1..100).contains(&share));
        if row["class"] == "mix" && !mixed {
            fault("class mix is for reads and writes together".to_owned());
        }
        let has = |keys: &[&str]| keys.iter().all(|&key| !row[key].is_empty());
        if row["grade"] == "A" && !has(&["interface", "platform", "path", "queue_depth", "threads"])
        {
            fault("grade A needs interface, platform, path, queue_depth and threads".to_owned());
        }
        if row["grade"] == "B" && !has(&["platform", "queue_depth", "threads"]) {
            fault("grade B needs platform, queue_depth and threads".to_owned());
        }
        let model = models.entry(&row["drive"]).or_insert(&row["model"]);
        if *model != row["model"] {
            fault(format!("{} is of the model {model} elsewhere", row["drive"]));
        }
    }
    faults
}

/// Returns the errors in the drives' ratings: each drive must have measurements, and each row must have a source.
fn rating_faults(text: &str, measured: &BTreeSet<&str>) -> Vec<String> {
    let Table { rows, mut faults } = Table::read("measured-drives.csv", text, &RATINGS);
    let mut drives = BTreeSet::new();
    for row in &rows {
        let drive = row["drive"].as_str();
        let mut fault = |what: String| faults.push(format!("measured-drives.csv: {drive}: {what}"));
        if !drives.insert(drive) {
            fault("the drive is defined twice".to_owned());
        }
        if !measured.contains(drive) {
            fault("no measurement is of this drive".to_owned());
        }
        for &key in &RATINGS {
            let number = key.contains("_mb_s") || key.contains("_iops");
            let number = number || ["year", "latency_us", "endurance_tbw", "rpm"].contains(&key);
            if number && !row[key].is_empty() && row[key].parse::<f64>().is_err() {
                fault(format!("{key} {:?} is not a number", row[key]));
            }
        }
        if !row["source"].starts_with("https://") && !row["source"].starts_with("http://") {
            fault(format!("source {:?} is no address", row["source"]));
        }
    }
    faults
}

fn whole(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn date(text: &str) -> bool {
    text.len() == 10
        && text.char_indices().all(|(at, letter)| match at {
            4 | 7 => letter == '-',
            _ => letter.is_ascii_digit(),
        })
}

fn reference(name: &str) -> String {
    fs::read_to_string(project().join("reference").join(name)).unwrap()
}

#[test]
fn every_published_measurement_can_be_read_and_belongs_to_a_set() {
    let text = reference("measurements.csv");
    assert_empty(&measurement_faults(&text));
    let rows = Table::read("measurements.csv", &text, &COLUMNS).rows;
    assert!(rows.len() >= 600, "only {} measurements", rows.len());
    let mut sets: BTreeMap<SetOfModel, BTreeSet<&str>> = BTreeMap::new();
    for row in &rows {
        sets.entry(SetOfModel::for_model(&row["model"])).or_default().insert(&row["model"]);
    }
    for set in [SetOfModel::Training, SetOfModel::Validation] {
        assert!(sets[&set].len() >= 20, "{set:?} has {} models", sets[&set].len());
    }
    let measured = rows.iter().map(|row| row["drive"].as_str()).collect();
    assert_empty(&rating_faults(&reference("measured-drives.csv"), &measured));
}

/// Returns a CSV text without its last column, and the values of that column.
fn without_last_column(text: &str) -> (String, Vec<String>) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut last = Vec::new();
    for record in reader.records() {
        let cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        let (end, others) = cells.split_last().unwrap();
        last.push(end.clone());
        writer.write_record(others).unwrap();
    }
    (String::from_utf8(writer.into_inner().unwrap()).unwrap(), last)
}

/// New rows have the same rules, a date, and neither a measurement nor an address that the other file contains.
#[test]
fn every_new_measurement_can_be_read_and_is_not_an_earlier_one() {
    let (text, added) = without_last_column(&reference("new-measurements.csv"));
    assert_empty(&measurement_faults(&text));
    assert_eq!(added[0], "added");
    assert!(added[1..].iter().all(|date| date.starts_with("20") && date.len() == 10), "{added:?}");
    let rows = Table::read("new-measurements.csv", &text, &COLUMNS).rows;
    let earlier = Table::read("measurements.csv", &reference("measurements.csv"), &COLUMNS).rows;
    let known: BTreeSet<&str> = earlier.iter().map(|row| row["url"].as_str()).collect();
    let repeated: Vec<&str> =
        rows.iter().map(|row| row["url"].as_str()).filter(|url| known.contains(url)).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}

#[test]
fn a_model_belongs_to_the_same_set_however_it_is_written() {
    assert_eq!(SetOfModel::for_model("Crucial MX500"), SetOfModel::for_model("crucial mx500"));
    // The SHA-256 digests begin with 0x59 and 0x04. A different hash function would move drives to the other set.
    assert_eq!(SetOfModel::for_model("Samsung 980 PRO"), SetOfModel::Validation);
    assert_eq!(SetOfModel::for_model("WD SN730"), SetOfModel::Training);
}

#[test]
fn all_faults_of_a_measurement_are_reported_at_once() {
    let text = reference("measurements.csv");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let good = lines.next().unwrap();
    let broken = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        measurement_faults(&format!("{header}\n{}\n", good.replacen(from, to, 1)))
    };
    assert!(measurement_faults(&format!("{header}\n{good}\n")).is_empty());
    assert_eq!(broken("nvme-ssd", "tape").len(), 1);
    assert_eq!(broken("MB/s", "MiB/s").len(), 1);
    assert_eq!(broken("unknown,throughput", "worn,speed").len(), 2);
    assert_eq!(broken("2026-11-22", "yesterday").len(), 1);
    assert_eq!(broken("https://", "ftp://").len(), 1);
    assert_eq!(broken(",C,", ",A,").len(), 1, "grade A without a path");
    assert_eq!(broken("nvme-ssd,1,", "nvme-ssd,8,").len(), 1, "eight drives are no single one");
    assert_eq!(broken("nvme-ssd,1,", "nvme-ssd,").len(), 1, "a cell is missing");
    assert_eq!(measurement_faults(&format!("{header}\n{good}\n{good}\n")).len(), 2);
    assert_eq!(measurement_faults("id,drive\n").len(), 1);
    assert_eq!(measurement_faults("").len(), 1);
}
