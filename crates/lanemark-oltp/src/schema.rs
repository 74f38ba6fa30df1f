//! The nine tables of TPC-C 5.11, clause 1.3, as data from which each database creates its tables.
//!
//! Two deviations from the specification make contents comparable bit by bit. Values are integers: amounts of money are
//! in cents, rates in ten-thousandths, and dates in milliseconds since 1970. Texts are not padded.

use crate::error::OltpError;

/// Number of districts per warehouse.
pub const DISTRICTS: i64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A number that fits into 16 bits.
    Small,
    /// A number that fits into 32 bits.
    Int,
    /// Money in cents, or a date in milliseconds.
    Big,
    Text,
}

/// A column's name and type.
pub type Column = (&'static str, ColumnType);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Items for sale, which are the same for every warehouse.
    Item,
    Warehouse,
    /// Stock of each item in a warehouse.
    Stock,
    /// Districts, ten per warehouse.
    District,
    Customer,
    /// Payments.
    History,
    Orders,
    /// Orders that have not been delivered.
    NewOrder,
    OrderLine,
}

use ColumnType::{Big, Int, Small, Text};

const ITEM: &[Column] =
    &[("i_id", Int), ("i_im_id", Int), ("i_name", Text), ("i_price", Big), ("i_data", Text)];
const WAREHOUSE: &[Column] = &[
    ("w_id", Int),
    ("w_name", Text),
    ("w_street_1", Text),
    ("w_street_2", Text),
    ("w_city", Text),
    ("w_state", Text),
    ("w_zip", Text),
    ("w_tax", Int),
    ("w_ytd", Big),
];
const STOCK: &[Column] = &[
    ("s_i_id", Int),
    ("s_w_id", Int),
    ("s_quantity", Int),
    ("s_dist_01", Text),
    ("s_dist_02", Text),
    ("s_dist_03", Text),
    ("s_dist_04", Text),
    ("s_dist_05", Text),
    ("s_dist_06", Text),
    ("s_dist_07", Text),
    ("s_dist_08", Text),
    ("s_dist_09", Text),
    ("s_dist_10", Text),
    ("s_ytd", Int),
    ("s_order_cnt", Int),
    ("s_remote_cnt", Int),
    ("s_data", Text),
];
const DISTRICT: &[Column] = &[
    ("d_id", Small),
    ("d_w_id", Int),
    ("d_name", Text),
    ("d_street_1", Text),
    ("d_street_2", Text),
    ("d_city", Text),
    ("d_state", Text),
    ("d_zip", Text),
    ("d_tax", Int),
    ("d_ytd", Big),
    ("d_next_o_id", Int),
];
const CUSTOMER: &[Column] = &[
    ("c_id", Int),
    ("c_d_id", Small),
    ("c_w_id", Int),
    ("c_first", Text),
    ("c_middle", Text),
    ("c_last", Text),
    ("c_street_1", Text),
    ("c_street_2", Text),
    ("c_city", Text),
    ("c_state", Text),
    ("c_zip", Text),
    ("c_phone", Text),
    ("c_since", Big),
    ("c_credit", Text),
    ("c_credit_lim", Big),
    ("c_discount", Int),
    ("c_balance", Big),
    ("c_ytd_payment", Big),
    ("c_payment_cnt", Int),
    ("c_delivery_cnt", Int),
    ("c_data", Text),
];
const HISTORY: &[Column] = &[
    ("h_c_id", Int),
    ("h_c_d_id", Small),
    ("h_c_w_id", Int),
    ("h_d_id", Small),
    ("h_w_id", Int),
    ("h_date", Big),
    ("h_amount", Big),
    ("h_data", Text),
];
const ORDERS: &[Column] = &[
    ("o_id", Int),
    ("o_d_id", Small),
    ("o_w_id", Int),
    ("o_c_id", Int),
    ("o_entry_d", Big),
    ("o_carrier_id", Small),
    ("o_ol_cnt", Small),
    ("o_all_local", Small),
];
const NEW_ORDER: &[Column] = &[("no_o_id", Int), ("no_d_id", Small), ("no_w_id", Int)];
const ORDER_LINE: &[Column] = &[
    ("ol_o_id", Int),
    ("ol_d_id", Small),
    ("ol_w_id", Int),
    ("ol_number", Small),
    ("ol_i_id", Int),
    ("ol_supply_w_id", Int),
    ("ol_delivery_d", Big),
    ("ol_quantity", Small),
    ("ol_amount", Big),
    ("ol_dist_info", Text),
];

/// SQL that creates the indexes in addition to the primary keys.
pub(crate) const INDEXES: &str = "\
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
";

