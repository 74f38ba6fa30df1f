//! The five transactions, each in a few messages. Statements that do not depend on each other's answers share a
//! message.
//!
//! Tables are changed in the same order as in `transactions.rs`, and the resulting contents are equal. A message ends
//! when the client needs an answer:
//!
//! | transaction | messages | answers that the next message needs |
//! |---|---|---|
//! | New-Order | 3 | the order's number, taxes, discount and prices; the stocks' texts |
//! | Payment | 2, or 3 by last name | the customer's number; the balance, the notes on bad credit, the district |
//! | Order-Status | 2, or 3 by last name | the customer's number; the order's number |
//! | Delivery | 3 | the open orders; their customers and amounts |
//! | Stock-Level | 2 | the next order's number |
//!
//! An order can contain an item twice, but an update changes each row only once: a second update in the same message
//! therefore processes the second line.

use std::collections::HashMap;

use super::PostgresConnection;
use super::message::{StatementBatch, int, text};
use crate::error::OltpError;
use crate::input::{CustomerKey, Delivery, NewOrder, OrderLine, OrderStatus, Payment, StockLevel};
use crate::session::Connection as _;
use crate::transactions::{DeliveryOutcome, NewOrderOutcome, middle_customer, noted};

/// Rolls back a failed transaction.
fn with_rollback<T>(
    postgres: &mut PostgresConnection,
    body: impl FnOnce(&mut PostgresConnection) -> Result<T, OltpError>,
) -> Result<T, OltpError> {
    let outcome = body(postgres);
    if outcome.is_err() {
        // The caller needs the first error; a lost connection has rolled back already.
        let _ = postgres.rollback();
    }
    outcome
}

fn damaged_data_error(what: String) -> OltpError {
    OltpError::Damaged(what)
}

/// Splits lines into passes, so that no pass changes a row of stock twice.
fn passes(lines: &[OrderLine]) -> Vec<Vec<OrderLine>> {
    let mut passes: Vec<Vec<OrderLine>> = Vec::new();
    for line in lines {
        let wants = |other: &OrderLine| {
            (other.supply_warehouse, other.item) == (line.supply_warehouse, line.item)
        };
        match passes.iter_mut().find(|pass| !pass.iter().any(wants)) {
            Some(pass) => pass.push(*line),
            None => passes.push(vec![*line]),
        }
    }
    passes
}

pub(super) fn new_order(
    postgres: &mut PostgresConnection,
    input: &NewOrder,
) -> Result<NewOrderOutcome, OltpError> {
    with_rollback(postgres, |postgres| enter(postgres, input))
}

