//! The reference of all keys in docs/reference lists exactly the keys that the readers request, each with its sentence
//! in keys.toml. `LANEMARK_REFERENCE=write` rewrites the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use lanemark_study::document::Context;
use lanemark_study::document::requested_keys::{RequestedKey, RequestedKeys, record};
use lanemark_study::library::LibraryKind;
use lanemark_study::platform::Platform;
use lanemark_study::sweep::SweepDefinition;
use lanemark_study::system::NameLocations;
use lanemark_study::{
    Ledger, Library, Location, Overrides, Study, System, rated, system::SystemName, workload,
};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A sweep file, because the tree does not contain any.
const SWEEP: &str = "[sweep]\nsystem = \"samsung-950-pro-512gb@workstation-z170:m2\"\n\
    workload = \"quick:rnd4k-q32t1-read\"\n\n[[axis]]\nname = \"queue_depth\"\nrange = \"1..8*2\"\n\n\
    [[axis]]\nname = \"threads\"\nvalues = [1, 2]\n\n\
    [[set]]\nparameter = \"drive.flash.read\"\nvalue = \"50 us\"\n";
/// A study with its own tests, in the form that a page saves.
const OWN_TESTS: &str = "[study]\ntitle = \"Own\"\nquestion = \"Which?\"\n\n\
    [workload]\nname = \"Own\"\nrepeats = 1\naverage = \"mean\"\n\n\
    [[test]]\nname = \"a\"\nblock = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\n\
    queue_depth = 1\nspan = \"1 GiB\"\nduration = \"1 s\"\n\n\
    [[system]]\nname = \"a\"\nlabel = \"A\"\ndrive = \"samsung-850-pro-1tb\"\n\
    platform = \"workstation-z170\"\nport = \"sata\"\nfaults = [\"power-cut at=2s boot=1s\"]\n";
const ROOTS: [&str; 7] = ["drive", "platform", "host", "workload", "study", "sweep", "priors"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns a library with all files in the tree and in tests/rare, which contain the keys that do not occur in other
/// files.
fn library_with_rare_files(folder: &Path) -> Library {
    let rare = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rare");
    for part in ["drives", "platforms", "hosts", "workloads", "priors"] {
        fs::create_dir_all(folder.join(part)).unwrap();
        for from in [project().join("library").join(part), rare.join(part)] {
            let Ok(files) = fs::read_dir(&from) else { continue };
            for file in files {
                let file = file.unwrap();
                fs::copy(file.path(), folder.join(part).join(file.file_name())).unwrap();
            }
        }
    }
    Library::in_folder(folder).unwrap()
}

/// Reads every file of the library and the studies.
fn read_all(folder: &Path) {
    let library = library_with_rare_files(&folder.join("library"));
    for name in library.names(LibraryKind::Drive) {
        rated::explain(&library, &name).unwrap();
    }
    for name in library.names(LibraryKind::Platform) {
        let ledger = Ledger::default();
        let overrides = Overrides::default();
        let document = library.open(LibraryKind::Platform, &name).unwrap();
        Platform::read(&document, Context { ledger: &ledger, overrides: &overrides }).unwrap();
    }
    for host in library.names(LibraryKind::Host) {
        let text = format!("samsung-850-pro-1tb@workstation-z170,{host}:sata");
        let parts = SystemName::parse(&text).unwrap();
        let at = NameLocations::all(&Location::file("reference"));
        System::assemble(&library, &parts, &at, &text, &[]).unwrap();
    }
    for name in library.names(LibraryKind::Workload) {
        workload::open(&library, &name).unwrap();
    }
    for entry in fs::read_dir(project().join("studies")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            Study::open(&library, &path).unwrap();
        }
    }
    let own = folder.join("own.toml");
    fs::write(&own, OWN_TESTS).unwrap();
    Study::open(&library, &own).unwrap();
    let sweep = folder.join("sweep.toml");
    fs::write(&sweep, SWEEP).unwrap();
    SweepDefinition::open(&sweep).unwrap();
}

/// Returns the heading of a table in its file: `drive.flash` is `[flash]` in a drive file.
fn heading(root: &str, table: &str) -> String {
    let inside = table.strip_prefix(root).unwrap_or(table).trim_start_matches('.');
    match inside {
        "" => format!("[{root}] and the top of the file"),
        inside if inside.ends_with("[]") => format!("[[{}]]", inside.replace("[]", "")),
        inside => format!("[{}]", inside.replace("[]", "")),
    }
}

/// The sentences in keys.toml, by table and key.
struct Sentences(BTreeMap<String, BTreeMap<String, String>>);

