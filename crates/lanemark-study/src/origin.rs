//! Where model values come from, and values that are set otherwise than the library has them.

use std::cell::{Cell, RefCell};

use crate::error::{Location, StudyError};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody published it.
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
    /// Its place, `drive.front_end.read_latency`.
    pub parameter: String,
    /// The value as written.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// All model values that went into a system.
#[derive(Debug, Default)]
pub struct Ledger(RefCell<Vec<Record>>);

impl Ledger {
    /// Takes a value down.
    pub fn record(&self, parameter: String, text: String, origin: Origin) {
        self.0.borrow_mut().push(Record { parameter, text, origin });
    }

    /// The values in the order in which they were read.
    pub fn records(&self) -> Vec<Record> {
        self.0.borrow().clone()
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

    /// Checks that each override met a parameter.
    ///
    /// # Errors
    /// The first that did not, with the nearest parameter of `ledger`.
    pub fn check_used(&self, ledger: &Ledger) -> Result<(), StudyError> {
        let Some(unused) = self.0.iter().find(|existing| !existing.used.get()) else {
            return Ok(());
        };
        let records = ledger.records();
        let known = records.iter().map(|record| record.parameter.as_str());
        Err(StudyError::unknown(unused.location.clone(), "parameter", &unused.parameter, known))
    }
}
