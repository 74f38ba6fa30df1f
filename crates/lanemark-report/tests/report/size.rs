//! Tests of pages with many runs: their size, and whether they contain all runs.

use lanemark_report::html;
use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::result::{RunResult, Target};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Operation;

use crate::fixture;

/// Maximum size in bytes of a page with fifty runs of eight tests.
const BYTES_MAX: usize = 3_000_000;

/// Pseudorandom numbers that are the same whenever the tests run.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Returns runs of eight tests, each with hops, latencies, a series of a hundred intervals, and a name as long as real
/// names.
fn runs(count: u64) -> Vec<RunResult> {
    (0..count).map(run).collect()
}

fn run(number: u64) -> RunResult {
    let mut noise = Noise(number);
    let mut run = fixture::simulated();
    let Target::Simulated(target) = &mut run.target else { panic!("the fixture is simulated") };
    target.system = format!("maker-model-{number}-pro-1tb@workstation-x570:m2");
    run.provenance.seed = number;
    let library = (format!("library/drives/maker-model-{number}.toml"), format!("{number:064x}"));
    run.provenance.inputs.extend([library]);
    for test in &mut run.tests {
        for sample in &mut test.samples {
            sample.path.iter_mut().flat_map(|path| &mut path.hops).for_each(|hop| {
                hop.wait_ns *= 1.0 + noise.below(100) as f64 / 100.0;
                hop.utilisation *= 1.0 - noise.below(30) as f64 / 100.0;
            });
            let interval = Duration::from_microseconds(10_000);
            let mut recorder = SeriesRecorder::new(interval, 100);
            for at in 0..100 {
                recorder.close(interval * at, None);
                for _ in 0..20 + noise.below(20) {
                    let steps = 1 << noise.below(6);
                    let latency = Duration::from_microseconds(50 + 40 * noise.below(steps));
                    recorder.record(Operation::Write, Bytes::kibi(4), latency);
                }
            }
            sample.series = Some(recorder.finish(interval * 100, None));
        }
    }
    run
}

#[test]
fn pages_of_fifty_runs_are_below_three_megabytes_and_show_all_of_them() {
    let runs = runs(50);
    let runs: Vec<&RunResult> = runs.iter().collect();
    let page = html(None, &runs);
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    for run in 0..50 {
        let name = format!(">maker-model-{run}-pro-1tb@workstation-x570:m2<");
        // Each test has a bar, a drawing over time, and rows in tables.
        assert!(page.matches(&name).count() > 2 * 8, "{name} is shown too little");
    }
}

#[test]
fn few_runs_have_large_drawings_over_time_and_many_have_small_ones() {
    let pages = [3, 4].map(|count| html(None, &runs(count).iter().collect::<Vec<_>>()));
    let large = pages.each_ref().map(|page| page.matches("<figure class=\"time\">").count());
    assert_eq!(large, [24, 0]);
    assert!(pages[1].contains("up to 240 steps"));
}

#[test]
fn values_that_several_runs_share_are_shown_once() {
    let runs = runs(6);
    let page = html(None, &runs.iter().collect::<Vec<_>>());
    let study = "studies/sata-vs-nvme-crystaldiskmark.toml";
    assert_eq!(page.matches(study).count(), 1, "a file of all runs");
    assert_eq!(page.matches("<dt>Version").count(), 1);
    assert_eq!(page.matches("<dt>Seed").count(), 6, "seeds differ");
    assert_eq!(page.matches(": values assumed</summary>").count(), 1, "one list of all runs");
    assert_eq!(page.matches("with nothing to collect yet").count(), 1, "one warning of all runs");
    let mut other = runs.clone();
    other[3].provenance.inputs.insert(study.to_owned(), "00".repeat(32));
    let page = html(None, &other.iter().collect::<Vec<_>>());
    assert_eq!(page.matches(study).count(), 6, "each run has its own where they differ");
}
