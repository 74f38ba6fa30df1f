//! Each option of a job file next to fio: fio runs the job with its null engine, which answers at once, and Lanemark
//! runs or reads the same job. Where counting decides the figures are equal, where chance decides they differ by up to
//! 0.015, and where timing decides by up to 5%. `LANEMARK_DOCS=write` writes the table of `docs/fio.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use lanemark_formats::fio::{self, JobEnvironment, OptionSupport};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::{Accesses, Operation};
use lanemark_testbed::{documents, lanemark, project, times_disagree};
use serde_json::Value;
use tempfile::TempDir;

use Figure::{Mean, Order, PerSecond, Places, Requests, Seconds, Share};

/// A request: its kind, its offset and its length.
type Request = (Operation, u64, u64);

/// What an option decides.
enum Figure {
    /// The number of reads, writes, trims and flushes of a run.
    Requests,
    /// The number of reads and writes per second of a run.
    PerSecond,
    /// The elapsed time of a run.
    Seconds,
    /// The number of requests that equal the other program's request in this place.
    Order,
    /// The number of requests that both programs submit, in any order.
    Places,
    /// The share of requests with a property.
    Share(fn(&[Request]) -> f64),
    /// A mean over all requests, relative to the other program's mean.
    Mean(fn(&[Request]) -> f64),
}

const RANDOM: &str = "number_ios=20000\nsize=1g\nnorandommap\nbs=4k\n";

