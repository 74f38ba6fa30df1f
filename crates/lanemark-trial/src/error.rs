//! Errors of servers and databases as errors of the laboratory.

use lanemark_lab::{ErrorCause, LabError};
use lanemark_oltp::OltpError;
use lanemark_serve::data::DataError;

/// Converts the error of a database.
pub fn of_database(error: OltpError) -> LabError {
    let message = error.to_string();
    let hint = error.hint();
    let cause = match error {
        error if error.is_refusal() => ErrorCause::Refused,
        error if error.is_input() => ErrorCause::Input,
        _ => ErrorCause::Run,
    };
    LabError { cause, message, hint }
}

/// Converts the error of a server's data.
pub fn of_data(error: DataError) -> LabError {
    let message = error.to_string();
    match error {
        DataError::Refused { hint, .. } => LabError::refused(message).hint(hint),
        DataError::Misfit { .. } | DataError::System { .. } => LabError::input(message),
    }
}
