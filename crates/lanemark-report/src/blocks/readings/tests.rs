//! Tests of the sentences about a machine's readings.

use lanemark_schema::result::{
    DeviceUse, DriveHealth, LatencyHistogram, Sample, TemperatureReading, Temperatures, ThreadUse,
};

use super::*;
use crate::run_tests::{reads, test};

fn sentences_of(evidence: &[Evidence]) -> Vec<String> {
    let with = |evidence: &Evidence| Sample {
        evidence: Some(evidence.clone()),
        ..reads(10, 4, &[50; 100])
    };
    sentences(&test("t", evidence.iter().map(with).collect()))
}

fn used(reads: u64, writes: u64, flushes: u64, busy_ms: u64) -> Evidence {
    let ms = |ms: u64| Duration::from_microseconds(1_000 * ms);
    let device = DeviceUse {
        name: "vda".to_owned(),
        reads,
        writes,
        flushes,
        read_bytes: Bytes(5_000 * reads),
        written_bytes: Bytes(12_500 * writes),
        read_time: Duration::from_microseconds(81 * reads),
        write_time: Duration::from_microseconds(33 * writes),
        busy: ms(busy_ms),
        elapsed: ms(100),
        ..DeviceUse::default()
    };
    Evidence { device: Some(device), ..Evidence::default() }
}

#[test]
fn a_device_is_reported_over_all_repeats() {
    assert_eq!(
        sentences_of(&[used(300, 0, 0, 60), used(100, 40, 7, 80)]),
        [
            "vda was busy 70% of the time: 400 reads of 5.00 kB, 81.0 µs each; 40 writes of 12.5 kB, 33.0 µs each; \
          7 flushes."
        ]
    );
    let mut hot = used(0, 0, 0, 250);
    hot.temperature_celsius = Some(47.4);
    assert_eq!(
        sentences_of(&[used(0, 0, 0, 250), hot]),
        ["vda was busy 100% of the time, at 47 °C at the end: it received no requests."]
    );
    let mut warming = used(0, 0, 0, 250);
    let reading = |celsius| TemperatureReading { at: Duration::ZERO, celsius };
    let readings = vec![reading(41.2), reading(77.8), reading(60.0)];
    warming.temperatures = Some(Temperatures { limit_celsius: None, readings });
    assert_eq!(
        sentences_of(&[warming]),
        ["vda was busy 100% of the time, at 41 to 78 °C: it received no requests."]
    );
    assert!(sentences_of(&[Evidence::default()]).is_empty());
}

#[test]
fn the_health_of_the_last_repeat_is_reported() {
    let health = |warnings, media_errors| Evidence {
        health: Some(DriveHealth {
            temperature_celsius: None,
            warnings,
            spare_percent: 93,
            used_percent: 7,
            read: Bytes(1),
            written: Bytes(12_300_000_000_000),
            media_errors,
            throttled_minutes: 0,
        }),
        ..Evidence::default()
    };
    let start = "The drive reports that 7% of its life is used and 93% of its spare is left; 12.3 TB were written to it.";
    for (warnings, errors, end) in [
        (0, 0, ""),
        (0, 5, " It failed to return data 5 times."),
        (4, 0, " It warns (critical warning 0x04); 0 media errors."),
        (18, 3, " It warns (critical warning 0x12); 3 media errors."),
    ] {
        let all = [health(0, 99), health(warnings, errors)];
        assert_eq!(sentences_of(&all), [format!("{start}{end}")]);
    }
}

#[test]
fn processors_and_threads_are_reported_as_means_and_maxima() {
    let of = |user, stolen, busiest, switches_voluntary| Evidence {
        processors: Some(ProcessorUse {
            cores: 2,
            user,
            system: 0.7,
            interrupts: 0.08,
            stolen,
            ..ProcessorUse::default()
        }),
        threads: Some(ThreadUse { busiest, switches_voluntary, ..ThreadUse::default() }),
        ..Evidence::default()
    };
    assert_eq!(
        sentences_of(&[of(0.04, 0.0, 0.43, 30), of(0.06, 0.008, 0.21, 12)]),
        [
            "The machine used 0.83 of 2 cores: 0.05 in programs, 0.70 in the kernel, 0.08 in interrupts.",
            "The busiest thread took 43% of a core; threads slept 0.210 times per request.",
        ]
    );
    let text = sentences_of(&[of(0.04, 0.01, 1.3, 30), of(0.06, 0.01, 0.2, 12)]).join(" ");
    assert!(text.contains("0.08 in interrupts; the hypervisor took 0.01."), "{text}");
    assert!(text.contains("The busiest thread took 100% of a core"), "{text}");
}

#[test]
fn punctuality_is_reported_with_delayed_and_missing_requests() {
    let kept = |us: u64, held_back, unsubmitted| {
        let mut lateness = LatencyHistogram::new();
        (0..10).for_each(|_| lateness.record(Duration::from_microseconds(us)));
        let punctuality = Some(Punctuality {
            lateness,
            held_back,
            unsubmitted,
            own_lateness: LatencyHistogram::new(),
        });
        Sample { punctuality, ..reads(10, 4, &[50]) }
    };
    let text = |samples| sentences(&test("t", samples)).join(" ");
    assert_eq!(
        text(vec![kept(40, 3, 0), kept(40, 4, 0)]),
        "At the median, requests were submitted 40.0 µs after their due time; 7 of 20 had to wait for other requests. Latencies are measured from the due time."
    );
    let late = text(vec![kept(40, 3, 5), kept(40, 4, 6)]);
    let end = " 11 more were due but never submitted, and no figure includes them.";
    assert!(late.ends_with(end), "{late}");
}
