//! The studies that are built into the program.
//!
//! A study is named by its file without `.toml`, or by the path of a file. The program contains the studies as they
//! were at build time, so an installed `lanemark` can run them from any folder.

use std::ffi::OsStr;
use std::path::{Component, Path};

use include_dir::{Dir, include_dir};

use crate::document::Document;
use crate::error::{Location, StudyError};

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// The word for one study in messages.
const WORD: &str = "study";

/// Returns the names of the built-in studies, in order.
pub fn names() -> Vec<&'static str> {
    let toml = |path: &'static Path| {
        let stem = path.extension().filter(|extension| *extension == "toml").and(path.file_stem());
        stem.and_then(OsStr::to_str)
    };
    let mut names: Vec<&str> = BUILT_IN.files().filter_map(|file| toml(file.path())).collect();
    names.sort_unstable();
    names
}

/// Returns the text of the built-in study `name`.
pub fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.get_file(format!("{name}.toml"))?.contents_utf8()
}

/// Returns the title of the built-in study `name`.
///
/// # Errors
/// Returns an error if the program does not contain the study.
pub fn title(name: &str) -> Result<String, StudyError> {
    open(name)?.root(WORD, None).table(WORD)?.text("title")
}

/// Opens the built-in study `name`.
///
/// # Errors
/// Returns an error with the most similar names if the program does not contain the study.
pub(crate) fn open(name: &str) -> Result<Document, StudyError> {
    let Some(text) = text(name) else {
        return Err(StudyError::unknown(Location::file("studies"), WORD, name, names()));
    };
    Document::parse(&format!("studies/{name}.toml"), text)
}

/// Returns `path` as the name of a built-in study; `None` if `path` can only be the path of a file.
pub(crate) fn name_in(path: &Path) -> Option<&str> {
    let is_one_word = matches!(path.components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    let is_file = path.extension().is_some_and(|extension| extension == "toml")
        || path.exists() && !path.is_dir();
    path.to_str().filter(|name| is_one_word && !is_file && !name.ends_with('/'))
}

/// Returns the built-in study that has the file name of `path`; the path itself does not exist.
pub(crate) fn study_of_same_name(path: &Path) -> Option<&'static str> {
    let stem = path.file_stem()?.to_str()?;
    names().into_iter().find(|name| *name == stem).filter(|_| !path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_of_the_folder_is_built_in_with_its_title() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies"));
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned())
            })
            .collect();
        files.sort();
        assert_eq!(names(), files);
        for name in names() {
            let file = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            assert_eq!(text(name), Some(file.as_str()), "{name}");
            assert!(!title(name).unwrap().is_empty());
        }
    }

    #[test]
    fn a_path_is_no_name() {
        for path in ["a/b", "./a", "../a", "a.toml", "/a", "", ".", "..", "/dev/null", "a/"] {
            assert_eq!(name_in(Path::new(path)), None, "{path}");
        }
        assert_eq!(name_in(Path::new("sata-express")), Some("sata-express"));
        // A folder cannot be a study, so its name may be the name of a built-in study.
        assert_eq!(name_in(Path::new("src")), Some("src"));
        assert_eq!(name_in(Path::new("Cargo")), Some("Cargo"));
        assert_eq!(study_of_same_name(Path::new("x/sata-express.toml")), Some("sata-express"));
        assert_eq!(study_of_same_name(Path::new("x/sata.toml")), None);
    }

    #[test]
    fn an_unknown_study_is_refused_with_the_nearest_names() {
        let error = open("sata-expres").unwrap_err();
        assert!(error.to_string().contains("study `sata-expres`"), "{error}");
        assert!(error.hint.unwrap().contains("sata-express"));
        assert!(text("golden/sata-express").is_none() && text("../Cargo").is_none());
    }
}
