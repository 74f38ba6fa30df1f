//! Systems in the order of their rates: ties as ties, and the chance of the first place.

use lanemark_schema::result::{RatioEstimate, RatioVerdict};

use crate::terminal::{Style, TerminalText};
use crate::text::number::{ABSENT, fixed, grouped, percent_whole, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::verdict::ratio_with_interval;

/// A ranked system.
#[derive(Clone, Debug)]
pub struct RankedRow {
    /// The name, `drive@platform:port`.
    pub system: String,
    /// The rank, starting at 1. Systems whose difference is not shown have the same rank.
    pub rank: usize,
    /// The geometric mean of the rates of all tests, in requests a second.
    pub requests_per_second: f64,
    /// The throughput in bytes a second, if there is only one test.
    pub bytes_per_second: Option<f64>,
    /// This system's rate divided by the rate of the next system; `None` for the last system.
    pub to_next: Option<RatioEstimate>,
    /// The chance that this system is the fastest.
    pub first_chance: f64,
    /// The rated host writes of the drive in TB, if a test writes and its maker prints them.
    pub rated_terabytes: Option<f64>,
    /// The price of the drive, if it is known.
    pub price: Option<f64>,
    /// Whether the system meets the target, if there is one.
    pub target: Option<TargetVerdict>,
}

/// Whether a system meets a target, as the interval of its prediction shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetVerdict {
    /// The whole interval meets the target.
    Met,
    /// The interval contains the target, or there is no interval.
    NotSure,
    /// The whole interval misses the target.
    Missed,
}

impl TargetVerdict {
    /// Returns the verdict for a figure with the interval `[low, high]` that must be at least `target`.
    pub fn at_least(target: f64, interval: Option<[f64; 2]>) -> Self {
        match interval {
            Some([low, _]) if low >= target => Self::Met,
            Some([_, high]) if high < target => Self::Missed,
            _ => Self::NotSure,
        }
    }

    /// Returns the verdict for a figure with the interval `[low, high]` that must be below `target`.
    pub fn below(target: f64, interval: Option<[f64; 2]>) -> Self {
        match interval {
            Some([_, high]) if high < target => Self::Met,
            Some([low, _]) if low >= target => Self::Missed,
            _ => Self::NotSure,
        }
    }

    /// Returns the verdict as text.
    pub fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotSure => "not sure",
            Self::Missed => "missed",
        }
    }
}

/// Returns the answer, such as `A is the fastest of 3 systems, 1.40x (1.20 to 1.70) as fast as the next; …`.
pub fn ranking_answer(rows: &[RankedRow]) -> String {
    let Some(first) = rows.first() else { return "There is no system to rank.".to_owned() };
    let leaders: Vec<&RankedRow> = rows.iter().take_while(|row| row.rank == first.rank).collect();
    let of = format!("of {} systems", rows.len());
    let chance = percent_whole(first.first_chance);
    let text = match (leaders.as_slice(), rows) {
        (_, [only]) => format!("{} is the only system.", only.system),
        ([one], _) => {
            let next = one.to_next.map_or(String::new(), |ratio| {
                format!(", {} as fast as the next", ratio_with_interval(ratio))
            });
            let name = &one.system;
            format!(
                "{name} is the fastest {of}{next}; its chance of being the fastest is {chance}."
            )
        }
        (several, all) if several.len() == all.len() => {
            format!("No difference is shown between the {} systems.", all.len())
        }
        ([.., last], _) => format!(
            "{} to {} are the fastest {of}; no difference is shown between these {}.",
            first.system,
            last.system,
            leaders.len()
        ),
        ([], _) => String::new(),
    };
    text + &target_sentence(rows)
}

/// Names the cheapest system that meets the target; empty without a target.
fn target_sentence(rows: &[RankedRow]) -> String {
    let price = |row: &RankedRow| match row.price {
        Some(price) => format!("{}, for {}", row.system, fixed(price, 2)),
        None => row.system.clone(),
    };
    let of = |verdict: TargetVerdict| {
        let equal = rows.iter().filter(move |row| row.target == Some(verdict));
        equal.min_by(|one, two| {
            let price = |row: &RankedRow| row.price.unwrap_or(f64::INFINITY);
            price(one).total_cmp(&price(two))
        })
    };
    let found = [TargetVerdict::Met, TargetVerdict::NotSure, TargetVerdict::Missed].map(of);
    match found {
        [None, None, None] => String::new(),
        [Some(met), ..] if met.price.is_some() => {
            format!(" The cheapest that meets the target is {}.", price(met))
        }
        [Some(met), ..] => format!(" The first that meets the target is {}.", price(met)),
        [None, Some(unsure), _] => {
            format!(" No system surely meets the target; one that may is {}.", price(unsure))
        }
        [None, None, Some(_)] => " No system meets the target.".to_owned(),
    }
}

