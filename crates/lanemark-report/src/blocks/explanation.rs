//! The explanation of a measured test as text, and the ceilings of the links on a real path.

use lanemark_schema::result::{
    EvidenceItem, Explanation, HopCeiling, LimitingPart, RunResult, TestResult,
};

use crate::terminal::{Style, TerminalText};
use crate::text::block::Block;
use crate::text::number::{fixed, percent_signed, percent_whole, significant};
use crate::text::table::{Cell, Column, Table};

/// Writes the ceilings of the links on a path for a test, as a table.
pub fn ceilings_text(test: &str, ceilings: &[HopCeiling], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.heading(&format!("Ceilings for {test}"));
    sheet.blank();
    if ceilings.is_empty() {
        sheet.paragraph("No link of this path reports its trained rate, so no link has a ceiling.");
        return sheet.finish();
    }
    let mut table = Table::new(vec![
        Column::name("to"),
        Column::name("link"),
        Column::number("MB/s", "10^6 B/s"),
    ]);
    for ceiling in ceilings {
        table.push(vec![
            Cell::plain(&ceiling.hop),
            Cell::plain(&ceiling.link),
            Cell::strong(carries(ceiling)),
        ]);
    }
    sheet.table(&table);
    if ceilings.iter().any(|ceiling| ceiling.rate_most.is_some()) {
        sheet.paragraph(
            "The ceiling is a range if the packet size of the link is unknown, because only root can read it. The range extends from the minimum of 128 B of data per packet to the maximum of 4 KiB.",
        );
    }
    sheet.finish()
}

/// Returns the ceiling of a hop in MB/s, such as `7049` or `6460 to 7790`.
fn carries(ceiling: &HopCeiling) -> String {
    let rate_text = significant(ceiling.rate.as_megabytes());
    match ceiling.rate_most {
        Some(most) => format!("{rate_text} to {}", significant(most.as_megabytes())),
        None => rate_text,
    }
}

/// Describes the test of a run that came closest to the ceiling of the bottleneck on its path.
pub(crate) fn closest(run: &RunResult) -> Option<String> {
    let share = |test: &TestResult| test.explanation.as_ref().and_then(|one| one.ceiling_share);
    let known = run.tests.iter().filter(|test| share(test).is_some());
    let test = known.max_by(|a, b| share(a).unwrap_or(0.0).total_cmp(&share(b).unwrap_or(0.0)))?;
    let explanation = test.explanation.as_ref()?;
    let bottleneck = explanation.ceilings.get(explanation.bottleneck?)?;
    Some(format!(
        "{}: measured {} MB/s = {} of the bottleneck's ceiling ({} to {}, {} MB/s).",
        test.test.name,
        significant(test.megabytes_per_second()),
        share_of(bottleneck, explanation.ceiling_share?),
        bottleneck.link,
        bottleneck.hop,
        carries(bottleneck),
    ))
}

/// Formats a share of a hop's ceiling; the share is a range if the ceiling is not known exactly.
fn share_of(hop: &HopCeiling, share: f64) -> String {
    let of_least = share * hop.bound().0 as f64 / (hop.rate.0 as f64).max(1.0);
    shares(share, hop.rate_most.map(|_| of_least))
}

/// Returns `57%` or `57 to 69%`.
fn shares(least: f64, most: Option<f64>) -> String {
    let whole = percent_whole(least);
    match most.map(percent_whole).filter(|most| *most != whole) {
        Some(most) => format!("{} to {most}", whole.trim_end_matches('%')),
        None => whole,
    }
}

/// Returns the verdict on a test and the evidence for it; empty if there is no explanation.
pub(crate) fn blocks(test: &TestResult) -> Vec<Block<'_>> {
    let Some(explanation) = &test.explanation else { return Vec::new() };
    let evidence = explanation.evidence.iter().map(evidence_text).collect();
    vec![Block::Text(verdict(explanation)), Block::List(evidence)]
}

fn verdict(explanation: &Explanation) -> String {
    let why = match explanation.verdict {
        LimitingPart::LinkBound => "the path's slowest link was full",
        LimitingPart::DriveBound => "the device was at its limit",
        LimitingPart::CpuBound => "the processors were fully busy",
        LimitingPart::QueueStarved => "more outstanding requests increase the throughput",
        LimitingPart::FileSystemBound => {
            "most of the latency arose before a request reached the device"
        }
        LimitingPart::HeldBack => "a limit of a control group was reached",
        LimitingPart::Undecided if explanation.evidence.contains(&EvidenceItem::Crowded) => {
            "other programs on the processors could explain the result"
        }
        LimitingPart::Undecided => {
            let probed = !explanation.evidence.contains(&EvidenceItem::NoQueueProbe);
            if probed {
                "no observed part was at its limit"
            } else {
                "--explain tries a deeper queue, which may find the limit"
            }
        }
    };
    format!("Verdict: {}; {why}.", explanation.verdict.words())
}

fn evidence_text(sign: &EvidenceItem) -> String {
    let us = |ns: &f64| significant(ns / 1e3);
    match sign {
        EvidenceItem::CeilingShare { link, share, share_most } => {
            let shares = shares(*share, *share_most);
            let unknown = if share_most.is_some() { " (packet size unknown)" } else { "" };
            format!("throughput is {shares} of {link}'s ceiling for this test{unknown}")
        }
        EvidenceItem::DeviceLimit { limit, share } => {
            format!("the device reached {} of a limit: {limit}", percent_whole(*share))
        }
        EvidenceItem::Quota { limit, share } => format!(
            "the program was kept off the processors {} of the time: {limit}",
            percent_whole(*share)
        ),
        EvidenceItem::NoDevice => {
            "some or all of the requests were answered before they reached a device".to_owned()
        }
        EvidenceItem::CoreWait { share } => {
            format!("a thread waited for a core {} of the time", percent_whole(*share))
        }
        EvidenceItem::OthersBusy { used, cores } => {
            format!("other programs used {} of {cores} cores", fixed(*used, 2))
        }
        EvidenceItem::Crowded => {
            "the processor use of other programs could explain the result".to_owned()
        }
        EvidenceItem::NoCeiling => "no link of the path reports its trained rate".to_owned(),
        EvidenceItem::ThreadBusy { share } => {
            format!("the busiest thread took {} of a core", percent_whole(share.min(1.0)))
        }
        EvidenceItem::MachineBusy { used, cores } => {
            format!("the machine used {} of {cores} cores", fixed(*used, 2))
        }
        EvidenceItem::DeviceBusy { device, share } => {
            format!("{device} was busy {} of the time", percent_whole(*share))
        }
        EvidenceItem::DeviceTime { device_ns, request_ns } => format!(
            "requests took {} µs at the device, and {} µs for the program",
            us(device_ns),
            us(request_ns)
        ),
        EvidenceItem::DeeperQueue { queue_depth, gain } => format!(
            "{} outstanding requests instead of {queue_depth} gave {}",
            2 * queue_depth,
            percent_signed(gain - 1.0)
        ),
        EvidenceItem::NoQueueProbe => "a deeper queue was not tried".to_owned(),
    }
}

#[cfg(test)]
mod tests;
