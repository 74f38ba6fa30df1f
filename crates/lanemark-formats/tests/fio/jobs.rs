//! Job files with every option: supported options become a test, and unsupported options are reported.

use std::collections::BTreeSet;

use lanemark_formats::SupportLevel;
use lanemark_formats::fio::{self, IoEngine, OptionSupport};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, Pattern, Test};
use proptest::prelude::*;

use super::{first_error, read, read_with};
fn single_test(text: &str) -> Test {
    let mut tests = read(text).workload.tests;
    assert_eq!(tests.len(), 1, "{text}");
    tests.remove(0)
}

/// Returns the names of the options in a job file.
fn list_options(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().map(|line| line.split([';', '#']).next().unwrap_or("").trim());
    let options = lines.filter(|line| !line.is_empty() && !line.starts_with('['));
    options.map(|line| line.split('=').next().unwrap_or("").trim()).collect()
}

#[test]
fn every_option_is_in_a_job_file_here() {
    let files = [
        (OptionSupport::Read, include_str!("../jobs/read.fio")),
        (OptionSupport::Nearly, include_str!("../jobs/nearly.fio")),
        (OptionSupport::Needless, include_str!("../jobs/needless.fio")),
        (OptionSupport::Refused, include_str!("../jobs/refused.fio")),
    ];
    for (name, support) in fio::options() {
        let (_, text) = files.iter().find(|(of, _)| *of == support).unwrap();
        assert!(list_options(text).contains(name), "{name}: is {support:?}, and in no job file");
    }
}

#[test]
fn every_option_is_in_its_list_of_the_document() {
    let text = include_str!("../../../../docs/fio.md");
    let part = |from: &str, to: &str| {
        let from = text.split_once(from).unwrap().1;
        from.split_once(to).unwrap().0.replace('\n', " ")
    };
    let lists = [
        (OptionSupport::Nearly, part("\nSupported approximately", "\nNot needed")),
        (OptionSupport::Needless, part("\nNot needed", "\nRefused, unless")),
        (OptionSupport::Refused, part("\nRefused, unless", "\n## JSON, written")),
    ];
    let mut counts = [0; 3];
    // `beside_fio` compares the list of the supported options.
    for (name, support) in fio::options().filter(|(_, support)| *support != OptionSupport::Read) {
        let at = lists.iter().position(|(of, _)| *of == support).unwrap();
        assert!(lists[at].1.contains(&format!("`{name}`")), "{name}: is {support:?}");
        counts[at] += 1;
    }
    let listed = lists.map(|(_, list)| list.matches('`').count() / 2);
    assert_eq!(listed, counts, "a list has an option more");
}

#[test]
fn all_faults_of_a_job_are_reported_at_once() {
    let text = "[a]\nrw=reed\nbs=4q\niodepth=0\nrwmixread=700\nrandom_distribution=zip:1\nruntime=1w\n\
                size=1g\n[b]\nrw=read\nbs=-1\nsize=1g\nthinktime=x\n";
    let errors = read_with(text, None).expect_err("errors");
    let lines: Vec<u64> = errors.0.iter().filter_map(|error| error.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7, 11, 13], "{errors}");
}

#[test]
fn every_refused_option_is_an_error_with_its_line_and_a_hint() {
    let text = include_str!("../jobs/refused.fio");
    let errors = read_with(text, Some(Bytes(1 << 30))).unwrap_err();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.contains('=')) {
        let name = line.split('=').next().unwrap();
        let error = errors.0.iter().find(|error| error.line == Some(index as u64 + 1));
        let error = error.unwrap_or_else(|| panic!("{name} is not an error"));
        assert!(error.message.contains(name) && error.hint.is_some(), "{error}");
    }
}

#[test]
fn an_option_without_effect_is_noted_with_its_line() {
    for (text, kept) in [
        (include_str!("../jobs/nearly.fio"), SupportLevel::Nearly),
        (include_str!("../jobs/needless.fio"), SupportLevel::Needless),
    ] {
        let jobs = read(text);
        for (index, line) in text.lines().enumerate() {
            let Some((name, _)) = line.split_once('=').filter(|(name, _)| *name != "size") else {
                continue;
            };
            let note = jobs.notes.iter().find(|note| note.option == name);
            let note = note.unwrap_or_else(|| panic!("{name} is not reported"));
            assert_eq!((note.line, note.kept), (index as u64 + 1, kept), "{note}");
            assert!(!note.reason.is_empty());
        }
    }
}

