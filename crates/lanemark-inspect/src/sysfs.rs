//! A sysfs tree, of this machine or from a capture. Reading never leaves the tree.
//!
//! Every path is walked component by component below the root. A relative link is resolved from its own folder; an
//! absolute link, which captures may contain, is resolved from the root, with or without `/sys`. Links are counted, so
//! that cycles end; a link that leads above the root is rejected. Only regular files are opened, and up to [`READ_MAX`]
//! bytes of each are read. A missing file is valid and not recorded; an unreadable file is recorded. A text of lspci
//! becomes a tree in memory.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
#[cfg(feature = "machine")]
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use lanemark_schema::result::{UnreadFile, UnreadReason};

#[cfg(feature = "machine")]
use crate::capture::{self, RecordedFiles};
use crate::error::InspectError;
use crate::lspci;
#[cfg(feature = "machine")]
use crate::tree::FolderTree;
use crate::tree::{EntryKind, READ_MAX, Tree};
use crate::value::{natural, truncated_text};

/// Maximum number of links in one path, which is also the kernel's limit.
const LINKS_MAX: u32 = 40;
/// Maximum number of steps in one path.
const STEPS_MAX: u32 = 4096;
/// Maximum number of entries that are read from one folder.
const ENTRIES_MAX: usize = 65_536;
/// Maximum number of entries in [`Sysfs::unread`].
const UNREAD_MAX: usize = 4096;

#[derive(Debug)]
pub struct Sysfs {
    /// Path of the tree for messages, as the user wrote it.
    named: PathBuf,
    tree: Tree,
    unread: RefCell<BTreeSet<UnreadFile>>,
    /// Files that were read, if they are recorded for a capture.
    #[cfg(feature = "machine")]
    recording: Option<RefCell<RecordedFiles>>,
}

/// A position in the tree without links, relative to its root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DevicePosition(PathBuf);

impl DevicePosition {
    /// Returns the last component as text.
    pub(crate) fn name(&self) -> String {
        self.0.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }

    /// Returns the folder that contains the position.
    pub(crate) fn parent(&self) -> Self {
        Self(self.0.parent().map(Path::to_owned).unwrap_or_default())
    }

    /// Returns whether the position is below a folder of the root.
    pub(crate) fn is_below(&self, folder: &str) -> bool {
        self.0.starts_with(folder)
    }

    /// Returns the positions on the path from a child of the root down to this position.
    pub(crate) fn steps(&self) -> Vec<Self> {
        let mut at = PathBuf::new();
        let step = |component: Component<'_>| {
            at.push(component);
            Self(at.clone())
        };
        self.0.components().map(step).collect()
    }
}

#[cfg(feature = "machine")]
impl Sysfs {
    pub fn open(root: &Path) -> Result<Self, InspectError> {
        let to_error = |source| InspectError::Root { root: root.to_owned(), source };
        Ok(Self::new(root, Tree::Folder(FolderTree::open(root).map_err(to_error)?)))
    }

    /// Unpacks the capture in `input`, with `named` as its name in messages.
    ///
    /// # Errors
    /// Returns an error if the input is not a capture.
    pub fn of_capture(input: impl Read, named: &Path) -> Result<Self, InspectError> {
        let to_error = |source| InspectError::Root { root: named.to_owned(), source };
        let tree = capture::unpack(input).and_then(FolderTree::unpacked).map_err(to_error)?;
        Ok(Self::new(named, Tree::Folder(tree)))
    }

    /// Returns the tree, which now records all accesses for a capture.
    #[must_use]
    pub fn recording(self) -> Self {
        Self { recording: Some(RefCell::default()), ..self }
    }

    /// Returns the recorded files as a tar file; `None` if the tree does not record.
    ///
    /// # Errors
    /// Returns an error if a tar file cannot represent a name.
    pub fn capture(&self) -> Option<io::Result<Vec<u8>>> {
        self.recording.as_ref().map(|recording| recording.borrow().tar())
    }

    fn see(&self, path: &Path) {
        if let Some(recording) = &self.recording {
            recording.borrow_mut().see(path, &self.tree);
        }
    }

    fn see_content(&self, path: &Path, bytes: &[u8]) {
        if let Some(recording) = &self.recording {
            recording.borrow_mut().content(path, bytes);
        }
    }

    /// Returns whether the tree belongs to the running machine.
    pub fn is_live(&self) -> bool {
        matches!(&self.tree, Tree::Folder(tree) if tree.root() == Path::new("/sys"))
    }
}

