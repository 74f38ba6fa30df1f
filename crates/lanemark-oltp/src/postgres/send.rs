//! Sends a message of several statements.

use std::collections::VecDeque;

use postgres::SimpleQueryMessage;

use super::PostgresConnection;
use super::errors::from_postgres;
use super::message::{StatementBatch, StatementRows};
use crate::error::OltpError;

/// The statements that a session prepares before its first message.
const PREPARED: &str = include_str!("batch.sql");

impl PostgresConnection {
    /// Sends a message; returns the rows of each statement except BEGIN.
    pub(super) fn send(&mut self, message: &StatementBatch) -> Result<StatementRows, OltpError> {
        if !self.batched {
            self.client.batch_execute(PREPARED).map_err(from_postgres)?;
            self.batched = true;
        }
        // An error may occur before or after BEGIN; an unnecessary rollback is harmless.
        self.open |= message.begins;
        self.messages += 1;
        self.statements += message.statements;
        let answered = self.client.simple_query(&message.sql).map_err(from_postgres)?;
        self.open &= !message.ends;
        let mut answers = VecDeque::new();
        let mut rows = Vec::new();
        for answer in answered {
            match answer {
                SimpleQueryMessage::Row(row) => rows.push(row),
                SimpleQueryMessage::CommandComplete(_) => {
                    answers.push_back(std::mem::take(&mut rows));
                }
                _ => {}
            }
        }
        if message.begins {
            answers.pop_front();
        }
        Ok(StatementRows(answers))
    }
}
