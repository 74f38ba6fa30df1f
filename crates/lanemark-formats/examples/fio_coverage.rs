//! Prints the support for a folder of fio job files: a table by file, and the share of option uses that are supported.
//!
//! `cargo run -p lanemark-formats --example fio_coverage -- FOLDER`

use std::collections::BTreeMap;
use std::{env, fs};

use lanemark_formats::fio::{self, JobEnvironment};
use lanemark_formats::{FormatErrors, SupportLevel};
use lanemark_schema::units::Bytes;

fn main() {
    let folder = env::args().nth(1).expect("a folder of job files");
    let mut files: Vec<_> =
        fs::read_dir(&folder).expect("a folder").flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "fio"));
    files.sort();
    let usual = |name: &str| match name {
        "FIO_RW" => Some("randread".to_owned()),
        "FIO_IODEPTH" => Some("8".to_owned()),
        _ => Some("4k".to_owned()),
    };
    let mut classes: BTreeMap<Class, Tally> = BTreeMap::new();
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a job file");
        let around = JobEnvironment {
            file: &name,
            target_size: Some(Bytes(8 << 40)),
            environment: &usual,
            include: &|_| Err("is not there".to_owned()),
        };
        let lines = text.lines().map(|line| line.split([';', '#']).next().unwrap_or("").trim());
        let uses = lines.filter(|line| !line.is_empty() && !line.starts_with('[')).count();
        let outcome = fio::read(&text, &around);
        let tally = classes.entry(class(&text, &name, outcome.as_ref().err())).or_default();
        tally.files += 1;
        tally.uses += uses;
        match outcome {
            Ok(jobs) => {
                tally.run += 1;
                let nearly =
                    jobs.notes.iter().filter(|note| note.kept == SupportLevel::Nearly).count();
                tally.nearly += nearly;
                let tests = jobs.workload.tests.len();
                println!("| {name} | yes | {tests} tests, {nearly} notes |");
            }
            Err(errors) => {
                let mut lines: Vec<_> = errors.0.iter().map(|error| error.line).collect();
                lines.sort_unstable();
                lines.dedup();
                tally.refused += lines.len();
                let mut whys: Vec<_> = errors.0.iter().map(|error| error.message.clone()).collect();
                whys.dedup();
                println!("| {name} | no | {} |", whys.join("; "));
            }
        }
    }
    for (class, Tally { files, run, uses, refused, nearly }) in classes {
        let share = 100.0 * (1.0 - refused as f64 / uses as f64);
        println!(
            "{class:?}: {run} of {files} files run; {uses} uses of options, {nearly} nearly kept, {refused} refused: {share:.1}%"
        );
    }
}

/// The kind of target for which a job file is intended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    FilesAndBlockDevices,
    ZonedDevices,
    PassThrough,
    OtherEngines,
}

#[derive(Default)]
struct Tally {
    files: usize,
    run: usize,
    uses: usize,
    refused: usize,
    nearly: usize,
}

fn class(text: &str, name: &str, errors: Option<&FormatErrors>) -> Class {
    let other =
        |errors: &FormatErrors| errors.0.iter().any(|error| error.message.contains("ioengine="));
    // The engine of these jobs must be set on the command line.
    let passes = name.starts_with("xnvme")
        || text.contains("ioengine=io_uring_cmd")
        || text.contains("ioengine=sg");
    match errors {
        Some(errors) if other(errors) => Class::OtherEngines,
        _ if passes => Class::PassThrough,
        _ if text.contains("zonemode=zbd") => Class::ZonedDevices,
        _ => Class::FilesAndBlockDevices,
    }
}
