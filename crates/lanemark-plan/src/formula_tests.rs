//! Checks for every step of every plan that its value equals its printed formula, with inputs drawn from a seed.

use super::{
    Amplification, Battery, Costs, Estimate, Fleet, Life, Node, Plan, Step, Stream, Video,
};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::BytesPerSecond;

/// A value, and the maximum error that results from omitted digits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value(f64, f64);

impl Value {
    /// Parses a printed number. Whole numbers below ten thousand are counts, which are exact.
    fn printed(text: &str) -> Option<Self> {
        let value: f64 = text.parse().ok()?;
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let exact = decimals == 0 && value < 1e4;
        Some(Self(value, if exact { 0.0 } else { 0.5 * libm::pow(10.0, -(decimals as f64)) }))
    }

    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0, self.0.abs() * other.1 + other.0.abs() * self.1)
    }

    fn over(self, other: Self) -> Self {
        let value = self.0 / other.0;
        Self(value, (self.1 + value.abs() * other.1) / other.0.abs())
    }

    fn plus(self, sign: f64, other: Self) -> Self {
        Self(self.0 + sign * other.0, self.1 + other.1)
    }
}

/// Evaluates a printed formula. Units and other words are ignored, except `rounded up`, which applies to the value
/// before it.
struct Formula<'f> {
    /// The remaining words, in reverse order.
    words: Vec<&'f str>,
}