/// The options that decide a number, a time or an order, with the lines of a job.
const CASES: [(&str, Figure, &str); 47] = [
    ("ba", Share(aligned), "rw=randread\nba=64k\n"),
    ("bs", Requests, "rw=read\nbs=64k\nsize=16m\n"),
    ("bsrange", Mean(length), "rw=randread\nbsrange=4k-64k\n"),
    ("bssplit", Share(small), "rw=randread\nbssplit=4k/60:16k/10:64k/30\n"),
    ("fdatasync", Share(flushes), "rw=randwrite\nfdatasync=8\n"),
    ("filename", Requests, "rw=read\nbs=4k\nfilename=a:b\nsize=3m\n"),
    ("filesize", Requests, "rw=read\nbs=4k\nfilesize=4m\n"),
    ("fsync", Share(flushes), "rw=randwrite\nfsync=4\n"),
    ("io_size", Requests, "rw=read\nbs=4k\nsize=4m\nio_size=6m\n"),
    ("kb_base", Requests, "kb_base=1000\nrw=read\nbs=512\nsize=1024k\n"),
    ("loops", Requests, "rw=read\nbs=4k\nsize=4m\nloops=3\n"),
    ("norandommap", Share(distinct), "rw=randread\nsize=64m\n"),
    ("nrfiles", Requests, "rw=read\nbs=4k\nsize=4m\nnrfiles=4\n"),
    ("number_ios", Requests, "rw=read\nbs=4k\nsize=64m\nnumber_ios=1000\n"),
    ("numjobs", Requests, "rw=read\nbs=4k\nsize=4m\nnumjobs=3\n"),
    ("offset", Order, "rw=read\nbs=16k\nsize=1m\noffset=256k\nfilesize=4m\n"),
    ("offset_increment", Requests, "rw=read\nbs=4k\nsize=1m\nnumjobs=4\noffset_increment=1m\n"),
    ("percentage_random", Share(adjacent), "rw=randread\npercentage_random=0\n"),
    ("ramp_time", Seconds, "rw=read\nbs=4k\nsize=16m\nrate_iops=1k\nramp_time=1\nruntime=2\n"),
    (
        "random_distribution",
        Share(popular),
        "rw=randread\nsize=64m\nrandom_distribution=zipf:1.1\n",
    ),
    (
        "random_distribution",
        Share(popular),
        "rw=randread\nsize=64m\nrandom_distribution=pareto:0.2\n",
    ),
    (
        "random_distribution",
        Share(popular),
        "rw=randread\nsize=64m\nrandom_distribution=normal:10\n",
    ),
    (
        "random_distribution",
        Share(popular),
        "rw=randread\nsize=64m\nrandom_distribution=zoned:50/5:30/15:20/\n",
    ),
    ("rate", PerSecond, "rw=read\nbs=4k\nsize=1g\nrate=16m\nruntime=2\n"),
    ("rate_iops", PerSecond, "rw=read\nbs=4k\nsize=1g\nrate_iops=3k\nruntime=2\n"),
    (
        "rate_process",
        PerSecond,
        "rw=read\nbs=4k\nsize=1g\nrate_iops=20k\nrate_process=poisson\nruntime=2\n",
    ),
    ("runtime", Seconds, "rw=read\nbs=4k\nsize=16m\nrate_iops=1k\nruntime=3\n"),
    ("rw", Order, "rw=read\nbs=4k\nsize=1m\n"),
    ("rw", Order, "rw=write:12k\nbs=4k\nsize=256k\n"),
    ("rw", Order, "rw=read:-8k\nbs=4k\nsize=1m\n"),
    ("rw", Places, "rw=randread\nbs=4k\nsize=4m\n"),
    ("rw", Requests, "rw=randtrim\nbs=4k\nsize=4m\n"),
    ("rwmixread", Share(reads), "rw=randrw\nrwmixread=70\n"),
    ("rwmixwrite", Share(reads), "rw=randrw\nrwmixwrite=20\n"),
    ("size", Requests, "rw=randread\nbs=4k\nsize=12m\n"),
    ("startdelay", Seconds, "rw=read\nbs=4k\nsize=1m\nrate_iops=256\nstartdelay=2\n"),
    (
        "steadystate",
        Seconds,
        "rw=read\nbs=4k\nsize=16m\nrate_iops=400\nruntime=20\nsteadystate=iops:5%\nsteadystate_duration=6\n",
    ),
    (
        "steadystate_duration",
        Seconds,
        "rw=read\nbs=4k\nsize=16m\nrate_iops=400\nruntime=20\nsteadystate=iops:5%\nsteadystate_duration=8\n",
    ),
    (
        "stonewall",
        Seconds,
        "[a]\nrw=read\nbs=4k\nsize=1m\nrate_iops=64\n[b]\nstonewall\nrw=read\nbs=4k\nsize=1m\nrate_iops=128\n",
    ),
    ("thinktime", PerSecond, "rw=read\nbs=4k\nsize=1g\nthinktime=20ms\nruntime=2\n"),
    (
        "thinktime_blocks",
        PerSecond,
        "rw=read\nbs=4k\nsize=1g\nthinktime=20ms\nthinktime_blocks=16\nruntime=2\n",
    ),
    ("time_based", Seconds, "rw=read\nbs=4k\nsize=1m\nrate_iops=1k\nruntime=3\ntime_based\n"),
    (
        "wait_for",
        Seconds,
        "[a]\nrw=read\nbs=4k\nsize=1m\nrate_iops=64\n[b]\nwait_for=a\nrw=read\nbs=4k\nsize=1m\nrate_iops=256\n",
    ),
    (
        "zonemode",
        Order,
        "rw=read\nbs=4k\nsize=2m\nfilesize=8m\nzonemode=strided\nzonesize=1m\nzoneskip=2m\n",
    ),
    (
        "zonerange",
        Order,
        "rw=read\nbs=4k\nsize=16m\nzonemode=strided\nzonesize=64k\nzonerange=256k\nio_size=1m\n",
    ),
    (
        "zonesize",
        Order,
        "rw=read\nbs=4k\nsize=16m\nzonemode=strided\nzonesize=32k\nzoneskip=96k\nio_size=1m\n",
    ),
    (
        "zoneskip",
        Order,
        "rw=read\nbs=4k\nfilesize=8m\nsize=3m\nzonemode=strided\nzonesize=1m\nzoneskip=6m\n",
    ),
];

