//! Two rules that do not use a model; predictions are compared with them.

use lanemark_schema::workload::{Pattern, Test};

use crate::corpus::CorpusRow;
use crate::plug::Connector;

/// The figures of both rules, in the row's unit.
#[derive(Clone, Debug)]
pub struct Baselines {
    /// The rule of thumb: the minimum of the link's rate, the rated figure, and the outstanding requests divided by a
    /// fixed latency.
    pub rule: f64,
    /// The minimum of the link's rate and the rated figure.
    pub limits: f64,
    rate: f64,
}

impl Baselines {
    /// Returns the figures of both rules for a row.
    pub fn for_row(
        row: &CorpusRow,
        rated: Option<&CorpusRow>,
        plug: Connector,
        port: Connector,
        test: &Test,
        drives: f64,
    ) -> Self {
        let read = test.ceiling_read_share().get();
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
            Connector::Pcie(..) => (80e-6, 20e-6),
            Connector::Sata(_) | Connector::Sas(..) | Connector::Usb(_) => (120e-6, 50e-6),
        };
        let outstanding = f64::from(test.issue_depth()) * f64::from(test.threads);
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

    /// Returns the requests a second according to the rule of thumb.
    pub fn rule_rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::workload::TestBuilder;

    use super::*;

    const PCIE: Connector = Connector::Pcie(3, 4);
    /// A port that carries 1 GB/s.
    const PORT: Connector = Connector::Pcie(2, 2);
    /// The rate that the rules use for the port: 90% of 1 GB/s.
    const LINK: f64 = 0.9e9;

    fn baselines_for(
        row: &[(&str, &str)],
        rated: &[(&str, &str)],
        plug: Connector,
        test: TestBuilder,
    ) -> Baselines {
        let test = test.span("1 GiB").duration("1 s").build().unwrap().into_test();
        Baselines::for_row(
            &CorpusRow::from_columns(row),
            Some(&CorpusRow::from_columns(rated)),
            plug,
            PORT,
            &test,
            1.0,
        )
    }

    fn assert_near(value: f64, wanted: f64) {
        assert!((value / wanted - 1.0).abs() < 1e-9, "{value}, expected {wanted}");
    }

    #[test]
    fn the_rule_of_thumb_is_the_minimum_of_latency_link_and_rating() {
        let iops = [("figure", "iops"), ("drive_kind", "nvme-ssd")];
        let ratings = [
            ("seq_read_mb_s", "3500"),
            ("seq_write_mb_s", "800"),
            ("rand_read_iops", "200000"),
            ("rand_write_iops", "150000"),
        ];
        let reads = || Test::random_read("4 KiB");
        // A read takes 80 us, and its data crosses the link.
        let one = baselines_for(&iops, &ratings, PCIE, reads());
        let latency = 80e-6 + 4096.0 / LINK;
        assert_near(one.rule, 1.0 / latency);
        assert_near(one.limits, 200_000.0);
        assert_near(one.rule_rate(), one.rule);
        // There are sixteen outstanding requests, from two threads.
        let deep = baselines_for(&iops, &ratings, PCIE, reads().queue_depth(8).threads(2));
        assert_near(deep.rule, 16.0 / latency);
        let deeper = baselines_for(&iops, &ratings, PCIE, reads().queue_depth(32));
        assert_near(deeper.rule, 200_000.0);
        // Without a rating of random reads, the link is the limit.
        assert_near(
            baselines_for(&iops, &ratings[..2], PCIE, reads().queue_depth(32)).rule,
            LINK / 4096.0,
        );
        assert_near(baselines_for(&iops, &[], PCIE, reads().queue_depth(32)).limits, LINK / 4096.0);
        // Writes take 20 us, and for sequential requests the rating of sequential requests applies.
        let write = baselines_for(&iops, &ratings, PCIE, Test::random_write("4 KiB"));
        assert_near(write.rule, 1.0 / (20e-6 + 4096.0 / LINK));
        assert_near(write.limits, 150_000.0);
        let sequential =
            baselines_for(&iops, &ratings, PCIE, Test::sequential_write("1 MiB").queue_depth(8));
        assert_near(sequential.rule, 800e6 / f64::from(1 << 20));
        // The drive's link is slower than the port.
        let sata = baselines_for(&iops, &[], Connector::Sata(6.0), reads().queue_depth(32));
        assert_near(sata.limits, 0.9 * 600e6 / 4096.0);
        assert_near(
            baselines_for(&iops, &[], Connector::Sata(6.0), reads()).rule,
            1.0 / (120e-6 + 4096.0 / 540e6),
        );
        let sas = baselines_for(&iops, &[], Connector::Sas(12.0, 1), Test::random_write("4 KiB"));
        assert_near(sas.rule, 1.0 / (50e-6 + 4096.0 / LINK));
        let disk = [("figure", "iops"), ("drive_kind", "hdd")];
        assert_near(
            baselines_for(&disk, &[], Connector::Sata(6.0), reads()).rule,
            1.0 / (12e-3 + 4096.0 / 540e6),
        );
    }

