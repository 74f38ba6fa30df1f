//! A sweep: its best points and knees as text, its points as a table, and its curves on a page.

mod curve;
mod page;

use lanemark_schema::result::{Sweep, SweepPoint};

use crate::terminal::{Style, TerminalText};
use crate::text::number::{LatencyUnit, fixed, or_absent, percent_whole, rate_text, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use curve::{Curve, Curves, Knee};

pub use page::sweep_html;

/// Maximum number of points that the terminal text lists.
const SHOWN: usize = 60;
/// Maximum number of curves that the terminal text describes individually.
const CURVES: usize = 20;

/// Writes a sweep as terminal text: the answer as a sentence, the points if there are few, a sentence per curve if
/// there are several, and the points that failed. With `target`, the text also states the smallest load of each curve
/// that reaches this share of the maximum.
pub fn sweep_text(sweep: &Sweep, target: Option<f64>, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&sweep_answer(sweep, target));
    sheet.heading(&title(sweep));
    sheet.blank();
    let Some(curves) = curves(sweep) else {
        write_failed_points(&mut sheet, sweep);
        return sheet.finish();
    };
    if sweep.points.len() <= SHOWN {
        sheet.table(&table(sweep));
        sheet.blank();
    }
    let is_alone = curves.panels.iter().map(|panel| panel.curves.len()).sum::<usize>() == 1;
    if let Some(share) = target.filter(|_| curves.over_load() && !is_alone) {
        for answer in sentences(&curves, |curve| share_reached_text(&curves, curve, share))
            .iter()
            .take(CURVES)
        {
            sheet.item("> ", answer, CellEmphasis::Strong);
        }
    }
    // The answer about a single curve states its knee, unless a target is requested.
    if !is_alone || target.is_some() {
        let lines: Vec<String> = sentences(&curves, |curve| curve_sentence(&curves, curve));
        for sentence in lines.iter().take(CURVES) {
            sheet.item("- ", sentence, CellEmphasis::Plain);
        }
        if lines.len() > CURVES {
            sheet.minor_paragraph(&format!(
                "{} more curves; --html draws all of them.",
                lines.len() - CURVES
            ));
        }
    }
    write_failed_points(&mut sheet, sweep);
    sheet.finish()
}

/// Returns the answer of a sweep. For a single curve, the answer is the knee, or the smallest load that reaches the
/// share `target` of the maximum. For several curves, it is the fastest curve.
pub fn sweep_answer(sweep: &Sweep, target: Option<f64>) -> String {
    let Some(curves) = curves(sweep) else {
        return format!("None of the {} points has figures.", sweep.points.len());
    };
    let subject = subject(sweep);
    let mut all: Vec<(&str, &Curve)> = curves
        .panels
        .iter()
        .flat_map(|panel| panel.curves.iter().map(move |curve| (panel.name.as_str(), curve)))
        .collect();
    if let [(_, curve)] = all.as_slice() {
        let sentence = match target.filter(|_| curves.over_load()) {
            Some(share) => share_reached_text(&curves, curve, share),
            None => curve_sentence(&curves, curve),
        };
        return format!("{subject}: {sentence}");
    }
    all.sort_by(|one, other| other.1.most().total_cmp(&one.1.most()));
    let Some((panel, fastest)) = all.first() else { return format!("{subject}: no figures.") };
    let by = curves.by.as_ref().map(|by| format!("{by} {}", fastest.name));
    let names = by.into_iter().chain((!panel.is_empty()).then(|| (*panel).to_owned()));
    let name = names.collect::<Vec<_>>().join(", ");
    format!(
        "{subject}: {name} is the fastest of {} curves, {}",
        all.len(),
        highest_point_text(&curves, fastest)
    )
}

/// Returns a text such as `samsung-950-pro-512gb@workstation-z170:m2, RND4K Q32T1 read`, without the parts that differ
/// between points.
fn subject(sweep: &Sweep) -> String {
    let Some(first) = sweep.points.first() else { return "Nothing".to_owned() };
    let system = &first.system;
    let system = if sweep.points.iter().all(|point| point.system == *system) {
        system.as_str()
    } else {
        let drive = system.split('@').next().unwrap_or(system);
        let same = sweep.points.iter().all(|point| point.system.split('@').next() == Some(drive));
        if same { drive } else { "" }
    };
    match system {
        "" => first.test.clone(),
        system => format!("{system}, {}", first.test),
    }
}

fn curves(sweep: &Sweep) -> Option<Curves> {
    let any = sweep.points.iter().any(|point| point.outcome.is_ok());
    (any && !sweep.axes.is_empty()).then(|| Curves::from_sweep(sweep))
}

/// Returns a title such as `4K read over queue_depth, block and drive.flash.channels`.
fn title(sweep: &Sweep) -> String {
    let test = sweep.points.first().map_or("Nothing", |point| point.test.as_str());
    let over = match sweep.axes.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        axes => axes.concat(),
    };
    format!("{test} over {over}")
}

/// Writes a sentence about each curve.
fn sentences(curves: &Curves, describe: impl Fn(&Curve) -> String) -> Vec<String> {
    let panels = curves.panels.iter();
    panels
        .flat_map(|panel| panel.curves.iter().map(move |curve| (panel.name.as_str(), curve)))
        .map(|(panel, curve)| {
            let by = curves.by.as_ref().map(|by| format!("{by} {}", curve.name));
            let names = by.into_iter().chain((!panel.is_empty()).then(|| panel.to_owned()));
            let name = names.collect::<Vec<_>>().join(", ");
            let text = describe(curve);
            if name.is_empty() { text } else { format!("{name}: {text}") }
        })
        .collect()
}