/// The options that decide neither a number nor a time nor an order.
const OTHERS: [&str; 20] = [
    "buffer_compress_percentage",
    "buffer_pattern",
    "buffered",
    "continue_on_error",
    "direct",
    "directory",
    "do_verify",
    "fill_device",
    "ioengine",
    "iodepth",
    "log_avg_msec",
    "name",
    "steadystate_ramp_time",
    "sync",
    "verify",
    "write_bw_log",
    "write_hist_log",
    "write_iops_log",
    "write_lat_log",
    "zero_buffers",
];
/// The line of `docs/fio.md` before the table, and the line after it.
const MARKS: (&str, &str) = ("<!-- beside fio -->\n", "<!-- end -->\n");

/// Returns the text of a job file.
fn job(lines: &str) -> String {
    let name = if lines.starts_with('[') { "" } else { "[job]\n" };
    format!("[global]\nioengine=null\nfilename=target\n{name}{lines}")
}

/// Runs fio in `folder` with a job file, and returns its JSON output and the elapsed time in seconds.
fn run_fio(folder: &Path, text: &str) -> (Value, f64) {
    fs::write(folder.join("theirs.fio"), text).unwrap();
    let began = Instant::now();
    let output = Command::new("fio")
        .args(["--output-format=json", "theirs.fio"])
        .current_dir(folder)
        .output()
        .unwrap();
    let seconds = began.elapsed().as_secs_f64();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // fio prints notes before the document.
    let document = &text[text.find("\n{").map_or(0, |at| at + 1)..];
    (serde_json::from_str(document).unwrap(), seconds)
}

/// Returns the requests that fio submits for a job, from its log.
fn submitted_by_fio(folder: &Path, lines: &str) -> Vec<Request> {
    run_fio(folder, &format!("{}write_iolog=submitted.log\n", job(lines)));
    let log = fs::read_to_string(folder.join("submitted.log")).unwrap();
    log.lines().filter_map(request).collect()
}

/// Parses a line of an iolog, version 2 or 3.
fn request(line: &str) -> Option<Request> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., action, offset, length] = words[..] else { return None };
    let operation = match action {
        "read" => Operation::Read,
        "write" => Operation::Write,
        "trim" => Operation::Trim,
        "sync" | "datasync" => Operation::Flush,
        _ => return None,
    };
    Some((operation, offset.parse().ok()?, length.parse().ok()?))
}

/// Returns the first `count` requests that Lanemark submits for a job, one test after the other.
fn submitted_by_us(lines: &str, count: usize) -> Vec<Request> {
    let around = JobEnvironment {
        file: "job.fio",
        target_size: None,
        environment: &|_| None,
        include: &|_| Err("no request".to_owned()),
    };
    let jobs = fio::read(&job(lines), &around).unwrap_or_else(|errors| panic!("{errors}"));
    let is_last = |at: usize| at + 1 == jobs.workload.tests.len();
    let mut requests = Vec::new();
    for (at, test) in jobs.workload.tests.iter().enumerate() {
        let own = test.volume.unwrap().get().div_ceil(test.block.get()) as usize;
        let end = if is_last(at) { count } else { count.min(requests.len() + own) };
        let mut accesses = Accesses::new(test, StreamKey::from_seed(1)).unwrap();
        requests.resize_with(end.max(requests.len()), || {
            let access = accesses.next_access();
            (access.operation, access.offset.get(), access.length.get())
        });
    }
    requests
}

/// Runs Lanemark in `folder` with a job file, and returns its JSON output and the elapsed time in seconds.
fn run_lanemark(folder: &Path, text: &str) -> (Value, f64) {
    fs::write(folder.join("ours.fio"), text).unwrap();
    let arguments = ["bench", ".", "ours.fio", "--engine", "null", "--no-host", "--json"];
    let began = Instant::now();
    let printed = lanemark!(folder, &arguments).stdout();
    (serde_json::from_str(&printed).unwrap(), began.elapsed().as_secs_f64())
}

