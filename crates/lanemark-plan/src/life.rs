//! The life of a flash drive under a load: the time until the load has used the drive's rated endurance.
//!
//! A maker rates the data that a host may write under the workload of a standard (JESD218, JESD219). Collection
//! multiplies this data, so the rating implies an amount of data that the flash may receive. Another load, with another
//! write amplification, reaches the same amount after more or fewer writes of the host:
//!
//! ```text
//! life = rated writes x amplification of the rated load x (1 - used) / (writes a day x amplification of the load)
//! ```
//!
//! The end of the life is the end of the rating, not a failure. Real drives often last longer.

use serde::{Deserialize, Serialize};

use super::{Plan, PlanError, number_text, positive};

const DAYS_PER_YEAR: f64 = 365.25;
/// Life in years below which it is stated in days.
const IN_DAYS: f64 = 0.2;

/// A figure with the ends of its 80% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// A drive, its rating and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    /// Name of the drive in the answer.
    pub drive: String,
    /// Rated writes of the host, in TB.
    pub rated_terabytes: f64,
    /// Formula of the rated writes.
    pub rated_from: String,
    /// Write amplification of the load for which the drive is rated.
    pub rated_amplification: Estimate,
    /// Length of the warranty, if it is known.
    pub warranty_years: Option<f64>,
    /// Time for which the drive has already been used.
    pub age_years: f64,
    /// Data that the host has already written, in TB.
    pub written_terabytes: f64,
    /// Share of the rated endurance that is left.
    pub left: Estimate,
    /// Writes of the host per day, in GB.
    pub daily_gigabytes: Estimate,
    /// Write amplification of the load.
    pub amplification: Amplification,
}

/// The write amplification of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amplification {
    /// The amplification itself.
    Own(Estimate),
    /// Ratio to the amplification of the rated load, which does not affect the life in this case.
    TimesRated(Estimate),
}

impl Estimate {
    /// Returns a figure that is known exactly.
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Returns a figure whose interval extends from `low` to `high` times the figure.
    pub fn within(value: f64, [low, high]: [f64; 2]) -> Self {
        Self { value, low: value * low, high: value * high }
    }

    /// Checks the figure and the order of the interval. The lower end may be zero.
    fn check(self, input: &'static str) -> Result<Self, PlanError> {
        positive(input, self.value)?;
        positive(input, self.high)?;
        if (0.0..=self.value).contains(&self.low) && self.high >= self.value {
            return Ok(self);
        }
        let value = format!("{} ({} to {})", self.value, self.low, self.high);
        Err(PlanError { input, value, bound: "must lie in its interval" })
    }

    /// Returns the logarithms of the ratios of both ends to the figure.
    fn logs(self) -> [f64; 2] {
        [libm::log(self.low / self.value), libm::log(self.high / self.value)]
    }

    /// Returns the logarithms for the reciprocal of the figure.
    fn inverse_logs(self) -> [f64; 2] {
        let [low, high] = self.logs();
        [-high, -low]
    }
}

impl Life {
    /// Computes the life, in years, and its interval.
    ///
    /// # Errors
    /// Returns the first input that is out of bounds.
    pub fn plan(&self) -> Result<(Plan, Estimate), PlanError> {
        positive("rated writes", self.rated_terabytes)?;
        let daily = self.daily_gigabytes.check("writes a day")?;
        let rated = self.rated_amplification.check("write amplification of the rated load")?;
        let own = match self.amplification {
            Amplification::Own(own) => own.check("write amplification")?.value,
            Amplification::TimesRated(ratio) => {
                ratio.check("ratio of the amplifications")?.value * rated.value
            }
        };
        let mut plan = Plan::new("When has this load used the drive's rated endurance?");
        plan.step("rated writes", self.rated_from.clone(), self.rated_terabytes, "TB");
        let used = 1.0 - self.left.value;
        if self.left.value <= 0.0 {
            plan.answer = format!(
                "{}: its rated endurance is used up: the drive reports {:.0}% as used.",
                self.drive,
                used * 100.0
            );
            leave_out(&mut plan);
            return Ok((plan, Estimate::exact(0.0)));
        }
        self.left.check("endurance that is left")?;
        let years = self.steps(&mut plan, own);
        let life = Estimate::within(years, self.ratios());
        if life.low < life.high {
            let years = number_text(years);
            let [low, high] =
                self.ratios().map(|ratio| format!("{years} x {}", number_text(ratio)));
            plan.step("low end of its 80% interval", low, life.low, "years");
            plan.step("high end", high, life.high, "years");
        }
        let warranty = self.warranty(&mut plan, years);
        let wear = if used > 0.0 {
            format!(", with {:.0}% of its endurance used", used * 100.0)
        } else {
            String::new()
        };
        plan.answer = format!(
            "{}: {} at {} a day and a write amplification of {}{wear}; {warranty}.",
            self.drive,
            life.as_time(),
            size_text(daily.value),
            digits(own),
        );
        leave_out(&mut plan);
        Ok((plan, life))
    }

