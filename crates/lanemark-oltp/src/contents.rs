//! Computes a number that represents the contents of each table, to compare two databases.
//!
//! The number is the sum of a hash of every row (FNV-1a), so it does not depend on the order of the rows.

use crate::error::OltpError;
use crate::schema::Table;
use crate::session::Connection;
use crate::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableHash {
    pub table: Table,
    pub rows: u64,
    /// Sum of the rows' hashes.
    pub hash: u64,
}

/// Returns the contents of all nine tables.
pub fn contents(connection: &mut dyn Connection) -> Result<Vec<TableHash>, OltpError> {
    Table::ALL
        .into_iter()
        .map(|table| {
            let sql = format!("SELECT {} FROM {}", table.column_names(), table.name());
            let mut found = TableHash { table, rows: 0, hash: 0 };
            connection.scan(&sql, &mut |row| {
                found.rows += 1;
                found.hash = found.hash.wrapping_add(hash(row));
            })?;
            Ok(found)
        })
        .collect()
}

fn hash(row: &[Value<'_>]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for &byte in bytes {
            state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for value in row {
        match value {
            Value::Null => take(&[0]),
            Value::Int(number) => {
                take(&[1]);
                take(&number.to_le_bytes());
            }
            Value::Text(text) => {
                take(&[2]);
                take(text.as_bytes());
            }
        }
    }
    state
}
