//! A copy of the library that contains one error, and the resulting message.

use std::fs;
use std::path::{Path, PathBuf};

use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Library, Location, StudyError, System};
use tempfile::TempDir;

const FOLDERS: [&str; 6] = [
    "library/drives",
    "library/platforms",
    "library/workloads",
    "library/hosts",
    "library/priors",
    "studies",
];

/// A copy of the library and the studies in which one string of one file is replaced.
pub(crate) struct Spoilt {
    folder: TempDir,
}

impl Spoilt {
    pub(crate) fn new(file: &str, from: &str, to: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for kind in FOLDERS {
            fs::create_dir_all(folder.path().join(kind)).unwrap();
            for entry in fs::read_dir(project.join(kind)).unwrap() {
                let path = entry.unwrap().path();
                // The figures of the studies are in a folder next to the studies.
                if path.is_dir() {
                    continue;
                }
                let name = path.file_name().unwrap();
                fs::copy(&path, folder.path().join(kind).join(name)).unwrap();
            }
        }
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} does not contain `{from}` any more: mend this test");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub(crate) fn library(&self) -> Library {
        Library::in_folder(&self.path("library")).unwrap()
    }

    /// Returns the error text without the path of the folder.
    pub(crate) fn shown(&self, error: &StudyError) -> String {
        let hint = error.hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default();
        let folder = format!("{}/", self.folder.path().display());
        format!("{error}{hint}").replace(&folder, "")
    }

    pub(crate) fn system(&self, name: &str) -> Result<System, StudyError> {
        let named_at = NameLocations::all(&Location::file("SYSTEM"));
        System::assemble(&self.library(), &SystemName::parse(name).unwrap(), &named_at, name, &[])
    }
}

#[track_caller]
pub(crate) fn system_says(system: &str, file: &str, from: &str, to: &str, expected: &str) {
    let spoilt = Spoilt::new(file, from, to);
    let seen = spoilt.shown(&spoilt.system(system).unwrap_err());
    assert!(seen.contains(expected), "\n  seen: {seen}\nwanted: {expected}");
}
