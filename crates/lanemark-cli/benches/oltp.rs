//! Transactions on PostgreSQL: the cost of loading, of a transaction and of a thousand users, compared with
//! PostgreSQL's own COPY and with go-tpc.
//!
//! All programs use one dedicated server in /tmp, through its socket. The server flushes its log at each commit. The
//! programs alternate, and ratios compare runs of the same round, because the load of other programs on a shared
//! machine varies over seconds.
//!
//! - *Loading*: the rows of `lanemark oltp load`, compared with the same rows loaded from files by psql's `\copy …
//!   (FORMAT binary)` and by the server's own `COPY … FROM 'file'`. All three use the same number of connections and
//!   one transaction per part of the data, then create the same keys and indexes and run ANALYZE. The rates are printed
//!   for the rows only and for the whole process.
//! - *A transaction*: the marginal processor time of the driver, from `getrusage` for its process. This is the
//!   difference between a long run and a short run, divided by the difference in transactions, so it excludes start-up.
//!   The loops are closed, with the same number of users and warehouses, prepared statements and no think times.
//!   `LANEMARK_GO_TPC` contains go-tpc's path.
//! - *A thousand users*: the driver's maximum resident memory, on a hundred small warehouses.
//!
//! `LANEMARK_OLTP_ROUNDS` sets the number of rounds, and `LANEMARK_OLTP_WAREHOUSES` the number of warehouses.
//! `LANEMARK_OLTP_ONLY` selects one of `loading`, `transactions` and `crowd`. Without `--bench`, one tiny round runs.
//! Without PostgreSQL, the benchmark is skipped with a message.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lanemark_oltp::Database;
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};
use lanemark_oltp::schema::{Scale, Table};

struct Extent {
    rounds: usize,
    /// Scale of the loaded data.
    scale: Scale,
    users: u32,
    /// Seconds of a short run, and seconds of a long run.
    seconds: (u64, u64),
    /// Number of users for which memory is measured.
    crowd: u32,
}

static STOP: AtomicBool = AtomicBool::new(false);

/// A server and the settings of its connections.
struct Bench {
    folder: tempfile::TempDir,
    database: Database,
    name: String,
    psql: PathBuf,
    extent: Extent,
}

/// The cost of a program: its processor seconds, its maximum resident memory in MB, and its output.
struct Taken {
    seconds: f64,
    megabytes: f64,
    printed: String,
}

/// Runs a program to its end.
#[expect(clippy::zombie_processes, reason = "it is waited for where its use is read")]
fn measure(command: &mut Command, folder: &Path) -> Taken {
    let output = folder.join("output");
    let file = std::fs::File::create(&output).expect("a file");
    let errors = file.try_clone().expect("a file");
    let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn().expect("it runs");
    let (status, usage) = usage_of(&child);
    let printed = std::fs::read_to_string(&output).expect("text");
    assert!(status.success(), "{command:?}: {printed}");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Taken {
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        megabytes: usage.ru_maxrss as f64 * 1024.0 / 1e6,
        printed,
    }
}

/// Waits for a child, and returns its exit status and its use of resources (wait4(2)).
fn usage_of(child: &Child) -> (ExitStatus, libc::rusage) {
    let mut status = 0;
    let id = libc::pid_t::try_from(child.id()).expect("a process's number");
    // SAFETY: zero is a valid value of every field, and the call writes only to the two given locations.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(id, &raw mut status, 0, &raw mut usage), id);
        usage
    };
    (ExitStatus::from_raw(status), usage)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Formats the median of some figures, with their minimum and maximum.
fn median_and_range(figures: &[f64], digits: usize) -> String {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.last()) {
        (Some(least), Some(most)) => {
            let middle = sorted[sorted.len() / 2];
            format!("{middle:.digits$} ({least:.digits$} to {most:.digits$})")
        }
        _ => "–".to_owned(),
    }
}

/// Returns the ratios of figures that were measured in succession.
fn ratios(ours: &[f64], others: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(others).map(|(own, other)| own / other).collect();
    median_and_range(&ratios, 2)
}

impl Bench {
    fn script(&self, sql: &str) {
        self.database.connect().expect("a connection").script(sql).expect("it is done");
    }

    fn texts(&self, sql: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut connection = self.database.connect().expect("a connection");
        connection.scan(sql, &mut |row| found.push(format!("{:?}", row[0]))).expect("rows");
        let bare =
            |text: &String| text.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned();
        found.iter().map(bare).collect()
    }

