//! Damage that no consistency condition of the specification detects, and the checks that detect it.

use lanemark_oltp::Database;
use lanemark_oltp::check::{ConditionSource, check};
use lanemark_oltp::schema::Table;

const ROWS: &str = "contains exactly the rows that its scale requires";
const VALUES: &str = "contains only valid values";

/// Each kind of damage, with the table and the rule that must detect it. The kinds are applied in sequence, and no kind
/// hides the next.
const DAMAGE: &[(&str, Table, &str)] = &[
    ("UPDATE item SET i_price = 0 WHERE i_id = 1", Table::Item, VALUES),
    (
        "UPDATE item SET i_price = 1 + i_price WHERE i_id > 1",
        Table::OrderLine,
        "contains the item's price",
    ),
    ("DELETE FROM item WHERE i_id = 7", Table::Item, ROWS),
    ("UPDATE warehouse SET w_tax = 20000 WHERE w_id = 1", Table::Warehouse, VALUES),
    ("UPDATE stock SET s_quantity = -5 WHERE s_i_id = 3", Table::Stock, VALUES),
    (
        "UPDATE stock SET s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_i_id = 4",
        Table::Stock,
        "matches the quantities in the order lines",
    ),
    ("DELETE FROM stock WHERE s_i_id = 5", Table::Stock, ROWS),
    ("UPDATE district SET d_tax = NULL WHERE d_id = 2", Table::District, VALUES),
    ("UPDATE customer SET c_credit = 'XX' WHERE c_id = 1", Table::Customer, VALUES),
    (
        "UPDATE customer SET c_payment_cnt = c_payment_cnt + 1 WHERE c_id = 2",
        Table::Customer,
        "counts as many payments as the history contains",
    ),
    (
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = 3",
        Table::Customer,
        "counts as many deliveries as the orders contain",
    ),
    ("DELETE FROM customer WHERE c_id = 4", Table::Customer, ROWS),
    ("UPDATE history SET h_c_id = 31000 WHERE h_c_id = 5", Table::History, VALUES),
    ("UPDATE orders SET o_carrier_id = 11 WHERE o_id = 1", Table::Orders, VALUES),
    (
        "UPDATE orders SET o_all_local = 0 WHERE o_id = 2",
        Table::OrderLine,
        "numbers an order's lines from 1, and the order states whether all lines are local",
    ),
    (
        "DELETE FROM orders WHERE o_id = 3",
        Table::Orders,
        "contains every order of a district below its next order number",
    ),
    ("UPDATE new_order SET no_o_id = 1 WHERE no_o_id = 25", Table::NewOrder, VALUES),
    ("UPDATE order_line SET ol_quantity = 11 WHERE ol_o_id = 4", Table::OrderLine, VALUES),
    ("DELETE FROM district WHERE d_id = 9", Table::District, ROWS),
    ("DELETE FROM warehouse WHERE w_id = 1", Table::Warehouse, ROWS),
];

/// Returns the number of rows that violate a rule.
pub(crate) fn broken(database: &Database, table: Table, text: &str) -> i64 {
    let loaded = database.loaded().unwrap();
    let conditions = check(database.connect().unwrap().as_mut(), &loaded).unwrap();
    let condition = conditions.iter().find(|condition| {
        condition.source == ConditionSource::Table(table) && condition.text == text
    });
    condition.unwrap_or_else(|| panic!("{table:?}: {text}")).broken
}

/// Panics unless each kind of damage to a fresh database violates its rule, which was satisfied before.
pub(crate) fn assert_found(database: &Database) {
    // The items' prices are compared with lines that were ordered later.
    let order = "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
        ol_quantity, ol_amount, ol_dist_info) SELECT 1, 1, 31, 1, 2, 1, 3, 3 * i_price, \
        'abcdefghijklmnopqrstuvwx' FROM item WHERE i_id = 2";
    let sold = "UPDATE stock SET s_ytd = 3, s_order_cnt = 1 WHERE s_w_id = 1 AND s_i_id = 2";
    let mut connection = database.connect().unwrap();
    for sql in [order, sold] {
        connection.script(sql).unwrap();
    }
    for (sql, table, text) in DAMAGE {
        assert_eq!(broken(database, *table, text), 0, "before {sql}");
        connection.script(sql).unwrap();
        assert!(broken(database, *table, text) > 0, "{table:?}: {text}: holds after {sql}");
    }
}
