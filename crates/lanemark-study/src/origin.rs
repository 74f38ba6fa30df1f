//! The origin of model values, and values that override the library's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use crate::error::{Location, StudyError};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A publication has the value.
    Sourced(String),
    /// We worked it out from published values.
    Derived(String),
    /// Nobody published it; the text says why it is what it is, where anything is said.
    Assumed(Option<String>),
    /// A study or the command line set it.
    Overridden,
}

/// A model value as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Path of the value, `drive.front_end.read_latency`.
    pub parameter: String,
    /// The value as written.
    pub text: String,
    /// Origin of the value.
    pub origin: Origin,
}

/// The model values of a system: all that went into it, and all that could be set.
#[derive(Debug, Default)]
pub struct Ledger {
    records: RefCell<Vec<Record>>,
    known: RefCell<BTreeSet<String>>,
}

impl Ledger {
    /// Takes a value down.
    pub fn record(&self, parameter: String, text: String, origin: Origin) {
        self.records.borrow_mut().push(Record { parameter, text, origin });
    }

    /// Takes down that a file may have a value at `parameter`.
    pub fn know(&self, parameter: &str) {
        if !self.known.borrow().contains(parameter) {
            self.known.borrow_mut().insert(parameter.to_owned());
        }
    }

    /// The values in the order in which they were read.
    pub fn records(&self) -> Vec<Record> {
        self.records.borrow().clone()
    }
}

/// Values that are set otherwise than the library has them.
#[derive(Debug, Default)]
pub struct Overrides(Vec<Override>);

#[derive(Debug)]
struct Override {
    parameter: String,
    text: String,
    location: Location,
    used: Cell<bool>,
}

impl Overrides {
    /// Sets `parameter` to `text`; later ones win.
    pub fn set(&mut self, parameter: &str, text: &str, location: Location) {
        self.0.retain(|existing| existing.parameter != parameter);
        self.0.push(Override {
            parameter: parameter.to_owned(),
            text: text.to_owned(),
            location,
            used: Cell::new(false),
        });
    }

    /// The text that `parameter` is set to.
    pub fn get(&self, parameter: &str) -> Option<(&str, Location)> {
        let found = self.0.iter().find(|existing| existing.parameter == parameter)?;
        found.used.set(true);
        Some((&found.text, found.location.clone()))
    }

    /// Whether `parameter` is set.
    pub fn has(&self, parameter: &str) -> bool {
        self.0.iter().any(|existing| existing.parameter == parameter)
    }

    /// Whether any parameter within `table` is set.
    pub fn reach_into(&self, table: &str) -> bool {
        let within = |existing: &Override| {
            existing.parameter.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
        };
        self.0.iter().any(within)
    }

    /// Checks that each override met a parameter.
    ///
    /// # Errors
    /// The first that did not, with the parameters of `ledger` that are most like it.
    pub fn check_used(&self, ledger: &Ledger) -> Result<(), StudyError> {
        let Some(unused) = self.0.iter().find(|existing| !existing.used.get()) else {
            return Ok(());
        };
        let known = ledger.known.borrow();
        let known = known.iter().map(String::as_str);
        Err(StudyError::unknown(unused.location.clone(), "parameter", &unused.parameter, known))
    }
}
