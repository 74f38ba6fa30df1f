//! Power cuts in a trial. A cut stops the whole machine: from that moment, no data reaches the drive, and the page
//! cache is lost. A new server then serves the data that survived the cut, the file system recovers, and the user's
//! check determines whether acknowledged data is lost.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lanemark_files::companion;
use lanemark_lab::LabError;
use lanemark_schema::result::{PowerCut, PowerCutOutcome};
use lanemark_schema::rng::{Rng, StreamKey};

use super::program::{last_lines, remove_output};
use super::turn::{PROGRAM_MAX, TurnEnvironment, host_errors, program_failure};
use crate::event::{TrialEvent, TrialObserver};
use crate::served_disk::Contents;
use crate::server::control;

/// The control command for a cut. The drive does not become ready again, because its server is killed.
const CUT: &str = "power-cut 600s";
/// Time from the cut until the program is ended; during this time its requests fail.
const MEETS: Duration = Duration::from_millis(20);
/// Suffix of the journal that the server writes next to the data.
const JOURNAL: &str = ".lanemark";
/// Suffix of the map that the server writes next to the data.
const MAP: &str = ".map";
/// The beginning of the journal line that describes a cut.
const JOURNAL_LINE: &str = "cut power cut";
/// The end of that line if the drive had stored all data.
const NO_LOSS: &str = "no data is lost";

pub(super) struct PowerCutTrial<'c> {
    pub(super) bench: &'c TurnEnvironment,
    pub(super) system: &'c str,
    pub(super) check: &'c str,
    pub(super) count: u32,
    pub(super) seed: u64,
    pub(super) scale: f64,
    /// Usual time of the program.
    pub(super) wall: Duration,
}

impl PowerCutTrial<'_> {
    /// Runs the program to its end and the check on a new server, as after a cut, but without a cut. The check must
    /// succeed here; otherwise its exit code after a cut would not mean anything. Returns `None` if the trial was
    /// stopped.
    pub(super) fn check_without_cut(
        &self,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<()>, LabError> {
        let Self { bench, system, .. } = *self;
        observer(TrialEvent::UncutCheck { system });
        let data = bench.folder.join("cut-data");
        let _removed = DataRemover(&data);
        let output = bench.output("uncut");
        let _removed_output = OutputRemover(&output);
        let contents = Contents::FileOver { file: &data, image: &bench.image };
        let served =
            bench.serve("uncut", system, contents, self.scale, self.seed, &bench.faults)?;
        let Some(served) = served else { return Ok(None) };
        let mut program = bench.start(&bench.command, system, &served, &output, None)?;
        let Some(ended) = program.wait(PROGRAM_MAX, &bench.stop)? else { return Ok(None) };
        if ended.exit_code != 0 {
            return Err(program_failure(system, &ended, &output, &served));
        }
        drop(program);
        served.end()?;
        let fail = |why: &str| {
            LabError::input(format!("--check: on {system}, without a power cut, {why}"))
                .hint("the check must end with exit code 0 after a complete command")
        };
        match self.run_check("uncut-check", &data, &output, self.seed)? {
            None => Ok(None),
            Some(PowerCutOutcome::Kept) => Ok(Some(())),
            Some(PowerCutOutcome::Lost { output }) => {
                Err(fail(&format!("it ended with exit code 1: {output}")))
            }
            Some(PowerCutOutcome::Unknown { cause }) => Err(fail(&cause)),
        }
    }

    /// Cuts the power at random moments, until the trial is stopped.
    pub(super) fn run(&self, observer: &mut TrialObserver<'_>) -> Vec<PowerCut> {
        let mut random = Rng::new(StreamKey::from_seed(self.seed));
        let mut cuts = Vec::new();
        for number in 1..=self.count {
            observer(TrialEvent::PowerCut { system: self.system, number, cuts: self.count });
            let moment = self.wall.mul_f64(random.unit());
            match self.run_cut(number, moment) {
                Some(cut) => cuts.push(cut),
                None => break,
            }
        }
        cuts
    }

    /// Runs the program, cuts the power after `moment`, and checks the remaining data; returns `None` if the trial was
    /// stopped. An error of this machine is an unknown outcome.
    fn run_cut(&self, number: u32, moment: Duration) -> Option<PowerCut> {
        let mut cut = PowerCut {
            cut: number,
            after_s: moment.as_secs_f64(),
            finished_before: false,
            lost_writes: false,
            outcome: PowerCutOutcome::Kept,
        };
        let outcome = self.outcome(moment, &mut cut);
        if self.bench.stop.load(Ordering::Relaxed) {
            return None;
        }
        cut.outcome = outcome.unwrap_or_else(|failure| {
            let hint = failure.hint.iter().map(|hint| format!("\nhint: {hint}"));
            let text = format!("{failure}{}", hint.collect::<String>());
            let cause = text.trim_end().replace('\n', "; ");
            Some(PowerCutOutcome::Unknown { cause })
        })?;
        Some(cut)
    }

    /// Returns the outcome of a cut after `moment`, and completes the other fields of `cut`.
    fn outcome(
        &self,
        moment: Duration,
        cut: &mut PowerCut,
    ) -> Result<Option<PowerCutOutcome>, LabError> {
        let Self { bench, system, .. } = *self;
        let number = cut.cut;
        let data = bench.folder.join("cut-data");
        let _removed = DataRemover(&data);
        let contents = Contents::FileOver { file: &data, image: &bench.image };
        let seed = self.seed.wrapping_add(u64::from(number));
        let name = format!("cut-{number}");
        let served = bench.serve(&name, system, contents, self.scale, seed, &bench.faults)?;
        let Some(served) = served else { return Ok(None) };
        let output = bench.output(&name);
        let _removed_output = OutputRemover(&output);
        let mut program = bench.start(&bench.command, system, &served, &output, None)?;
        let ended = program.wait(moment, &bench.stop)?;
        if let Some(ended) = ended.as_ref().filter(|ended| ended.exit_code != 0) {
            return Err(program_failure(system, ended, &output, &served));
        }
        cut.finished_before = ended.is_some();
        let fail = |error: std::io::Error| LabError::run(format!("{system}: power cut: {error}"));
        let answer = control::ask(served.control(), CUT).map_err(fail)?;
        if let Some(error) = answer.strip_prefix("error: ") {
            return Err(LabError::run(format!("{system}: power cut: {}", error.trim())));
        }
        std::thread::sleep(MEETS);
        let errors = host_errors(&served);
        // The program's requests end only when the server ends, and the program ends only when its requests have ended.
        served.kill();
        drop(program);
        cut.lost_writes = has_lost(&data);
        if errors? > 0 {
            let cause = "this machine failed requests of the command".to_owned();
            return Ok(Some(PowerCutOutcome::Unknown { cause }));
        }
        self.run_check(&format!("recovered-{number}"), &data, &output, seed)
    }

    /// Serves the data that survived, runs the check, and returns its outcome; `None` if the trial was stopped.
    fn run_check(
        &self,
        name: &str,
        data: &Path,
        output: &Path,
        seed: u64,
    ) -> Result<Option<PowerCutOutcome>, LabError> {
        let Self { bench, system, .. } = *self;
        let contents = Contents::FileOver { file: data, image: &bench.image };
        let served = bench.serve_unmounted(name, system, contents, 1.0, seed, &[])?;
        let Some(mut served) = served else { return Ok(None) };
        // A cut can tear the superblock, which the journal does not contain. The file system is then repaired first, as
        // at the start of a machine.
        if bench.mount(&mut served).is_err() {
            bench.repair(&served)?;
            bench.mount(&mut served)?;
        }
        let printed = bench.output("check");
        let _removed = OutputRemover(&printed);
        let words = ["sh", "-c", self.check].map(OsString::from);
        let mut check = bench.start(&words, system, &served, &printed, Some(output))?;
        let Some(ended) = check.wait(PROGRAM_MAX, &bench.stop)? else { return Ok(None) };
        let errors = host_errors(&served)?;
        let outcome = match errors {
            0 => PowerCutOutcome::of_check(ended.exit_code, last_lines(&printed)),
            _ => PowerCutOutcome::Unknown {
                cause: "this machine failed requests of the check".to_owned(),
            },
        };
        drop(check);
        served.end()?;
        Ok(Some(outcome))
    }
}

