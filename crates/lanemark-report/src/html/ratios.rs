//! Ratios of the runs to the first run: one panel per run, with the ratio of each test's throughput and its 80%
//! interval on a logarithmic axis, on which twice as fast and half as fast are equally far from 1.

use lanemark_schema::result::{RatioEstimate, RatioVerdict, RunResult};
use maud::{Markup, html};

use super::chart::system_colour;
use crate::charts::svg::{SvgImage, image, num, shortened_list, text_fitted_to};
use crate::compare::pair::throughput_ratio;
use crate::text::number::{fixed, ratio};
use crate::text::verdict::{NOT_SHOWN, SAME};

const WIDTH: f64 = 620.0;
/// Room for the names of tests.
const NAMES: f64 = 150.0;
/// Room for the text after the plot.
const WORDS: f64 = 210.0;
const LINE: f64 = 18.0;
const AXIS: f64 = 16.0;
const DOT: f64 = 3.5;
/// Maximum number of runs that are compared with the first, and of tests in a panel. Tables contain the others.
const RUNS_MAX: usize = 4;
const TESTS_MAX: usize = 40;
/// Ratios of adjacent ticks, as multiples of a power of ten.
const TICKS: [f64; 3] = [1.0, 2.0, 5.0];

/// The ratios of one run to the first run.
struct RatioPanel<'r> {
    title: String,
    rows: Vec<(&'r str, RatioEstimate)>,
    colour: String,
}

/// Returns the content of the section; `None` if no two runs have a test in common.
pub(super) fn section(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let ((first, base), others) = runs.split_first()?;
    let panels: Vec<RatioPanel<'_>> = others
        .iter()
        .take(RUNS_MAX)
        .enumerate()
        .map(|(index, (label, run))| RatioPanel {
            title: format!("{label}, relative to {first}"),
            rows: base
                .tests
                .iter()
                .take(TESTS_MAX)
                .filter_map(|test| row(base, run, &test.test.name))
                .collect(),
            colour: system_colour(index + 1),
        })
        .filter(|panel| !panel.rows.is_empty())
        .collect();
    (!panels.is_empty()).then(|| {
        html! {
            p class="soft" {
                "The throughput of each test divided by the first run's throughput. A line extends over the 80% interval of the ratio; a ratio whose interval contains 1 shows no difference."
            }
            @for panel in &panels {
                figure class="ratios" { figcaption { (panel.title) } (panel.draw()) }
            }
        }
    })
}

fn row<'r>(
    base: &'r RunResult,
    run: &RunResult,
    test: &'r str,
) -> Option<(&'r str, RatioEstimate)> {
    let ratio = throughput_ratio(base, run, test)?;
    (ratio.ratio() > 0.0).then_some((test, ratio))
}

impl RatioPanel<'_> {
    fn draw(&self) -> SvgImage {
        let ends = self.rows.iter().flat_map(|(_, estimate)| {
            let (low, high) = estimate.interval_80().unwrap_or((1.0, 1.0));
            [low, high, estimate.ratio(), 1.0]
        });
        let ends = ends.filter(|end| *end > 0.0 && end.is_finite()).map(f64::log10);
        let low = ends.clone().fold(-0.1, f64::min);
        let high = ends.fold(0.1, f64::max);
        let width = WIDTH - NAMES - WORDS;
        let x_of = |value: f64| ((value.log10() - low) / (high - low)).clamp(0.0, 1.0) * width;
        let height = self.rows.len() as f64 * LINE;
        let ticks = ticks(low, high);
        let grid = |tick: f64| format!("M{} 0v{}", num(x_of(tick)), num(height));
        let content = html! {
            g transform=(format!("translate({} 0)", num(NAMES))) {
                path class="grid" d=(ticks.iter().copied().map(grid).collect::<String>()) {}
                path class="base" d=(grid(1.0)) {}
                g class="soft middle" {
                    @for tick in &ticks { text x=(num(x_of(*tick))) y=(num(height + 12.0)) { (tick) "x" } }
                }
                @for (index, (test, estimate)) in self.rows.iter().enumerate() {
                    @let middle = (index as f64 + 0.5) * LINE;
                    @let text_y = num(middle + 3.5);
                    text class="end" x="-8" y=(text_y) { (text_fitted_to(test, NAMES - 12.0)) }
                    @if let Some((low, high)) = estimate.interval_80() {
                        path class="whisker" d=(format!("M{} {}H{}", num(x_of(low)), num(middle), num(x_of(high)))) {}
                    }
                    circle class=(self.colour) cx=(num(x_of(estimate.ratio()))) cy=(num(middle)) r=(num(DOT)) {}
                    text class="soft" x=(num(width + 10.0)) y=(text_y) { (words(*estimate)) }
                }
            }
        };
        let parts =
            self.rows.iter().map(|(test, estimate)| format!("{test}: {}", words(*estimate)));
        image(WIDTH, height + AXIS, &format!("{}. {}", self.title, shortened_list(parts)), content)
    }
}

/// Returns the ticks between two logarithms, which enclose the logarithm of 1.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let powers = (low.floor() as i32)..=(high.ceil() as i32);
    let all = powers.flat_map(|power| TICKS.map(|factor| factor * 10f64.powi(power)));
    let inside: Vec<f64> = all.filter(|tick| (low..=high).contains(&tick.log10())).collect();
    // Over more than two powers of ten, only these are ticks.
    let is_wide = high - low > 2.0;
    inside.into_iter().filter(|tick| !is_wide || tick.log10().fract().abs() < 1e-9).collect()
}

/// Formats a ratio, such as `1.36x (1.20 to 1.54)`.
fn words(estimate: RatioEstimate) -> String {
    let value = ratio(estimate.ratio());
    let Some((low, high)) = estimate.interval_80() else { return value };
    let verdict = match estimate.verdict() {
        RatioVerdict::Higher | RatioVerdict::Lower => String::new(),
        RatioVerdict::Same => format!(", {SAME}"),
        RatioVerdict::NotShown => format!(", {NOT_SHOWN}"),
    };
    format!("{value} ({} to {}){verdict}", fixed(low, 2), fixed(high, 2))
}

#[cfg(test)]
mod tests {
    use maud::Render;

    use super::*;

    #[test]
    fn ticks_are_one_two_and_five_or_powers_of_ten_on_a_wide_axis() {
        assert_eq!(ticks(-0.1, 0.4), [1.0, 2.0]);
        assert_eq!(ticks(-0.8, 0.1), [0.2, 0.5, 1.0]);
        assert_eq!(ticks(-1.0, 2.5), [0.1, 1.0, 10.0, 100.0]);
    }

    #[test]
    fn a_ratio_is_equally_far_from_one_in_both_directions() {
        let panel = |value: f64| RatioPanel {
            title: "B".to_owned(),
            rows: vec![("t", RatioEstimate::within(value, value / 1.1, value * 1.1))],
            colour: "s1".to_owned(),
        };
        let distance = |value: f64| {
            let drawn = panel(value).draw().render().into_string();
            let at = |mark: &str| -> f64 {
                let rest = &drawn[drawn.find(mark).unwrap() + mark.len()..];
                rest[..rest.find(['"', ' ']).unwrap()].parse().unwrap()
            };
            (at("cx=\"") - at("class=\"base\" d=\"M")).abs()
        };
        assert!((distance(2.0) - distance(0.5)).abs() < 0.2, "{} {}", distance(2.0), distance(0.5));
        assert!(distance(2.0) > 50.0);
    }
}
