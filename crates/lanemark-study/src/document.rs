//! A TOML file that is read value by value, so that every error states its line and column.
//!
//! [`Document`] owns the text, and [`Section`] is one of its tables. A section records the keys that its reader
//! requests. [`Section::finish`] reports any other key as an error and suggests the most similar requested key. The
//! code that reads a file is therefore the only definition of its contents.
//!
//! [`Document::read`] reports all errors in a file together. For a missing or invalid value, a `Problem` is recorded
//! and a valid stand-in is used, so that reading continues. A stand-in is never part of a result.

mod placeholder;
mod problem;
pub mod requested_keys;
mod section;
mod value;

pub use placeholder::PlaceholderValue;
pub use section::Section;

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
    /// The label of the host whose values replaced the platform's.
    host_label: Option<String>,
    /// The errors found so far while [`Document::read`] is running.
    problems: RefCell<Option<Problems>>,
}

/// The context in which a model file is read: the ledger of its values, and the overrides.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// The ledger that records every model value.
    pub ledger: &'c Ledger,
    /// The values that replace values in the file.
    pub overrides: &'c Overrides,
}

impl Document {
    /// Parses `text`, which was read from `file`.
    ///
    /// # Errors
    /// Returns the first syntax error.
    pub fn parse(file: &str, text: &str) -> Result<Self, StudyError> {
        let root = tree::parse(text).map_err(|error| {
            let location = match error.span() {
                Some(span) => Location::at(file, text, span.start),
                None => Location::file(file),
            };
            StudyError::new(location, error.message().to_owned())
        })?;
        let problems = RefCell::new(None);
        Ok(Self { file: file.to_owned(), text: text.to_owned(), root, host_label: None, problems })
    }

    /// Returns whether the file has a table with this name.
    pub fn has_table(&self, key: &str) -> bool {
        self.root.get(key).is_some_and(|entry| entry.value.as_table().is_some())
    }

    /// Returns the file as the user named it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the text of the document.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the SHA-256 of the text, in hexadecimal.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the root table of the file. The paths of its values begin with `kind`; a model file has a `context`.
    pub fn root<'d>(&'d self, kind: &str, context: Option<Context<'d>>) -> Section<'d> {
        Section::root(self, &self.root, kind, context)
    }

    /// Reads the file from its root with `read`, and reports all missing, unknown and invalid keys together.
    ///
    /// # Errors
    /// Returns the first error in the file, with all other errors that were found attached.
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
            // An additional error that `read` returns may be caused by a stand-in.
            Some(error) => Err(error),
            None => outcome,
        }
    }

    /// Returns the location of the model value `parameter`, such as `drive.flash.page` with the `kind` `drive`. The
    /// location is the whole file if the file does not contain the value.
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

    /// Returns a platform file, under a new name, in which the `tables` of a host replace the processor times. The
    /// table `added` is added if the platform does not contain it.
    pub(crate) fn hosted(
        &self,
        host: &Self,
        label: &str,
        tables: &[(&str, &[&str])],
        added: &str,
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
                    // Errors about the values of the host refer to the platform's table.
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
        Self { root, host_label: Some(label.to_owned()), ..self.clone() }
    }

    /// Returns the name of a platform without the label of its host.
    pub(crate) fn without_host<'n>(&self, name: &'n str) -> &'n str {
        let host = self.host_label.as_deref();
        let board = host.and_then(|host| name.strip_suffix(host)?.strip_suffix(", "));
        board.unwrap_or(name)
    }

    /// Returns the host file with the values of the host file `base` that it lacks in `tables`. Errors about the added
    /// values refer to `offset`.
    pub(crate) fn extending(&self, base: &Self, tables: &[(&str, &[&str])], offset: usize) -> Self {
        let mut entries = Vec::new();
        for &(name, keys) in tables {
            let Some(table) = base.root.get(name).and_then(|entry| entry.value.as_table()) else {
                continue;
            };
            for &key in keys {
                if let Some(entry) = table.get(key) {
                    let mut entry = entry.clone();
                    entry.move_to(offset);
                    entries.push((vec![name.to_owned(), key.to_owned()], entry));
                }
            }
        }
        self.completed(entries, offset)
    }

    /// Returns the document with missing values added. Each value is given with the keys that lead to it; all of them
    /// have the location `offset`.
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
                        // If this key has a value that is not a table, the reader reports it.
                        Node::Text(_) | Node::Number(_) | Node::Array(_) | Node::Other(_) => None,
                    }
                });
            }
            if let Some(table) = table {
                table.entry(last.clone()).or_insert(entry);
            }
        }
        Self { root, ..self.clone() }
    }

    /// Returns the values of a table, each formatted as in a file.
    pub(crate) fn values(&self, table: &str) -> Vec<(String, String)> {
        let table = self.root.get(table).and_then(|entry| entry.value.as_table());
        let pair = |(key, entry): (&String, &Entry)| (key.clone(), entry.value.to_string());
        table.into_iter().flatten().map(pair).collect()
    }

    /// Returns whether [`Document::read`] is running.
    fn is_read_whole(&self) -> bool {
        self.problems.borrow().is_some()
    }

    /// Returns the number of recorded problems.
    fn noted(&self) -> usize {
        self.problems.borrow().as_ref().map_or(0, Problems::count)
    }

    /// Returns the number of tables whose reading stopped before their end.
    fn cut_short(&self) -> usize {
        self.problems.borrow().as_ref().map_or(0, |problems| problems.cut_short)
    }

    fn note_incomplete_table(&self) {
        if let Some(problems) = &mut *self.problems.borrow_mut() {
            problems.cut_short += 1;
        }
    }

    /// Records the problem while [`Document::read`] runs; otherwise returns it as an error.
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
