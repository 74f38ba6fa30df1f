//! The path of a system: the platform as a tree, the hops with their ceilings, and the bottleneck.
//!
//! A ceiling is the throughput of a hop for one test, computed by the simulator with the hop's own model. The rate of a
//! link is its throughput in one direction, regardless of the test. Hops are compared by ceiling, and links by rate.
//! Only ceilings decide which hop is the bottleneck, in the tree, the table and the drawing alike, because the link of
//! a node in the tree refers to its hop. Latencies are not summed, because hops may overlap in time.

mod diagram;
mod inspection;
mod layout;
mod scale;
pub(crate) mod tree;

use lanemark_schema::result::{HopId, LinkLoss, PathHop, TestedPath, TopologyNode};
use lanemark_schema::text::with_micro;
use lanemark_schema::units::BytesPerSecond;
use unicode_width::UnicodeWidthStr;

use crate::blocks::budget::path_limit;
use crate::terminal::{Style, TerminalText, without_styles, wrap};
use crate::text::number::{
    ABSENT, LatencyUnit, fixed, grouped, or_absent, percent_whole, rate_text, significant,
};
use crate::text::table::{Cell, CellEmphasis, Column, Table, point};

/// Utilisation from which a hop is the bottleneck.
const FULL: f64 = 0.9;
/// Share of its ceiling that a busy hop carries.
const REACHED: f64 = 0.8;
/// Share of a ceiling above which the rate is not an error of rounding.
const ABOVE_CEILING: f64 = 1.02;

pub(crate) use diagram::TreeDrawing;
pub use diagram::path_svg;
pub use inspection::{inspection_svg, inspection_text};

/// The mark of the bottleneck, in its row and before the sentence about it.
const MARK: &str = "◀";
/// Maximum width of hop names while the formulas in the next column need room.
const NAME_FAIR: usize = 26;
/// Minimum width of the column of formulas.
const LAW_MIN: usize = 16;

/// Writes a system's path: the platform as a tree in which the path is marked, then the hops, and a sentence about the
/// bottleneck. The row of a hop shows its ceiling for the test in MB/s (10^6 bytes a second) and its one-way latency.
pub fn path_table(view: &TestedPath, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&answer(view));
    sheet.heading(&format!("{} under {}", view.system, view.test));
    sheet.blank();
    let narrow = bottleneck(view);
    tree::draw(&mut sheet, &view.topology, &narrow);
    sheet.blank();
    if !view.hops.is_empty() {
        let width = sheet.width();
        sheet.table(&hop_table(&view.hops, &narrow, width));
        sheet.blank();
    }
    let mark = if narrow.is_empty() { String::new() } else { format!("{MARK} ") };
    sheet.item(&mark, &sentence(view), CellEmphasis::Plain);
    if let Some(limit) = &view.limit {
        sheet.blank();
        let random = view.random_block_bytes.is_some();
        if let Some(loss) = &limit.loss {
            sheet.paragraph(&loss_sentence(loss, random));
        }
        if let Some(sentence) = path_limit(limit) {
            sheet.paragraph(&format!("{sentence}."));
        }
    }
    sheet.finish()
}

/// Returns a sentence such as `samsung-850-pro-1tb@workstation-z170:sata carries 568 MB/s of 128KB sequential read; the
/// bottleneck is SATA 6 Gb/s`.
fn answer(view: &TestedPath) -> String {
    let TestedPath { system, test, .. } = view;
    let carried = view.simulated.map(|carried| throughput_text(view, carried));
    let names = names(&view.hops);
    let least = bottleneck(view);
    let hops = view.hops.iter().zip(&names).filter(|(hop, _)| least.contains(&hop.id));
    let named: Vec<&str> = hops.map(|(_, name)| name.as_str()).collect();
    let hop = match named.as_slice() {
        [] if view.limit.is_some() => "; no hop is busy all the time".to_owned(),
        [] => String::new(),
        [name] => format!("; the bottleneck is {name}"),
        [before @ .., last] => format!("; the bottlenecks are {} and {last}", before.join(", ")),
    };
    let limit = view.limit.as_ref();
    let hop = match limit.and_then(|limit| limit.loss.as_ref()) {
        Some(loss) => format!("; you lose {} to {}", percent_whole(loss.share), loss.link),
        None => hop,
    };
    match carried {
        Some(carried) => format!("{system} carries {carried} of {test}{hop}."),
        None => match view.hops.iter().find(|hop| least.contains(&hop.id)) {
            Some(PathHop { ceiling: Some(ceiling), .. }) => {
                format!(
                    "{system} carries at most {} of {test}{hop}.",
                    throughput_text(view, *ceiling)
                )
            }
            _ => format!("No hop of {system} has a ceiling for {test}."),
        },
    }
}

