//! A TOML file read value by value, so that every error has its line and column.
//!
//! [`Document`] owns the text; [`Section`] is one of its tables. A section remembers which keys it was
//! asked for: [`Section::finish`] turns any other into an error that names the nearest one. What a file
//! may contain is therefore said once, by the code that reads it.
//!
//! [`Document::read`] tells all that is wrong in a file at once: a value that is missing or wrong is noted as a
//! `Problem` and something valid stands in for it, so that reading goes on. What stood in never gets out.

pub mod asked;
mod problem;
mod section;
mod stand_in;
mod value;

pub use section::Section;
pub use stand_in::StandIn;

use std::cell::RefCell;

use sha2::{Digest, Sha256};

use crate::error::{Location, StudyError};
use crate::origin::{Ledger, Overrides};
use crate::tree::{self, Entry, Node, Table, Value};
use problem::{Problem, Problems};

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    text: String,
    root: Table,
    /// Errors found so far, while [`Document::read`] is at work.
    problems: RefCell<Option<Problems>>,
}

/// The context in which a model file is read: the ledger of its values, and overrides.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// Takes down every model value.
    pub ledger: &'c Ledger,
    /// Values set otherwise.
    pub overrides: &'c Overrides,
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
        let problems = RefCell::new(None);
        Ok(Self { file: file.to_owned(), text: text.to_owned(), root, problems })
    }

    /// Whether the file has a table of that name.
    pub fn has_table(&self, key: &str) -> bool {
        self.root.get(key).is_some_and(|entry| entry.value.as_table().is_some())
    }

    /// The file's name as given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the text of the document.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the text, in hexadecimal.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The top of the file. `kind` begins the place of its values; model files have a `context`.
    pub fn root<'d>(&'d self, kind: &str, context: Option<Context<'d>>) -> Section<'d> {
        Section::root(self, &self.root, kind, context)
    }

    /// Reads the file from its top by `read`, and tells all missing, unknown and wrong keys at once.
    ///
    /// # Errors
    /// The first thing wrong, with all others that were found beside it.
    pub fn read<'d, T>(
        &'d self,
        kind: &str,
        context: Option<Context<'d>>,
        read: impl FnOnce(&Section<'d>) -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        let outer = self.problems.replace(Some(Problems::default()));
        let outcome = read(&self.root(kind, context));
        let problems = self.problems.replace(outer).unwrap_or_default();
        match problems.into_error() {
            // What `read` says beside them may come of what stood in.
            Some(error) => Err(error),
            None => outcome,
        }
    }

    /// Returns the location of the model value `parameter`, `drive.flash.page` with `kind` `drive`; the file where it
    /// is not written in it.
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

    /// Returns a platform's file with the `tables` of a host in place of what it says of processor time, named so. The
    /// table `added` comes with the host where the platform has none.
    pub(crate) fn hosted(
        &self,
        host: &Self,
        label: &str,
        (tables, added): (&[(&str, &[&str])], &str),
    ) -> Self {
        let mut root = self.root.clone();
        for &(name, keys) in tables {
            let own = host.root.get(name).and_then(|entry| entry.value.as_table());
            if name == added
                && let (Some(entry), None) = (host.root.get(name), root.get(name))
            {
                let mut entry = entry.clone();
                entry.move_to(0);
                root.insert(name.to_owned(), entry);
                continue;
            }
            let (Some(own), Some(entry)) = (own, root.get_mut(name)) else { continue };
            let place = entry.value.offset;
            let Node::Table(table) = &mut entry.value.node else { continue };
            for key in keys {
                if let Some(entry) = own.get(*key) {
                    // Errors about the host's values stand at the platform's table.
                    let mut entry = entry.clone();
                    entry.move_to(place);
                    table.insert((*key).to_owned(), entry);
                }
            }
        }
        if let Some(Node::Table(platform)) = root.get_mut("platform").map(|one| &mut one.value.node)
            && let Some(Node::Text(name)) = platform.get_mut("name").map(|one| &mut one.value.node)
        {
            *name = format!("{name}, {label}");
        }
        Self { root, ..self.clone() }
    }

    /// Returns the document with values that it does not have, each with the keys that lead to it. They stand where
    /// `offset` is.
    pub(crate) fn completed(&self, entries: Vec<(Vec<String>, Entry)>, offset: usize) -> Self {
        let mut root = self.root.clone();
        for (keys, entry) in entries {
            let Some((last, tables)) = keys.split_last() else { continue };
            let mut table = Some(&mut root);
            for key in tables {
                let empty = || Entry {
                    key_offset: offset,
                    value: Value { offset, node: Node::Table(Table::new()) },
                };
                table = table.and_then(|table| {
                    match &mut table.entry(key.clone()).or_insert_with(empty).value.node {
                        Node::Table(inner) => Some(inner),
                        // What stands there instead is for the reader to tell.
                        _ => None,
                    }
                });
            }
            if let Some(table) = table {
                table.entry(last.clone()).or_insert(entry);
            }
        }
        Self { root, ..self.clone() }
    }

    /// Returns the values of a table, each as text that a file can have.
    pub(crate) fn values(&self, table: &str) -> Vec<(String, String)> {
        let table = self.root.get(table).and_then(|entry| entry.value.as_table());
        let pair = |(key, entry): (&String, &Entry)| (key.clone(), entry.value.to_string());
        table.into_iter().flatten().map(pair).collect()
    }

    /// Whether [`Document::read`] is at work.
    fn is_read_whole(&self) -> bool {
        self.problems.borrow().is_some()
    }

    /// Returns the number of problems noted.
    fn noted(&self) -> usize {
        self.problems.borrow().as_ref().map_or(0, Problems::count)
    }

    /// Returns the number of tables that could not be read to their end.
    fn cut_short(&self) -> usize {
        self.problems.borrow().as_ref().map_or(0, |problems| problems.cut_short)
    }

    fn cut_one_short(&self) {
        if let Some(problems) = &mut *self.problems.borrow_mut() {
            problems.cut_short += 1;
        }
    }

    /// Notes a problem where the file is read as a whole, and makes an error of it where not.
    fn note(&self, problem: Problem) -> Result<(), StudyError> {
        match &mut *self.problems.borrow_mut() {
            Some(problems) => {
                problems.note(problem);
                Ok(())
            }
            None => Err(problem.into_error()),
        }
    }

    fn location(&self, offset: usize) -> Location {
        Location::at(&self.file, &self.text, offset)
    }
}

#[cfg(test)]
mod tests;