    /// Returns the ratios of the ends of the interval to the life. The inputs are independent of each other.
    fn ratios(&self) -> [f64; 2] {
        let amplification = match self.amplification {
            Amplification::Own(own) => [self.rated_amplification.logs(), own.inverse_logs()],
            Amplification::TimesRated(ratio) => [[0.0; 2], ratio.inverse_logs()],
        };
        let others = [self.left.logs(), self.daily_gigabytes.inverse_logs()];
        let sides =
            amplification.into_iter().chain(others).fold([0.0; 2], |sum: [f64; 2], part| {
                [libm::hypot(sum[0], part[0]), libm::hypot(sum[1], part[1])]
            });
        [libm::exp(-sides[0]), libm::exp(sides[1])]
    }

    /// Adds the flash writes of the rating and of a day, and the life that follows from them, in years.
    fn steps(&self, plan: &mut Plan, own: f64) -> f64 {
        let rated = self.rated_amplification.value;
        let daily = self.daily_gigabytes.value;
        let left = self.left.value;
        let budget = plan.step(
            "flash writes of the rating",
            format!("{} TB x {}", number_text(self.rated_terabytes), number_text(rated)),
            self.rated_terabytes * rated,
            "TB",
        );
        let rest = if left < 1.0 {
            let used = number_text(1.0 - left);
            let formula = format!("{} TB x (1 - {used})", number_text(budget));
            plan.step("left of them", formula, budget * left, "TB")
        } else {
            budget
        };
        let flash = plan.step(
            "flash writes a day",
            format!("{} GB x {}", number_text(daily), number_text(own)),
            daily * own,
            "GB",
        );
        let ends = format!("{} TB x 1000 / {} GB", number_text(rest), number_text(flash));
        let formula = format!("{ends} / {DAYS_PER_YEAR}");
        plan.step("life", formula, rest * 1e3 / flash / DAYS_PER_YEAR, "years")
    }

    /// Adds the end of the warranty, and describes it in relation to a life of `years`.
    fn warranty(&self, plan: &mut Plan, years: f64) -> String {
        let daily = self.daily_gigabytes.value;
        let rest = (self.rated_terabytes - self.written_terabytes).max(0.0);
        let by_writes = plan.step(
            "rated writes reached in",
            format!(
                "{} TB x 1000 / {} GB / {DAYS_PER_YEAR}",
                number_text(rest),
                number_text(daily)
            ),
            rest * 1e3 / daily / DAYS_PER_YEAR,
            "years",
        );
        let by_time = self.warranty_years.map(|warranty| {
            plan.step(
                "warranty ends in",
                format!("{} - {} years", number_text(warranty), number_text(self.age_years)),
                warranty - self.age_years,
                "years",
            )
        });
        let end = by_time.unwrap_or(f64::INFINITY).min(by_writes);
        if end <= 0.0 {
            return "its warranty has ended".to_owned();
        }
        let end_text = Estimate::exact(end).as_time();
        let order = match end / years {
            ratio if ratio < 0.995 => "first",
            ratio if ratio > 1.005 => "later",
            _ => "at the same time",
        };
        if end < by_writes {
            // The age is the time with power, and the drive may be older.
            let when = if self.age_years > 0.0 { "within" } else { "in" };
            format!("its warranty ends {order}, {when} {end_text}")
        } else {
            let host = digits(self.rated_terabytes);
            format!("its warranty ends {order}, in {end_text}, with {host} TB written")
        }
    }
}

