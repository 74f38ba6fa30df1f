//! The written answer of a study: a sentence with numbers from the results, and claims about these numbers. The
//! sentence is shown only if the claims hold.
//!
//! `{nvme: Seq read}` is the throughput of a test on a system in MB/s, and `{latency of nvme: Seq read}` is another
//! metric. `{nvme: Seq read / sata: Seq read}` is a ratio, and `{nvme: Seq read % sata: Seq read}` is the difference
//! from the second value in per cent, without its sign. Both are followed by their 80% interval, if it is known. A
//! claim sets bounds for such an expression.

use lanemark_schema::result::{FigureMetric, RatioEstimate, StudyAnswer, StudyClaim, StudySystem};
use lanemark_schema::text::significant;

use crate::document::Section;
use crate::error::{Location, StudyError};

/// The written answer, as read from the file.
#[derive(Clone, Debug)]
pub(crate) struct WrittenAnswer {
    parts: Vec<AnswerPart>,
    claims: Vec<Claim>,
}

#[derive(Clone, Debug)]
enum AnswerPart {
    Text(String),
    Value(Expression),
}

#[derive(Clone, Debug)]
struct Claim {
    text: String,
    expression: Expression,
    from: Option<f64>,
    to: Option<f64>,
}

#[derive(Clone, Debug)]
struct Expression {
    first: AnswerCell,
    second: Option<(Operator, AnswerCell)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Ratio,
    Difference,
}

/// A metric of a test on a system, to which an expression refers.
#[derive(Clone, Debug)]
struct AnswerCell {
    metric: FigureMetric,
    system: String,
    test: String,
}

impl WrittenAnswer {
    /// Reads the text and the claims; `knows` returns whether a system runs a test.
    ///
    /// # Errors
    /// Returns an error if an expression names an unknown system, test or metric, if a claim does not have a bound, if
    /// the text does not contain a number or there is no claim, or if a brace is not paired.
    pub(crate) fn read(
        section: &Section<'_>,
        claims: &[Section<'_>],
        knows: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Option<Self>, StudyError> {
        let Some(text) = section.optional_text("text")? else {
            return match claims.first() {
                Some(claim) => Err(StudyError::new(claim.location(), "a claim needs an answer")
                    .hint("add `text` to [answer]")),
                None => Ok(None),
            };
        };
        let location = section.location_of("text");
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}').ok_or_else(|| {
                StudyError::new(location.clone(), "`text` has a `{` without its `}`")
            })?;
            parts.push(AnswerPart::Text(before.to_owned()));
            parts.push(AnswerPart::Value(Expression::parse(inside, &location, knows)?));
            rest = after;
        }
        parts.push(AnswerPart::Text(rest.to_owned()));
        if !parts.iter().any(|part| matches!(part, AnswerPart::Value(_))) {
            return Err(StudyError::new(location, "`text` does not contain a figure")
                .hint("write figures as {SYSTEM: TEST}, for example {nvme: Seq read}"));
        }
        let claims = claims.iter().map(|claim| Claim::read(claim, knows));
        let claims = claims.collect::<Result<Vec<_>, _>>()?;
        if claims.is_empty() {
            return Err(StudyError::new(location, "the answer needs a claim that can be checked")
                .hint("add a [[claim]] with `value`, and `from` or `to`"));
        }
        Ok(Some(Self { parts, claims }))
    }

    /// Returns the answer with the figures of `systems`; `None` if a figure is missing.
    pub(crate) fn filled(&self, systems: &[StudySystem]) -> Option<StudyAnswer> {
        let mut text = String::new();
        let mut undecided = String::new();
        for part in &self.parts {
            match part {
                AnswerPart::Text(part) => text += part,
                AnswerPart::Value(expression) => {
                    text += &expression.shown(systems)?;
                    undecided += &expression.undecided(systems).unwrap_or_default();
                }
            }
        }
        text += &undecided;
        let claims = self.claims.iter().map(|claim| claim.checked(systems));
        Some(StudyAnswer { text, claims: claims.collect::<Option<_>>()? })
    }
}

impl Claim {
    fn read(section: &Section<'_>, knows: &dyn Fn(&str, &str) -> bool) -> Result<Self, StudyError> {
        let text = section.text("value")?;
        let expression = Expression::parse(&text, &section.location_of("value"), knows)?;
        let end =
            |key: &str| if section.has(key) { section.number(key).map(Some) } else { Ok(None) };
        let from = end("from")?;
        let to = end("to")?;
        section.finish()?;
        match (from, to) {
            (None, None) => {
                Err(StudyError::new(section.location(), "the claim does not have a bound")
                    .hint("add `from` or `to`"))
            }
            (Some(from), Some(to)) if from > to => {
                Err(section.error("from", format!("from = {from} is above to = {to}")))
            }
            _ => Ok(Self { text, expression, from, to }),
        }
    }

    fn checked(&self, systems: &[StudySystem]) -> Option<StudyClaim> {
        let value = self.expression.value(systems)?;
        let from = self.from;
        let to = self.to;
        let holds = from.is_none_or(|from| value >= from) && to.is_none_or(|to| value <= to);
        Some(StudyClaim { claim: self.text.clone(), value, from, to, holds })
    }
}