/// Returns a text such as `at most 407 MB/s at queue_depth 16`.
fn highest_point_text(curves: &Curves, curve: &Curve) -> String {
    let best = curve.points.iter().find(|point| point.figures.bytes_per_second >= curve.most());
    best.map_or("no figures.".to_owned(), |best| {
        format!("at most {} at {} {}.", rate(curves, best), curves.x, best.text)
    })
}

fn curve_sentence(curves: &Curves, curve: &Curve) -> String {
    let most = highest_point_text(curves, curve);
    if !curves.over_load() || curve.points.is_empty() {
        return most;
    }
    match curve.knee() {
        Some(Knee::At(index)) => {
            let knee = &curve.points[index];
            let share = knee.figures.bytes_per_second / curve.most();
            format!(
                "the knee is at {} {}, {} ({} of the maximum) with a mean latency of {} µs; {most}",
                curves.x,
                knee.text,
                rate(curves, knee),
                percent_whole(share),
                significant(knee.figures.latency_mean_us),
            )
        }
        Some(Knee::Beyond) => format!("no knee up to {} {}; {most}", curves.x, last_value(curve)),
        Some(Knee::Before) => {
            format!(
                "saturated from the first point on, {} {}; {most}",
                curves.x,
                first_value(curve)
            )
        }
        None => most,
    }
}

/// Returns a sentence such as `queue_depth 16 is the minimum that reaches 90% of the maximum: 196233 requests a second
/// (91%) in 81.4 µs on average, p99 103 µs; 12 reaches 82%`.
fn share_reached_text(curves: &Curves, curve: &Curve, share: f64) -> String {
    let share_of_most = |point: &curve::CurvePoint| point.figures.bytes_per_second / curve.most();
    let Some(at) = curve.points.iter().position(|point| share_of_most(point) >= share) else {
        return "no figures".to_owned();
    };
    let point = &curve.points[at];
    let p99 = point.figures.latency_percentiles_us[1];
    let p99 = p99.map_or(String::new(), |us| format!(", p99 {} µs", significant(us)));
    let before = at.checked_sub(1).map(|before| &curve.points[before]);
    let before = before.map_or(String::new(), |before| {
        format!("; {} reaches {}", before.text, percent_whole(share_of_most(before)))
    });
    format!(
        "{} {} is the minimum that reaches {} of the maximum: {} ({}) in {} µs on average{p99}{before}.",
        curves.x,
        point.text,
        percent_whole(share),
        rate(curves, point),
        percent_whole(share_of_most(point)),
        significant(point.figures.latency_mean_us)
    )
}

fn first_value(curve: &Curve) -> &str {
    curve.points.first().map_or("", |point| &point.text)
}

fn last_value(curve: &Curve) -> &str {
    curve.points.last().map_or("", |point| &point.text)
}

/// Formats the throughput of a point.
fn rate(curves: &Curves, point: &curve::CurvePoint) -> String {
    if curves.data {
        rate_text(point.figures.bytes_per_second)
    } else {
        format!("{} requests a second", significant(point.figures.iops))
    }
}

/// Writes the points that failed, each kind of failure with the reason for the first one.
fn write_failed_points(sheet: &mut TerminalText, sweep: &Sweep) {
    let errors = errors(sweep);
    if errors.is_empty() {
        return;
    }
    sheet.blank();
    for (error, points) in errors.iter().take(5) {
        sheet.item("! ", &counted(error, *points, sweep.points.len()), CellEmphasis::Warning);
    }
    if errors.len() > 5 {
        sheet.minor_paragraph(&format!("{} more reasons in the file.", errors.len() - 5));
    }
}

fn counted(error: &str, points: usize, all: usize) -> String {
    format!("{points} of {all} points lack figures: {error}")
}

/// Returns each reason why points lack figures, with the number of points that it affects.
fn errors(sweep: &Sweep) -> Vec<(&str, usize)> {
    let mut errors: Vec<(&str, usize)> = Vec::new();
    for error in sweep.points.iter().filter_map(|point| point.outcome.as_ref().err()) {
        match errors.iter_mut().find(|(known, _)| known == error) {
            Some((_, count)) => *count += 1,
            None => errors.push((error, 1)),
        }
    }
    errors
}

/// Builds the table of all points with figures.
fn table(sweep: &Sweep) -> Table {
    let ok = |point: &SweepPoint| point.outcome.clone().ok();
    let latencies = sweep.points.iter().filter_map(ok).map(|point| point.latency_mean_us * 1e3);
    let unit = LatencyUnit::fitting(latencies);
    let mut columns: Vec<Column> = sweep.axes.iter().map(|axis| Column::name(axis)).collect();
    columns.extend([
        Column::number("MB/s", "10^6 B/s"),
        Column::number("IOPS", "1/s"),
        Column::number("mean", unit.name()),
        Column::number("p99", unit.name()).optional(1),
        Column::text("busiest").optional(3),
        Column::number("busy", "").optional(2),
    ]);
    let mut table = Table::new(columns);
    let us = |us: f64| significant(unit.convert(us * 1e3));
    for point in &sweep.points {
        let Ok(figures) = &point.outcome else { continue };
        let mut cells: Vec<Cell> = point.values.iter().map(Cell::plain).collect();
        let (hop, busy) = figures.busiest.clone().unzip();
        cells.extend([
            Cell::strong(significant(figures.bytes_per_second / 1e6)),
            Cell::plain(fixed(figures.iops, if figures.iops < 100.0 { 1 } else { 0 })),
            Cell::plain(us(figures.latency_mean_us)),
            Cell::plain(or_absent(figures.latency_percentiles_us[1], us)),
            Cell::plain(hop.unwrap_or_default()),
            Cell::plain(or_absent(busy, percent_whole)),
        ]);
        table.push(cells);
    }
    table
}