    fn psql(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.psql);
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", text(script), &self.name]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Loads with Lanemark. Returns the seconds until all rows were loaded, the seconds until the end, and the number
    /// of rows.
    fn load(&self, scale: Scale, jobs: usize) -> (f64, f64, u64) {
        self.script("DROP SCHEMA IF EXISTS lanemark_oltp CASCADE; CHECKPOINT");
        let options = LoadOptions { scale, jobs, overwrite: None };
        let report = load(&self.database, &options, &STOP, &|_, _| ()).expect("it is loaded");
        (report.rows_seconds, report.seconds, report.rows)
    }

    fn file(&self, part: i64, table: Table) -> PathBuf {
        self.folder.path().join("rows").join(format!("{part}.{}", table.name()))
    }

    /// Returns the parts of the data and their tables, in the order in which Lanemark loads them.
    fn parts(&self) -> impl Iterator<Item = (i64, &'static [Table])> + use<> {
        let tables = |part| if part == 0 { &Table::ALL[..1] } else { &Table::ALL[1..] };
        (0..=self.extent.scale.warehouses).map(move |part| (part, tables(part)))
    }

    /// Writes the loaded data to files, one per table of each part, and returns their total size.
    fn dump(&self) -> u64 {
        let rows = self.folder.path().join("rows");
        std::fs::create_dir_all(&rows).expect("a folder");
        // The server reads these files later, under its own account.
        std::fs::set_permissions(&rows, PermissionsExt::from_mode(0o755)).expect("ours");
        let mut script = String::new();
        let mut files = Vec::new();
        for (part, tables) in self.parts() {
            for &table in tables {
                let file = self.file(part, table);
                let warehouse = table.columns().iter().map(|(name, _)| *name).find(|name| {
                    ["w_id", "s_w_id", "d_w_id", "c_w_id", "h_w_id", "o_w_id", "no_w_id", "ol_w_id"]
                        .contains(name)
                });
                let only = warehouse.map_or(String::new(), |name| format!("WHERE {name} = {part}"));
                script += &format!(
                    "\\copy (SELECT * FROM lanemark_oltp.{} {only}) TO '{}' (FORMAT binary)\n",
                    table.name(),
                    text(&file)
                );
                files.push(file);
            }
        }
        let path = self.folder.path().join("dump.sql");
        std::fs::write(&path, script).expect("a file");
        assert!(self.psql(&path).status().expect("psql runs").success());
        files.iter().map(|file| file.metadata().expect("a file").len()).sum()
    }

    /// Copies the same rows into empty tables. Returns the seconds until all rows were loaded, and the seconds until
    /// keys and indexes also existed.
    fn copy(&self, jobs: usize, server_reads: bool) -> (f64, f64) {
        let mut sql = String::from("DROP SCHEMA IF EXISTS copied CASCADE; CREATE SCHEMA copied;");
        for table in Table::ALL {
            let name = table.name();
            sql += &format!("CREATE TABLE copied.{name} (LIKE lanemark_oltp.{name});");
        }
        self.script(&(sql + "CHECKPOINT"));
        let copy = if server_reads { "COPY" } else { "\\copy" };
        let end = if server_reads { ";" } else { "" };
        let mut scripts = vec![String::new(); jobs];
        for (part, tables) in self.parts() {
            let script = &mut scripts[part as usize % jobs];
            *script += "BEGIN;\n";
            for &table in tables {
                let name = table.name();
                let file = self.file(part, table);
                *script +=
                    &format!("{copy} copied.{name} FROM '{}' (FORMAT binary){end}\n", text(&file));
            }
            *script += "COMMIT;\n";
        }
        let indexes = "SELECT replace(indexdef, 'lanemark_oltp.', 'copied.') || ';' FROM pg_indexes \
            WHERE schemaname = 'lanemark_oltp' AND tablename NOT LIKE 'lanemark%' ORDER BY indexname";
        let after = format!("BEGIN;{}COMMIT;ANALYZE;", self.texts(indexes).concat());
        let begun = Instant::now();
        let started: Vec<Child> = (0..)
            .zip(scripts)
            .map(|(job, script)| {
                let path = self.folder.path().join(format!("copy.{job}.sql"));
                std::fs::write(&path, script).expect("a file");
                self.psql(&path).spawn().expect("psql runs")
            })
            .collect();
        started.into_iter().for_each(|mut job| assert!(job.wait().expect("it ends").success()));
        let rows = begun.elapsed().as_secs_f64();
        self.script(&after);
        let all = begun.elapsed().as_secs_f64();
        self.script("DROP SCHEMA copied CASCADE");
        (rows, all)
    }

