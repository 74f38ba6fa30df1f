//! The number of servers that a load needs with either of two drives, and the costs.
//!
//! The published model is a single statement: a server that does 25% more work saves one server in five. This model
//! computes whole servers, spare capacity, prices, licences and energy. It also returns the price of the other drive at
//! which the saving is zero.

use serde::{Deserialize, Serialize};

use super::{Plan, PlanError, check_range, not_negative, number_text, positive};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Name of the kind of server, such as `SAS`.
    pub name: String,
    /// Work that one server does, in the unit of the demand.
    pub rate: f64,
    /// Power of one server including its drives, in W.
    pub watts: f64,
    /// Price of one drive in the server.
    pub drive_price: f64,
}

/// Prices and quantities that apply to both kinds of server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Price of a server without its drives.
    pub server_price: f64,
    /// Price of licences and support per server for the whole period.
    pub licence_price: f64,
    /// Number of drives per server.
    pub drives: u32,
    /// Time that the servers run, in years.
    pub years: f64,
    /// Price of a kilowatt hour.
    pub energy_price: f64,
    /// Power of the building per watt of server power (PUE), in W/W.
    pub overhead: f64,
}

/// A load, and two kinds of server for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// Work that all servers must do together, in `unit`.
    pub demand: f64,
    pub unit: String,
    /// The share of each server's capacity that is kept free.
    pub spare_share: f64,
    /// Number of spare servers that can replace failed servers.
    pub spare_nodes: u32,
    /// The present kind of server.
    pub present: Node,
    /// The other kind of server.
    pub other: Node,
    /// Costs of power and of servers.
    pub costs: Costs,
}

