//! `lanemark export`: a saved result in another program's format.

use std::path::Path;

use lanemark_core::result::{RunResult, Target};
use lanemark_lab::reserved::Reserved;
use lanemark_lab::{json, results};
use lanemark_study::workload;

use crate::args::ExportArgs;
use crate::failure::{Failure, Outcome};
use crate::formats::{self, OutputFormat};
use crate::messages::tell;
use crate::output;

pub(crate) fn run(args: &ExportArgs) -> Result<Outcome, Failure> {
    let result = results::load_run(&args.result)?;
    let own = matches!(args.output_format, OutputFormat::Table | OutputFormat::Json);
    if matches!(result.target, Target::Database(_)) && !own {
        let message = "transactions of a database have no place in another program's format";
        return Err(Failure::input(format!("{}: {message}", args.result))
            .hint("--output-format table or json"));
    }
    let Some(folder) = &args.split else {
        match formats::foreign(&result, Some(args.output_format)) {
            Some(text) => output::print(&text)?,
            None if args.output_format == OutputFormat::Json => output::print_json(&result)?,
            None => output::print(&lanemark_report::run_table(&result, &output::style()))?,
        }
        return Ok(Outcome::Done);
    };
    let ending = match args.output_format {
        OutputFormat::FioJson | OutputFormat::Json => "json",
        OutputFormat::IometerCsv => "csv",
        OutputFormat::Table | OutputFormat::CrystalDiskMark => "txt",
    };
    // All names are taken before the first is written.
    let mut parts: Vec<(Reserved, usize)> = Vec::new();
    for (index, test) in result.tests.iter().enumerate() {
        let slug = workload::slug(&test.test.name);
        // Tests may have names that differ by letters that no file's name has.
        let same = parts.iter().filter(|(part, _)| part.path().file_stem() == Some(slug.as_ref()));
        let name = match same.count() {
            0 => format!("{slug}.{ending}"),
            _ => format!("{slug}-{}.{ending}", index + 1),
        };
        let path = folder.join(name);
        refuse_other(&path)?;
        parts.push((Reserved::with_folders(&path)?, index));
    }
    for (part, index) in &parts {
        let alone = RunResult { tests: vec![result.tests[*index].clone()], ..result.clone() };
        let text = match formats::foreign(&alone, Some(args.output_format)) {
            Some(text) => text,
            None if args.output_format == OutputFormat::Json => json::text(&alone)?,
            None => lanemark_report::run_table(&alone, &output::style()),
        };
        part.write(text.as_bytes())?;
        tell!("wrote {}", part.path().display());
    }
    Ok(Outcome::Done)
}

/// A file that exists is somebody's.
fn refuse_other(path: &Path) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let message = format!("{}: exists", path.display());
    Err(Failure::refused(message).hint("give a folder without it"))
}
