//! `lanemark library --kind sample` and `--copy`: lists the built-in studies, results, traces and job files, and copies
//! them to a folder.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::Path;

use lanemark_lab::{input, reserved};
use lanemark_study::{Location, StudyError, studies};
use serde::Serialize;

use crate::args::LibraryListArgs;
use crate::output;
use crate::output::failure::Failure;
use crate::output::messages::tell;

#[derive(Clone, Debug, Serialize)]
struct Sample {
    name: Cow<'static, str>,
    kind: SampleKind,
    /// The description of the file.
    about: Cow<'static, str>,
    #[serde(skip)]
    bytes: &'static [u8],
}

impl Sample {
    /// Returns whether this is the sample `name`; a study can also be named without its ending.
    fn is_named(&self, name: &str) -> bool {
        let study = self.kind == SampleKind::Study;
        self.name == name || study && self.name.strip_suffix(".toml") == Some(name)
    }
}

/// The kind of a sample; the order is the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum SampleKind {
    Study,
    Result,
    ForeignResult,
    Trace,
    SmartReport,
    Job,
}

impl SampleKind {
    /// Returns the title of the kind, and a command that reads files of this kind.
    fn title(self) -> (&'static str, &'static str) {
        match self {
            Self::Study => ("studies", "lanemark study NAME"),
            Self::Result => ("results", "lanemark report FILE"),
            Self::ForeignResult => ("results from other programs", "lanemark report FILE"),
            Self::Trace => ("traces", "lanemark sim SYSTEM FILE"),
            Self::SmartReport => ("SMART reports", "lanemark plan life --smart FILE"),
            Self::Job => ("job files and loads", "lanemark sim SYSTEM FILE"),
        }
    }
}

/// Returns a sample from a built-in file.
macro_rules! sample {
    ($kind:ident, $file:literal, $about:literal) => {
        (SampleKind::$kind, $file, $about, include_bytes!(concat!("../../../../", $file)))
    };
}

/// The samples except for studies: the kind, the path in the source tree, the description and the contents.
const FILES: &[(SampleKind, &str, &str, &[u8])] = &[
    sample!(
        Result,
        "samples/measured.json",
        "`bench . quick --explain` on a virtual machine's disk"
    ),
    sample!(Result, "samples/simulated.json", "the same tests, simulated on a SATA drive"),
    sample!(
        Result,
        "crates/lanemark-cli/tests/saved/postgresql.json",
        "`oltp run` on PostgreSQL with two users"
    ),
    sample!(
        ForeignResult,
        "crates/lanemark-formats/tests/samples/fio-3.33-plus.json",
        "fio's `--output-format=json+`, with latency histograms"
    ),
    sample!(
        ForeignResult,
        "crates/lanemark-formats/tests/samples/fio-3.33.json",
        "fio's `--output-format=json`"
    ),
    sample!(
        ForeignResult,
        "crates/lanemark-formats/tests/foreign/fio-3.txt",
        "fio's normal output"
    ),
    sample!(
        ForeignResult,
        "crates/lanemark-formats/tests/foreign/crystaldiskmark-8.txt",
        "the text that CrystalDiskMark 8 copies"
    ),
    sample!(
        Trace,
        "samples/file-server.iolog.gz",
        "fio's iolog, version 3: 6000 requests of a file server's mix, compressed with gzip"
    ),
    sample!(
        Trace,
        "crates/lanemark-trace/tests/samples/msr.csv",
        "MSR Cambridge format, with two devices"
    ),
    sample!(
        Trace,
        "crates/lanemark-trace/tests/samples/blkparse.txt",
        "blkparse format, with two devices"
    ),
    sample!(
        Trace,
        "crates/lanemark-trace/tests/samples/columns.csv",
        "CSV with named columns, with two devices"
    ),
    sample!(Trace, "crates/lanemark-trace/tests/samples/disksim.trace", "DiskSim format"),
    sample!(Trace, "crates/lanemark-trace/tests/samples/mqsim.trace", "MQSim format"),
    sample!(
        SmartReport,
        "samples/smart-january.json",
        "`smartctl -j -x` of a Samsung 980 PRO 1TB after 20 TB of writes"
    ),
    sample!(SmartReport, "samples/smart-june.json", "the same drive 180 days and 7.4 TB later"),
    sample!(Job, "samples/database.fio", "fio: random reads in parallel with log writes"),
    sample!(Job, "samples/iostat.txt", "`iostat -x` on a machine with a database's load"),
    sample!(
        Job,
        "crates/lanemark-formats/tests/samples/mixed.icf",
        "Iometer: three workers with different access specifications"
    ),
];

