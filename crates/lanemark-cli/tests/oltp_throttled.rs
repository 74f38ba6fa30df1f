//! `lanemark report --out workload.toml` for a device that a control group throttles: a run at one rate predicts the
//! transaction rate under a different throttle.
//!
//! A throttle delays requests before they reach the block device, whose own times stay short. Only the sampled waits of
//! the sessions reveal the throttle. Without a throttle, the device's speed would depend on its other users, so that no
//! bound could be tested. The test is skipped, with a message, if loop devices, control groups or PostgreSQL 16
//! are missing.

use std::path::Path;

use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};
use lanemark_testbed::{Group, LoopDevice, Mounted, lanemark};

/// Number of users, which is more than enough to keep both the slow and the fast device busy.
const USERS: &str = "8";
/// Number of reads per second that the slower throttle permits.
const SLOW: u64 = 1000;
/// Number of reads per second that the faster throttle permits.
const FAST: u64 = 3500;
/// Maximum deviation of a predicted transaction rate from the measured rate.
const MOST_APART: f64 = 0.15;

/// A folder, and the server whose database is in it.
struct Bench {
    folder: tempfile::TempDir,
    database: String,
}

/// The compared figures of a run.
struct Measured {
    file: String,
    per_minute: f64,
    device: serde_json::Value,
}

impl Bench {
    fn lanemark(&self, args: &[&str]) -> String {
        lanemark!(self.folder.path(), args).stdout()
    }

    fn oltp(&self, args: &[&str]) -> String {
        self.lanemark(&[&["oltp", args[0], "--database", &self.database], &args[1..]].concat())
    }

    fn run(&self, file: &str, ramp: &str, duration: &str) -> Measured {
        let times = ["--ramp", ramp, "--duration", duration, "--repeats", "1"];
        self.oltp(&[&["run", "--users", USERS, "--out", file], &times[..]].concat());
        let text = std::fs::read_to_string(self.folder.path().join(file)).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sample = &run["tests"][0]["samples"][0];
        Measured {
            file: file.to_owned(),
            per_minute: sample["transactions"]["per_minute"].as_f64().unwrap(),
            device: sample["evidence"]["device"].clone(),
        }
    }

    /// Predicts the transactions a minute for the workload of `run`, on a drive that accepts `reads_a_second` and
    /// completes each request in the time of the run's device without the throttle.
    fn predicted(&self, run: &Measured, reads_a_second: u64) -> f64 {
        let workload = format!("{}.toml", run.file);
        self.lanemark(&["report", &run.file, "--out", &workload]);
        let of = |key: &str| run.device[key].as_f64().unwrap();
        let mean_us = |time: &str, count: &str| of(time) / of(count).max(1.0) / 1e3;
        let read_us = mean_us("read_time_ns", "reads");
        let stored_us = mean_us("write_time_ns", "writes");
        let settings = [
            format!("drive.front_end.read_time={:.1} us", 1e6 / reads_a_second as f64),
            format!("drive.flash.read={read_us:.1} us"),
            format!("drive.front_end.write_latency={stored_us:.1} us"),
            "drive.buffer.power_loss=stored".to_owned(),
        ];
        let mut args = vec!["sim", "generic-nvme@data-sheet:pcie", &workload, "--json"];
        args.extend(["--repeats", "1", "--no-interval"]);
        args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let simulated: serde_json::Value = serde_json::from_str(&self.lanemark(&args)).unwrap();
        simulated["tests"][0]["samples"][0]["transactions"]["per_minute"].as_f64().unwrap()
    }
}

/// Returns a server that bypasses the page cache, or `None` if the installed one cannot. With the page cache, the
/// throttle would see few reads.
fn server(folder: &Path) -> Option<ManagedServer> {
    if programs().is_none() {
        lanemark_testbed::skipped("PostgreSQL is not installed (package postgresql)");
        return None;
    }
    let options =
        ServerOptions { shared_buffers_mib: 8, direct_io: true, ..ServerOptions::default() };
    let server = ManagedServer::start(folder, &options).unwrap();
    if let Some(reason) = server.page_cache() {
        // Debian's package may be older, also in CI.
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(server)
}

#[test]
fn a_run_on_a_throttled_device_predicts_another_rate() {
    let Some(device) = LoopDevice::sparse(2 << 30) else { return };
    let Some(mounted) = Mounted::ext4(device.node()) else { return };
    // The control group is set before the server starts, and the server inherits it. Loading does not need a limit.
    let Some(group) = Group::reads_a_second(device.node(), 1_000_000) else { return };
    let Some(server) = server(&mounted.path().join("server")) else { return };
    let bench = Bench { folder: tempfile::tempdir().unwrap(), database: server.name("lanemark") };
    bench.oltp(&["load", "--warehouses", "4", "--scale", "8"]);
    // This run fills the buffer.
    bench.run("warm.json", "0 s", "3 s");
    let measured = [SLOW, FAST].map(|rate| {
        group.set_reads_a_second(device.node(), rate);
        (rate, bench.run(&format!("{rate}.json"), "2 s", "10 s"))
    });
    group.set_reads_a_second(device.node(), 0);
    let [slow, fast] = &measured;
    for (from, to) in [(slow, fast), (fast, slow)] {
        let predicted = bench.predicted(&from.1, to.0);
        let apart = predicted / to.1.per_minute - 1.0;
        let truth = to.1.per_minute;
        let found = 100.0 * apart;
        let summary = format!(
            "a run at {} reads a second says {predicted:.0} tpm at {}, measured {truth:.0}: {found:+.1}%",
            from.0, to.0
        );
        eprintln!("{summary}");
        assert!(apart.abs() < MOST_APART, "{summary}");
        // The run itself had a very different rate.
        assert!((from.1.per_minute / truth - 1.0).abs() > 2.0 * MOST_APART, "{summary}");
    }
}
