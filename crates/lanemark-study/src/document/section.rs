//! A table of a file: its keys, the tables in it, and the keys that nothing asked for. `value` reads what stands at a
//! key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::asked;
use super::problem::Problem;
use super::{Context, Document};
use crate::error::{Location, StudyError};
use crate::origin::{Origin, Range, Record};
use crate::tree::{Node, Table, Value};

/// A table of a document.
#[derive(Debug)]
pub struct Section<'d> {
    pub(super) document: &'d Document,
    table: &'d Table,
    /// The table's place, `drive.flash`; keys are appended to it.
    path: String,
    /// The table's place without the names that tables give themselves, `platform.link[]`.
    shape: String,
    offset: usize,
    /// Origin of values that do not name their own.
    origin: Origin,
    context: Option<Context<'d>>,
    asked: RefCell<Vec<String>>,
    /// Keys that are missing, each with the one that is nearly called so and is read in its place.
    misspelt: RefCell<BTreeMap<String, String>>,
    /// The file has no such table: every key has its usual value or is missing.
    is_absent: bool,
    /// Number of tables that could not be read to their end before this one was begun.
    cut_short: usize,
}

/// A table without anything in it.
fn no_table() -> &'static Table {
    static NONE: OnceLock<Table> = OnceLock::new();
    NONE.get_or_init(Table::new)
}

/// A scalar with its place.
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) is_number: bool,
    pub(super) location: Location,
}

impl<'d> Section<'d> {
    /// The top of a file.
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

    /// Returns the location of the table's beginning.
    pub fn location(&self) -> Location {
        self.document.location(self.offset)
    }

    /// Returns the location of the value of `key`, or of the table where it has no such key.
    pub fn location_of(&self, key: &str) -> Location {
        match self.table.get(key) {
            Some(entry) => self.document.location(entry.value.offset),
            None => self.location(),
        }
    }

    /// Returns where the value of `key` begins in the file, or the table where it has no such key.
    pub(crate) fn offset_of(&self, key: &str) -> usize {
        self.table.get(key).map_or(self.offset, |entry| entry.value.offset)
    }

    /// Returns what is noted with the value of `key`: where it comes from, and the ends of its range.
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

    /// Returns the ends of the range that a `{ value, range }` table has.
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

    /// An error at the value of `key`.
    pub fn error(&self, key: &str, message: impl Into<String>) -> StudyError {
        StudyError::new(self.location_of(key), message)
    }

