//! Tests of the options that determine a job's end, rates and requests, individually and together, and of the notes on
//! approximated options.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, SeriesInterval, TrackedFigure};

use super::{nearly, read, test};
#[test]
fn a_job_ends_by_its_size_its_requests_or_its_time() {
    let mebi = |count: u64| Some(Bytes::mebi(count));
    for (options, volume, seconds) in [
        ("size=6m", mebi(6), None),
        ("size=6m\nloops=5", mebi(30), None),
        ("size=6m\nloops=0", mebi(6), None),
        ("size=6m\nnumjobs=3", mebi(18), None),
        ("size=6m\nio_size=2m", mebi(2), None),
        ("size=6m\nio_size=50%", mebi(3), None),
        ("size=6m\nbs=64k\nnumber_ios=32", mebi(2), None),
        ("size=6m\nbs=64k\nnumber_ios=3200", mebi(6), None),
        ("filename=x\nbs=64k\nnumber_ios=3200", mebi(200), None),
        ("size=6m\nbs=64k\nnumber_ios=32\nloops=3\nnumjobs=2", mebi(12), None),
        ("size=6m\nnumber_ios=0", mebi(6), None),
        ("size=6m\nruntime=7", mebi(6), Some(7)),
        ("size=6m\nruntime=7\ntime_based", None, Some(7)),
        ("size=6m\nruntime=7\ntime_based=0", mebi(6), Some(7)),
        ("size=6m\nruntime=0\ntime_based", mebi(6), None),
        ("size=6m\ntime_based", mebi(6), None),
    ] {
        let test = test(options);
        assert_eq!(test.volume, volume, "{options}");
        assert_eq!(test.duration, seconds.map(Duration::from_seconds), "{options}");
    }
    let needless = read("[a]\nsize=6m\ntime_based\n").notes;
    assert!(needless.iter().any(|note| note.option == "time_based"));
    let needed = read("[a]\nsize=6m\ntime_based\nruntime=3\n").notes;
    assert!(!needed.iter().any(|note| note.option == "time_based"));
    assert_eq!(test("size=6m\nramp_time=4").ramp, Duration::from_seconds(4));
    assert_eq!(nearly("size=6m\nbs=4k\nnumber_ios=9"), [""; 0]);
    assert_eq!(nearly("size=6m\nbssplit=4k/50:8k/50\nnumber_ios=9"), ["number_ios"]);
}

#[test]
fn rounds_have_a_fifth_of_the_window_and_no_other_end() {
    for (word, tracked) in [
        ("iops", TrackedFigure::Iops),
        ("iops_slope", TrackedFigure::Iops),
        ("bw", TrackedFigure::Throughput),
        ("bw_slope", TrackedFigure::Throughput),
        ("lat", TrackedFigure::Latency),
        ("lat_slope", TrackedFigure::Latency),
    ] {
        let options = format!(
            "size=6m\nsteadystate={word}:10%\nsteadystate_duration=35\nsteadystate_ramp_time=4\nramp_time=3"
        );
        let found = test(&options);
        let rounds = found.rounds.unwrap();
        assert_eq!((rounds.length, rounds.tracked), (Duration::from_seconds(7), tracked), "{word}");
        assert_eq!((found.ramp, found.volume), (Duration::from_seconds(7), None));
        assert_eq!(nearly(&options), ["steadystate"]);
        let timed = format!("{options}\nruntime=60");
        assert_eq!(test(&timed).duration, None);
        assert_eq!(nearly(&timed), ["steadystate", "runtime"]);
    }
    assert_eq!(test("size=6m\nsteadystate_duration=35").rounds, None);
}

#[test]
fn logs_make_a_series_of_their_interval() {
    let fixed = |milliseconds: u64| {
        let interval = Duration::from_microseconds(1_000 * milliseconds);
        Some(SeriesInterval::Fixed { interval })
    };
    for (options, interval) in [
        ("size=6m", None),
        ("size=6m\nlog_avg_msec=250", fixed(250)),
        ("size=6m\nlog_avg_msec=0", None),
        ("size=6m\nwrite_bw_log=x", Some(SeriesInterval::Automatic)),
        ("size=6m\nwrite_lat_log=x\nlog_avg_msec=0", Some(SeriesInterval::Automatic)),
        ("size=6m\nwrite_iops_log=x\nlog_avg_msec=250", fixed(250)),
        ("size=6m\nwrite_hist_log=x", Some(SeriesInterval::Automatic)),
    ] {
        assert_eq!(test(options).interval, interval, "{options}");
    }
}

