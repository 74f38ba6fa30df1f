//! The sensitivity chart: for each test, one bar per hop, which shows the gain in throughput at twice the hop's speed.
//!
//! Losses are printed as text instead of bars, and so are changes of the mean latency.

use lanemark_schema::result::{RunResult, Sensitivity};
use maud::{Markup, html};

use crate::blocks::sensitivity::{label, latency, sentence, signed};
use crate::charts::axis::Axis;
use crate::charts::svg::{SvgImage, image, num, text_fitted_to, text_width};

const WIDTH: f64 = 470.0;
/// Room for the names of hops.
const NAMES: f64 = 130.0;
/// Room for the text after a bar.
const WORDS: f64 = 150.0;
const LINE: f64 = 17.0;
const BAR: f64 = 11.0;
const AXIS: f64 = 16.0;

/// Returns the content of the section; `None` if no run determined the sensitivity.
pub(super) fn gains(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let several = runs.len() > 1;
    let mut panels: Vec<(String, &Sensitivity)> = Vec::new();
    for (system, run) in runs {
        for test in &run.tests {
            let Some(sensitivity) = &test.sensitivity else { continue };
            let name = &test.test.name;
            let caption = if several { format!("{name}: {system}") } else { name.clone() };
            panels.push((caption, sensitivity));
        }
    }
    (!panels.is_empty()).then(|| {
        html! {
            p class="soft" {
                "The throughput of the test with one hop at twice its speed and all else equal, and with twice the load. Gains are not additive. The hop with the largest gain is the bottleneck."
            }
            div class="panels wide" {
                @for (caption, sensitivity) in &panels {
                    figure {
                        figcaption { (caption) }
                        (draw(caption, sensitivity))
                    }
                }
            }
        }
    })
}

fn draw(caption: &str, sensitivity: &Sensitivity) -> SvgImage {
    let gains = sensitivity.gains.iter().map(|gain| gain.throughput_gain * 100.0);
    let axis = Axis::new(gains.chain([1.0]), WIDTH - NAMES - WORDS);
    let height = sensitivity.gains.len() as f64 * LINE;
    let content = html! {
        g transform=(format!("translate({} 0)", num(NAMES))) {
            (axis.draw(0.0, height, "%"))
            @for (index, gain) in sensitivity.gains.iter().enumerate() {
                @let top = index as f64 * LINE;
                @let y = num(top + LINE / 2.0 + 3.5);
                @let length = axis.place(gain.throughput_gain * 100.0);
                @let name = label(sensitivity, index);
                @let most = sensitivity.bottleneck == Some(index);
                text class=(if most { "" } else { "soft" }) x="-6" y=(y) text-anchor="end" {
                    (text_fitted_to(&name, NAMES - 10.0))
                }
                @if length > 0.0 {
                    rect class=(colour(gain.id.is_load(), most)) x="0" y=(num(top + (LINE - BAR) / 2.0))
                        width=(num(length)) height=(num(BAR)) {
                        title { (name) ", " (gain.change) ": " (signed(gain.throughput_gain)) }
                    }
                }
                @let text_of_gain = words(gain.throughput_gain, &latency(gain));
                text class=(if most { "" } else { "soft" }) x=(num(length + 5.0)) y=(y) {
                    (text_fitted_to(&text_of_gain, WIDTH - NAMES - length + text_width("  ")))
                }
            }
        }
    };
    image(WIDTH, height + AXIS, &format!("{caption}. {}", sentence(sensitivity)), content)
}

/// Formats the changes in throughput and latency, such as `+85%, latency −46%`, or `–` if both are zero.
fn words(throughput: f64, latency: &str) -> String {
    match latency {
        "+0%" if throughput == 0.0 => "–".to_owned(),
        _ => format!("{}, latency {latency}", signed(throughput)).replace('-', "−"),
    }
}

fn colour(load: bool, most: bool) -> &'static str {
    match (load, most) {
        (true, _) => "neutral",
        (false, true) => "s1",
        (false, false) => "s0",
    }
}
