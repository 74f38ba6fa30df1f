//! The contents of a fresh database (TPC-C 5.11, clause 4.3.3.1), table by table and warehouse by warehouse.
//!
//! Each district of each table has its own random stream, so the same seed produces the same rows, regardless of the
//! order of loading, the number of connections and the database. All dates fall on one fixed day.

use lanemark_schema::rng::{Rng, StreamKey};

use crate::error::OltpError;
use crate::nurand::{NurandConstants, nurand};
use crate::schema::{DISTRICTS, Scale, Table};
use crate::text::{between, data, digits, last_name, letters, zip};
use crate::value::{Value, values};

/// The date of all initial rows: 2010-02-01, which is the date of TPC-C revision 5.11.
pub const LOADED_AT_MS: i64 = 1_264_982_400_000;

/// The receiver of rows.
pub type RowSink<'a> = dyn FnMut(&[Value<'_>]) -> Result<(), OltpError> + 'a;

/// Number of the random stream for permutations and line counts, which several tables share.
const ORDERS_STREAM: u32 = 90;

/// Generates the rows of a scale.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    scale: Scale,
    constants: NurandConstants,
}

impl Population {
    /// Returns the contents of `scale`.
    pub fn new(scale: Scale) -> Self {
        Self { scale, constants: NurandConstants::from_seed(scale.seed) }
    }

    /// Passes the rows of `table` that belong to `warehouse` to `sink`. Items belong to every warehouse.
    pub fn rows(
        &self,
        table: Table,
        warehouse: i64,
        sink: &mut RowSink<'_>,
    ) -> Result<(), OltpError> {
        match table {
            Table::Item => self.items(sink),
            Table::Warehouse => self.warehouse(warehouse, sink),
            Table::Stock => self.stock(warehouse, sink),
            _ => (1..=DISTRICTS).try_for_each(|district| match table {
                Table::District => self.district(warehouse, district, sink),
                Table::Customer => self.customers(warehouse, district, sink),
                Table::History => self.history(warehouse, district, sink),
                Table::Orders => self.orders(warehouse, district, sink),
                Table::NewOrder => self.new_orders(warehouse, district, sink),
                _ => self.order_lines(warehouse, district, sink),
            }),
        }
    }

    fn rng(&self, test: u32, warehouse: i64, district: i64) -> Rng {
        Rng::new(StreamKey {
            seed: self.scale.seed,
            test,
            repeat: warehouse as u32,
            thread: district as u32,
        })
    }

