//! Entries of the library: a platform without its drives, and the tests of a workload.

use lanemark_schema::result::TopologyNode;
use lanemark_schema::text::with_micro;

use crate::path::tree;
use crate::terminal::{Style, TerminalText};
use crate::text::number::{fixed, grouped, or_absent, percent_whole, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// A link of a platform, ready to show.
#[derive(Clone, Debug)]
pub struct PlatformLink {
    pub name: String,
    /// The chip at the far end of the link.
    pub to: String,
    /// Description of the link's protocol.
    pub law: String,
    /// Rate of the link in one direction, in MB/s.
    pub megabytes_per_second: f64,
    /// One-way time of a small message, in µs.
    pub latency_us: f64,
}

/// A port of a platform, ready to show.
#[derive(Clone, Debug)]
pub struct PlatformPort {
    pub name: String,
    /// Connector, which determines the model of the port's own link.
    pub law: String,
    /// Controller of a SATA port, or the protocol of a drive that contains its controller.
    pub controller: String,
    /// Rate of the port in one direction, in MB/s.
    pub megabytes_per_second: f64,
    /// Names of the links between the port and the processor.
    pub behind: String,
}

/// A test of a workload, ready to show.
#[derive(Clone, Debug)]
pub struct EntryTest {
    /// Name of the test, as written after `WORKLOAD:`.
    pub slug: String,
    /// Display name.
    pub name: String,
    /// Size of a request.
    pub block: String,
    /// Order of the offsets.
    pub pattern: &'static str,
    /// Share of reads; `None` if the buffer of a database determines it.
    pub read_share: Option<f64>,
    /// Number of outstanding requests per thread; `None` if the users of a database determine it.
    pub queue_depth: Option<u32>,
    pub threads: u32,
    /// Range of the drive that the test uses.
    pub span: String,
    /// Time or volume after which the test ends.
    pub length: String,
}

/// Returns the answer about a platform: its number of ports, and the fastest port.
pub fn platform_answer(name: &str, ports: &[PlatformPort]) -> String {
    let rate = |port: &&PlatformPort| port.megabytes_per_second;
    let fastest = ports.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)));
    match (fastest, ports.len()) {
        (None, _) => format!("{name} does not have a port."),
        (Some(port), 1) => format!(
            "{name} has 1 port, {}, whose link carries {} MB/s.",
            port.name,
            grouped(&significant(port.megabytes_per_second))
        ),
        (Some(port), count) => format!(
            "{name} has {count} ports; the fastest, {}, has a link of {} MB/s.",
            port.name,
            grouped(&significant(port.megabytes_per_second))
        ),
    }
}

/// Writes a platform as a tree, with the protocols of its links, and its ports.
pub fn platform_text(
    topology: &TopologyNode,
    links: &[PlatformLink],
    ports: &[PlatformPort],
    style: &Style,
) -> String {
    let mut sheet = TerminalText::new(style);
    tree::draw(&mut sheet, topology, &[]);
    if !links.is_empty() {
        sheet.blank();
        let mut table = Table::new(vec![
            Column::name("link"),
            Column::name("to"),
            Column::name("formula"),
            Column::number("one way", "MB/s"),
            Column::number("latency", "µs"),
        ]);
        for link in links {
            table.push(vec![
                Cell::plain(&link.name),
                Cell::plain(&link.to),
                Cell::inked(with_micro(&link.law), CellEmphasis::Faint),
                Cell::strong(significant(link.megabytes_per_second)),
                Cell::plain(significant(link.latency_us)),
            ]);
        }
        sheet.table(&table);
    }
    sheet.blank();
    let mut table = Table::new(vec![
        Column::name("port"),
        Column::name("formula"),
        Column::text("protocol"),
        Column::number("one way", "MB/s"),
        Column::name("behind"),
    ]);
    for port in ports {
        table.push(vec![
            Cell::strong(&port.name),
            Cell::plain(with_micro(&port.law)),
            Cell::plain(&port.controller),
            Cell::plain(significant(port.megabytes_per_second)),
            Cell::inked(&port.behind, CellEmphasis::Faint),
        ]);
    }
    sheet.table(&table);
    sheet.finish()
}

/// Writes the tests of a workload `id`, each with the name that commands accept.
pub fn workload_text(head: &str, id: &str, tests: &[EntryTest], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.heading(head);
    sheet.blank();
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::text("block"),
        Column::text("pattern"),
        Column::number("reads", ""),
        Column::number("queue", "depth"),
        Column::number("threads", "").optional(1),
        Column::text("span").optional(3),
        Column::text("until").optional(2),
    ]);
    for test in tests {
        table.push(vec![
            Cell::strong(&test.slug),
            Cell::plain(&test.block),
            Cell::plain(test.pattern),
            Cell::plain(or_absent(test.read_share, percent_whole)),
            Cell::plain(or_absent(test.queue_depth.map(f64::from), |depth| fixed(depth, 0))),
            Cell::plain(test.threads.to_string()),
            Cell::plain(&test.span),
            Cell::plain(&test.length),
        ]);
    }
    sheet.table(&table.without_empty_columns());
    if let Some(first) = tests.first() {
        sheet.blank();
        sheet.paragraph(&format!(
            "A single test: {id}:{}, which is \"{}\".",
            first.slug, first.name
        ));
    }
    sheet.finish()
}
