//! Mixes in workload files, compared with consecutive reads and writes of a single size.

use std::fs;

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, Pattern, Test, TestOrder, Workload};
use lanemark_study::{Library, StudyError, workload};

/// Reads a workload that consists of a test with `keys` and a second test that runs in parallel.
fn read(keys: &str) -> Result<Workload, StudyError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixes.toml");
    let text = format!(
        "[workload]\nname = \"Mixes\"\nrepeats = 1\naverage = \"mean\"\norder = \"shuffled\"\n\n\
         [defaults]\nread = \"50%\"\nqueue_depth = 4\nspan = \"1 GiB\"\nduration = \"1 s\"\n\n\
         [[test]]\nname = \"one\"\n{keys}\n"
    );
    fs::write(&path, text).unwrap();
    workload::open(&Library::built_in(), path.to_str().unwrap())
}

#[track_caller]
fn test(keys: &str) -> Test {
    match read(keys) {
        Ok(workload) => workload.tests[0].clone(),
        Err(error) => panic!("{error} | {:?}", error.hint),
    }
}

#[track_caller]
fn says(keys: &str, expected: &str) {
    let error = read(keys).expect_err(expected);
    let shown = format!("{error} | {}", error.hint.clone().unwrap_or_default());
    assert!(shown.contains(expected), "{shown}");
}

const PLAIN: &str = "block = \"4 KiB\"\npattern = \"random\"";

#[test]
fn sizes_take_the_place_of_a_block() {
    let test = test("pattern = \"random\"\nsizes = [\"4 KiB 75%\", \"64 KiB 25%\"]");
    assert_eq!((test.block, test.alignment()), (Bytes::kibi(64), Bytes::kibi(4)));
    assert_eq!(test.mix().sizes.len(), 2);
    assert_eq!(test.block_mean(), 0.75 * 4096.0 + 0.25 * 65536.0);
}

#[test]
fn invalid_sizes_are_reported() {
    let sizes = |list: &str| format!("pattern = \"random\"\nsizes = {list}");
    for (list, expected) in [
        ("[\"4 KiB\"]", "`4 KiB` is not a size with a share | write both, \"4 KiB 67%\""),
        ("[\"4 KiB x\"]", "`4 KiB x` is not a size with a share"),
        ("[\"1000 B 50%\"]", "block = 1 kB: a multiple of 512 B from 512 B to 64 MiB"),
        ("[\"4 KiB 0%\"]", "shares above 0%"),
    ] {
        says(&sizes(list), expected);
    }
    let both = format!("{PLAIN}\nsizes = [\"4 KiB 50%\"]");
    says(&both, "block: the test already has sizes");
}

#[test]
fn trims_and_flushes_are_mixed_in() {
    let test = test(&format!("{PLAIN}\ntrim = \"10%\"\nflush_every = 8"));
    assert_eq!(test.mix().trim_share, Ratio::new(0.1).unwrap());
    assert_eq!(test.mix().flush_every, Some(8));
    says(&format!("{PLAIN}\ntrim = \"110%\""), "110%");
    says(&format!("{PLAIN}\nflush_every = 0"), "flush_every = 0");
}

#[test]
fn a_rate_opens_the_loop() {
    let even = test(&format!("{PLAIN}\nrate = \"5000/s\""));
    let open = |rate_per_second, process| Load::Open { rate_per_second, process };
    assert_eq!(even.requests().unwrap().load, open(5000.0, ArrivalProcess::Even));
    let poisson = test(&format!("{PLAIN}\nrate = \"40.96 MB/s\"\narrivals = \"poisson\""));
    assert_eq!(poisson.requests().unwrap().load, open(10_000.0, ArrivalProcess::Poisson));
    assert_eq!(test(PLAIN).requests().unwrap().load, Load::Closed);
}

#[test]
fn an_invalid_rate_is_reported() {
    for (keys, expected) in [
        ("rate = \"5000\"", "requests or bytes a second"),
        ("rate = \"0/s\"", "rate = 0: above 0 and up to 1,000,000,000 a second"),
        ("arrivals = \"poisson\"", "there is no rate at which requests could arrive"),
        ("rate = \"5/s\"\narrivals = \"often\"", "arrivals"),
        ("rate = \"5/s\"\nthink = \"1 ms\"", "not together with `rate`"),
    ] {
        says(&format!("{PLAIN}\n{keys}"), expected);
    }
}

#[test]
fn tests_begin_in_parallel_and_later() {
    let second = format!(
        "{PLAIN}\n\n[[test]]\nname = \"two\"\n{PLAIN}\nstart = \"beside\"\ndelay = \"2 s\""
    );
    let workload = read(&second).unwrap();
    assert!(!workload.tests[0].start.beside && workload.tests[1].start.beside);
    assert_eq!(workload.tests[1].start.delay, Duration::from_seconds(2));
    assert_eq!(workload.order, TestOrder::Shuffled);
    says(&format!("{PLAIN}\nstart = \"later\""), "start");
    says(&format!("{PLAIN}\ndelay = \"25 h\""), "up to 24 h");
}

/// Half of the requests of a copy are reads, and the other half are writes to another location.
#[test]
fn a_copy_states_its_destination() {
    let keys = "block = \"1 MiB\"\npattern = \"sequential\"\nspan = \"64 MiB\"";
    let test = test(&format!("{keys}\ncopy_to = \"64 MiB\""));
    assert_eq!(
        (test.read_share().unwrap(), test.mix().copy_to),
        (Ratio::HALF, Some(Bytes::mebi(64)))
    );
    assert_eq!((test.reads(), test.writes(), test.end()), (true, true, Bytes::mebi(128)));
    for (more, expected) in [
        ("copy_to = \"32 MiB\"", "outside of the span that is copied"),
        ("copy_to = \"64 MiB\"\nread = \"100%\"", "each block is read and written"),
        ("copy_to = \"64 MiB\"\nflush_every = 3", "not allowed in a copy"),
    ] {
        says(&format!("{keys}\n{more}"), expected);
    }
}

#[test]
fn every_pattern_has_its_words() {
    let pattern = |value: &str| {
        test(&format!("block = \"4 KiB\"\npattern = {value}")).pattern().unwrap().clone()
    };
    assert_eq!(pattern("\"backward\""), Pattern::Backward);
    assert_eq!(pattern("\"shuffled\""), Pattern::Shuffled);
    assert_eq!(pattern("{ pareto = 0.2 }"), Pattern::Pareto { h: 0.2 });
    let random_share = Ratio::new(0.2).unwrap();
    assert_eq!(pattern("{ random_share = \"20%\" }"), Pattern::PartlyRandom { random_share });
    let deviation = random_share;
    assert_eq!(pattern("{ normal = \"20%\" }"), Pattern::Normal { deviation });
    let Pattern::Zones { zones } = pattern("{ zones = [\"50% in 5%\", \"50% in 95%\"] }") else {
        panic!("no zones");
    };
    assert_eq!(zones[0].span, Ratio::new(0.05).unwrap());
}

#[test]
fn invalid_patterns_are_reported() {
    for (value, expected) in [
        ("\"sideways\"", "pattern"),
        ("{ pareto = 1.5 }", "above 0 and below 1"),
        ("{ normal = \"0%\" }", "normal"),
        ("{ zones = [\"50%\"] }", "`50%` is not a zone | write the share of requests"),
        ("{ zones = [] }", "zones"),
        ("{ zipf = 0.9, theta = 2 }", "unknown key `theta`"),
    ] {
        says(&format!("block = \"4 KiB\"\npattern = {value}"), expected);
    }
}
