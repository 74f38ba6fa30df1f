//! Converts errors of the client library to errors of a run, and queries the version of the server.

use std::error::Error as _;

use postgres::Client;

use crate::error::OltpError;

/// Returns the major version of the server.
pub(super) fn server_version(client: &mut Client) -> Result<i32, OltpError> {
    let sql = "SELECT current_setting('server_version_num')::INT / 10000";
    client.query_one(sql, &[]).and_then(|row| row.try_get(0)).map_err(from_postgres)
}

/// Returns the server's message, or the message of the underlying error.
pub(super) fn reason(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(answer) => answer.message().to_owned(),
        None => {
            error.source().map_or_else(|| error.to_string(), |below| format!("{error}: {below}"))
        }
    }
}

/// Converts an error of COPY, which the crate wraps as an I/O error.
pub(super) fn from_copy(error: &std::io::Error) -> OltpError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>()) {
        Some(inner) => classify(inner),
        None => OltpError::Database(error.to_string()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn from_postgres(error: postgres::Error) -> OltpError {
    classify(&error)
}

/// Converts an error of the client library that occurs during a run, by its SQLSTATE.
pub(super) fn classify(error: &postgres::Error) -> OltpError {
    let text = reason(error);
    match error.code().map(|code| code.code()) {
        Some("40001" | "40P01" | "55P03") => OltpError::Conflict(text),
        Some("55006") => OltpError::InUse(text),
        Some("53100") => OltpError::Full(text),
        Some("P0002") => OltpError::Damaged(text),
        Some("42501") => OltpError::Rights { database: "PostgreSQL".to_owned(), reason: text },
        _ => OltpError::Database(text),
    }
}