impl Expression {
    fn parse(
        text: &str,
        location: &Location,
        knows: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Self, StudyError> {
        let cell = |text: &str| AnswerCell::parse(text.trim(), location, knows);
        for (mark, operator) in [(" / ", Operator::Ratio), (" % ", Operator::Difference)] {
            if let Some((first, second)) = text.split_once(mark) {
                return Ok(Self { first: cell(first)?, second: Some((operator, cell(second)?)) });
            }
        }
        Ok(Self { first: cell(text)?, second: None })
    }

    fn value(&self, systems: &[StudySystem]) -> Option<f64> {
        let first = self.first.value(systems)?;
        let value = match &self.second {
            None => first,
            Some((operator, second)) => operator.value(first / second.value(systems)?),
        };
        value.is_finite().then_some(value)
    }

    /// Returns a sentence about a ratio or a difference whose interval contains equal values.
    fn undecided(&self, systems: &[StudySystem]) -> Option<String> {
        let (operator, second) = self.second.as_ref()?;
        let (low, high) = self.first.ratio_to(second, systems)?.interval_80()?;
        if low >= 1.0 || high <= 1.0 {
            return None;
        }
        let value = operator.shown(self.value(systems)?);
        let equal = match operator {
            Operator::Ratio => "1",
            Operator::Difference => "0%",
        };
        Some(format!(" The interval of {value} contains {equal}, so no difference is shown."))
    }

    /// Formats the value: figures with three significant digits, ratios with two decimals, and percentages of ten or
    /// more as whole numbers.
    fn shown(&self, systems: &[StudySystem]) -> Option<String> {
        let value = self.value(systems)?;
        let Some((operator, second)) = &self.second else { return Some(significant(value)) };
        let estimate = self.first.ratio_to(second, systems);
        let interval = estimate.and_then(|estimate| {
            let (low, high) = estimate.interval_80()?;
            let [one, two] = [low, high].map(|end| match operator {
                Operator::Ratio => end,
                // In the direction of the difference: a difference in the other direction is negative.
                Operator::Difference => 100.0 * (end - 1.0) * (estimate.ratio() - 1.0).signum(),
            });
            let [least, most] = [one.min(two), one.max(two)];
            Some(format!(" ({} to {})", operator.number(least), operator.shown(most)))
        });
        Some(format!("{}{}", operator.shown(value), interval.unwrap_or_default()))
    }
}

impl Operator {
    fn value(self, ratio: f64) -> f64 {
        match self {
            Self::Ratio => ratio,
            Self::Difference => 100.0 * (ratio - 1.0).abs(),
        }
    }

    fn number(self, value: f64) -> String {
        if value.abs() >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
    }

    fn shown(self, value: f64) -> String {
        let unit = match self {
            Self::Ratio => "",
            Self::Difference => "%",
        };
        self.number(value) + unit
    }
}

impl AnswerCell {
    /// Returns this figure divided by `other`, if both are predictions of one metric with intervals.
    fn ratio_to(&self, other: &Self, systems: &[StudySystem]) -> Option<RatioEstimate> {
        let [one, two] = [other, self].map(|cell| {
            let system = systems.iter().find(|system| system.name == cell.system)?;
            Some((&system.run.target, system.run.test(&cell.test)?))
        });
        let sides = [one?, two?];
        (self.metric == other.metric).then(|| self.metric.predicted_ratio(sides)).flatten()
    }

    fn parse(
        text: &str,
        location: &Location,
        knows: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Self, StudyError> {
        let (metric, rest) = match text.split_once(" of ") {
            Some((name, rest)) => match metrics().find(|(known, _)| *known == name) {
                Some((_, metric)) => (metric, rest),
                None => {
                    let known = metrics().map(|(name, _)| name);
                    return Err(StudyError::unknown(location.clone(), "metric", name, known));
                }
            },
            None => (FigureMetric::Throughput, text),
        };
        let cell = rest.split_once(": ").filter(|(system, test)| knows(system, test));
        let (system, test) = cell.ok_or_else(|| {
            StudyError::new(
                location.clone(),
                format!("`{rest}`: no system of the study runs this test"),
            )
            .hint("write SYSTEM: TEST, for example {nvme: Seq read}")
        })?;
        Ok(Self { metric, system: system.to_owned(), test: test.to_owned() })
    }

    fn value(&self, systems: &[StudySystem]) -> Option<f64> {
        let system = systems.iter().find(|system| system.name == self.system)?;
        let statistic = self.metric.value_in(system.run.test(&self.test)?);
        (statistic.count > 0).then_some(statistic.value)
    }
}

/// Returns the metrics that may appear in an expression. A gain requires two results, which a ratio states.
fn metrics() -> impl Iterator<Item = (&'static str, FigureMetric)> {
    FigureMetric::NAMES.into_iter().filter(|(_, metric)| *metric != FigureMetric::Gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_name_known_cells_only() {
        let knows =
            |system: &str, test: &str| ["a", "b"].contains(&system) && test == "4K read / x: y";
        let location = Location::file("study");
        let parse = |text: &str| Expression::parse(text, &location, &knows);
        // A test whose name contains an operator cannot appear in an expression; this results in an error rather than
        // in a wrong figure.
        assert!(parse("a: 4K read / x: y").is_err());
        let knows = |system: &str, test: &str| ["a", "b"].contains(&system) && test == "4K read";
        let parse = |text: &str| Expression::parse(text, &location, &knows);
        assert!(parse("a: 4K read").is_ok() && parse("latency of a: 4K read % b: 4K read").is_ok());
        for (wrong, says) in [
            ("c: 4K read", "no system of the study"),
            ("a: 8K read", "no system of the study"),
            ("a", "no system of the study"),
            ("speed of a: 4K read", "unknown metric"),
            ("a: 4K read / ", "no system of the study"),
        ] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