impl Sentences {
    fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("keys.toml");
        let text = fs::read_to_string(file).unwrap();
        let file = DeTable::parse(&text).unwrap();
        let keys = |(key, sentence): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &DeString<'_> = key.get_ref();
            (key.to_string(), sentence.get_ref().as_str().expect("a sentence").to_owned())
        };
        let tables = file.get_ref().iter().map(|(table, own)| {
            let own = own.get_ref().as_table().expect("a table of sentences");
            (table.get_ref().to_string(), own.iter().map(keys).collect())
        });
        Self(tables.collect())
    }

    /// Returns the sentence about a key and the table that contains it: the key's own table, or a similar table.
    fn find(&self, table: &str, key: &str) -> Option<(&str, &str)> {
        let (name, own) = self.0.get_key_value(table)?;
        match own.get(key) {
            Some(sentence) => Some((name, sentence)),
            None => self.find(own.get("like")?, key),
        }
    }

    /// Returns the errors in the sentences for these keys.
    fn problems(&self, requested: &RequestedKeys) -> Vec<String> {
        let mut problems = Vec::new();
        let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (table, key) in requested.keys().filter(|(table, _)| is_in_reference(table)) {
            match self.find(table, key) {
                None => problems.push(format!("{table}.{key} lacks a sentence")),
                Some((of, sentence)) => {
                    used.insert((of, key));
                    if !sentence.ends_with('.') || sentence.len() < 12 {
                        problems.push(format!("{table}.{key} lacks a whole sentence"));
                    }
                }
            }
        }
        for (table, own) in &self.0 {
            let stale = own.keys().filter(|key| *key != "like" && !used.contains(&(table, key)));
            problems.extend(stale.map(|key| format!("no reader requests {table}.{key}")));
        }
        problems
    }
}

/// Returns whether a page of the reference contains the table.
fn is_in_reference(table: &str) -> bool {
    ROOTS.iter().any(|root| is_below(root, table))
}

fn is_below(root: &str, table: &str) -> bool {
    table.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the kinds of value of a key as one string. Whole numbers whose bounds depend on other values are listed
/// once.
fn kinds_of(about: &RequestedKey) -> String {
    let high = |kind: &str| {
        let (low, high) = kind.strip_prefix("a whole number from ")?.split_once(" to ")?;
        Some((low.to_owned(), high.parse::<u64>().ok()?))
    };
    let bounds: Vec<(String, u64)> = about.kinds.iter().filter_map(|kind| high(kind)).collect();
    match bounds.iter().max_by_key(|(_, high)| high) {
        Some((low, _)) if bounds.len() == about.kinds.len() && bounds.len() > 1 => {
            format!("a whole number from {low}; the maximum depends on other values")
        }
        _ => about.kinds.iter().map(String::as_str).collect::<Vec<_>>().join("; or "),
    }
}

/// Returns the reference page for files of one kind.
fn page(root: &str, requested: &RequestedKeys, sentences: &Sentences) -> String {
    let mut page = format!(
        "# Keys: {root}\n\nGenerated from the keys that the readers request (`crates/lanemark-study/tests/reference.rs`) and \
         from the sentences in\n`crates/lanemark-study/keys.toml`. A required key must be present in its table. A model \
         value may be a table\n`{{ value, source | derived | assumed, range }}`.\n"
    );
    let mut last = String::new();
    for ((table, key), about) in requested.iter().filter(|((table, _), _)| is_below(root, table)) {
        if *table != last {
            write!(page, "\n## {}\n\n", heading(root, table)).unwrap();
            page += "| key | meaning | values | required | example |\n|---|---|---|---|---|\n";
            last.clone_from(table);
        }
        // A table of typical values accepts the keys of the table with the same sentences.
        let (like, sentence) = sentences.find(table, key).unwrap_or((table, ""));
        let model = requested.get(&(like.to_owned(), key.clone()));
        let about = if about.kinds.is_empty() { model.unwrap_or(about) } else { about };
        let must = if about.is_required && !about.may_be_absent { "yes" } else { "" };
        let example = about.example.as_ref().map_or_else(String::new, |example| {
            format!("`{}`", example.chars().take(48).collect::<String>().replace('|', "/"))
        });
        let kinds = kinds_of(about).replace('|', "/");
        let sentence = sentence.replace('|', "/");
        writeln!(page, "| `{key}` | {sentence} | {kinds} | {must} | {example} |").unwrap();
    }
    page
}

#[test]
fn the_reference_of_keys_matches_the_readers() {
    let folder = tempfile::tempdir().unwrap();
    let ((), requested) = record(|| read_all(folder.path()));
    assert!(requested.len() > 200, "the readers ask for {} keys only", requested.len());
    let sentences = Sentences::read();
    let problems = sentences.problems(&requested);
    assert!(problems.is_empty(), "crates/lanemark-study/keys.toml: {problems:#?}");
    let mut stale = Vec::new();
    for root in ROOTS {
        let file = project().join(format!("docs/reference/{root}.md"));
        let written = page(root, &requested, &sentences);
        if env::var("LANEMARK_REFERENCE").is_ok_and(|what| what == "write") {
            fs::write(&file, &written).unwrap();
        }
        if fs::read_to_string(&file).ok().as_ref() != Some(&written) {
            stale.push(root);
        }
    }
    assert!(
        stale.is_empty(),
        "docs/reference is out of date for {stale:?}: LANEMARK_REFERENCE=write cargo test -p lanemark-study --test reference"
    );
}
