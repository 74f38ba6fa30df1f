//! Rules for tables in addition to the twelve conditions: the numbers of rows, and the valid values.
//!
//! The conditions of the specification compare tables with each other, so they do not detect rows that are missing from
//! all tables. These rules compare each table with the loaded scale, and its columns with the values that clauses 1.3
//! and 4.3.3 and the transactions allow. They also compare tables: for example, the sales of a stock must equal the
//! lines of orders, and the payments of a customer must equal rows of the history. The order of `CASE` branches
//! matters: an unknown result counts as a violation.

use crate::schema::{DISTRICTS, Scale, Table};

/// A rule for a table, with the statement that counts its violations.
pub(super) struct TableRule {
    pub(super) table: Table,
    pub(super) text: &'static str,
    pub(super) sql: String,
}

/// Returns the condition that a column is a whole number from `low` to `high`.
fn integer_rule(column: &str, low: i64, high: i64) -> String {
    format!("{column} BETWEEN {low} AND {high} AND ROUND({column}) = {column}")
}

/// Returns the condition that a column is a whole number of `low` or more.
fn at_least(column: &str, low: i64) -> String {
    format!("{column} >= {low} AND ROUND({column}) = {column}")
}

/// Returns the condition that a column is a string of `low` to `high` characters.
fn length_rule(column: &str, low: i64, high: i64) -> String {
    format!("LENGTH({column}) BETWEEN {low} AND {high}")
}

/// Returns the condition that a column is NULL or a whole number from `low` to `high`.
fn absent_or(column: &str, low: i64, high: i64) -> String {
    format!("({column} IS NULL OR ({}))", integer_rule(column, low, high))
}

/// Returns the columns that identify a row, each with its maximum at this scale; the minimum is 1.
fn keys(table: Table, scale: &Scale) -> Vec<(&'static str, i64)> {
    let w = scale.warehouses;
    let d = DISTRICTS;
    let c = scale.customers();
    match table {
        Table::Item => vec![("i_id", scale.items())],
        Table::Warehouse => vec![("w_id", w)],
        Table::Stock => vec![("s_w_id", w), ("s_i_id", scale.items())],
        Table::District => vec![("d_w_id", w), ("d_id", d)],
        Table::Customer => vec![("c_w_id", w), ("c_d_id", d), ("c_id", c)],
        Table::History => {
            vec![("h_w_id", w), ("h_d_id", d), ("h_c_w_id", w), ("h_c_d_id", d), ("h_c_id", c)]
        }
        Table::Orders => vec![("o_w_id", w), ("o_d_id", d), ("o_c_id", c)],
        Table::NewOrder => vec![("no_w_id", w), ("no_d_id", d)],
        Table::OrderLine => {
            vec![("ol_w_id", w), ("ol_d_id", d), ("ol_supply_w_id", w), ("ol_i_id", scale.items())]
        }
    }
}