#[test]
fn the_options_that_are_read_become_tests() {
    let jobs = read(include_str!("../jobs/read.fio"));
    assert_eq!(jobs.settings.engine, Some(IoEngine::IoUring));
    assert_eq!(jobs.settings.direct, Some(true));
    let targets: Vec<_> = jobs.settings.targets.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(targets, ["/dev/example", "/a", "/b:c"]);
    let tests = &jobs.workload.tests;
    let test = |name: &str| tests.iter().find(|test| test.name == name).unwrap();
    let filled = test("filled");
    assert_eq!(filled.volume, Some(Bytes(2 << 30)));
    assert_eq!(filled.compressibility, Ratio::new(0.25).unwrap());
    assert_eq!((filled.issue_depth(), filled.block), (32, Bytes::kibi(128)));
    let hot = test("hot and cold.1");
    assert!(matches!(hot.pattern(), Some(Pattern::Zones { zones }) if zones.len() == 3));
    assert_eq!((hot.issue_depth(), hot.threads), (16, 1));
    assert!(hot.start.beside && !test("hot and cold.0").start.beside);
    let paced = test("paced");
    let Load::Open { rate_per_second, process } = paced.requests().unwrap().load else {
        panic!("no rate")
    };
    // 4 MiB a second in blocks with a mean of 8.5 KiB are 481.9 requests a second, which is below 500.
    assert!((rate_per_second - 481.88).abs() < 0.01, "{rate_per_second}");
    assert_eq!(process, ArrivalProcess::Poisson);
}

#[test]
fn jobs_run_in_parallel_up_to_a_wall() {
    let jobs = read("[global]\nsize=1m\n[a]\n[b]\nstartdelay=3\n[c]\nstonewall\n[d]\nwait_for=c\n");
    let starts: Vec<(bool, Duration)> =
        jobs.workload.tests.iter().map(|test| (test.start.beside, test.start.delay)).collect();
    let zero = Duration::ZERO;
    assert_eq!(
        starts,
        [(false, zero), (true, Duration::from_seconds(3)), (false, zero), (false, zero)]
    );
}

#[test]
fn a_job_that_waits_for_an_earlier_one_waits_for_all_of_them() {
    // The note is about jobs after the named job, for which fio would not wait.
    for (jobs, notes) in [
        ("[global]\nsize=1m\n[a]\n[b]\n[c]\nwait_for=b\n", 0),
        ("[global]\nsize=1m\n[a]\n[b]\n[c]\nwait_for=a\n", 1),
    ] {
        let jobs = read(jobs);
        let about = |reason: &str| reason.contains("waits for all earlier jobs");
        assert_eq!(jobs.notes.iter().filter(|note| about(&note.reason)).count(), notes);
        assert!(!jobs.workload.tests[2].start.beside);
    }
}

#[test]
fn jobs_with_their_own_files_are_noted_as_parts_of_one_target() {
    let jobs = read("[global]\nsize=10m\n[a]\nnumjobs=2\n[b]\n[c]\nfilename=x\n[d]\nfilename=x\n");
    assert!(jobs.notes.iter().any(|note| note.reason.contains("part of one target")));
}

#[test]
fn several_files_of_a_job_are_noted_as_one_part() {
    for (line, noted) in [
        ("filename=/a:/b", Some("filename")),
        ("filename=/a", None),
        // The colon is a part of the name.
        ("filename=/a\\:b", None),
        ("nrfiles=2", Some("nrfiles")),
        ("nrfiles=1", None),
        ("numjobs=2", None),
    ] {
        let jobs = read(&format!("[a]\nsize=1m\n{line}\n"));
        let is_about_files = |reason: &str| reason == "all files are one part of the target";
        let mut notes = jobs.notes.iter().filter(|note| is_about_files(&note.reason));
        assert_eq!(notes.next().map(|note| note.option.as_str()), noted, "{line}");
        assert!(notes.next().is_none(), "{line}");
    }
}

