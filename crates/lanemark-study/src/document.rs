//! A TOML file read value by value, so that every error has its line and column.
//!
//! [`Document`] owns the text; [`Section`] is one of its tables. A section remembers which keys it was
//! asked for: [`Section::finish`] turns any other into an error that names the nearest one. What a file
//! may contain is therefore said once, by the code that reads it.

use std::cell::RefCell;
use std::str::FromStr;
use std::sync::OnceLock;

use lanemark_core::units::QuantityError;
use sha2::{Digest, Sha256};

use crate::error::{Location, StudyError};
use crate::origin::{Ledger, Origin, Overrides};
use crate::tree::{self, Node, Table, Value};

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    text: String,
    root: Table,
}

/// What reading a model file involves besides the file: the ledger of its values, and overrides.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// Takes down every model value.
    pub ledger: &'c Ledger,
    /// Values set otherwise.
    pub overrides: &'c Overrides,
}

/// One table of a document.
#[derive(Debug)]
pub struct Section<'d> {
    document: &'d Document,
    table: &'d Table,
    /// The table's place, `drive.flash`; keys are appended to it.
    path: String,
    offset: usize,
    /// Where values come from that do not say so themselves.
    origin: Origin,
    context: Option<Context<'d>>,
    asked: RefCell<Vec<String>>,
}

/// A table without anything in it.
fn no_table() -> &'static Table {
    static NONE: OnceLock<Table> = OnceLock::new();
    NONE.get_or_init(Table::new)
}

/// A scalar with its place.
struct Scalar {
    text: String,
    is_number: bool,
    location: Location,
}

impl Document {
    /// Parses `text`, which came from `file`.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn parse(file: &str, text: &str) -> Result<Self, StudyError> {
        let root = tree::parse(text).map_err(|error| {
            let location = match error.span() {
                Some(span) => Location::at(file, text, span.start),
                None => Location::file(file),
            };
            StudyError::new(location, error.message().to_owned())
        })?;
        Ok(Self { file: file.to_owned(), text: text.to_owned(), root })
    }

    /// The file's name as given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the text, in hexadecimal.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The top of the file. `kind` begins the place of its values; model files have a `context`.
    pub fn root<'d>(&'d self, kind: &str, context: Option<Context<'d>>) -> Section<'d> {
        Section {
            document: self,
            table: &self.root,
            path: kind.to_owned(),
            offset: 0,
            origin: Origin::Assumed(None),
            context,
            asked: RefCell::default(),
        }
    }

    /// Where the model value `parameter` stands, `drive.flash.page` with `kind` `drive`; the file where
    /// it is not written in it.
    pub fn location_of_parameter(&self, kind: &str, parameter: &str) -> Location {
        let nowhere = Location::file(&self.file);
        let Some(keys) = parameter.strip_prefix(kind) else { return nowhere };
        let mut keys: Vec<&str> = keys.split('.').filter(|key| !key.is_empty()).collect();
        if keys.len() == 1 {
            keys.insert(0, kind);
        }
        let mut table = &self.root;
        let mut place = None;
        for key in keys {
            let Some(entry) = table.get(key) else { return nowhere };
            place = Some(entry.value.offset);
            match entry.value.as_table() {
                Some(inner) => table = inner,
                None => break,
            }
        }
        place.map_or(nowhere, |offset| self.location(offset))
    }

    fn location(&self, offset: usize) -> Location {
        Location::at(&self.file, &self.text, offset)
    }
}

impl<'d> Section<'d> {
    /// Where the table begins.
    pub fn location(&self) -> Location {
        self.document.location(self.offset)
    }

    /// Where the value of `key` stands, or the table where it has no such key.
    pub fn location_of(&self, key: &str) -> Location {
        match self.table.get(key) {
            Some(entry) => self.document.location(entry.value.offset),
            None => self.location(),
        }
    }

    /// An error at the value of `key`.
    pub fn error(&self, key: &str, message: impl Into<String>) -> StudyError {
        StudyError::new(self.location_of(key), message)
    }

    /// Whether `key` is there.
    pub fn has(&self, key: &str) -> bool {
        self.ask(key);
        self.table.contains_key(key)
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
        match self.optional_table(key)? {
            Some(section) => Ok(section),
            None => Err(self.missing(key, "a table")),
        }
    }

