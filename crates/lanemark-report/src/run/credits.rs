//! Sentences that state when the burst credits of a cloud volume run out.

use lanemark_schema::result::{CreditUse, Reserve, TestResult};

use crate::text::number::{fixed, grouped, rate_text};
use crate::text::time::time_text;

/// Returns the sentences about the burst credits of simulated tests, if their volumes have burst credits.
pub(crate) fn sentences(tests: &[TestResult]) -> Option<String> {
    fn load(test: &TestResult) -> (&str, &[CreditUse]) {
        let credits = test.samples.first().map_or(&[][..], |sample| &sample.credits);
        (&test.test.name, credits)
    }
    of_loads(&tests.iter().map(load).collect::<Vec<_>>())
}

/// Returns the sentences about the burst credits under several named loads, if there are any credits.
pub(crate) fn of_loads(loads: &[(&str, &[CreditUse])]) -> Option<String> {
    match loads {
        [(_, only)] => of_load(only),
        several => of_several(several),
    }
}

/// States when each kind of credits runs out under a load, or that the credits do not run out.
pub(crate) fn of_load(credits: &[CreditUse]) -> Option<String> {
    let first = credits.first()?;
    let mut ending: Vec<&CreditUse> =
        credits.iter().filter(|credit| credit.end.is_some()).collect();
    ending.sort_by_key(|credit| credit.end);
    if ending.is_empty() {
        let kind = if credits.len() == 1 { name(first) } else { "burst" };
        return Some(format!("The {kind} credits do not run out at this load."));
    }
    let parts: Vec<String> =
        ending.into_iter().map(|credit| of_credits(credit, "at this load")).collect();
    Some(parts.join(" "))
}

/// States which credits run out first among several loads. Each test starts with the volume's initial credits.
fn of_several(loads: &[(&str, &[CreditUse])]) -> Option<String> {
    let all = loads.iter().flat_map(|(name, credits)| credits.iter().map(move |one| (name, one)));
    let ending = all.filter(|(_, credit)| credit.end.is_some());
    let (name, soonest) = ending.min_by_key(|(_, credit)| credit.end)?;
    Some(of_credits(soonest, &format!("in {name}, sooner than in the other tests")))
}

fn of_credits(credit: &CreditUse, load: &str) -> String {
    let rate = if credit.reserve == Reserve::ThroughputCredits {
        rate_text(credit.refill_per_second as f64)
    } else {
        format!("{} IOPS", grouped(&fixed(credit.refill_per_second as f64, 0)))
    };
    let kind = name(credit);
    match credit.end {
        _ if credit.at_start == 0 => {
            format!("The volume starts without {kind} credits, at {rate}.")
        }
        Some(end) => {
            format!("The {kind} credits run out after {} {load}; then {rate}.", time_text(end))
        }
        None => format!("The {kind} credits do not run out {load}."),
    }
}

fn name(credit: &CreditUse) -> &'static str {
    if credit.reserve == Reserve::ThroughputCredits { "throughput" } else { "I/O" }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::Sample;
    use lanemark_schema::units::Duration;
    use lanemark_schema::workload::{Test, Workload};

    use super::*;

    fn result(name: &str, credits: Vec<CreditUse>) -> TestResult {
        let built = Test::random_read("4 KiB").span("1 GiB").duration("60 s").build().unwrap();
        let test = Test { name: name.to_owned(), ..built.into_test() };
        let workload = Workload::of_test("w", "W", test.clone());
        TestResult::new(&workload, &test, vec![Sample { credits, ..Sample::empty() }])
    }

    fn credits(reserve: Reserve, refill: u64, end: Option<u64>) -> CreditUse {
        CreditUse {
            reserve,
            at_start: 5_400_000,
            used_per_second: 3_000.0,
            refill_per_second: refill,
            end: end.map(Duration::from_seconds),
            is_simulated: false,
        }
    }

    #[test]
    fn the_end_of_each_kind_of_credits_is_stated_the_soonest_first() {
        let io = Reserve::OperationCredits;
        let bytes = Reserve::ThroughputCredits;
        let text = |credits| sentences(&[result("a", credits)]);
        assert_eq!(text(Vec::new()), None);
        assert_eq!(
            text(vec![credits(io, 300, Some(2_000))]).unwrap(),
            "The I/O credits run out after 33.3 min at this load; then 300 IOPS."
        );
        assert_eq!(
            text(vec![credits(io, 500, Some(7_200)), credits(bytes, 40 << 20, Some(60))]).unwrap(),
            "The throughput credits run out after 60.0 s at this load; then 41.9 MB/s. The I/O credits run out after 2.00 h \
             at this load; then 500 IOPS."
        );
        assert_eq!(
            text(vec![credits(io, 300, None)]).unwrap(),
            "The I/O credits do not run out at this load."
        );
        assert_eq!(
            text(vec![credits(io, 300, None), credits(bytes, 300, None)]).unwrap(),
            "The burst credits do not run out at this load."
        );
        let empty = CreditUse { at_start: 0, ..credits(io, 300, Some(0)) };
        assert_eq!(
            text(vec![empty]).unwrap(),
            "The volume starts without I/O credits, at 300 IOPS."
        );
    }

    #[test]
    fn several_tests_state_the_first_end_only() {
        let io = Reserve::OperationCredits;
        let tests = [
            result("slow", vec![credits(io, 300, None)]),
            result("fast", vec![credits(io, 300, Some(1_800))]),
            result("middle", vec![credits(io, 300, Some(3_600))]),
        ];
        let text = sentences(&tests).unwrap();
        assert!(
            text.starts_with("The I/O credits run out after 30.0 min in fast, sooner"),
            "{text}"
        );
        assert_eq!(sentences(&tests[..0]), None);
    }
}
