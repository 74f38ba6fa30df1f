//! Iometer's settings are converted to tests, and a result is converted to CrystalDiskMark's lines.

use lanemark_formats::crystaldiskmark::{self, LineEnd};
use lanemark_formats::iometer::{self, IometerSettings};
use lanemark_formats::{FormatError, fio_json};
use lanemark_schema::result::RunResult;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Pattern;
use proptest::prelude::*;

const SETTINGS: &str = include_str!("samples/mixed.icf");

fn settings(text: &str) -> Result<IometerSettings, FormatError> {
    iometer::read(text, "mixed.icf", Some(Bytes(8 << 30)))
}

fn result() -> RunResult {
    let text = include_str!("samples/fio-3.33-plus.json");
    let printed = fio_json::read(text, "out.json").unwrap();
    fio_json::results(printed, &Default::default()).unwrap().remove(0).result
}

#[test]
fn specifications_are_tests_and_like_workers_are_threads() {
    let settings = settings(SETTINGS).unwrap();
    let tests = &settings.workload.tests;
    let found: Vec<(&str, u32, u32, bool)> = tests
        .iter()
        .map(|test| (test.name.as_str(), test.threads, test.issue_depth(), test.start.beside))
        .collect();
    assert_eq!(
        found,
        [
            ("File server", 2, 8, false),
            ("4 KiB reads", 1, 1, true),
            ("64 KiB in order", 2, 8, false)
        ]
    );
    let server = &tests[0];
    assert_eq!((server.block, server.mix().sizes.len()), (Bytes::kibi(64), 3));
    assert_eq!(server.read_share().unwrap(), Ratio::new(0.8).unwrap());
    assert_eq!((server.pattern(), server.alignment()), (Some(&Pattern::Uniform), Bytes(512)));
    assert_eq!(server.duration, Some(Duration::from_seconds(90)));
    assert_eq!(server.ramp, Duration::from_seconds(5));
    assert_eq!((server.offset, server.span), (Bytes(64 * 512), Bytes(2_097_152 * 512)));
    assert_eq!(tests[1].span, Bytes(8 << 30));
    assert_eq!(tests[1].alignment(), Bytes::kibi(4));
    assert_eq!(tests[2].pattern(), Some(&Pattern::Sequential));
    let copy = tests[2].requests().unwrap();
    assert_eq!((copy.think, copy.burst), (Duration::from_microseconds(1_000), 2));
    assert_eq!(settings.targets, ["C: example", "D: example"]);
}

/// Returns the depths of a test whose queue depth is cycled with `steps`.
fn cycled(steps: &str) -> Result<Vec<u32>, FormatError> {
    let text = SETTINGS
        .replace("\tNORMAL", "\tCYCLE_OUTSTANDING_IOS")
        .replace("\t1          1          1          LINEAR", &format!("\t{steps}"));
    assert!(text.contains(steps), "{steps}");
    let tests = settings(&text)?.workload.tests;
    let own = tests.iter().filter(|test| test.name.starts_with("64 KiB"));
    Ok(own.map(|test| test.issue_depth()).collect())
}

#[test]
fn depths_are_cycled_if_the_test_says_so() {
    for (steps, depths) in [
        ("1 8 2 EXPONENTIAL", &[1, 2, 4, 8][..]),
        ("2 20 3 exponential", &[2, 6, 18]),
        ("1 6 2 LINEAR", &[1, 3, 5]),
        ("1 3 1 LINEAR", &[1, 2, 3]),
        ("4 4 0 LINEAR", &[4]),
        ("4 4 1 EXPONENTIAL", &[4]),
        ("65535 65536 1 LINEAR", &[65_535, 65_536]),
    ] {
        assert_eq!(cycled(steps).unwrap(), depths, "{steps}");
    }
    for steps in [
        "0 4 1 LINEAR",
        "5 4 1 LINEAR",
        "65536 65537 1 LINEAR",
        "65537 65537 0 LINEAR",
        "1 2 0 LINEAR",
        "1 2 1 EXPONENTIAL",
    ] {
        let error = cycled(steps).expect_err(steps).to_string();
        assert!(error.contains(&format!("queue depth cycling: `{steps}` never ends")), "{error}");
    }
}