    /// The keys of the table.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'d String> {
        self.table.keys()
    }

    /// Notes all of these errors where the file is read as a whole, and returns one of them: else the first.
    pub fn wrong(&self, first: StudyError, others: &[StudyError]) -> StudyError {
        for error in std::iter::once(&first).chain(others) {
            if self.document.note(Problem::Wrong(error.clone())).is_err() {
                break;
            }
        }
        first
    }

    /// Whether `key` is there, or is set from outside.
    pub fn has(&self, key: &str) -> bool {
        self.ask(key);
        asked::note(&self.shape, key, |asked| asked.may_be_absent = true);
        self.table.contains_key(key) || self.is_set(key)
    }

    /// Whether `key` is a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.as_table().is_some())
    }

    /// The table `key`.
    ///
    /// # Errors
    /// Where it is missing or no table.
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
        // Its own keys tell that it is missing.
        Ok(self.absent(key))
    }

    /// The table `key`, where it is there.
    ///
    /// # Errors
    /// Where it is no table.
    pub fn optional_table(&self, key: &str) -> Result<Option<Section<'d>>, StudyError> {
        self.ask(key);
        self.ask_for(key, || "a table".to_owned());
        match self.get(key) {
            Some(value) => self.section(key, value).map(Some),
            // A table that the file leaves out is there when something in it is set.
            None => Ok(self.is_reached(key).then(|| self.absent(key))),
        }
    }

    /// The table `key`, or an empty one where it is missing: everything in it has its usual value then,
    /// unless it is overridden.
    ///
    /// # Errors
    /// Where it is no table.
    pub fn settings(&self, key: &str) -> Result<Section<'d>, StudyError> {
        Ok(self.optional_table(key)?.unwrap_or_else(|| self.absent(key)))
    }

    /// The table `key`, which the file leaves out.
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

    /// The tables of the array `key`, `[[key]]` in the file; none where it is missing.
    ///
    /// # Errors
    /// Where it is no array of tables.
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
                // Values of several tables are told apart by the name that each table gives itself.
                let name =
                    section.get("name").and_then(Value::as_text).map(|name| format!(".{name}"));
                let path = section.path.clone() + &name.unwrap_or_default();
                Ok(Section { path, shape: section.shape.clone() + "[]", ..section })
            })
            .collect()
    }

    /// Reads each table of the array `key` with `read`, which also receives those before. In a file that is read as a
    /// whole a table with an error does not keep the next from being read.
    ///
    /// # Errors
    /// The first of `read`.
    pub fn each<T>(
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
            self.document.cut_one_short();
            // What it says beside noted problems may come of what stood in, and a name that it does not know may be
            // that of a table with a problem.
            let is_doubtful =
                self.document.noted() > noted || (error.is_unknown_name() && noted > 0);
            if !is_doubtful {
                self.document.note(Problem::Wrong(error))?;
            }
        }
        Ok(all)
    }

    /// Reads a part of the file with `read`. In a file that is read as a whole an error there does not keep the rest
    /// from being read, and there is nothing of the part.
    ///
    /// # Errors
    /// The error of `read`, where the file is not read as a whole.
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

    /// Checks that the table holds nothing that was not asked for.
    ///
    /// # Errors
    /// The first unknown key, with those that are most like it; all of them where the file is read as a whole.
    pub fn finish(&self) -> Result<(), StudyError> {
        // A table that was left before its end may have asked for more, of this one too.
        if self.document.cut_short() > self.cut_short {
            return Ok(());
        }
        let asked = self.asked.borrow();
        let mut unknown: Vec<(usize, &str)> = self
            .table
            .iter()
            .filter(|(key, _)| !asked.contains(key))
            .map(|(key, entry)| (entry.key_offset, key.as_str()))
            .collect();
        unknown.sort_unstable();
        for (offset, name) in unknown {
            let location = self.document.location(offset);
            let known = asked.iter().map(String::as_str);
            let error = StudyError::unknown(location, "key", name, known);
            let (table, key) = (self.path.clone(), name.to_owned());
            self.document.note(Problem::Unknown { table, key, error })?;
        }
        Ok(())
    }

    pub(super) fn ask(&self, key: &str) {
        asked::note(&self.shape, key, |_| ());
        self.expect(key);
    }

    /// Takes the kind of value down that `key` is asked for.
    pub(super) fn ask_for(&self, key: &str, kind: impl FnOnce() -> String) {
        asked::note(&self.shape, key, |asked| {
            asked.kinds.insert(kind());
        });
    }

    /// Takes down that `key` must be there.
    pub(super) fn ask_always(&self, key: &str) {
        asked::note(&self.shape, key, |asked| asked.is_required = true);
    }

    /// Lets `key` be there.
    pub(super) fn expect(&self, key: &str) {
        self.asked.borrow_mut().push(key.to_owned());
    }

    /// The problem that `key` is missing. A key that is nearly called so is read in its place from now on.
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

    /// Whether the table has a key that differs from the missing `key` by one slip, and that nobody asked for.
    fn is_misspelt(&self, key: &str) -> bool {
        let asked = self.asked.borrow();
        let slip = |other: &&String| {
            !asked.contains(other) && strsim::damerau_levenshtein(key, other) == 1
        };
        let found = self.table.keys().find(slip).filter(|_| key.len() > 2);
        if let Some(other) = found {
            self.misspelt.borrow_mut().insert(key.to_owned(), other.clone());
        }
        found.is_some()
    }

    /// The place of `key`, `drive.flash.read`. The table that names the file's subject adds nothing to it.
    fn path_of(&self, key: &str) -> String {
        match self.path == key {
            true => self.path.clone(),
            false => format!("{}.{key}", self.path),
        }
    }

    /// The place of `key` without names, as the reference of all keys has it.
    fn shape_of(&self, key: &str) -> String {
        match self.shape == key {
            true => self.shape.clone(),
            false => format!("{}.{key}", self.shape),
        }
    }

    /// Returns the value that overrides `key`, where there is one.
    pub(super) fn set_text(&self, key: &str) -> Option<(String, Location)> {
        let context = self.context?;
        let parameter = format!("{}.{key}", self.path);
        context.ledger.know(&parameter);
        let (text, location) = context.overrides.get(&parameter)?;
        let text = text.to_owned();
        let origin = Origin::Overridden;
        context.ledger.record(Record { parameter, text: text.clone(), origin, range: None });
        Some((text, location))
    }

    fn is_set(&self, key: &str) -> bool {
        let parameter = format!("{}.{key}", self.path);
        self.context.is_some_and(|context| {
            context.ledger.know(&parameter);
            context.overrides.has(&parameter)
        })
    }

    /// Whether anything in the table `key` is set from outside.
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

    /// The model value at `key`: overridden, bare, or in a `{ value, source }` table.
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
            Some(ends) => Some(Range::read(&scalar.text, &ends).map_err(|message| {
                StudyError::new(scalar.location.clone(), format!("the range of `{key}`: {message}"))
                    .hint("write the low end first, and the value in between")
            })?),
        };
        if let Some(context) = self.context {
            let parameter = format!("{}.{key}", self.path);
            context.ledger.record(Record { parameter, text: scalar.text.clone(), origin, range });
        }
        Ok(Some(scalar))
    }

    /// A scalar that is no model value: a name, a choice.
    pub(super) fn plain(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        self.get(key).map(|value| self.bare(key, value)).transpose()
    }

    pub(super) fn bare(&self, key: &str, value: &Value) -> Result<Scalar, StudyError> {
        let location = self.document.location(value.offset);
        let (text, is_number) = match &value.node {
            Node::Text(text) => (text.clone(), false),
            Node::Number(number) => (number.clone(), true),
            other => {
                let found = match other {
                    Node::Table(_) => "a table",
                    Node::Array(_) => "a list",
                    Node::Other(kind) => kind,
                    Node::Text(_) | Node::Number(_) => "a value",
                };
                let message = format!("`{key}` must be a text or a number, not {found}");
                return Err(StudyError::new(location, message));
            }
        };
        asked::note(&self.shape, key, |asked| {
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

    /// Takes `{ value = …, source | derived | assumed = … }` apart.
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
            return Err(StudyError::new(location, format!("`{key}` has no value"))
                .hint("write { value = \"…\", source = \"…\" }"));
        };
        let origin = noted_origin(table).unwrap_or_else(|| self.origin.clone());
        Ok((value, origin))
    }
}

/// The keys that say where a value, or all values of a table, come from.
const ORIGINS: [&str; 3] = ["source", "derived", "assumed"];

/// The origin that a table gives.
fn noted_origin(table: &Table) -> Option<Origin> {
    let note = |name: &str| Some(table.get(name)?.value.as_text()?.to_owned());
    let [source, derived, assumed] = ORIGINS.map(note);
    source
        .map(Origin::Sourced)
        .or_else(|| derived.map(Origin::Derived))
        .or_else(|| assumed.map(|reason| Origin::Assumed(Some(reason))))
}
