//! Job files of fio: the tests that result from them, and their notes and errors.

mod jobs;
mod layout;
mod limits;

use lanemark_formats::fio::{self, FioJobs, JobEnvironment};
use lanemark_formats::{FormatErrors, SupportLevel};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Test;

fn read_with(text: &str, target_size: Option<Bytes>) -> Result<FioJobs, FormatErrors> {
    let environment = |name: &str| (name == "DEPTH").then(|| "16".to_owned());
    let include = |path: &str| match path {
        "more.fio" => Ok("[more]\nrw=randread\n".to_owned()),
        "again.fio" => Ok("include again.fio\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let around = JobEnvironment {
        file: "jobs.fio",
        target_size,
        environment: &environment,
        include: &include,
    };
    fio::read(text, &around)
}

fn read(text: &str) -> FioJobs {
    let read = read_with(text, Some(Bytes(64 << 30)));
    read.unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

fn first_error(text: &str) -> String {
    match read_with(text, Some(Bytes(64 << 30))) {
        Ok(jobs) => panic!("{text}: read as {:?}", jobs.workload.tests),
        Err(errors) => errors.0[0].to_string(),
    }
}

/// Returns the first test of a job with these options.
fn test(options: &str) -> Test {
    read(&format!("[a]\n{options}\n")).workload.tests.remove(0)
}

/// Returns the options of a job that are approximated, in the order of their notes.
fn nearly(options: &str) -> Vec<String> {
    let notes = read(&format!("[a]\n{options}\n")).notes.into_iter();
    notes.filter(|note| note.kept == SupportLevel::Nearly).map(|note| note.option).collect()
}
