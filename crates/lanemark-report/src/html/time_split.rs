//! The parts of a transaction's time on a page: one bar per run.

use lanemark_schema::result::TestResult;
use maud::{Markup, html};

use crate::charts::axis::Axis;
use crate::charts::palette;
use crate::charts::picture::{LegendEntry, PanelPicture, TitledPanel};
use crate::charts::svg::{SvgImage, block, image, named, num, shortened_list};
use crate::database::TimeSplit;
use crate::text::number::{percent, significant};

const WIDTH: f64 = 900.0;
const LINE: f64 = 16.0;
const BAR: f64 = 18.0;
const GAP: f64 = 9.0;
const AXIS: f64 = 16.0;
/// Room for the unit beyond the last tick.
const UNIT: f64 = 40.0;

/// Draws the parts of the transactions in `tests`, each labelled with the name of its run; `None` if the parts are
/// unknown in all runs.
pub(super) fn section(tests: &[(&str, &TestResult)]) -> Option<Markup> {
    let labelled_split = |(label, test): &(&str, &TestResult)| {
        Some(((*label).to_owned(), TimeSplit::from_test(test)?))
    };
    let splits: Vec<(String, TimeSplit)> = tests.iter().filter_map(labelled_split).collect();
    (!splits.is_empty()).then(|| {
        let picture = PanelPicture {
            entries: entries(&splits),
            figures: vec![TitledPanel { title: String::new(), image: draw(&splits) }],
        };
        html! {
            h4 { "Time of a transaction" }
            (picture.legend())
            @for drawing in &picture.figures { figure class="time" { (drawing.image) } }
        }
    })
}

fn colour(class: usize) -> String {
    format!("h{}", class % palette::HOP_COLOURS)
}

fn entries(splits: &[(String, TimeSplit)]) -> Vec<LegendEntry> {
    let mut parts: Vec<(usize, &str)> = Vec::new();
    for part in splits.iter().flat_map(|(_, split)| &split.parts) {
        if !parts.iter().any(|(class, _)| *class == part.class) {
            parts.push((part.class, part.name));
        }
    }
    parts.sort_unstable();
    let entry = |(class, name): (usize, &str)| {
        LegendEntry::new(html! { rect class=(colour(class)) width="22" height="12" {} }, name)
    };
    parts.into_iter().map(entry).collect()
}

fn draw(splits: &[(String, TimeSplit)]) -> SvgImage {
    let axis = Axis::new(splits.iter().map(|(_, split)| split.total_ms()), WIDTH - UNIT);
    let height = splits.len() as f64 * (LINE + BAR + GAP);
    let content = html! {
        (axis.draw(0.0, height, "ms"))
        @for (index, (label, split)) in splits.iter().enumerate() {
            @let top = index as f64 * (LINE + BAR + GAP);
            text x="4" y=(num(top + LINE - 4.0)) {
                (named(label, WIDTH - 120.0)) " "
                tspan class="soft" dx="4" { (significant(split.total_ms())) " ms" }
            }
            @for (from, part) in placed_parts(split) {
                path class=(format!("part {}", colour(part.class)))
                    d=(block(axis.place(from), top + LINE, axis.place(part.ms), BAR)) {
                    title { (part.name) ": " (significant(part.ms)) " ms, " (percent(part.share)) }
                }
            }
        }
    };
    let descriptions = splits.iter().map(|(label, split)| {
        let parts = split.parts.iter().map(|part| format!("{} {}", part.name, percent(part.share)));
        format!("{label}: {}", parts.collect::<Vec<_>>().join(", "))
    });
    image(
        WIDTH,
        height + AXIS,
        &format!("Time of a transaction. {}", shortened_list(descriptions)),
        content,
    )
}

/// Returns each part with the total time of the parts before it.
fn placed_parts(split: &TimeSplit) -> impl Iterator<Item = (f64, &crate::database::TimePart)> {
    split.parts.iter().scan(0.0, |from, part| {
        let own_start = *from;
        *from += part.ms;
        Some((own_start, part))
    })
}

#[cfg(test)]
mod tests;