/// Formats a throughput with its unit, and also in requests a second if offsets are random.
fn throughput_text(view: &TestedPath, carried: BytesPerSecond) -> String {
    match view.random_block_bytes {
        Some(block) => {
            format!("{} ({} IOPS)", rate(carried), grouped(&fixed(carried.0 as f64 / block, 0)))
        }
        None => rate(carried),
    }
}

/// Names the bottleneck and its ceiling, and the throughput of the whole path if that is known.
pub fn path_sentence(view: &TestedPath) -> String {
    sentence(view)
}

/// Returns a sentence such as `You lose 41% to DMI 3.0, which 2 drives share: if that link were 16 times as fast, the
/// path would carry 1050 MB/s`.
pub(crate) fn loss_sentence(loss: &LinkLoss, random: bool) -> String {
    let shared = match loss.drives {
        0 | 1 => String::new(),
        drives => format!(", which {drives} drives share"),
    };
    let carried = if random {
        format!("{} IOPS", grouped(&fixed(loss.iops, 0)))
    } else {
        rate_text(loss.bytes_per_second)
    };
    let faster = match &loss.own {
        Some(supported) => format!("over {supported}, which the drive supports,"),
        None => format!("if that link were {} times as fast,", loss.times),
    };
    format!(
        "You lose {} to {}{shared}: {faster} the path would carry {carried}.",
        percent_whole(loss.share),
        loss.link
    )
}

/// Writes the sentence about the bottleneck.
pub(crate) fn sentence(view: &TestedPath) -> String {
    let throughput = |carried: BytesPerSecond| match view.random_block_bytes {
        Some(block) => {
            format!("{}, {} IOPS,", rate(carried), grouped(&fixed(carried.0 as f64 / block, 0)))
        }
        None => rate(carried),
    };
    let names = names(&view.hops);
    let least = bottleneck(view);
    let hops = || view.hops.iter().zip(&names).filter(|(hop, _)| least.contains(&hop.id));
    // A busy hop whose ceiling is far above the rate is slowed down by something that the ceiling does not contain.
    let is_reached = |ceiling: &BytesPerSecond| {
        view.simulated.is_none_or(|rate| rate.as_megabytes() >= REACHED * ceiling.as_megabytes())
    };
    let ceiling = hops().next().and_then(|(hop, _)| hop.ceiling).filter(is_reached);
    let named: Vec<&str> = hops().map(|(_, name)| name.as_str()).collect();
    let hop = match (named.as_slice(), ceiling) {
        ([name], Some(ceiling)) => {
            format!("The bottleneck is {name}: at most {} of this workload.", throughput(ceiling))
        }
        ([before @ .., last], Some(ceiling)) => format!(
            "The bottlenecks are {} and {last}: at most {} of this workload each.",
            before.join(", "),
            throughput(ceiling)
        ),
        ([name], None) => format!("The bottleneck is {name}."),
        _ if view.hops.is_empty() => "The path does not have hops.".to_owned(),
        _ if view.limit.is_some() => "No hop of the path is busy all the time.".to_owned(),
        _ => "No hop of the path has a ceiling for this test.".to_owned(),
    };
    let Some(simulated) = view.simulated else { return hop };
    let assumed = view
        .assumed
        .as_ref()
        .map_or(String::new(), |limit| format!(" It is {limit}; {}.", limit.advice()));
    let share = ceiling.filter(|ceiling| ceiling.0 > 0).map_or(String::new(), |ceiling| {
        match simulated.as_megabytes() / ceiling.as_megabytes() {
            share if share > ABOVE_CEILING => {
                ", more than its bottleneck carries in the long run".to_owned()
            }
            share => format!(" ({} of it)", percent_whole(share)),
        }
    });
    let interval = view.interval.as_ref().map_or(String::new(), |interval| {
        let rate_at = |ratio: f64| significant(simulated.as_megabytes() * ratio);
        format!(
            " (80% interval {} to {})",
            rate_at(interval.low_ratio),
            rate_at(interval.high_ratio)
        )
    });
    format!(
        "{hop} The whole path carries {} in the simulator{share}{interval}.{assumed}",
        throughput(simulated)
    )
}

