//! Power cuts in a trial. A cut stops the whole machine: from that moment, no data reaches the drive, and the page
//! cache is lost. A new server then serves the data that survived the cut, the file system recovers, and the user's
//! check determines whether acknowledged data is lost.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lanemark_files::companion;
use lanemark_report::{FailedCheck, PowerCutResults};
use lanemark_schema::rng::{Rng, StreamKey};

use super::program::{last_lines, remove_output};
use super::turn::{PROGRAM_MAX, TurnEnvironment};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::serve_control;
use crate::served_disk::Contents;

/// The control command for a cut. The drive does not become ready again, because its server is killed.
const CUT: &str = "power-cut 600s";
/// Time from the cut until the program is ended; during this time its requests fail.
const MEETS: Duration = Duration::from_millis(20);
/// Suffix of the journal that the server writes next to the data.
const JOURNAL: &str = ".lanemark";
/// Suffix of the map that the server writes next to the data.
const MAP: &str = ".map";
/// Exit code of mount(8) after a failure.
const MOUNT_FAILED: i32 = 32;
/// The beginning of the journal line that describes a cut.
const JOURNAL_LINE: &str = "cut power cut";
/// The end of that line if the drive had stored all data.
const NO_LOSS: &str = "no data is lost";

/// The cuts of one system.
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
    /// Cuts the power at random moments; returns `None` if the trial was stopped.
    pub(super) fn run(&self, progress: &mut Progress) -> Result<Option<PowerCutResults>, Failure> {
        let mut random = Rng::new(StreamKey::from_seed(self.seed));
        let mut outcome = PowerCutResults {
            system: self.system.to_owned(),
            cuts: 0,
            lost_writes: 0,
            finished_before: 0,
            failed: Vec::new(),
        };
        for number in 1..=self.count {
            progress.show(&format!("{} · power cut {number} of {}", self.system, self.count));
            let moment = self.wall.mul_f64(random.unit());
            if self.one(number, moment, &mut outcome)?.is_none() {
                return Ok((outcome.cuts > 0).then_some(outcome));
            }
            outcome.cuts += 1;
        }
        Ok(Some(outcome))
    }

    /// Runs the program, cuts the power after `moment`, and checks the remaining data; returns `None` if the trial was
    /// stopped.
    fn one(
        &self,
        number: u32,
        moment: Duration,
        outcome: &mut PowerCutResults,
    ) -> Result<Option<()>, Failure> {
        let Self { bench, system, .. } = *self;
        let (data, image) = (bench.folder.join("cut-data"), bench.image.as_path());
        let _removed = DataRemover(&data);
        let contents = || Contents::FileOver { file: &data, image };
        let seed = self.seed.wrapping_add(u64::from(number));
        let Some(served) = bench.serve(
            &format!("cut-{number}"),
            system,
            contents(),
            self.scale,
            seed,
            &bench.faults,
        )?
        else {
            return Ok(None);
        };
        let output = bench.output(&format!("cut-{number}"));
        let _removed_output = OutputRemover(&output);
        let mut program = bench.start(&bench.command, system, &served, &output, None)?;
        let ended = program.wait(moment, &bench.stop)?;
        let has_finished = ended.is_some_and(|ended| ended.exit_code == 0);
        outcome.finished_before += u32::from(has_finished);
        let fail = |error: std::io::Error| Failure::run(format!("{system}: power cut: {error}"));
        let answer = serve_control::ask(served.control(), CUT).map_err(fail)?;
        if let Some(error) = answer.strip_prefix("error: ") {
            return Err(Failure::run(format!("{system}: power cut: {}", error.trim())));
        }
        std::thread::sleep(MEETS);
        // The program's requests end only when the server ends, and the program ends only when its requests have ended.
        served.kill();
        drop(program);
        if bench.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(None);
        }
        outcome.lost_writes += u32::from(has_lost(&data));
        let failed = |exit_code: i32, output: String| FailedCheck {
            cut: number,
            after_s: moment.as_secs_f64(),
            exit_code,
            output,
        };
        let name = format!("recovered-{number}");
        let served = match bench.serve(&name, system, contents(), 1.0, seed, &[]) {
            Ok(Some(served)) => served,
            Ok(None) => return Ok(None),
            // If a file system cannot be mounted, all its data is lost.
            Err(failure) => {
                outcome.failed.push(failed(MOUNT_FAILED, failure.to_string()));
                return Ok(Some(()));
            }
        };
        let (printed, words) =
            (bench.output("check"), ["sh", "-c", self.check].map(OsString::from));
        let mut check = bench.start(&words, system, &served, &printed, Some(&output))?;
        let Some(ended) = check.wait(PROGRAM_MAX, &bench.stop)? else { return Ok(None) };
        if ended.exit_code != 0 {
            outcome.failed.push(failed(ended.exit_code, last_lines(&printed)));
        }
        drop(check);
        served.end().map(|_| Some(()))
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
