//! `lanemark verify`: writes data with a journal, and checks the data after a kill or a power cut.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use lanemark_lab::scale::{real_without_faults, scaled_workload};
use lanemark_lab::{ErrorCause, results};
use lanemark_schema::result::Provenance;
use lanemark_study::workload;
use lanemark_verify::{Check, Verification, VerifyError, VerifyProgress};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::args::{VerifyArgs, VerifyCheckArgs, VerifyCommand, VerifyWriteArgs};
use crate::model::library;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::progress::Progress;
use crate::output::{self, messages, provenance, stop};

pub(crate) fn run(args: &VerifyArgs) -> Result<CommandOutcome, Failure> {
    match &args.command {
        VerifyCommand::Write(args) => write(args),
        VerifyCommand::Check(args) => check(args),
    }
}

/// An outcome with its provenance, for output as JSON.
#[derive(Serialize)]
struct SavedOutcome<'a, T> {
    provenance: Provenance,
    #[serde(flatten)]
    outcome: &'a T,
}

/// Returns the SHA-256 of a file of any length.
fn hash_of(path: &Path) -> Result<String, Failure> {
    let fail = |error| Failure::run(format!("{}: can't be read: {error}", path.display()));
    let mut file = File::open(path).map_err(fail)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece).map_err(fail)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            length => hash.update(&piece[..length]),
        }
    }
}

fn write(args: &VerifyWriteArgs) -> Result<CommandOutcome, Failure> {
    let stop = stop::on_signal();
    let started_at = results::now();
    messages::tell_left_over(&args.path);
    let library = library::open(&args.run.library)?;
    let mut workload =
        scaled_workload(workload::open(&library, &args.workload)?, &args.run.scale.scale())?;
    real_without_faults(&workload)?;
    // Additional repeats add no information, so the default is one repeat.
    workload.repeats = args.run.scale.repeats.unwrap_or(1);
    let journal = args.journal.clone().unwrap_or_else(|| journal_path(&args.path));
    let verification = Verification {
        path: &args.path,
        journal: &journal,
        workload: &workload,
        seed: args.run.seed,
        overwrite: args.overwrite.as_deref(),
        offered: args.i_will_lose_all_data_on.as_deref(),
        engine: args.engine,
        buffered: args.buffered,
        sync: args.journal_sync,
        fill: !args.no_fill,
        stop: &stop,
    };
    let mut progress = Progress::new();
    let written = verification.run(&mut |state| progress.show(&line(&state, "writing")));
    drop(progress);
    let written = written?;
    if args.json {
        let mut provenance = provenance::own_provenance(args.run.seed);
        provenance.started_at = started_at;
        provenance.inputs = library.used();
        output::print_json(&SavedOutcome { provenance, outcome: &written })?;
    } else {
        output::print(&lanemark_report::written_text(&written, &output::style()))?;
    }
    Ok(if written.complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}

fn check(args: &VerifyCheckArgs) -> Result<CommandOutcome, Failure> {
    let stop = stop::on_signal();
    let started_at = results::now();
    let journal = args.journal.clone().unwrap_or_else(|| journal_path(&args.path));
    let check = Check {
        path: &args.path,
        journal: &journal,
        since: args.after.map(Into::into),
        engine: args.engine,
        stop: &stop,
    };
    let mut progress = Progress::new();
    let verified = check.run(&mut |state| progress.show(&line(&state, "reading back")));
    drop(progress);
    let Some(verified) = verified? else { return Ok(CommandOutcome::Interrupted) };
    if args.json {
        // The seed of the written data is unknown, because the journal does not contain it.
        let mut provenance = provenance::own_provenance(0);
        provenance.started_at = started_at;
        provenance.inputs.insert(journal.display().to_string(), hash_of(&journal)?);
        output::print_json(&SavedOutcome { provenance, outcome: &verified })?;
    } else {
        output::print(&lanemark_report::verified_text(&verified, &output::style()))?;
    }
    Ok(if verified.is_intact() { CommandOutcome::Done } else { CommandOutcome::Damaged })
}

/// Returns the default path of the journal: in the current folder, named after the target.
fn journal_path(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

fn line(state: &VerifyProgress, doing: &str) -> String {
    let doing = if state.filling { "filling" } else { doing };
    let mib = |bytes: lanemark_schema::units::Bytes| bytes.get() >> 20;
    match state.total {
        Some(total) => format!("{doing}: {} of {} MiB", mib(state.done), mib(total)),
        None => format!("{doing}: {} MiB", mib(state.done)),
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let message = error.to_string();
        let hint = error.hint();
        let cause = match error {
            VerifyError::Target(error) => return error.into(),
            VerifyError::JournalExists { .. } => ErrorCause::Refused,
            VerifyError::NothingWritten { .. }
            | VerifyError::NoJournal { .. }
            | VerifyError::JournalDamaged { .. }
            | VerifyError::NoTarget { .. }
            | VerifyError::Journal { action: "opened", .. } => ErrorCause::Input,
            _ => ErrorCause::Run,
        };
        Self::new(cause, message, hint)
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Bytes;

    use super::*;

    #[test]
    fn progress_is_in_mebibytes() {
        let progress_text = |filling, total: Option<u64>| {
            let done = Bytes((7 << 20) + 9);
            line(&VerifyProgress { filling, done, total: total.map(Bytes::mebi) }, "writing")
        };
        assert_eq!(progress_text(true, Some(64)), "filling: 7 of 64 MiB");
        assert_eq!(progress_text(false, Some(64)), "writing: 7 of 64 MiB");
        assert_eq!(progress_text(false, None), "writing: 7 MiB");
    }

    #[test]
    fn a_journal_is_in_this_folder_and_a_file_has_its_hash() {
        assert_eq!(journal_path(Path::new("/mnt/data/file.bin")), Path::new("file.bin.journal"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_of(&file).unwrap(), wanted);
        assert!(hash_of(&folder.path().join("none")).is_err());
    }
}
