//! A table of a file: its keys, its subtables, and the keys that no reader requests. The module `value` reads the
//! values of keys.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::problem::Problem;
use super::requested_keys;
use super::{Context, Document};
use crate::error::{Location, StudyError};
use crate::origin::{Origin, ValueRange, ValueRecord};
use crate::tree::{Node, Table, Value};

/// A table of a document.
#[derive(Debug)]
pub struct Section<'d> {
    pub(super) document: &'d Document,
    table: &'d Table,
    /// The path of the table, such as `drive.flash`, to which keys are appended.
    path: String,
    /// The path of the table without the names of array entries, such as `platform.link[]`.
    shape: String,
    offset: usize,
    /// The origin of values that do not state an origin themselves.
    origin: Origin,
    context: Option<Context<'d>>,
    asked: RefCell<Vec<String>>,
    /// Missing keys, each with the similar key that is read instead.
    misspelt: RefCell<BTreeMap<String, String>>,
    /// Whether the file does not contain the table. Every key then has its default value or is missing.
    is_absent: bool,
    /// Number of tables that readers had abandoned before the reading of this table began.
    cut_short: usize,
}

/// Returns an empty table.
fn no_table() -> &'static Table {
    static NONE: OnceLock<Table> = OnceLock::new();
    NONE.get_or_init(Table::new)
}

/// A scalar and its location.
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) is_number: bool,
    pub(super) location: Location,
}

impl<'d> Section<'d> {
    /// Creates the root table of a file.
    pub(super) fn root(
        document: &'d Document,
        table: &'d Table,
        kind: &str,
        context: Option<Context<'d>>,
    ) -> Self {
        Self {
            document,
            table,
            path: kind.to_owned(),
            shape: kind.to_owned(),
            offset: 0,
            origin: Origin::Assumed(None),
            context,
            asked: RefCell::default(),
            misspelt: RefCell::default(),
            is_absent: false,
            cut_short: 0,
        }
    }

    /// Returns the location of the table's first line.
    pub fn location(&self) -> Location {
        self.document.location(self.offset)
    }

    /// Returns the location of the value of `key`, or the location of the table if the key is missing.
    pub fn location_of(&self, key: &str) -> Location {
        match self.table.get(key) {
            Some(entry) => self.document.location(entry.value.offset),
            None => self.location(),
        }
    }

    /// Returns the offset of the value of `key` in the file, or the offset of the table if the key is missing.
    pub(crate) fn offset_of(&self, key: &str) -> usize {
        self.table.get(key).map_or(self.offset, |entry| entry.value.offset)
    }

    /// Returns the origin of the value of `key`, and the bounds of its range.
    pub(crate) fn note_of(&self, key: &str) -> Result<(String, Option<[String; 2]>), StudyError> {
        let Some(table) = self.get(key).and_then(Value::as_table) else {
            return Ok((String::new(), None));
        };
        let why = match noted_origin(table) {
            Some(Origin::Sourced(text) | Origin::Derived(text) | Origin::Assumed(Some(text))) => {
                text
            }
            _ => String::new(),
        };
        Ok((why, self.range_ends(key, table)?))
    }

    /// Returns the bounds of the range in a `{ value, range }` table.
    fn range_ends(&self, key: &str, table: &Table) -> Result<Option<[String; 2]>, StudyError> {
        let Some(entry) = table.get("range") else { return Ok(None) };
        let wrong = || {
            let location = self.document.location(entry.value.offset);
            StudyError::new(location, format!("the range of `{key}` must be a list of two values"))
                .hint("write range = [\"40 us\", \"60 us\"]")
        };
        let [low, high] = entry.value.as_array().ok_or_else(wrong)? else { return Err(wrong()) };
        let end = |value| self.bare(key, value).map(|scalar| scalar.text);
        Ok(Some([end(low)?, end(high)?]))
    }

    /// Creates an error at the value of `key`.
    pub fn error(&self, key: &str, message: impl Into<String>) -> StudyError {
        StudyError::new(self.location_of(key), message)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'d String> {
        self.table.keys()
    }

    /// Records all of these errors while [`Document::read`] runs. Returns an error that is already recorded if there is
    /// one, otherwise the first of these errors.
    pub fn wrong(&self, first: StudyError, others: &[StudyError]) -> StudyError {
        for error in std::iter::once(&first).chain(others) {
            if self.document.note(Problem::Wrong(error.clone())).is_err() {
                break;
            }
        }
        first
    }

    /// Returns whether `key` is present or overridden.
    pub fn has(&self, key: &str) -> bool {
        self.ask(key);
        requested_keys::note(&self.shape, key, |requested| requested.may_be_absent = true);
        self.table.contains_key(key) || self.is_set(key)
    }

