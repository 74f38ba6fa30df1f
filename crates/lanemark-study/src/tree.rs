//! A parsed TOML file as plain owned values, each with its offset.
//!
//! The parser's own tree borrows the text, but this tree does not, so a document can be stored and passed on.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// A table: its entries by key.
pub(crate) type Table = BTreeMap<String, Entry>;

/// The offset of a key, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key_offset: usize,
    pub(crate) value: Value,
}

/// A value and its offset, in bytes from the start of the text.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) offset: usize,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Text(String),
    /// An integer or decimal number as written.
    Number(String),
    Table(Table),
    Array(Vec<Value>),
    /// A boolean or a date; Lanemark's files do not contain any.
    Other(&'static str),
}

impl Entry {
    /// Moves the entry and its contents to `offset`, which represents their location in the text of another file.
    pub(crate) fn move_to(&mut self, offset: usize) {
        self.key_offset = offset;
        self.value.move_to(offset);
    }
}

/// Writes the value on one line, formatted as in a file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Text(text) => f.write_str(&quoted(text)),
            Node::Number(number) => f.write_str(number),
            Node::Table(table) => {
                let pairs = table.iter().map(|(key, entry)| format!("{key} = {}", entry.value));
                write!(f, "{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
            Node::Array(array) => {
                let all: Vec<String> = array.iter().map(Self::to_string).collect();
                write!(f, "[{}]", all.join(", "))
            }
            Node::Other(kind) => f.write_str(kind),
        }
    }
}

impl Value {
    fn move_to(&mut self, offset: usize) {
        self.offset = offset;
        match &mut self.node {
            Node::Table(table) => table.values_mut().for_each(|entry| entry.move_to(offset)),
            Node::Array(array) => array.iter_mut().for_each(|value| value.move_to(offset)),
            Node::Text(_) | Node::Number(_) | Node::Other(_) => {}
        }
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        if let Node::Table(table) = &self.node { Some(table) } else { None }
    }

    pub(crate) fn as_array(&self) -> Option<&[Value]> {
        if let Node::Array(array) = &self.node { Some(array) } else { None }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Node::Text(text) = &self.node { Some(text) } else { None }
    }
}

/// Returns a string in quotes, formatted as in a file.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

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
        other @ (DeValue::Boolean(_) | DeValue::Datetime(_)) => Node::Other(other.type_str()),
    };
    Value { offset: value.span().start, node }
}
