//! Why a measured test was no faster, in words; and what the links of a real path can carry.

use lanemark_core::result::{Explanation, HopCeiling, RunResult, Sign, TestResult, Verdict};

use crate::Style;
use crate::number::{fixed, percent_signed, percent_whole, significant};
use crate::table::{Cell, Column, Table};
use crate::terminal::Sheet;

/// What the links of a path can carry for a test, as a table.
pub fn ceilings_text(test: &str, ceilings: &[HopCeiling], style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&format!("Ceilings for {test}"));
    sheet.blank();
    if ceilings.is_empty() {
        sheet.paragraph("No link of this path tells what it trained to, so none has a ceiling.");
        return sheet.finish();
    }
    let mut table = Table::new(vec![
        Column::name("to"),
        Column::name("link"),
        Column::number("MB/s", "10^6 B/s"),
    ]);
    for one in ceilings {
        table.push(vec![
            Cell::plain(&one.hop),
            Cell::plain(&one.link),
            Cell::strong(significant(one.rate.as_megabytes())),
        ]);
    }
    sheet.table(&table);
    sheet.finish()
}

/// The test of a run that came closest to the ceiling of the narrowest link of its path, in a sentence.
pub(crate) fn closest(run: &RunResult) -> Option<String> {
    let share = |test: &TestResult| test.explanation.as_ref().and_then(|one| one.ceiling_share);
    let known = run.tests.iter().filter(|test| share(test).is_some());
    let test = known.max_by(|a, b| share(a).unwrap_or(0.0).total_cmp(&share(b).unwrap_or(0.0)))?;
    let explanation = test.explanation.as_ref()?;
    let narrowest = explanation.ceilings.get(explanation.narrowest?)?;
    Some(format!(
        "{}: measured {} MB/s = {} of the narrowest link's ceiling ({} to {}, {} MB/s).",
        test.test.name,
        significant(test.megabytes_per_second()),
        percent_whole(explanation.ceiling_share?),
        narrowest.link,
        narrowest.hop,
        significant(narrowest.rate.as_megabytes()),
    ))
}

/// The verdict on a test with its evidence; nothing where there is no explanation.
pub(crate) fn lines(sheet: &mut Sheet, test: &TestResult) {
    let Some(explanation) = &test.explanation else { return };
    sheet.blank();
    sheet.paragraph(&verdict(explanation));
    for sign in &explanation.evidence {
        sheet.item("- ", &told(sign), crate::table::Ink::Faint);
    }
}

fn verdict(explanation: &Explanation) -> String {
    let why = match explanation.verdict {
        Verdict::LinkBound => "the narrowest link of the path was full",
        Verdict::DriveBound => "the device had no more to give",
        Verdict::CpuBound => "the processors had no time left",
        Verdict::QueueStarved => "more requests outstanding give more",
        Verdict::FileSystemBound => "most of a request's time passed before the device had it",
        Verdict::Undecided => {
            let probed = !explanation.evidence.contains(&Sign::NoQueueProbe);
            match probed {
                true => "nothing that was seen was at its limit",
                false => "--explain tries a deeper queue, which may decide it",
            }
        }
    };
    format!("Verdict: {}; {why}.", explanation.verdict.words())
}

fn told(sign: &Sign) -> String {
    let us = |ns: &f64| significant(ns / 1e3);
    match sign {
        Sign::CeilingShare { link, share } => {
            format!("throughput is {} of what {link} carries for this test", percent_whole(*share))
        }
        Sign::NoCeiling => "no link of the path tells what it trained to".to_owned(),
        Sign::ThreadBusy { share } => {
            format!("the busiest thread took {} of a core", percent_whole(share.min(1.0)))
        }
        Sign::MachineBusy { used, cores } => {
            format!("the machine used {} of {cores} cores", fixed(*used, 2))
        }
        Sign::DeviceBusy { device, share } => {
            format!("{device} had something to do {} of the time", percent_whole(*share))
        }
        Sign::DeviceTime { device_ns, request_ns } => format!(
            "a request took {} us at the device, of {} us as the program saw it",
            us(device_ns),
            us(request_ns)
        ),
        Sign::DeeperQueue { queue_depth, gain } => format!(
            "{} outstanding requests instead of {queue_depth} gave {}",
            2 * queue_depth,
            percent_signed(gain - 1.0)
        ),
        Sign::NoQueueProbe => "a deeper queue was not tried".to_owned(),
    }
}