    #[test]
    fn mixes_take_the_time_of_both_directions() {
        let iops = [("figure", "iops"), ("drive_kind", "nvme-ssd")];
        let both = [("rand_read_iops", "100000"), ("rand_write_iops", "50000")];
        let mix = |share: &str| Test::random_read("4 KiB").read_share(share).queue_depth(64);
        // Ten requests consist of seven reads that take 10 µs each and three writes that take 20 µs each.
        assert_near(
            baselines_for(&iops, &both, PCIE, mix("70%")).limits,
            10.0 / (7.0 * 10e-6 + 3.0 * 20e-6),
        );
        let latency = 0.7 * 80e-6 + 0.3 * 20e-6 + 4096.0 / LINK;
        assert_near(baselines_for(&iops, &[], PCIE, mix("70%").queue_depth(4)).rule, 4.0 / latency);
        // With one rating, only the direction with the most requests is limited.
        for (rated, share, limit) in [
            (&both[..1], "50%", 100_000.0),
            (&both[..1], "40%", LINK / 4096.0),
            (&both[1..], "40%", 50_000.0),
            (&both[1..], "50%", LINK / 4096.0),
        ] {
            assert_near(baselines_for(&iops, rated, PCIE, mix(share)).limits, limit);
        }
    }

    #[test]
    fn both_rules_are_in_the_unit_of_the_row() {
        let figures = |name: &'static str, drives: f64| {
            let test = Test::random_read("4 KiB").read_share("75%").queue_depth(4);
            let test = test.span("1 GiB").duration("1 s").build().unwrap().into_test();
            let row = CorpusRow::from_columns(&[("figure", name), ("drive_kind", "nvme-ssd")]);
            let rated = CorpusRow::from_columns(&[
                ("rand_read_iops", "40000"),
                ("rand_write_iops", "40000"),
            ]);
            Baselines::for_row(&row, Some(&rated), PCIE, PORT, &test, drives)
        };
        let rate = 4.0 / (0.75 * 80e-6 + 0.25 * 20e-6 + 4096.0 / LINK);
        assert!(rate > 40_000.0 && rate < 80_000.0);
        for (name, limit) in [
            ("iops", 40_000.0),
            ("read_iops", 30_000.0),
            ("write_iops", 10_000.0),
            ("throughput", 163.84),
            ("read_throughput", 122.88),
            ("write_throughput", 40.96),
            ("latency_mean", 100.0),
        ] {
            assert_near(figures(name, 1.0).rule, limit);
            assert_near(figures(name, 1.0).limits, limit);
        }
        // With two drives, the limits double and the latency stays the same.
        assert_near(figures("iops", 2.0).limits, 80_000.0);
        assert_near(figures("iops", 2.0).rule, rate);
        assert_near(figures("latency_p99", 2.0).limits, 50.0);
    }
}