    /// Returns whether `key` is a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.as_table().is_some())
    }

    /// Returns the table `key`.
    ///
    /// # Errors
    /// Returns an error if the key is missing or not a table.
    pub fn table(&self, key: &str) -> Result<Section<'d>, StudyError> {
        if let Some(section) = self.optional_table(key)? {
            return Ok(section);
        }
        if !self.document.is_read_whole() {
            return Err(self.missing(key, "a table").into_error());
        }
        if self.is_misspelt(key) {
            self.document.note(self.missing(key, "a table"))?;
            return self.table(key);
        }
        // The reader of the table's keys reports that the table is missing.
        Ok(self.absent(key))
    }

    /// Returns the table `key`, if it is present.
    ///
    /// # Errors
    /// Returns an error if the key is not a table.
    pub fn optional_table(&self, key: &str) -> Result<Option<Section<'d>>, StudyError> {
        self.ask(key);
        self.ask_for(key, || "a table".to_owned());
        match self.get(key) {
            Some(value) => self.section(key, value).map(Some),
            // A table that the file omits counts as present if a value in it is overridden.
            None => Ok(self.is_reached(key).then(|| self.absent(key))),
        }
    }

    /// Returns the table `key`, or an empty table if the key is missing. In an empty table, every value that is not
    /// overridden has its default.
    ///
    /// # Errors
    /// Returns an error if the key is not a table.
    pub fn settings(&self, key: &str) -> Result<Section<'d>, StudyError> {
        Ok(self.optional_table(key)?.unwrap_or_else(|| self.absent(key)))
    }

    /// Returns an empty table for `key`, which is missing in the file.
    fn absent(&self, key: &str) -> Section<'d> {
        Section {
            document: self.document,
            table: no_table(),
            path: self.path_of(key),
            shape: self.shape_of(key),
            offset: self.offset,
            origin: self.origin.clone(),
            context: self.context,
            asked: RefCell::default(),
            misspelt: RefCell::default(),
            is_absent: true,
            cut_short: self.document.cut_short(),
        }
    }

    /// Returns the tables of the array `key`, which the file writes as `[[key]]`; empty if the key is missing.
    ///
    /// # Errors
    /// Returns an error if the key is not an array of tables.
    pub fn tables(&self, key: &str) -> Result<Vec<Section<'d>>, StudyError> {
        self.ask(key);
        self.ask_for(key, || "tables".to_owned());
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let Some(array) = value.as_array() else {
            return Err(self.error(key, format!("`{key}` must be written as [[{key}]] tables")));
        };
        array
            .iter()
            .map(|entry| {
                let section = self.section(key, entry)?;
                // The names of the tables distinguish their values.
                let name =
                    section.get("name").and_then(Value::as_text).map(|name| format!(".{name}"));
                let path = section.path.clone() + &name.unwrap_or_default();
                Ok(Section { path, shape: section.shape.clone() + "[]", ..section })
            })
            .collect()
    }

    /// Reads each table of the array `key` with `read`, which also receives the earlier results. While
    /// [`Document::read`] runs, an error in one table does not prevent reading the next.
    ///
    /// # Errors
    /// Returns the first error of `read`.
    pub fn read_tables<T>(
        &self,
        key: &str,
        mut read: impl FnMut(&Section<'d>, &[T]) -> Result<T, StudyError>,
    ) -> Result<Vec<T>, StudyError> {
        let mut all = Vec::new();
        for section in self.tables(key)? {
            let noted = self.document.noted();
            let error = match read(&section, &all) {
                Ok(one) => {
                    all.push(one);
                    continue;
                }
                Err(error) => error,
            };
            self.document.note_incomplete_table();
            // An error that is returned in addition to recorded problems may be caused by a stand-in. A name that
            // `read` does not know may belong to a table with a problem.
            let is_unclear =
                self.document.noted() > noted || (error.is_unknown_name() && noted > 0);
            if !is_unclear {
                self.document.note(Problem::Wrong(error))?;
            }
        }
        Ok(all)
    }

    /// Reads a part of the file with `read`. While [`Document::read`] runs, an error in the part does not prevent
    /// reading the rest, and the part is `None`.
    ///
    /// # Errors
    /// Returns the error of `read` unless [`Document::read`] is running.
    pub fn part<T>(
        &self,
        read: impl FnOnce() -> Result<T, StudyError>,
    ) -> Result<Option<T>, StudyError> {
        let noted = self.document.noted();
        match read() {
            Ok(part) => Ok(Some(part)),
            Err(_) if self.document.noted() > noted => Ok(None),
            Err(error) => self.document.note(Problem::Wrong(error)).map(|()| None),
        }
    }

    /// Checks that the table contains only requested keys.
    ///
    /// # Errors
    /// Returns the first unknown key, with the most similar known keys. While [`Document::read`] runs, all unknown keys
    /// are reported.
    pub fn finish(&self) -> Result<(), StudyError> {
        // A reader that stopped before the end of a table might have requested more keys, also in this table.
        if self.document.cut_short() > self.cut_short {
            return Ok(());
        }
        let keys_requested = self.asked.borrow();
        let mut unknown: Vec<(usize, &str)> = self
            .table
            .iter()
            .filter(|(key, _)| !keys_requested.contains(key))
            .map(|(key, entry)| (entry.key_offset, key.as_str()))
            .collect();
        unknown.sort_unstable();
        for (offset, name) in unknown {
            let location = self.document.location(offset);
            let known = keys_requested.iter().map(String::as_str);
            let error = StudyError::unknown(location, "key", name, known);
            self.document.note(Problem::Unknown {
                table: self.path.clone(),
                key: name.to_owned(),
                error,
            })?;
        }
        Ok(())
    }

    pub(super) fn ask(&self, key: &str) {
        requested_keys::note(&self.shape, key, |_| ());
        self.expect(key);
    }

    /// Records the kind of value that is requested for `key`.
    pub(super) fn ask_for(&self, key: &str, kind: impl FnOnce() -> String) {
        requested_keys::note(&self.shape, key, |asked| {
            asked.kinds.insert(kind());
        });
    }

    /// Records that `key` is required.
    pub(super) fn ask_always(&self, key: &str) {
        requested_keys::note(&self.shape, key, |requested| requested.is_required = true);
    }

    /// Marks `key` as requested.
    pub(super) fn expect(&self, key: &str) {
        self.asked.borrow_mut().push(key.to_owned());
    }

    /// Returns the problem that `key` is missing. If an unrequested key has a similar name, it is read instead from now
    /// on.
    pub(super) fn missing(&self, key: &str, what: &str) -> Problem {
        let misspelt = self.is_misspelt(key).then(|| self.misspelt.borrow()[key].clone());
        Problem::Missing {
            table: self.path.clone(),
            location: self.location(),
            no_table: self.is_absent,
            key: key.to_owned(),
            what: what.to_owned(),
            misspelt,
        }
    }

    /// Returns whether the table has an unrequested key that differs from the missing `key` by one typing error.
    fn is_misspelt(&self, key: &str) -> bool {
        let keys_requested = self.asked.borrow();
        let slip = |other: &&String| {
            // A typing error adds or removes up to one character, which has up to four bytes.
            other.len().abs_diff(key.len()) <= 4
                && !keys_requested.contains(other)
                && strsim::damerau_levenshtein(key, other) == 1
        };
        let found = self.table.keys().find(slip).filter(|_| key.len() > 2);
        if let Some(other) = found {
            self.misspelt.borrow_mut().insert(key.to_owned(), other.clone());
        }
        found.is_some()
    }

    /// Returns the path of `key`, such as `drive.flash.read`. The table that contains the name of the file's subject
    /// does not appear in the path.
    fn path_of(&self, key: &str) -> String {
        if self.path == key { self.path.clone() } else { format!("{}.{key}", self.path) }
    }

    /// Returns the path of `key` without the names of array entries, as the reference of all keys states it.
    fn shape_of(&self, key: &str) -> String {
        if self.shape == key { self.shape.clone() } else { format!("{}.{key}", self.shape) }
    }

    /// Returns the value that overrides `key`, if there is one.
    pub(super) fn set_text(&self, key: &str) -> Option<(String, Location)> {
        let context = self.context?;
        let parameter = format!("{}.{key}", self.path);
        context.ledger.register(&parameter);
        let (text, location) = context.overrides.get(&parameter)?;
        let text = text.to_owned();
        let origin = Origin::Overridden;
        context.ledger.record(ValueRecord { parameter, text: text.clone(), origin, range: None });
        Some((text, location))
    }

    fn is_set(&self, key: &str) -> bool {
        let parameter = format!("{}.{key}", self.path);
        self.context.is_some_and(|context| {
            context.ledger.register(&parameter);
            context.overrides.has(&parameter)
        })
    }

    /// Returns whether a value in the table `key` is overridden.
    fn is_reached(&self, key: &str) -> bool {
        let table = self.path_of(key);
        self.context.is_some_and(|context| context.overrides.reach_into(&table))
    }

    fn section(&self, key: &str, value: &'d Value) -> Result<Section<'d>, StudyError> {
        let Some(table) = value.as_table() else {
            return Err(self.error(key, format!("`{key}` must be a table")));
        };
        let path = self.path_of(key);
        let section = Section {
            document: self.document,
            table,
            path,
            shape: self.shape_of(key),
            offset: value.offset,
            origin: noted_origin(table).unwrap_or_else(|| self.origin.clone()),
            context: self.context,
            asked: RefCell::default(),
            misspelt: RefCell::default(),
            is_absent: false,
            cut_short: self.document.cut_short(),
        };
        ORIGINS.iter().for_each(|key| section.expect(key));
        Ok(section)
    }

    /// Returns the model value at `key`: an override, a bare value, or the value of a `{ value, source }` table.
    pub(super) fn scalar(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        if let Some((text, location)) = self.set_text(key) {
            return Ok(Some(Scalar { text, is_number: false, location }));
        }
        let Some(value) = self.get(key) else { return Ok(None) };
        let (value, origin, ends) = match value.as_table() {
            Some(table) => {
                let (value, origin) = self.sourced(key, value, table)?;
                (value, origin, self.range_ends(key, table)?)
            }
            None => (value, self.origin.clone(), None),
        };
        let scalar = self.bare(key, value)?;
        let range = match ends {
            None => None,
            Some(ends) => Some(ValueRange::read(&scalar.text, &ends).map_err(|message| {
                StudyError::new(scalar.location.clone(), format!("the range of `{key}`: {message}"))
                    .hint("write the low end first, and the value in between")
            })?),
        };
        if let Some(context) = self.context {
            let parameter = format!("{}.{key}", self.path);
            context.ledger.record(ValueRecord {
                parameter,
                text: scalar.text.clone(),
                origin,
                range,
            });
        }
        Ok(Some(scalar))
    }

    /// Returns a scalar that is not a model value, such as a name or a choice.
    pub(super) fn plain(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        self.get(key).map(|value| self.bare(key, value)).transpose()
    }

    pub(super) fn bare(&self, key: &str, value: &Value) -> Result<Scalar, StudyError> {
        let location = self.document.location(value.offset);
        let not_a_scalar = |found: &str| {
            let message = format!("`{key}` must be a string or a number, not {found}");
            StudyError::new(location.clone(), message)
        };
        let (text, is_number) = match &value.node {
            Node::Text(text) => (text.clone(), false),
            Node::Number(number) => (number.clone(), true),
            Node::Table(_) => return Err(not_a_scalar("a table")),
            Node::Array(_) => return Err(not_a_scalar("a list")),
            Node::Other(kind) => return Err(not_a_scalar(kind)),
        };
        requested_keys::note(&self.shape, key, |asked| {
            let written = || if is_number { text.clone() } else { format!("\"{text}\"") };
            asked.example.get_or_insert_with(written);
        });
        Ok(Scalar { text, is_number, location })
    }

    pub(super) fn get(&self, key: &str) -> Option<&'d Value> {
        let misspelt = self.misspelt.borrow();
        let entry = self.table.get(key).or_else(|| self.table.get(misspelt.get(key)?));
        entry.map(|entry| &entry.value)
    }

    /// Reads a `{ value = …, source | derived | assumed = … }` table.
    fn sourced(
        &self,
        key: &str,
        whole: &Value,
        table: &'d Table,
    ) -> Result<(&'d Value, Origin), StudyError> {
        for (name, entry) in table {
            if name != "value" && name != "range" && !ORIGINS.contains(&name.as_str()) {
                let location = self.document.location(entry.key_offset);
                let known = ["value", "range"].into_iter().chain(ORIGINS);
                return Err(StudyError::unknown(location, "key", name, known));
            }
        }
        let Some(value) = table.get("value").map(|entry| &entry.value) else {
            let location = self.document.location(whole.offset);
            return Err(StudyError::new(location, format!("`{key}` does not have a value"))
                .hint("write { value = \"…\", source = \"…\" }"));
        };
        let origin = noted_origin(table).unwrap_or_else(|| self.origin.clone());
        Ok((value, origin))
    }
}

/// The keys that state the origin of a value, or of all values in a table.
const ORIGINS: [&str; 3] = ["source", "derived", "assumed"];

/// Returns the origin that a table states.
fn noted_origin(table: &Table) -> Option<Origin> {
    let note = |name: &str| Some(table.get(name)?.value.as_text()?.to_owned());
    let [source, derived, assumed] = ORIGINS.map(note);
    source
        .map(Origin::Sourced)
        .or_else(|| derived.map(Origin::Derived))
        .or_else(|| assumed.map(|reason| Origin::Assumed(Some(reason))))
}
