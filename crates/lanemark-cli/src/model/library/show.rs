//! Shows an entry of the library: a drive, a platform, a host or a workload, with all values in its file.

use lanemark_report::{DriveValue, EntryTest, drive_text, platform_text, workload_text};
use lanemark_schema::units::{Duration, Ratio};
use lanemark_schema::workload::Test;
use lanemark_study::library::{LibraryKind, open_file};
use lanemark_study::{Library, Location, StudyError, ValueRecord, workload};
use serde::Serialize;

use super::value::{ValueJson, shown_value};
use super::{PlatformEntry, described};
use crate::output;
use crate::output::failure::Failure;

#[derive(Serialize)]
struct EntryJson<T> {
    kind: &'static str,
    id: String,
    #[serde(flatten)]
    entry: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<ValueJson>,
}

#[derive(Serialize)]
struct HostJson {
    name: String,
}

/// Prints the entry `name`, whose kind is one of `kinds`.
pub(super) fn show(
    library: &Library,
    name: &str,
    kinds: &[(&'static str, LibraryKind)],
    json: bool,
) -> Result<(), Failure> {
    match kind_of(library, name, kinds)? {
        LibraryKind::Drive => described::print(&described::describe(library, name)?, true, json),
        LibraryKind::Platform => show_platform(library, name, json),
        LibraryKind::Host => show_host(library, name, json),
        _ => show_workload(library, name, json),
    }
}

/// Returns the first of `kinds` that has an entry `name`; the tables of a file determine its kind.
fn kind_of(
    library: &Library,
    name: &str,
    kinds: &[(&str, LibraryKind)],
) -> Result<LibraryKind, Failure> {
    if name.ends_with(".toml") {
        let file = open_file(name.as_ref())?;
        let tables = ["drive", "platform", "host", "workload"];
        let kind = LibraryKind::LISTED.iter().zip(tables).find(|(_, table)| file.has_table(table));
        return kind.map(|((_, kind), _)| *kind).ok_or_else(|| {
            Failure::input(format!("{name} is not a library file"))
                .hint("a library file contains a table [drive], [platform], [host] or [workload]")
        });
    }
    // A platform name may be followed by a comma and the name of a different host.
    let entry = name.split(',').next().unwrap_or(name);
    let has = |kind: LibraryKind| library.names(kind).iter().any(|known| known == entry);
    if let Some((_, kind)) = kinds.iter().find(|(_, kind)| has(*kind)) {
        return Ok(*kind);
    }
    let known: Vec<String> = kinds.iter().flat_map(|(_, kind)| library.names(*kind)).collect();
    let known = known.iter().map(String::as_str);
    let unknown = StudyError::unknown(Location::file("library"), "entry", name, known);
    let message =
        format!("{}; --search finds entries by the words in their names", unknown.message);
    Err(StudyError { message, ..unknown }.into())
}

fn print<T: Serialize>(
    kind: &'static str,
    id: &str,
    entry: T,
    values: &[ValueRecord],
) -> Result<(), Failure> {
    let values = values.iter().map(ValueJson::from_record).collect();
    output::print_json(&EntryJson { kind, id: id.to_owned(), entry, values })
}

fn show_platform(library: &Library, id: &str, json: bool) -> Result<(), Failure> {
    let platform = PlatformEntry::read(library, id, &[])?;
    if json {
        let values = platform.values.clone();
        return print("platform", id, platform, &values);
    }
    let style = output::style();
    let links = platform.shown_links();
    let ports = platform.shown_ports();
    let mut text = platform_text(&platform.topology, &links, &ports, &style);
    let values: Vec<DriveValue> = platform.values.iter().map(shown_value).collect();
    text += "\n";
    text += &drive_text("Values", &values, &style);
    output::print(&text)
}

fn show_host(library: &Library, id: &str, json: bool) -> Result<(), Failure> {
    let file = library.open(LibraryKind::Host, id)?;
    let (name, values) = lanemark_study::host::values(&file)?;
    if json {
        return print("host", id, HostJson { name }, &values);
    }
    let values: Vec<DriveValue> = values.iter().map(shown_value).collect();
    output::print(&drive_text(&name, &values, &output::style()))
}

fn show_workload(library: &Library, id: &str, json: bool) -> Result<(), Failure> {
    let workload = workload::open(library, id)?;
    if json {
        return print("workload", id, workload, &[]);
    }
    let tests: Vec<EntryTest> = workload.tests.iter().map(test).collect();
    let head = match workload.repeats {
        1 => workload.name.clone(),
        repeats => format!("{}: {repeats} repeats of each test", workload.name),
    };
    output::print(&workload_text(&head, id, &tests, &output::style()))
}

/// Converts a test for display.
fn test(test: &Test) -> EntryTest {
    let time = test.duration.map(|time: Duration| time.to_string());
    let pattern = match test.pattern().and_then(|_| test.order_word()) {
        Some(order) => order,
        None if test.is_trace() => "trace",
        None if !test.unstated().is_empty() => "not stated",
        None => "transactions",
    };
    EntryTest {
        slug: workload::slug(&test.name),
        name: test.name.clone(),
        block: test.block.to_string(),
        pattern,
        read_share: test.read_share().map(Ratio::get),
        queue_depth: test.queue_depth(),
        threads: test.threads,
        span: test.span.to_string(),
        length: [time, test.volume.map(|volume| volume.to_string())]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" or "),
    }
}