fn enter(
    postgres: &mut PostgresConnection,
    input: &NewOrder,
) -> Result<NewOrderOutcome, OltpError> {
    let w = input.warehouse;
    let d = input.district;
    let c = input.customer;
    let values_of = |lines: &[OrderLine], value: fn(&OrderLine) -> i64| {
        lines.iter().map(value).collect::<Vec<_>>()
    };
    let message = StatementBatch::begin()
        .call("warehouse_tax", &[&w])
        .call("take_order_number", &[&w, &d])
        .call("order_customer", &[&w, &d, &c])
        .call("items", &[&values_of(&input.lines, |line| line.item)]);
    let mut answers = postgres.send(&message)?;
    let warehouse_tax = int(&answers.next_single_row("the warehouse of an order")?, 0)?;
    let district = answers.next_single_row("the district of an order")?;
    let order = int(&district, 0)?;
    let district_tax = int(&district, 1)?;
    let discount = int(&answers.next_single_row("the customer of an order")?, 0)?;
    let mut prices = HashMap::new();
    for row in answers.rows() {
        prices.insert(int(&row, 0)?, int(&row, 1)?);
    }
    // The specification (clause 2.4.2.3) requires an order with an invalid item to perform all the work that it can
    // before it is rolled back.
    let has_price = |line: &&OrderLine| prices.contains_key(&line.item);
    let lines: Vec<OrderLine> = input.lines.iter().filter(has_price).copied().collect();
    let valid = lines.len() == input.lines.len();
    let local = i64::from(input.lines.iter().all(|line| line.supply_warehouse == w));
    let count = input.lines.len() as i64;
    let mut message = StatementBatch::within()
        .call("insert_order", &[&w, &d, &order, &c, &input.at_ms, &count, &local])
        .call("insert_new_order", &[&w, &d, &order]);
    let passes = passes(&lines);
    for pass in &passes {
        let supplies = values_of(pass, |line| line.supply_warehouse);
        let items = values_of(pass, |line| line.item);
        let quantities = values_of(pass, |line| line.quantity);
        message = message.call("take_stock", &[&w, &d, &supplies, &items, &quantities]);
    }
    let mut answers = postgres.send(&message)?;
    // The two inserts return no rows.
    let _ = (answers.rows(), answers.rows());
    let mut stocks = HashMap::new();
    for pass in &passes {
        let rows = answers.rows();
        if rows.len() != pass.len() {
            let found = rows.len();
            let wanted = pass.len();
            return Err(damaged_data_error(format!(
                "{found} of {wanted} items of an order are in stock"
            )));
        }
        for row in rows {
            stocks.insert((int(&row, 0)?, int(&row, 1)?), text(&row, 2)?.to_owned());
        }
    }
    let amounts: Vec<i64> = lines.iter().map(|line| line.quantity * prices[&line.item]).collect();
    let infos: Vec<&str> =
        lines.iter().map(|line| stocks[&(line.supply_warehouse, line.item)].as_str()).collect();
    let numbers: Vec<i64> = (1..=lines.len() as i64).collect();
    let message = StatementBatch::within().call(
        "insert_lines",
        &[
            &w,
            &d,
            &order,
            &numbers,
            &values_of(&lines, |line| line.item),
            &values_of(&lines, |line| line.supply_warehouse),
            &values_of(&lines, |line| line.quantity),
            &amounts,
            &infos,
        ],
    );
    postgres.send(&if valid { message.commit() } else { message.rollback() })?;
    if !valid {
        return Ok(NewOrderOutcome::RolledBack);
    }
    let discounted = amounts.iter().sum::<i64>() * (10_000 - discount) / 10_000;
    let total = discounted * (10_000 + warehouse_tax + district_tax) / 10_000;
    Ok(NewOrderOutcome::Entered { order, total })
}

/// Returns the customer's number and the message for the next statements. The message begins the transaction, unless
/// the query for the last name has already begun it.
fn customer(
    postgres: &mut PostgresConnection,
    warehouse: i64,
    district: i64,
    key: &CustomerKey,
) -> Result<(i64, StatementBatch), OltpError> {
    match key {
        CustomerKey::Number(number) => Ok((*number, StatementBatch::begin())),
        CustomerKey::LastName(name) => {
            let keys = StatementBatch::begin();
            let keys = keys.call("customers_by_name", &[&warehouse, &district, &name.as_str()]);
            let rows = postgres.send(&keys)?.rows();
            let row = middle_customer(&rows).ok_or_else(|| {
                damaged_data_error(format!(
                    "no customer in {warehouse}/{district} is called {name}"
                ))
            })?;
            Ok((int(row, 0)?, StatementBatch::within()))
        }
    }
}

/// Runs Payment; returns the customer's balance in cents.
pub(super) fn payment(
    postgres: &mut PostgresConnection,
    input: &Payment,
) -> Result<i64, OltpError> {
    with_rollback(postgres, |postgres| {
        let w = input.warehouse;
        let d = input.district;
        let amount = input.amount;
        let cw = input.customer_warehouse;
        let cd = input.customer_district;
        let (c, message) = customer(postgres, cw, cd, &input.customer)?;
        let message = message
            .call("pay_customer", &[&amount, &cw, &cd, &c])
            .call("pay_district", &[&amount, &w, &d]);
        let mut answers = postgres.send(&message)?;
        let paid = answers.next_single_row("the customer of a payment")?;
        let district = answers.next_single_row("the district of a payment")?;
        let mut message = StatementBatch::within();
        if text(&paid, 2)? == "BC" {
            let note = noted([c, cd, cw, d, w, amount], text(&paid, 1)?);
            message = message.call("note_customer", &[&note.as_str(), &cw, &cd, &c]);
        }
        // The warehouse is last, because most payments wait for its row, and this order locks the row for the shortest
        // time.
        let given: [&dyn super::message::Argument; 8] =
            [&amount, &w, &c, &cd, &cw, &d, &input.at_ms, &text(&district, 0)?];
        let noted = message.statements() > 0;
        let mut answers = postgres.send(&message.call("pay_warehouse", &given).commit())?;
        if noted {
            answers.rows();
        }
        answers.next_single_row("the warehouse of a payment")?;
        int(&paid, 0)
    })
}

