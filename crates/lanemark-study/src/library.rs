//! The library of model files: a folder, or the copies that are built into the program.
//!
//! A drive, platform or workload is named by its file without `.toml`, or by a path that ends in `.toml`. The program
//! contains the library as it was at build time, so an installed `lanemark` does not need separate files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::document::Document;
use crate::error::{Location, StudyError};
use crate::host;
use crate::model_names::drives_of;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../library");

/// The maximum size of a file that is read; typical library files have a few kilobytes.
const FILE_MAX: u64 = 4 << 20;

/// A kind of library file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryKind {
    /// `library/drives`.
    Drive,
    /// `library/platforms`.
    Platform,
    /// `library/workloads`.
    Workload,
    /// `library/hosts`.
    Host,
    /// `library/priors`.
    Prior,
}

/// Library files by name, with the hashes of the files that were used.
#[derive(Clone, Debug, Default)]
pub struct Library {
    folder: Option<PathBuf>,
    added: Vec<(LibraryKind, String, Document)>,
    used: RefCell<BTreeMap<String, String>>,
    /// The files that were already opened, if the library keeps them.
    kept: Option<RefCell<Vec<(LibraryKind, String, Document)>>>,
}

impl LibraryKind {
    /// The kinds that a list of the library contains, each with the name of its folder.
    pub const LISTED: [(&'static str, Self); 4] = [
        ("drives", Self::Drive),
        ("platforms", Self::Platform),
        ("hosts", Self::Host),
        ("workloads", Self::Workload),
    ];

    /// Returns the folder for this kind of file, and the word for one file.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Drive => ("drives", "drive"),
            Self::Platform => ("platforms", "platform"),
            Self::Workload => ("workloads", "workload"),
            Self::Host => ("hosts", "host"),
            Self::Prior => ("priors", "priors"),
        }
    }
}

impl Library {
    /// Returns the library built into the program.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// Returns the folder for a kind of file; `None` for the built-in files, which also replace missing hosts or
    /// priors.
    fn folder_of(&self, kind: LibraryKind) -> Option<&PathBuf> {
        let (folder, _) = kind.names();
        let usual = !matches!(kind, LibraryKind::Prior | LibraryKind::Host);
        let is_own_folder = |library: &&PathBuf| usual || library.join(folder).is_dir();
        self.folder.as_ref().filter(is_own_folder)
    }

    /// Returns the library in `folder`.
    ///
    /// # Errors
    /// Returns an error if `folder` does not contain a library.
    pub fn in_folder(folder: &Path) -> Result<Self, StudyError> {
        if !folder.join("drives").is_dir() {
            let location = Location::file(folder.display().to_string());
            return Err(StudyError::new(location, "not a library")
                .hint("a library is a folder with `drives`, `platforms` and `workloads`"));
        }
        Ok(Self { folder: Some(folder.to_owned()), ..Self::default() })
    }

    /// Returns a copy that reads each file only once, for assembling many systems from the same files. Files that it
    /// opens are not recorded as used.
    #[must_use]
    pub fn keeping(&self) -> Self {
        Self { kept: Some(RefCell::default()), ..self.clone() }
    }

    /// Adds a file from memory; it replaces any file of the same kind and name.
    pub fn add(&mut self, kind: LibraryKind, name: &str, file: Document) {
        self.added.retain(|(other, known, _)| (*other, known.as_str()) != (kind, name));
        self.added.push((kind, name.to_owned(), file));
    }

    /// Returns a copy that contains the host file `text`, measured with the result `name`, and `system` with this host:
    /// a platform, a port or a system. The result is empty without a host, if the system already names a host, or if
    /// the name cannot be part of a system.
    ///
    /// # Errors
    /// Returns all errors in the host file.
    pub fn with_measured_host(
        &self,
        system: &str,
        name: &str,
        text: Option<&str>,
    ) -> Result<Option<(Self, String)>, StudyError> {
        let Some((text, system)) = text.zip(host::hosted(system, name)) else { return Ok(None) };
        let mut library = self.clone();
        library.add_host(name, text).map_err(|error| error.hint("name a host with --host"))?;
        Ok(Some((library, system)))
    }

    /// Adds the host file `text` under `name`.
    ///
    /// # Errors
    /// Returns all errors in the text.
    pub fn add_host(&mut self, name: &str, text: &str) -> Result<(), StudyError> {
        let file = Document::parse(name, text)?;
        host::check(&file)?;
        self.add(LibraryKind::Host, name, file);
        Ok(())
    }

    /// Reads the file `name` of a kind; `platform,host` is the platform with the values of the host.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, with the most similar name, or if it cannot be read or parsed.
    pub fn open(&self, kind: LibraryKind, name: &str) -> Result<Document, StudyError> {
        if kind == LibraryKind::Platform
            && let Some((platform, host)) = name.split_once(',')
        {
            let file = self.open(LibraryKind::Host, host)?;
            let label = host::check(&file)?;
            let platform = self.open(LibraryKind::Platform, platform)?;
            return Ok(platform.hosted(&file, &label, &host::TABLES, host::FILE_SYSTEM));
        }
        let Some(kept) = &self.kept else {
            let document = self.read(kind, name)?;
            self.note(&document);
            return Ok(document);
        };
        let is_it = |(known, own, _): &&(LibraryKind, String, Document)| {
            (*known, own.as_str()) == (kind, name)
        };
        if let Some((.., document)) = kept.borrow().iter().find(is_it) {
            return Ok(document.clone());
        }
        let document = self.read(kind, name)?;
        kept.borrow_mut().push((kind, name.to_owned(), document.clone()));
        Ok(document)
    }