    fn items(&self, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::Item as u32, 0, 0);
        (1..=self.scale.items()).try_for_each(|item| {
            let image = between(&mut rng, 1, 10_000);
            let name = letters(&mut rng, 14, 24);
            let price = between(&mut rng, 100, 10_000);
            sink(&values![item, image, name, price, data(&mut rng)])
        })
    }

    fn warehouse(&self, warehouse: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::Warehouse as u32, warehouse, 0);
        let name = letters(&mut rng, 6, 10);
        let [street_1, street_2, city, state] = address(&mut rng);
        let zip = zip(&mut rng);
        let tax = between(&mut rng, 0, 2_000);
        let ytd = 1_000 * self.scale.customers() * DISTRICTS;
        sink(&values![warehouse, name, street_1, street_2, city, state, zip, tax, ytd])
    }

    fn stock(&self, warehouse: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::Stock as u32, warehouse, 0);
        let mut row = Vec::with_capacity(17);
        (1..=self.scale.items()).try_for_each(|item| {
            row.clear();
            row.extend(values![item, warehouse, between(&mut rng, 10, 100)]);
            row.extend((0..DISTRICTS).map(|_| Value::from(letters(&mut rng, 24, 24))));
            row.extend(values![0, 0, 0, data(&mut rng)]);
            sink(&row)
        })
    }

    fn district(&self, warehouse: i64, d: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::District as u32, warehouse, d);
        let name = letters(&mut rng, 6, 10);
        let [street_1, street_2, city, state] = address(&mut rng);
        let zip = zip(&mut rng);
        let tax = between(&mut rng, 0, 2_000);
        let ytd = 1_000 * self.scale.customers();
        let next = self.scale.customers() + 1;
        sink(&values![d, warehouse, name, street_1, street_2, city, state, zip, tax, ytd, next])
    }

    fn customers(&self, warehouse: i64, d: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::Customer as u32, warehouse, d);
        (1..=self.scale.customers()).try_for_each(|customer| {
            let name = if customer <= 1_000 {
                customer - 1
            } else {
                nurand(&mut rng, 255, self.constants.last_load, 0, 999)
            };
            let first = letters(&mut rng, 8, 16);
            let [street_1, street_2, city, state] = address(&mut rng);
            let zip = zip(&mut rng);
            let phone = digits(&mut rng, 16);
            let credit = if rng.below(10) == 0 { "BC" } else { "GC" };
            let discount = between(&mut rng, 0, 5_000);
            let data = letters(&mut rng, 300, 500);
            sink(&values![
                customer,
                d,
                warehouse,
                first,
                "OE",
                last_name(name),
                street_1,
                street_2,
                city,
                state,
                zip,
                phone,
                LOADED_AT_MS,
                credit,
                5_000_000,
                discount,
                -1_000,
                1_000,
                1,
                0,
                data,
            ])
        })
    }

    fn history(&self, warehouse: i64, d: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::History as u32, warehouse, d);
        (1..=self.scale.customers()).try_for_each(|customer| {
            let data = letters(&mut rng, 12, 24);
            sink(&values![customer, d, warehouse, d, warehouse, LOADED_AT_MS, 1_000, data])
        })
    }

    /// Returns the customer and the number of lines of each order, in the sequence of the orders.
    fn outlines(&self, warehouse: i64, district: i64) -> Vec<(i64, i64)> {
        let mut rng = self.rng(ORDERS_STREAM, warehouse, district);
        let mut customers: Vec<i64> = (1..=self.scale.customers()).collect();
        for at in (1..customers.len()).rev() {
            customers.swap(at, rng.below(at as u64 + 1) as usize);
        }
        customers.into_iter().map(|customer| (customer, between(&mut rng, 5, 15))).collect()
    }

    fn orders(&self, warehouse: i64, d: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::Orders as u32, warehouse, d);
        let outlines = self.outlines(warehouse, d);
        (1..).zip(outlines).try_for_each(|(order, (customer, lines))| {
            let carrier = (order <= self.scale.delivered()).then(|| between(&mut rng, 1, 10));
            sink(&values![order, d, warehouse, customer, LOADED_AT_MS, carrier, lines, 1])
        })
    }

    fn new_orders(&self, warehouse: i64, d: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut open = self.scale.delivered() + 1..=self.scale.customers();
        open.try_for_each(|order| sink(&values![order, d, warehouse]))
    }

    fn order_lines(&self, warehouse: i64, d: i64, sink: &mut RowSink<'_>) -> Result<(), OltpError> {
        let mut rng = self.rng(Table::OrderLine as u32, warehouse, d);
        let outlines = self.outlines(warehouse, d);
        (1..).zip(outlines).try_for_each(|(order, (_, lines))| {
            let delivered = order <= self.scale.delivered();
            (1..=lines).try_for_each(|line| {
                let item = between(&mut rng, 1, self.scale.items());
                let amount = if delivered { 0 } else { between(&mut rng, 1, 999_999) };
                let date = delivered.then_some(LOADED_AT_MS);
                let info = letters(&mut rng, 24, 24);
                sink(&values![order, d, warehouse, line, item, warehouse, date, 5, amount, info])
            })
        })
    }
}

/// Draws two streets, a city and a state.
fn address(rng: &mut Rng) -> [String; 4] {
    [letters(rng, 10, 20), letters(rng, 10, 20), letters(rng, 10, 20), letters(rng, 2, 2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warehouse_has_the_rows_of_the_specification() {
        let population = Population::new(Scale { warehouses: 1, divisor: 1, seed: 1 });
        let count = |table: Table| {
            let mut rows = 0;
            let mut count = |row: &[Value<'_>]| {
                assert_eq!(row.len(), table.columns().len());
                rows += 1;
                Ok(())
            };
            population.rows(table, 1, &mut count).unwrap();
            rows
        };
        let counts: Vec<i64> = Table::ALL.iter().map(|&table| count(table)).collect();
        assert_eq!(counts[..8], [100_000, 1, 100_000, 10, 30_000, 30_000, 30_000, 9_000]);
        assert!((295_000..305_000).contains(&counts[8]), "{} order lines", counts[8]);
    }
}
