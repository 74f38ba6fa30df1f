//! Time budgets as stacked bars: the mean latency of a request by hop, per test and system.
//!
//! The length of a bar is the latency. The bar shows the hops in the order of the path, with waiting in pale colours
//! and service in full colours. The detail of each test lists the same numbers, with utilisation and ceilings.

use lanemark_schema::result::RunResult;
use maud::{Markup, html};

use super::grid::typeset;
use crate::blocks::budget::{Budget, HopShare};
use crate::charts::axis::Axis;
use crate::charts::palette;
use crate::charts::picture::{LegendEntry, PanelPicture, TitledPanel};
use crate::charts::svg::{
    SvgImage, block, image, named, num, part_title, shortened_list, split, text_fitted_to,
    text_width,
};
use crate::text::number::{LatencyUnit, percent, percent_whole, significant};

/// Maximum number of bars in a panel, so that the panel fits on a sheet of paper.
const BARS_MOST: usize = 20;
/// Maximum number of bars in all panels together whose parts show their numbers under the pointer. If there are more
/// bars, only the details list the numbers.
const POINTED: usize = 96;
const WIDTH: f64 = 440.0;
const LINE: f64 = 16.0;
const BAR: f64 = 17.0;
const GAP: f64 = 7.0;
const AXIS: f64 = 16.0;
/// Room for the unit beyond the last tick.
const UNIT: f64 = 24.0;

#[derive(Clone)]
struct BudgetPanel<'a> {
    test: &'a str,
    bars: Vec<(&'a str, Budget)>,
}

/// Returns the content of the section; `None` if no run has hops.
pub(super) fn budgets(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let panels = panels(runs);
    (!panels.is_empty()).then(|| {
        let visible = distinct(&panels);
        let folded = panels.len() - visible.len();
        let picture = draw_panels(&visible);
        html! {
            p class="soft" {
                "Mean latency of a request, along the hops of its path. Pale colours show the wait \
                 for a hop, and full colours its service. Each panel has its own scale from zero."
            }
            (picture.legend())
            (picture.panels("panels wide"))
            @if folded > 0 {
                p class="soft" { (folded) " more tests share the budgets of a test above." }
            }
        }
    })
}

fn panels<'a>(runs: &'a [(String, &'a RunResult)]) -> Vec<BudgetPanel<'a>> {
    let mut panels: Vec<BudgetPanel<'a>> = Vec::new();
    for (label, run) in runs {
        for result in &run.tests {
            let Some(budget) = Budget::from_result(result) else { continue };
            let test = result.test.name.as_str();
            match panels.iter_mut().find(|panel| panel.test == test) {
                Some(panel) => panel.bars.push((label, budget)),
                None => panels.push(BudgetPanel { test, bars: vec![(label, budget)] }),
            }
        }
    }
    panels
}

/// Relative difference up to which two times are drawn with the same length.
const SAME: f64 = 0.01;

/// Returns the panels, without those whose bars equal the bars of an earlier panel.
fn distinct<'a>(panels: &[BudgetPanel<'a>]) -> Vec<BudgetPanel<'a>> {
    let mut visible: Vec<BudgetPanel<'a>> = Vec::new();
    for panel in panels {
        if !visible.iter().any(|other| other.is_like(panel)) {
            visible.push(panel.clone());
        }
    }
    visible
}

/// Draws the budgets of all tests.
pub(super) fn picture(runs: &[(String, &RunResult)]) -> PanelPicture {
    draw_panels(&panels(runs))
}

fn draw_panels(panels: &[BudgetPanel<'_>]) -> PanelPicture {
    // Hops with the same colour, such as the first link of every system, share a legend entry.
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    for hop in panels.iter().flat_map(|panel| &panel.bars).flat_map(|(_, budget)| &budget.hops) {
        let colour = colour(hop);
        let name = hop.label();
        match entries.iter_mut().find(|(known, _)| *known == colour) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => entries.push((colour, vec![name])),
        }
    }
    let swatch = |(colour, names): &(String, Vec<String>)| {
        let swatch = html! {
            rect class=(format!("wait {colour}")) width="11" height="12" {}
            rect class=(colour) x="11" width="11" height="12" {}
        };
        LegendEntry::new(swatch, names.join(", "))
    };
    let pointed = is_pointed(panels);
    let figures = |panel: &BudgetPanel<'_>| panel.figures(pointed);
    PanelPicture {
        entries: entries.iter().map(swatch).collect(),
        figures: panels.iter().flat_map(figures).collect(),
    }
}

/// Returns whether there are few enough bars for each part to show its numbers.
fn is_pointed(panels: &[BudgetPanel<'_>]) -> bool {
    panels.iter().map(|panel| panel.bars.len()).sum::<usize>() <= POINTED
}

/// Returns the class of a hop's colour.
fn colour(hop: &HopShare) -> String {
    format!("h{}", palette::hop(hop.id))
}

/// Returns the class of the text that is printed on a part of a bar.
fn lettering(hop: &HopShare, is_wait: bool) -> &'static str {
    if is_wait {
        "over"
    } else if palette::is_dark(palette::hop(hop.id)) {
        "on light"
    } else {
        "on"
    }
}

