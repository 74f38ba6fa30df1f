//! The library's cloud volumes agree with the tables of their providers, and hostile values cause errors that name
//! them.

use lanemark_schema::result::{CreditUse, Reserve, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Pattern, Test};
use lanemark_sim::run_test;
use lanemark_sim::spec::MediaSpec;
use lanemark_study::catalogue;
use lanemark_study::drive::DriveKind;
use lanemark_study::library::LibraryKind;
use lanemark_study::{Library, System};

mod systems;
use systems::with_settings;

const GP2: &str = "aws-gp2-100gib@aws-m5-4xlarge:volume";

fn system(name: &str) -> System {
    with_settings(name, &[]).unwrap()
}

/// Runs reads of `kib` KiB at queue depth 64 for `seconds`.
fn reads(system: &System, kib: u64, pattern: Pattern, seconds: u64) -> Sample {
    let test = Test {
        span: Bytes::mebi(64 * 1024),
        duration: Some(Duration::from_seconds(seconds)),
        volume: None,
        ..Test::of_blocks(Bytes::kibi(kib))
    }
    .with(|asked| {
        asked.pattern = pattern;
        asked.alignment = Bytes::kibi(kib);
        asked.queue_depth = 64;
    });
    run_test(&system.spec, &test.checked().unwrap(), StreamKey::from_seed(1)).unwrap()
}

fn close(seen: f64, published: f64, within: f64) {
    assert!((seen / published - 1.0).abs() < within, "{seen} for {published}");
}

/// Source: Amazon EC2 User Guide, "General Purpose SSD volumes", burst duration at 3,000 IOPS by volume size.
#[test]
fn the_credits_of_gp2_last_as_its_table_states() {
    for (iops, seconds) in
        [("100", 1_862.0), ("300", 2_000.0), ("1002", 2_703.0), ("2250", 7_200.0)]
    {
        let system = with_settings(GP2, &[("drive.cloud.iops", iops)]).unwrap();
        let sample = reads(&system, 4, Pattern::Uniform, 2);
        close(sample.iops(), 3_000.0, 0.01);
        let [credits] = sample.credits.as_slice() else { panic!("{:?}", sample.credits) };
        assert_eq!(credits.at_start, 5_400_000);
        close(credits.end.unwrap().as_seconds(), seconds, 1e-3);
    }
}

/// Source: "Throughput Optimized HDD and Cold HDD volumes". A full bucket is enough for a scan of a 1 TiB st1 volume in
/// 1.17 hours at 250 MiB/s, and of an sc1 volume in 3.64 hours at 80 MiB/s.
#[test]
fn the_credits_of_disk_volumes_are_enough_for_a_scan() {
    for (name, burst, refill) in [("aws-st1-1tib", 250.0, 40.0), ("aws-sc1-1tib", 80.0, 12.0)] {
        let system = system(&format!("{name}@aws-m5-4xlarge:volume"));
        let sample = reads(&system, 1024, Pattern::Sequential, 20);
        let rate = sample.throughput().0 as f64 / f64::from(1 << 20);
        close(rate, burst, 0.02);
        let [credits] = sample.credits.as_slice() else { panic!("{:?}", sample.credits) };
        assert_eq!(credits.reserve, Reserve::ThroughputCredits);
        close(credits.end.unwrap().as_seconds(), 1_048_576.0 / (burst - refill), 0.02);
        let scan = 1_048_576.0 / burst;
        assert!(credits.end.unwrap().as_seconds() > scan);
        // Each small random request counts as 1 MiB.
        close(reads(&system, 16, Pattern::Uniform, 20).iops(), burst, 0.02);
    }
}

/// Source: "Managed disk bursting", up to 30 minutes at the burst rate, for operations and for bytes.
#[test]
fn azure_disks_burst_for_half_an_hour() {
    for (name, iops, megabytes) in
        [("azure-premium-p10", 3_500.0, 170.0), ("azure-standard-ssd-e10", 600.0, 150.0)]
    {
        let system = system(&format!("{name}@azure-d16ds-v5:volume"));
        for (kib, reserve) in [(4, Reserve::OperationCredits), (512, Reserve::ThroughputCredits)] {
            let sample = reads(&system, kib, Pattern::Uniform, 10);
            match reserve {
                Reserve::OperationCredits => close(sample.iops(), iops, 0.01),
                _ => close(sample.throughput().as_megabytes(), megabytes, 0.03),
            }
            let of = |credits: &&CreditUse| credits.reserve == reserve;
            let credits = sample.credits.iter().find(of).unwrap();
            close(credits.end.unwrap().as_seconds(), 1_800.0, 0.01);
        }
    }
}

