//! Tests that the terminal and the page contain the same text, and that the result justifies each claim of both.

use lanemark_report::{Style, compare_runs, compare_table, html, run_table, test_details};
use lanemark_schema::result::{
    DrivePhases, LimitingPart, LiveVerdict, RatioVerdict, RunResult, Sample, Series, Statistic,
    Target, TestResult,
};
use lanemark_schema::units::Bytes;

use crate::fixture::{self, unwrapped};
use crate::random::random;

/// Number of random results.
const RESULTS: u64 = 300;
/// Results that `lanemark library --kind sample` lists, and results of earlier programs.
const SAVED: [&str; 4] = [
    include_str!("../../../../samples/measured.json"),
    include_str!("../../../../samples/simulated.json"),
    include_str!("../../../lanemark-cli/tests/saved/postgresql.json"),
    include_str!("../../../lanemark-cli/tests/saved/simulated.json"),
];
/// A line of this width is never wrapped, and a table of this width lacks no column.
const WIDE: Style = Style { width: 20_000, colour: false };

/// Returns all results of these tests.
fn results() -> impl Iterator<Item = RunResult> {
    let saved = SAVED.iter().map(|text| serde_json::from_str(text).unwrap());
    saved.chain((0..RESULTS).map(random))
}

/// Returns the text of a page without its markup.
fn page_text(page: &str) -> String {
    let body = page.split_once("<main>").map_or(page, |(_, body)| body);
    let mut text = String::new();
    let mut rest = body.split("<script>").next().unwrap_or_default();
    while let Some((before, tag)) = rest.split_once('<') {
        text += before;
        let (name, after) = tag.split_once('>').unwrap_or((tag, ""));
        // Words on both sides of an inline element are one word.
        let is_inline = ["b", "/b", "code", "/code"].contains(&name);
        text += if is_inline { "" } else { " " };
        rest = after;
    }
    text += rest;
    let typeset = [("\u{2007}", ""), ("\u{2008}", ""), ("−", "-"), ("10⁶", "10^6")];
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    let replaced = typeset.into_iter().chain(entities);
    unwrapped(&replaced.fold(text, |text, (from, to)| text.replace(from, to)))
}

/// Returns the sorted words of a text, without rules and sparklines.
fn words(text: &str) -> Vec<&str> {
    let is_drawn = |word: &&str| word.chars().all(|letter| "─▁▂▃▄▅▆▇█".contains(letter));
    let mut words: Vec<&str> = text.split_whitespace().filter(|word| !is_drawn(word)).collect();
    words.sort_unstable();
    words
}

/// Returns the text of each test on a page, without the name of the test.
fn details(page: &str) -> Vec<String> {
    let section =
        page.split("<section id=").find(|section| section.contains(">Tests in detail</h2>"));
    let tests = section.unwrap_or_default().split("<summary>").skip(1);
    let texts = tests.filter_map(|test| test.split("</details>").next()?.split_once("</summary>"));
    texts.map(|(_, text)| page_text(text)).collect()
}

#[test]
fn the_detail_of_a_test_has_the_same_words_in_terminal_and_page() {
    let mut count = 0;
    for run in results() {
        let page = details(&html(None, &[&run]));
        assert_eq!(page.len(), run.tests.len());
        for (test, page) in run.tests.iter().zip(page) {
            let printed = fixture::detail(&run, test, &WIDE);
            let (_, printed) = printed.split_once('\n').unwrap();
            // A list has a mark in a terminal.
            let printed = printed.replace("\n- ", "\n");
            assert_eq!(words(&printed), words(&page), "{printed}\n{page}");
            count += 1;
        }
    }
    assert!(count > RESULTS);
}

#[test]
fn each_line_of_the_table_of_a_run_is_in_the_page() {
    for run in results() {
        let page = page_text(&html(None, &[&run]));
        for line in run_table(&run, &WIDE).lines().filter(|line| !line.starts_with('─')) {
            // The page shows code in another font instead of between backticks.
            let line = line.trim_start_matches("! ").trim_start_matches("- ").replace('`', "");
            for part in line.split("  ").map(str::trim) {
                assert!(page.contains(part), "`{part}` is missing in\n{page}");
            }
        }
    }
}

