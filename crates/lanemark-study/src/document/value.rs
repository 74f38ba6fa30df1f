//! The values at the keys of a table: texts, choices, numbers and quantities.

use std::str::FromStr;

use lanemark_core::units::QuantityError;

use super::asked;
use super::problem::Problem;
use super::section::{Scalar, Section};
use super::stand_in::StandIn;
use crate::error::{StudyError, nearest};

/// The outcome of reading a key.
enum Found<T> {
    Absent,
    /// The key is there, and what is wrong with it is noted.
    Wrong,
    Read(T),
}

impl Section<'_> {
    /// The texts of the array `key`; none where it is missing.
    ///
    /// # Errors
    /// Where it is no array of texts.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, StudyError> {
        self.ask(key);
        self.ask_for(key, || "a list of texts".to_owned());
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
        self.ask_for(key, || "a list of values".to_owned());
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || self.error(key, format!("`{key}` must be a list of values"));
        let array = value.as_array().ok_or_else(wrong)?;
        array.iter().map(|entry| self.bare(key, entry).map(|scalar| scalar.text)).collect()
    }

    /// Returns all keys of the table, each with its text or its number as written.
    ///
    /// # Errors
    /// Where something else stands there.
    pub fn pairs(&self) -> Result<Vec<(String, String)>, StudyError> {
        self.ask_for("*", || "any key, with a text or a number".to_owned());
        let pair = |key: &String| {
            self.expect(key);
            let text = self.get(key).map(|value| self.bare(key, value)).transpose()?;
            Ok((key.clone(), text.map_or_else(String::new, |scalar| scalar.text)))
        };
        self.keys().map(pair).collect()
    }

    /// Reads a text.
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
        self.ask_for(key, || "a text".to_owned());
        match self.plain(key)? {
            Some(scalar) if scalar.is_number => {
                Err(StudyError::new(scalar.location, format!("`{key}` must be a text in quotes")))
            }
            scalar => Ok(scalar.map(|scalar| scalar.text)),
        }
    }

    /// Reads one of the named `choices`.
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
        self.ask_for(key, || quoted(choices));
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

    /// Reads one of the named `choices` as a model value, where it is there.
    ///
    /// # Errors
    /// Where it is none of them.
    pub fn setting<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, StudyError> {
        self.ask_for(key, || quoted(choices));
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
        self.ask_for(key, || bound.to_owned());
        let Some(Scalar { text, location, .. }) = self.scalar(key)? else { return Ok(None) };
        let wrong = || StudyError::new(location, format!("{key} = {text}: must be {bound}"));
        parse(&text).ok_or_else(wrong).map(Some)
    }

    /// A plain number, for exponents and the like that have no unit.
    ///
    /// # Errors
    /// Where it is missing or no number.
    pub fn number(&self, key: &str) -> Result<f64, StudyError> {
        self.ask_for(key, || "a number".to_owned());
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
        self.ask_for(key, || asked::quantity::<T>().to_owned());
        let Some(scalar) = self.scalar(key)? else { return Ok(None) };
        scalar.text.parse().map(Some).map_err(|error| {
            StudyError::new(scalar.location, format!("{key} = {}: {error}", scalar.text))
        })
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

    /// Reads a key that must be there with `read`; `stand_in` where it is missing or wrong and the file is read as a
    /// whole.
    fn required<T>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn() -> Result<Option<T>, StudyError>,
        stand_in: impl FnOnce() -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        self.ask_always(key);
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
}

/// The names of choices as a file has them.
fn quoted<T>(choices: &[(&str, T)]) -> String {
    let names: Vec<String> = choices.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
    names.join(", ")
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
