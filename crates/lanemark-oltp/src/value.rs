//! The values that a database receives and returns.

use std::borrow::Cow;

/// A parameter of a statement, or a value of a row that is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value<'a> {
    /// No value (SQL's NULL).
    Null,
    Int(i64),
    Text(Cow<'a, str>),
}

/// A row that a database returned.
pub type Row = Vec<Value<'static>>;

impl Value<'_> {
    /// Returns the number; zero for other values, which do not occur in key columns.
    pub(crate) fn int(&self) -> i64 {
        if let Self::Int(number) = self { *number } else { 0 }
    }

    /// Returns the value without a borrow.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(number),
            Self::Text(text) => Value::from(text.into_owned()),
        }
    }

    /// Returns the text; empty for other values.
    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Int)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

/// Returns values of different types as a row.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::value::Value::from($value)),*] };
}
pub(crate) use values;