#[test]
fn the_rate_of_every_clone_and_direction_is_kept() {
    let rate = |options: &str| match test(&format!("size=6m\nbs=4k\n{options}")).requests() {
        Some(requests) => match requests.load {
            Load::Open { rate_per_second, process } => Some((rate_per_second, process)),
            _ => None,
        },
        None => None,
    };
    let even = |rate: f64| Some((rate, ArrivalProcess::Even));
    for (options, wanted) in [
        ("rw=randread\nrate_iops=30", even(30.0)),
        ("rw=randread\nrate_iops=30\nnumjobs=4", even(120.0)),
        ("rw=randread\nrate=80k", even(20.0)),
        ("rw=randread\nrate=80k\nrate_iops=30", even(20.0)),
        ("rw=randread\nrate=800k\nrate_iops=30", even(30.0)),
        ("rw=randwrite\nrate_iops=50,30", even(30.0)),
        ("rw=randread\nrate_iops=0", None),
        ("rw=randread\nrate_iops=30\nrate_process=poisson", Some((30.0, ArrivalProcess::Poisson))),
        ("rw=randread\nrate_process=poisson", None),
        ("rw=randrw\nrwmixread=25\nrate_iops=,90", even(120.0)),
        ("rw=randrw\nrwmixread=90\nrate_iops=30,90", even(120.0)),
    ] {
        assert_eq!(rate(options), wanted, "{options}");
    }
    let both = test("size=6m\nrw=randrw\nrwmixread=90\nrate_iops=30,90");
    assert_eq!(both.read_share().unwrap(), Ratio::new(0.25).unwrap());
    assert_eq!(nearly("size=6m\nrw=randrw\nrate_iops=30,90"), ["rate_iops", "rate_iops"]);
    assert_eq!(nearly("size=6m\nrw=randrw\nrate=3m,9m"), ["rate", "rate"]);
    assert_eq!(nearly("size=6m\nrw=randread\nrate_iops=30"), ["rate_iops"]);
    let think = |options: &str| test(&format!("size=6m\n{options}")).think();
    assert_eq!(think("thinktime=30"), Duration::from_microseconds(30));
    assert_eq!(think("thinktime=30\nthinktime_blocks=5"), Duration::from_microseconds(30));
    assert_eq!(think("thinktime_blocks=5"), Duration::ZERO);
    let deep = "size=6m\nioengine=libaio\niodepth=8\nthinktime=30\nthinktime_blocks=";
    assert_eq!(nearly(&format!("{deep}5")), ["ioengine", "thinktime_blocks"]);
    assert_eq!(nearly(&format!("{deep}8")), ["ioengine"]);
    assert_eq!(nearly("size=6m\nthinktime=30\nthinktime_blocks=1"), [""; 0]);
}

#[test]
fn clones_have_a_note_if_their_ranges_differ_from_fio() {
    let base = "filename=x\nfilesize=64m\nbs=64k\nnumjobs=4";
    let parts = format!("{base}\noffset_increment=16m\nsize=16m");
    assert_eq!(nearly(&format!("{parts}\nrw=randread\nnorandommap")), ["offset_increment"]);
    assert_eq!(nearly(&format!("{parts}\nrw=read")), [""; 0]);
    assert_eq!(nearly(&format!("{base}\nrw=read")), ["numjobs"]);
    assert_eq!(nearly(&format!("{base}\nrw=randread\nnorandommap")), [""; 0]);
    let alone = base.replace("numjobs=4", "numjobs=1");
    assert_eq!(nearly(&format!("{alone}\nrw=read")), [""; 0]);
    assert_eq!(nearly("size=6m\nnumjobs=4\nrw=read"), ["size"], "clones with separate files");
}

