//! Each row of the table in `docs/fio.md` is a job that shows the effect of an option: fio runs it with its null
//! engine, which answers at once, and Lanemark runs or reads the same job. Where counting decides, the figures are
//! equal; where chance decides, they differ by up to 0.015; where timing decides, by up to 5%. `LANEMARK_DOCS=write`
//! writes the figures into the table.

use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use lanemark_formats::fio::{self, JobEnvironment, OptionSupport};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::{Accesses, Operation};
use lanemark_testbed::{documents, lanemark, project, times_disagree};
use serde_json::Value;
use tempfile::TempDir;

/// A request: its kind, its offset and its length.
type Request = (Operation, u64, u64);

/// Both figures of a row, and their maximum difference.
struct FigurePair {
    fio: f64,
    ours: f64,
    within: f64,
    is_timed: bool,
}

/// The lines of `docs/fio.md` before and after the table.
const MARKS: [&str; 2] = ["<!-- compared with fio -->\n", "<!-- end -->\n"];
/// The lines before a job whose figure is a share or a mean.
const RANDOM: &str = "number_ios=20000\nsize=1g\nnorandommap\nbs=4k\n";
/// Maximum difference of the time that the programs need to start and to end, in seconds.
const STARTUP: f64 = 0.1;

/// Returns the text of a job file.
fn job(lines: &str) -> String {
    let name = if lines.starts_with('[') { "" } else { "[job]\n" };
    format!("[global]\nioengine=null\nfilename=target\n{name}{lines}\n")
}

/// Runs fio in `folder` with a job file, and returns its JSON output and the elapsed time in seconds.
fn run_fio(folder: &Path, text: &str) -> (Value, f64) {
    fs::write(folder.join("job.fio"), text).unwrap();
    let mut fio = Command::new("fio");
    fio.args(["--output-format=json", "job.fio"]).current_dir(folder);
    let began = Instant::now();
    let output = fio.output().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    // fio prints notes before the document.
    let document = &printed[printed.find("\n{").map_or(0, |at| at + 1)..];
    (serde_json::from_str(document).unwrap(), seconds)
}

/// Runs Lanemark in `folder` with a job file, and returns its JSON output and the elapsed time in seconds.
fn run_lanemark(folder: &Path, text: &str) -> (Value, f64) {
    fs::write(folder.join("job.fio"), text).unwrap();
    let arguments = ["bench", ".", "job.fio", "--engine", "null", "--no-host", "--buffered"];
    let arguments = [arguments.as_slice(), &["--json", "--no-save"]].concat();
    let began = Instant::now();
    let printed = lanemark!(folder, &arguments).stdout();
    (serde_json::from_str(&printed).unwrap(), began.elapsed().as_secs_f64())
}

/// Returns the number of reads, writes and trims, and their number per second, of fio's JSON output.
fn totals_of_fio(document: &Value) -> (f64, f64) {
    let sum = |key: &str| {
        let jobs = document["jobs"].as_array().unwrap().iter();
        let kinds = jobs.flat_map(|job| ["read", "write", "trim"].map(|kind| &job[kind][key]));
        kinds.filter_map(Value::as_f64).sum()
    };
    (sum("total_ios"), sum("iops"))
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
    let tests = &jobs.workload.tests;
    let mut requests = Vec::new();
    for (number, test) in tests.iter().enumerate() {
        let own = test.volume.unwrap().get().div_ceil(test.block.get()) as usize;
        let end = if number + 1 < tests.len() { count.min(requests.len() + own) } else { count };
        let mut accesses = Accesses::new(test, StreamKey::from_seed(1)).unwrap();
        requests.resize_with(end.max(requests.len()), || {
            let access = accesses.next_access();
            (access.operation, access.offset.get(), access.length.get())
        });
    }
    requests
}

/// Compares one figure of a job.
fn compare(figure: &str, lines: &str) -> FigurePair {
    // In memory, because a busy disk delays the creation of the target.
    let temporary = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
    let folder = temporary.path();
    let run = |lines| (run_fio(folder, &job(lines)), run_lanemark(folder, &job(lines)));
    let exact = |fio, ours| FigurePair { fio, ours, within: 0.0, is_timed: false };
    match figure {
        "requests" => {
            let ((theirs, _), (ours, _)) = run(lines);
            exact(totals_of_fio(&theirs).0, totals_of_lanemark(&ours).0)
        }
        "requests/s" => {
            let ((theirs, _), (ours, _)) = run(lines);
            let fio = totals_of_fio(&theirs).1;
            FigurePair {
                fio,
                ours: totals_of_lanemark(&ours).1,
                within: 0.05 * fio,
                is_timed: true,
            }
        }
        "seconds" => {
            let ((_, theirs), (_, ours)) = run(lines);
            let startup = run("rw=read\nbs=4k\nsize=4k");
            let fio = theirs - startup.0.1;
            let within = 0.05 * fio + STARTUP;
            FigurePair { fio, ours: ours - startup.1.1, within, is_timed: true }
        }
        "requests in this order" | "requests in any order" => {
            let mut theirs = submitted_by_fio(folder, lines);
            let mut ours = submitted_by_us(lines, theirs.len());
            if figure.ends_with("any order") {
                theirs.sort_unstable_by_key(|request| request.1);
                ours.sort_unstable_by_key(|request| request.1);
            }
            // In backward order, fio begins at 0 and then continues from the end.
            let begin = usize::from(lines.contains(":-"));
            let pairs = theirs.iter().zip(&ours).skip(begin);
            let equal = pairs.filter(|(one, other)| one == other).count();
            exact((theirs.len() - begin) as f64, equal as f64)
        }
        _ => {
            let lines = format!("{RANDOM}{lines}");
            let theirs = submitted_by_fio(folder, &lines);
            let ours = submitted_by_us(&lines, theirs.len());
            let pair = [theirs, ours].map(|requests| property(figure, &requests));
            let within = 0.015 * pair[0].max(1.0);
            FigurePair { fio: pair[0], ours: pair[1], within, is_timed: false }
        }
    }
}