/// Formats a rate with its unit, such as `600 MB/s`.
fn rate(rate: BytesPerSecond) -> String {
    rate_text(rate.0 as f64)
}

/// Returns the throughput of the link to `node` with its unit, such as `600 MB/s` or `6460 to 7790 MB/s`; `None` if it
/// is not known.
fn link_carries(node: &TopologyNode) -> Option<String> {
    let most = node.link_rate?;
    match node.link_rate_least.filter(|&least| least != most) {
        Some(least) => Some(format!("{} to {}", significant(least.as_megabytes()), rate(most))),
        None => Some(rate(most)),
    }
}

/// Returns the name of the link to `node`; `None` if the name is empty.
fn link_name(node: &TopologyNode) -> Option<&str> {
    node.link.as_deref().filter(|name| !name.trim().is_empty())
}

/// Returns the hop that was busy in the simulation, if the test was simulated; otherwise the hops with the minimum
/// ceiling, which are several if their ceilings are equal. A ceiling is an upper bound that a test need not reach.
fn bottleneck(view: &TestedPath) -> Vec<HopId> {
    if let Some(busiest) = view.limit.as_ref().and_then(|limit| limit.path.busiest_hop()) {
        let is_busy = busiest.utilisation >= FULL;
        return if is_busy { vec![busiest.id] } else { Vec::new() };
    }
    let hops = &view.hops;
    let least = hops.iter().filter_map(|hop| hop.ceiling).map(|ceiling| ceiling.0).min();
    let is_least = |hop: &&PathHop| least.is_some() && hop.ceiling.map(|rate| rate.0) == least;
    hops.iter().filter(is_least).map(|hop| hop.id).collect()
}

/// Returns whether the link to `node` belongs to one of the hops `narrow`.
fn is_bottleneck(node: &TopologyNode, narrow: &[HopId]) -> bool {
    node.on_path && node.hop.is_some_and(|hop| narrow.contains(&hop))
}

/// Returns the names of the hops; the second and later hops with the same name are numbered.
fn names(hops: &[PathHop]) -> Vec<String> {
    let name = |(index, hop): (usize, &PathHop)| match hops[..index]
        .iter()
        .filter(|other| other.name == hop.name)
        .count()
    {
        0 => hop.name.clone(),
        before => format!("{} ({})", hop.name, before + 1),
    };
    hops.iter().enumerate().map(name).collect()
}

/// Builds the table of the hops in order, with each formula in full; a formula that is longer than its column continues
/// on the next line.
fn hop_table(hops: &[PathHop], least: &[HopId], width: usize) -> Table {
    let known_ns = |hop: &PathHop| hop.latency.map(|latency| latency.picoseconds() as f64 / 1e3);
    let unit = LatencyUnit::fitting(hops.iter().filter_map(known_ns));
    let names = names(hops);
    let ceilings: Vec<String> = hops
        .iter()
        .map(|hop| or_absent(hop.ceiling.map(BytesPerSecond::as_megabytes), significant))
        .collect();
    let latencies: Vec<String> = hops
        .iter()
        .map(|hop| or_absent(known_ns(hop), |ns| significant(unit.convert(ns))))
        .collect();
    let mut columns = vec![
        Column::name("hop"),
        Column::text("formula"),
        Column::number("ceiling", "MB/s"),
        Column::text(""),
        Column::number("latency\none way", unit.name()),
    ];
    let latency_known = latencies.iter().any(|latency| latency != ABSENT);
    columns.truncate(if latency_known { 5 } else { 4 });

    let name_width = names.iter().map(|name| without_styles(name).width()).max().unwrap_or(0);
    let others = name_width.min(NAME_FAIR) + number_width(&ceilings) + number_width(&latencies);
    let gaps = 2 * columns.len();
    let formula_width = width.saturating_sub(others + gaps + MARK.width()).max(LAW_MIN);

    let mut table = Table::new(columns);
    for (index, hop) in hops.iter().enumerate() {
        let narrow = least.contains(&hop.id);
        let ink = if narrow { CellEmphasis::Strong } else { CellEmphasis::Plain };
        let law = if hop.law.trim().is_empty() { ABSENT } else { &hop.law };
        for (line, law) in
            wrap(&with_micro(&without_styles(law)), formula_width).into_iter().enumerate()
        {
            let first_line_cell = |text: &str| Cell::inked(if line == 0 { text } else { "" }, ink);
            let mut cells = vec![
                first_line_cell(&names[index]),
                Cell::inked(law, CellEmphasis::Faint),
                first_line_cell(&ceilings[index]),
                first_line_cell(if narrow { MARK } else { "" }),
                Cell::plain(if line == 0 { latencies[index].as_str() } else { "" }),
            ];
            cells.truncate(table.columns.len());
            table.push(cells);
        }
    }
    table
}

