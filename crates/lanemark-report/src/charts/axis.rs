//! A linear axis from zero, with ticks at 1, 2 or 5 times a power of ten.
//!
//! The axis is always linear and starts at zero, because the length of a bar represents the bar's value.

use lanemark_schema::text::{ABSENT, grouped};
use maud::{Markup, html};

use super::svg::{num, text_width};

/// Distance between a plot and its tick labels.
const TICK_LABEL_DROP: f64 = 12.0;

/// A scale from zero to a maximum value.
pub(crate) struct Axis {
    max: f64,
    width: f64,
    step: f64,
}

impl Axis {
    /// Creates an axis of `width` that extends to the maximum of `values`.
    pub(crate) fn new(values: impl Iterator<Item = f64>, width: f64) -> Self {
        Self::with_ticks(values, width, 4.0)
    }

    /// Creates an axis of `width` with about `most` ticks.
    pub(crate) fn with_ticks(values: impl Iterator<Item = f64>, width: f64, most: f64) -> Self {
        let greatest = values.filter(|value| value.is_finite()).fold(0.0_f64, f64::max);
        let max = if greatest > 0.0 { greatest } else { 1.0 };
        Self { max, width, step: step(max / most) }
    }

    /// Returns the distance of `value` from zero on the axis.
    pub(crate) fn place(&self, value: f64) -> f64 {
        if value.is_finite() { (value / self.max).clamp(0.0, 1.0) * self.width } else { 0.0 }
    }

    /// Draws grid lines from `top` to `bottom`, the tick labels under them, and `unit` after the last label.
    pub(crate) fn draw(&self, top: f64, bottom: f64, unit: &str) -> Markup {
        let ticks = self.ticks();
        let last = ticks.last().copied().unwrap_or(0.0);
        let label = |tick: f64| tick_label(tick, self.step);
        let unit_at = self.place(last) + text_width(&label(last)) / 2.0 + 4.0;
        html! {
            (self.lines(top, bottom))
            g class="soft" transform=(format!("translate(0 {})", num(bottom + TICK_LABEL_DROP))) {
                text { (label(0.0)) }
                g class="middle" {
                    @for &tick in ticks.iter().skip(1) {
                        text x=(num(self.place(tick))) { (label(tick)) }
                    }
                }
                text x=(num(unit_at)) { (unit) }
            }
        }
    }

    /// Draws only the grid lines.
    pub(crate) fn lines(&self, top: f64, bottom: f64) -> Markup {
        let height = num(bottom - top);
        let line = |tick: &f64| format!("M{} {}v{height}", num(self.place(*tick)), num(top));
        let ticks = self.ticks();
        html! {
            path class="base" d=(line(&0.0)) {}
            @if ticks.len() > 1 {
                path class="grid" d=(ticks.iter().skip(1).map(line).collect::<String>()) {}
            }
        }
    }

    /// Returns the ticks of the axis. The first tick is at zero.
    fn ticks(&self) -> Vec<f64> {
        let count = (self.max / self.step + 1e-9).floor() as usize;
        (0..=count).map(|tick| tick as f64 * self.step).collect()
    }
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is `least` or more.
pub(crate) fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

fn tick_label(tick: f64, step: f64) -> String {
    if !tick.is_finite() {
        return ABSENT.to_owned();
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    grouped(&format!("{tick:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_show_is_still_an_axis() {
        let axis = Axis::new([f64::NAN, 0.0].into_iter(), 100.0);
        assert_eq!((axis.place(0.0), axis.place(f64::NAN), axis.place(2.0)), (0.0, 0.0, 100.0));
    }

    #[test]
    fn ticks_are_drawn_at_their_values_and_the_unit_after_the_last() {
        // The ticks are at 0, 20, 40 and 60 of 75 units, on 150 pixels.
        let axis = Axis::new([75.0, 10.0].into_iter(), 150.0);
        assert_eq!((axis.max, axis.step, axis.ticks()), (75.0, 20.0, vec![0.0, 20.0, 40.0, 60.0]));
        assert_eq!([30.0, -5.0, 80.0].map(|value| axis.place(value)), [60.0, 0.0, 150.0]);
        let drawn = axis.draw(7.0, 31.0, "ms").into_string();
        for part in [
            "<path class=\"base\" d=\"M0 7v24\">",
            "<path class=\"grid\" d=\"M40 7v24M80 7v24M120 7v24\">",
            "<g class=\"soft\" transform=\"translate(0 43)\"><text>0</text>",
            "<text x=\"40\">20</text><text x=\"80\">40</text><text x=\"120\">60</text></g>",
            // The unit begins half a label of two characters, and 4, after the last tick.
            "<text x=\"130.6\">ms</text></g>",
        ] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
        // The step exceeds the maximum only on an axis with few ticks; the single tick is then at zero.
        let few = Axis::with_ticks([3.0].into_iter(), 150.0, 0.5);
        assert_eq!((few.step, few.ticks()), (10.0, vec![0.0]));
        assert!(!few.lines(0.0, 9.0).into_string().contains("grid"));
    }

    #[test]
    fn steps_are_one_two_or_five_times_a_power_of_ten() {
        let steps = [0.07, 0.05, 0.02, 0.011, 1.0, 1.01, 2.0, 4.99, 5.01, 10.0, 230.0].map(step);
        let wanted = [0.1, 0.05, 0.02, 0.02, 1.0, 2.0, 2.0, 5.0, 10.0, 10.0, 500.0];
        for (found, wanted) in steps.into_iter().zip(wanted) {
            assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}");
        }
        let told = [(0.25, 0.05), (1500.0, 500.0), (3.0, 0.5), (f64::NAN, 1.0)]
            .map(|(tick, step)| tick_label(tick, step));
        assert_eq!(told, ["0.25", "1,500", "3.0", ABSENT]);
    }
}