/// Without the feature `machine`, there are no captures.
#[cfg(not(feature = "machine"))]
impl Sysfs {
    fn see(&self, _: &Path) {}

    fn see_content(&self, _: &Path, _: &[u8]) {}
}

impl Sysfs {
    fn new(named: &Path, tree: Tree) -> Self {
        Self {
            named: named.to_owned(),
            tree,
            unread: RefCell::default(),
            #[cfg(feature = "machine")]
            recording: None,
        }
    }

    /// Creates the tree of the machine that the output `text` of `lspci -vvv` or `lspci -tv` describes, with `named` as
    /// the tree's name in messages. Functions whose capabilities lspci could not read are recorded as unread.
    ///
    /// # Errors
    /// Returns [`InspectError::Lspci`] if the text is neither of these outputs, or does not contain a storage
    /// controller.
    pub fn of_lspci(text: &str, named: &Path) -> Result<Self, InspectError> {
        let to_error = |problem| InspectError::Lspci { file: named.to_owned(), problem };
        let described = lspci::tree(text).map_err(to_error)?;
        let sysfs = Self::new(named, Tree::Memory(described.tree));
        let unread = described.denied.into_iter().map(|path| UnreadFile {
            path: format!("{path}/config"),
            reason: UnreadReason::Permission,
        });
        sysfs.unread.borrow_mut().extend(unread.take(UNREAD_MAX));
        Ok(sysfs)
    }

    pub(crate) fn named(&self) -> &Path {
        &self.named
    }

    /// Returns the files that could not be read so far, sorted by path.
    pub(crate) fn unread(&self) -> Vec<UnreadFile> {
        self.unread.borrow().iter().cloned().collect()
    }