#[test]
fn the_size_of_the_target_replaces_a_missing_size() {
    assert_eq!(single_test("[a]\nfilename=x\n").span, Bytes(64 << 30));
    assert_eq!(single_test("[a]\nfilename=x\nsize=50%\noffset=25%\n").offset, Bytes(16 << 30));
    let errors = read_with("[a]\nrw=read\n", None).unwrap_err();
    assert!(errors.to_string().contains("job `a` does not set size: expected a size"));
}

#[test]
fn an_engine_that_waits_has_a_depth_of_one() {
    assert_eq!(single_test("[a]\niodepth=8\nsize=1m\n").issue_depth(), 1);
    assert_eq!(
        single_test("[a]\nioengine=io_uring\niodepth=${DEPTH}\nsize=1m\n").issue_depth(),
        16
    );
}

#[test]
fn bad_input_is_reported_with_its_position() {
    for (text, message) in [
        ("", "jobs.fio: the file does not contain jobs"),
        ("[global]\nsize=1m\n", "jobs.fio: the file does not contain jobs"),
        ("rw=read\n", "jobs.fio:1: `rw=read` is before the first section"),
        ("[a\n", "jobs.fio:1: `[a` is not terminated"),
        ("[a]\nsize=1m\nrw=reed\n", "jobs.fio:3: rw=reed: expected read, write"),
        ("[a]\nsize=1q\n", "jobs.fio:2: size=1q: expected a size"),
        ("[a]\nsize=1m\nruntime=10min\n", "jobs.fio:3: runtime=10min: expected a time"),
        ("[a]\nsize=1m\niodept=4\n", "jobs.fio:3: `iodept` is not a known option"),
        ("[a]\nsize=${NOWHERE}\n", "jobs.fio:2: the environment variable NOWHERE is"),
        ("[a]\nsize=${X\n", "jobs.fio:2: `${X` is not terminated"),
        ("[a]\nioengine=rbd\nsize=1m\n", "jobs.fio:2: ioengine=rbd: expected an engine for local"),
        ("[a]\nsize=1m\nwait_for=b\n", "jobs.fio:3: wait_for=b: expected the name of an"),
        ("[a]\nsize=1m\ndirect=1\nbs=1000\n", "jobs.fio:4: job `a`: block"),
        ("[a]\nsize=1m\nrw=trim\nbs=1000\n", "jobs.fio:4: job `a`: block"),
        ("[a]\nsize=1m\nbs=0\n", "jobs.fio:3: job `a`: block"),
        ("[a]\nsize=1m\nnumjobs=0\n", "jobs.fio:3: numjobs=0: expected from 1 to 1024"),
        ("[a]\nsize=1m\niodepth=-1\n", "jobs.fio:3: iodepth=-1: expected a whole number"),
        ("include lost.fio\n", "jobs.fio:1: include lost.fio: no such file"),
        ("include again.fio\n", "again.fio:1: include again.fio: the includes are nested"),
        ("[a]\nsize=0\n", "jobs.fio:2: size=0: expected a size above 0"),
        ("[a]\nsize=1m\nrw=read:-4k\n", "jobs.fio:3: rw=read:-4k: expected a step back"),
        ("[a]\nsize=1m\nrate=1m\nthinktime=5\n", "jobs.fio:4: thinktime=5: expected no"),
        (
            "[a]\nsize=1m\ndirect=1\n[b]\nsize=1m\n",
            "jobs.fio:4: job `b` does not set direct: expected ",
        ),
    ] {
        let error = first_error(text);
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
}

#[test]
fn a_test_out_of_bounds_is_an_error_at_the_option_that_causes_it() {
    const HEAD: &str = "[a]\nsize=1m\nrw=randread\ndirect=1\n";
    for (options, line, field) in [
        ("iodepth=2\nbs=1000\n", 6, "block"),
        ("bs=8k\nba=1000\n", 6, "alignment"),
        ("ba=1000\nbs=8k\n", 5, "alignment"),
        ("iodepth=2\nbssplit=1000/50:4k/50\n", 6, "alignment"),
        ("ba=512\nbssplit=1000/50:4k/50\n", 6, "sizes"),
        ("bs=8k\noffset=1000\n", 6, "offset"),
        ("iodepth=2\nbs=2m\n", 2, "span"),
    ] {
        let error = first_error(&format!("{HEAD}{options}"));
        let wanted = format!("jobs.fio:{line}: job `a`: {field}");
        assert!(error.starts_with(&wanted), "{options:?}: {error}");
    }
}

#[test]
fn the_largest_numbers_are_refused_or_read() {
    let numbers = ["18446744073709551615", "9223372036854775807", "16383p", "0", "1", "100%", "-1"];
    for (name, _) in fio::options() {
        for number in numbers {
            for rw in ["randrw", "read:4k", "read:-8k"] {
                let text = format!(
                    "[global]\nzonemode=strided\nzonesize=1g\n[a]\nsize=16383p\n[b]\nrw={rw}\n\
                     numjobs=3\nfilename=x\nramp_time=30d\nss=bw:1\nss_dur=30d\nss_ramp=30d\n\
                     size=1g\n{name}={number}\n"
                );
                for target in [None, Some(Bytes(u64::MAX)), Some(Bytes(1))] {
                    let _ = read_with(&text, target);
                    let _ = read_with(&text.replace("zonemode=strided\n", ""), target);
                }
            }
        }
    }
}

#[test]
fn includes_are_expanded_where_they_are_named() {
    let jobs = read("[global]\nsize=1m\ninclude more.fio\nbs=8k\n");
    let test = &jobs.workload.tests[0];
    assert_eq!((test.name.as_str(), test.block), ("more", Bytes::kibi(8)));
}

proptest! {
    #[test]
    fn no_text_is_too_strange(
        at in 0usize..1200, cut in 0usize..40, put in "[\\[\\]=:/,%\\-0-9a-z\n ]{0,12}",
    ) {
        let text = include_str!("../jobs/read.fio");
        let from = at.min(text.len());
        let to = (from + cut).min(text.len());
        let mutated = format!("{}{put}{}", &text[..from], &text[to..]);
        for target in [None, Some(Bytes(1 << 30))] {
            if let Ok(jobs) = read_with(&mutated, target) {
                for test in &jobs.workload.tests {
                    prop_assert_eq!(test.check(), Ok(()));
                }
            }
        }
    }
}

#[test]
fn the_page_cache_accepts_any_size_and_waits_for_libaio() {
    // This is the disk check from etcd's documentation.
    let etcd = read("[mytest]\nrw=write\nioengine=sync\nfdatasync=1\nsize=22m\nbs=2300\n");
    let test = &etcd.workload.tests[0];
    assert_eq!((test.block, test.mix().flush_every), (Bytes(2300), Some(1)));
    assert!(test.needs_page_cache() && etcd.settings.wait_for_cache.is_empty());
    let depths = "[global]\nsize=64m\niodepth=32\nrw=randread\n\
                  [a]\nioengine=libaio\n[b]\nioengine=io_uring\n[c]\nioengine=libaio\nrw=randwrite\n";
    assert_eq!(read(depths).settings.wait_for_cache, ["a"]);
}

#[test]
fn a_job_without_a_size_or_an_end_is_as_long_as_its_target() {
    let jobs = "[a]\nrw=randwrite\n[b]\nrw=randwrite\nruntime=1\n[c]\nrw=write\nsize=50%\n";
    assert_eq!(read(jobs).settings.sized_by_target, ["a"]);
}

/// fio stops the whole job: with a depth of 32 and `thinktime=1000`, fio 3.33 completes one request a millisecond.
#[test]
fn a_think_time_stops_the_job() {
    let job = "[a]\nrw=randread\nsize=1g\niodepth=32\nioengine=libaio\nthinktime=5000\n";
    for (blocks, burst) in [("", 1), ("thinktime_blocks=100\n", 100)] {
        let test = read(&format!("{job}{blocks}")).workload.tests.remove(0);
        let requests = test.requests().unwrap();
        assert_eq!((requests.think, requests.burst), (Duration::from_microseconds(5_000), burst));
    }
}
