//! A parsed TOML file as plain owned values with their places.
//!
//! The parser's own tree borrows the text; this one does not, so a document can be kept and passed on.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// A table: its entries by key.
pub(crate) type Table = BTreeMap<String, Entry>;

/// A key's place and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key_offset: usize,
    pub(crate) value: Value,
}

/// A value and its place, in bytes from the start of the text.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) offset: usize,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Text(String),
    /// A whole or broken number as written.
    Number(String),
    Table(Table),
    Array(Vec<Value>),
    /// A boolean or a date, which no file of ours has.
    Other(&'static str),
}

impl Value {
    pub(crate) fn as_table(&self) -> Option<&Table> {
        match &self.node {
            Node::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Value]> {
        match &self.node {
            Node::Array(array) => Some(array),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.node {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Parses `text`.
pub(crate) fn parse(text: &str) -> Result<Table, Error> {
    DeTable::parse(text).map(|root| table(root.get_ref()))
}

fn table(table: &DeTable<'_>) -> Table {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        let entry = Entry { key_offset: key.span().start, value: self::value(value) };
        (key.get_ref().to_string(), entry)
    };
    table.iter().map(entry).collect()
}

fn value(value: &Spanned<DeValue<'_>>) -> Value {
    let node = match value.get_ref() {
        DeValue::String(text) => Node::Text(text.to_string()),
        DeValue::Integer(number) => Node::Number(number.as_str().to_owned()),
        DeValue::Float(number) => Node::Number(number.as_str().to_owned()),
        DeValue::Table(inner) => Node::Table(table(inner)),
        DeValue::Array(array) => Node::Array(array.iter().map(self::value).collect()),
        other => Node::Other(other.type_str()),
    };
    Value { offset: value.span().start, node }
}
