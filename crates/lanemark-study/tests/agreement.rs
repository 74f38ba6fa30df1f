//! A run that ends when its figures have converged agrees with the whole run, for library drives, loads and states that
//! are drawn from a seed.

use std::sync::Mutex;

use lanemark_schema::result::{ConvergedTest, DirectionResult, Sample};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{CheckedTest, Pattern, Test};
use lanemark_sim::spec::{CheckedSystem, DriveCondition, MediaSpec};
use lanemark_sim::{RunLength, SystemSpec, may_converge, run_length_watched};

mod placed;

/// The figures that are compared, each with its usual maximum difference.
const FIGURES: [(&str, f64); 3] = [("rate", 0.01), ("p99", 0.03), ("p99.9", 0.05)];
/// Factor by which a case may exceed the usual maximum difference.
const FAR: f64 = 3.0;
/// Share of the cases that may exceed the usual maximum difference.
const FEW: f64 = 0.05;
/// The loads: block size in KiB, pattern, share of reads, and queue depth.
const LOADS: [(u64, Pattern, f64, u32); 17] = [
    (4, Pattern::Uniform, 1.0, 1),
    (4, Pattern::Uniform, 1.0, 8),
    (4, Pattern::Uniform, 1.0, 32),
    (4, Pattern::Uniform, 0.0, 1),
    (4, Pattern::Uniform, 0.0, 8),
    (4, Pattern::Uniform, 0.0, 32),
    (4, Pattern::Uniform, 0.7, 16),
    (64, Pattern::Uniform, 1.0, 4),
    (128, Pattern::Sequential, 1.0, 2),
    (128, Pattern::Sequential, 0.0, 2),
    (16, Pattern::Sequential, 1.0, 32),
    (16, Pattern::Sequential, 0.0, 32),
    (512, Pattern::Uniform, 0.5, 4),
    (1024, Pattern::Sequential, 1.0, 1),
    (1024, Pattern::Sequential, 0.0, 8),
    (32768, Pattern::Sequential, 1.0, 1),
    (32768, Pattern::Sequential, 0.0, 2),
];
/// The ends of tests: a volume, a time after a ramp, or the volume of a copy.
const ENDS: [End; 4] = [End::Volume, End::Volume, End::TimeAfterRamp, End::Copy];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Volume,
    TimeAfterRamp,
    Copy,
}

/// The ramp of a test that ends after a time.
const RAMP: Duration = Duration::from_microseconds(200_000);
const STATES: [DriveCondition; 4] = [
    DriveCondition::Fresh,
    DriveCondition::Purged,
    DriveCondition::Sequential,
    DriveCondition::Random,
];
/// A system, a test, and the seed of its requests.
struct Draw {
    name: String,
    system: CheckedSystem,
    test: CheckedTest,
    seed: u64,
}

/// A whole and a converged run of one test.
struct Case {
    name: String,
    /// The relative difference of each figure, if both runs have the figure.
    differences: [Option<f64>; FIGURES.len()],
    requests: u64,
    /// The length of the converged run, if it ended early.
    part: Option<ConvergedTest>,
}

impl Draw {
    fn new(random: &mut Rng, systems: &[(String, SystemSpec)], requests: u64) -> Option<Self> {
        let (name, spec) = &systems[random.below(systems.len() as u64) as usize];
        let (kib, pattern, reads, depth) = &LOADS[random.below(LOADS.len() as u64) as usize];
        let kib = *kib;
        let reads = *reads;
        let depth = *depth;
        let state = STATES[random.below(STATES.len() as u64) as usize];
        let span = Bytes::mebi([1024, 8192, 16384][random.below(3) as usize]);
        let end = ENDS[random.below(ENDS.len() as u64) as usize];
        let seed = random.next_u64();
        let mut spec = spec.clone();
        match &mut spec.first_mut().drive.media {
            MediaSpec::Flash(flash) => flash.condition = state,
            MediaSpec::Disk(_) | MediaSpec::Cloud(_) => {}
        }
        let span = span.min(spec.first().drive.capacity);
        let spec = spec.checked().ok()?;
        let built = Test::random_read(Bytes::kibi(kib))
            .pattern(pattern.clone())
            .read_share(Ratio::new(reads).unwrap())
            .queue_depth(depth)
            .span(span);
        let of_data = Bytes::kibi(kib) * requests.min(8 * 1024 * 1024 / kib);
        let built = match end {
            End::Volume | End::Copy => built.volume(of_data),
            End::TimeAfterRamp => built.duration(RAMP * 3).ramp(RAMP),
        };
        let mut test = built.build().unwrap().into_test();
        if end == End::Copy {
            if reads < 1.0 || span * 2 > spec.first().drive.capacity {
                return None;
            }
            test = test.with(|requests| {
                requests.read_share = Ratio::new(0.5).unwrap();
                requests.mix.copy_to = Some(span);
            });
        }
        let test = test.checked().unwrap();
        if !may_converge(&spec, &test) {
            return None;
        }
        let name = format!(
            "{name} {state:?} {span} {kib} KiB {pattern:?} {reads} reads QD{depth} {end:?}"
        );
        Some(Self { name, system: spec, test, seed })
    }