/// Returns the width of a column of `numbers` that are aligned at their points, under a header that is seven columns
/// wide.
fn number_width(numbers: &[String]) -> usize {
    let whole = numbers.iter().map(|text| text[..point(text)].width()).max().unwrap_or(0);
    let tail = numbers.iter().map(|text| text[point(text)..].width()).max().unwrap_or(0);
    (whole + tail).max("latency".len())
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{HopUse, PathLimit, PathUse};

    use super::*;
    use crate::run_tests::interval;

    fn view(ceilings: &[(&str, Option<u64>)], simulated: Option<u64>) -> TestedPath {
        let megabytes = |value: u64| BytesPerSecond(value * 1_000_000);
        let hop = |((name, ceiling), index): (&(&str, Option<u64>), u8)| PathHop {
            id: HopId::Link(index),
            name: (*name).to_owned(),
            law: String::new(),
            ceiling: ceiling.map(megabytes),
            latency: None,
        };
        TestedPath {
            system: String::new(),
            test: String::new(),
            hops: ceilings.iter().zip(0..).map(hop).collect(),
            simulated: simulated.map(megabytes),
            interval: None,
            random_block_bytes: None,
            limit: None,
            assumed: None,
            topology: TopologyNode { on_path: true, ..TopologyNode::default() },
        }
    }

    #[test]
    fn the_bottleneck_hop_is_reported_with_the_rate_of_the_path() {
        let cases: [(&[(&str, Option<u64>)], Option<u64>, &str); 6] = [
            (
                &[("a", Some(500)), ("b", None), ("c", Some(400))],
                Some(390),
                "The bottleneck is c: at most 400 MB/s of this workload. The whole path carries \
                 390 MB/s in the simulator (98% of it).",
            ),
            (&[("a", Some(500))], None, "The bottleneck is a: at most 500 MB/s of this workload."),
            (
                &[("a", Some(400)), ("b", Some(500)), ("a", Some(400))],
                None,
                "The bottlenecks are a and a (2): at most 400 MB/s of this workload each.",
            ),
            (
                &[("a", Some(0))],
                Some(1),
                "The bottleneck is a: at most 0 MB/s of this workload. The whole path carries 1.00 \
                 MB/s in the simulator.",
            ),
            (&[("a", None)], None, "No hop of the path has a ceiling for this test."),
            (
                &[],
                Some(390),
                "The path does not have hops. The whole path carries 390 MB/s in the simulator.",
            ),
        ];
        for (ceilings, simulated, expected) in cases {
            assert_eq!(sentence(&view(ceilings, simulated)), expected);
        }
    }

    #[test]
    fn the_answer_names_the_carried_rate_or_the_lowest_ceiling() {
        let of = |ceilings: &[(&str, Option<u64>)], simulated| TestedPath {
            system: "S".to_owned(),
            test: "T".to_owned(),
            ..view(ceilings, simulated)
        };
        let two = [("a", Some(500)), ("b", Some(400))];
        assert_eq!(answer(&of(&two, Some(390))), "S carries 390 MB/s of T; the bottleneck is b.");
        assert_eq!(
            answer(&of(&two, None)),
            "S carries at most 400 MB/s of T; the bottleneck is b."
        );
        assert_eq!(answer(&of(&[("a", None)], None)), "No hop of S has a ceiling for T.");
        let equal = [("a", Some(500)), ("b", Some(500)), ("c", Some(500))];
        let text = answer(&of(&equal, Some(390)));
        assert_eq!(text, "S carries 390 MB/s of T; the bottlenecks are a, b and c.");
        let random = TestedPath { random_block_bytes: Some(4_000.0), ..of(&two, Some(390)) };
        assert_eq!(answer(&random), "S carries 390 MB/s (97,500 IOPS) of T; the bottleneck is b.");
        let text = sentence(&random);
        assert!(text.contains("at most 400 MB/s, 100,000 IOPS, of this workload"), "{text}");
        let loss = loss(None, 1);
        let limit =
            PathLimit { path: PathUse::new(Vec::new(), 0), outstanding: 1, loss: Some(loss) };
        let lossy = TestedPath { limit: Some(limit), ..of(&two, Some(390)) };
        assert_eq!(answer(&lossy), "S carries 390 MB/s of T; you lose 41% to DMI 3.0.");
        // A busy hop can carry less than its ceiling, and the lowest ceiling need not be reached.
        let simulated = |utilisation: f64| {
            let id = HopId::Link(0);
            let name = "a".to_owned();
            let used =
                HopUse { id, name, utilisation, ceiling: None, wait_ns: 1.0, service_ns: 1.0 };
            let path = PathUse::new(vec![used], 0);
            let limit = Some(PathLimit { path, outstanding: 1, loss: None });
            TestedPath { limit, ..of(&two, Some(9)) }
        };
        assert_eq!(answer(&simulated(1.0)), "S carries 9.00 MB/s of T; the bottleneck is a.");
        assert!(sentence(&simulated(1.0)).starts_with("The bottleneck is a. The whole path"));
        assert_eq!(
            answer(&simulated(0.1)),
            "S carries 9.00 MB/s of T; no hop is busy all the time."
        );
        assert!(sentence(&simulated(0.1)).starts_with("No hop of the path is busy all"));
        let interval = Some(interval(0.5, 2.0));
        let text = sentence(&TestedPath { interval, ..of(&two, Some(390)) });
        assert!(text.ends_with("(98% of it) (80% interval 195 to 780)."), "{text}");
    }

    fn loss(own: Option<&str>, drives: u32) -> LinkLoss {
        LinkLoss {
            link: "DMI 3.0".to_owned(),
            drives,
            times: 16,
            own: own.map(str::to_owned),
            share: 0.41,
            bytes_per_second: 1.05e9,
            iops: 12_345.6,
        }
    }

    #[test]
    fn a_loss_is_reported_with_the_drives_on_the_link() {
        let faster = "if that link were 16 times as fast, the path would carry";
        for (loss, random, wanted) in [
            (loss(None, 0), false, format!("You lose 41% to DMI 3.0: {faster} 1,050 MB/s.")),
            (loss(None, 1), true, format!("You lose 41% to DMI 3.0: {faster} 12,346 IOPS.")),
            (
                loss(None, 2),
                false,
                format!("You lose 41% to DMI 3.0, which 2 drives share: {faster} 1,050 MB/s."),
            ),
            (
                loss(Some("PCIe 4.0 x4"), 1),
                false,
                "You lose 41% to DMI 3.0: over PCIe 4.0 x4, which the drive supports, the path would carry 1,050 \
                 MB/s."
                    .to_owned(),
            ),
        ] {
            assert_eq!(loss_sentence(&loss, random), wanted);
        }
    }

    #[test]
    fn hops_are_rows_with_their_formulas_in_full() {
        let mut hops = view(&[("a", Some(500)), ("b", Some(400)), ("a", None)], None).hops;
        hops[1].law = "word ".repeat(12);
        hops[2].latency = Some(lanemark_schema::units::Duration::from_nanoseconds(1_500));
        let rows = |width| -> Vec<Vec<String>> {
            let cells = |row: &crate::text::table::Row| {
                row.cells.iter().map(|cell| cell.text.clone()).collect()
            };
            hop_table(&hops, &[hops[1].id], width).rows.iter().map(cells).collect()
        };
        let all = rows(200);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0], ["a", ABSENT, "500", "", ABSENT]);
        assert_eq!(all[1][2..], ["400", MARK, ABSENT]);
        assert_eq!(all[2], ["a (2)", ABSENT, ABSENT, "", "1.50"]);
        // The names take 5 columns, the numbers 7 each, the gaps 10 and the mark 1. The remaining 30 columns hold six
        // words of four letters.
        let narrow = rows(60);
        assert_eq!(narrow.len(), 4);
        assert_eq!(narrow[2], ["", &["word"; 6].join(" "), "", "", ""]);
        assert_eq!(rows(20)[1][1], ["word"; 3].join(" "));
        hops[2].latency = None;
        let cells = hop_table(&hops, &[], 200).rows[0].cells.len();
        assert_eq!(cells, 4, "no latency is known");
        let numbers = ["1,234", "5.678", ABSENT].map(str::to_owned);
        assert_eq!(number_width(&numbers), 9);
        assert_eq!(number_width(&numbers[2..]), 7);
    }
}