/// Returns the number of reads, writes and trims, and their number per second, of fio's JSON output.
fn totals_of_fio(document: &Value) -> (f64, f64) {
    let sums = |key: &str| {
        let jobs = document["jobs"].as_array().unwrap().iter();
        let of = |job: &Value| {
            ["read", "write", "trim"].iter().filter_map(|kind| job[kind][key].as_f64()).sum::<f64>()
        };
        jobs.map(of).sum()
    };
    (sums("total_ios"), sums("iops"))
}

/// Returns the number of reads, writes and trims, and their number per second, of Lanemark's JSON output.
fn totals_of_lanemark(document: &Value) -> (f64, f64) {
    let samples = document["tests"].as_array().unwrap().iter().map(|test| &test["samples"][0]);
    samples.fold((0.0, 0.0), |(count, rate), sample| {
        let kinds = ["reads", "writes", "trims"].iter();
        let own: f64 = kinds.filter_map(|kind| sample[kind]["latency"]["count"].as_f64()).sum();
        (count + own, rate + own * 1e9 / sample["elapsed_ns"].as_f64().unwrap())
    })
}

/// Returns fio's and Lanemark's figure of an option, and the greatest difference.
fn compare(folder: &Path, figure: &Figure, lines: &str) -> (f64, f64, f64) {
    let run = || (run_fio(folder, &job(lines)), run_lanemark(folder, &job(lines)));
    match figure {
        Requests => {
            let ((theirs, _), (ours, _)) = run();
            (totals_of_fio(&theirs).0, totals_of_lanemark(&ours).0, 0.0)
        }
        PerSecond => {
            let ((theirs, _), (ours, _)) = run();
            let fio = totals_of_fio(&theirs).1;
            (fio, totals_of_lanemark(&ours).1, 0.05 * fio)
        }
        Seconds => {
            let startup = job("rw=read\nbs=4k\nsize=4k\n");
            let ((_, theirs), (_, ours)) = run();
            let fio = theirs - run_fio(folder, &startup).1;
            (fio, ours - run_lanemark(folder, &startup).1, 0.05 * fio)
        }
        Order | Places => {
            let mut theirs = submitted_by_fio(folder, lines);
            let mut ours = submitted_by_us(lines, theirs.len());
            if matches!(figure, Places) {
                theirs.sort_unstable_by_key(|request| request.1);
                ours.sort_unstable_by_key(|request| request.1);
            }
            // In backward order, fio begins at 0 and then continues from the end.
            let begin = usize::from(lines.contains(":-"));
            let pairs = theirs.iter().zip(&ours).skip(begin);
            let equal = pairs.filter(|(one, other)| one == other).count();
            ((theirs.len() - begin) as f64, equal as f64, 0.0)
        }
        Share(of) | Mean(of) => {
            let lines = format!("{RANDOM}{lines}");
            let theirs = submitted_by_fio(folder, &lines);
            let ours = submitted_by_us(&lines, theirs.len());
            let fio = of(&theirs);
            let within = if matches!(figure, Mean(_)) { 0.015 * fio } else { 0.015 };
            (fio, of(&ours), within)
        }
    }
}

fn share(requests: &[Request], holds: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|request| holds(request)).count() as f64 / requests.len() as f64
}

fn aligned(requests: &[Request]) -> f64 {
    share(requests, |request| request.1 % 65_536 == 0)
}

fn small(requests: &[Request]) -> f64 {
    share(requests, |request| request.2 == 4096)
}

fn length(requests: &[Request]) -> f64 {
    requests.iter().map(|request| request.2 as f64).sum::<f64>() / requests.len() as f64
}

fn reads(requests: &[Request]) -> f64 {
    share(requests, |request| request.0 == Operation::Read)
}

fn flushes(requests: &[Request]) -> f64 {
    share(requests, |request| request.0 == Operation::Flush)
}

fn distinct(requests: &[Request]) -> f64 {
    let places: BTreeSet<u64> = requests.iter().map(|request| request.1).collect();
    places.len() as f64 / requests.len() as f64
}