    /// Compares loading with COPY.
    fn loading(&self) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scale = self.extent.scale;
        let (_, _, rows) = self.load(scale, cores);
        let bytes = self.dump();
        println!(
            "\nLoading {} warehouses: {rows} rows, {} MB of COPY data",
            scale.warehouses,
            bytes / 1_000_000
        );
        let mut jobs = vec![1, cores];
        jobs.dedup();
        for jobs in jobs {
            let mut ours = Vec::new();
            let mut client = Vec::new();
            let mut server = Vec::new();
            for _ in 0..self.extent.rounds {
                let (until, all, _) = self.load(scale, jobs);
                ours.push((until, all));
                client.push(self.copy(jobs, false));
                server.push(self.copy(jobs, true));
            }
            let rate = |one: &[(f64, f64)]| -> Vec<f64> {
                one.iter().map(|(until, _)| rows as f64 / until).collect()
            };
            let whole = |one: &[(f64, f64)]| -> Vec<f64> {
                one.iter().map(|(_, all)| rows as f64 / all).collect()
            };
            println!(
                "{jobs} at once, thousand rows a second (and MB of COPY data) until all rows are there:"
            );
            for (name, times) in [("lanemark", &ours), ("\\copy", &client), ("COPY", &server)] {
                let rates = rate(times);
                let thousands: Vec<f64> = rates.iter().map(|rate| rate / 1e3).collect();
                let megabytes: Vec<f64> =
                    rates.iter().map(|rate| rate / rows as f64 * bytes as f64 / 1e6).collect();
                let ends: Vec<f64> = whole(times).iter().map(|one| one / 1e3).collect();
                println!(
                    "  {name:<10}{:>24}{:>26} MB/s; with keys and indexes {}",
                    median_and_range(&thousands, 0),
                    median_and_range(&megabytes, 1),
                    median_and_range(&ends, 0)
                );
            }
            println!(
                "  ratios of one round, rows: {} of \\copy, {} of COPY (target 0.8); with keys and indexes: {}, {}",
                ratios(&rate(&ours), &rate(&client)),
                ratios(&rate(&ours), &rate(&server)),
                ratios(&whole(&ours), &whole(&client)),
                ratios(&whole(&ours), &whole(&server))
            );
        }
    }

    /// Runs Lanemark, and returns the resources used and the number of completed transactions.
    fn run(&self, users: u32, seconds: u64) -> (Taken, f64) {
        let result = self.folder.path().join("result.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
        command.args(["oltp", "run", "--database", &self.name, "--repeats", "1", "--ramp", "0s"]);
        command.args(["--users", &users.to_string(), "--duration", &format!("{seconds}s")]);
        let _ = std::fs::remove_file(&result);
        let taken = measure(command.args(["--out", text(&result)]), self.folder.path());
        let saved = std::fs::read_to_string(&result).expect("a result");
        let saved: serde_json::Value = serde_json::from_str(&saved).expect("JSON");
        let tpm = saved["repeats"][0]["tpm"].as_f64().expect("a number");
        (taken, tpm / 60.0 * seconds as f64)
    }

    fn go_tpc(&self, program: &str, action: &str, seconds: u64) -> Command {
        let host = text(self.folder.path()).to_owned() + "/server/socket";
        // go-tpc uses the last of the given hosts, sorted by name. A dot sorts before a path, so the socket's folder is
        // used.
        let mut command = Command::new(program);
        command
            .args(["tpcc", action, "-d", "postgres", "-U", "lanemark", "-p", "", "-D", "gotpc"])
            .args(["-H", ".", "-P", "5432", "-T", &self.extent.users.to_string()])
            .args(["--warehouses", &self.extent.scale.warehouses.to_string()])
            .args(["--conn-params", &format!("sslmode=disable&host={host}")]);
        match action {
            "run" => command.args(["--time", &format!("{seconds}s"), "--interval", "1h"]),
            _ => command.arg("--no-check"),
        };
        command
    }

    /// Runs go-tpc.
    fn run_go_tpc(&self, program: &str, seconds: u64) -> (Taken, f64) {
        let taken = measure(&mut self.go_tpc(program, "run", seconds), self.folder.path());
        let counts = taken.printed.lines().filter_map(|line| {
            let line = line.strip_prefix("[Summary] ")?;
            let count = line.split_once("Count: ")?.1.split(',').next()?;
            if line.contains("_ERR") { None } else { count.parse::<f64>().ok() }
        });
        let count = counts.sum();
        (taken, count)
    }

    /// Measures the cost of a transaction, compared with go-tpc.
    fn transactions(&self) {
        let Extent { rounds, scale, users, seconds: (short, long), .. } = self.extent;
        self.load(scale, 2);
        let program = std::env::var("LANEMARK_GO_TPC").ok();
        println!(
            "\nA transaction: {users} users on {} warehouses, {long} s less {short} s",
            scale.warehouses
        );
        match &program {
            Some(program) => {
                self.script("DROP DATABASE IF EXISTS gotpc");
                self.script("CREATE DATABASE gotpc");
                measure(&mut self.go_tpc(program, "prepare", 0), self.folder.path());
            }
            None => println!("  go-tpc is not there: give its path in LANEMARK_GO_TPC"),
        }
        self.script("CHECKPOINT");
        let marginal = |run: &dyn Fn(u64) -> (Taken, f64)| {
            let (before, few) = run(short);
            let (after, many) = run(long);
            let cost = (after.seconds - before.seconds) / (many - few) * 1e6;
            (cost, many * 60.0 / long as f64)
        };
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..rounds {
            ours.push(marginal(&|seconds| self.run(users, seconds)));
            if let Some(program) = &program {
                theirs.push(marginal(&|seconds| self.run_go_tpc(program, seconds)));
            }
        }
        let costs =
            |one: &[(f64, f64)]| -> Vec<f64> { one.iter().map(|(cost, _)| *cost).collect() };
        let rates =
            |one: &[(f64, f64)]| -> Vec<f64> { one.iter().map(|(_, rate)| *rate).collect() };
        for (name, found) in [("lanemark", &ours), ("go-tpc", &theirs)] {
            println!(
                "  {name:<10}{:>26} us of processor time, {:>28} tpm",
                median_and_range(&costs(found), 1),
                median_and_range(&rates(found), 0)
            );
        }
        println!(
            "  ratios of one round: time {} (target 0.5), tpm {} (target 1.5)",
            ratios(&costs(&ours), &costs(&theirs)),
            ratios(&rates(&ours), &rates(&theirs))
        );
    }

    /// Measures the memory of many users.
    fn crowd(&self) {
        let users = self.extent.crowd;
        let scale = Scale { warehouses: i64::from(users.div_ceil(10)), divisor: 100, seed: 1 };
        println!("\n{users} users on {} warehouses of 1/100:", scale.warehouses);
        self.load(scale, 2);
        let (taken, count) = self.run(users, self.extent.seconds.1);
        println!("  {:.0} MB maximum (target 200), {count:.0} transactions", taken.megabytes);
    }
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let Some(programs) = programs() else {
        println!("skipped: PostgreSQL is not installed (package postgresql)");
        return;
    };
    let variable = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let rounds = variable("LANEMARK_OLTP_ROUNDS").map_or(5, |rounds| rounds as usize);
    let warehouses = variable("LANEMARK_OLTP_WAREHOUSES").map_or(2, i64::from);
    let scale = |warehouses, divisor| Scale { warehouses, divisor, seed: 1 };
    let extent = if full {
        Extent { rounds, scale: scale(warehouses, 1), users: 8, seconds: (4, 16), crowd: 1000 }
    } else {
        Extent { rounds: 1, scale: scale(1, 100), users: 2, seconds: (1, 2), crowd: 10 }
    };
    // A socket's path must be short, and the server may run under a different account.
    let folder = tempfile::tempdir_in("/tmp").expect("a temporary folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("ours");
    let options = ServerOptions {
        shared_buffers_mib: 512,
        connections_max: extent.crowd + 20,
        ..ServerOptions::default()
    };
    let server = ManagedServer::start(&folder.path().join("server"), &options).expect("a server");
    let database = server.database();
    let name = server.name("lanemark");
    let settings = database.settings().expect("settings");
    let settings: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let machine = lanemark_measure::machine();
    println!("{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel);
    println!("PostgreSQL: {}", settings.join(", "));
    let beside = programs.join("psql");
    let psql = if beside.is_file() { beside } else { PathBuf::from("psql") };
    let bench = Bench { folder, database, name, psql, extent };
    let only = std::env::var("LANEMARK_OLTP_ONLY").ok();
    let parts: [(&str, fn(&Bench)); 3] = [
        ("loading", Bench::loading),
        ("transactions", Bench::transactions),
        ("crowd", Bench::crowd),
    ];
    for (name, part) in parts {
        if only.as_deref().is_none_or(|only| only == name) {
            part(&bench);
        }
    }
}