impl BudgetPanel<'_> {
    /// Returns whether the other panel has the same systems, with the same times at all hops.
    fn is_like(&self, other: &Self) -> bool {
        let is_near = |one: f64, other: f64, total: f64| (one - other).abs() <= SAME * total;
        self.bars.len() == other.bars.len()
            && self.bars.iter().zip(&other.bars).all(|((label, one), (other_label, other))| {
                let total = one.total_ns().max(other.total_ns());
                label == other_label
                    && one.hops.len() == other.hops.len()
                    && one.hops.iter().zip(&other.hops).all(|(one, other)| {
                        one.id == other.id
                            && is_near(one.wait_ns, other.wait_ns, total)
                            && is_near(one.service_ns, other.service_ns, total)
                    })
            })
    }

    fn unit(&self) -> LatencyUnit {
        LatencyUnit::fitting(self.bars.iter().map(|(_, budget)| budget.total_ns()))
    }

    /// Draws the panel with its title, split into several parts if it has many bars.
    fn figures(&self, pointed: bool) -> Vec<TitledPanel> {
        let unit = self.unit();
        let totals = self.bars.iter().map(|(_, budget)| unit.convert(budget.total_ns()));
        let axis = Axis::new(totals, WIDTH - UNIT);
        let ranges = split(self.bars.len(), BARS_MOST);
        let count = ranges.len();
        let drawing = |(index, range): (usize, std::ops::Range<usize>)| {
            let title = part_title(self.test, index, count);
            let part = BudgetPanel { test: &title, bars: self.bars[range].to_vec() };
            let image = part.draw(unit, &axis, pointed);
            TitledPanel { title, image }
        };
        ranges.into_iter().enumerate().map(drawing).collect()
    }

    fn draw(&self, unit: LatencyUnit, axis: &Axis, pointed: bool) -> SvgImage {
        let height = self.bars.len() as f64 * (LINE + BAR + GAP);
        let top = |index: usize| index as f64 * (LINE + BAR + GAP);
        let bars: Vec<BudgetBar<'_>> = (0..)
            .zip(&self.bars)
            .map(|(index, (_, budget))| BudgetBar::new(budget, unit, axis, top(index) + LINE))
            .collect();
        let content = html! {
            (axis.draw(0.0, height, &typeset(unit.name())))
            @for (index, (label, budget)) in self.bars.iter().enumerate() {
                (heading(label, budget, unit, top(index)))
            }
            g class="soft end" {
                @for (index, (_, budget)) in self.bars.iter().enumerate() {
                    text x=(num(WIDTH)) y=(num(top(index) + LINE - 5.0)) { (busiest(budget)) }
                }
            }
            // Waiting parts are translucent, and the grid must not show through them.
            path class="ground" d=(bars.iter().map(BudgetBar::whole).collect::<String>()) {}
            @if pointed {
                @for part in bars.iter().flat_map(|bar| &bar.parts) {
                    path class=(part.class()) d=(part.shape) { title { (part.description) } }
                }
            } @else {
                @for (class, shapes) in by_class(&bars) { path class=(class) d=(shapes) {} }
            }
            @for bar in &bars { (bar.names()) }
        };
        image(WIDTH, height + AXIS, &self.alt_text(unit), content)
    }

    fn alt_text(&self, unit: LatencyUnit) -> String {
        let bars = self.bars.iter().map(|(label, budget)| {
            let most = budget.hops.iter().max_by(|a, b| a.total_ns().total_cmp(&b.total_ns()));
            let most = most.map_or(String::new(), |hop| {
                let share = percent_whole(hop.total_ns() / budget.total_ns());
                format!(", {share} of it in {}", hop.label())
            });
            format!(
                "{label}: {} {}{most}",
                significant(unit.convert(budget.total_ns())),
                unit.name()
            )
        });
        format!("Time budget of {}. {}", self.test, shortened_list(bars))
    }
}

/// Names the busiest hop of a budget.
fn busiest(budget: &Budget) -> String {
    budget.busiest().map_or(String::new(), |hop| {
        format!("{} {} busy", text_fitted_to(&hop.label(), 160.0), percent_whole(hop.utilisation))
    })
}

/// Writes the line above a bar: the name of the run and the length of the bar.
fn heading(label: &str, budget: &Budget, unit: LatencyUnit, top: f64) -> Markup {
    let total =
        format!("{} {}", significant(unit.convert(budget.total_ns())), typeset(unit.name()));
    let room = WIDTH - text_width(&busiest(budget)) - text_width(&total) - 30.0;
    html! {
        text x="4" y=(num(top + LINE - 5.0)) {
            (named(label, room)) " " tspan class="soft" dx="4" { (total) }
        }
    }
}

struct BudgetBar<'b> {
    top: f64,
    end: f64,
    parts: Vec<HopTimePart<'b>>,
}

/// The time for which a hop makes a request wait, or for which it serves the request.
struct HopTimePart<'b> {
    hop: &'b HopShare,
    is_wait: bool,
    /// Horizontal centre of the part.
    middle: f64,
    width: f64,
    shape: String,
    description: String,
}

