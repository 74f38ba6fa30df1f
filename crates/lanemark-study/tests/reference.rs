//! The reference of all keys in docs/reference is what the readers ask for. `LANEMARK_REFERENCE=write` writes it anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use lanemark_study::document::Context;
use lanemark_study::document::asked::{Asked, record};
use lanemark_study::library::Kind;
use lanemark_study::platform::Platform;
use lanemark_study::sweep::Definition;
use lanemark_study::system::NamedAt;
use lanemark_study::{
    Ledger, Library, Location, Overrides, Study, System, rated, system::SystemName, workload,
};

/// A sweep's file, of which the tree has none.
const SWEEP: &str = "[sweep]\nsystem = \"samsung-950-pro-512gb@workstation-z170:m2\"\n\
    workload = \"quick:rnd4k-q32t1-read\"\n\n[[axis]]\nname = \"queue_depth\"\nrange = \"1..8*2\"\n\n\
    [[axis]]\nname = \"threads\"\nvalues = [1, 2]\n\n\
    [[set]]\nparameter = \"drive.flash.read\"\nvalue = \"50 us\"\n";
/// Tests with patterns that no workload of the library has.
const PATTERNS: &str = "[workload]\nname = \"Patterns\"\nrepeats = 1\naverage = \"mean\"\n\n\
    [defaults]\nblock = \"4 KiB\"\nread = \"100%\"\nspan = \"1 GiB\"\nqueue_depth = 1\n\
    duration = \"1 s\"\n\n[[test]]\nname = \"a\"\npattern = { zipf = 0.9 }\n\n\
    [[test]]\nname = \"b\"\npattern = { pareto = 0.2 }\n\n\
    [[test]]\nname = \"c\"\npattern = { normal = \"20%\" }\n\n\
    [[test]]\nname = \"d\"\npattern = { zones = [\"50% in 5%\", \"50% in 95%\"] }\n\n\
    [[test]]\nname = \"e\"\npattern = { hot_span = \"10%\", hot_share = \"90%\" }\n";
/// A study with tests of its own, as a page saves it.
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

/// Reads every file of the library and the studies.
fn read_all(folder: &Path) {
    let library = Library::in_folder(&project().join("library")).unwrap();
    for name in library.names(Kind::Drive) {
        rated::explain(&library, &name).unwrap();
    }
    for name in library.names(Kind::Platform) {
        let (ledger, overrides) = (Ledger::default(), Overrides::default());
        let document = library.open(Kind::Platform, &name).unwrap();
        Platform::read(&document, Context { ledger: &ledger, overrides: &overrides }).unwrap();
    }
    for host in library.names(Kind::Host) {
        let text = format!("samsung-850-pro-1tb@workstation-z170,{host}:sata");
        let parts = SystemName::parse(&text).unwrap();
        let at = NamedAt::all(&Location::file("reference"));
        System::assemble(&library, &parts, &at, &text, &[]).unwrap();
    }
    for name in library.names(Kind::Workload) {
        workload::open(&library, &name).unwrap();
    }
    workload::parse("patterns", PATTERNS).unwrap();
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
    Definition::open(&sweep).unwrap();
}

/// The name of a table in a file: a drive's `drive.flash` is `[flash]`.
fn heading(root: &str, table: &str) -> String {
    let inside = table.strip_prefix(root).unwrap_or(table).trim_start_matches('.');
    match inside {
        "" => format!("[{root}] and the top of the file"),
        inside if inside.ends_with("[]") => format!("[[{}]]", inside.replace("[]", "")),
        inside => format!("[{}]", inside.replace("[]", "")),
    }
}

/// The page of the files of one kind.
fn page(root: &str, asked: &Asked) -> String {
    let mut page = format!(
        "# Keys: {root}\n\nWritten from what the readers ask for (`crates/lanemark-study/tests/reference.rs`). \
         *Must* is a key without which its table\ncannot be read. Values may be `{{ value, source | derived | \
         assumed, range }}` where the model takes them.\n"
    );
    let mut last = String::new();
    for ((table, key), about) in asked {
        if table != root && !table.starts_with(&format!("{root}.")) {
            continue;
        }
        if *table != last {
            write!(page, "\n## {}\n\n", heading(root, table)).unwrap();
            page += "| key | values | must | example |\n|---|---|---|---|\n";
            last.clone_from(table);
        }
        let kinds: Vec<&str> = about.kinds.iter().map(String::as_str).collect();
        let must = if about.is_required && !about.may_be_absent { "must" } else { "" };
        let example = about.example.as_ref().map_or_else(String::new, |example| {
            format!("`{}`", example.chars().take(48).collect::<String>().replace('|', "/"))
        });
        let kinds = kinds.join("; or ").replace('|', "/");
        writeln!(page, "| `{key}` | {kinds} | {must} | {example} |").unwrap();
    }
    page
}

#[test]
fn the_reference_of_keys_is_what_the_readers_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let ((), asked) = record(|| read_all(folder.path()));
    assert!(asked.len() > 200, "the readers ask for {} keys only", asked.len());
    let mut stale = Vec::new();
    for root in ROOTS {
        let file = project().join(format!("docs/reference/{root}.md"));
        let written = page(root, &asked);
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
