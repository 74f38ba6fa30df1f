//! The inputs of the users' transactions (TPC-C 5.11, clauses 2.4.1 to 2.8.1), as a pure function of the seed.
//!
//! The lines of an order are sorted by their rows of stock, so that orders for the same stock cannot deadlock; the
//! specification does not prescribe the order of the lines. An invalid item stays last.

use lanemark_schema::rng::{Rng, StreamKey};

use crate::nurand::{NurandConstants, nurand};
use crate::profile::TransactionProfile;
use crate::schema::{DISTRICTS, Scale};
use crate::text::{between, last_name};

/// Number of the first random stream of the users; the contents use streams with lower numbers.
const STREAM: u32 = 100;

/// The key that selects the customer of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomerKey {
    Number(i64),
    /// The customer's last name, which selects the middle customer with that name.
    LastName(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderLine {
    /// The warehouse that supplies the item.
    pub supply_warehouse: i64,
    pub item: i64,
    /// Quantity of the item, from 1 to 10.
    pub quantity: i64,
}

/// An order to enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The terminal's warehouse.
    pub warehouse: i64,
    /// The customer's district.
    pub district: i64,
    pub customer: i64,
    /// The 5 to 15 lines of the order.
    pub lines: Vec<OrderLine>,
    /// Time of entry, in milliseconds since 1970.
    pub at_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The terminal's warehouse.
    pub warehouse: i64,
    pub district: i64,
    /// The customer's warehouse; in 15 of 100 cases a different warehouse.
    pub customer_warehouse: i64,
    pub customer_district: i64,
    pub customer: CustomerKey,
    /// Amount of the payment, in cents.
    pub amount: i64,
    /// Time of payment, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A query for a customer's last order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// The terminal's warehouse.
    pub warehouse: i64,
    /// The customer's district.
    pub district: i64,
    pub customer: CustomerKey,
}

/// A delivery of each district's oldest open order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The terminal's warehouse.
    pub warehouse: i64,
    /// Number of the carrier, from 1 to 10.
    pub carrier: i64,
    /// Time of delivery, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A query for items whose stock is low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The terminal's warehouse.
    pub warehouse: i64,
    /// The terminal's district.
    pub district: i64,
    /// The quantity below which an item is low, from 10 to 20.
    pub threshold: i64,
}

/// The sequence of inputs of one user.
#[derive(Clone, Debug)]
pub struct Inputs {
    rng: Rng,
    scale: Scale,
    constants: NurandConstants,
    profile: TransactionProfile,
    warehouse: i64,
    district: i64,
}

impl Inputs {
    /// Returns the inputs of `user` in `repeat`. Users are assigned to the warehouses in turn, up to ten per warehouse.
    pub fn new(
        scale: Scale,
        profile: TransactionProfile,
        seed: u64,
        repeat: u32,
        user: u32,
    ) -> Self {
        Self {
            rng: Rng::new(StreamKey { seed, test: STREAM, repeat, thread: user }),
            constants: NurandConstants::from_seed(scale.seed),
            profile,
            warehouse: i64::from(user) % scale.warehouses + 1,
            district: i64::from(user) / scale.warehouses % DISTRICTS + 1,
            scale,
        }
    }

    /// Returns the random numbers for choices between transactions.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Draws an order; one in 100 has an item that does not exist.
    pub fn new_order(&mut self, at_ms: i64) -> NewOrder {
        let warehouse = self.warehouse;
        let count = between(&mut self.rng, 5, 15);
        let mut lines: Vec<OrderLine> = (0..count).map(|_| self.line()).collect();
        lines.sort_unstable();
        if self.rng.below(100) == 0 {
            lines.sort_unstable_by_key(|line| line.supply_warehouse != warehouse);
            let last = lines.len() - 1;
            lines[..last].sort_unstable();
            lines[last].item = self.scale.items() + 1;
        }
        let district = between(&mut self.rng, 1, DISTRICTS);
        NewOrder { warehouse, district, customer: self.customer_number(), lines, at_ms }
    }

    fn line(&mut self) -> OrderLine {
        let items = self.scale.items();
        let item = if self.profile.is_uniform() {
            between(&mut self.rng, 1, items)
        } else {
            nurand(&mut self.rng, 8_191, self.constants.item, 1, items)
        };
        let remote = self.rng.below(100) == 0;
        let supply_warehouse = if remote { self.other_warehouse() } else { self.warehouse };
        OrderLine { supply_warehouse, item, quantity: between(&mut self.rng, 1, 10) }
    }

    pub fn payment(&mut self, at_ms: i64) -> Payment {
        let district = between(&mut self.rng, 1, DISTRICTS);
        let remote = self.rng.below(100) < 15 && self.scale.warehouses > 1;
        let (customer_warehouse, customer_district) = if remote {
            (self.other_warehouse(), between(&mut self.rng, 1, DISTRICTS))
        } else {
            (self.warehouse, district)
        };
        Payment {
            warehouse: self.warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(),
            amount: between(&mut self.rng, 100, 500_000),
            at_ms,
        }
    }

    /// Draws a query for an order.
    pub fn order_status(&mut self) -> OrderStatus {
        let district = between(&mut self.rng, 1, DISTRICTS);
        OrderStatus { warehouse: self.warehouse, district, customer: self.customer() }
    }

    pub fn delivery(&mut self, at_ms: i64) -> Delivery {
        let carrier = between(&mut self.rng, 1, 10);
        Delivery { warehouse: self.warehouse, carrier, at_ms }
    }