/// Returns all samples, sorted by kind.
fn list_all() -> Result<Vec<Sample>, StudyError> {
    let studies = studies::names().into_iter().map(|name| {
        Ok(Sample {
            name: Cow::Owned(format!("{name}.toml")),
            kind: SampleKind::Study,
            about: Cow::Owned(studies::title(name)?),
            bytes: studies::text(name).unwrap_or_default().as_bytes(),
        })
    });
    let files = FILES.iter().map(|&(kind, file, about, bytes)| {
        let name = file.rsplit('/').next().unwrap_or(file);
        Ok(Sample { name: Cow::Borrowed(name), kind, about: Cow::Borrowed(about), bytes })
    });
    studies.chain(files).collect()
}

/// Prints the list of samples, or the samples that the arguments select.
pub(crate) fn show(args: &LibraryListArgs) -> Result<(), Failure> {
    let words = args.search.as_deref().unwrap_or_default().to_lowercase();
    let mut samples = list_all()?;
    samples.retain(|sample| {
        let text = format!("{} {}", sample.name, sample.about).to_lowercase();
        args.name.as_ref().is_none_or(|name| sample.is_named(name))
            && words.split_whitespace().all(|word| text.contains(word))
    });
    if let Some(name) = args.name.as_ref().filter(|_| samples.is_empty()) {
        return Err(unknown_sample(name)?);
    }
    if args.json { output::print_json(&samples) } else { output::print(&listed(&samples)) }
}

/// Returns the list of samples as text, grouped under the titles of their kinds.
fn listed(samples: &[Sample]) -> String {
    let mut text = String::new();
    let mut last = None;
    for Sample { name, kind, about, .. } in samples {
        if last.replace(*kind) != Some(*kind) {
            let (title, command) = kind.title();
            text += &format!("{title} ({command})\n");
        }
        // A study can be run by its name, without a copy of its file.
        let name = match kind {
            SampleKind::Study => name.trim_end_matches(".toml"),
            _ => name,
        };
        text += &format!("  {name:<28}  {about}\n");
    }
    text
}

/// Returns the error for a name that no sample has.
fn unknown_sample(name: &str) -> Result<Failure, StudyError> {
    let all = list_all()?;
    let known = all.iter().map(|sample| &*sample.name);
    let error = StudyError::unknown(Location::file("samples"), "sample", name, known);
    Ok(Failure::from(error).or_hint("`lanemark library --kind sample` lists all of them"))
}

/// Copies the sample `name`, or all samples, to a folder. If a different file already has one of the names, no file is
/// written.
pub(crate) fn copy(name: Option<&str>, folder: &Path) -> Result<(), Failure> {
    let mut samples = list_all()?;
    if let Some(name) = name {
        samples.retain(|sample| sample.is_named(name));
        if samples.is_empty() {
            return Err(unknown_sample(name)?);
        }
    }
    for sample in &samples {
        let path = folder.join(&*sample.name);
        if path.symlink_metadata().is_ok() && !is_copy(&path, sample) {
            return Err(name_taken(&path));
        }
    }
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    for sample in &samples {
        let path = folder.join(&*sample.name);
        match reserved::replace(&path, sample.bytes, true) {
            Ok(()) => tell!("wrote {}", path.display()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if is_copy(&path, sample) {
                    tell!("{} exists already, with the same contents", path.display());
                } else {
                    return Err(name_taken(&path));
                }
            }
            Err(error) => return Err(unwritable(&path, &error)),
        }
    }
    Ok(())
}

/// Returns whether the file at `path` has the contents of `sample`.
fn is_copy(path: &Path, sample: &Sample) -> bool {
    let length = sample.bytes.len() as u64;
    let is_file =
        path.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == length);
    is_file && input::bytes(path, length).is_ok_and(|bytes| bytes == sample.bytes)
}

fn name_taken(path: &Path) -> Failure {
    Failure::refused(format!("{} exists with different contents", path.display()))
        .hint("choose a different folder: lanemark library NAME --copy FOLDER")
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("{}: can't be written: {error}", path.display()))
}
