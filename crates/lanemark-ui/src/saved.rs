//! A page's systems and test as a study file, which `lanemark study` reads and runs.

use std::fmt::Write;

use lanemark_lab::LabError;
use lanemark_schema::workload::Test;
use lanemark_study::rated::FileValue;
use lanemark_study::system::SystemName;
use lanemark_study::{Library, catalogue};

use crate::request::{SystemRequest, TestRequest};
use crate::{command, machine};

/// Returns the study of `systems` with one test.
///
/// # Errors
/// Returns an error if a system cannot be assembled.
pub fn study(
    library: &Library,
    systems: &[SystemRequest],
    request: &TestRequest,
    test: &Test,
) -> Result<String, LabError> {
    let mut faults = Vec::new();
    let mut name_of_system = |system: &SystemRequest| {
        faults.extend(system.assemble(library)?.faults);
        let file = machine::by_file(&system.system);
        Ok((SystemName::parse(file.as_ref().unwrap_or(&system.system))?, file.is_some()))
    };
    let names = systems.iter().map(&mut name_of_system).collect::<Result<Vec<_>, LabError>>()?;
    let mut text = format!(
        "# Systems and a test of the laboratory page. To run it: lanemark study FILE\n{}\n[study]\n\
         title    = {}\nquestion = \"How do these systems compare under one load?\"\n\n",
        if names.iter().any(|(_, is_here)| *is_here) {
            format!(
                "# One system is this machine, whose file must be created first: lanemark inspect --as-platform {}\n",
                machine::FILE
            )
        } else {
            String::new()
        },
        quoted(&test.name),
    );
    text += &command::workload_file(request, test, &faults);
    for (index, (system, (name, _))) in systems.iter().zip(&names).enumerate() {
        write_system(&mut text, library, index + 1, system, name);
    }
    Ok(text)
}

fn write_system(
    text: &mut String,
    library: &Library,
    number: usize,
    system: &SystemRequest,
    name: &SystemName,
) {
    let drive = catalogue::drive(library, &name.drive).map(|entry| entry.name);
    let drive = drive.unwrap_or_else(|_| name.drive.clone());
    let label = format!("{number}: {drive} at {}:{}", name.platform, name.port);
    // The volume is part of the name before the drive, and all drives except for the first are part of the port.
    let whole = name.to_string();
    let (volume, rest) = match (name.volume, whole.split_once(':')) {
        (Some(_), Some((volume, rest))) => (Some(volume), rest),
        _ => (None, whole.as_str()),
    };
    let before_port = format!("{}@{}:", name.drive, name.platform);
    let port = rest.strip_prefix(&before_port).unwrap_or(&name.port);
    let _ = write!(
        text,
        "\n[[system]]\nname     = \"system-{number}\"\nlabel    = {}\ndrive    = {}\nplatform = {}\n\
         port     = {}\n",
        quoted(&label),
        quoted(&name.drive),
        quoted(&name.platform),
        quoted(port),
    );
    if let Some(volume) = volume {
        let _ = writeln!(text, "volume   = {}", quoted(volume));
    }
    if !system.faults.is_empty() {
        let faults: Vec<String> = system.faults.iter().map(|fault| quoted(fault)).collect();
        let _ = writeln!(text, "faults   = [{}]", faults.join(", "));
    }
    for (parameter, value) in &system.set {
        let _ = write!(
            text,
            "\n[[assumption]]\nsystems   = [\"system-{number}\"]\nparameter = {}\nvalue     = {}\n\
             reason    = \"set on the page\"\n",
            quoted(parameter),
            quoted(value),
        );
    }
}

/// Quotes a text for TOML.
fn quoted(text: &str) -> String {
    FileValue::Text(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use lanemark_study::Study;

    use super::*;
    use crate::request::{MEMORY, OffsetOrder};

    fn test() -> TestRequest {
        TestRequest {
            block: "4 KiB".to_owned(),
            pattern: OffsetOrder::Random,
            read_percent: 100.0,
            queue_depth: 4,
            threads: 1,
            span: "1 GiB".to_owned(),
            ..TestRequest::default()
        }
    }

    fn system(name: &str, set: &[(&str, &str)], faults: &[&str]) -> SystemRequest {
        SystemRequest {
            system: name.to_owned(),
            set: set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            faults: faults.iter().map(|&fault| fault.to_owned()).collect(),
        }
    }

    /// Saves the study of `systems` and opens the file again.
    fn opened(library: &Library, systems: &[SystemRequest]) -> Study {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        let request = test();
        let text = study(library, systems, &request, &request.read().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
        Study::open(library, &path).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn the_study_has_the_systems_and_values_of_the_page() {
        let library = Library::built_in();
        let slow = [("drive.flash.read", "90 us"), ("platform.port.m2.pcie.lanes", "1")];
        let fault = "latency extra=1ms at=1ms for=2ms";
        let requests = [
            system(
                "samsung-950-pro-512gb@workstation-z170:m2",
                &slow,
                &[fault, "pause at=3ms for=1ms"],
            ),
            system("samsung-950-pro-512gb@workstation-z170,linux-fsync:m2", &[], &[]),
            system("stripe-64KiB:samsung-850-pro-1tb@workstation-z170:sata+sata-2", &[], &[]),
            system("samsung-850-pro-1tb@workstation-z170:sata+intel-520-240gb:sata-2", &[], &[]),
        ];
        let study = opened(&library, &requests);
        let systems: Vec<_> = study.systems().collect();
        assert_eq!(systems.len(), requests.len());
        for ((_, system, workload), request) in systems.iter().zip(&requests) {
            let page = request.assemble(&library).unwrap();
            assert_eq!(system.with_memory(MEMORY).spec, page.system.spec, "{}", request.system);
            assert_eq!(workload.faults, page.faults);
            assert_eq!(workload.tests, [test().read().unwrap()]);
            assert_eq!(workload.repeats, 5);
        }
    }
}