/// Runs Order-Status; returns the number of lines of the customer's last order.
pub(super) fn order_status(
    postgres: &mut PostgresConnection,
    input: &OrderStatus,
) -> Result<usize, OltpError> {
    with_rollback(postgres, |postgres| {
        let w = input.warehouse;
        let d = input.district;
        let (c, message) = customer(postgres, w, d, &input.customer)?;
        let message =
            message.call("status_customer", &[&w, &d, &c]).call("last_order", &[&w, &d, &c]);
        let mut answers = postgres.send(&message)?;
        answers.next_single_row("the customer of an order-status query")?;
        let order = int(&answers.next_single_row("a customer's last order")?, 0)?;
        let message = StatementBatch::within().call("order_lines", &[&w, &d, &order]).commit();
        Ok(postgres.send(&message)?.rows().len())
    })
}

pub(super) fn delivery(
    postgres: &mut PostgresConnection,
    input: &Delivery,
) -> Result<DeliveryOutcome, OltpError> {
    with_rollback(postgres, |postgres| {
        let w = input.warehouse;
        let message = StatementBatch::begin().call("close_oldest", &[&w]);
        let mut districts = Vec::new();
        let mut orders = Vec::new();
        for row in postgres.send(&message)?.rows() {
            if int(&row, 2)? == 0 {
                return Err(OltpError::Conflict("another delivery took the same order".to_owned()));
            }
            districts.push(int(&row, 0)?);
            orders.push(int(&row, 1)?);
        }
        let message = StatementBatch::within()
            .call("carry_orders", &[&input.carrier, &w, &districts, &orders])
            .call("deliver_lines", &[&input.at_ms, &w, &districts, &orders]);
        let mut answers = postgres.send(&message)?;
        let mut by_district = || {
            let pairs = answers.rows().into_iter().map(|row| Ok((int(&row, 0)?, int(&row, 1)?)));
            pairs.collect::<Result<HashMap<i64, i64>, OltpError>>()
        };
        let bearers = by_district()?;
        let sums = by_district()?;
        let values_of_districts = |found: &HashMap<i64, i64>, what: &str| {
            let one = |district: &i64| {
                let lacks = || {
                    damaged_data_error(format!("an open order of {w}/{district} lacks its {what}"))
                };
                found.get(district).copied().ok_or_else(lacks)
            };
            districts.iter().map(one).collect::<Result<Vec<i64>, OltpError>>()
        };
        let customers = values_of_districts(&bearers, "row")?;
        let amounts = values_of_districts(&sums, "lines")?;
        // Customers are last, because payments also lock their rows.
        let given: [&dyn super::message::Argument; 4] = [&w, &districts, &customers, &amounts];
        postgres.send(&StatementBatch::within().call("charge_customers", &given).commit())?;
        let delivered = districts.len() as i64;
        Ok(DeliveryOutcome { delivered, skipped: crate::schema::DISTRICTS - delivered })
    })
}

/// Runs Stock-Level; returns the number of items whose stock is low.
pub(super) fn stock_level(
    postgres: &mut PostgresConnection,
    input: &StockLevel,
) -> Result<i64, OltpError> {
    with_rollback(postgres, |postgres| {
        let w = input.warehouse;
        let d = input.district;
        let message = StatementBatch::begin().call("next_order_number", &[&w, &d]);
        let next = int(
            &postgres.send(&message)?.next_single_row("the district of a stock-level query")?,
            0,
        )?;
        let given: [&dyn super::message::Argument; 5] =
            [&w, &d, &(next - 20), &next, &input.threshold];
        let message = StatementBatch::within().call("low_items", &given).commit();
        int(&postgres.send(&message)?.next_single_row("a count")?, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pass_wants_a_row_twice_and_all_keep_their_order() {
        let line =
            |supply_warehouse, item, quantity| OrderLine { supply_warehouse, item, quantity };
        let lines = [line(1, 5, 1), line(1, 5, 2), line(1, 6, 3), line(2, 5, 4), line(1, 5, 9)];
        let found = passes(&lines);
        assert_eq!(found[0], [lines[0], lines[2], lines[3]]);
        assert_eq!(found[1..], [vec![lines[1]], vec![lines[4]]]);
        assert!(passes(&[]).is_empty());
    }
}
