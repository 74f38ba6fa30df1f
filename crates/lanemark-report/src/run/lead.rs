//! The first sentence of a run's text: the answer and its figure, with the names of the drive and the test.

use lanemark_schema::result::{LimitingPart, RunResult, Sample, Target, TestResult};
use lanemark_schema::workload::{Load, Operation};

use super::rate_phases::phases_text;
use super::{credits, durable};
use crate::blocks::wrong;
use crate::text::number::{
    fixed, grouped, is_wide, known_value, latency_text, rate_text, significant,
};
use crate::text::target;

/// Share of the requests of a fixed load that a target must complete to serve the load.
const SERVED: f64 = 0.97;
/// Maximum number of fixed loads in a sentence.
const LOADS_MAX: usize = 4;

/// Returns the answer of a run in one or two sentences.
pub(crate) fn run(run: &RunResult) -> String {
    let subject = target::subject(run);
    let mut text = match run.tests.as_slice() {
        [] => return "No test has ended.".to_owned(),
        [only] => of_one(&subject, only),
        several => of_several(&subject, several),
    };
    if let [only] = run.tests.as_slice()
        && let Some(phases) =
            only.samples.first().and_then(|sample| phases_text(&only.test, sample))
    {
        text += &format!(" It {} {phases}.", verb(only));
    }
    let flushes = durable::sentences(run);
    if !flushes.is_empty() {
        text = flushes.join(" ");
    }
    if let Some(wrong) = wrong::sentences(&subject, &run.tests) {
        text = format!("{wrong} {text}");
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

/// Returns a sentence such as `Samsung SSD 850 PRO 1TB in sata reads 9,900 IOPS (40.6 MB/s) in RND4K Q1T1 read, …`.
fn of_one(subject: &str, test: &TestResult) -> String {
    let name = &test.test.name;
    if let Some(rate) = test.transactions_per_minute() {
        let rate = grouped(&fixed(rate.value, 0));
        return format!("{subject} completes {rate} transactions a minute in {name}.");
    }
    if let Some(latencies) = replay_sentence(test) {
        return format!("{name} takes {latencies} on {subject}.");
    }
    let Some(rate) = rate(test) else {
        return format!("{subject} completed no request in {name}.");
    };
    let latency = known_value(&test.latency_mean_ns).filter(|ns| *ns > 0.0);
    let latency = latency
        .map_or(String::new(), |ns| format!(", with a mean latency of {}", latency_text(ns)));
    let trims = trims_text(test).unwrap_or_default();
    format!("{subject} {} {rate}{trims} in {name}{}{latency}.", verb(test), interval(test))
}

/// Returns a text such as ` and trims 86,375 times a second` for a test that does not only trim.
fn trims_text(test: &TestResult) -> Option<String> {
    let beside = |sample: &Sample| {
        let trims = sample.trims.as_ref().filter(|_| !sample.only_trims())?;
        Some(trims.latency.count() as f64 / sample.elapsed.as_seconds())
    };
    let rates: Vec<f64> = test.samples.iter().filter_map(beside).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (mean > 0.0).then(|| format!(" and trims {} times a second", grouped(&fixed(mean, 0))))
}

/// Returns a sentence such as `Samsung SSD 850 PRO 1TB in sata reads up to 566 MB/s (SEQ1M Q8T1 read) and writes up to
/// …`.
fn of_several(subject: &str, tests: &[TestResult]) -> String {
    if let Some(served) = fixed_loads(subject, tests).or_else(|| durable_write(subject, tests)) {
        return served;
    }
    let most_extreme = |verb_of: &str| {
        let candidates =
            tests.iter().filter(|test| verb(test) == verb_of && !test.has_transactions());
        let rate =
            |test: &&TestResult| known_value(&test.throughput_bytes_per_second).unwrap_or(0.0);
        let test = candidates.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        let rate = known_value(&test.throughput_bytes_per_second).filter(|rate| *rate > 0.0)?;
        let rate = grouped(&significant(rate / 1e6));
        Some(format!("{verb_of} up to {rate} MB/s ({})", test.test.name))
    };
    let parts: Vec<String> = ["reads", "writes", "reads and writes", "trims"]
        .into_iter()
        .filter_map(most_extreme)
        .collect();
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

/// Returns the rate of one durable write, if the tests compare ways to flush it: the rate of writes that are not
/// flushed is the page cache's.
fn durable_write(subject: &str, tests: &[TestResult]) -> Option<String> {
    let named = |end: &str| tests.iter().find(|test| test.test.name.ends_with(end));
    named(", not flushed")?;
    let test = named(" write, fdatasync")?;
    let rate = known_value(&test.iops)?;
    let mean = latency_text(known_value(&test.latency_mean_ns).unwrap_or(1e9 / rate));
    let rate = grouped(&fixed(rate, 0));
    let name = &test.test.name;
    Some(format!(
        "{subject} completes {rate} a second of {name}, PostgreSQL's usual method on Linux, in {mean} each."
    ))
}

/// Returns the mean latencies of a few fixed loads, such as `X serves the load: a request takes 83.1 µs in reads and
/// 916 µs in writes.`, if the target serves all of them. The rates of such tests are only the load.
fn fixed_loads(subject: &str, tests: &[TestResult]) -> Option<String> {
    let latency_in = |test: &TestResult| {
        let Load::Open { rate_per_second, .. } = test.test.requests()?.load else { return None };
        let ns = known_value(&test.latency_mean_ns)?;
        let is_served = known_value(&test.iops)? >= SERVED * rate_per_second;
        is_served.then(|| format!("{} in {}", latency_text(ns), test.test.name))
    };
    let parts: Vec<String> = tests.iter().map(latency_in).collect::<Option<_>>()?;
    let (last, others) = parts.split_last().filter(|_| parts.len() <= LOADS_MAX)?;
    Some(format!("{subject} serves the load: a request takes {} and {last}.", others.join(", ")))
}

/// Returns the verb for the operation of a test.
fn verb(test: &TestResult) -> &'static str {
    match (test.test.reads(), test.test.writes()) {
        _ if test.samples.iter().any(Sample::only_trims) => "trims",
        (true, false) => "reads",
        (false, true) => "writes",
        _ if test.test.trims() => "trims",
        _ => "reads and writes",
    }
}

/// Formats the rate of a test as `566 MB/s`, or as `9,900 IOPS (40.6 MB/s)` for requests at random offsets.
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

/// Returns a text such as ` (80% interval 35.2 to 46.7)`; empty if there is no interval.
fn interval(test: &TestResult) -> String {
    let Some(interval) = &test.interval else { return String::new() };
    if interval.low_ratio == interval.high_ratio {
        return String::new();
    }
    if is_wide(interval.low_ratio, interval.high_ratio) {
        return ", with an interval wider than a factor of ten".to_owned();
    }
    let value = test.throughput_bytes_per_second.value / 1e6;
    let rate_at = |ratio: f64| grouped(&significant(value * ratio));
    format!(" (80% interval {} to {})", rate_at(interval.low_ratio), rate_at(interval.high_ratio))
}

/// Returns the mean latencies of a trace that was replayed at its recorded times. The rate of such a replay depends
/// only on the trace, so it is not stated.
fn replay_sentence(test: &TestResult) -> Option<String> {
    let in_own_time =
        |sample: &Sample| sample.replay.as_ref().is_some_and(|one| one.speed.is_some());
    let sample = test.samples.iter().find(|sample| in_own_time(sample))?;
    let latency_phrase = |operation, name: &str| {
        let ns = sample.mean_latency_ns(operation)?;
        Some(format!("{} {name}", latency_text(ns)))
    };
    let parts: Vec<String> =
        [latency_phrase(Operation::Read, "a read"), latency_phrase(Operation::Write, "a write")]
            .into_iter()
            .flatten()
            .collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// States which part limited the tests of a measured run, if any test has a verdict.
fn limits(tests: &[TestResult]) -> Option<String> {
    let mut verdicts: Vec<(LimitingPart, usize)> = Vec::new();
    for test in tests {
        let Some(explanation) = &test.explanation else { continue };
        match verdicts.iter_mut().find(|(known, _)| *known == explanation.verdict) {
            Some((_, count)) => *count += 1,
            None => verdicts.push((explanation.verdict, 1)),
        }
    }
    let probed = tests.iter().any(|test| test.queue_probe.is_some());
    verdicts.retain(|(verdict, _)| *verdict != LimitingPart::Undecided);
    if verdicts.is_empty() && probed {
        return Some("No test reached a limit that was observed.".to_owned());
    }
    verdicts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let test_count = tests.len();
    let limit_phrase = |(verdict, count): &(LimitingPart, usize)| match test_count {
        1 => format!("The test is {}", verdict.words()),
        _ => format!("{count} of {test_count} tests: {}", verdict.words()),
    };
    let parts: Vec<String> = verdicts.iter().map(limit_phrase).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// Returns whether the target of a run is simulated.
pub(crate) fn is_simulated(run: &RunResult) -> bool {
    matches!(run.target, Target::Simulated(_))
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{
        DirectionResult, Explanation, QueueDepthProbe, TransactionFigures,
    };
    use lanemark_schema::units::{Bytes, Duration, Ratio};
    use lanemark_schema::workload::{ArrivalProcess, Pattern, SyntheticRequests, Test, Workload};

    use super::*;
    use crate::run_tests::{interval, reads, requests, run, test};

    /// Returns a test with one sample; `change` modifies its requests, which are random reads by default.
    fn other(
        name: &str,
        sample: Sample,
        change: impl FnOnce(&mut SyntheticRequests),
    ) -> TestResult {
        let test = Test { name: name.to_owned(), ..Test::of_blocks(Bytes::kibi(4)) }.with(change);
        TestResult::new(&Workload::of_test("w", "W", test.clone()), &test, vec![sample])
    }

    fn writes(name: &str, kib: u64, latencies_us: &[u64]) -> TestResult {
        let elapsed = Duration::from_microseconds(10_000);
        let writes: Option<DirectionResult> = Some(requests(kib, latencies_us));
        let sample = Sample { elapsed, writes, ..Sample::empty() };
        other(name, sample, |requests| requests.read_share = Ratio::ZERO)
    }

    /// Returns the first sentence without the subject, which is the name of the target.
    fn lead(tests: Vec<TestResult>) -> String {
        let run = run(tests);
        let text = super::run(&run);
        let subject = target::subject(&run);
        text.strip_prefix(&format!("{subject} ")).map_or(text.clone(), str::to_owned)
    }

    #[test]
    fn fixed_loads_are_reported_by_their_latencies_if_they_are_served() {
        let paced = |name: &str, rate_per_second: f64| {
            let process = ArrivalProcess::Even;
            other(name, reads(10, 4, &[80; 100]), |requests| {
                requests.load = Load::Open { rate_per_second, process };
            })
        };
        let wanted = "serves the load: a request takes 80.0 µs in a and 80.0 µs in b.";
        assert_eq!(lead(vec![paced("a", 10_000.0), paced("b", 10_200.0)]), wanted);
        let late = lead(vec![paced("a", 10_000.0), paced("b", 11_000.0)]);
        assert!(late.starts_with("reads up to 41.0 MB/s"), "{late}");
    }

    #[test]
    fn a_comparison_of_flush_methods_leads_with_a_durable_write() {
        let durable = writes("8K write, fdatasync", 8, &[900; 10]);
        let cached = writes("8K write, not flushed", 8, &[2; 1_000]);
        let wanted = "completes 1,000 a second of 8K write, fdatasync, PostgreSQL's usual method on Linux, in 900 µs \
                      each.";
        assert_eq!(lead(vec![durable.clone(), cached]), wanted);
        assert!(lead(vec![durable.clone(), durable]).starts_with("writes up to"));
    }

    #[test]
    fn one_test_is_reported_with_its_rate_and_its_latency() {
        // The test has a hundred requests of 4 KiB in 10 ms.
        let random = test("RND", vec![reads(10, 4, &[80; 100])]);
        let rate = "reads 10,000 IOPS (41.0 MB/s) in RND";
        assert_eq!(lead(vec![random.clone()]), format!("{rate}, with a mean latency of 80.0 µs."));
        let in_order = other("SEQ", reads(10, 4, &[2_500; 100]), |requests| {
            requests.pattern = Pattern::Sequential;
        });
        let wanted = "reads 41.0 MB/s in SEQ, with a mean latency of 2.50 ms.";
        assert_eq!(lead(vec![in_order]), wanted);
        for (count, rate) in [(50, "50.0 IOPS (0.205 MB/s)"), (100, "100 IOPS (0.410 MB/s)")] {
            let slow = lead(vec![test("RND", vec![reads(1_000, 4, &vec![80; count])])]);
            assert_eq!(slow, format!("reads {rate} in RND, with a mean latency of 80.0 µs."));
        }
        let written = lead(vec![writes("W", 4, &[80; 100])]);
        assert_eq!(written, "writes 10,000 IOPS (41.0 MB/s) in W, with a mean latency of 80.0 µs.");
        let mixed = other("MIX", reads(10, 4, &[80; 100]), |requests| {
            requests.read_share = Ratio::new(0.5).unwrap();
        });
        assert!(lead(vec![mixed]).starts_with("reads and writes 10,000 IOPS"));
        // The first interval extends from 80% to 110%, and the second one is too wide.
        let mut drawn = random.clone();
        drawn.interval = Some(interval(0.8, 1.1));
        let wanted = format!("{rate} (80% interval 32.8 to 45.1), with a mean latency of 80.0 µs.");
        assert_eq!(lead(vec![drawn.clone()]), wanted);
        drawn.interval = Some(interval(0.1, 1.1));
        assert!(lead(vec![drawn]).contains(", with an interval wider than a factor of ten"));
        // The cases are a run without requests, a run without tests, and an interrupted run.
        assert_eq!(lead(vec![test("RND", Vec::new())]), "completed no request in RND.");
        assert_eq!(lead(Vec::new()), "No test has ended.");
        let stopped = RunResult { complete: false, ..run(vec![random]) };
        assert!(super::run(&stopped).ends_with("80.0 µs. The run was interrupted."));
        let transactions =
            TransactionFigures { per_minute: 12_345.4, ..TransactionFigures::default() };
        let users = Sample { transactions: Some(transactions), ..reads(10, 4, &[80]) };
        let wanted = "completes 12,345 transactions a minute in users.";
        assert_eq!(lead(vec![test("users", vec![users.clone()])]), wanted);
        let none = test("none", Vec::new());
        assert_eq!(lead(vec![none, test("users", vec![users])]), wanted);
    }

    #[test]
    fn several_tests_are_reported_with_the_maximum_of_each_direction() {
        let [slow, fast] = [("slow", 50), ("fast", 100)]
            .map(|(name, count)| test(name, vec![reads(10, 4, &vec![80; count])]));
        let write = writes("write", 8, &[90; 100]);
        let mixed = other("mix", reads(10, 4, &[80; 25]), |requests| {
            requests.read_share = Ratio::new(0.5).unwrap();
        });
        let read = "reads up to 41.0 MB/s (fast)";
        let two = vec![slow.clone(), fast.clone()];
        assert_eq!(lead(two.clone()), format!("{read}."));
        let three = [two, vec![write]].concat();
        let written = "writes up to 81.9 MB/s (write)";
        assert_eq!(lead(three.clone()), format!("{read} and {written}."));
        let four = [three, vec![mixed]].concat();
        let both = "reads and writes up to 10.2 MB/s (mix)";
        assert_eq!(lead(four), format!("{read}, {written}, and {both}."));
        let none = || test("none", vec![Sample::empty()]);
        assert_eq!(lead(vec![none(), none()]), "completed no request in 2 tests.");
    }

    #[test]
    fn limits_are_counted_by_their_verdicts() {
        let with = |verdict: LimitingPart| {
            let mut test = test("t", vec![reads(10, 4, &[80; 100])]);
            test.explanation = Some(Explanation {
                ceilings: Vec::new(),
                bottleneck: None,
                ceiling_share: None,
                verdict,
                evidence: Vec::new(),
            });
            test
        };
        let link = || with(LimitingPart::LinkBound);
        let drive = || with(LimitingPart::DriveBound);
        assert_eq!(limits(&[link()]).unwrap(), "The test is link-bound.");
        let both = [drive(), link(), with(LimitingPart::Undecided), link()];
        let wanted = "2 of 4 tests: link-bound; 1 of 4 tests: drive-bound.";
        assert_eq!(limits(&both).unwrap(), wanted);
        let undecided = with(LimitingPart::Undecided);
        assert_eq!(limits(&[undecided.clone(), undecided.clone()]), None);
        let mut probed = undecided.clone();
        probed.queue_probe = Some(QueueDepthProbe {
            queue_depth: 1,
            iops: 1.0,
            iops_doubled: 2.0,
            processors: None,
            core_wait: None,
        });
        let unseen = "No test reached a limit that was observed.";
        assert_eq!(limits(&[undecided, probed.clone()]).unwrap(), unseen);
        assert_eq!(limits(&[probed, link()]).unwrap(), "1 of 2 tests: link-bound.");
        assert_eq!(limits(&[]), None);
    }

    #[test]
    fn times_have_the_unit_of_their_size() {
        for (ns, text) in
            [(80_000.0, "80.0 µs"), (100.0, "0.100 µs"), (1e6, "1.00 ms"), (22.04e6, "22.0 ms")]
        {
            assert_eq!(latency_text(ns), text);
        }
        assert!(latency_text(999_000.0).ends_with(" µs"));
        assert!(!is_simulated(&run(Vec::new())));
    }
}