#[test]
fn bad_settings_are_errors_with_their_line() {
    let size = Some(Bytes(1 << 30));
    for (from, to, message) in [
        (
            "'Access specification name,default assignment\n\tFile server,NONE\n",
            "",
            "mixed.icf:20: a spec",
        ),
        ("Version 1.1.0", "[global]", "mixed.icf:1: the first line is `[global]`"),
        ("0          1          30", "0 1", "mixed.icf:7: `0 1`: expected hours minutes seconds"),
        ("0          1          30", "0 0 0", "mixed.icf: the run time is 0"),
        ("\tNORMAL", "\tCYCLE_TARGETS", "mixed.icf:16: test type CYCLE_TARGETS is not supported"),
        ("65536,40,80,100", "65536,40,80,50", "mixed.icf:24: % random: 50 is neither 0 nor 100"),
        ("65536,40,80,100", "65536,40,x,100", "mixed.icf:24: % reads: `x` is not a whole number"),
        ("65536,40,80,100,0,1,0,0", "1,2", "mixed.icf:24: `1,2`: expected size"),
        ("\t4 KiB reads\n'End", "\tlost\n'End", "mixed.icf:94: there is no access specification"),
        ("DISK\n'Default", "NETWORK,TCP\n'Default", "mixed.icf:42: a worker of the type NETWORK"),
        (
            "\t8,DISABLED",
            "\t0,DISABLED",
            "mixed.icf:45: number of outstanding IOs: expected from 1 to 65536",
        ),
    ] {
        let text = SETTINGS.replacen(from, to, 1);
        assert_ne!(text, SETTINGS, "{from}");
        let error = iometer::read(&text, "mixed.icf", size).expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
    }
    let error = iometer::read(SETTINGS, "mixed.icf", None).unwrap_err();
    assert!(error.to_string().contains("whose size is not known"), "{error}");
    assert!(settings("").is_err());
}

#[test]
fn crystaldiskmark_has_a_line_for_each_test() {
    let text = crystaldiskmark::write(&result(), LineEnd::CrLf);
    assert!(
        text.lines().count() > 10
            && text.contains("\r\n")
            && !text.replace("\r\n", "").contains('\n')
    );
    assert!(text.contains("the median of the repeats, not the best"));
    assert_eq!(text.lines().filter(|line| line.contains("IOPS")).count(), 2);
    assert!(text.contains("[Mix] R70%/W30%"));
    assert!(!crystaldiskmark::write(&result(), LineEnd::Lf).contains('\r'));
}

proptest! {
    #[test]
    fn no_settings_are_too_strange(at in 0usize..4000, cut in 0usize..40, put in "[',0-9A-Za-z\t\n %]{0,12}") {
        let from = at % SETTINGS.len();
        let to = (from + cut).min(SETTINGS.len());
        let mutated = format!("{}{put}{}", &SETTINGS[..from], &SETTINGS[to..]);
        for size in [None, Some(Bytes(1 << 30))] {
            if let Ok(settings) = iometer::read(&mutated, "mixed.icf", size) {
                for test in &settings.workload.tests {
                    prop_assert_eq!(test.check(), Ok(()));
                }
            }
        }
    }
}

#[test]
fn an_unused_specification_is_noted() {
    let (head, tail) = SETTINGS.split_once("'Access specification name").unwrap();
    let one = "'Access specification name,default assignment\n\tSpare,NONE\n'size,% of size,% reads,% random,delay,\
               burst,align,reply\n\t4096,100,100,100,0,1,0,0\n";
    let with = settings(&format!("{head}{one}'Access specification name{tail}")).unwrap();
    let plain = settings(SETTINGS).unwrap();
    assert_eq!(with.workload.tests, plain.workload.tests);
    let notes: Vec<_> = with.notes.iter().filter(|note| !plain.notes.contains(note)).collect();
    let notes: Vec<_> = notes.iter().filter(|note| note.option == "access specification").collect();
    assert_eq!(notes.len(), 1, "{:?}", with.notes);
    assert_eq!(notes[0].reason, "`Spare` is not assigned to any worker and is not run");
}

#[test]
fn a_worker_of_several_targets_has_a_note_and_no_other_worker_has_one() {
    let notes = |text: &str| -> usize {
        let notes = settings(text).unwrap().notes;
        notes.iter().filter(|note| note.option == "target").count()
    };
    assert_eq!(notes(SETTINGS), 0);
    let target = "'Target\n\tC: example\n'Target type\n\tDISK\n'End target\n";
    assert!(SETTINGS.contains(target));
    let two = SETTINGS.replace(target, &format!("{target}{}", target.replace("C:", "E:")));
    assert!(notes(&two) > 0);
}

#[test]
fn a_line_of_a_specification_has_four_to_eight_values() {
    const LINE: &str = "\t4096,100,100,100,0,1,4096,0\n";
    const VALUES: [&str; 9] = ["4096", "100", "100", "100", "0", "1", "0", "0", "0"];
    assert!(SETTINGS.contains(LINE));
    for count in 1..=VALUES.len() {
        let values = VALUES[..count].join(",");
        match settings(&SETTINGS.replace(LINE, &format!("\t{values}\n"))) {
            Ok(_) => assert!((4..=8).contains(&count), "{values}"),
            Err(error) => {
                assert!(!(4..=8).contains(&count), "{values}: {error}");
                assert!(error.to_string().contains("expected size,% of size"), "{error}");
            }
        }
    }
}
