//! The values of a table's keys: strings, choices, numbers and quantities.

use std::str::FromStr;

use lanemark_schema::units::QuantityError;
use lanemark_schema::workload::bound::FieldBounds;

use super::placeholder::PlaceholderValue;
use super::problem::Problem;
use super::requested_keys;
use super::section::{Scalar, Section};
use crate::error::{StudyError, nearest};

enum KeyReading<T> {
    Absent,
    /// The key is present, but its value is invalid, and the error is recorded.
    Wrong,
    Read(T),
}

impl Section<'_> {
    /// Returns the strings of the array `key`; empty if the key is missing.
    ///
    /// # Errors
    /// Returns an error if the key is not an array of strings.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, StudyError> {
        self.ask(key);
        self.ask_for(key, || "a list of strings".to_owned());
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
                let wrong = self.error(key, format!("`{key}` must be a list of strings"));
                self.document.note(Problem::Wrong(wrong)).map(|()| Vec::new())
            }
        }
    }

    /// Returns the strings and numbers of the array `key`, each as written; empty if the key is missing.
    ///
    /// # Errors
    /// Returns an error if the key is not an array of strings and numbers.
    pub fn scalars(&self, key: &str) -> Result<Vec<String>, StudyError> {
        self.ask(key);
        self.ask_for(key, || "a list of values".to_owned());
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let list_error = || self.error(key, format!("`{key}` must be a list of values"));
        let array = value.as_array().ok_or_else(list_error)?;
        array.iter().map(|entry| self.bare(key, entry).map(|scalar| scalar.text)).collect()
    }

    /// Returns all keys of the table, each with its string or with its number as written.
    ///
    /// # Errors
    /// Returns an error if a value is neither a string nor a number.
    pub fn pairs(&self) -> Result<Vec<(String, String)>, StudyError> {
        self.ask_for("*", || "any key, with a string or a number".to_owned());
        let pair = |key: &String| {
            self.expect(key);
            let text = self.get(key).map(|value| self.bare(key, value)).transpose()?;
            Ok((key.clone(), text.map_or_else(String::new, |scalar| scalar.text)))
        };
        self.keys().map(pair).collect()
    }

    /// Reads a string.
    ///
    /// # Errors
    /// Returns an error if the key is missing or not a string.
    pub fn text(&self, key: &str) -> Result<String, StudyError> {
        let stands_in = || Ok(key.to_owned());
        self.required(key, "a string", || self.read_text(key), stands_in)
    }

    /// Reads a string, if the key is present.
    ///
    /// # Errors
    /// Returns an error if the key is not a string.
    pub fn optional_text(&self, key: &str) -> Result<Option<String>, StudyError> {
        self.optional(self.read_text(key))
    }

    fn read_text(&self, key: &str) -> Result<Option<String>, StudyError> {
        self.ask_for(key, || "a string".to_owned());
        match self.plain(key)? {
            Some(scalar) if scalar.is_number => {
                Err(StudyError::new(scalar.location, format!("`{key}` must be a string in quotes")))
            }
            scalar => Ok(scalar.map(|scalar| scalar.text)),
        }
    }

    /// Reads one of the named `choices`.
    ///
    /// # Errors
    /// Returns an error if the key is missing or not one of the choices.
    pub fn choice<T: Clone>(&self, key: &str, choices: &[(&str, T)]) -> Result<T, StudyError> {
        let read_choice = || match self.chosen(key)? {
            None => Ok(None),
            Some(scalar) => one_of(key, &scalar, choices).map(Some),
        };
        // The choice may determine which keys the file must contain, so only a likely choice can be the stand-in.
        let stand_in = || {
            let text = self.chosen(key)?.map(|scalar| scalar.text).unwrap_or_default();
            let like = nearest(&text, choices.iter().map(|(name, _)| *name));
            let choice = choices.iter().find(|(name, _)| Some(name) == like.first());
            let choice = choice.map(|(_, choice)| choice.clone());
            choice.ok_or_else(|| self.missing(key, "a string").into_error())
        };
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.ask_for(key, || quoted(choices));
        self.required(key, &format!("one of {}", names.join(", ")), read_choice, stand_in)
    }

    /// Returns the text of a choice, from an override or as written in the file.
    fn chosen(&self, key: &str) -> Result<Option<Scalar>, StudyError> {
        self.ask(key);
        match self.set_text(key) {
            Some((text, location)) => Ok(Some(Scalar { text, is_number: false, location })),
            None => self.plain(key),
        }
    }

    /// Reads one of the named `choices` as a model value, if the key is present.
    ///
    /// # Errors
    /// Returns an error if the value is not one of the choices.
    pub fn setting<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, StudyError> {
        self.ask_for(key, || quoted(choices));
        let read_setting = || match self.scalar(key)? {
            None => Ok(None),
            Some(scalar) => one_of(key, &scalar, choices).map(Some),
        };
        self.optional(read_setting())
    }

    /// Reads a whole number from `low` to `high`.
    ///
    /// # Errors
    /// Returns an error if the key is missing, not a whole number, or out of bounds.
    pub fn integer(&self, key: &str, low: u64, high: u64) -> Result<u64, StudyError> {
        let what = format!("a whole number from {low} to {high}");
        self.required(key, &what, || self.read_integer(key, low, high), || Ok(low))
    }

    /// Reads a whole number that `bound` accepts.
    ///
    /// # Errors
    /// Returns an error if the key is missing, not a whole number, or out of bounds.
    pub fn bounded(&self, key: &str, bound: FieldBounds<u32>) -> Result<u32, StudyError> {
        self.integer(key, bound.min.into(), bound.max.into()).map(|value| value as u32)
    }

    /// Reads a whole number from `low` to `high`, if the key is present.
    ///
    /// # Errors
    /// Returns an error if the value is not a whole number or out of bounds.
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

    /// Reads a value with `parse`, if the key is present.
    ///
    /// # Errors
    /// Returns an error if `parse` returns `None`; the message describes the valid values with `bound`.
    pub fn optional_parsed<T>(
        &self,
        key: &str,
        bound: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, StudyError> {
        self.optional(self.read_parsed(key, bound, parse))
    }

    /// Reads a value with `parse`.
    ///
    /// # Errors
    /// Returns an error if the key is missing or if `parse` returns `None`; the message describes the valid values with
    /// `bound`.
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
        self.ask_for(key, || bound.to_owned());
        let Some(Scalar { text, location, .. }) = self.scalar(key)? else { return Ok(None) };
        let parse_error = || StudyError::new(location, format!("{key} = {text}: must be {bound}"));
        parse(&text).ok_or_else(parse_error).map(Some)
    }

    /// Reads a plain number without a unit, such as an exponent.
    ///
    /// # Errors
    /// Returns an error if the key is missing or not a number.
    pub fn number(&self, key: &str) -> Result<f64, StudyError> {
        self.ask_for(key, || "a number".to_owned());
        let read_number = || {
            let Some(Scalar { text, location, .. }) = self.plain(key)? else { return Ok(None) };
            let wrong = || StudyError::new(location, format!("{key} = {text}: must be a number"));
            text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong).map(Some)
        };
        self.required(key, "a number", read_number, || Ok(1.0))
    }

    /// Reads a percentage with the precision with which it is written.
    ///
    /// # Errors
    /// Returns an error if the key is missing or not written as `"0.5%"`.
    pub fn percentage(&self, key: &str) -> Result<f64, StudyError> {
        let text = self.text(key)?;
        let number = text.strip_suffix("%").and_then(|number| number.trim().parse().ok());
        let number = number.filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            self.error(key, format!("{key} = {text}: must be a percentage, \"0.5%\""))
        })
    }

    /// Reads a quantity with its unit.
    ///
    /// # Errors
    /// Returns an error if the key is missing, or if its value does not have a unit of the quantity.
    pub fn quantity<T>(&self, key: &str) -> Result<T, StudyError>
    where
        T: FromStr<Err = QuantityError> + PlaceholderValue,
    {
        let what = "a quantity with its unit";
        self.required(key, what, || self.read_quantity(key), || Ok(T::stand_in()))
    }

    /// Reads a quantity with its unit, if the key is present.
    ///
    /// # Errors
    /// Returns an error if the value does not have a unit of the quantity.
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
        self.ask_for(key, || requested_keys::quantity::<T>().to_owned());
        let Some(scalar) = self.scalar(key)? else { return Ok(None) };
        scalar.text.parse().map(Some).map_err(|error| {
            StudyError::new(scalar.location, format!("{key} = {}: {error}", scalar.text))
        })
    }

    /// Converts a value to the reading of its key, and records any error.
    fn key_reading<T>(
        &self,
        read: Result<Option<T>, StudyError>,
    ) -> Result<KeyReading<T>, StudyError> {
        match read {
            Ok(None) => Ok(KeyReading::Absent),
            Ok(Some(value)) => Ok(KeyReading::Read(value)),
            Err(error) => self.document.note(Problem::Wrong(error)).map(|()| KeyReading::Wrong),
        }
    }

    fn optional<T>(&self, read: Result<Option<T>, StudyError>) -> Result<Option<T>, StudyError> {
        match self.key_reading(read)? {
            KeyReading::Read(value) => Ok(Some(value)),
            KeyReading::Absent | KeyReading::Wrong => Ok(None),
        }
    }

    /// Reads a required key with `read`. Returns `stand_in` if the key is missing or invalid while `Document::read`
    /// runs.
    fn required<T>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn() -> Result<Option<T>, StudyError>,
        stand_in: impl FnOnce() -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        self.ask_always(key);
        let mut found = self.key_reading(read())?;
        if let KeyReading::Absent = found {
            self.document.note(self.missing(key, what))?;
            found = self.key_reading(read())?;
        }
        match found {
            KeyReading::Read(value) => Ok(value),
            KeyReading::Absent | KeyReading::Wrong => stand_in(),
        }
    }
}

/// Returns the names of the choices, formatted as in a file.
fn quoted<T>(choices: &[(&str, T)]) -> String {
    let names: Vec<String> = choices.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
    names.join(", ")
}

/// Returns the choice that a string names.
fn one_of<T: Clone>(key: &str, scalar: &Scalar, choices: &[(&str, T)]) -> Result<T, StudyError> {
    match choices.iter().find(|(name, _)| *name == scalar.text) {
        Some((_, choice)) => Ok(choice.clone()),
        None => {
            let known = choices.iter().map(|(name, _)| *name);
            Err(StudyError::unknown(scalar.location.clone(), key, &scalar.text, known))
        }
    }
}