/// Returns whether the cut lost writes that the drive had acknowledged without a flush.
fn has_lost(data: &Path) -> bool {
    let journal = companion::path(data, JOURNAL);
    let journal = fs::read_to_string(journal).unwrap_or_default();
    journal.lines().any(|line| line.starts_with(JOURNAL_LINE) && !line.contains(NO_LOSS))
}

/// Removes the output of a program after its cut.
struct OutputRemover<'p>(&'p Path);

impl Drop for OutputRemover<'_> {
    fn drop(&mut self) {
        remove_output(self.0);
    }
}

/// Removes the data and the server's files next to it after a cut.
struct DataRemover<'p>(&'p Path);

impl Drop for DataRemover<'_> {
    fn drop(&mut self) {
        for suffix in ["", JOURNAL, MAP] {
            let _ = fs::remove_file(companion::path(self.0, suffix));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_has_lost_writes_if_its_line_does_not_deny_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("cut-data");
        let journal = companion::path(&data, JOURNAL);
        assert!(!has_lost(&data), "there is no journal");
        for (text, lost) in [
            ("", false),
            ("cut power cut: 3 writes are lost\n", true),
            ("cut power cut: no data is lost\n", false),
            ("start\ncut power cut: no data is lost\nend: 3 writes\n", false),
            ("start\ncut power cut: 7 writes\n", true),
            (" cut power cut: 7 writes\n", false),
        ] {
            fs::write(&journal, text).unwrap();
            assert_eq!(has_lost(&data), lost, "{text:?}");
        }
        fs::write(&data, "x").unwrap();
        let map = companion::path(&data, MAP);
        fs::write(&map, "x").unwrap();
        drop(DataRemover(&data));
        assert!(!data.exists() && !journal.exists() && !map.exists());
    }
}