/// A phrase of a view, and whether a result justifies it.
type Claim = (&'static str, fn(&RunResult) -> bool);

fn any_test(run: &RunResult, holds: impl Fn(&TestResult) -> bool) -> bool {
    run.tests.iter().any(holds)
}

fn any(run: &RunResult, holds: impl Fn(&Sample) -> bool) -> bool {
    any_test(run, |test| test.samples.iter().any(&holds))
}

/// Returns whether the series of any sample has phases that `holds` accepts.
fn any_phases(run: &RunResult, holds: impl Fn(&DrivePhases, &Series) -> bool) -> bool {
    any(run, |sample| {
        let series = sample.series.as_ref();
        series.is_some_and(|series| holds(&DrivePhases::from_series(series), series))
    })
}

fn any_lost(run: &RunResult, holds: fn(Bytes) -> bool) -> bool {
    any(run, |sample| sample.faults.iter().any(|fault| holds(fault.lost)))
}

fn is_direct(run: &RunResult, direct: Option<bool>) -> bool {
    matches!(&run.target, Target::Measured(target) if target.direct == direct)
}

fn any_verdict(run: &RunResult, verdict: LimitingPart) -> bool {
    any_test(run, |test| test.explanation.as_ref().is_some_and(|one| one.verdict == verdict))
}

fn any_replay(run: &RunResult, speed: Option<f64>) -> bool {
    any(run, |sample| sample.replay.as_ref().is_some_and(|replay| replay.speed == speed))
}

fn any_live(run: &RunResult, holds: fn(LiveVerdict) -> bool) -> bool {
    any(run, |sample| {
        let live = sample.live.as_ref().filter(|live| live.deviation().is_some());
        live.is_some_and(|live| holds(live.verdict()))
    })
}

fn has_spread(statistic: &Statistic) -> bool {
    statistic.count > 1
}

/// The claims of all views.
const CLAIMS: [Claim; 44] = [
    ("Steady by SNIA's rule after", |run| {
        any(run, |sample| sample.steady.as_ref().is_some_and(|steady| steady.reached()))
    }),
    ("Not steady after", |run| {
        any(run, |sample| sample.steady.as_ref().is_some_and(|steady| !steady.reached()))
    }),
    ("a second are steady from", |run| any_phases(run, |phases, _| phases.steady_from.is_some())),
    ("are not steady at the end", |run| any_phases(run, |phases, _| phases.steady_from.is_none())),
    ("Collection moved nothing", |run| {
        any_phases(run, |phases, series| phases.nothing_moved >= Some(series.elapsed()))
    }),
    ("collection moved nothing in the first", |run| {
        any_phases(run, |phases, _| phases.nothing_moved.is_some())
    }),
    ("Flash took", |run| {
        any(run, |sample| sample.drive.is_some_and(|drive| drive.host_written > Bytes::ZERO))
    }),
    ("No data had to be moved", |run| {
        any(run, |sample| sample.drive.is_some_and(|drive| drive.host_written > Bytes::ZERO))
    }),
    ("The drive uses", |run| any(run, |sample| sample.energy.is_some())),
    ("its battery lasts", |run| any(run, |sample| sample.energy.is_some())),
    ("Verdict:", |run| any_test(run, |test| test.explanation.is_some())),
    ("link-bound", |run| any_verdict(run, LimitingPart::LinkBound)),
    ("drive-bound", |run| any_verdict(run, LimitingPart::DriveBound)),
    ("CPU-bound", |run| any_verdict(run, LimitingPart::CpuBound)),
    ("queue-starved", |run| any_verdict(run, LimitingPart::QueueStarved)),
    ("held back;", |run| any_verdict(run, LimitingPart::HeldBack)),
    ("No test reached a limit", |run| {
        let undecided = |test: &TestResult| {
            test.explanation.as_ref().is_none_or(|one| one.verdict == LimitingPart::Undecided)
        };
        run.tests.iter().all(undecided) && any_test(run, |test| test.queue_probe.is_some())
    }),
    ("of the bottleneck's ceiling", |run| {
        any_test(run, |test| {
            test.explanation.as_ref().is_some_and(|one| one.ceiling_share.is_some())
        })
    }),
    ("No hop is busy", |run| {
        any_test(run, |test| {
            let mut paths = test.samples.iter().filter_map(|sample| sample.path.as_ref());
            paths.any(|path| path.hops.iter().all(|hop| hop.utilisation < 0.5))
        })
    }),
    ("carries at most", |run| {
        any(run, |sample| {
            let mut hops = sample.path.iter().flat_map(|path| &path.hops);
            hops.any(|hop| hop.ceiling.is_some())
        })
    }),
    ("No single hop is the bottleneck", |run| {
        any_test(run, |test| {
            test.sensitivity.as_ref().is_some_and(|one| one.bottleneck().is_none())
        })
    }),
    ("would change the throughput", |run| any_test(run, |test| test.sensitivity.is_some())),
    ("failed, ", |run| any(run, |sample| !sample.errors.is_empty())),
    ("lost no acknowledged data", |run| any_lost(run, |lost| lost == Bytes::ZERO)),
    ("of acknowledged data", |run| any_lost(run, |lost| lost > Bytes::ZERO)),
    ("with wrong or lost data", |run| {
        any(run, |sample| sample.faults.iter().any(|fault| fault.silent > 0))
    }),
    ("as recorded", |run| any_replay(run, Some(1.0)) || any_replay(run, Some(2.0))),
    ("times as fast as recorded", |run| any_replay(run, Some(2.0))),
    ("of the trace, as fast as possible", |run| any_replay(run, None)),
    ("Served for", |run| any(run, |sample| sample.live.is_some())),
    ("The run is valid", |run| any_live(run, |verdict| verdict == LiveVerdict::Valid)),
    ("The run is invalid", |run| any_live(run, |verdict| verdict != LiveVerdict::Valid)),
    ("page cache bypassed", |run| is_direct(run, Some(true))),
    ("through the page cache", |run| is_direct(run, Some(false))),
    ("use of the page cache not stated", |run| is_direct(run, None)),
    ("95% confident", |run| {
        any_test(run, |test| test.throughput_bytes_per_second.interval_95.is_some())
    }),
    ("(80% interval", |run| any_test(run, |test| test.interval.is_some())),
    ("predict little", |run| {
        any_test(run, |test| test.interval.as_ref().is_some_and(|one| one.low_ratio < 0.12))
    }),
    ("repeats; percentiles: all repeats together", |run| {
        any_test(run, |test| has_spread(&test.iops) || test.samples.len() > 1)
    }),
    ("at 95% confidence", |run| any(run, |sample| sample.converged.is_some())),
    ("--full simulates", |run| any(run, |sample| sample.similar.is_some())),
    ("The run was interrupted", |run| !run.complete),
    ("of processor time per request", |run| any(run, |sample| sample.cpu.is_some())),
    ("credits run out", |run| {
        any(run, |sample| sample.credits.iter().any(|credits| credits.end.is_some()))
    }),
];

#[test]
fn each_claim_of_a_view_holds_in_the_result_and_occurs() {
    let mut seen = [false; CLAIMS.len()];
    for run in results() {
        let page = page_text(&html(None, &[&run]));
        let printed = run_table(&run, &WIDE) + &test_details(&run, &WIDE);
        for (at, (phrase, holds)) in CLAIMS.iter().enumerate() {
            for view in [&page, &printed] {
                let is_claimed = view.contains(phrase);
                assert!(!is_claimed || holds(&run), "`{phrase}` does not hold in\n{view}");
                seen[at] |= is_claimed;
            }
        }
    }
    let unseen = CLAIMS.iter().zip(seen).filter(|(_, seen)| !seen).map(|(claim, _)| claim.0);
    assert_eq!(unseen.collect::<Vec<_>>(), [""; 0], "claims that no result makes");
}

/// Returns a measured run whose repeats do not differ.
fn equal_repeats(name: &str) -> RunResult {
    let mut run = fixture::measured();
    run.provenance.name = Some(name.to_owned());
    for result in &mut run.tests {
        let samples = vec![result.samples[0].clone(); 3];
        *result = TestResult::new(&run.workload, &result.test, samples);
    }
    run
}

#[test]
fn each_claim_of_a_comparison_follows_from_an_interval() {
    let claims = [
        (["faster than", "; faster, "], RatioVerdict::Higher),
        (["slower than", "; slower, "], RatioVerdict::Lower),
        ([", within 3%: ", "the same within 3%"], RatioVerdict::Same),
        (["no difference shown", "no difference can be shown"], RatioVerdict::NotShown),
    ];
    let mut seen = [false; 4];
    let pairs = (0..RESULTS).map(|number| (random(number), random(number + RESULTS)));
    for (one, other) in pairs.chain([(equal_repeats("one"), equal_repeats("other"))]) {
        let compared = compare_runs(("a", &one), ("b", &other));
        let page = page_text(&html(None, &[&one, &other]));
        let printed = compare_table(("a", &one), ("b", &other), true, &WIDE);
        for (at, (phrases, verdict)) in claims.iter().enumerate() {
            let holds = compared.figures.iter().any(|figure| figure.ratio.verdict() == *verdict);
            for view in [&page, &printed] {
                let is_claimed = phrases.iter().any(|phrase| view.contains(phrase));
                assert!(!is_claimed || holds, "{phrases:?} do not hold in\n{view}");
                seen[at] |= is_claimed;
            }
        }
    }
    assert_eq!(seen, [true; 4], "claims that no comparison makes");
}
