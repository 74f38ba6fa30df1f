//! The five transactions as procedures of the server. Each transaction is one call and one round trip.
//!
//! A call outside a transaction is a separate transaction, which commits when the call ends. The server rolls back a
//! failed procedure, and the SQLSTATE shows whether to retry. Procedures require PostgreSQL 11.

use postgres::Client;
use postgres::types::ToSql;

use super::errors::{from_postgres, server_version};
use crate::error::OltpError;
use crate::input::{CustomerKey, Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::transactions::{DeliveryOutcome, NewOrderOutcome};

const SQL: &str = include_str!("procedures.sql");
/// Statement that takes a lock, which serialises the creation of the procedures; the number is arbitrary.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5710311)";
/// The first version with procedures.
const VERSION_MIN: i32 = 11;
/// Query for existing procedures with the same text; their comment contains the hash of the text.
const THERE: &str = "SELECT FROM pg_proc WHERE oid = to_regproc('lanemark_oltp.do_new_order') \
    AND obj_description(oid, 'pg_proc') = $1";

/// Rejects a server that does not have procedures.
fn check_version(version: i32) -> Result<(), OltpError> {
    if version >= VERSION_MIN {
        return Ok(());
    }
    let reason = format!("the server is PostgreSQL {version}, and procedures were added in 11");
    Err(OltpError::Lacks { what: "procedures".to_owned(), reason })
}

pub(super) struct PreparedCalls {
    new_order: postgres::Statement,
    payment: postgres::Statement,
    order_status: postgres::Statement,
    delivery: postgres::Statement,
    stock_level: postgres::Statement,
}

type CallParameters<'a> = [&'a (dyn ToSql + Sync)];

impl PreparedCalls {
    /// Creates the procedures in our schema unless they exist, and prepares the calls.
    pub(super) fn make(client: &mut Client) -> Result<Self, OltpError> {
        check_version(server_version(client)?)?;
        let hash = client.query_one("SELECT md5($1::TEXT)", &[&SQL]).map_err(from_postgres)?;
        let hash: String = hash.try_get(0).map_err(from_postgres)?;
        if client.query_opt(THERE, &[&hash]).map_err(from_postgres)?.is_none() {
            let note = format!("COMMENT ON PROCEDURE do_new_order IS '{hash}'");
            let made = client.batch_execute(&format!("BEGIN; {LOCK}; {SQL} {note}; COMMIT"));
            if let Err(error) = made {
                let _ = client.batch_execute("ROLLBACK");
                return Err(from_postgres(error));
            }
        }
        let mut prepare = |sql: &str| client.prepare(sql).map_err(from_postgres);
        Ok(Self {
            new_order: prepare(
                "CALL do_new_order($1::INT, $2::INT, $3::INT, $4::BIGINT, $5::INT[], $6::INT[], \
                 $7::INT[], NULL, NULL)",
            )?,
            payment: prepare(
                "CALL do_payment($1::INT, $2::INT, $3::INT, $4::INT, $5::TEXT, $6::BIGINT, \
                 $7::BIGINT, $8::INT, NULL)",
            )?,
            order_status: prepare(
                "CALL do_order_status($1::INT, $2::INT, $3::TEXT, $4::INT, NULL)",
            )?,
            delivery: prepare("CALL do_delivery($1::INT, $2::INT, $3::BIGINT, NULL, NULL)")?,
            stock_level: prepare("CALL do_stock_level($1::INT, $2::INT, $3::INT, NULL)")?,
        })
    }

    pub(super) fn new_order(
        &self,
        client: &mut Client,
        input: &NewOrder,
    ) -> Result<NewOrderOutcome, OltpError> {
        let lines = |of: fn(&crate::input::OrderLine) -> i64| {
            input.lines.iter().map(|line| int(of(line))).collect::<Result<Vec<i32>, OltpError>>()
        };
        let supplies = lines(|line| line.supply_warehouse)?;
        let items = lines(|line| line.item)?;
        let quantities = lines(|line| line.quantity)?;
        let w = int(input.warehouse)?;
        let d = int(input.district)?;
        let c = int(input.customer)?;
        let given: &CallParameters<'_> =
            &[&w, &d, &c, &input.at_ms, &supplies, &items, &quantities];
        let row = client.query_one(&self.new_order, given).map_err(from_postgres)?;
        let entered: Option<i32> = row.try_get(0).map_err(from_postgres)?;
        let total = row.try_get(1).map_err(from_postgres)?;
        Ok(entered.map_or(NewOrderOutcome::RolledBack, |order| NewOrderOutcome::Entered {
            order: i64::from(order),
            total,
        }))
    }

    pub(super) fn payment(&self, client: &mut Client, input: &Payment) -> Result<i64, OltpError> {
        let w = int(input.warehouse)?;
        let d = int(input.district)?;
        let cw = int(input.customer_warehouse)?;
        let cd = int(input.customer_district)?;
        let (number, name) = customer(&input.customer)?;
        let given: &CallParameters<'_> =
            &[&w, &d, &cw, &cd, &name, &input.amount, &input.at_ms, &number];
        let row = client.query_one(&self.payment, given).map_err(from_postgres)?;
        row.try_get(1).map_err(from_postgres)
    }

    pub(super) fn order_status(
        &self,
        client: &mut Client,
        input: &OrderStatus,
    ) -> Result<usize, OltpError> {
        let w = int(input.warehouse)?;
        let d = int(input.district)?;
        let (number, name) = customer(&input.customer)?;
        let given: &CallParameters<'_> = &[&w, &d, &name, &number];
        let row = client.query_one(&self.order_status, given).map_err(from_postgres)?;
        row.try_get::<_, i32>(1).map(|lines| lines as usize).map_err(from_postgres)
    }

    pub(super) fn delivery(
        &self,
        client: &mut Client,
        input: &Delivery,
    ) -> Result<DeliveryOutcome, OltpError> {
        let given: &CallParameters<'_> =
            &[&int(input.warehouse)?, &int(input.carrier)?, &input.at_ms];
        let row = client.query_one(&self.delivery, given).map_err(from_postgres)?;
        let count = |at| row.try_get::<_, i32>(at).map(i64::from).map_err(from_postgres);
        Ok(DeliveryOutcome { delivered: count(0)?, skipped: count(1)? })
    }

    pub(super) fn stock_level(
        &self,
        client: &mut Client,
        input: &StockLevel,
    ) -> Result<i64, OltpError> {
        let given: &CallParameters<'_> =
            &[&int(input.warehouse)?, &int(input.district)?, &int(input.threshold)?];
        let row = client.query_one(&self.stock_level, given).map_err(from_postgres)?;
        row.try_get(0).map_err(from_postgres)
    }
}

/// Returns a customer's number or last name.
fn customer(key: &CustomerKey) -> Result<(Option<i32>, Option<&str>), OltpError> {
    Ok(match key {
        CustomerKey::Number(number) => (Some(int(*number)?), None),
        CustomerKey::LastName(name) => (None, Some(name)),
    })
}

/// Returns the number of a key, in the integer type of the tables.
fn int(number: i64) -> Result<i32, OltpError> {
    let length_error = || OltpError::Damaged(format!("{number} is too long for a key"));
    i32::try_from(number).map_err(|_| length_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_need_version_11() {
        for (version, is_enough) in [(9, false), (10, false), (11, true), (17, true)] {
            let checked = check_version(version);
            assert_eq!(checked.is_ok(), is_enough, "{version}");
            let message = checked.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(is_enough || message.contains(&format!("PostgreSQL {version}")), "{message}");
        }
    }
}
