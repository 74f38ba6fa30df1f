//! The counts match the requests: operations, offsets, data, windows and directions.

mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lanemark_measure::{Bench, Event, SampleInProgress};
use lanemark_schema::result::Warning;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Access, Accesses, Operation, Pattern, Test, Workload};
use lanemark_testbed::Mounted;
use workloads::{read, run, timed, workload, write};

const BLOCK: usize = 4096;

/// Returns the accesses of all threads' streams when `test` counts `requests` in total.
fn expected_accesses(test: &Test, index: u32, repeat: u32, requests: u64) -> Vec<Access> {
    let threads = u64::from(test.threads);
    let stream = |thread: u64| {
        let key = StreamKey { seed: 42, test: index, repeat, thread: thread as u32 };
        let mut accesses = Accesses::new(test, key).unwrap();
        let share = requests / threads + u64::from(thread < requests % threads);
        (0..share).map(|_| accesses.next_access()).collect::<Vec<_>>()
    };
    (0..threads).flat_map(stream).collect()
}

/// Runs the workload on a kept file, and returns the file's content after the layout and after the run.
fn before_and_after(workload: &Workload) -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    fs::write(&path, "").unwrap();
    let stop = AtomicBool::new(false);
    let bench = Bench { overwrite: Some(&path), ..Bench::new(&path, workload, 42, &stop) };
    let mut laid_out = Vec::new();
    let outcome = bench
        .run(&mut |event| {
            if matches!(event, Event::LayingOut { done, total } if done == total) {
                laid_out = fs::read(&path).unwrap();
            }
        })
        .unwrap();
    assert!(outcome.complete);
    (laid_out, fs::read(&path).unwrap())
}

fn changed_blocks(before: &[u8], after: &[u8]) -> BTreeSet<u64> {
    assert_eq!(before.len(), after.len());
    let pairs = before.chunks(BLOCK).zip(after.chunks(BLOCK)).zip(0..);
    pairs.filter(|((old, new), _)| old != new).map(|(_, index)| index * BLOCK as u64).collect()
}

#[test]
fn exactly_the_volume_is_counted_at_any_depth_and_threads() {
    for (threads, queue_depth, requests) in [(1, 1, 7), (3, 7, 1000), (2, 64, 5), (4, 3, 2)] {
        let volume = Some(Bytes(requests * BLOCK as u64));
        let test =
            Test { threads, volume, ..read() }.with(|settings| settings.queue_depth = queue_depth);
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(folder.path(), &workload([test]), None).unwrap();
        let sample = &outcome.tests[0].samples[0];
        assert!(outcome.complete && sample.complete && sample.writes.is_none());
        assert_eq!(sample.operations(), requests);
        assert_eq!(sample.bytes().get(), requests * BLOCK as u64);
        assert!(sample.elapsed > Duration::ZERO && sample.path.is_none());
    }
}

#[test]
fn writes_change_the_blocks_of_the_stream_and_no_others() {
    let volume = Some(Bytes(300 * BLOCK as u64));
    let base = Test { threads: 2, span: Bytes::mebi(4), volume, ..write() }
        .with(|requests| requests.queue_depth = 5);
    for pattern in [Pattern::Uniform, Pattern::Zipf { theta: 0.99 }, Pattern::Sequential] {
        let test = Test { offset: Bytes::mebi(1), ..base.clone() }
            .with(|requests| requests.pattern = pattern.clone());
        let mut workload = workload([test.clone(), test.clone()]);
        workload.repeats = 2;
        let (before, after) = before_and_after(&workload);
        let runs = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let expected: BTreeSet<u64> = runs
            .iter()
            .flat_map(|&(index, repeat)| expected_accesses(&test, index, repeat, 300))
            .map(|access| access.offset.get())
            .collect();
        assert_eq!(changed_blocks(&before, &after), expected, "{pattern:?}");
    }
}

#[test]
fn large_blocks_are_written_whole() {
    let block = Bytes::kibi(640);
    let volume = Some(Bytes(block.get() * 3));
    let pattern = Pattern::Sequential;
    let test = Test { block, volume, span: Bytes::mebi(4), ..write() }.with(|requests| {
        requests.alignment = block;
        requests.pattern = pattern;
    });
    let (before, after) = before_and_after(&workload([test]));
    let expected: BTreeSet<u64> = (0..480).map(|index| index * BLOCK as u64).collect();
    assert_eq!(changed_blocks(&before, &after), expected);
}

#[test]
fn no_two_written_blocks_are_alike() {
    let half = Ratio::new(0.5).unwrap();
    let test = Test { compressibility: half, span: Bytes::mebi(2), ..write() };
    let (before, after) = before_and_after(&workload([test]));
    for content in [&before, &after] {
        let blocks: BTreeSet<&[u8]> = content.chunks(BLOCK).collect();
        assert_eq!(blocks.len(), content.len() / BLOCK);
    }
    let changed = changed_blocks(&before, &after);
    assert!(!changed.is_empty());
    for offset in changed {
        let block = &after[offset as usize..][..BLOCK];
        assert!(block[BLOCK / 2..].iter().all(|&byte| byte == 0));
        assert!(block[..BLOCK / 2].iter().filter(|&&byte| byte == 0).count() < 100);
    }
}

