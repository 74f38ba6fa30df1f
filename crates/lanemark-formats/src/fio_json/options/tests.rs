//! Tests that fields of a test become options of fio.

use lanemark_schema::workload::{RequestMix, SizeShare};

use super::*;

fn test() -> Test {
    let mut test = Test::of_blocks(Bytes::kibi(8)).with(|requests| {
        requests.pattern = Pattern::Sequential;
        requests.read_share = Ratio::ONE;
        requests.queue_depth = 3;
    });
    (test.name, test.threads, test.span) = ("t".to_owned(), 2, Bytes::mebi(7));
    test
}

/// Returns the options that a change of the test adds or modifies.
fn changed(change: impl Fn(&mut Test)) -> String {
    let before = options(&test());
    let mut other = test();
    change(&mut other);
    let all = options(&other).into_iter().filter(|option| !before.contains(option));
    all.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

fn described(change: impl Fn(&mut SyntheticRequests)) -> String {
    changed(|test| *test = test.clone().with(|requests| change(requests)))
}

#[test]
fn a_plain_test_has_few_options() {
    let all: Vec<String> =
        options(&test()).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(all, ["name=t", "rw=read", "bs=8k", "iodepth=3", "numjobs=2", "size=7m"]);
}

#[test]
fn every_setting_is_an_option_in_the_notation_of_fio() {
    let share = |share: f64| Ratio::new(share).unwrap();
    let seconds = Duration::from_seconds;
    for (found, wanted) in [
        (changed(|one| one.offset = Bytes::kibi(12)), "offset=12k"),
        (changed(|one| one.duration = Some(seconds(9))), "runtime=9 time_based=1"),
        (
            changed(|one| {
                (one.duration, one.volume) =
                    (Some(Duration::from_microseconds(8_100_000)), Some(Bytes::mebi(1)));
            }),
            "runtime=9",
        ),
        (changed(|one| one.ramp = Duration::from_microseconds(2_500_000)), "ramp_time=3"),
        (changed(|one| one.compressibility = share(0.35)), "buffer_compress_percentage=35"),
        (described(|one| one.read_share = share(0.7)), "rw=rw rwmixread=70"),
        (described(|one| one.read_share = Ratio::ZERO), "rw=write"),
        (described(|one| one.think = Duration::from_microseconds(25)), "thinktime=25"),
        (described(|one| one.mix.flush_every = Some(5)), "fsync=5"),
        (described(|one| one.pattern = Pattern::Uniform), "rw=randread norandommap=1"),
        (described(|one| one.pattern = Pattern::Shuffled), "rw=randread"),
        (described(|one| one.alignment = Bytes::kibi(24)), "rw=read:16k"),
        (
            described(|one| (one.pattern, one.alignment) = (Pattern::Shuffled, Bytes::kibi(4))),
            "rw=randread blockalign=4k",
        ),
        (described(|one| one.pattern = Pattern::Backward), "rw=read:-16k"),
        (
            described(|one| one.pattern = Pattern::Zipf { theta: 1.2 }),
            "rw=randread random_distribution=zipf:1.2",
        ),
        (
            described(|one| one.pattern = Pattern::Pareto { h: 0.3 }),
            "rw=randread random_distribution=pareto:0.3",
        ),
        (
            described(|one| {
                one.pattern = Pattern::HotCold { hot_span: share(0.2), hot_share: share(0.9) };
            }),
            "rw=randread random_distribution=zoned:90/20:10/80",
        ),
        (
            described(|one| {
                one.load = Load::Open { rate_per_second: 300.0, process: ArrivalProcess::Poisson };
            }),
            "rate_iops=150 rate_process=poisson",
        ),
        (
            described(|one| {
                one.load = Load::Open { rate_per_second: 300.0, process: ArrivalProcess::Even };
            }),
            "rate_iops=150",
        ),
        (
            described(|one| {
                one.pattern = Pattern::Shuffled;
                (one.read_share, one.mix.trim_share) = (Ratio::ZERO, Ratio::ONE);
            }),
            "rw=randtrim",
        ),
        (
            described(|one| (one.read_share, one.mix.trim_share) = (Ratio::ZERO, Ratio::HALF)),
            "rw=trimwrite",
        ),
        (
            described(|one| {
                let size = |kib: u64, share| SizeShare { block: Bytes::kibi(kib), share };
                one.pattern = Pattern::Shuffled;
                one.alignment = Bytes::kibi(4);
                one.mix =
                    RequestMix { sizes: vec![size(4, 3.0), size(8, 1.0)], ..RequestMix::default() };
            }),
            "rw=randread bssplit=4k/75:8k/25",
        ),
    ] {
        assert_eq!(found, wanted);
    }
}

#[test]
fn sizes_have_the_largest_whole_unit() {
    for (bytes, wanted) in [
        (0, "0"),
        (512, "512"),
        (1_024, "1k"),
        (1_536, "1536"),
        (3 << 20, "3m"),
        ((1 << 20) + 1_024, "1025k"),
        (5 << 30, "5g"),
        (7 << 40, "7t"),
        (1 << 50, "1024t"),
    ] {
        assert_eq!(size(Bytes(bytes)), wanted);
    }
}