    /// Returns the number of online processors, if the tree reports it.
    pub fn processors(&self) -> Option<u32> {
        // The format is a list of ranges and single numbers, such as `0-3,8`.
        let count = |text: &str| {
            text.split(',').try_fold(0_u32, |sum, range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let first = crate::value::number::<u32>(first)?;
                let last = crate::value::number::<u32>(last)?;
                sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
            })
        };
        self.value(&self.position("devices/system/cpu")?, "online", count)
    }

    /// Returns the position that `path` leads to, if it exists.
    pub(crate) fn position(&self, path: impl AsRef<Path>) -> Option<DevicePosition> {
        self.ok_or_note(path.as_ref(), self.resolve(Path::new(""), path.as_ref()))
    }

    /// Returns the position that `path` leads to from `at`, if it exists.
    pub(crate) fn resolve_from(
        &self,
        at: &DevicePosition,
        path: impl AsRef<Path>,
    ) -> Option<DevicePosition> {
        self.ok_or_note(&at.0.join(path.as_ref()), self.resolve(&at.0, path.as_ref()))
    }

    /// Returns the text of a file without surrounding white space; `None` if no text remains.
    pub(crate) fn text(&self, at: &DevicePosition, path: &str) -> Option<String> {
        let (bytes, path) = self.read(at, path)?;
        match String::from_utf8(bytes) {
            Ok(text) => {
                let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
                (!text.is_empty()).then(|| text.to_owned())
            }
            Err(_) => {
                self.note(&path, UnreadReason::NotText);
                None
            }
        }
    }

    /// Reads a file's text with `parse`; text that cannot be parsed is recorded.
    pub(crate) fn value<T>(
        &self,
        at: &DevicePosition,
        path: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(at, path)?;
        let value = parse(&text);
        if value.is_none() {
            let value = truncated_text(&text);
            self.note(&at.0.join(path), UnreadReason::Meaningless { value });
        }
        value
    }

    pub(crate) fn bytes(&self, at: &DevicePosition, path: &str) -> Option<Vec<u8>> {
        Some(self.read(at, path)?.0)
    }

    /// Records that a file was read only in part.
    pub(crate) fn record_partial_read(&self, at: &DevicePosition, path: &str, bytes: usize) {
        self.note(&at.0.join(path), UnreadReason::Partly { bytes: bytes as u64 });
    }

    /// Returns the last component of a link's target, such as `nvme` for the link `driver`. The target need not exist.
    pub(crate) fn link_name(&self, at: &DevicePosition, link: &str) -> Option<String> {
        self.see(&at.0.join(link));
        let target = self.tree.link(&at.0.join(link)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Returns the names in a folder in natural order; the list is empty if the folder does not exist.
    pub(crate) fn names(&self, at: &DevicePosition) -> Vec<OsString> {
        let folder = match self.tree.names(&at.0) {
            Ok(folder) => folder,
            Err(error) => {
                self.note_error(&at.0, &error);
                return Vec::new();
            }
        };
        let mut names: Vec<OsString> = Vec::new();
        for name in folder {
            if names.len() == ENTRIES_MAX {
                self.note(&at.0, UnreadReason::TooMany);
                break;
            }
            match name {
                Ok(name) => {
                    self.see(&at.0.join(&name));
                    names.push(name);
                }
                Err(error) => {
                    self.note_error(&at.0, &error);
                    break;
                }
            }
        }
        names.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
        names
    }

    /// Returns the names in the folder at `path` below `at` that are valid text.
    pub(crate) fn names_in(&self, at: &DevicePosition, path: &str) -> Vec<String> {
        let names =
            self.resolve_from(at, path).map(|position| self.names(&position)).unwrap_or_default();
        names.into_iter().filter_map(|name| name.into_string().ok()).collect()
    }

    fn read(&self, at: &DevicePosition, path: &str) -> Option<(Vec<u8>, PathBuf)> {
        let position = self.resolve_from(at, path)?;
        let is_file = self.tree.kind(&position.0).map(|kind| kind == EntryKind::File);
        let read =
            is_file.and_then(|is_file| is_file.then(|| self.tree.read(&position.0)).transpose());
        match read {
            Ok(Some(bytes)) if bytes.len() as u64 > READ_MAX => {
                self.note(&position.0, UnreadReason::TooLong);
                None
            }
            Ok(Some(bytes)) => {
                self.see_content(&position.0, &bytes);
                Some((bytes, position.0))
            }
            Ok(None) => {
                self.note(&position.0, UnreadReason::WrongKind);
                None
            }
            Err(error) => {
                self.note_error(&position.0, &error);
                None
            }
        }
    }

    /// Walks `path` from `from`, a position without links, to a position without links. Returns `None` if the path does
    /// not exist.
    fn resolve(&self, from: &Path, path: &Path) -> Result<Option<DevicePosition>, UnreadReason> {
        let mut at = from.to_owned();
        let mut pending: VecDeque<OsString> = components(path);
        let mut links = 0;
        let mut steps = 0;
        // Number of the next components that come from a link; each of them must exist.
        let mut of_link = 0_usize;
        while let Some(component) = pending.pop_front() {
            steps += 1;
            let promised = of_link > 0;
            of_link = of_link.saturating_sub(1);
            if steps > STEPS_MAX {
                return Err(UnreadReason::LinkCycle);
            }
            if component == ".." {
                if !at.pop() {
                    return Err(UnreadReason::Outside);
                }
                continue;
            }
            at.push(&component);
            let kind = match self.tree.kind(&at) {
                Ok(kind) => kind,
                Err(error) if is_absent(&error) => {
                    return if promised { Err(UnreadReason::Dangling) } else { Ok(None) };
                }
                Err(error) => return Err(reason(&error)),
            };
            self.see(&at);
            if kind == EntryKind::Link {
                links += 1;
                if links > LINKS_MAX {
                    return Err(UnreadReason::LinkCycle);
                }
                let target = self.tree.link(&at).map_err(|error| reason(&error))?;
                at.pop();
                let mut ahead = components(&target);
                if target.is_absolute() {
                    at = PathBuf::new();
                    if ahead.front().is_some_and(|first| first == "sys") {
                        ahead.pop_front();
                    }
                }
                of_link = of_link.max(ahead.len());
                ahead.append(&mut pending);
                pending = ahead;
            }
        }
        Ok(Some(DevicePosition(at)))
    }

    fn ok_or_note(
        &self,
        path: &Path,
        found: Result<Option<DevicePosition>, UnreadReason>,
    ) -> Option<DevicePosition> {
        found.unwrap_or_else(|reason| {
            self.note(path, reason);
            None
        })
    }

    fn note(&self, path: &Path, reason: UnreadReason) {
        let mut unread = self.unread.borrow_mut();
        if unread.len() < UNREAD_MAX {
            unread.insert(UnreadFile { path: path.to_string_lossy().into_owned(), reason });
        }
    }

    fn note_error(&self, path: &Path, error: &io::Error) {
        if !is_absent(error) && !self.tree.is_inapplicable(error) {
            self.note(path, reason(error));
        }
    }
}

fn components(path: &Path) -> VecDeque<OsString> {
    let named = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn reason(error: &io::Error) -> UnreadReason {
    match error.kind() {
        io::ErrorKind::PermissionDenied => UnreadReason::Permission,
        _ => UnreadReason::System { message: error.to_string() },
    }
}
