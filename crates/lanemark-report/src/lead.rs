//! The first sentence of a run's text: the answer with its figure, and the names of drive and test.

use lanemark_schema::result::{RunResult, Sample, Target, TestResult, Verdict};
use lanemark_schema::workload::Operation;

use crate::Style;
use crate::number::{fixed, grouped, is_wide, known_value, latency_text, rate_text, significant};
use crate::terminal::TerminalText;
use crate::{credits, durable, target};

/// Writes a sentence in lines of the style's width.
pub fn sentence_text(sentence: &str, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.paragraph(sentence);
    sheet.finish()
}

/// Returns the answer of a run in one or two sentences.
pub(crate) fn run(run: &RunResult) -> String {
    let subject = target::subject(run);
    let mut text = match run.tests.as_slice() {
        [] => return "No test has ended.".to_owned(),
        [only] => of_one(&subject, only),
        several => of_several(&subject, several),
    };
    let flushes = durable::sentences(run);
    if !flushes.is_empty() {
        text = flushes.join(" ");
    }
    if let Some(limits) = limits(&run.tests) {
        text += &format!(" {limits}");
    }
    if let Some(credits) = credits::sentences(&run.tests) {
        text += &format!(" {credits}");
    }
    if !run.complete {
        text += " The run was interrupted.";
    }
    text
}

/// Returns a text such as `Samsung SSD 850 PRO 1TB in sata reads 9,900 IOPS (40.6 MB/s) in RND4K Q1T1 read, …`.
fn of_one(subject: &str, test: &TestResult) -> String {
    let name = &test.test.name;
    if let Some(rate) = test.transactions_per_minute() {
        let rate = grouped(&fixed(rate.value, 0));
        return format!("{subject} completes {rate} transactions a minute in {name}.");
    }
    if let Some(latencies) = replayed(test) {
        return format!("{name} takes {latencies} on {subject}.");
    }
    let Some(rate) = rate(test) else {
        return format!("{subject} completed no request in {name}.");
    };
    let latency = known_value(&test.latency_mean_ns).filter(|ns| *ns > 0.0);
    let latency = latency
        .map_or(String::new(), |ns| format!(", with a mean latency of {}", latency_text(ns)));
    format!("{subject} {} {rate} in {name}{}{latency}.", verb(test), interval(test))
}

/// Returns a text such as `Samsung SSD 850 PRO 1TB in sata reads up to 566 MB/s (SEQ1M Q8T1 read) and writes up to …`.
fn of_several(subject: &str, tests: &[TestResult]) -> String {
    let most = |verb_of: &str| {
        let candidates =
            tests.iter().filter(|test| verb(test) == verb_of && !test.has_transactions());
        let rate =
            |test: &&TestResult| known_value(&test.throughput_bytes_per_second).unwrap_or(0.0);
        let test = candidates.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        let rate = known_value(&test.throughput_bytes_per_second).filter(|rate| *rate > 0.0)?;
        let rate = grouped(&significant(rate / 1e6));
        Some(format!("{verb_of} up to {rate} MB/s ({})", test.test.name))
    };
    let parts: Vec<String> =
        ["reads", "writes", "reads and writes"].into_iter().filter_map(most).collect();
    match parts.as_slice() {
        [] => match tests.iter().find(|test| test.transactions_per_minute().is_some()) {
            Some(test) => of_one(subject, test),
            None => format!("{subject} completed no request in {} tests.", tests.len()),
        },
        [only] => format!("{subject} {only}."),
        [first, .., last] => match parts.len() {
            2 => format!("{subject} {first} and {last}."),
            _ => format!("{subject} {first}, {}, and {last}.", parts[1]),
        },
    }
}

/// Returns the operation of the test on its data.
fn verb(test: &TestResult) -> &'static str {
    match (test.test.reads(), test.test.writes()) {
        (true, false) => "reads",
        (false, true) => "writes",
        _ if test.test.trims() => "trims",
        _ => "reads and writes",
    }
}

/// Formats the rate of a test: `566 MB/s`, or `9,900 IOPS (40.6 MB/s)` for requests at random offsets.
fn rate(test: &TestResult) -> Option<String> {
    let bytes = known_value(&test.throughput_bytes_per_second)?;
    let megabytes = rate_text(bytes);
    let is_random = test.test.pattern().is_some() && !test.test.is_in_order();
    match known_value(&test.iops).filter(|_| is_random) {
        Some(iops) => Some(format!("{} IOPS ({megabytes})", count(iops))),
        None => Some(megabytes),
    }
}

/// Formats a number of requests a second.
fn count(iops: f64) -> String {
    if iops < 100.0 { significant(iops) } else { grouped(&fixed(iops, 0)) }
}

/// `, in 80% of cases 35.2 to 46.7 MB/s`; empty without an interval.
fn interval(test: &TestResult) -> String {
    let Some(interval) = &test.interval else { return String::new() };
    if is_wide(interval.low_ratio, interval.high_ratio) {
        return ", with an interval wider than a factor of ten".to_owned();
    }
    let value = test.throughput_bytes_per_second.value / 1e6;
    let at = |ratio: f64| grouped(&significant(value * ratio));
    format!(", in 80% of cases {} to {} MB/s", at(interval.low_ratio), at(interval.high_ratio))
}

/// Returns the mean latencies of a trace that was replayed at its recorded times, because its rate is only the trace's
/// own.
fn replayed(test: &TestResult) -> Option<String> {
    let in_own_time =
        |sample: &Sample| sample.replay.as_ref().is_some_and(|one| one.speed.is_some());
    let sample = test.samples.iter().find(|sample| in_own_time(sample))?;
    let of = |operation, name: &str| {
        let ns = sample.mean_latency_ns(operation)?;
        Some(format!("{} {name}", latency_text(ns)))
    };
    let parts: Vec<String> = [of(Operation::Read, "a read"), of(Operation::Write, "a write")]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// States which part limited the tests of a measured run, if a verdict was reached.
fn limits(tests: &[TestResult]) -> Option<String> {
    let mut verdicts: Vec<(Verdict, usize)> = Vec::new();
    for test in tests {
        let Some(explanation) = &test.explanation else { continue };
        match verdicts.iter_mut().find(|(known, _)| *known == explanation.verdict) {
            Some((_, count)) => *count += 1,
            None => verdicts.push((explanation.verdict, 1)),
        }
    }
    let probed = tests.iter().any(|test| test.queue_probe.is_some());
    verdicts.retain(|(verdict, _)| *verdict != Verdict::Undecided);
    if verdicts.is_empty() && probed {
        return Some("No test reached a limit that was observed.".to_owned());
    }
    verdicts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all = tests.len();
    let part = |(verdict, count): &(Verdict, usize)| match all {
        1 => format!("The test is {}", verdict.words()),
        _ => format!("{count} of {all} tests: {}", verdict.words()),
    };
    let parts: Vec<String> = verdicts.iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// Returns whether the target of a run is simulated.
pub(crate) fn is_simulated(run: &RunResult) -> bool {
    matches!(run.target, Target::Simulated(_))
}
