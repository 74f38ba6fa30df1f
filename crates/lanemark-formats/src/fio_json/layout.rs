//! JSON as fio prints it: with keys in fio's order, a space before each colon, and six decimals.

use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Integer(u64),
    Real(f64),
    Text(String),
    Object(Vec<(String, Json)>),
    List(Vec<Json>),
    /// Text that is already JSON.
    Raw(String),
}

/// Creates an object from `pairs`.
pub(super) fn object<const N: usize>(pairs: [(&str, Json); N]) -> Json {
    Json::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

impl Json {
    fn print(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Real(value) if value.is_finite() => write!(f, "{value:.6}"),
            Self::Real(_) => write!(f, "0.000000"),
            Self::Raw(text) => f.write_str(text),
            Self::Text(text) => quoted(f, text),
            Self::Object(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (Some(key), value));
                print_all(f, depth, '{', '}', pairs)
            }
            Self::List(values) => {
                print_all(f, depth, '[', ']', values.iter().map(|value| (None, value)))
            }
        }
    }
}

fn print_all<'a>(
    f: &mut fmt::Formatter<'_>,
    depth: usize,
    begin: char,
    end: char,
    values: impl Iterator<Item = (Option<&'a String>, &'a Json)>,
) -> fmt::Result {
    writeln!(f, "{begin}")?;
    for (index, (key, value)) in values.enumerate() {
        if index > 0 {
            writeln!(f, ",")?;
        }
        write!(f, "{:1$}", "", 2 * (depth + 1))?;
        if let Some(key) = key {
            quoted(f, key)?;
            write!(f, " : ")?;
        }
        value.print(f, depth + 1)?;
    }
    write!(f, "\n{:1$}{end}", "", 2 * depth)
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&serde_json::Value::from(text).to_string())
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}