#[test]
fn reads_and_writes_of_a_mix_match_the_stream() {
    let test = Test { threads: 2, ..read() }
        .with(|requests| requests.read_share = Ratio::new(0.7).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(folder.path(), &workload([test.clone()]), None).unwrap();
    let sample = &outcome.tests[0].samples[0];
    let mut expected = BTreeMap::from([(true, 0), (false, 0)]);
    for access in expected_accesses(&test, 0, 0, 256) {
        *expected.entry(access.operation == Operation::Read).or_default() += 1;
    }
    let counted = |direction: &Option<lanemark_schema::result::DirectionResult>| {
        let direction = direction.as_ref().unwrap();
        assert_eq!(direction.bytes.get(), direction.latency.count() * BLOCK as u64);
        direction.latency.count()
    };
    assert_eq!(counted(&sample.reads), expected[&true]);
    assert_eq!(counted(&sample.writes), expected[&false]);
}

#[test]
fn a_timed_window_has_its_requested_length_without_the_ramp() {
    let test = Test { ramp: Duration::from_microseconds(200_000), ..timed(read(), 300) };
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let outcome = run(folder.path(), &workload([test]), None).unwrap();
    let sample = &outcome.tests[0].samples[0];
    // The end is not later than the completion of the requests that were outstanding at the end.
    let beyond = sample.elapsed.saturating_sub(Duration::from_microseconds(300_000));
    assert!(sample.elapsed >= Duration::from_microseconds(300_000));
    assert!(beyond.nanoseconds() <= sample.latency().max_ns().unwrap(), "{beyond} longer");
    assert!(begun.elapsed().as_millis() >= 500);
    assert!(sample.operations() > 0 && sample.complete);
    assert!(!outcome.warnings.iter().any(|w| matches!(w, Warning::ShortSample { .. })));
}

#[test]
fn a_stopped_run_keeps_its_counts_and_removes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let think = Duration::from_seconds(3600);
    // In the second case, slots rest for an hour between requests, and the stop must not wait for that.
    for slow in [false, true] {
        let test = timed(read(), 60_000);
        let test = if slow {
            test.with(|requests| {
                requests.think = think;
                requests.queue_depth = 1;
            })
        } else {
            test
        };
        let mut workload = workload([Test { name: "first".to_owned(), ..read() }, test, read()]);
        workload.repeats = 3;
        let stop = AtomicBool::new(false);
        let bench = Bench::new(folder.path(), &workload, 1, &stop);
        let mut stopped_at = None;
        let outcome = bench
            .run(&mut |event| {
                if matches!(event, Event::Running(SampleInProgress { index: 1, .. })) {
                    stop.store(true, Ordering::Relaxed);
                    stopped_at.get_or_insert_with(Instant::now);
                }
            })
            .unwrap();
        let late = stopped_at.unwrap().elapsed().as_millis();
        assert!(late < 1_000, "{late} ms from the stop to the end");
        assert!(!outcome.complete && outcome.warnings.contains(&Warning::Interrupted));
        assert_eq!(outcome.tests.len(), 2);
        assert_eq!(outcome.tests[0].samples.len(), 3);
        let [sample] = &outcome.tests[1].samples[..] else { panic!("one sample was begun") };
        assert!(!sample.complete && sample.operations() > 0);
        assert!(sample.elapsed < Duration::from_seconds(10));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn the_caller_hears_of_layout_progress_and_each_test() {
    let folder = tempfile::tempdir().unwrap();
    let workload = workload([timed(read(), 500), write()]);
    let stop = AtomicBool::new(false);
    let bench = Bench::new(folder.path(), &workload, 1, &stop);
    let mut laid_out = Bytes::ZERO;
    let mut running = Vec::new();
    let mut ended = Vec::new();
    let outcome = bench
        .run(&mut |event| match event {
            Event::LayingOut { done, total } => {
                assert!(laid_out <= done && done <= total);
                laid_out = done;
            }
            Event::Running(SampleInProgress { test, index, repeat, bytes, requests, .. }) => {
                assert_eq!((*test, *repeat), (&workload.tests[*index], 0));
                assert_eq!(bytes.get(), requests * BLOCK as u64);
                running.push(*requests);
            }
            Event::MeasuringHost => panic!("the run is short"),
            Event::SampleEnded { outcome } => {
                assert!(!outcome.complete);
                ended.push(outcome.tests.len());
            }
        })
        .unwrap();
    assert_eq!(laid_out, Bytes::mebi(1));
    assert!(running.len() >= 2 && running.is_sorted(), "{running:?}");
    assert_eq!(ended, [1, 2]);
    assert!(outcome.complete);
}

#[test]
fn a_run_reports_its_figures_and_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(folder.path(), &workload([read()]), None).unwrap();
    assert_eq!(outcome.target.engine, "io_uring");
    assert_eq!(outcome.target.path, folder.path().display().to_string());
    assert!(outcome.target.device == Some(false) && outcome.target.file_system.is_some());
    assert!(outcome.warnings.contains(&Warning::FewRepeats { repeats: 1 }));
    let short = |warning: &&Warning| matches!(warning, Warning::ShortSample { .. });
    assert_eq!(outcome.warnings.iter().filter(short).count(), 1, "{:?}", outcome.warnings);
    let cpu = outcome.tests[0].samples[0].cpu.unwrap();
    assert!(cpu.user_ns_per_request + cpu.system_ns_per_request > 0.0);
}

#[test]
fn the_result_states_that_the_page_cache_was_used() {
    // ramfs rejects O_DIRECT; tmpfs accepts it but still uses the page cache.
    for kind in ["ramfs", "tmpfs"] {
        let Some(mounted) = Mounted::with(&["-t", kind, "lanemark"]) else { return };
        let folder: &Path = mounted.path();
        let outcome = run(folder, &workload([read(), write()]), None).unwrap();
        assert!(outcome.complete && outcome.target.direct == Some(false));
        assert_eq!(outcome.target.file_system.as_deref(), Some(kind));
        assert!(matches!(outcome.warnings[0], Warning::PageCache { .. }), "{:?}", outcome.warnings);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }
}