impl Table {
    /// All nine tables, in loading order.
    pub const ALL: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::Stock,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrder,
        Self::OrderLine,
    ];

    /// Returns the table's name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::Stock => "stock",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::NewOrder => "new_order",
            Self::OrderLine => "order_line",
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Item => ITEM,
            Self::Warehouse => WAREHOUSE,
            Self::Stock => STOCK,
            Self::District => DISTRICT,
            Self::Customer => CUSTOMER,
            Self::History => HISTORY,
            Self::Orders => ORDERS,
            Self::NewOrder => NEW_ORDER,
            Self::OrderLine => ORDER_LINE,
        }
    }

    /// Returns the names of the table's columns as a list in SQL.
    pub(crate) fn column_names(self) -> String {
        let names: Vec<&str> = self.columns().iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Returns SQL that creates the table. `kind` returns the SQL type of each column; the statement includes the
    /// primary key if `keyed` is set.
    pub(crate) fn sql(
        self,
        kind: fn(&str, ColumnType) -> &'static str,
        keyed: bool,
        ending: &str,
    ) -> String {
        let column = |(name, holds): &Column| format!("{name} {}", kind(name, *holds));
        let mut columns: Vec<String> = self.columns().iter().map(column).collect();
        columns.extend(self.key().filter(|_| keyed).map(|key| format!("PRIMARY KEY ({key})")));
        format!("CREATE TABLE {} ({}){ending};\n", self.name(), columns.join(", "))
    }

    /// Returns the columns of the table's primary key; `None` for the history.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::Item => Some("i_id"),
            Self::Warehouse => Some("w_id"),
            Self::Stock => Some("s_w_id, s_i_id"),
            Self::District => Some("d_w_id, d_id"),
            Self::Customer => Some("c_w_id, c_d_id, c_id"),
            Self::History => None,
            Self::Orders => Some("o_w_id, o_d_id, o_id"),
            Self::NewOrder => Some("no_w_id, no_d_id, no_o_id"),
            Self::OrderLine => Some("ol_w_id, ol_d_id, ol_o_id, ol_number"),
        }
    }
}

/// The scale of a database and the seed of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Scale {
    pub warehouses: i64,
    /// Divisor of the specification's numbers of items and customers; values other than 1 are for tests.
    pub divisor: i64,
    pub seed: u64,
}

impl std::fmt::Display for Scale {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} warehouses of seed {}", self.warehouses, self.seed)?;
        match self.divisor {
            1 => Ok(()),
            divisor => write!(out, " at a scale of 1/{divisor}"),
        }
    }
}

impl Scale {
    pub const WAREHOUSES_MAX: i64 = 100_000;
    /// Maximum divisor, which leaves 30 customers per district.
    pub const DIVISOR_MAX: i64 = 100;

    /// Checks the number of warehouses and the divisor against their bounds.
    pub fn check(&self) -> Result<(), OltpError> {
        let bound = |what, value, max| {
            if (1..=max).contains(&value) {
                Ok(())
            } else {
                Err(OltpError::Bound { what, value, min: 1, max })
            }
        };
        bound("warehouses", self.warehouses, Self::WAREHOUSES_MAX)?;
        bound("scale", self.divisor, Self::DIVISOR_MAX)
    }

    /// Returns the number of items; 100,000 unless divided.
    pub fn items(&self) -> i64 {
        100_000 / self.divisor
    }

    /// Returns the number of customers per district, which is also the number of initial orders; 3,000 unless divided.
    pub fn customers(&self) -> i64 {
        3_000 / self.divisor
    }

    /// Returns the number of initially delivered orders per district; 2,100 unless divided.
    pub fn delivered(&self) -> i64 {
        self.customers() * 7 / 10
    }

    /// Returns the number of last names in use; 1,000 unless there are fewer customers.
    pub fn last_names(&self) -> i64 {
        self.customers().min(1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(warehouses: i64, divisor: i64) -> Scale {
        Scale { warehouses, divisor, seed: 9 }
    }

    #[test]
    fn a_scale_divides_items_and_customers_within_its_bounds() {
        let counts = |divisor| {
            let scale = scale(2, divisor);
            [scale.items(), scale.customers(), scale.delivered(), scale.last_names()]
        };
        assert_eq!(counts(1), [100_000, 3_000, 2_100, 1_000]);
        assert_eq!(counts(2), [50_000, 1_500, 1_050, 1_000]);
        assert_eq!(counts(7), [14_285, 428, 299, 428]);
        for (warehouses, divisor, fits) in [
            (1, 1, true),
            (Scale::WAREHOUSES_MAX, Scale::DIVISOR_MAX, true),
            (0, 1, false),
            (Scale::WAREHOUSES_MAX + 1, 1, false),
            (1, 0, false),
            (1, Scale::DIVISOR_MAX + 1, false),
        ] {
            assert_eq!(scale(warehouses, divisor).check().is_ok(), fits, "{warehouses} {divisor}");
        }
        assert_eq!(scale(3, 1).to_string(), "3 warehouses of seed 9");
        assert_eq!(scale(3, 4).to_string(), "3 warehouses of seed 9 at a scale of 1/4");
    }

    #[test]
    fn a_table_is_made_with_its_columns_its_key_and_its_ending() {
        let kind = |name: &str, kind: ColumnType| match (name, kind) {
            ("no_w_id", _) => "OWN",
            (_, ColumnType::Small) => "SMALL",
            (_, ColumnType::Int) => "INT",
            (_, ColumnType::Big) => "BIG",
            (_, ColumnType::Text) => "TEXT",
        };
        assert_eq!(
            Table::NewOrder.sql(kind, true, " END"),
            "CREATE TABLE new_order (no_o_id INT, no_d_id SMALL, no_w_id OWN, \
             PRIMARY KEY (no_w_id, no_d_id, no_o_id)) END;\n"
        );
        assert!(!Table::NewOrder.sql(kind, false, "").contains("PRIMARY"));
        assert!(!Table::History.sql(kind, true, "").contains("PRIMARY"));
        assert_eq!(Table::NewOrder.column_names(), "no_o_id, no_d_id, no_w_id");
        let mut names: Vec<&str> =
            Table::ALL.iter().flat_map(|table| table.columns()).map(|one| one.0).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), all), (92, 92));
        for table in Table::ALL {
            let columns = table.columns();
            for column in table.key().into_iter().flat_map(|key| key.split(", ")) {
                assert!(columns.iter().any(|(name, _)| *name == column), "{column}");
            }
        }
    }
}