impl<'b> BudgetBar<'b> {
    fn new(budget: &'b Budget, unit: LatencyUnit, axis: &Axis, top: f64) -> Self {
        let mut from = 0.0;
        let mut parts = Vec::new();
        for hop in &budget.hops {
            for (is_wait, ns) in [(true, hop.wait_ns), (false, hop.service_ns)] {
                let width = axis.place(unit.convert(ns));
                if width > 0.0 {
                    let verb = if is_wait { "waiting" } else { "service" };
                    parts.push(HopTimePart {
                        hop,
                        is_wait,
                        middle: from + width / 2.0,
                        width,
                        shape: block(from, top, width, BAR),
                        description: description(hop, verb, ns, budget, unit),
                    });
                }
                from += width;
            }
        }
        Self { top, end: from, parts }
    }

    fn whole(&self) -> String {
        block(0.0, self.top, self.end, BAR)
    }

    /// Writes the name of each hop in the wider of its two parts, if the name fits.
    fn names(&self) -> Markup {
        let is_named = |part: &&HopTimePart<'_>| {
            let is_wider = part.is_wait == (part.hop.wait_ns > part.hop.service_ns);
            is_wider && text_width(&part.hop.label()) + 6.0 <= part.width
        };
        html! {
            @for part in self.parts.iter().filter(is_named) {
                @let name = part.hop.label();
                text class=(lettering(part.hop, part.is_wait)) x=(num(part.middle)) y=(num(self.top + BAR / 2.0 + 4.0)) {
                    (name)
                }
            }
        }
    }
}

impl HopTimePart<'_> {
    fn class(&self) -> String {
        let kind = if self.is_wait { "part wait" } else { "part" };
        format!("{kind} {}", colour(self.hop))
    }
}

/// Groups the parts of all bars by style, with one path per style. Parts that are too thin to be visible are omitted.
fn by_class(bars: &[BudgetBar<'_>]) -> Vec<(String, String)> {
    let mut looks: Vec<(String, String)> = Vec::new();
    for part in bars.iter().flat_map(|bar| &bar.parts).filter(|part| part.width >= 0.1) {
        let class = part.class();
        match looks.iter_mut().find(|(known, _)| *known == class) {
            Some((_, shapes)) => *shapes += &part.shape,
            None => looks.push((class, part.shape.clone())),
        }
    }
    looks
}

/// Returns a text such as `SATA 6 Gb/s, waiting: 105 us, 31.0% of the latency; 97% busy, up to 552 MB/s`.
fn description(hop: &HopShare, verb: &str, ns: f64, budget: &Budget, unit: LatencyUnit) -> String {
    let ceiling = hop.ceiling_megabytes;
    let most = ceiling.map_or(String::new(), |rate| format!(", up to {} MB/s", significant(rate)));
    format!(
        "{}, {verb}: {} {}, {} of the latency; {} busy{most}",
        hop.label(),
        significant(unit.convert(ns)),
        typeset(unit.name()),
        percent(ns / budget.total_ns()),
        percent_whole(hop.utilisation)
    )
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::HopId;

    use super::*;

    fn budget(times: &[(HopId, f64)]) -> Budget {
        let hop = |&(id, service_ns): &(HopId, f64)| HopShare {
            id,
            name: format!("{id}"),
            occurrence: 0,
            utilisation: 0.5,
            ceiling_megabytes: None,
            wait_ns: 0.0,
            service_ns,
        };
        Budget { hops: times.iter().map(hop).collect() }
    }

    #[test]
    fn a_hop_has_the_same_colour_on_every_page() {
        let swatches = |budgets: &[Budget]| -> Vec<String> {
            let bars = budgets.iter().map(|budget| ("a", budget.clone())).collect();
            let picture = draw_panels(&[BudgetPanel { test: "t", bars }]);
            let swatch = |entry: &LegendEntry| entry.swatch.as_ref().map(|one| one.0.clone());
            picture.entries.iter().filter_map(swatch).collect()
        };
        let whole = budget(&[(HopId::Cpu, 1.0), (HopId::Link(0), 2.0), (HopId::Media, 3.0)]);
        let short = budget(&[(HopId::Media, 3.0)]);
        let all = swatches(&[whole]);
        let one = swatches(&[short]);
        assert_eq!(all.len(), 3);
        assert_eq!(all[2], one[0]);
        assert!(all[0].contains("\"h0\"") && all[2].contains("\"h3\""), "{all:?}");
    }

    #[test]
    fn panels_with_the_bars_of_an_earlier_panel_are_not_drawn_again() {
        let panel = |test: &'static str, label: &'static str, time: f64| BudgetPanel {
            test,
            bars: vec![(label, budget(&[(HopId::Cpu, 10.0), (HopId::Media, time)]))],
        };
        let panels = [
            panel("1", "a", 90.0),
            panel("2", "a", 90.5),
            panel("3", "a", 95.0),
            panel("4", "b", 90.0),
        ];
        let tests: Vec<&str> = distinct(&panels).iter().map(|panel| panel.test).collect();
        assert_eq!(tests, ["1", "3", "4"]);
    }
}