/// Returns the conditions on the other columns of a table.
fn values(table: Table, scale: &Scale) -> Vec<String> {
    let customers = scale.customers();
    match table {
        Table::Item => vec![
            integer_rule("i_im_id", 1, 10_000),
            integer_rule("i_price", 100, 10_000),
            length_rule("i_name", 14, 24),
            length_rule("i_data", 26, 50),
        ],
        Table::Warehouse => vec![
            integer_rule("w_tax", 0, 2_000),
            at_least("w_ytd", 1_000 * customers * DISTRICTS),
            length_rule("w_name", 6, 10),
        ],
        Table::Stock => vec![
            // A transaction adds 91 to a quantity that would fall below ten.
            integer_rule("s_quantity", 10, 100),
            at_least("s_order_cnt", 0),
            "s_remote_cnt BETWEEN 0 AND s_order_cnt".to_owned(),
            "s_ytd BETWEEN s_order_cnt AND 10 * s_order_cnt".to_owned(),
            (1..=DISTRICTS)
                .map(|d| format!("LENGTH(s_dist_{d:02}) = 24"))
                .collect::<Vec<_>>()
                .join(" AND "),
            length_rule("s_data", 26, 50),
        ],
        Table::District => vec![
            integer_rule("d_tax", 0, 2_000),
            at_least("d_ytd", 1_000 * customers),
            at_least("d_next_o_id", customers + 1),
            length_rule("d_name", 6, 10),
        ],
        Table::Customer => vec![
            "c_credit IN ('GC', 'BC')".to_owned(),
            "c_middle = 'OE'".to_owned(),
            "c_credit_lim = 5000000".to_owned(),
            integer_rule("c_discount", 0, 5_000),
            at_least("c_ytd_payment", 1_000),
            at_least("c_payment_cnt", 1),
            at_least("c_delivery_cnt", 0),
            "ROUND(c_balance) = c_balance".to_owned(),
            length_rule("c_last", 9, 16),
            length_rule("c_first", 8, 16),
            length_rule("c_phone", 16, 16),
            length_rule("c_data", 300, 500),
        ],
        Table::History => vec![
            integer_rule("h_amount", 100, 500_000),
            at_least("h_date", 0),
            length_rule("h_data", 12, 24),
        ],
        Table::Orders => vec![
            at_least("o_id", 1),
            absent_or("o_carrier_id", 1, 10),
            integer_rule("o_ol_cnt", 5, 15),
            integer_rule("o_all_local", 0, 1),
            at_least("o_entry_d", 0),
        ],
        Table::NewOrder => vec![at_least("no_o_id", scale.delivered() + 1)],
        Table::OrderLine => vec![
            at_least("ol_o_id", 1),
            integer_rule("ol_number", 1, 15),
            integer_rule("ol_quantity", 1, 10),
            integer_rule("ol_amount", 0, 999_999),
            "(ol_delivery_d IS NULL OR (ol_delivery_d >= 0 AND ROUND(ol_delivery_d) = ol_delivery_d))"
                .to_owned(),
            length_rule("ol_dist_info", 24, 24),
        ],
    }
}

/// Returns the number of rows of a table, if the scale determines it.
fn fixed_rows(table: Table, scale: &Scale) -> Option<i64> {
    let rows = match table {
        Table::Item | Table::Warehouse | Table::Stock | Table::District | Table::Customer => {
            keys(table, scale).iter().map(|(_, most)| most).product()
        }
        _ => return None,
    };
    Some(rows)
}

/// Returns SQL that counts the rows for which `good` is not true.
fn bad_rows(from: &str, good: &str) -> String {
    format!("SELECT COUNT(*) FROM {from} WHERE CASE WHEN {good} THEN 0 ELSE 1 END = 1")
}

pub(super) fn rules(scale: &Scale) -> Vec<TableRule> {
    let mut rules = Vec::new();
    for table in Table::ALL {
        let keys: Vec<String> = keys(table, scale)
            .iter()
            .map(|(column, most)| integer_rule(column, 1, *most))
            .collect();
        let keys = keys.join(" AND ");
        if let Some(rows) = fixed_rows(table, scale) {
            // Keys are unique, so all rows exist if the number of valid rows is as expected.
            let sql = format!(
                "SELECT {rows} + COUNT(*) - 2 * COUNT(CASE WHEN {keys} THEN 1 END) FROM {}",
                table.name()
            );
            rules.push(TableRule {
                table,
                text: "contains exactly the rows that its scale requires",
                sql,
            });
        }
        let conditions = [vec![keys], values(table, scale)].concat().join(" AND ");
        let sql = bad_rows(table.name(), &conditions);
        rules.push(TableRule { table, text: "contains only valid values", sql });
    }
    rules.extend(cross_table_rules(scale));
    rules
}

