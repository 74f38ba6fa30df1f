//! Tests of runs through the library's interface: identical bytes on any number of threads, events in order, and
//! cancellation.

use std::path::Path;
use std::time::Instant;

use lanemark_lab::{
    ErrorCause, Event, Lab, Pool, RunLength, TestPosition, WhatIfJob, WhatIfSide, assemble,
    settings,
};
use lanemark_schema::result::{Provenance, RunResult, Warning};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Workload;
use lanemark_study::{Library, Study, System, workload};

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";

/// Returns a laboratory that runs complete tests, with their repeats.
fn lab(threads: usize) -> Lab {
    let pool = Pool::new(threads.try_into().unwrap());
    Lab { pool, length: RunLength::Whole, ..Lab::default() }
}

fn system(name: &str) -> System {
    assemble(&Library::built_in(), name, &[]).unwrap()
}

/// Returns four tests that take `milliseconds` each, with three repeats.
fn short(milliseconds: u64) -> Workload {
    let mut workload = workload::open(&Library::built_in(), "crystaldiskmark-8").unwrap();
    workload.tests.truncate(4);
    workload.repeats = 3;
    for test in &mut workload.tests {
        test.volume = None;
        test.duration = Some(Duration::from_microseconds(milliseconds * 1000));
    }
    workload
}

fn seed() -> Provenance {
    Provenance { seed: 5, ..Provenance::default() }
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn one_two_and_five_threads_give_the_same_bytes() {
    let here = system(SATA);
    let there = system(NVME);
    let workload = short(3);
    let library = Library::built_in();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/sata-express.toml");
    let study = Study::open(&library, &file).unwrap();
    let side = |name: &str, system: &System| WhatIfSide {
        name: name.to_owned(),
        system: system.clone(),
        workload: workload.clone(),
    };
    let job = WhatIfJob {
        is_forced: false,
        changed: Vec::new(),
        present: side(SATA, &here),
        other: side(NVME, &there),
        subjects: None,
        measured: None,
        seed: 5,
    };
    let of = |threads: usize| {
        let lab = lab(threads);
        let mut run = lab.run(&here, &workload, &seed(), &mut |_| ()).unwrap();
        lab.add_sensitivity(&here.spec, &mut run, &mut |_| ()).unwrap();
        assert!(run.tests.iter().all(|test| test.sensitivity.is_some()));
        let outcome = lab.study(&study, &seed(), Default::default(), &mut |_| ()).unwrap();
        let whatif = lab.what_if(&job, &mut |_| ()).unwrap().unwrap();
        [json(&run), json(&outcome), json(&whatif)]
    };
    let one = of(1);
    assert_eq!(of(2), one);
    assert_eq!(of(5), one);
    // The result equals the result of consecutive runs.
    let serial = here.run(&workload, seed()).unwrap();
    let run = lab(2).run(&here, &workload, &seed(), &mut |_| ()).unwrap();
    assert_eq!(json(&run), json(&serial));
}

#[test]
fn a_setting_is_written_as_parameter_and_value() {
    let set = settings(&["drive.flash.read = 60 us".to_owned()]).unwrap();
    assert_eq!(
        (set[0].0.parameter.as_str(), set[0].0.value.as_str()),
        ("drive.flash.read", "60 us")
    );
    let error = settings(&["drive.flash.read".to_owned()]).unwrap_err();
    assert_eq!((error.cause, error.hint.is_some()), (ErrorCause::Input, true));
    assert!(error.message.contains("PARAMETER=VALUE"), "{error}");
}

/// A short form of an event.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Begun(TestPosition),
    Advanced(TestPosition, f64),
    Sampled(TestPosition),
    TestEnded(Box<RunResult>),
}

fn record_event(events: &mut Vec<Seen>, event: &Event<'_>) {
    events.push(match event {
        Event::Begun(at) => Seen::Begun(*at),
        Event::Advanced(at, progress) => Seen::Advanced(*at, progress.share.unwrap()),
        Event::Sampled(at, _) => Seen::Sampled(*at),
        Event::TestEnded { so_far, .. } => Seen::TestEnded(Box::new(so_far())),
        _ => panic!("a run reports no more"),
    });
}

