//! `lanemark import`: converts results from other programs, to one result per target.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use lanemark_formats::foreign::{self, ForeignRun};
use lanemark_formats::{FormatError, FormatErrors};
use lanemark_formats::{ImportedResult, SuppliedSettings};
use lanemark_lab::foreign::start_time_text;
use lanemark_lab::input;
use lanemark_lab::opened::hash;
use lanemark_schema::result::{RunResult, Target};
use lanemark_schema::units::Bytes;

use crate::args::{ImportArgs, ImportPattern};
use crate::delivery::ResultDelivery;
use crate::failure::{CommandOutcome, Failure};
use crate::formats::RequestedSections;
use crate::messages::tell;
use crate::saving::Destination;
use crate::{formats, provenance};

/// Maximum number of files that one command reads.
const FILES_MAX: usize = 4096;

pub(crate) fn run(args: &ImportArgs) -> Result<CommandOutcome, Failure> {
    if args.span == Some(Bytes::ZERO) {
        return Err(Failure::input("--span 0 B: expected a size above 0"));
    }
    let (printed, mut hashes) = read_all(&files(&args.files)?)?;
    let supplied = SuppliedSettings {
        span: args.span,
        pattern: args.pattern.map(ImportPattern::pattern),
        queue_depth: args.queue_depth,
    };
    let results = foreign::results(printed, &supplied)?;
    if results.len() > 1 {
        let names: Vec<String> = results.iter().map(target).collect();
        tell!("note: {} targets, each with its own result: {}", results.len(), names.join("; "));
        if let Destination::Requested(out) = args.save.destination()
            && out.extension().is_some_and(|extension| extension == "json")
        {
            let file = out.display();
            return Err(Failure::input(format!("--out {file} names one file for several results"))
                .hint("use a folder, or import the files of one target"));
        }
    }
    for imported in results {
        deliver(imported, &mut hashes, args)?;
    }
    Ok(CommandOutcome::Done)
}

/// Returns the named files, and the JSON files of named folders.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let too_many = || Failure::input(format!("expected up to {FILES_MAX} files"));
    let mut all: Vec<PathBuf> = Vec::new();
    for path in named {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let unread = |error| Failure::input(format!("{}: can't be read: {error}", path.display()));
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).map_err(unread)? {
            let file = entry.map_err(unread)?.path();
            if is_json(&file) && !file.is_dir() {
                inside.push(file);
            }
            if inside.len() > FILES_MAX {
                return Err(too_many());
            }
        }
        if inside.is_empty() {
            return Err(Failure::input(format!("{} contains no .json file", path.display()))
                .hint("subfolders are not read"));
        }
        inside.sort();
        all.extend(inside);
    }
    match all.len() {
        0..=FILES_MAX => Ok(all),
        _ => Err(too_many()),
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(OsStr::new("json")))
}

/// Reads all files and hashes them; one error lists all unreadable files.
fn read_all(files: &[PathBuf]) -> Result<(Vec<ForeignRun>, HashMap<String, String>), Failure> {
    let mut printed = Vec::new();
    let mut hashes = HashMap::new();
    let mut errors = Vec::new();
    let mut room = input::RESULT_MAX;
    for path in files {
        let file = path.display().to_string();
        if hashes.contains_key(&file) {
            errors.push(FormatError::file(&file, "given twice"));
            continue;
        }
        // All files together are limited to the maximum size of one file.
        let text = match input::text(path, room) {
            Ok(text) => text,
            Err(error) => {
                let message = error.message.strip_prefix(&format!("{file}: "));
                errors.push(FormatError::file(&file, message.unwrap_or(&error.message)));
                continue;
            }
        };
        room -= text.len() as u64;
        hashes.insert(file.clone(), hash(text.as_bytes()));
        match foreign::read(&text, &file) {
            Ok(all) => printed.extend(all),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok((printed, hashes)) } else { Err(FormatErrors(errors).into()) }
}

/// Returns the name of the measured file or device, and the number of files that describe it.
fn target(imported: &ImportedResult) -> String {
    let Target::Measured(target) = &imported.result.target else { return String::new() };
    let direct = if target.direct == Some(true) { ", direct" } else { "" };
    format!("{} ({}{direct}, {} files)", target.path, target.engine, imported.files.len())
}

fn deliver(
    imported: ImportedResult,
    hashes: &mut HashMap<String, String>,
    args: &ImportArgs,
) -> Result<(), Failure> {
    for note in &imported.notes {
        tell!("note: {note}");
    }
    let started_at = start_time_text(&imported);
    let mut result = imported.result;
    result.provenance = provenance::own_provenance(0);
    result.provenance.name.clone_from(&args.name.name);
    // fio may have run on a different machine.
    result.provenance.machine = None;
    let inputs = imported.files.into_iter();
    let inputs = inputs.filter_map(|file| hashes.remove(&file).map(|hash| (file, hash)));
    result.provenance.inputs.extend(inputs);
    if let Some(started_at) = started_at {
        result.provenance.started_at = started_at;
    }
    let what = format!("import-{}", result.workload.id);
    let json = args.json;
    let started_at = result.provenance.started_at.clone();
    let printer = move |result: &RunResult| {
        formats::result_text(result, json, None, RequestedSections::default())
    };
    ResultDelivery::open(args.save.destination(), &what, &started_at, None, printer)?
        .deliver(&mut result)
}