    /// The table `key`, where it is there.
    ///
    /// # Errors
    /// Where it is no table.
    pub fn optional_table(&self, key: &str) -> Result<Option<Section<'d>>, StudyError> {
        self.ask(key);
        let Some(value) = self.get(key) else { return Ok(None) };
        self.section(key, value).map(Some)
    }

    /// The table `key`, or an empty one where it is missing: everything in it has its usual value then,
    /// unless it is overridden.
    ///
    /// # Errors
    /// Where it is no table.
    pub fn settings(&self, key: &str) -> Result<Section<'d>, StudyError> {
        if let Some(section) = self.optional_table(key)? {
            return Ok(section);
        }
        let (path, origin) = (format!("{}.{key}", self.path), self.origin.clone());
        let (document, table, offset) = (self.document, no_table(), self.offset);
        let (context, asked) = (self.context, RefCell::default());
        Ok(Section { document, table, path, offset, origin, context, asked })
    }

    /// The tables of the array `key`, `[[key]]` in the file; none where it is missing.
    ///
    /// # Errors
    /// Where it is no array of tables.
    pub fn tables(&self, key: &str) -> Result<Vec<Section<'d>>, StudyError> {
        self.ask(key);
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
                Ok(Section { path: section.path.clone() + &name.unwrap_or_default(), ..section })
            })
            .collect()
    }

    /// The texts of the array `key`; none where it is missing.
    ///
    /// # Errors
    /// Where it is no array of texts.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, StudyError> {
        self.ask(key);
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || self.error(key, format!("`{key}` must be a list of texts"));
        let array = value.as_array().ok_or_else(wrong)?;
        array.iter().map(|entry| entry.as_text().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    /// The texts and numbers of the array `key`, each as written; none where it is missing.
    ///
    /// # Errors
    /// Where it is no array of such.
    pub fn scalars(&self, key: &str) -> Result<Vec<String>, StudyError> {
        self.ask(key);
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || self.error(key, format!("`{key}` must be a list of values"));
        let array = value.as_array().ok_or_else(wrong)?;
        array.iter().map(|entry| self.bare(key, entry).map(|scalar| scalar.text)).collect()
    }

    /// A text.
    ///
    /// # Errors
    /// Where it is missing or no text.
    pub fn text(&self, key: &str) -> Result<String, StudyError> {
        self.optional_text(key)?.ok_or_else(|| self.missing(key, "a text"))
    }

    /// A text, where it is there.
    ///
    /// # Errors
    /// Where it is no text.
    pub fn optional_text(&self, key: &str) -> Result<Option<String>, StudyError> {
        match self.plain(key)? {
            Some(scalar) if scalar.is_number => {
                Err(StudyError::new(scalar.location, format!("`{key}` must be a text in quotes")))
            }
            scalar => Ok(scalar.map(|scalar| scalar.text)),
        }
    }

    /// One of the named `choices`.
    ///
    /// # Errors
    /// Where it is missing or none of them.
    pub fn choice<T: Clone>(&self, key: &str, choices: &[(&str, T)]) -> Result<T, StudyError> {
        let text = self.text(key)?;
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, choice)) => Ok(choice.clone()),
            None => {
                let known = choices.iter().map(|(name, _)| *name);
                Err(StudyError::unknown(self.location_of(key), key, &text, known))
            }
        }
    }

    /// One of the named `choices` as a model value, where it is there.
    ///
    /// # Errors
    /// Where it is none of them.
    pub fn setting<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, StudyError> {
        let Some(Scalar { text, location, .. }) = self.scalar(key)? else { return Ok(None) };
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let known = choices.iter().map(|(name, _)| *name);
                Err(StudyError::unknown(location, key, &text, known))
            }
        }
    }

    /// A whole number from `low` to `high`.
    ///
    /// # Errors
    /// Where it is missing, no whole number, or out of bounds.
    pub fn integer(&self, key: &str, low: u64, high: u64) -> Result<u64, StudyError> {
        self.optional_integer(key, low, high)?
            .ok_or_else(|| self.missing(key, &format!("a whole number from {low} to {high}")))
    }

    /// A whole number from `low` to `high`, where it is there.
    ///
    /// # Errors
    /// Where it is no whole number or out of bounds.
    pub fn optional_integer(
        &self,
        key: &str,
        low: u64,
        high: u64,
    ) -> Result<Option<u64>, StudyError> {
        let bound = format!("a whole number from {low} to {high}");
        self.optional_parsed(key, &bound, |text| {
            text.replace('_', "").parse().ok().filter(|value| (low..=high).contains(value))
        })
    }

    /// A value as `parse` reads it, where it is there.
    ///
    /// # Errors
    /// Where `parse` finds no value; `bound` says what would be one.
    pub fn optional_parsed<T>(
        &self,
        key: &str,
        bound: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, StudyError> {
        let Some(Scalar { text, location, .. }) = self.scalar(key)? else { return Ok(None) };
        let wrong = || StudyError::new(location, format!("{key} = {text}: must be {bound}"));
        parse(&text).ok_or_else(wrong).map(Some)
    }

    /// A plain number, for exponents and the like that have no unit.
    ///
    /// # Errors
    /// Where it is missing or no number.
    pub fn number(&self, key: &str) -> Result<f64, StudyError> {
        let scalar = self.plain(key)?.ok_or_else(|| self.missing(key, "a number"))?;
        scalar.text.parse().map_err(|_| {
            StudyError::new(scalar.location, format!("{key} = {}: must be a number", scalar.text))
        })
    }

    /// A share in per cent, as finely as it is written.
    ///
    /// # Errors
    /// Where it is missing or not written as `"0.5%"`.
    pub fn percentage(&self, key: &str) -> Result<f64, StudyError> {
        let text = self.text(key)?;
        let number = text.strip_suffix("%").and_then(|number| number.trim().parse().ok());
        number.ok_or_else(|| self.error(key, format!("{key} = {text}: must be per cent, \"0.5%\"")))
    }

    /// A quantity with its unit.
    ///
    /// # Errors
    /// Where it is missing, has no unit, or a unit of something else.
    pub fn quantity<T: FromStr<Err = QuantityError>>(&self, key: &str) -> Result<T, StudyError> {
        self.optional_quantity(key)?.ok_or_else(|| self.missing(key, "a quantity with its unit"))
    }

    /// A quantity with its unit, where it is there.
    ///
    /// # Errors
    /// Where it has no unit, or a unit of something else.
    pub fn optional_quantity<T: FromStr<Err = QuantityError>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, StudyError> {
        let Some(scalar) = self.scalar(key)? else { return Ok(None) };
        scalar.text.parse().map(Some).map_err(|error| {
            StudyError::new(scalar.location, format!("{key} = {}: {error}", scalar.text))
        })
    }

    /// Checks that the table holds nothing that was not asked for.
    ///
    /// # Errors
    /// The first unknown key, with the nearest known one.
    pub fn finish(&self) -> Result<(), StudyError> {
        let asked = self.asked.borrow();
        let mut unknown: Vec<(usize, &str)> = self
            .table
            .iter()
            .filter(|(key, _)| !asked.contains(key))
            .map(|(key, entry)| (entry.key_offset, key.as_str()))
            .collect();
        unknown.sort_unstable();
        match unknown.first() {
            None => Ok(()),
            Some((offset, name)) => Err(StudyError::unknown(
                self.document.location(*offset),
                "key",
                name,
                asked.iter().map(String::as_str),
            )),
        }
    }

    fn ask(&self, key: &str) {
        self.asked.borrow_mut().push(key.to_owned());
    }

    fn missing(&self, key: &str, what: &str) -> StudyError {
        StudyError::new(self.location(), format!("`{key}` is missing"))
            .hint(format!("add `{key}`, {what}, to `{}`", self.path))
    }

    fn section(&self, key: &str, value: &'d Value) -> Result<Section<'d>, StudyError> {
        let Some(table) = value.as_table() else {
            return Err(self.error(key, format!("`{key}` must be a table")));
        };
        // The table that names the file's subject adds nothing to the place of its values.
        let path = match self.path == key {
            true => self.path.clone(),
            false => format!("{}.{key}", self.path),
        };
        let section = Section {
            document: self.document,
            table,
            path,
            offset: value.offset,
            origin: noted_origin(table).unwrap_or_else(|| self.origin.clone()),
            context: self.context,
            asked: RefCell::default(),
        };
        ORIGINS.iter().for_each(|key| section.ask(key));
        Ok(section)
    }

    /// The model value at `key`: overridden, bare, or in a `{ value, source }` table.
    fn scalar(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        let parameter = format!("{}.{key}", self.path);
        if let Some(context) = self.context
            && let Some((text, location)) = context.overrides.get(&parameter)
        {
            context.ledger.record(parameter, text.to_owned(), Origin::Overridden);
            return Ok(Some(Scalar { text: text.to_owned(), is_number: false, location }));
        }
        let Some(value) = self.get(key) else { return Ok(None) };
        let (value, origin) = match value.as_table() {
            Some(table) => self.sourced(key, value, table)?,
            None => (value, self.origin.clone()),
        };
        let scalar = self.bare(key, value)?;
        if let Some(context) = self.context {
            context.ledger.record(parameter, scalar.text.clone(), origin);
        }
        Ok(Some(scalar))
    }

    /// A scalar that is no model value: a name, a choice.
    fn plain(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        self.get(key).map(|value| self.bare(key, value)).transpose()
    }

    fn bare(&self, key: &str, value: &Value) -> Result<Scalar, StudyError> {
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
        Ok(Scalar { text, is_number, location })
    }

    fn get(&self, key: &str) -> Option<&'d Value> {
        self.table.get(key).map(|entry| &entry.value)
    }

    /// Takes `{ value = …, source | derived | assumed = … }` apart.
    fn sourced(
        &self,
        key: &str,
        whole: &Value,
        table: &'d Table,
    ) -> Result<(&'d Value, Origin), StudyError> {
        for (name, entry) in table {
            if name != "value" && !ORIGINS.contains(&name.as_str()) {
                let location = self.document.location(entry.key_offset);
                let known = ["value"].into_iter().chain(ORIGINS);
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

#[cfg(test)]
mod tests;