#[test]
fn all_events_of_a_repeat_arrive_in_order() {
    let system = system(SATA);
    let workload = short(20);
    for threads in [1, 3] {
        let mut events = Vec::new();
        let run = lab(threads)
            .run(&system, &workload, &seed(), &mut |event| record_event(&mut events, &event));
        let run = run.unwrap();
        for test in 0..4 {
            for repeat in 0..3 {
                let own = TestPosition { run: 0, test, repeat };
                let place =
                    |wanted: Seen| events.iter().position(|event| *event == wanted).unwrap();
                let begun = place(Seen::Begun(own));
                let sampled = place(Seen::Sampled(own));
                let shares = events.iter().enumerate().filter_map(|(place, event)| match event {
                    Seen::Advanced(at, share) if *at == own => Some((place, *share)),
                    _ => None,
                });
                let shares: Vec<(usize, f64)> = shares.collect();
                assert!(shares.is_sorted_by(|one, two| one.1 < two.1));
                assert!(shares.iter().all(|(place, _)| (begun..sampled).contains(place)));
                assert!(!shares.is_empty(), "progress is reported from the beginning");
            }
        }
        let ended: Vec<&RunResult> = events
            .iter()
            .filter_map(|event| match event {
                Seen::TestEnded(so_far) => Some(so_far.as_ref()),
                _ => None,
            })
            .collect();
        let counts: Vec<usize> = ended.iter().map(|so_far| so_far.tests.len()).collect();
        assert_eq!(counts, [1, 2, 3, 4], "each test ends once, and then has its place");
        assert_eq!(*ended[3], run);
        assert!(!ended[2].complete && run.complete);
    }
}

#[test]
fn a_requested_end_keeps_the_tests_that_had_ended() {
    let system = system(NVME);
    let mut workload = short(2);
    // Without cancellation, the run would take hours.
    workload.tests[3].duration = Some(Duration::from_seconds(36_000));
    for threads in [1, 4] {
        let lab = lab(threads);
        let mut ended = 0;
        let mut asked = None;
        let run = lab.run(&system, &workload, &seed(), &mut |event| match event {
            Event::TestEnded { .. } => ended += 1,
            Event::Advanced(at, _) if at.test == 3 && ended == 3 => {
                lab.cancel.cancel();
                asked.get_or_insert_with(Instant::now);
            }
            _ => {}
        });
        let run = run.unwrap();
        let took = asked.unwrap().elapsed();
        assert!(took < std::time::Duration::from_secs(20), "{took:?}");
        assert_eq!((run.tests.len(), run.complete), (3, false));
        assert!(run.warnings.contains(&Warning::Interrupted));
        assert_eq!(run.check(), Ok(()));
    }
}

#[test]
fn a_run_cancelled_before_its_start_is_empty() {
    let lab = lab(2);
    let system = system(NVME);
    let workload = short(2);
    lab.cancel.cancel();
    let mut events = 0;
    let run = lab.run(&system, &workload, &seed(), &mut |_| events += 1).unwrap();
    assert_eq!((run.tests.len(), run.complete, events), (0, false, 0));
    let mut whole = system.run(&workload, seed()).unwrap();
    lab.add_sensitivity(&system.spec, &mut whole, &mut |_| events += 1).unwrap();
    assert!(whole.tests.iter().all(|test| test.sensitivity.is_none()) && events == 0);
    let side = WhatIfSide { name: NVME.to_owned(), system, workload };
    let job = WhatIfJob {
        is_forced: false,
        changed: Vec::new(),
        present: side.clone(),
        other: side,
        subjects: None,
        measured: None,
        seed: 1,
    };
    assert_eq!(lab.what_if(&job, &mut |_| ()).unwrap(), None);
}

#[test]
fn the_first_failed_test_is_reported_for_any_threads() {
    let system = system(NVME);
    let mut workload = short(50);
    for test in &mut workload.tests[1..] {
        test.offset = system.capacity();
    }
    let name = workload.tests[1].name.clone();
    for threads in [1, 2, 5] {
        let error = lab(threads).run(&system, &workload, &seed(), &mut |_| ()).unwrap_err();
        assert!(error.message.contains(&format!("test `{name}`")), "{error}");
        assert_eq!((error.cause, error.hint.is_some()), (ErrorCause::Input, true));
    }
}
