//! Values that `--set`, a study or a host overrides: accepted values, rejected values, and the messages.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{ArrivalProcess, Load, Test};
use lanemark_sim::run_test;
use lanemark_sim::spec::{MediaSpec, PageTimes};
use lanemark_testbed::systems::SATA;

mod systems;
use systems::with_settings;

/// Returns the error from setting `parameter` of a system to `value`; empty if there is no error.
fn setting_says(system: &str, parameter: &str, value: &str) -> String {
    settings_say(system, &[(parameter, value)])
}

/// Returns the error from setting several parameters of a system; empty if there is no error.
fn settings_say(system: &str, settings: &[(&str, &str)]) -> String {
    match with_settings(system, settings) {
        Ok(_) => String::new(),
        Err(error) => format!("{error} | {}", error.hint.clone().unwrap_or_default()),
    }
}

#[test]
fn every_time_of_a_system_has_an_upper_bound() {
    let steps = [
        "platform.cpu.request_submit",
        "platform.cpu.request_complete",
        "platform.cpu.wake",
        "platform.nvme.driver_time",
        "platform.nvme.memory_read",
        "platform.nvme.interrupt_time",
        "platform.link.dmi.latency",
        "platform.port.m2.latency",
        "drive.front_end.read_time",
        "drive.front_end.write_time",
        "drive.front_end.read_latency",
        "drive.front_end.write_latency",
        "drive.flash.read",
        "drive.flash.program",
        "drive.flash.erase",
        "drive.flash.command_time",
        "drive.die.suspend",
    ];
    let waits = ["platform.cpu.idle_after", "drive.translation.idle_after"];
    let system = "samsung-950-pro-512gb@workstation-z170:m2";
    for parameter in steps.into_iter().chain(waits) {
        for value in ["18446744073709551615 ps", "5124 h", "1000.001 h"] {
            let seen = setting_says(system, parameter, value);
            assert!(
                seen.contains("too large for time: the maximum is 1000 h"),
                "{parameter}: {seen}"
            );
        }
        let is_step = steps.contains(&parameter);
        let seen = setting_says(system, parameter, "60.001 s");
        assert_eq!(seen.contains("at most 60 s"), is_step, "{parameter}: {seen}");
        assert_eq!(setting_says(system, parameter, "60 s"), "", "{parameter}");
    }
}

#[test]
fn omitted_values_can_be_set() {
    let system = "samsung-950-pro-512gb@workstation-z170:m2";
    for (parameter, value) in [
        ("platform.port.m2.address", "32-bit"),
        ("drive.die.cache_read", "yes"),
        ("drive.state.condition", "random"),
    ] {
        assert_eq!(setting_says(system, parameter, value), "", "{parameter}");
    }
    // The file does not contain the table.
    let plain = "samsung-850-pro-1tb@workstation-z170:sata";
    for (parameter, value) in [
        ("drive.data_path.write", "300 MB/s"),
        ("drive.port.commands", "unqueued"),
        ("platform.port.sata.controller", "ata-dma"),
    ] {
        let seen = setting_says(plain, parameter, value);
        assert!(!seen.contains("unknown parameter"), "{parameter}: {seen}");
    }
    let seen = setting_says(plain, "drive.pseudo_slc.capacity", "6 GB");
    assert!(
        seen.contains("[pseudo_slc] is missing, with `read`, `program`, `when_full`"),
        "{seen}"
    );
}

/// Only a condition fills a drive, and a drive that it fills lacks a share of dies next to its simulated collection.
#[test]
fn a_share_of_a_drive_is_a_percentage_that_its_condition_permits() {
    const FILLED: &str = "drive.state.filled";
    const BESIDE: &str = "drive.translation.beside_collection";
    let percentage = "a percentage from \"1%\" to \"100%\"";
    let only = "is only for a drive whose condition is `sequential` or `random`";
    for (parameter, is_random, value, wanted) in [
        (FILLED, true, "50%", ""),
        (FILLED, true, "100%", ""),
        (FILLED, true, "0.5%", percentage),
        (FILLED, true, "-1%", percentage),
        (FILLED, true, "nan%", percentage),
        (FILLED, true, "101%", percentage),
        (FILLED, true, "half", percentage),
        (FILLED, false, "50%", only),
        (BESIDE, false, "25%", ""),
        (BESIDE, false, "100%", ""),
        (BESIDE, false, "0%", percentage),
        (BESIDE, false, "0.5%", percentage),
        (BESIDE, false, "-1%", percentage),
        (BESIDE, false, "nan%", percentage),
        (BESIDE, false, "150%", percentage),
        (BESIDE, false, "0.25", percentage),
        (BESIDE, true, "25%", "for fresh and purged drives"),
    ] {
        let random = is_random.then_some(("drive.state.condition", "random"));
        let all: Vec<_> = random.into_iter().chain([(parameter, value)]).collect();
        let seen = settings_say("samsung-950-pro-512gb@workstation-z170:m2", &all);
        let is_as_wanted = seen.contains(wanted) && seen.is_empty() == wanted.is_empty();
        assert!(is_as_wanted, "{parameter} {value}: {seen}");
    }
    let seen = settings_say("intel-optane-905p-960gb@workstation-z170:m2", &[(BESIDE, "25%")]);
    assert!(seen.contains("not for 3D XPoint"), "{seen}");
}