    fn run(self) -> Case {
        let run = |length| {
            let key = StreamKey::from_seed(self.seed);
            run_length_watched(&self.system, &self.test, key, length, &mut |_| true)
                .unwrap_or_else(|error| panic!("{}: {error}", self.name))
        };
        let whole = run(RunLength::Whole);
        let converged = run(RunLength::Converged);
        Case {
            name: self.name,
            differences: differences(&whole, &converged),
            requests: whole.operations(),
            part: converged.converged,
        }
    }
}

/// Returns the relative difference of each figure that both samples contain. For a percentile, this is the larger
/// difference of reads and writes.
fn differences(whole: &Sample, converged: &Sample) -> [Option<f64>; FIGURES.len()] {
    let difference =
        |of: &dyn Fn(&Sample) -> Option<f64>| Some((of(converged)? / of(whole)? - 1.0).abs());
    let percentile = |percent| {
        let of = |direction: fn(&Sample) -> Option<&DirectionResult>| {
            difference(&|sample| Some(direction(sample)?.latency.percentile_ns(percent)? as f64))
        };
        let directions = [of(|sample| sample.reads.as_ref()), of(|sample| sample.writes.as_ref())];
        directions.into_iter().flatten().reduce(f64::max)
    };
    [difference(&|sample| Some(sample.iops())), percentile(99.0), percentile(99.9)]
}

/// Runs all cases on all processors, and returns them in their order.
fn run_all(draws: Vec<Draw>) -> Vec<Case> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let waiting = Mutex::new(draws.into_iter().enumerate());
    let work = || {
        let mut done = Vec::new();
        loop {
            let next = waiting.lock().unwrap().next();
            let Some((number, draw)) = next else { return done };
            done.push((number, draw.run()));
        }
    };
    let mut all: Vec<(usize, Case)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, case)| case).collect()
}

fn agree(count: usize, seed: u64, requests: u64) {
    let systems = placed::systems(|_, _| true);
    let mut random = Rng::new(StreamKey::from_seed(seed));
    let mut cases = 0;
    let mut ended = 0;
    let mut simulated = 0;
    let mut all = 0;
    let mut beyond = [0; FIGURES.len()];
    let mut far = Vec::new();
    let mut draws = Vec::new();
    while draws.len() < count {
        draws.extend(Draw::new(&mut random, &systems, requests));
    }
    for case in run_all(draws) {
        cases += 1;
        let part = case.part;
        all += case.requests;
        simulated += part.map_or(case.requests, |part| part.simulated);
        ended += usize::from(part.is_some());
        for ((index, difference), (figure, usual)) in
            case.differences.iter().enumerate().zip(FIGURES)
        {
            let Some(difference) = *difference else { continue };
            beyond[index] += usize::from(difference > usual);
            if difference > usual {
                let line =
                    format!("{}: {figure} {:.2}% off, {part:?}", case.name, difference * 100.0);
                println!("{line}");
                if difference > FAR * usual {
                    far.push(line);
                }
            }
        }
    }
    println!(
        "{cases} cases, {ended} ended early, {simulated} of {all} requests; beyond {FIGURES:?}: {beyond:?}"
    );
    assert!(ended * 3 > cases, "only {ended} of {cases} cases ended early");
    assert!(far.is_empty(), "{} are far off:\n{}", far.len(), far.join("\n"));
    for (count, (figure, usual)) in beyond.iter().zip(FIGURES) {
        let share = *count as f64 / cases as f64;
        assert!(
            share <= FEW,
            "{figure}: {:.1}% of cases differ by more than {usual}",
            share * 100.0
        );
    }
}

#[test]
fn a_converged_run_agrees_with_the_whole_run() {
    // `make agreement` draws 2,880 cases.
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    match number("LANEMARK_AGREEMENT") {
        Some(cases) => {
            agree(cases as usize, number("LANEMARK_AGREEMENT_SEED").unwrap_or(2), 300_000);
        }
        None => agree(24, 1, 60_000),
    }
}
