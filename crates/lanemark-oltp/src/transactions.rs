//! The five transactions (TPC-C 5.11, clauses 2.4.2 to 2.8.2) as sequences of statements.
//!
//! Each is one database transaction from its first statement to its last, and is rolled back if a statement fails.
//! Delivery delivers the ten districts in one transaction and is not queued.

use crate::error::OltpError;
use crate::input::{CustomerKey, Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::schema::DISTRICTS;
use crate::session::Connection;
use crate::statement::Statement as S;
use crate::value::{Row, Value, values};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewOrderOutcome {
    Entered {
        order: i64,
        /// Price of the order, in cents.
        total: i64,
    },
    /// The order contained an item that does not exist, and was rolled back as the specification requires.
    RolledBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryOutcome {
    /// Number of districts with a delivered order.
    pub delivered: i64,
    /// Number of districts without an open order.
    pub skipped: i64,
}

/// Maximum length of the notes about a customer, in characters.
const CUSTOMER_DATA_MAX: usize = 500;

/// Runs `body` in a transaction, which is rolled back if `body` fails.
fn in_transaction<C: Connection + ?Sized, T>(
    connection: &mut C,
    writes: bool,
    body: impl FnOnce(&mut C) -> Result<T, OltpError>,
) -> Result<T, OltpError> {
    connection.begin(writes)?;
    let outcome = body(connection).and_then(|value| connection.commit().map(|()| value));
    if outcome.is_err() {
        // The caller needs the first error; a lost connection has rolled back already.
        let _ = connection.rollback();
    }
    outcome
}

/// Returns the only row of a statement.
fn query_one_row<C: Connection + ?Sized>(
    connection: &mut C,
    statement: S,
    values: &[Value<'_>],
) -> Result<Row, OltpError> {
    let row = connection.query(statement, values)?.into_iter().next();
    row.ok_or_else(|| OltpError::Damaged(format!("{statement:?} returned no row for {values:?}")))
}

pub(crate) fn new_order<C: Connection + ?Sized>(
    connection: &mut C,
    input: &NewOrder,
) -> Result<NewOrderOutcome, OltpError> {
    connection.begin(true)?;
    let outcome = match enter(connection, input) {
        Ok(Some((order, total))) => {
            connection.commit().map(|()| NewOrderOutcome::Entered { order, total })
        }
        Ok(None) => return connection.rollback().map(|()| NewOrderOutcome::RolledBack),
        Err(error) => Err(error),
    };
    if outcome.is_err() {
        let _ = connection.rollback();
    }
    outcome
}

/// Runs the statements of New-Order; returns `None` if an item does not exist.
fn enter<C: Connection + ?Sized>(
    connection: &mut C,
    input: &NewOrder,
) -> Result<Option<(i64, i64)>, OltpError> {
    let w = input.warehouse;
    let d = input.district;
    let c = input.customer;
    let warehouse_tax = query_one_row(connection, S::WarehouseTax, &values![w])?[0].int();
    let district = query_one_row(connection, S::TakeOrderNumber, &values![w, d])?;
    let order = district[0].int();
    let district_tax = district[1].int();
    let discount = query_one_row(connection, S::OrderCustomer, &values![w, d, c])?[0].int();
    let local = input.lines.iter().all(|line| line.supply_warehouse == w);
    let lines = input.lines.len() as i64;
    connection
        .execute(S::InsertOrder, &values![w, d, order, c, input.at_ms, lines, i64::from(local)])?;
    connection.execute(S::InsertNewOrder, &values![w, d, order])?;
    let mut sum = 0;
    for (number, line) in (1i64..).zip(&input.lines) {
        let Some(item) = connection.query(S::Item, &values![line.item])?.into_iter().next() else {
            return Ok(None);
        };
        let amount = line.quantity * item[0].int();
        let supply = line.supply_warehouse;
        let quantity = line.quantity;
        let remote = i64::from(supply != w);
        let taken = values![quantity, remote, supply, line.item, d];
        let stock = query_one_row(connection, S::TakeStock, &taken)?;
        let info = stock[1].text();
        connection.execute(
            S::InsertOrderLine,
            &values![w, d, order, number, line.item, supply, quantity, amount, info],
        )?;
        sum += amount;
    }
    Ok(Some((order, total_amount(sum, discount, warehouse_tax + district_tax))))
}

/// Returns an order's total, given the `sum` of its lines, the customer's discount and the taxes, both in hundredths of
/// a percent.
fn total_amount(sum: i64, discount: i64, taxes: i64) -> i64 {
    let discounted = sum * (10_000 - discount) / 10_000;
    discounted * (10_000 + taxes) / 10_000
}

/// Returns the middle of the customers with a last name; the position is rounded up.
pub(crate) fn middle_customer<T>(bearers: &[T]) -> Option<&T> {
    bearers.get(bearers.len().saturating_sub(1) / 2)
}

/// Returns the notes about a customer with bad credit after a payment with these numbers.
pub(crate) fn noted([c, cd, cw, d, w, amount]: [i64; 6], known: &str) -> String {
    let note = format!("{c} {cd} {cw} {d} {w} {amount} |{known}");
    note.chars().take(CUSTOMER_DATA_MAX).collect()
}

/// Returns a customer's number; for a last name, the number of the middle customer with that name.
fn customer_number<C: Connection + ?Sized>(
    connection: &mut C,
    warehouse: i64,
    district: i64,
    key: &CustomerKey,
) -> Result<i64, OltpError> {
    match key {
        CustomerKey::Number(number) => Ok(*number),
        CustomerKey::LastName(name) => {
            let keys = values![warehouse, district, name.as_str()];
            let rows = connection.query(S::CustomersByName, &keys)?;
            let row = middle_customer(&rows).ok_or_else(|| {
                OltpError::Damaged(format!(
                    "no customer in {warehouse}/{district} is called {name}"
                ))
            })?;
            Ok(row[0].int())
        }
    }
}

pub(crate) fn payment<C: Connection + ?Sized>(
    connection: &mut C,
    input: &Payment,
) -> Result<i64, OltpError> {
    in_transaction(connection, true, |connection| {
        let w = input.warehouse;
        let d = input.district;
        let amount = input.amount;
        let cw = input.customer_warehouse;
        let cd = input.customer_district;
        // The customer is first, because most payments wait for the warehouse's row, and this order locks that row for
        // the shortest time.
        let customer = customer_number(connection, cw, cd, &input.customer)?;
        let paid = query_one_row(connection, S::PayCustomer, &values![amount, cw, cd, customer])?;
        if paid[0].text() == "BC" {
            let known = query_one_row(connection, S::CustomerData, &values![cw, cd, customer])?;
            let note = noted([customer, cd, cw, d, w, amount], known[0].text());
            connection.execute(S::NoteCustomer, &values![note, cw, cd, customer])?;
        }
        let district = query_one_row(connection, S::PayDistrict, &values![amount, w, d])?;
        let warehouse = query_one_row(connection, S::PayWarehouse, &values![amount, w])?;
        let data = format!("{}    {}", warehouse[0].text(), district[0].text());
        connection.execute(
            S::InsertHistory,
            &values![customer, cd, cw, d, w, input.at_ms, amount, data],
        )?;
        Ok(paid[13].int())
    })
}

pub(crate) fn order_status<C: Connection + ?Sized>(
    connection: &mut C,
    input: &OrderStatus,
) -> Result<usize, OltpError> {
    in_transaction(connection, false, |connection| {
        let w = input.warehouse;
        let d = input.district;
        let customer = customer_number(connection, w, d, &input.customer)?;
        query_one_row(connection, S::StatusCustomer, &values![w, d, customer])?;
        let order = query_one_row(connection, S::LastOrder, &values![w, d, customer])?[0].int();
        Ok(connection.query(S::OrderLines, &values![w, d, order])?.len())
    })
}

pub(crate) fn delivery<C: Connection + ?Sized>(
    connection: &mut C,
    input: &Delivery,
) -> Result<DeliveryOutcome, OltpError> {
    let w = input.warehouse;
    in_transaction(connection, true, |connection| {
        let mut outcome = DeliveryOutcome { delivered: 0, skipped: 0 };
        let mut charges = Vec::new();
        for d in 1..=DISTRICTS {
            let open = connection.query(S::OldestOpen, &values![w, d])?;
            let Some(order) = open.first().map(|row| row[0].int()) else {
                outcome.skipped += 1;
                continue;
            };
            if connection.execute(S::CloseOrder, &values![w, d, order])? != 1 {
                return Err(OltpError::Conflict("another delivery took the same order".to_owned()));
            }
            let carried =
                query_one_row(connection, S::CarryOrder, &values![input.carrier, w, d, order])?;
            connection.execute(S::DeliverLines, &values![input.at_ms, w, d, order])?;
            let amount = query_one_row(connection, S::OrderAmount, &values![w, d, order])?[0].int();
            charges.push((d, carried[0].int(), amount));
            outcome.delivered += 1;
        }
        // Customers are last, because payments also lock their rows.
        for (d, customer, amount) in charges {
            connection.execute(S::ChargeCustomer, &values![amount, w, d, customer])?;
        }
        Ok(outcome)
    })
}

pub(crate) fn stock_level<C: Connection + ?Sized>(
    connection: &mut C,
    input: &StockLevel,
) -> Result<i64, OltpError> {
    in_transaction(connection, false, |connection| {
        let w = input.warehouse;
        let d = input.district;
        let next = query_one_row(connection, S::NextOrderNumber, &values![w, d])?[0].int();
        let keys = values![w, d, next - 20, next, input.threshold];
        Ok(query_one_row(connection, S::LowItems, &keys)?[0].int())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_costs_its_lines_less_the_discount_plus_the_taxes() {
        for (sum, discount, taxes, wanted) in [
            (20_000, 0, 0, 20_000),
            (20_000, 1_000, 0, 18_000),
            (20_000, 0, 1_500, 23_000),
            (20_000, 1_000, 1_500, 20_700),
            (0, 1_000, 1_500, 0),
        ] {
            assert_eq!(total_amount(sum, discount, taxes), wanted, "{sum} {discount} {taxes}");
        }
    }
}