/// Returns the share of requests that begin where the last request ended.
fn adjacent(requests: &[Request]) -> f64 {
    let pairs = requests.windows(2).filter(|pair| pair[0].1 + pair[0].2 == pair[1].1);
    pairs.count() as f64 / requests.len() as f64
}

/// Returns the share of requests to the most popular 5% of the places of 64 MiB.
fn popular(requests: &[Request]) -> f64 {
    let mut counts = vec![0usize; 16_384];
    requests.iter().for_each(|request| counts[(request.1 / 4096) as usize] += 1);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts[..counts.len() / 20].iter().sum::<usize>() as f64 / requests.len() as f64
}

/// Compares all cases, two at a time, because the programs wait most of the time.
fn compare_all() -> Vec<(f64, f64, f64)> {
    let lane = |first: usize| {
        let compared = CASES.iter().skip(first).step_by(2).map(|(_, figure, lines)| {
            let folder = TempDir::new().unwrap();
            compare(folder.path(), figure, lines)
        });
        compared.collect::<Vec<_>>()
    };
    let (even, odd) = thread::scope(|scope| {
        let odd = scope.spawn(|| lane(1));
        (lane(0), odd.join().unwrap())
    });
    (0..CASES.len()).map(|at| if at % 2 == 0 { even[at / 2] } else { odd[at / 2] }).collect()
}

/// Returns the row of a case in the table of `docs/fio.md`: the columns that do not depend on a run, then the figures.
fn row(option: &str, figure: &Figure, lines: &str, figures: Option<(f64, f64)>) -> String {
    let (name, decimals) = match figure {
        Requests => ("requests", 0),
        PerSecond => ("requests/s", 0),
        Seconds => ("seconds", 2),
        Order => ("requests in this order", 0),
        Places => ("requests in any order", 0),
        Share(_) => ("share", 3),
        Mean(_) => ("mean, bytes", 0),
    };
    let job = lines.trim_end().replace('\n', " ");
    let start = format!("| `{option}` | `{job}` | {name} |");
    figures.map_or(start.clone(), |(fio, ours)| {
        format!("{start} {fio:.decimals$} | {ours:.decimals$} |\n")
    })
}

#[test]
fn each_option_gives_the_figure_of_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        return lanemark_testbed::skipped("fio is not installed (apt-get install fio)");
    }
    let mut table =
        "| option | job | figure | fio | Lanemark |\n|---|---|---|---:|---:|\n".to_owned();
    let mut slow = Vec::new();
    for ((option, figure, lines), (fio, ours, within)) in CASES.iter().zip(compare_all()) {
        table += &row(option, figure, lines, Some((fio, ours)));
        let what = format!("{option}: {fio} of fio, {ours} of Lanemark, in {lines}");
        if (fio - ours).abs() > within {
            assert!(matches!(figure, PerSecond | Seconds), "{what}");
            slow.push(what);
        }
    }
    if !slow.is_empty() {
        return times_disagree(&slow.join("\n"));
    }
    let path = project().join("docs/fio.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(MARKS.0).unwrap();
    let (shown, after) = rest.split_once(MARKS.1).unwrap();
    if documents::is_writing() {
        fs::write(&path, format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1)).unwrap();
        return;
    }
    for (line, (option, figure, lines)) in shown.lines().skip(2).zip(&CASES) {
        assert!(line.starts_with(&row(option, figure, lines, None)), "{line}");
    }
    assert_eq!(shown.lines().count(), CASES.len() + 2);
}

#[test]
fn each_supported_option_is_compared_or_decides_no_figure() {
    let compared = CASES.iter().map(|(option, ..)| *option);
    let covered: BTreeSet<&str> = compared.chain(OTHERS).collect();
    let supported = fio::options().filter(|(_, support)| *support == OptionSupport::Read);
    assert_eq!(covered, supported.map(|(name, _)| name).collect());
    let text = fs::read_to_string(project().join("docs/fio.md")).unwrap();
    for option in OTHERS {
        assert!(text.contains(&format!("`{option}`")), "{option} is not in docs/fio.md");
    }
}
