//! Checks the consistency conditions of TPC-C 5.11, clauses 3.3.2.1 to 3.3.2.12, and rules for each table.
//!
//! Each condition is a statement that counts violations. The specification requires condition 11 only for a fresh
//! database; this version subtracts the orders that were delivered since, so that the condition always applies.

mod tables;

use crate::database::LoadedData;
use crate::error::OltpError;
use crate::schema::Table;
use crate::session::Connection;
use crate::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionSource {
    /// A subclause of the specification's clause 3.3.2: its last number, from 1 to 12.
    Clause(u32),
    /// A rule for a table: its rows, its values, and their relation to other tables.
    Table(Table),
}

impl std::fmt::Display for ConditionSource {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Clause(number) => write!(out, "3.3.2.{number}"),
            Self::Table(table) => out.write_str(table.name()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionResult {
    pub source: ConditionSource,
    pub text: &'static str,
    /// Number of rows, warehouses, districts, orders or customers that violate the condition or are missing.
    pub broken: i64,
}

/// Subquery for the total of each customer's delivered order lines.
const CHARGED: &str = "(SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, SUM(ol_amount) AS charged \
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS charges";

/// Subquery for the total of each customer's payments.
const PAID: &str = "(SELECT h_c_w_id AS pw, h_c_d_id AS pd, h_c_id AS pc, SUM(h_amount) AS paid \
    FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments";

/// Subquery for the smallest number, the largest number and the count of each district's open orders.
const OPEN: &str = "(SELECT no_w_id AS w, no_d_id AS d, MIN(no_o_id) AS low_id, \
    MAX(no_o_id) AS high_id, COUNT(*) AS opened FROM new_order GROUP BY no_w_id, no_d_id) AS opens";

/// Returns each condition with the statement that counts its violations.
fn statements(loaded: &LoadedData) -> [(&'static str, String); 12] {
    let delivered = loaded.scale.delivered();
    let lines_join = format!(
        "SELECT COUNT(*) FROM customer LEFT JOIN {CHARGED} ON w = c_w_id AND d = c_d_id AND c = c_id"
    );
    [
        (
            "a warehouse's payments equal the sum of its districts' payments",
            "SELECT COUNT(*) FROM warehouse WHERE w_ytd <> \
             COALESCE((SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id), -1)"
                .to_owned(),
        ),
        (
            "a district's next order number follows its last order",
            format!(
                "SELECT COUNT(*) FROM district LEFT JOIN {OPEN} ON w = d_w_id AND d = d_id \
                 WHERE d_next_o_id - 1 <> COALESCE((SELECT MAX(o_id) FROM orders \
                 WHERE o_w_id = d_w_id AND o_d_id = d_id), -1) OR d_next_o_id - 1 <> high_id"
            ),
        ),
        (
            "the numbers of open orders are contiguous",
            format!("SELECT COUNT(*) FROM {OPEN} WHERE high_id - low_id + 1 <> opened"),
        ),
        (
            "a district's number of lines equals the total that its orders state",
            "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS said FROM orders \
             GROUP BY o_w_id, o_d_id) AS s LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS seen \
             FROM order_line GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id \
             AND ol_d_id = o_d_id WHERE said <> COALESCE(seen, 0)"
                .to_owned(),
        ),
        (
            "an order is open if and only if no carrier is assigned to it",
            "SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id \
             AND no_d_id = o_d_id AND no_o_id = o_id \
             WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)"
                .to_owned(),
        ),
        (
            "an order's number of lines equals the number that it states",
            "SELECT COUNT(*) FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, \
             COUNT(*) AS seen FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
             WHERE o_ol_cnt <> COALESCE(seen, 0)"
                .to_owned(),
        ),
        (
            "a line is delivered if and only if its order has a carrier",
            "SELECT COUNT(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id \
             AND o_d_id = ol_d_id AND o_id = ol_o_id \
             WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL) OR o_id IS NULL"
                .to_owned(),
        ),
        (
            "a warehouse's payments equal the payments in the history",
            "SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid \
             FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id WHERE w_ytd <> COALESCE(paid, 0)"
                .to_owned(),
        ),
        (
            "a district's payments equal the payments in the history",
            "SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid \
             FROM history GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id \
             WHERE d_ytd <> COALESCE(paid, 0)"
                .to_owned(),
        ),
        (
            "a customer's balance equals the delivered amount minus the paid amount",
            format!(
                "{lines_join} LEFT JOIN {PAID} ON pw = c_w_id AND pd = c_d_id AND pc = c_id \
                 WHERE c_balance <> COALESCE(charged, 0) - COALESCE(paid, 0)"
            ),
        ),
        (
            "a district was loaded with 2,100 delivered orders (fewer at a reduced scale)",
            format!(
                "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, COUNT(*) AS said, \
                 SUM(CASE WHEN o_id > {delivered} AND o_carrier_id IS NOT NULL THEN 1 ELSE 0 END) \
                 AS since FROM orders GROUP BY o_w_id, o_d_id) AS s LEFT JOIN {OPEN} \
                 ON w = o_w_id AND d = o_d_id WHERE said - COALESCE(opened, 0) - since <> {delivered}"
            ),
        ),
        (
            "a customer's balance plus payments equals the delivered amount",
            format!("{lines_join} WHERE c_balance + c_ytd_payment <> COALESCE(charged, 0)"),
        ),
    ]
}

/// Checks the twelve conditions and all tables in one snapshot.
pub fn check(
    connection: &mut dyn Connection,
    loaded: &LoadedData,
) -> Result<Vec<ConditionResult>, OltpError> {
    connection.begin_still()?;
    let of_clauses = (1..)
        .zip(statements(loaded))
        .map(|(number, (text, sql))| (ConditionSource::Clause(number), text, sql));
    let rules = tables::rules(&loaded.scale).into_iter();
    let of_tables = rules.map(|rule| (ConditionSource::Table(rule.table), rule.text, rule.sql));
    let found = of_clauses
        .chain(of_tables)
        .map(|(source, text, sql)| {
            let broken = count(connection, &sql)?;
            Ok(ConditionResult { source, text, broken })
        })
        .collect();
    connection.rollback()?;
    found
}

/// Returns the single number that a statement returns. Any other result is an error, because it is not a count.
fn count(connection: &mut dyn Connection, sql: &str) -> Result<i64, OltpError> {
    match connection.rows(sql)?.last().map(Vec::as_slice) {
        Some([Value::Int(number)]) => Ok(*number),
        _ => Err(OltpError::Damaged(format!("the statement returned no count: {sql}"))),
    }
}