#[test]
fn volumes_without_credits_deliver_their_provisioned_rate() {
    for (name, iops, megabytes) in [
        ("aws-gp3-1tib@aws-m5-4xlarge", 3_000.0, 125.0 * 1.048_576),
        ("aws-gp2-1tib@aws-m5-4xlarge", 3_072.0, 250.0 * 1.048_576),
        ("azure-premium-p30@azure-d16ds-v5", 5_000.0, 200.0),
        ("azure-premium-v2-1tib@azure-d16ds-v5", 3_000.0, 125.0),
        ("gcp-pd-balanced-500gib@gcp-n2-standard-16", 6_000.0, 280.0 * 1.048_576),
        ("gcp-pd-ssd-500gib@gcp-n2-standard-16", 21_000.0, 480.0 * 1.048_576),
        ("gcp-hyperdisk-balanced-500gib@gcp-n2-standard-16", 3_000.0, 140.0 * 1.048_576),
    ] {
        let system = system(&format!("{name}:volume"));
        close(reads(&system, 4, Pattern::Uniform, 2).iops(), iops, 0.01);
        close(
            reads(&system, 256, Pattern::Uniform, 4).throughput().as_megabytes(),
            megabytes,
            0.02,
        );
    }
}

/// The bandwidth of the instance, 593.75 MB/s, limits a volume that is provisioned for 1,000 MiB/s. Two volumes of the
/// instance share this bandwidth.
#[test]
fn the_instance_limits_its_volumes_together() {
    let name = "aws-gp3-1tib-16000@aws-m5-4xlarge:volume";
    let one = reads(&system(name), 256, Pattern::Uniform, 2).throughput().as_megabytes();
    close(one, 593.75, 0.03);
    let two = system(&format!("{name}+volume-2"));
    close(reads(&two, 256, Pattern::Uniform, 2).throughput().as_megabytes(), 593.75, 0.03);
}

#[test]
fn every_volume_runs_on_every_instance() {
    let library = Library::built_in();
    let instances = ["aws-m5-4xlarge", "aws-r5b-24xlarge", "azure-d16ds-v5", "gcp-n2-standard-16"];
    let mut volumes = 0;
    for drive in library.names(LibraryKind::Drive) {
        if catalogue::drive(&library, &drive).unwrap().kind != DriveKind::CloudVolume {
            continue;
        }
        volumes += 1;
        for instance in instances {
            let system = system(&format!("{drive}@{instance}:volume"));
            assert!(matches!(system.spec.first().drive.media, MediaSpec::Cloud(_)), "{drive}");
            assert!(reads(&system, 16, Pattern::Uniform, 1).iops() > 10.0, "{drive}");
        }
    }
    assert_eq!(volumes, 15);
}

#[test]
fn hostile_values_of_a_volume_are_named() {
    for (parameter, value, named) in [
        ("drive.cloud.iops", "9", "drive.cloud.iops = 9: from 10 to 10000000"),
        ("drive.cloud.iops", "3001", "drive.cloud.burst_iops = 3000: from 3002"),
        ("drive.cloud.iops", "10000001", "must be a whole number from 1 to 10000000"),
        ("drive.cloud.iops_credits", "0", "must be a whole number from 1"),
        ("drive.cloud.iops_credits", "777600001", "drive.cloud.iops_credits = 777600001"),
        ("drive.cloud.throughput", "999 kB/s", "drive.cloud.throughput = 999000"),
        ("drive.cloud.throughput", "0 B/s", "drive.cloud.throughput = 0"),
        ("drive.cloud.unit", "0 B", "drive.cloud.unit = 0 B: a multiple of 4 KiB from 4 KiB"),
        ("drive.cloud.unit", "17 MiB", "drive.cloud.unit"),
        ("drive.cloud.read_latency", "0 us", "drive.cloud.read_latency = 0"),
        ("drive.cloud.read_latency", "61 s", "drive.cloud.read_latency"),
        ("drive.cloud.write_tail", "1 s", "drive.cloud.write_tail"),
        ("drive.cloud.transfer_max", "1 B", "transfer_max = 1 B"),
        ("drive.capacity", "1 B", "drive.capacity"),
        ("drive.power.idle", "1 W", "power"),
        ("drive.front_end.read_time", "1 us", "front_end"),
    ] {
        let error = with_settings(GP2, &[(parameter, value)]).err();
        let error =
            error.unwrap_or_else(|| panic!("{parameter} = {value} is accepted")).to_string();
        assert!(error.contains(named), "{parameter} = {value}: {error}");
    }
}
