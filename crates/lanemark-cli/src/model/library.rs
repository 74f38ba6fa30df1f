//! `lanemark library`: lists and shows the entries of the library. This module also opens the library for every
//! command.

mod described;
mod entry;
mod show;
mod value;

pub(crate) use described::{DescribedModel, EnduranceJson, FLASH, describe, print};
pub(crate) use entry::PlatformEntry;

use lanemark_lab::open_library;
use lanemark_study::Library;
use lanemark_study::catalogue::{self, DriveEntry};
use lanemark_study::drive::DriveKind;
use lanemark_study::library::LibraryKind;
use lanemark_study::search::EntrySearch;
use serde::Serialize;

use crate::args::{EntryKind, Interface, LibraryArgs, LibraryListArgs};
use crate::model::samples;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;

/// Opens the library that `args` name, or `./library` if it exists, or otherwise the built-in library.
pub(crate) fn open(args: &LibraryArgs) -> Result<Library, Failure> {
    Ok(open_library(args.library.as_deref())?)
}

pub(crate) fn run(args: &LibraryListArgs) -> Result<CommandOutcome, Failure> {
    if let Some(folder) = &args.copy {
        samples::copy(args.name.as_deref(), folder)?;
        return Ok(CommandOutcome::Done);
    }
    if args.kind == Some(EntryKind::Sample) {
        samples::show(args)?;
        return Ok(CommandOutcome::Done);
    }
    let library = open(&args.library)?;
    match &args.name {
        Some(name) => show::show(&library, name, &kinds(args), args.json)?,
        None => list(&library, args)?,
    }
    Ok(CommandOutcome::Done)
}

/// Returns the requested types of entries.
fn kinds(args: &LibraryListArgs) -> Vec<(&'static str, LibraryKind)> {
    let of_drives = args.interface.is_some() || args.year.is_some() || args.maker.is_some();
    let is_wanted = |kind: LibraryKind| match args.kind {
        None => kind == LibraryKind::Drive || !of_drives,
        Some(EntryKind::Drive | EntryKind::Ssd | EntryKind::Hdd | EntryKind::CloudVolume) => {
            kind == LibraryKind::Drive
        }
        Some(EntryKind::Platform) => kind == LibraryKind::Platform && !of_drives,
        Some(EntryKind::Host) => kind == LibraryKind::Host && !of_drives,
        Some(EntryKind::Workload) => kind == LibraryKind::Workload && !of_drives,
        Some(EntryKind::Sample) => false,
    };
    LibraryKind::LISTED.into_iter().filter(|(_, kind)| is_wanted(*kind)).collect()
}

#[derive(Serialize)]
struct ListedEntry {
    kind: &'static str,
    id: String,
    name: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    drive: Option<ListedDrive>,
}

/// Columns of a drive in a list, next to its name.
#[derive(Serialize)]
struct ListedDrive {
    maker: String,
    year: Option<u16>,
    media: &'static str,
    interface: &'static str,
    connector: String,
    capacity_bytes: u64,
}

impl ListedDrive {
    fn from_entry(entry: &DriveEntry) -> Self {
        Self {
            maker: entry.maker.clone(),
            year: entry.year,
            media: media(entry),
            interface: Interface::from_protocol(entry.protocol).name(),
            connector: entry.plug.to_string(),
            capacity_bytes: entry.capacity.get(),
        }
    }
}

fn media(entry: &DriveEntry) -> &'static str {
    entry.kind.words()
}

fn list(library: &Library, args: &LibraryListArgs) -> Result<(), Failure> {
    let requested = kinds(args);
    if requested.is_empty() {
        return Err(Failure::input("--interface, --year and --maker apply only to drives")
            .hint("remove --kind, or use --kind drive, ssd, hdd or cloud-volume"));
    }
    let mut search = EntrySearch::new(library, args.search.as_deref().unwrap_or_default());
    let mut text = String::new();
    let mut all = Vec::new();
    for (title, kind) in requested {
        let mut lines = String::new();
        for id in library.names(kind) {
            let (name, drive) = match kind {
                LibraryKind::Drive => {
                    let entry = catalogue::drive(library, &id)?;
                    if !fits(&entry, args) {
                        continue;
                    }
                    (entry.name.clone(), Some(entry))
                }
                _ => (library.summary(kind, &id)?, None),
            };
            if !search.matches(&id, &name, drive.as_ref()) {
                continue;
            }
            let about = drive.as_ref().map_or(String::new(), |drive| {
                let year = drive.year.map_or(String::new(), |year| format!(", {year}"));
                format!(" ({}, {}{year})", drive.plug, drive.capacity)
            });
            lines += &format!("  {id:<28}  {name}{about}\n");
            let drive = drive.as_ref().map(ListedDrive::from_entry);
            all.push(ListedEntry { kind: title.trim_end_matches('s'), id, name, drive });
        }
        if !lines.is_empty() {
            text += &format!("{title}\n{lines}");
        }
    }
    if args.json {
        return output::print_json(&all);
    }
    if all.is_empty() {
        let what = match search.unmatched().as_slice() {
            [] => "all words".to_owned(),
            words => format!("`{}`", words.join("`, `")),
        };
        tell!("no entry of the library matches {what}; `lanemark library` lists all entries");
    } else {
        output::print(&text)?;
    }
    Ok(())
}

/// Returns whether a drive matches the filters.
fn fits(entry: &DriveEntry, args: &LibraryListArgs) -> bool {
    let year = args.year.as_ref();
    let maker = args.maker.as_ref().map(|maker| maker.to_lowercase());
    args.interface.is_none_or(|interface| interface == Interface::from_protocol(entry.protocol))
        && year.is_none_or(|years| entry.year.is_some_and(|year| years.contains(&year)))
        && maker.is_none_or(|maker| entry.maker.to_lowercase() == maker)
        && match args.kind {
            Some(EntryKind::Ssd) => entry.kind == DriveKind::SolidState,
            Some(EntryKind::Hdd) => entry.kind == DriveKind::Disk,
            Some(EntryKind::CloudVolume) => entry.kind == DriveKind::CloudVolume,
            _ => true,
        }
}