/// Returns the times that the flash of the SATA drive needs to read its pages.
fn page_times(settings: &[(&str, &str)]) -> PageTimes {
    let system = with_settings(SATA, settings).unwrap();
    let MediaSpec::Flash(flash) = &system.spec.first().drive.media else { panic!("no flash") };
    flash.read
}

#[test]
fn a_ratio_divides_the_read_time_among_the_pages_of_a_cell_and_keeps_its_mean() {
    let us = Duration::from_microseconds;
    let ratio = ("drive.flash.read_ratio", "3:4");
    assert_eq!(page_times(&[]), PageTimes::alike(us(50)));
    assert_eq!(page_times(&[ratio]), PageTimes::in_ratio(us(50), &[3, 4]));
    assert_eq!(page_times(&[ratio]).mean(), us(50));
    let set = page_times(&[("drive.flash.read", "70 us"), ratio]);
    assert_eq!(set, PageTimes::from_kinds(&[us(60), us(80)]));
    let other = [("drive.flash.technology", "tlc"), ("drive.flash.read_ratio", " 2: 3 :2")];
    assert_eq!(page_times(&other), PageTimes::in_ratio(us(50), &[2, 3, 2]));
}

#[test]
fn an_impossible_ratio_of_pages_is_refused() {
    const RATIO: &str = "drive.flash.read_ratio";
    let wanted = "must be one whole number for each page of a cell, such as \"2:3:2\"";
    for ratio in ["3", "2:3:2", "0:4", "-3:4", "3:", "", "3:4:", "3,4", "1:101", "1.5:2", "3:4 us"]
    {
        let seen = setting_says(SATA, RATIO, ratio);
        assert!(seen.contains(wanted), "`{ratio}`: {seen}");
    }
    assert_eq!(setting_says(SATA, RATIO, "1:100"), "");
    assert_eq!(setting_says(SATA, RATIO, "4294967295:4294967295"), "");
    for (technology, ratio) in
        [("slc", "2:3"), ("qlc", "2:3:2"), ("tlc", "2:3"), ("mlc", "4294967296:4294967296")]
    {
        let seen = settings_say(SATA, &[("drive.flash.technology", technology), (RATIO, ratio)]);
        assert!(seen.contains(wanted), "{technology} {ratio}: {seen}");
    }
    let zero = settings_say(SATA, &[("drive.flash.read", "0 us"), (RATIO, "3:4")]);
    assert!(zero.contains("a time above 0 for each of the 2 pages of a cell"), "{zero}");
    let long = settings_say(SATA, &[("drive.flash.read", "59 s"), (RATIO, "1:2")]);
    assert!(long.contains("at most 60 s"), "{long}");
}

/// Returns the mean latency of a single read of `length` with this host, in microseconds.
fn read_us(host: &str, length: Bytes) -> f64 {
    let mut test = Test::of_blocks(length);
    test.volume = Some(length * 1_024);
    let test = test.checked().unwrap();
    let system = format!("samsung-980-pro-1tb@workstation-x570,{host}:m2");
    // The hosts state their times for a processor of this speed.
    let spec = with_settings(&system, &[("platform.cpu.speed", "1")]).unwrap().spec;
    run_test(&spec, &test, StreamKey::from_seed(1)).unwrap().latency().mean_ns() / 1e3
}

/// The hosts for a block device differ only in the time that a single request waits for a sleeping core.
#[test]
fn a_host_that_sleeps_more_deeply_adds_its_wake_up_time() {
    let polling = read_us("linux-polling", Bytes::kibi(4));
    for (host, wake_us) in [("linux-block", 1.5), ("linux-deep-idle", 10.0)] {
        let added = read_us(host, Bytes::kibi(4)) - polling;
        assert!((added - wake_us).abs() < 0.05, "{host} adds {added} us");
    }
}