    /// Reads the file `name` of a kind, or the file at the path `name`.
    fn read(&self, kind: LibraryKind, name: &str) -> Result<Document, StudyError> {
        let is_path = Path::new(name).extension().is_some_and(|extension| extension == "toml");
        let document =
            if is_path { open_file(Path::new(name)) } else { self.open_named(kind, name) }?;
        if kind != LibraryKind::Host {
            return Ok(document);
        }
        host::extended(document, |base| {
            let base = self.open_named(kind, base)?;
            self.note(&base);
            Ok(base)
        })
    }

    /// Returns the names of all files of a kind.
    pub fn names(&self, kind: LibraryKind) -> Vec<String> {
        let (folder, _) = kind.names();
        let stem = |path: &Path| {
            let toml = path.extension().is_some_and(|extension| extension == "toml");
            toml.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
        };
        let mut names: Vec<String> = match self.folder_of(kind) {
            Some(library) => std::fs::read_dir(library.join(folder))
                .into_iter()
                .flatten()
                .filter_map(|entry| stem(&entry.ok()?.path()))
                .collect(),
            None => {
                let files = BUILT_IN.get_dir(folder).into_iter().flat_map(Dir::files);
                files.filter_map(|file| stem(file.path())).collect()
            }
        };
        let added = self.added.iter().filter(|(own, ..)| *own == kind);
        names.extend(added.map(|(_, name, _)| name.clone()));
        names.sort();
        names.dedup();
        names
    }

    /// Returns the display name in the file `name` of a kind.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not have a name.
    pub fn summary(&self, kind: LibraryKind, name: &str) -> Result<String, StudyError> {
        let (_, word) = kind.names();
        let document = self.open_named(kind, name)?;
        document.root(word, None).table(word)?.text("name")
    }

    /// Records that `document` was used.
    pub fn note(&self, document: &Document) {
        self.used.borrow_mut().insert(document.file().to_owned(), document.sha256());
    }

    /// Returns the SHA-256 of each file used so far.
    pub fn used(&self) -> BTreeMap<String, String> {
        self.used.borrow().clone()
    }

    fn open_named(&self, kind: LibraryKind, name: &str) -> Result<Document, StudyError> {
        let (folder, word) = kind.names();
        let names = self.names(kind);
        if !names.iter().any(|known| known == name) {
            let location = Location::file(format!("library/{folder}"));
            let known = names.iter().map(String::as_str);
            let mut error = StudyError::unknown(location, word, name, known);
            if kind == LibraryKind::Drive
                && let [first, ..] = drives_of(self, name, None).same.as_slice()
            {
                error = error.hint(format!("did you mean `{first}`?"));
            }
            if kind != LibraryKind::Prior {
                let end = |hint: &str| if hint.ends_with('?') { " " } else { "; " };
                let hint = error.hint.take();
                let hint = hint.map_or(String::new(), |hint| format!("{hint}{}", end(&hint)));
                error.hint = Some(format!("{hint}`lanemark library --kind {word}` lists all"));
            }
            return Err(error);
        }
        let added = self.added.iter().find(|(own, known, _)| *own == kind && known == name);
        if let Some((.., file)) = added {
            return Ok(file.clone());
        }
        let place = format!("{folder}/{name}.toml");
        match self.folder_of(kind) {
            Some(library) => open_file(&library.join(place)),
            None => {
                let file = BUILT_IN.get_file(&place);
                let text = file.and_then(|file| file.contents_utf8()).unwrap_or_default();
                Document::parse(&format!("library/{place}"), text)
            }
        }
    }
}

/// Reads and parses a file.
///
/// # Errors
/// Returns an error if the file cannot be read, is not text, is larger than the maximum size, or cannot be parsed.
pub fn open_file(path: &Path) -> Result<Document, StudyError> {
    let name = path.display().to_string();
    let fail = |message: String| StudyError::new(Location::file(&name), message);
    let metadata =
        std::fs::metadata(path).map_err(|error| fail(format!("can't be read: {error}")))?;
    if !metadata.is_file() {
        return Err(fail("not a file".to_owned()));
    }
    if metadata.len() > FILE_MAX {
        return Err(fail(format!("{} bytes; the maximum is {FILE_MAX}", metadata.len())));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(format!("can't be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        fail(format!("not UTF-8 text: byte {} is not valid", error.utf8_error().valid_up_to()))
    })?;
    Document::parse(&name, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_file_is_opened_by_its_name_in_place_of_an_older_one() {
        let mut library = Library::built_in();
        let before = library.names(LibraryKind::Platform);
        for name in ["first", "second"] {
            let text = format!("[platform]\nname = \"{name}\"\n");
            let file = Document::parse("own", &text).unwrap();
            library.add(LibraryKind::Platform, "own", file);
        }
        assert_eq!(library.names(LibraryKind::Platform).len(), before.len() + 1);
        assert_eq!(library.summary(LibraryKind::Platform, "own").unwrap(), "second");
        assert!(library.open(LibraryKind::Drive, "own").is_err());
        library.open(LibraryKind::Platform, "own").unwrap();
        assert!(library.used().contains_key("own"));
    }
}
