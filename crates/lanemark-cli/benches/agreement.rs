//! Compares `lanemark bench` with fio at equal settings, to check whether both programs measure the same drive.
//!
//! There are three targets: a file, a loop device over memory with direct I/O, and a file in memory (tmpfs). The last
//! two need root and are otherwise skipped. Each round runs fio, then Lanemark, then fio again, so that the drift of a
//! noisy machine affects both programs. The spread of fio's own runs is the yardstick. The settings are io_uring,
//! direct I/O, registered buffers and files, and the tests of CrystalDiskMark 8. `LANEMARK_AGREEMENT_ROUNDS` sets the
//! number of rounds, and `LANEMARK_AGREEMENT_FOLDER` the folder of the file.
//!
//! As part of the tests (without `--bench`), one short round runs if fio is installed, so that this code is exercised.
//! Without fio, the benchmark reports that it was skipped; in CI this is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::fill_random;
use serde_json::Value;

/// A test of CrystalDiskMark 8, as both programs receive it.
struct Case {
    slug: &'static str,
    fio: [&'static str; 3],
}

const CASES: [Case; 8] = [
    Case { slug: "seq1m-q8t1-read", fio: ["--rw=read", "--bs=1m", "--iodepth=8"] },
    Case { slug: "seq1m-q8t1-write", fio: ["--rw=write", "--bs=1m", "--iodepth=8"] },
    Case { slug: "seq1m-q1t1-read", fio: ["--rw=read", "--bs=1m", "--iodepth=1"] },
    Case { slug: "seq1m-q1t1-write", fio: ["--rw=write", "--bs=1m", "--iodepth=1"] },
    Case { slug: "rnd4k-q32t1-read", fio: ["--rw=randread", "--bs=4k", "--iodepth=32"] },
    Case { slug: "rnd4k-q32t1-write", fio: ["--rw=randwrite", "--bs=4k", "--iodepth=32"] },
    Case { slug: "rnd4k-q1t1-read", fio: ["--rw=randread", "--bs=4k", "--iodepth=1"] },
    Case { slug: "rnd4k-q1t1-write", fio: ["--rw=randwrite", "--bs=4k", "--iodepth=1"] },
];

#[derive(Clone, Copy)]
struct RunFigures {
    megabytes: f64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
}

/// The figures that both programs measure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    LoopDevice,
    FileInMemory,
}

struct Plan {
    kind: Kind,
    file: PathBuf,
    size: &'static str,
    seconds: &'static str,
    rounds: usize,
    huge_pages: bool,
}

/// Huge pages for fio's buffers, reserved until this value is dropped. Lanemark itself requests huge pages for buffers
/// of 2 MiB or more. On a virtual disk, huge pages can determine the speed of large reads.
struct HugePages {
    before: String,
}

const HUGE_PAGES: &str = "/proc/sys/vm/nr_hugepages";

impl HugePages {
    /// Reserves some huge pages if the user has permission.
    fn reserve() -> Option<Self> {
        let before = std::fs::read_to_string(HUGE_PAGES).ok()?;
        let enough = before.trim().parse::<u32>().ok()?.max(16);
        std::fs::write(HUGE_PAGES, enough.to_string()).ok()?;
        Some(Self { before })
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // Pages that remain reserved cannot be released here, and a message would not help.
        let _ = std::fs::write(HUGE_PAGES, &self.before);
    }
}

