//! The direct answer of a study: in how many tests one system is faster than the other, and by how much.
//!
//! Ratios are rounded to the two decimals that are shown before they are counted: 1.00x counts as neither faster nor
//! slower, and 2.00x counts as twice as fast. Published ratios are counted over the tests that have a published ratio.
//! The answer does not state how certain the ratios are; the tables show spreads and errors.

use lanemark_schema::result::StudyOutcome;

use crate::calibration::system_label;
use crate::number::ratio;

/// The ratios from one source: the simulation or the publication.
struct RatioTally<'a> {
    tests: usize,
    faster: usize,
    equal: usize,
    twice: usize,
    lowest: (&'a str, f64),
    highest: (&'a str, f64),
    median: f64,
}

/// Returns the answer of `outcome` in one or two sentences; `None` if the study does not compare systems.
pub fn answer(outcome: &StudyOutcome) -> Option<String> {
    let comparison = outcome.comparison.as_ref()?;
    let side = |value: fn(&(String, f64, Option<f64>)) -> Option<f64>| {
        let ratios = comparison.ratios.iter();
        RatioTally::from_ratios(
            ratios.filter_map(|row| Some((row.0.as_str(), value(row)?))).collect(),
        )
    };
    let simulated = side(|row| Some(row.1))?;
    let published = side(|row| row.2);
    let system = system_label(outcome, &comparison.system);
    let base = system_label(outcome, &comparison.base);
    let published = published.map_or("No published ratio to compare.".to_owned(), |published| {
        format!("Published: {}.", published.text())
    });
    if simulated.equal == simulated.tests {
        let tests = if simulated.tests == 1 { "the one test" } else { "every test" };
        return Some(format!("{system} is as fast as {base} in {tests}. {published}"));
    }
    Some(format!("{system} is faster than {base} in {}. {published}", simulated.text()))
}

impl<'a> RatioTally<'a> {
    /// Returns the tally of the finite ratios; `None` if no ratio is finite.
    fn from_ratios(ratios: Vec<(&'a str, f64)>) -> Option<Self> {
        let mut ratios: Vec<(&str, f64)> = ratios
            .into_iter()
            .filter(|(_, ratio)| ratio.is_finite())
            .map(|(test, ratio)| (test, (ratio * 100.0).round() / 100.0))
            .collect();
        ratios.sort_by(|one, other| one.1.total_cmp(&other.1));
        let count = |meets: fn(f64) -> bool| ratios.iter().filter(|(_, r)| meets(*r)).count();
        Some(Self {
            tests: ratios.len(),
            faster: count(|ratio| ratio > 1.0),
            equal: count(|ratio| ratio == 1.0),
            twice: count(|ratio| ratio >= 2.0),
            lowest: *ratios.first()?,
            highest: *ratios.last()?,
            median: f64::midpoint(ratios[(ratios.len() - 1) / 2].1, ratios[ratios.len() / 2].1),
        })
    }

    /// Returns a text such as `7 of 8 tests, from 0.94x (4K read) to 3.02x (Seq read), median 2.31x, at least twice as
    /// fast in 4`.
    fn text(&self) -> String {
        let ratio_with_test = |(test, value): (&str, f64)| format!("{} ({test})", ratio(value));
        if self.tests == 1 {
            return format!("{} of 1 test, at {}", self.faster, ratio_with_test(self.highest));
        }
        let equal = match self.equal {
            0 => String::new(),
            count => format!(" and as fast in {count}"),
        };
        format!(
            "{} of {} tests{equal}, from {} to {}, median {}, at least twice as fast in {}",
            self.faster,
            self.tests,
            ratio_with_test(self.lowest),
            ratio_with_test(self.highest),
            ratio(self.median),
            self.twice
        )
    }
}