#[test]
fn the_mix_follows_from_either_share() {
    let share = |options: &str| test(&format!("size=6m\n{options}")).read_share().unwrap().get();
    for (options, wanted) in [
        ("rw=randrw", 0.5),
        ("rw=randrw\nrwmixread=70", 0.7),
        ("rw=randrw\nrwmixread=70%", 0.7),
        ("rw=randrw\nrwmixwrite=40", 0.6),
        ("rw=randrw\nrwmixread=70\nrwmixwrite=40", 0.7),
        ("rw=randread\nrwmixread=70", 1.0),
        ("rw=randwrite\nrwmixread=70", 0.0),
    ] {
        assert!((share(options) - wanted).abs() < 1e-9, "{options}");
    }
    assert_eq!(nearly("size=6m\nrw=randrw\nrwmixread=70\nrwmixwrite=40"), ["rwmixwrite"]);
    assert_eq!(nearly("size=6m\nrw=randrw\nrwmixread=70\nrwmixwrite=30"), [""; 0]);
    let trims = |rw: &str| test(&format!("size=6m\nrw={rw}")).mix().trim_share;
    assert_eq!(
        [trims("randwrite"), trims("randtrim"), trims("trimwrite")],
        [Ratio::ZERO, Ratio::ONE, Ratio::HALF]
    );
    // fio waits for each trim, but not for the writes between trims.
    for (engine, rw, wanted) in [
        ("libaio", "randtrim", Some(1)),
        ("io_uring", "trim", Some(1)),
        ("libaio", "trimwrite", Some(16)),
        ("null", "randtrim", Some(16)),
    ] {
        let job = format!("size=6m\nioengine={engine}\niodepth=16\nrw={rw}");
        assert_eq!(test(&job).queue_depth(), wanted, "{engine} {rw}");
    }
}

#[test]
fn flushes_follow_the_most_frequent_option_and_only_writes() {
    let every = |options: &str| test(&format!("size=6m\nrw=write\n{options}")).mix().flush_every;
    for (options, wanted) in [
        ("fsync=0", None),
        ("fsync=9", Some(9)),
        ("fdatasync=7", Some(7)),
        ("fsync=9\nfdatasync=7", Some(7)),
        ("fsync=6\nfdatasync=7", Some(6)),
        ("fsync=9\nsync=1", Some(1)),
        ("fsync=9\nsync=0", Some(9)),
        ("fsync=9\nsync=none", Some(9)),
        ("sync=dsync", Some(1)),
    ] {
        assert_eq!(every(options), wanted, "{options}");
    }
    assert_eq!(test("size=6m\nrw=read\nfsync=9").mix().flush_every, None);
    assert_eq!(nearly("size=6m\nrw=write\nfsync=9"), [""; 0]);
    assert_eq!(nearly("size=6m\nrw=write\nfdatasync=9"), ["fdatasync"]);
}

#[test]
fn data_compresses_by_its_percentage_or_completely() {
    let of = |options: &str| test(&format!("size=6m\nrw=write\n{options}")).compressibility;
    let part = Ratio::new(0.35).unwrap();
    for (options, wanted) in [
        ("", Ratio::ZERO),
        ("buffer_compress_percentage=35", part),
        ("buffer_compress_percentage=35%", part),
        ("zero_buffers", Ratio::ONE),
        ("zero_buffers=0\nbuffer_compress_percentage=35", part),
        ("zero_buffers=1\nbuffer_compress_percentage=35", Ratio::ONE),
        ("buffer_pattern=0xff", Ratio::ONE),
        ("buffer_pattern=0xff\nbuffer_compress_percentage=35", part),
    ] {
        assert_eq!(of(options), wanted, "{options}");
    }
    let delay = |options: &str| test(&format!("size=6m\n{options}")).start.delay;
    assert_eq!(delay("startdelay=3"), Duration::from_seconds(3));
    assert_eq!(delay("startdelay=2-5"), Duration::from_seconds(2));
    assert_eq!(nearly("size=6m\nstartdelay=2-5"), ["startdelay"]);
    assert_eq!(nearly("size=6m\nstartdelay=2"), [""; 0]);
}
