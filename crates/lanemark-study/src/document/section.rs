//! One table of a file, asked key by key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::OnceLock;

use lanemark_core::units::QuantityError;

use super::problem::Problem;
use super::{Context, Document, StandIn};
use crate::error::{Location, StudyError, nearest};
use crate::origin::Origin;
use crate::tree::{Node, Table, Value};

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
    /// Keys that are missing, each with the one that is nearly called so and is read in its place.
    misspelt: RefCell<BTreeMap<String, String>>,
    /// The file has no such table: every key has its usual value or is missing.
    is_absent: bool,
    /// How many tables could not be read to their end before this one was begun.
    cut_short: usize,
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

/// What became of a key.
enum Found<T> {
    Absent,
    /// It is there, and what is wrong with it is noted.
    Wrong,
    Read(T),
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
            offset: 0,
            origin: Origin::Assumed(None),
            context,
            asked: RefCell::default(),
            misspelt: RefCell::default(),
            is_absent: false,
            cut_short: 0,
        }
    }

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

    /// Whether `key` is there, or is set from outside.
    pub fn has(&self, key: &str) -> bool {
        self.ask(key);
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

    /// What `read` makes of each table of the array `key`, which it is given with those before. In a file that is
    /// read as a whole a table with an error does not keep the next from being read.
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

    /// What `read` makes of a part of the file. In a file that is read as a whole an error there does not keep the
    /// rest from being read, and there is nothing of the part.
    ///
    /// # Errors
    /// That of `read`.
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

    /// The texts of the array `key`; none where it is missing.
    ///
    /// # Errors
    /// Where it is no array of texts.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, StudyError> {
        self.ask(key);
        if let Some((text, _)) = self.set_text(key) {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            return Ok(entries.map(str::to_owned).collect());
        }
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let texts = value.as_array().and_then(|array| {
            array.iter().map(|entry| entry.as_text().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(texts) => Ok(texts),
            None => {
                let wrong = self.error(key, format!("`{key}` must be a list of texts"));
                self.document.note(Problem::Wrong(wrong)).map(|()| Vec::new())
            }
        }
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
        let stands_in = || Ok(key.to_owned());
        self.required(key, "a text", || self.read_text(key), stands_in)
    }

    /// A text, where it is there.
    ///
    /// # Errors
    /// Where it is no text.
    pub fn optional_text(&self, key: &str) -> Result<Option<String>, StudyError> {
        self.optional(self.read_text(key))
    }

    fn read_text(&self, key: &str) -> Result<Option<String>, StudyError> {
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
        let read = || match self.chosen(key)? {
            None => Ok(None),
            Some(scalar) => one_of(key, &scalar, choices).map(Some),
        };
        // What a file must have depends on such a choice: none but a likely one can stand in.
        let stand_in = || {
            let text = self.chosen(key)?.map(|scalar| scalar.text).unwrap_or_default();
            let like = nearest(&text, choices.iter().map(|(name, _)| *name));
            let choice = choices.iter().find(|(name, _)| Some(name) == like.first());
            let choice = choice.map(|(_, choice)| choice.clone());
            choice.ok_or_else(|| self.missing(key, "a text").into_error())
        };
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.required(key, &format!("one of {}", names.join(", ")), read, stand_in)
    }

    /// The text of a choice, as it is set or as the file has it.
    fn chosen(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        match self.set_text(key) {
            Some((text, location)) => Ok(Some(Scalar { text, is_number: false, location })),
            None => self.plain(key),
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
        let read = || match self.scalar(key)? {
            None => Ok(None),
            Some(scalar) => one_of(key, &scalar, choices).map(Some),
        };
        self.optional(read())
    }

    /// A whole number from `low` to `high`.
    ///
    /// # Errors
    /// Where it is missing, no whole number, or out of bounds.
    pub fn integer(&self, key: &str, low: u64, high: u64) -> Result<u64, StudyError> {
        let what = format!("a whole number from {low} to {high}");
        self.required(key, &what, || self.read_integer(key, low, high), || Ok(low))
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
        self.optional(self.read_integer(key, low, high))
    }

    fn read_integer(&self, key: &str, low: u64, high: u64) -> Result<Option<u64>, StudyError> {
        let bound = format!("a whole number from {low} to {high}");
        self.read_parsed(key, &bound, |text| {
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
        self.optional(self.read_parsed(key, bound, parse))
    }

    /// A value as `parse` reads it.
    ///
    /// # Errors
    /// Where it is missing or `parse` finds no value; `bound` says what would be one.
    pub fn parsed<T>(
        &self,
        key: &str,
        bound: &str,
        parse: impl Fn(&str) -> Option<T>,
        stand_in: T,
    ) -> Result<T, StudyError> {
        self.required(key, bound, || self.read_parsed(key, bound, &parse), || Ok(stand_in))
    }

    fn read_parsed<T>(
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
        let read = || {
            let Some(Scalar { text, location, .. }) = self.plain(key)? else { return Ok(None) };
            let wrong = || StudyError::new(location, format!("{key} = {text}: must be a number"));
            text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong).map(Some)
        };
        self.required(key, "a number", read, || Ok(1.0))
    }

    /// A share in per cent, as finely as it is written.
    ///
    /// # Errors
    /// Where it is missing or not written as `"0.5%"`.
    pub fn percentage(&self, key: &str) -> Result<f64, StudyError> {
        let text = self.text(key)?;
        let number = text.strip_suffix("%").and_then(|number| number.trim().parse().ok());
        let number = number.filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.error(key, format!("{key} = {text}: must be per cent, \"0.5%\"")))
    }

    /// A quantity with its unit.
    ///
    /// # Errors
    /// Where it is missing, has no unit, or a unit of something else.
    pub fn quantity<T>(&self, key: &str) -> Result<T, StudyError>
    where
        T: FromStr<Err = QuantityError> + StandIn,
    {
        let what = "a quantity with its unit";
        self.required(key, what, || self.read_quantity(key), || Ok(T::stand_in()))
    }

    /// A quantity with its unit, where it is there.
    ///
    /// # Errors
    /// Where it has no unit, or a unit of something else.
    pub fn optional_quantity<T: FromStr<Err = QuantityError>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, StudyError> {
        self.optional(self.read_quantity(key))
    }

    fn read_quantity<T: FromStr<Err = QuantityError>>(
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
        self.asked.borrow_mut().push(key.to_owned());
    }

    /// Turns what was read into what became of the key, and notes what is wrong with it.
    fn found<T>(&self, read: Result<Option<T>, StudyError>) -> Result<Found<T>, StudyError> {
        match read {
            Ok(None) => Ok(Found::Absent),
            Ok(Some(value)) => Ok(Found::Read(value)),
            Err(error) => self.document.note(Problem::Wrong(error)).map(|()| Found::Wrong),
        }
    }

    fn optional<T>(&self, read: Result<Option<T>, StudyError>) -> Result<Option<T>, StudyError> {
        match self.found(read)? {
            Found::Read(value) => Ok(Some(value)),
            Found::Absent | Found::Wrong => Ok(None),
        }
    }

    /// What `read` finds at a key that must be there; `stand_in` where it is missing or wrong and the file is
    /// read as a whole.
    fn required<T>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn() -> Result<Option<T>, StudyError>,
        stand_in: impl FnOnce() -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        let mut found = self.found(read())?;
        if let Found::Absent = found {
            self.document.note(self.missing(key, what))?;
            found = self.found(read())?;
        }
        match found {
            Found::Read(value) => Ok(value),
            Found::Absent | Found::Wrong => stand_in(),
        }
    }

    /// The problem that `key` is missing. A key that is nearly called so is read in its place from now on.
    fn missing(&self, key: &str, what: &str) -> Problem {
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

    /// What `key` is set to from outside, where it is.
    fn set_text(&self, key: &str) -> Option<(String, Location)> {
        let context = self.context?;
        let parameter = format!("{}.{key}", self.path);
        context.ledger.know(&parameter);
        let (text, location) = context.overrides.get(&parameter)?;
        let text = text.to_owned();
        context.ledger.record(parameter, text.clone(), Origin::Overridden);
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
            offset: value.offset,
            origin: noted_origin(table).unwrap_or_else(|| self.origin.clone()),
            context: self.context,
            asked: RefCell::default(),
            misspelt: RefCell::default(),
            is_absent: false,
            cut_short: self.document.cut_short(),
        };
        ORIGINS.iter().for_each(|key| section.ask(key));
        Ok(section)
    }

    /// The model value at `key`: overridden, bare, or in a `{ value, source }` table.
    fn scalar(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        if let Some((text, location)) = self.set_text(key) {
            return Ok(Some(Scalar { text, is_number: false, location }));
        }
        let Some(value) = self.get(key) else { return Ok(None) };
        let (value, origin) = match value.as_table() {
            Some(table) => self.sourced(key, value, table)?,
            None => (value, self.origin.clone()),
        };
        let scalar = self.bare(key, value)?;
        if let Some(context) = self.context {
            let parameter = format!("{}.{key}", self.path);
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

/// The choice that a text names.
fn one_of<T: Clone>(key: &str, scalar: &Scalar, choices: &[(&str, T)]) -> Result<T, StudyError> {
    match choices.iter().find(|(name, _)| *name == scalar.text) {
        Some((_, choice)) => Ok(choice.clone()),
        None => {
            let known = choices.iter().map(|(name, _)| *name);
            Err(StudyError::unknown(scalar.location.clone(), key, &scalar.text, known))
        }
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