impl<'f> Formula<'f> {
    fn value(text: &'f str) -> Value {
        let mut words = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '0'..='9' => rest.find(|c: char| !c.is_ascii_digit() && c != '.'),
                _ if first.is_alphabetic() => rest.find(|c: char| !c.is_alphabetic()),
                _ => Some(first.len_utf8()),
            };
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            let counts = word.parse::<f64>().is_ok()
                || ["x", "/", "+", "-", "(", ")", "%", "rounded"].contains(&word);
            // The slash in a unit such as `MB/s` is between two letters.
            let of_unit = word == "/" && after.starts_with(char::is_alphabetic);
            if counts && !of_unit {
                words.push(word);
            }
            rest = after;
        }
        words.reverse();
        let mut formula = Self { words };
        let value = formula.sum();
        assert_eq!(formula.words.pop(), None, "{text} is not read to its end");
        value
    }

    fn next_is(&mut self, word: &str) -> bool {
        self.words.pop_if(|next| *next == word).is_some()
    }

    fn sum(&mut self) -> Value {
        let mut sum = self.product();
        loop {
            if self.next_is("+") {
                sum = sum.plus(1.0, self.product());
            } else if self.next_is("-") {
                sum = sum.plus(-1.0, self.product());
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut product = self.factor();
        loop {
            if self.next_is("x") {
                product = product.times(self.factor());
            } else if self.next_is("/") {
                product = product.over(self.factor());
            } else if self.next_is("rounded") {
                product = Value((product.0 * (1.0 - 1e-9)).ceil(), 0.0);
            } else {
                return product;
            }
        }
    }

    fn factor(&mut self) -> Value {
        let value = if self.next_is("(") {
            let value = self.sum();
            assert!(self.next_is(")"), "a bracket is not closed");
            value
        } else {
            self.words.pop().and_then(Value::printed).expect("a number")
        };
        if self.next_is("%") { value.over(Value(100.0, 0.0)) } else { value }
    }
}

/// Returns the factor between the unit of a formula's result and the unit of its step.
fn step_of(step: &Step) -> f64 {
    match step.unit.as_str() {
        // The formulas of a life are in TB already.
        "TB" if !step.formula.contains("MB") => 1.0,
        // Bytes become megabytes, or megabytes over an hour become terabytes.
        "MB" | "TB" => 1e6,
        "kWh" => 1e3,
        _ => 1.0,
    }
}

fn check(plan: &Plan) {
    assert!(!plan.steps.is_empty() && !plan.left_out.is_empty());
    for step in &plan.steps {
        let Value(value, error) = Formula::value(&step.formula);
        let unit = step_of(step);
        let error = error / unit + 1e-9 * value.abs();
        let value = value / unit;
        assert!(
            (step.value - value).abs() <= error,
            "{}: {} is {value} within {error}, not {}",
            step.name,
            step.formula,
            step.value
        );
    }
}

/// Returns a number between two bounds with three digits, which a formula prints without rounding.
fn between(rng: &mut Rng, low: u64, high: u64) -> f64 {
    (low + rng.below(high - low)) as f64 / 100.0
}

#[test]
fn formulas_are_read_as_people_read_them() {
    for (text, value) in [
        ("2 + 3 x 4 W", 14.0),
        ("(2 + 3) x 4 h", 20.0),
        ("7 / (2 x 50%) rounded up, + 2 spare", 9.0),
        ("7.1 / 1 rounded up, + 0 spare", 8.0),
        ("12.5 MB/s x 3600 s", 45_000.0),
        ("9 - 4 - 3", 2.0),
    ] {
        assert_eq!(Formula::value(text).0, value, "{text}");
    }
}

#[test]
fn steps_of_plans_have_the_values_of_their_formulas() {
    for seed in 0..200 {
        let rng = &mut Rng::new(StreamKey::from_seed(seed));
        let system_watts = between(rng, 500, 6000);
        let battery = Battery {
            system_watts,
            hours: between(rng, 100, 2000),
            drive_watts: system_watts / 4.0,
            other_watts: between(rng, 0, 400),
        };
        check(&battery.plan().unwrap());
        let video = Video {
            width: 720 + rng.below(7000) as u32,
            height: 480 + rng.below(4000) as u32,
            bits: 8 + rng.below(9) as u32,
            samples: [1.5, 2.0, 3.0][rng.below(3) as usize],
            rate: [23.976, 24.0, 60.0][rng.below(3) as usize],
        };
        let (plan, stream) = video.plan().unwrap();
        check(&plan);
        let pixels = f64::from(video.width) * f64::from(video.height);
        let bits = pixels * video.samples * f64::from(video.bits) * video.rate;
        assert!((stream.bytes_per_second * 8.0 / bits - 1.0).abs() < 1e-12);
        assert_eq!(stream.streams, 1);
        let node = |rng: &mut Rng, name: &str| Node {
            name: name.to_owned(),
            rate: between(rng, 10_000, 900_000),
            watts: between(rng, 10_000, 90_000),
            drive_price: between(rng, 5_000, 90_000),
        };
        let fleet = Fleet {
            demand: between(rng, 1_000_000, 90_000_000),
            unit: "tpm".to_owned(),
            spare_share: [0.0, 0.25, 0.3][rng.below(3) as usize],
            spare_nodes: rng.below(3) as u32,
            present: node(rng, "SATA"),
            other: node(rng, "SAS"),
            costs: Costs {
                server_price: between(rng, 100_000, 900_000),
                licence_price: between(rng, 0, 900_000),
                drives: 1 + rng.below(8) as u32,
                years: between(rng, 100, 800),
                energy_price: between(rng, 5, 60),
                overhead: between(rng, 100, 250),
            },
        };
        check(&fleet.plan().unwrap());
        check(&fleet.servers().unwrap());
        let life = Life {
            drive: "drive".to_owned(),
            rated_terabytes: 600.0,
            rated_from: "600 TBW".to_owned(),
            rated_amplification: Estimate::within(between(rng, 100, 400), [0.7, 1.4]),
            warranty_years: Some(5.0),
            age_years: between(rng, 0, 400),
            written_terabytes: between(rng, 0, 9_000),
            left: Estimate::exact(between(rng, 10, 100)),
            daily_gigabytes: Estimate::within(between(rng, 1_000, 90_000), [0.6, 1.5]),
            amplification: Amplification::Own(Estimate::within(between(rng, 100, 900), [0.8, 1.2])),
        };
        check(&life.plan().unwrap().0);
    }
}

#[test]
fn an_interface_carries_its_rate_divided_by_the_rate_of_one_stream() {
    let interfaces = [("fast", 900_000_000), ("slow", 45_000_000)]
        .map(|(name, rate)| (name.to_owned(), BytesPerSecond(rate)));
    for streams in [1, 2, 7] {
        let stream = Stream { bytes_per_second: 123e6, streams };
        let carriers = stream.carriers(interfaces.clone());
        assert_eq!(
            carriers.iter().map(|carrier| carrier.name.as_str()).collect::<Vec<_>>(),
            ["slow", "fast"]
        );
        for carrier in carriers {
            let expected = carrier.rate.0 as f64 / 123e6;
            assert!((carrier.streams / expected - 1.0).abs() < 1e-12, "{}", carrier.name);
        }
    }
}
