//! The prediction of both systems from the turns of the first one.
//!
//! Like `lanemark report --out NAME.toml`, this module derives a workload from a measured run: the requests, the
//! processor time and the waits of a transaction. Here the run consists of the first system's turns, and both systems
//! are simulated under the derived workload. The first system's figures show how well the workload reproduces the
//! turns. The second system's figures are predicted from measurements of the first system only.
//!
//! The database and its users work in real time, so their times are divided by the time scale. The simulated host keeps
//! the study's processors, which this machine's processors represent, so the processor time is also multiplied by the
//! ratio of their numbers. Time in which a session waited for a processor remains part of the time elsewhere, so a
//! system with more transactions is predicted slightly too fast.

use lanemark_lab::{Lab, LabError, LabRun};
use lanemark_schema::result::{Provenance, RunResult, StudyOutcome};
use lanemark_schema::workload::{LoadKind, Workload};
use lanemark_study::Study;

use super::study_parts::StudyParts;
use crate::error::of_database;

/// Simulates both systems of `study` under the workload of `run`. This run contains the first system's turns, at the
/// time scale `scale` on `cores` processors.
pub(super) fn predict(
    lab: &Lab,
    study: &Study,
    parts: &StudyParts,
    run: &RunResult,
    scale: f64,
    cores: u32,
    provenance: &Provenance,
) -> Result<StudyOutcome, LabError> {
    let text = lanemark_oltp::workload(run).map_err(of_database)?;
    let measured = lanemark_study::workload::parse("the turns of the first system", &text);
    let processors = f64::from(parts.cores) / f64::from(cores.max(1));
    let measured = in_study_time(measured?, scale, processors);
    let mut systems = Vec::new();
    for (name, system, workload) in study.systems() {
        let is_side = parts.sides.iter().any(|side| side.name == name);
        let tests = match (is_side, workload.tests.first()) {
            (true, Some(test)) => renamed(&measured, &test.name).tests,
            _ => Vec::new(),
        };
        let workload = Workload { tests, ..measured.clone() };
        systems.push((system, workload));
    }
    let works: Vec<_> =
        systems.iter().map(|&(system, ref workload)| LabRun { system, workload }).collect();
    let runs = lab.run_all(&works, provenance, &mut |_| ())?;
    Ok(study.outcome(provenance, runs))
}

/// Returns `workload` with the times of the database and its users divided by `scale`. The processor time is also
/// multiplied by `processors`, the number of the study's processors that a processor of this machine represents.
fn in_study_time(mut workload: Workload, scale: f64, processors: f64) -> Workload {
    for test in &mut workload.tests {
        if let LoadKind::Transactions(transactions) = &mut test.asks {
            let elsewhere = &mut transactions.elsewhere;
            let processor = &mut transactions.processor;
            *elsewhere = elsewhere.times(1.0 / scale);
            *processor = processor.times(processors / scale);
        }
    }
    workload
}

/// Returns `workload` with `name` as the name of its test, by which the study finds the figures.
fn renamed(workload: &Workload, name: &str) -> Workload {
    let mut workload = workload.clone();
    workload.tests.iter_mut().for_each(|test| name.clone_into(&mut test.name));
    workload
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Duration;

    use super::*;

    #[test]
    fn only_the_times_of_the_database_and_its_users_are_divided_by_the_time_scale() {
        let text = "[workload]\nname = \"w\"\nrepeats = 3\naverage = \"mean\"\n\n[transactions]\n\
                    elsewhere = { value = \"8 ms\", assumed = \"a\" }\n\
                    processor = { value = \"400 us\", assumed = \"a\" }\n\
                    page_writers = { value = 32, assumed = \"a\" }\n\
                    reads = { value = 1.5, assumed = \"a\" }\nwrites = { value = 2.0, assumed = \"a\" }\n\
                    awaited = { value = 0.5, assumed = \"a\" }\n\n[transactions.log]\n\
                    share = { value = \"90%\", assumed = \"a\" }\nrecord = { value = \"512 B\", assumed = \"a\" }\n\
                    write_max = { value = \"64 KiB\", assumed = \"a\" }\noutstanding = { value = 1, assumed = \"a\" }\n\
                    flush = { value = \"never\", assumed = \"a\" }\narea = { value = \"1 GiB\", assumed = \"a\" }\n\n\
                    [[test]]\nname = \"users\"\nthreads = 4\nblock = \"8 KiB\"\nspan = \"2 GiB\"\nramp = \"1 s\"\n\
                    duration = \"5 s\"\n";
        let before = lanemark_study::workload::parse("w", text).unwrap();
        let after = renamed(&in_study_time(before.clone(), 16.0, 4.0), "other");
        let of = |workload: &Workload| match &workload.tests[0].asks {
            LoadKind::Transactions(transactions) => (**transactions).clone(),
            other => panic!("{other:?}"),
        };
        let old = of(&before);
        let new = of(&after);
        assert_eq!(new.elsewhere, Duration::from_microseconds(500));
        assert_eq!(new.processor, Duration::from_microseconds(100));
        let rest = lanemark_schema::workload::TransactionLoad {
            elsewhere: old.elsewhere,
            processor: old.processor,
            ..new
        };
        assert_eq!(rest, old);
        let old = &before.tests[0];
        let new = &after.tests[0];
        assert_eq!((new.name.as_str(), new.duration, new.span), ("other", old.duration, old.span));
    }
}