/// A thread that sends 300 requests a second lets its core enter a deep idle state; one that sends 6,000 does not.
#[test]
fn few_requests_a_second_wait_for_a_core_in_deep_sleep() {
    let mean_us = |host: &str, rate: f64| {
        let load = Load::Open { rate_per_second: rate, process: ArrivalProcess::Even };
        let test = Test::random_read("4 KiB").span("1 GiB").duration("100 ms").load(load);
        let system = format!("samsung-980-pro-1tb@workstation-x570,{host}:m2");
        let spec = with_settings(&system, &[]).unwrap().spec;
        let sample = run_test(&spec, &test.build().unwrap(), StreamKey::from_seed(1)).unwrap();
        sample.latency().mean_ns() / 1e3
    };
    for (host, wanted) in [("linux-deep-idle", 133.0), ("linux-polling", 0.0)] {
        let added = mean_us(host, 300.0) - mean_us(host, 6_000.0);
        // At 6,000 a second a few reads meet at the same die, and the first of 30 finds its core awake.
        assert!((added - wanted).abs() < 6.0, "{host}: {added} us");
    }
}

/// A guest waits for its virtual processor and for the hypervisor's I/O thread, which limits the rate.
#[test]
fn a_guest_adds_its_wake_up_and_the_thread_of_the_hypervisor() {
    let added = read_us("linux-guest", Bytes::kibi(4)) - read_us("linux-block", Bytes::kibi(4));
    // Instead of 1.5 and 1.6 us, waking and the driver take 21 and 3.1 us; the I/O thread takes 7.5 us.
    assert!((added - (19.5 + 1.5 + 7.5)).abs() < 0.05, "{added} us");
    let mut test = Test::of_blocks(Bytes::kibi(4)).with(|requests| requests.queue_depth = 64);
    (test.span, test.volume) = (Bytes::mebi(1_024), Some(Bytes::mebi(256)));
    test.requests_mut().unwrap().pattern = lanemark_schema::workload::Pattern::Uniform;
    let rate = |threads: u32| {
        let test = Test { threads, ..test.clone() }.checked().unwrap();
        let system = "samsung-980-pro-1tb@workstation-x570,linux-guest:m2";
        let spec = with_settings(system, &[("platform.cpu.speed", "1")]).unwrap().spec;
        run_test(&spec, &test, StreamKey::from_seed(1)).unwrap().iops()
    };
    for threads in [1, 4] {
        let rate = rate(threads);
        assert!((rate * 7.5e-6 - 1.0).abs() < 0.02, "{threads} threads: {rate}");
    }
}

/// Encryption takes a read longer by the hand-over to a kernel thread and by the time for its data.
#[test]
fn a_host_with_encryption_adds_time_by_the_length_of_a_read() {
    // 1.5 us to wake the thread's core, 10 us, and 500 us per MiB.
    for (kib, work_us) in [(4, 13.45), (64, 42.75), (128, 74.0)] {
        let read = |host| read_us(host, Bytes::kibi(kib));
        let added = read("linux-dm-crypt") - read("linux-block");
        assert!((added - work_us).abs() < 0.05, "{kib} KiB: {added} us");
    }
}

/// The times of a host file belong to a processor of the speed that the file states.
#[test]
fn a_faster_processor_needs_less_time_for_the_requests_of_a_host() {
    let submit = |system: &str, speed: &str| {
        let system = with_settings(system, &[("platform.cpu.speed", speed)]).unwrap();
        let spec = &system.spec;
        (spec.cpu.request_submit, spec.first().protocol.read_time, spec.cpu.wake)
    };
    const HOSTED: &str = "samsung-950-pro-512gb@workstation-z170,linux-block:pcie-slot";
    let (slow, slow_driver, slow_wake) = submit(HOSTED, "0.5");
    let (fast, fast_driver, fast_wake) = submit(HOSTED, "2");
    assert_eq!((slow, slow_driver), (fast * 4, fast_driver * 4));
    assert_eq!(slow_wake, fast_wake, "the exit from an idle state does not depend on the clock");
    // The times in a platform file belong to its own processor.
    const OWN: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
    assert_eq!(submit(OWN, "0.5"), submit(OWN, "2"));
}