impl Fleet {
    /// Computes the number of servers and their costs, and the price of the other drive at which both fleets cost the
    /// same.
    ///
    /// # Errors
    /// Returns the first input that is out of bounds.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        self.check()?;
        check_range("years", self.costs.years, 0.001..=100.0, "must be from 0.001 to 100")?;
        for (input, value) in [
            ("server price", self.costs.server_price),
            ("licence price", self.costs.licence_price),
            ("energy price", self.costs.energy_price),
            ("overhead", self.costs.overhead),
        ] {
            not_negative(input, value)?;
        }
        let mut plan = Plan::new("How many servers does this load take, and what do they cost?");
        let (present_nodes, present_fixed, present_cost) = self.cost(&mut plan, &self.present)?;
        let (other_nodes, other_fixed, other_cost) = self.cost(&mut plan, &self.other)?;
        servers_saved(&mut plan, present_nodes, other_nodes);
        if other_cost <= present_cost {
            plan.step(
                "total saving",
                format!("{present_cost:.0} - {other_cost:.0}"),
                present_cost - other_cost,
                "",
            )
        } else {
            plan.step(
                "additional cost",
                format!("{other_cost:.0} - {present_cost:.0}"),
                other_cost - present_cost,
                "",
            )
        };
        let drives = other_nodes * f64::from(self.costs.drives);
        let even = (drives > 0.0).then(|| (present_cost - other_fixed) / drives);
        if let Some(dearer) = even.filter(|&even| even < 0.0) {
            plan.step(
                "excess cost, even if the drives are free",
                format!("({other_fixed:.0} - {present_cost:.0}) / {drives} drives"),
                -dearer,
                "a drive",
            );
        } else if let Some(even) = even {
            plan.step(
                "break-even drive price",
                format!("({present_cost:.0} - {other_fixed:.0}) / {drives} drives"),
                even,
                "",
            );
        }
        let saved = self.saved(present_nodes, other_nodes);
        // Without prices, both fleets would cost nothing, which is not a useful answer.
        plan.answer = if present_cost > 0.0 || other_cost > 0.0 {
            format!("{saved}, cost {other_cost:.0} instead of {present_cost:.0}.")
        } else {
            format!("{saved}.")
        };
        let _ = present_fixed;
        plan.leave_out(&[
            "loads that cannot be divided: one database does not become a fifth smaller on each server",
            "host adapters, cables and the labour of the change",
            "differences in the drives' endurance and failure rate",
            "the processor share, which rises with the rate unless the rates were measured at its limit",
        ]);
        Ok(plan)
    }

    /// Computes only the number of servers, if prices are unknown.
    ///
    /// # Errors
    /// Returns the first input that is out of bounds.
    pub fn servers(&self) -> Result<Plan, PlanError> {
        self.check()?;
        let mut plan = Plan::new("How many servers does this load take?");
        let present = &self.present;
        let other = &self.other;
        let present_nodes = self.nodes(&mut plan, present)?;
        let ratio = other.rate / present.rate;
        plan.step(
            "ratio of the rates",
            format!("{} / {}", number_text(other.rate), number_text(present.rate)),
            ratio,
            "",
        );
        let other_nodes = self.nodes(&mut plan, other)?;
        servers_saved(&mut plan, present_nodes, other_nodes);
        plan.answer = format!("{}.", self.saved(present_nodes, other_nodes));
        plan.leave_out(&["loads that cannot be divided", "prices, licences and energy"]);
        Ok(plan)
    }

    fn check(&self) -> Result<(), PlanError> {
        positive("demand", self.demand)?;
        if (0.0..1.0).contains(&self.spare_share) {
            Ok(())
        } else {
            Err(PlanError {
                input: "spare share",
                value: self.spare_share.to_string(),
                bound: "from 0 to less than 1",
            })
        }
    }

    fn saved(&self, present_nodes: f64, other_nodes: f64) -> String {
        let saved = present_nodes - other_nodes;
        format!(
            "{other_nodes} servers with {} instead of {present_nodes} with {}: {} ({:.0}%)",
            self.other.name,
            self.present.name,
            match saved {
                saved if saved > 0.0 => format!("{saved} saved"),
                saved if saved < 0.0 => format!("{} more", -saved),
                _ => "no servers saved".to_owned(),
            },
            (saved / present_nodes * 100.0).abs()
        )
    }

    /// Adds the steps for one kind of server, and returns the number of servers.
    fn nodes(&self, plan: &mut Plan, node: &Node) -> Result<f64, PlanError> {
        positive("rate of a server", node.rate)?;
        let usable = node.rate * (1.0 - self.spare_share);
        let needed = servers_needed(self.demand, usable);
        check_range("servers needed", needed, 1.0..=1e9, "must be from 1 to 10^9")?;
        Ok(plan.step(
            &format!("servers with {}", node.name),
            format!(
                "{} / ({} x {}%) rounded up, + {} spare",
                number_text(self.demand),
                number_text(node.rate),
                number_text((1.0 - self.spare_share) * 100.0),
                self.spare_nodes
            ),
            needed + f64::from(self.spare_nodes),
            "",
        ))
    }

    /// Adds the cost steps, and returns the number of servers, and the cost with and without drives.
    fn cost(&self, plan: &mut Plan, node: &Node) -> Result<(f64, f64, f64), PlanError> {
        not_negative("power of a server", node.watts)?;
        not_negative("price of a drive", node.drive_price)?;
        let Costs { server_price, licence_price, drives, years, energy_price, overhead } =
            self.costs;
        let nodes = self.nodes(plan, node)?;
        let energy = plan.step(
            &format!("energy with {}", node.name),
            format!(
                "{nodes} x {} W x {} a x 8766 h x {}",
                number_text(node.watts),
                number_text(years),
                number_text(overhead)
            ),
            nodes * node.watts / 1e3 * years * 8766.0 * overhead,
            "kWh",
        );
        let fixed = nodes * (server_price + licence_price) + energy * energy_price;
        let total = plan.step(
            &format!("cost with {}", node.name),
            format!(
                "{nodes} x ({} + {} + {drives} x {}) + {energy:.0} x {}",
                number_text(server_price),
                number_text(licence_price),
                number_text(node.drive_price),
                number_text(energy_price)
            ),
            fixed + nodes * f64::from(drives) * node.drive_price,
            "",
        );
        Ok((nodes, fixed, total))
    }
}

/// Returns the number of servers that a load of `demand` needs if each of them can do `rate`.
pub fn servers_needed(demand: f64, rate: f64) -> f64 {
    // A quotient that exceeds a whole number only because of rounding must not add a server.
    (demand / rate * (1.0 - 1e-12)).ceil()
}

/// Adds a step with the number of servers that are saved or added.
fn servers_saved(plan: &mut Plan, present: f64, other: f64) {
    if other <= present {
        plan.step("servers saved", format!("{present} - {other}"), present - other, "");
    } else {
        plan.step("more servers", format!("{other} - {present}"), other - present, "");
    }
}
