//! `lanemark export`: a saved result in another program's format.

use std::path::Path;

use lanemark_core::result::RunResult;
use lanemark_study::workload;

use crate::args::ExportArgs;
use crate::failure::{Failure, Outcome};
use crate::formats::{self, OutputFormat};
use crate::{output, results};

pub(crate) fn run(args: &ExportArgs) -> Result<Outcome, Failure> {
    let result = results::load_run(&args.result)?;
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
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::run(format!("{}: can't be made: {error}", folder.display())))?;
    for index in 0..result.tests.len() {
        let alone = RunResult { tests: vec![result.tests[index].clone()], ..result.clone() };
        let name = format!("{}.{ending}", workload::slug(&alone.tests[0].test.name));
        let path = folder.join(name);
        refuse_other(&path)?;
        let text = match formats::foreign(&alone, Some(args.output_format)) {
            Some(text) => text,
            None if args.output_format == OutputFormat::Json => serde_json::to_string(&alone)
                .map_err(|error| Failure::run(format!("the result can't be written: {error}")))?,
            None => lanemark_report::run_table(&alone, &output::style()),
        };
        results::write_atomically(&path, &text)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(Outcome::Done)
}

/// A file that exists is somebody's.
fn refuse_other(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let message = format!("{}: exists", path.display());
    Err(Failure::Refused { message, hint: Some("give a folder without it".to_owned()) })
}
