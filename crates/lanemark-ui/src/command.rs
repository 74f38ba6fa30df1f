//! A page's request as a shell command that runs the same load on the same system.

use lanemark_lab::LabError;
use lanemark_schema::text::shell_word;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{Fault, Test, Workload};

use crate::machine;
use crate::request::{OffsetOrder, SystemRequest, TestRequest};

/// The file to which the command writes the test.
pub const FILE: &str = "lanemark-test.toml";

/// Repeats of a test. A test that converges runs once.
const REPEATS: u32 = 5;
/// The duration from which a test runs once.
const LONG: Duration = Duration::from_seconds(10);

/// Returns a workload file that contains the test, which lasts long enough for `faults`.
pub fn workload_file(request: &TestRequest, test: &Test, faults: &[Fault]) -> String {
    let pattern = match request.pattern {
        OffsetOrder::Sequential => "sequential",
        OffsetOrder::Random => "random",
    };
    let duration = TestRequest::duration_with(test, faults);
    let repeats = if duration > LONG { 1 } else { REPEATS };
    format!(
        "[workload]\nname    = \"{name}\"\nrepeats = {repeats}\naverage = \"mean\"\n\n[[test]]\nname        = \"{name}\"\n\
         block       = \"{block}\"\npattern     = \"{pattern}\"\nread        = \"{read}%\"\nqueue_depth = {depth}\n\
         threads     = {threads}\nspan        = \"{span}\"\nduration    = \"{duration}\"\n{flush}",
        name = test.name,
        block = test.block,
        read = request.read_percent,
        depth = request.queue_depth,
        threads = request.threads,
        span = test.span,
        flush = if request.flush { "flush_every = 1\n" } else { "" },
    )
}

/// Returns the workload that contains the test, with `faults`: the file that the page offers to copy, as `lanemark sim`
/// reads it. This is the only definition of the length of a page's test.
///
/// # Errors
/// Returns an error if the test is invalid.
pub fn workload(request: &TestRequest, faults: &[Fault]) -> Result<Workload, LabError> {
    let text = workload_file(request, &request.read()?, faults);
    let mut workload = lanemark_study::workload::parse(FILE, &text)?;
    workload.faults = faults.to_vec();
    Ok(workload)
}

/// Returns shell lines that write the test to a file and simulate it.
pub fn shell(
    system: &SystemRequest,
    request: &TestRequest,
    test: &Test,
    faults: &[Fault],
) -> String {
    let file = workload_file(request, test, faults);
    let options = options(system);
    let (before, name) = system_arguments(system);
    format!("{before}cat > {FILE} <<'END'\n{file}END\nlanemark sim {name} ./{FILE}{options}\n")
}

/// Returns a system's name for a shell. If the system uses this machine, the first value is a line that writes this
/// machine to a file.
fn system_arguments(system: &SystemRequest) -> (String, String) {
    match machine::by_file(&system.system) {
        Some(name) => (
            format!("lanemark inspect --as-platform {} >/dev/null\n", machine::FILE),
            shell_word(&name).into_owned(),
        ),
        None => (String::new(), shell_word(&system.system).into_owned()),
    }
}

fn options(system: &SystemRequest) -> String {
    let set = system.set.iter().map(|(parameter, value)| ("--set", format!("{parameter}={value}")));
    let faults = system.faults.iter().map(|fault| ("--fault", fault.clone()));
    set.chain(faults).map(|(option, value)| format!(" {option} {}", shell_word(&value))).collect()
}

#[cfg(test)]
mod tests {
    use lanemark_study::{Library, workload};

    use super::*;

    fn request(pattern: OffsetOrder, read_percent: f64) -> TestRequest {
        TestRequest {
            block: "16 KiB".to_owned(),
            pattern,
            read_percent,
            queue_depth: 3,
            threads: 2,
            span: "512 MiB".to_owned(),
            duration: "2500 ms".to_owned(),
            flush: read_percent < 50.0,
        }
    }

    #[test]
    fn the_workload_file_reads_as_the_requested_test() {
        for (pattern, read_percent) in
            [(OffsetOrder::Random, 70.0), (OffsetOrder::Sequential, 33.5)]
        {
            let request = request(pattern, read_percent);
            let test = request.read().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(FILE);
            std::fs::write(&path, workload_file(&request, &test, &[])).unwrap();
            let read = workload::open(&Library::built_in(), path.to_str().unwrap()).unwrap();
            assert_eq!(read.tests, [test]);
            assert_eq!(
                read,
                Workload { id: read.id.clone(), ..super::workload(&request, &[]).unwrap() }
            );
        }
    }

    #[test]
    fn a_shell_takes_every_word_as_it_is() {
        let system = SystemRequest {
            system: "a@b:c|d".to_owned(),
            set: vec![("drive.flash.read".to_owned(), "60 us".to_owned())],
            faults: vec!["power-cut at=2s".to_owned()],
        };
        let request = request(OffsetOrder::Random, 70.0);
        let test = request.read().unwrap();
        let lines = shell(&system, &request, &test, &[]);
        let simulated = "END\nlanemark sim 'a@b:c|d' ./lanemark-test.toml \
                         --set 'drive.flash.read=60 us' --fault 'power-cut at=2s'\n";
        assert!(lines.ends_with(simulated), "{lines}");
        let here = SystemRequest {
            system: "a@this-machine:sda".to_owned(),
            set: Vec::new(),
            faults: Vec::new(),
        };
        let lines = shell(&here, &request, &test, &[]);
        assert!(lines.starts_with("lanemark inspect --as-platform this-machine.toml >/dev/null\n"));
        assert!(
            lines.ends_with("\nlanemark sim a@this-machine.toml:sda ./lanemark-test.toml\n"),
            "{lines}"
        );
    }
}