/// Writes the answer and a table of all systems. `tests` are the names of the tests.
pub fn ranking_text(rows: &[RankedRow], tests: &[String], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&ranking_answer(rows));
    sheet.heading(&match tests {
        [only] => only.clone(),
        several => format!("{} tests; a rate is the geometric mean of all tests", several.len()),
    });
    sheet.blank();
    let mut table = Table::new(vec![
        Column::number("rank", ""),
        Column::name("system"),
        Column::number("rate", "1/s"),
        Column::number("rate", "MB/s").optional(2),
        Column::text("as fast as the next"),
        Column::number("first in", "").optional(1),
        Column::number("TBW", "TB").optional(4),
        Column::number("price", ""),
        Column::number("a price unit", "1/s").optional(3),
        Column::text("target"),
    ]);
    let mut above = None;
    for row in rows {
        let is_tied = above.replace(row.rank) == Some(row.rank);
        let known = |value: Option<String>| Cell::plain(value.unwrap_or(ABSENT.to_owned()));
        let ratio = row.to_next.map(|ratio| match ratio.verdict() {
            RatioVerdict::Higher | RatioVerdict::Lower => ratio_with_interval(ratio),
            RatioVerdict::Same => "the same within 3%".to_owned(),
            RatioVerdict::NotShown => "no difference shown".to_owned(),
        });
        let rate = row.requests_per_second;
        table.push(vec![
            Cell::plain(row.rank.to_string()).repeating(is_tied),
            Cell::inked(row.system.clone(), CellEmphasis::Strong),
            Cell::plain(grouped(&significant(rate))),
            known(row.bytes_per_second.map(|rate| grouped(&significant(rate / 1e6)))),
            known(ratio),
            Cell::plain(percent_whole(row.first_chance)),
            known(row.rated_terabytes.map(|tb| grouped(&significant(tb)))),
            known(row.price.map(|price| fixed(price, 2))),
            known(row.price.map(|price| significant(rate / price))),
            known(row.target.map(|verdict| verdict.text().to_owned())),
        ]);
    }
    sheet.table(&table);
    sheet.blank();
    sheet.minor_paragraph(
        "Systems with the same rank show no difference to the first of them. An interval contains 80% of the systems \
         that the uncertain values allow.",
    );
    sheet.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(system: &str, rank: usize, to_next: Option<RatioEstimate>) -> RankedRow {
        RankedRow {
            system: system.to_owned(),
            rank,
            requests_per_second: 1000.0,
            bytes_per_second: None,
            to_next,
            first_chance: 0.5,
            rated_terabytes: None,
            price: None,
            target: None,
        }
    }

    #[test]
    fn ties_are_ties_and_a_lead_has_its_interval() {
        let lead = Some(RatioEstimate::within(1.4, 1.2, 1.7));
        let tie = Some(RatioEstimate::within(1.1, 0.9, 1.3));
        let ahead = [row("a", 1, lead), row("b", 2, None)];
        let answer = ranking_answer(&ahead);
        assert!(
            answer.starts_with("a is the fastest of 2 systems, 1.40x (1.20 to 1.70)"),
            "{answer}"
        );
        let tied = [row("a", 1, tie), row("b", 1, None)];
        assert_eq!(ranking_answer(&tied), "No difference is shown between the 2 systems.");
        let three = [row("a", 1, tie), row("b", 1, lead), row("c", 3, None)];
        let answer = ranking_answer(&three);
        assert!(answer.starts_with("a to b are the fastest of 3 systems"), "{answer}");
    }

    #[test]
    fn the_cheapest_system_that_meets_the_target_is_named() {
        let mut rows = [row("a", 1, None), row("b", 1, None), row("c", 1, None)];
        let verdicts = [TargetVerdict::Met, TargetVerdict::Met, TargetVerdict::NotSure];
        for (row, (price, verdict)) in
            rows.iter_mut().zip([9.0, 5.0, 1.0].into_iter().zip(verdicts))
        {
            row.price = Some(price);
            row.target = Some(verdict);
        }
        let answer = ranking_answer(&rows);
        assert!(answer.ends_with("The cheapest that meets the target is b, for 5.00."), "{answer}");
        rows[1].target = Some(TargetVerdict::NotSure);
        rows[0].target = Some(TargetVerdict::Missed);
        let answer = ranking_answer(&rows);
        assert!(
            answer.ends_with("No system surely meets the target; one that may is c, for 1.00."),
            "{answer}"
        );
        rows.iter_mut().for_each(|row| row.target = Some(TargetVerdict::Missed));
        assert!(ranking_answer(&rows).ends_with("No system meets the target."));
    }

    #[test]
    fn a_target_inside_the_interval_is_not_sure() {
        let interval = Some([90.0, 120.0]);
        for (target, least, below) in [
            (80.0, TargetVerdict::Met, TargetVerdict::Missed),
            (90.0, TargetVerdict::Met, TargetVerdict::Missed),
            (100.0, TargetVerdict::NotSure, TargetVerdict::NotSure),
            (120.0, TargetVerdict::NotSure, TargetVerdict::NotSure),
            (121.0, TargetVerdict::Missed, TargetVerdict::Met),
        ] {
            assert_eq!(TargetVerdict::at_least(target, interval), least, "{target}");
            assert_eq!(TargetVerdict::below(target, interval), below, "{target}");
        }
        assert_eq!(TargetVerdict::at_least(1.0, None), TargetVerdict::NotSure);
    }
}