impl Case {
    /// Returns whether the buffers of all requests together fill a huge page.
    fn large_buffers(&self) -> bool {
        self.slug.starts_with("seq1m-q8")
    }
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    if Command::new("fio").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "fio is not installed: apt-get install fio");
        println!("skipped: fio is not installed (apt-get install fio)");
        return;
    }
    let folder = std::env::var_os("LANEMARK_AGREEMENT_FOLDER")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let rounds = std::env::var("LANEMARK_AGREEMENT_ROUNDS").ok().and_then(|text| text.parse().ok());
    let reserved = full.then(HugePages::reserve).flatten();
    let huge_pages = reserved.is_some();
    if full && !huge_pages {
        println!(
            "fio's buffers lie on small pages (only root can reserve others), Lanemark's do not"
        );
    }
    println!("{}", machine());
    let memory = Memory::mounted();
    let mut within = 0;
    let mut all = 0;
    for kind in [Kind::File, Kind::LoopDevice, Kind::FileInMemory] {
        let holder = if kind == Kind::File { Some(folder.as_path()) } else { memory.folder() };
        let Some(holder) = holder else {
            println!("skipped: this user cannot mount a tmpfs");
            continue;
        };
        let file = holder.join("agreement.dat");
        let mut plan = if full {
            let rounds = rounds.unwrap_or(5);
            Plan { kind, file, size: "256MiB", seconds: "1s", rounds, huge_pages }
        } else {
            Plan { kind, file, size: "16MiB", seconds: "100ms", rounds: 1, huge_pages }
        };
        make_file(&plan);
        let medium = plan.file.clone();
        let device = (kind == Kind::LoopDevice).then(|| attach(&medium));
        if let Some(node) = &device {
            plan.file.clone_from(node);
        }
        println!(
            "\n{}: {}, {} a run, {} rounds",
            plan.file.display(),
            plan.size,
            plan.seconds,
            plan.rounds
        );
        println!(
            "{:<18}{:>9}{:>19}{:>9}{:>7}{:>18}{:>18}{:>18}{:>14}",
            "test",
            "fio MB/s",
            "its range",
            "lanemark",
            "ratio",
            "mean us",
            "p50 us",
            "p99 us",
            "CPU us"
        );
        for case in &CASES {
            all += 1;
            within += u32::from(compare(case, &plan));
        }
        if let Some(node) = &device {
            tool("losetup", &["-d", node.to_str().expect("the path is text")]);
        }
        std::fs::remove_file(&medium).expect("our own file can be removed");
    }
    println!("\n{within} of {all} medians of throughput lie within the range of fio's own runs");
}

/// A file system in memory, which is unmounted when this value is dropped.
struct Memory(Option<tempfile::TempDir>);

impl Memory {
    fn mounted() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let point = folder.path().to_str().expect("the path is text").to_owned();
        let mounted = tool("mount", &["-t", "tmpfs", "-o", "size=600m", "lanemark", &point]);
        Self(mounted.then_some(folder))
    }

    fn folder(&self) -> Option<&Path> {
        self.0.as_ref().map(tempfile::TempDir::path)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(point) = self.folder().and_then(Path::to_str) else { return };
        // A released loop device disappears with a short delay, and keeps its file open until then.
        for _ in 0..40 {
            if tool("umount", &[point]) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        tool("umount", &["--lazy", point]);
    }
}

fn tool(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
}

/// Attaches a loop device with direct I/O to a file.
fn attach(medium: &Path) -> PathBuf {
    let made = Command::new("losetup")
        .args(["-f", "--show", "--direct-io=on"])
        .arg(medium)
        .output()
        .expect("losetup runs");
    assert!(made.status.success(), "losetup: {}", String::from_utf8_lossy(&made.stderr));
    PathBuf::from(String::from_utf8(made.stdout).expect("a path").trim())
}

/// Writes the file that both programs measure. The benchmark creates it, so Lanemark may overwrite it.
fn make_file(plan: &Plan) {
    let size: Bytes = plan.size.parse().expect("a size");
    let mut block = vec![0; 1 << 20];
    let mut rng = Rng::new(StreamKey::from_seed(1));
    let mut file = std::fs::File::create(&plan.file).expect("the folder can be written");
    for _ in 0..size.get() >> 20 {
        fill_random(&mut block, Ratio::ZERO, &mut rng);
        file.write_all(&block).expect("the disk has room");
    }
    file.sync_all().expect("the disk takes it");
}

/// Runs one test in all rounds and prints its row. Returns whether the medians agree.
fn compare(case: &Case, plan: &Plan) -> bool {
    let mut fio = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..plan.rounds {
        fio.push(run_fio(case, plan));
        ours.push(lanemark(case, plan));
        fio.push(run_fio(case, plan));
    }
    let median = |runs: &[RunFigures], value: fn(&RunFigures) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let rates: Vec<f64> = fio.iter().map(|figures| figures.megabytes).collect();
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    let theirs = median(&fio, |figures| figures.megabytes);
    let own = median(&ours, |figures| figures.megabytes);
    let both = |value: fn(&RunFigures) -> f64, digits: usize| {
        format!("{:.digits$} : {:.digits$}", median(&fio, value), median(&ours, value))
    };
    println!(
        "{:<18}{:>9.1}{:>19}{:>9.1}{:>7.3}{:>18}{:>18}{:>18}{:>14}",
        case.slug,
        theirs,
        format!("{low:.1} – {high:.1}"),
        own,
        own / theirs,
        both(|figures| figures.mean_us, 1),
        both(|figures| figures.p50_us, 1),
        both(|figures| figures.p99_us, 1),
        both(|figures| figures.cpu_us, 2),
    );
    (low..=high).contains(&own)
}

