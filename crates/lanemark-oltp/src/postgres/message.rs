//! A message that contains several prepared statements, with one answer for all.
//!
//! A message is one round trip to the server. It calls statements with `EXECUTE`, so the server only parses a name and
//! values, and does not plan the statement again (documentation of PostgreSQL, "Simple Query"; "EXECUTE"). The server
//! runs them in order and stops at the first error, so a COMMIT at the end commits only if all of them succeeded.

use std::collections::VecDeque;
use std::fmt::Write as _;

use postgres::SimpleQueryRow;

use super::errors::from_postgres;
use crate::error::OltpError;

/// A parameter value of a statement.
pub(super) trait Argument {
    /// Appends the value to `sql` as an SQL literal.
    fn put(&self, sql: &mut String);
}

impl Argument for i64 {
    fn put(&self, sql: &mut String) {
        let _ = write!(sql, "{self}");
    }
}

impl Argument for &str {
    fn put(&self, sql: &mut String) {
        put_quoted(sql, self);
    }
}

impl Argument for Vec<i64> {
    fn put(&self, sql: &mut String) {
        sql.push_str("'{");
        for (at, number) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(sql, "{comma}{number}");
        }
        sql.push_str("}'");
    }
}

impl Argument for Vec<&str> {
    fn put(&self, sql: &mut String) {
        let mut array = String::with_capacity(self.len() * 28 + 2);
        array.push('{');
        for (at, text) in self.iter().enumerate() {
            array.push_str(if at == 0 { "\"" } else { ",\"" });
            for letter in text.chars() {
                if matches!(letter, '"' | '\\') {
                    array.push('\\');
                }
                array.push(letter);
            }
            array.push('"');
        }
        array.push('}');
        put_quoted(sql, &array);
    }
}

/// Appends a quoted string. The form of the quotes does not depend on whether the server treats `\` in plain quotes as
/// an escape.
fn put_quoted(sql: &mut String, text: &str) {
    let escapes = text.contains('\\');
    sql.push_str(if escapes { " E'" } else { "'" });
    for letter in text.chars() {
        if letter == '\'' || letter == '\\' {
            sql.push(letter);
        }
        sql.push(letter);
    }
    sql.push('\'');
}

/// Statements that are sent to the server together.
pub(super) struct StatementBatch {
    pub(super) sql: String,
    pub(super) statements: u64,
    pub(super) begins: bool,
    pub(super) ends: bool,
}

impl StatementBatch {
    /// Creates a message that begins a transaction.
    pub(super) fn begin() -> Self {
        Self { sql: "BEGIN".to_owned(), statements: 1, begins: true, ends: false }
    }

    /// Creates a message within a transaction.
    pub(super) fn within() -> Self {
        Self { sql: String::new(), statements: 0, begins: false, ends: false }
    }

    /// Adds a call to the prepared statement `name`.
    pub(super) fn call(mut self, name: &str, arguments: &[&dyn Argument]) -> Self {
        self.add("EXECUTE ");
        self.sql.push_str(name);
        for (at, argument) in arguments.iter().enumerate() {
            self.sql.push(if at == 0 { '(' } else { ',' });
            argument.put(&mut self.sql);
        }
        self.sql.push(')');
        self
    }

    /// Commits the transaction at the end of the message.
    pub(super) fn commit(self) -> Self {
        self.end("COMMIT")
    }

    /// Rolls back the transaction at the end of the message.
    pub(super) fn rollback(self) -> Self {
        self.end("ROLLBACK")
    }

    pub(super) fn statements(&self) -> u64 {
        self.statements
    }

    fn end(mut self, statement: &str) -> Self {
        self.add(statement);
        self.ends = true;
        self
    }

    fn add(&mut self, text: &str) {
        if self.statements > 0 {
            self.sql.push(';');
        }
        self.sql.push_str(text);
        self.statements += 1;
    }
}

/// The rows of a message's statements, in their order.
pub(super) struct StatementRows(pub(super) VecDeque<Vec<SimpleQueryRow>>);

impl StatementRows {
    /// Returns the rows of the next statement.
    pub(super) fn rows(&mut self) -> Vec<SimpleQueryRow> {
        self.0.pop_front().unwrap_or_default()
    }

    /// Returns the only row of the next statement. Error messages call the row `what`.
    pub(super) fn next_single_row(&mut self, what: &str) -> Result<SimpleQueryRow, OltpError> {
        let row = self.rows().into_iter().next();
        row.ok_or_else(|| OltpError::Damaged(format!("{what} was not found")))
    }
}

pub(super) fn int(row: &SimpleQueryRow, at: usize) -> Result<i64, OltpError> {
    let text = row.try_get(at).map_err(from_postgres)?;
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| OltpError::Damaged(format!("{text:?} instead of a number")))
}

/// Returns a string from a row; empty for NULL.
pub(super) fn text(row: &SimpleQueryRow, at: usize) -> Result<&str, OltpError> {
    Ok(row.try_get(at).map_err(from_postgres)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_statements_with_values_that_cannot_leave_their_quotes() {
        let lines = vec![3, -4];
        let texts = vec!["a'b", "c\"d\\", ""];
        let message = StatementBatch::begin()
            .call("one", &[&1i64, &"O'BAR"])
            .call("two", &[&lines, &texts, &"\\'; DROP"])
            .commit();
        assert_eq!(
            message.sql,
            "BEGIN;EXECUTE one(1,'O''BAR');\
             EXECUTE two('{3,-4}', E'{\"a''b\",\"c\\\\\"d\\\\\\\\\",\"\"}', E'\\\\''; DROP');COMMIT"
        );
        assert_eq!((message.statements, message.begins, message.ends), (4, true, true));
        let within = StatementBatch::within().call("three", &[&1i64]).rollback();
        assert_eq!(within.sql, "EXECUTE three(1);ROLLBACK");
    }
}