/// Returns a property of many requests that depends on chance.
fn property(figure: &str, requests: &[Request]) -> f64 {
    let share = |holds: fn(&Request) -> bool| requests.iter().filter(|one| holds(one)).count();
    let count = match figure {
        "mean length, bytes" => requests.iter().map(|request| request.2 as usize).sum(),
        "share at multiples of 64 KiB" => share(|request| request.1 % 65_536 == 0),
        "share of 4 KiB" => share(|request| request.2 == 4096),
        "share of reads" => share(|request| request.0 == Operation::Read),
        "share of flushes" => share(|request| request.0 == Operation::Flush),
        "share at new places" => {
            requests.iter().map(|request| request.1).collect::<BTreeSet<u64>>().len()
        }
        "share that is adjacent" => {
            requests.windows(2).filter(|pair| pair[0].1 + pair[0].2 == pair[1].1).count()
        }
        // Of the places of 64 MiB.
        "share at 5% of the places" => {
            let mut counts = vec![0usize; 16_384];
            requests.iter().for_each(|request| counts[(request.1 / 4096) as usize] += 1);
            counts.sort_unstable_by(|a, b| b.cmp(a));
            counts[..counts.len() / 20].iter().sum()
        }
        _ => panic!("docs/fio.md has the unknown figure `{figure}`"),
    };
    count as f64 / requests.len() as f64
}

/// Returns the option, the job and the figure of a row of the table.
fn cells(row: &str) -> [&str; 3] {
    let [option, job, figure, ..] = row.split(" | ").collect::<Vec<_>>()[..] else {
        panic!("not a row: {row}")
    };
    [option, job, figure].map(|cell| cell.trim_matches(['|', ' ', '`']))
}

/// Compares the figures of all rows, two rows at a time, because the programs wait most of the time.
fn compare_all(rows: &[&str]) -> Vec<FigurePair> {
    let next = AtomicUsize::new(0);
    let compare_next = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let [_, job, figure] = cells(rows.get(number)?);
        Some((number, compare(figure, &job.replace(' ', "\n"))))
    };
    let mut pairs: Vec<(usize, FigurePair)> = thread::scope(|scope| {
        let lanes =
            [(); 2].map(|()| scope.spawn(|| iter::from_fn(compare_next).collect::<Vec<_>>()));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    pairs.sort_by_key(|(number, _)| *number);
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

#[test]
fn each_option_gives_the_figure_of_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        return lanemark_testbed::skipped("fio is not installed (apt-get install fio)");
    }
    let path = project().join("docs/fio.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(MARKS[0]).unwrap();
    let (table, after) = rest.split_once(MARKS[1]).unwrap();
    let rows: Vec<&str> = table.lines().skip(2).collect();
    let mut written: Vec<String> = table.lines().take(2).map(str::to_owned).collect();
    let mut slow = Vec::new();
    for (row, pair) in rows.iter().zip(compare_all(&rows)) {
        let [option, job, figure] = cells(row);
        let FigurePair { fio, ours, within, is_timed } = pair;
        let what = format!("{fio} of fio, {ours} of Lanemark: {row}");
        if (fio - ours).abs() > within {
            assert!(is_timed, "{what}");
            slow.push(what);
        }
        let decimals = if figure == "seconds" || figure.starts_with("share") { 2 } else { 0 };
        written.push(format!(
            "| `{option}` | `{job}` | {figure} | {fio:.decimals$} | {ours:.decimals$} |"
        ));
    }
    if !slow.is_empty() {
        times_disagree(&slow.join("\n"));
    } else if documents::is_writing() {
        let table = written.join("\n");
        fs::write(&path, format!("{before}{}{table}\n{}{after}", MARKS[0], MARKS[1])).unwrap();
    }
}

#[test]
fn each_supported_option_is_compared_or_decides_no_figure() {
    let text = fs::read_to_string(project().join("docs/fio.md")).unwrap();
    let (table, after) = text.split_once(MARKS[0]).unwrap().1.split_once(MARKS[1]).unwrap();
    let others = after.split("\n\n").next().unwrap().split('`').skip(1).step_by(2);
    let mut listed: BTreeSet<&str> = table.lines().skip(2).map(|row| cells(row)[0]).collect();
    listed.extend(others);
    let supported = fio::options().filter(|(_, support)| *support == OptionSupport::Read);
    assert_eq!(listed, supported.map(|(name, _)| name).collect());
}