/// Returns the rules that compare several tables.
fn cross_table_rules(scale: &Scale) -> [TableRule; 6] {
    let fresh = scale.customers();
    let delivered = scale.delivered();
    [
        TableRule {
            table: Table::Stock,
            text: "matches the quantities in the order lines",
            sql: bad_rows(
                &format!(
                    "(SELECT s_w_id, SUM(s_ytd) AS sold, SUM(s_order_cnt) AS times, \
                     SUM(s_remote_cnt) AS away FROM stock GROUP BY s_w_id) AS s LEFT JOIN (SELECT \
                     ol_supply_w_id, SUM(ol_quantity) AS took, COUNT(*) AS seen, \
                     COUNT(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 END) AS remote \
                     FROM order_line WHERE ol_o_id > {fresh} GROUP BY ol_supply_w_id) AS l \
                     ON ol_supply_w_id = s_w_id"
                ),
                "sold = COALESCE(took, 0) AND times = COALESCE(seen, 0) AND away = COALESCE(remote, 0)",
            ),
        },
        TableRule {
            table: Table::Customer,
            text: "counts as many payments as the history contains",
            sql: bad_rows(
                "customer LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, COUNT(*) AS seen \
                 FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
                 ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id",
                "c_payment_cnt = COALESCE(seen, 0)",
            ),
        },
        TableRule {
            table: Table::Customer,
            text: "counts as many deliveries as the orders contain",
            sql: bad_rows(
                &format!(
                    "customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, COUNT(*) AS seen \
                     FROM orders WHERE o_carrier_id IS NOT NULL AND o_id > {delivered} \
                     GROUP BY o_w_id, o_d_id, o_c_id) AS o \
                     ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
                ),
                "c_delivery_cnt = COALESCE(seen, 0)",
            ),
        },
        TableRule {
            table: Table::Orders,
            text: "contains every order of a district below its next order number",
            sql: bad_rows(
                "district LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS seen, MIN(o_id) AS low_id, \
                 MAX(o_id) AS high_id FROM orders GROUP BY o_w_id, o_d_id) AS o \
                 ON o_w_id = d_w_id AND o_d_id = d_id",
                "seen = d_next_o_id - 1 AND low_id = 1 AND high_id = seen",
            ),
        },
        TableRule {
            table: Table::OrderLine,
            text: "numbers an order's lines from 1, and the order states whether all lines are local",
            sql: bad_rows(
                "orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS seen, \
                 MIN(ol_number) AS low_id, MAX(ol_number) AS high_id, \
                 COUNT(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 END) AS remote \
                 FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
                 ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id",
                "seen = o_ol_cnt AND low_id = 1 AND high_id = seen \
                 AND o_all_local = CASE WHEN remote = 0 THEN 1 ELSE 0 END",
            ),
        },
        TableRule {
            table: Table::OrderLine,
            text: "contains the item's price",
            sql: bad_rows(
                &format!(
                    "(SELECT ol_i_id, ol_quantity, ol_amount FROM order_line \
                     WHERE ol_o_id > {fresh}) AS l LEFT JOIN item ON i_id = ol_i_id"
                ),
                "ol_amount = ol_quantity * i_price",
            ),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_fixed_size_have_the_product_of_their_keys() {
        let scale = Scale { warehouses: 3, divisor: 10, seed: 1 };
        let rows = Table::ALL.map(|table| fixed_rows(table, &scale));
        let wanted =
            [Some(10_000), Some(3), Some(30_000), Some(30), Some(9_000), None, None, None, None];
        assert_eq!(rows, wanted);
        let of_tables = |table| {
            let own = rules(&scale).into_iter().filter(|rule| rule.table == table);
            own.map(|rule| rule.text).collect::<Vec<_>>()
        };
        let valid = "contains only valid values";
        assert_eq!(
            of_tables(Table::District),
            ["contains exactly the rows that its scale requires", valid]
        );
        assert_eq!(of_tables(Table::NewOrder), [valid]);
        assert_eq!(of_tables(Table::Customer).len(), 4);
    }

    #[test]
    fn bounds_follow_from_the_scale() {
        let scale = Scale { warehouses: 3, divisor: 10, seed: 1 };
        for (table, condition) in [
            (Table::Warehouse, "w_ytd >= 3000000 AND ROUND(w_ytd) = w_ytd"),
            (Table::District, "d_ytd >= 300000 AND"),
            (Table::District, "d_next_o_id >= 301 AND"),
            (Table::NewOrder, "no_o_id >= 211 AND"),
            (Table::Stock, "LENGTH(s_dist_09) = 24 AND LENGTH(s_dist_10) = 24"),
        ] {
            let all = values(table, &scale).join(" AND ") + " AND";
            assert!(all.contains(condition), "{condition} in {all}");
        }
        assert_eq!(integer_rule("x", 2, 5), "x BETWEEN 2 AND 5 AND ROUND(x) = x");
        assert_eq!(absent_or("x", 2, 5), "(x IS NULL OR (x BETWEEN 2 AND 5 AND ROUND(x) = x))");
        assert_eq!(length_rule("x", 2, 5), "LENGTH(x) BETWEEN 2 AND 5");
    }
}