    /// Draws a query for stock.
    pub fn stock_level(&mut self) -> StockLevel {
        let threshold = between(&mut self.rng, 10, 20);
        StockLevel { warehouse: self.warehouse, district: self.district, threshold }
    }

    /// Draws a customer: in 60 of 100 cases by last name, otherwise by number.
    fn customer(&mut self) -> CustomerKey {
        if self.rng.below(100) >= 60 {
            return CustomerKey::Number(self.customer_number());
        }
        let last = self.scale.last_names() - 1;
        CustomerKey::LastName(last_name(nurand(
            &mut self.rng,
            255,
            self.constants.last_run,
            0,
            last,
        )))
    }

    fn customer_number(&mut self) -> i64 {
        let customers = self.scale.customers();
        if self.profile.is_uniform() {
            between(&mut self.rng, 1, customers)
        } else {
            nurand(&mut self.rng, 1_023, self.constants.customer, 1, customers)
        }
    }

    /// Draws a warehouse other than the terminal's; returns the terminal's warehouse if it is the only one.
    fn other_warehouse(&mut self) -> i64 {
        if self.scale.warehouses == 1 {
            return self.warehouse;
        }
        let drawn = between(&mut self.rng, 1, self.scale.warehouses - 1);
        drawn + i64::from(drawn >= self.warehouse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Scale = Scale { warehouses: 20, divisor: 1, seed: 4 };
    const DRAWS: u32 = 200_000;

    fn inputs(profile: TransactionProfile) -> Inputs {
        Inputs::new(FULL, profile, 9, 0, 3)
    }

    fn per_cent(count: usize, of: usize) -> f64 {
        100.0 * count as f64 / of as f64
    }

    #[test]
    fn one_order_of_a_hundred_is_rolled_back() {
        let mut inputs = inputs(TransactionProfile::Tpcc);
        let invalid = |order: &NewOrder| order.lines.last().unwrap().item > FULL.items();
        let found = (0..DRAWS).filter(|_| invalid(&inputs.new_order(0))).count();
        let share = per_cent(found, DRAWS as usize);
        assert!((share - 1.0).abs() < 0.1, "{share}");
    }

    #[test]
    fn one_line_in_a_hundred_of_an_order_is_remote() {
        for profile in [TransactionProfile::Tpcc, TransactionProfile::Hammerdb] {
            let mut inputs = inputs(profile);
            let mut lines = 0;
            let mut remote = 0;
            for _ in 0..50_000 {
                let order = inputs.new_order(0);
                assert!((5..=15).contains(&order.lines.len()));
                lines += order.lines.len();
                remote += order.lines.iter().filter(|line| line.supply_warehouse != 4).count();
                let valid = |line: &OrderLine| {
                    (1..=20).contains(&line.supply_warehouse)
                        && (1..=100_001).contains(&line.item)
                        && (1..=10).contains(&line.quantity)
                };
                assert!(order.lines.iter().all(valid));
            }
            assert!((per_cent(remote, lines) - 1.0).abs() < 0.1);
            assert!((lines as f64 / 50_000.0 - 10.0).abs() < 0.05);
        }
    }

    #[test]
    fn payments_are_15_per_cent_remote_and_60_by_name() {
        let mut inputs = inputs(TransactionProfile::Tpcc);
        let drawn: Vec<Payment> = (0..DRAWS).map(|_| inputs.payment(0)).collect();
        let share = |test: fn(&Payment) -> bool| {
            per_cent(drawn.iter().filter(|payment| test(payment)).count(), drawn.len())
        };
        assert!(
            (share(|payment| payment.customer_warehouse != payment.warehouse) - 15.0).abs() < 0.3
        );
        let by_name = share(|payment| matches!(payment.customer, CustomerKey::LastName(_)));
        assert!((by_name - 60.0).abs() < 0.4);
        assert!(drawn.iter().all(|payment| (100..=500_000).contains(&payment.amount)));
    }

    #[test]
    fn with_one_warehouse_nothing_is_remote() {
        let mut inputs =
            Inputs::new(Scale { warehouses: 1, ..FULL }, TransactionProfile::Tpcc, 1, 0, 0);
        for _ in 0..2_000 {
            assert!(inputs.new_order(0).lines.iter().all(|line| line.supply_warehouse == 1));
            assert_eq!(inputs.payment(0).customer_warehouse, 1);
        }
    }

    #[test]
    fn uniform_customers_are_uniform_and_others_are_not() {
        let greatest = |profile| {
            let mut inputs = inputs(profile);
            let mut counts = vec![0u32; 3_001];
            (0..DRAWS).for_each(|_| counts[inputs.new_order(0).customer as usize] += 1);
            f64::from(*counts.iter().max().unwrap()) / (f64::from(DRAWS) / 3_000.0)
        };
        assert!(greatest(TransactionProfile::Hammerdb) < 2.0);
        assert!(greatest(TransactionProfile::Tpcc) > 5.0);
    }

    #[test]
    fn a_seed_gives_one_stream_and_users_differ() {
        let orders = |user| {
            let mut inputs = Inputs::new(FULL, TransactionProfile::Tpcc, 1, 0, user);
            (0..5).map(|_| inputs.new_order(0)).collect::<Vec<_>>()
        };
        assert_eq!(orders(2), orders(2));
        assert_ne!(orders(2), orders(22));
    }
}
