//! Two rules without a model, with which predictions are compared.

use lanemark_schema::workload::{Pattern, Test};

use crate::corpus::Row;
use crate::plug::Plug;

/// The figures of both rules, in the row's unit.
#[derive(Clone, Debug)]
pub struct Baselines {
    /// The rule of thumb: the minimum of link and rating, and of the outstanding requests over a fixed latency.
    pub rule: f64,
    /// The minimum of link and rating.
    pub limits: f64,
    rate: f64,
}

impl Baselines {
    /// Returns the figures of both rules for a row.
    pub fn of(
        row: &Row,
        rated: Option<&Row>,
        plug: Plug,
        port: Plug,
        test: &Test,
        drives: f64,
    ) -> Self {
        let read = test.read_share().get();
        let block = test.block.get() as f64;
        let link = 0.9 * port.rate().min(plug.rate());
        let rating = |column: &str| rated.and_then(|rated| rated.number(column));
        let mixed = |reads: Option<f64>, writes: Option<f64>| match (reads, writes) {
            (Some(reads), Some(writes)) => Some(1.0 / (read / reads + (1.0 - read) / writes)),
            (one, None) if read >= 0.5 => one,
            (None, one) if read < 0.5 => one,
            _ => None,
        };
        let rates = mixed(rating("seq_read_mb_s"), rating("seq_write_mb_s"));
        let mut limits = rates.map_or(link, |rate| link.min(rate * 1e6)) / block;
        if test.pattern() != Some(&Pattern::Sequential)
            && let Some(iops) = mixed(rating("rand_read_iops"), rating("rand_write_iops"))
        {
            limits = limits.min(iops);
        }
        let (reads, writes) = match plug {
            _ if row.text("drive_kind") == "hdd" => (12e-3, 12e-3),
            Plug::Pcie(..) => (80e-6, 20e-6),
            Plug::Sata(_) | Plug::Sas(..) | Plug::Usb(_) => (120e-6, 50e-6),
        };
        let outstanding = f64::from(test.queue_depth()) * f64::from(test.threads);
        let latency = read * reads + (1.0 - read) * writes + block / link;
        let rate = (outstanding / latency).min(limits * drives);
        let share = match row.text("figure") {
            "read_iops" | "read_throughput" => read,
            "write_iops" | "write_throughput" => 1.0 - read,
            _ => 1.0,
        };
        let in_unit = |rate: f64| match row.text("figure") {
            name if name.ends_with("throughput") => rate * share * block / 1e6,
            name if name.starts_with("latency") => outstanding / rate * 1e6,
            _ => rate * share,
        };
        Self { rule: in_unit(rate), limits: in_unit(limits * drives), rate }
    }

    /// Returns the requests a second by the rule of thumb.
    pub fn rule_rate(&self) -> f64 {
        self.rate
    }
}