impl Estimate {
    /// Returns a time in years as text, with its interval.
    fn as_time(self) -> String {
        let (unit, per_year) =
            if self.value < IN_DAYS { ("days", DAYS_PER_YEAR) } else { ("years", 1.0) };
        let value = digits(self.value * per_year);
        if self.low == self.high {
            return format!("{value} {unit}");
        }
        let low = digits(self.low * per_year);
        format!("{value} {unit} ({low} to {})", digits(self.high * per_year))
    }
}

fn leave_out(plan: &mut Plan) {
    plan.leave_out(&[
        "failures for other reasons: most drives are replaced or fail before their flash is worn",
        "writes beyond the rating: many drives accept far more before they fail",
        "data retention, which shortens as the flash wears",
    ]);
}

/// Returns an amount of GB in the unit that fits it.
fn size_text(gigabytes: f64) -> String {
    let (value, unit) = match gigabytes {
        value if value < 1.0 => (value * 1e3, "MB"),
        value if value < 1e3 => (value, "GB"),
        value => (value / 1e3, "TB"),
    };
    format!("{} {unit}", digits(value))
}

/// Returns a number with two digits, or all digits before the point.
fn digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 9.95 => 0,
        value if value >= 0.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Life {
        Life {
            drive: "D".to_owned(),
            rated_terabytes: 600.0,
            rated_from: "600 TBW".to_owned(),
            rated_amplification: Estimate::exact(3.0),
            warranty_years: Some(5.0),
            age_years: 0.0,
            written_terabytes: 0.0,
            left: Estimate::exact(1.0),
            daily_gigabytes: Estimate::exact(100.0),
            amplification: Amplification::Own(Estimate::exact(2.0)),
        }
    }

    #[test]
    fn the_life_is_the_rating_if_the_load_is_the_rated_load() {
        // 600 TB at 100 GB a day take 6,000 days, regardless of the amplification.
        let same = Life {
            amplification: Amplification::TimesRated(Estimate::exact(1.0)),
            rated_amplification: Estimate::within(4.0, [0.5, 2.0]),
            ..drive()
        };
        let (plan, life) = same.plan().unwrap();
        assert_eq!(life, Estimate::exact(6000.0 / 365.25));
        let [at, warranty] = [" at 100 GB a day and a write amplification of 4.0", "in 5.0 years."];
        assert_eq!(plan.answer, format!("D: 16 years{at}; its warranty ends first, {warranty}"));
        let (_, other) = drive().plan().unwrap();
        assert!((other.value / life.value - 1.5).abs() < 1e-12, "{other:?}");
    }

    #[test]
    fn each_step_of_a_life_follows_from_those_before_it() {
        let used = Life {
            age_years: 1.5,
            written_terabytes: 100.0,
            left: Estimate::exact(0.5),
            daily_gigabytes: Estimate::within(1000.0, [0.5, 1.0]),
            ..drive()
        };
        let years = 0.5 * 1800e3 / 2000.0 / 365.25;
        let wanted = [
            ("rated writes", "600 TBW", 600.0, "TB"),
            ("flash writes of the rating", "600 TB x 3", 1800.0, "TB"),
            ("left of them", "1800 TB x (1 - 0.5)", 900.0, "TB"),
            ("flash writes a day", "1000 GB x 2", 2000.0, "GB"),
            ("life", "900 TB x 1000 / 2000 GB / 365.25", years, "years"),
            ("low end of its 80% interval", "1.23203 x 1", years, "years"),
            ("high end", "1.23203 x 2", 2.0 * years, "years"),
            (
                "rated writes reached in",
                "500 TB x 1000 / 1000 GB / 365.25",
                500.0 / 365.25,
                "years",
            ),
            ("warranty ends in", "5 - 1.5 years", 3.5, "years"),
        ];
        let plan = used.plan().unwrap().0;
        assert_eq!(plan.steps.len(), wanted.len());
        for (step, (name, formula, value, unit)) in plan.steps.iter().zip(wanted) {
            let texts = (step.name.as_str(), step.formula.as_str(), step.unit.as_str());
            assert_eq!(texts, (name, formula, unit));
            assert!((step.value / value - 1.0).abs() < 1e-12, "{name}: {}", step.value);
        }
    }

    #[test]
    fn wear_and_uncertain_inputs_change_the_life_in_their_direction() {
        let worn = Life {
            left: Estimate::exact(0.39),
            daily_gigabytes: Estimate::within(100.0, [0.5, 1.0]),
            amplification: Amplification::Own(Estimate::within(2.0, [1.0, 3.0])),
            ..drive()
        };
        let (plan, life) = worn.plan().unwrap();
        let whole = drive().plan().unwrap().1.value;
        assert!((life.value / whole - 0.39).abs() < 1e-12);
        // Half of the writes double the life, and three times the amplification divides it by three.
        assert!((life.high / life.value - 2.0).abs() < 1e-12, "{life:?}");
        assert!((life.low / life.value * 3.0 - 1.0).abs() < 1e-12, "{life:?}");
        assert!(plan.answer.contains("9.6 years (3.2 to 19)"), "{}", plan.answer);
        assert!(plan.answer.contains("with 61% of its endurance used"), "{}", plan.answer);
        // Two independent factors of two are a factor of 2^1.41.
        let both = Life {
            rated_amplification: Estimate::within(3.0, [0.5, 2.0]),
            daily_gigabytes: Estimate::within(100.0, [0.5, 2.0]),
            ..drive()
        };
        let life = both.plan().unwrap().1;
        assert!((life.high / life.value - libm::exp2(libm::sqrt(2.0))).abs() < 1e-12, "{life:?}");
        let used_up = Life { left: Estimate::exact(-0.04), ..drive() };
        let (plan, life) = used_up.plan().unwrap();
        assert!(plan.answer.contains("used up") && plan.answer.contains("104%"), "{}", plan.answer);
        assert_eq!(life.value, 0.0);
        // The last rounded percent may be used completely.
        let last = Life { left: Estimate { value: 0.005, low: 0.0, high: 0.01 }, ..drive() };
        let life = last.plan().unwrap().1;
        assert!(life.low == 0.0 && life.value > 0.0 && life.high.is_finite(), "{life:?}");
    }

    #[test]
    fn the_warranty_ends_with_its_years_or_with_its_writes() {
        let clause = |life: Life| {
            let answer = life.plan().unwrap().0.answer;
            answer.split("; ").nth(1).unwrap().to_owned()
        };
        let fast = Estimate::exact(1000.0);
        assert_eq!(
            clause(Life { daily_gigabytes: fast, ..drive() }),
            "its warranty ends first, in 1.6 years, with 600 TB written."
        );
        let amplification = Amplification::Own(Estimate::exact(30.0));
        assert_eq!(
            clause(Life { amplification, ..drive() }),
            "its warranty ends later, in 5.0 years."
        );
        let old = Life { age_years: 4.5, written_terabytes: 100.0, ..drive() };
        assert_eq!(clause(old.clone()), "its warranty ends first, within 0.50 years.");
        assert_eq!(clause(Life { age_years: 5.5, ..old.clone() }), "its warranty has ended.");
        assert_eq!(
            clause(Life { warranty_years: None, ..old }),
            "its warranty ends first, in 14 years, with 600 TB written."
        );
    }

    #[test]
    fn impossible_inputs_are_refused_and_extreme_inputs_stay_finite() {
        for life in [
            Life { rated_terabytes: 0.0, ..drive() },
            Life { daily_gigabytes: Estimate::exact(0.0), ..drive() },
            Life { daily_gigabytes: Estimate::exact(f64::NAN), ..drive() },
            Life { daily_gigabytes: Estimate::exact(1e13), ..drive() },
            Life { rated_amplification: Estimate::exact(-1.0), ..drive() },
            Life {
                amplification: Amplification::Own(Estimate { value: 2.0, low: 3.0, high: 4.0 }),
                ..drive()
            },
            Life { amplification: Amplification::TimesRated(Estimate::exact(0.0)), ..drive() },
        ] {
            assert!(life.plan().is_err(), "{life:?}");
        }
        for daily in [1e-9, 1e12] {
            let (plan, life) =
                Life { daily_gigabytes: Estimate::exact(daily), ..drive() }.plan().unwrap();
            assert!(life.value.is_finite() && life.value > 0.0);
            assert!(plan.answer.len() < 250, "{}", plan.answer);
        }
    }
}