fn run_fio(case: &Case, plan: &Plan) -> RunFigures {
    let seconds = plan.seconds.trim_end_matches("ms").trim_end_matches('s');
    let runtime = if plan.seconds.ends_with("ms") {
        format!("--runtime={seconds}ms")
    } else {
        format!("--runtime={seconds}s")
    };
    let output = Command::new("fio")
        .args(["--name=agreement", "--ioengine=io_uring", "--registerfiles"])
        .arg(format!("--direct={}", u32::from(plan.kind != Kind::FileInMemory)))
        .args(["--fixedbufs", "--time_based", "--output-format=json", "--norandommap"])
        .arg(format!("--filename={}", plan.file.display()))
        .arg(format!("--size={}", plan.size.trim_end_matches("iB")))
        .arg(runtime)
        .args(case.fio)
        .args((plan.huge_pages && case.large_buffers()).then_some("--iomem=shmhuge"))
        .output()
        .expect("fio runs");
    assert!(output.status.success(), "fio: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("fio's JSON");
    let job = &report["jobs"][0];
    let direction = if case.slug.ends_with("read") { &job["read"] } else { &job["write"] };
    let number = |value: &Value| value.as_f64().expect("a number in fio's JSON");
    let runtime_ms = number(&job["job_runtime"]);
    let cpu_share = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0;
    RunFigures {
        megabytes: number(&direction["bw_bytes"]) / 1e6,
        mean_us: number(&direction["lat_ns"]["mean"]) / 1e3,
        p50_us: number(&direction["clat_ns"]["percentile"]["50.000000"]) / 1e3,
        p99_us: number(&direction["clat_ns"]["percentile"]["99.000000"]) / 1e3,
        cpu_us: cpu_share * runtime_ms * 1e3 / number(&direction["total_ios"]),
    }
}

fn lanemark(case: &Case, plan: &Plan) -> RunFigures {
    let file = plan.file.to_str().expect("the path is text");
    let results = tempfile::tempdir().expect("a temporary folder");
    let saved = results.path().join("agreement.json");
    let allowed = match plan.kind {
        Kind::LoopDevice => "--i-will-lose-all-data-on",
        Kind::File | Kind::FileInMemory => "--overwrite",
    };
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library");
    let output = Command::new(env!("CARGO_BIN_EXE_lanemark"))
        .args(["bench", file, &format!("crystaldiskmark-8:{}", case.slug)])
        .args([allowed, file, "--size", plan.size])
        .args(["--duration", plan.seconds, "--repeats", "1", "--json", "--out"])
        .arg(&saved)
        .arg("--library")
        .arg(library)
        .output()
        .expect("lanemark runs");
    assert!(output.status.success(), "lanemark: {}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).expect("our JSON");
    let test = &result["tests"][0];
    let cpu = &test["samples"][0]["cpu"];
    let number = |value: &Value| value.as_f64().expect("a number in our JSON");
    let latency = &test["samples"][0][if case.slug.ends_with("read") { "reads" } else { "writes" }];
    // The percentile is absent if there are too few requests.
    let percentile =
        |name: &str| latency["latency"]["percentiles_ns"][name].as_f64().unwrap_or(f64::NAN) / 1e3;
    RunFigures {
        p50_us: percentile("50.0000"),
        p99_us: percentile("99.0000"),
        megabytes: number(&test["throughput_bytes_per_second"]["value"]) / 1e6,
        mean_us: number(&test["latency_mean_ns"]["value"]) / 1e3,
        cpu_us: (number(&cpu["user_ns_per_request"]) + number(&cpu["system_ns_per_request"])) / 1e3,
    }
}

fn machine() -> String {
    let machine = lanemark_measure::machine();
    format!("{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel)
}
