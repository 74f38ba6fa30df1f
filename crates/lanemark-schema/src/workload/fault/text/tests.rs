//! Tests of the grammar of faults.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn errors(text: &str) -> Vec<String> {
    let errors = text.parse::<Fault>().unwrap_err();
    errors.lines().map(str::to_owned).collect()
}

#[test]
fn every_kind_is_read_with_its_usual_values_and_written_as_it_reads() {
    let texts = [
        "bit-flips share=0.1% bits=3 at=1s",
        "latency extra=2ms at=1s for=3s",
        "latency extra=2ms share=1% at=1s",
        "lost-write range=0B..4KiB at=0ps",
        "lying-flush share=50% at=0ps",
        "media-error share=0.0000001% recovery=1ms heal=write at=0ps",
        "misdirected-write range=1MiB..2MiB share=100% at=0ps drive=1",
        "write-error range=1GiB..2GiB recovery=3ms share=2% at=0ps",
        "link-errors rate=1e-9 port=1 link=2 recovery=5ms at=0ps",
        "media-error range=1GiB..2GiB at=250us drive=1",
        "pause at=1s for=2s",
        "port-loss port=1 at=5ms timeout=2s",
        "power-cut at=2s",
        "read-only written=1GB at=0ps",
        "read-retries share=20% at=0ps",
        "read-retries share=0% unworn=0.1% endurance=1000 at=1s",
        "retrain lanes=2 generation=1 at=1s for=1s",
        "retrain speed=3Gb/s at=1s",
        "stuck at=1ps",
        "stuck commands=3 timeout=1s abort=5ms then=fail at=1s",
    ];
    for text in texts {
        let fault: Fault = text.parse().unwrap();
        assert_eq!(fault.to_string().parse(), Ok(fault.clone()), "{text} as {fault}");
        let json = serde_json::to_string(&fault).unwrap();
        assert_eq!(serde_json::from_str::<Fault>(&json).unwrap(), fault);
    }
    let cut: Fault = "power-cut at=2s".parse().unwrap();
    assert_eq!(cut.to_string(), "power-cut boot=10s at=2s");
    let kinds: BTreeSet<&str> = texts.iter().filter_map(|text| text.split(' ').next()).collect();
    assert!(kinds.iter().copied().eq(KINDS.iter().map(|(kind, ..)| *kind)), "{kinds:?}");
}

#[test]
fn all_errors_are_reported_at_once() {
    assert_eq!(errors("brownout at=1s").len(), 1);
    assert!(errors("brownout at=1s")[0].contains("the faults are bit-flips, latency"));
    let messages = errors("media-error range=2GiB..1GiB at=1 drive=-1 boot=1s at");
    assert_eq!(
        messages,
        [
            "`at`: expected key=value, such as at=2s",
            "`media-error` does not have a key `boot`; its keys: range, share, recovery, heal, at, for, drive",
            "at: `1` lacks a unit; write it with one of ps, ns, us, ms, s, min, h",
            "drive: `-1` is not a whole number from 0 to 32767",
            "range: `2GiB..1GiB` ends before it begins",
        ]
    );
    for (text, part) in [
        ("latency at=1s", "`latency` needs `extra`"),
        ("latency extra=1ms extra=2ms", "is given twice"),
        ("latency extra=2h", "more than"),
        ("link-errors rate=2", "not a share of wrong bits"),
        ("link-errors rate=NaN", "not a share of wrong bits"),
        ("link-errors rate=-1e-9", "not a share of wrong bits"),
        ("pause at=1s", "needs `for`"),
        ("pause for=0s", "must be above 0 s"),
        ("power-cut for=1s", "`boot` sets"),
        ("power-cut at=4801h", "the maximum is 1000 h"),
        ("retrain at=1s", "needs `lanes`"),
        ("stuck then=wait", "neither"),
        ("stuck commands=0", "from 1 to 65536"),
        ("read-retries share=120%", "100%"),
        ("read-retries share=1% unworn=100.1%", "100%"),
        ("read-retries share=1% unworn=-1%", "unworn: "),
        ("read-retries unworn=1%", "`read-retries` needs `share`"),
        ("latency extra=1ms share=0%", "affects no request"),
        ("latency extra=1ms share=0.00000001%", "affects no request"),
        ("write-error share=100.1%", "100%"),
        ("lost-write share=-1%", "share: "),
        ("pause for=1s share=1%", "does not have a key `share`"),
        ("media-error recovery=1ms", "`media-error` needs `range`, `share` or both"),
        ("lost-write range=4KiB..4KiB", "ends before it begins"),
        ("media-error range=0B..1GiB heal=reboot", "neither `write` nor `never`"),
        ("write-error range=0B..1GiB heal=write", "does not have a key `heal`"),
        ("bit-flips share=1% bits=0", "from 1 to 64"),
        ("bit-flips share=1% bits=65", "from 1 to 64"),
        ("lying-flush range=0B..1GiB", "does not have a key `range`"),
        ("media-error range=1GiB", "start..end"),
        ("", "there is no fault ``"),
    ] {
        let messages = errors(text);
        assert!(messages.iter().any(|message| message.contains(part)), "{text}: {messages:?}");
    }
    assert!(errors(&"x".repeat(5_000))[0].contains("up to"));
}

proptest! {
    #[test]
    fn no_text_causes_a_panic_and_read_faults_are_written_back(
        kind in 0usize..KINDS.len(),
        keys in proptest::collection::vec(
            (0usize..23, "[0-9]{1,19}(\\.[0-9]{1,3})?|1e-[0-9]{1,3}", "ps|us|s|h|GiB|B|%|Gb/s||\\.\\.4GiB|é"),
            0..6,
        ),
        rest in "\\PC{0,40}",
    ) {
        const NAMES: [&str; 23] = [
            "at", "for", "drive", "extra", "rate", "port", "link", "recovery", "range", "timeout", "boot",
            "written", "share", "endurance", "lanes", "generation", "speed", "commands", "abort", "reset",
            "bits", "heal", "unworn",
        ];
        let mut text = KINDS[kind].0.to_owned();
        keys.iter().for_each(|(key, number, unit)| text += &format!(" {}={number}{unit}", NAMES[*key]));
        for text in [text.clone(), text + " " + &rest, rest.clone()] {
            if let Ok(fault) = text.parse::<Fault>() {
                prop_assert_eq!(fault.to_string().parse(), Ok(fault.clone()), "{}", fault);
            }
        }
    }
}
