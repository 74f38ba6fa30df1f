//! `lanemark export`: writes a saved result in another program's format.

use std::path::Path;

use lanemark_lab::columns::RunTable;
use lanemark_lab::reserved::ReservedName;
use lanemark_lab::{json, results};
use lanemark_schema::result::{RunResult, Target};
use lanemark_study::workload;

use crate::args::ExportArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::formats::{self, OutputFormat};
use crate::messages::tell;
use crate::output;

pub(crate) fn run(args: &ExportArgs) -> Result<CommandOutcome, Failure> {
    let result = results::load_run(&args.result)?;
    let is_own_format = matches!(args.output_format, OutputFormat::Table | OutputFormat::Json);
    if matches!(result.target, Target::Database(_)) && !is_own_format {
        let message = "another program's format can't represent database transactions";
        return Err(Failure::input(format!("{}: {message}", args.result))
            .hint("use --output-format table or json"));
    }
    if args.table.is_some() && args.output_format != OutputFormat::Csv {
        return Err(Failure::input("--table applies only to csv")
            .hint("use --output-format csv, or remove --table"));
    }
    match (&args.split, &args.out) {
        (Some(folder), _) => split(args, &result, folder),
        (None, Some(out)) => {
            refuse_other(out)?;
            let reserved = ReservedName::with_folders(out)?;
            write(args, &result, &reserved)
        }
        (None, None) => {
            output::print(&text(args, &result)?)?;
            Ok(CommandOutcome::Done)
        }
    }
}

/// Returns the result as text in the requested format.
fn text(args: &ExportArgs, result: &RunResult) -> Result<String, Failure> {
    if args.output_format == OutputFormat::Csv {
        return Ok(formats::csv(&args.table.unwrap_or(RunTable::Tests).columns(result)));
    }
    match formats::foreign(result, Some(args.output_format)) {
        Some(text) => Ok(text),
        None if args.output_format == OutputFormat::Json => Ok(json::text(result)?),
        None => Ok(lanemark_report::run_table(result, &output::style())),
    }
}

fn write(
    args: &ExportArgs,
    result: &RunResult,
    reserved: &ReservedName,
) -> Result<CommandOutcome, Failure> {
    reserved.write(text(args, result)?.as_bytes())?;
    tell!("wrote {}", reserved.path().display());
    Ok(CommandOutcome::Done)
}

/// Writes one file per test.
fn split(args: &ExportArgs, result: &RunResult, folder: &Path) -> Result<CommandOutcome, Failure> {
    let ending = match args.output_format {
        OutputFormat::FioJson | OutputFormat::Json => "json",
        OutputFormat::Csv => "csv",
        OutputFormat::Table | OutputFormat::CrystalDiskMark => "txt",
    };
    // All names are reserved before the first file is written.
    let mut parts: Vec<(ReservedName, usize)> = Vec::new();
    for (index, test) in result.tests.iter().enumerate() {
        let slug = workload::slug(&test.test.name);
        // The names of two tests may differ only in characters that are omitted from file names.
        let same = parts.iter().filter(|(part, _)| part.path().file_stem() == Some(slug.as_ref()));
        let name = match same.count() {
            0 => format!("{slug}.{ending}"),
            _ => format!("{slug}-{}.{ending}", index + 1),
        };
        let path = folder.join(name);
        refuse_other(&path)?;
        parts.push((ReservedName::with_folders(&path)?, index));
    }
    for (part, index) in &parts {
        let alone = RunResult { tests: vec![result.tests[*index].clone()], ..result.clone() };
        write(args, &alone, part)?;
    }
    Ok(CommandOutcome::Done)
}

/// Refuses to replace an existing file.
fn refuse_other(path: &Path) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let message = format!("{} already exists", path.display());
    Err(Failure::refused(message).hint("use a different name, or a different folder"))
}
