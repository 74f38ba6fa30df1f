//! PostgreSQL on ext4 on a served disk whose power is cut during commits.
//!
//! The cut affects the whole machine: no later write reaches the drive, and the contents of the page cache are lost.
//! Therefore the drive stays off (`boot=600s`), the server is killed, and a new server serves the file that the cut
//! left. The journal of ext4 and PostgreSQL's log are replayed. Each row with an acknowledged commit must be present.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lanemark_oltp::managed;
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_testbed::{Mounted, skipped, tool};
use tempfile::TempDir;

use super::mounted::{DISKS, start};
use super::soak::end;
use super::{count, folder};

/// Maximum time to wait for the commits before a power cut.
const PATIENCE: Duration = Duration::from_secs(60);

const ARGUMENTS: [&str; 5] = ["--data", "disk", "--size", "1GiB", "--attach"];
/// Number of sessions that commit rows concurrently.
const SESSIONS: usize = 4;

/// PostgreSQL's programs, the account under which they run, and a folder for their socket.
struct Programs {
    folder: PathBuf,
    account: (u32, u32),
    sockets: TempDir,
}

impl Programs {
    fn find() -> Option<Self> {
        let Some(folder) = managed::programs() else {
            skipped("PostgreSQL is not installed");
            return None;
        };
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let fields = users.lines().find_map(|line| line.strip_prefix("postgres:"));
        let mut fields = fields.into_iter().flat_map(|line| line.split(':')).skip(1);
        let mut number = || fields.next().and_then(|text| text.parse::<u32>().ok());
        let (Some(user), Some(group)) = (number(), number()) else {
            skipped("there is no account `postgres`");
            return None;
        };
        let sockets = tempfile::tempdir().unwrap();
        chown(sockets.path(), Some(user), Some(group)).unwrap();
        Some(Self { folder, account: (user, group), sockets })
    }

    fn command(&self, name: &str) -> Command {
        let (user, group) = self.account;
        let mut command = Command::new("setpriv");
        command.args(["--clear-groups", "--reuid", &user.to_string(), "--regid"]);
        command.arg(group.to_string()).arg(self.folder.join(name)).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn psql(&self) -> Command {
        let mut command = Command::new("psql");
        command.args(["-X", "-q", "-A", "-t", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-h"]);
        command.arg(self.sockets.path()).args(["-d", "postgres"]);
        command
    }

    fn ask(&self, statement: &str) -> Result<String, String> {
        let done = self.psql().args(["-c", statement]).output().unwrap();
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
        } else {
            Err(String::from_utf8_lossy(&done.stderr).into_owned())
        }
    }

    fn make(&self, data: &Path) {
        fs::create_dir(data).unwrap();
        chown(data, Some(self.account.0), Some(self.account.1)).unwrap();
        let mut make = self.command("initdb");
        make.args(["-k", "-A", "trust", "-U", "postgres", "--no-locale", "-D"]).arg(data);
        assert!(make.status().unwrap().success());
    }

    /// Starts the server, which first recovers if necessary.
    fn serve(&self, data: &Path) -> Child {
        let log = fs::File::create(self.sockets.path().join("log")).unwrap();
        let mut serve = self.command("postgres");
        serve.arg("-D").arg(data).arg("-k").arg(self.sockets.path());
        serve.args(["-h", "", "-c", "shared_buffers=16MB", "-c", "checkpoint_timeout=30s"]);
        // With this setting, a killed server does not leave shared memory.
        serve.args(["-c", "dynamic_shared_memory_type=mmap"]);
        let mut server = serve.stderr(log).spawn().unwrap();
        let began = Instant::now();
        while self.ask("select 1").is_err() {
            let ended = server.try_wait().unwrap();
            let log = || fs::read_to_string(self.sockets.path().join("log")).unwrap_or_default();
            let is_late = began.elapsed() > Duration::from_secs(120);
            assert!(ended.is_none() && !is_late, "{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

/// Commits rows until the session ends, and returns the number of the last acknowledged row.
fn commit(mut psql: Command, session: usize, from: u64, all: &AtomicU64) -> u64 {
    psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = psql.spawn().unwrap();
    let mut statements = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    let mut last = from;
    let mut line = String::new();
    loop {
        let next = last + 1;
        let statement = format!(
            "insert into rows values ({session}, {next}, repeat(md5('{session} {next}'), 20)) returning number;\n"
        );
        line.clear();
        let is_answered = statements.write_all(statement.as_bytes()).is_ok()
            && answers.read_line(&mut line).is_ok_and(|read| read > 0)
            && line.trim() == next.to_string();
        if !is_answered {
            break;
        }
        last = next;
        all.fetch_add(1, Ordering::Relaxed);
    }
    let _ = child.kill();
    let _ = child.wait();
    last
}

#[test]
fn postgresql_has_every_committed_row_after_power_cuts() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skipped("a disk, which only root can have");
    }
    let Some(programs) = Programs::find() else { return };
    let mut random = Rng::new(StreamKey::from_seed(18));
    let mut committed = [0u64; SESSIONS];
    let mut kept = Some(folder());
    let mut lost = 0;
    let cuts = count(2, 50);
    for cut in 0..=cuts {
        let seed = (cut + 1).to_string();
        let arguments = [&ARGUMENTS[..], &["--seed", &seed]].concat();
        let Some(server) = start(kept.take().unwrap(), &arguments) else { return };
        let node = server.addresses[1].clone();
        if cut == 0 {
            tool("mkfs.ext4", &["-q", "-F", &node]).unwrap();
        }
        let Some(mounted) = Mounted::with(&[&node]) else { return };
        fs::set_permissions(mounted.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let data = mounted.path().join("data");
        if cut == 0 {
            programs.make(&data);
        }
        let mut database = programs.serve(&data);
        if cut == 0 {
            let table = "create table rows (session int, number bigint, text text, primary key (session, number))";
            programs.ask(table).unwrap();
        }
        for (session, last) in committed.iter_mut().enumerate() {
            let sound = "text = repeat(md5(session || ' ' || number), 20)";
            let sums = format!(
                "select count(*), count(*) filter (where {sound}), coalesce(max(number), 0) from rows where session = {session}"
            );
            let found = programs.ask(&sums).unwrap();
            let found: Vec<u64> = found.split('|').map(|field| field.parse().unwrap()).collect();
            // The last row may be present although its commit was not acknowledged.
            assert!(found[0] == *last || found[0] == *last + 1, "cut {cut}: {found:?}, not {last}");
            assert!(found[1] == found[0] && found[2] == found[0], "cut {cut}: {found:?}");
            *last = found[0];
        }
        if cut == cuts {
            assert!(programs.ask("checkpoint").is_ok());
            let stop = Command::new("kill").args(["-INT", &database.id().to_string()]).status();
            assert!(stop.unwrap().success() && database.wait().unwrap().success());
            drop(mounted);
            tool("e2fsck", &["-fn", &node]).unwrap();
            return finish(server, cuts, &committed, lost);
        }
        // The seventh line contains the key and number of the shared memory that a killed server leaves.
        let mark = fs::read_to_string(data.join("postmaster.pid")).unwrap();
        let segment = mark.lines().nth(6).and_then(|line| line.split_whitespace().last());
        let segment = segment.unwrap().to_owned();
        // The power is cut after a number of commits instead of a time, so that a busy machine commits as many.
        let enough = 12 + random.below(60);
        let all = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let sessions: Vec<_> = (0..SESSIONS)
                .map(|session| {
                    let psql = programs.psql();
                    let from = committed[session];
                    let all = &all;
                    scope.spawn(move || commit(psql, session, from, all))
                })
                .collect();
            let began = Instant::now();
            while all.load(Ordering::Relaxed) < enough && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(server.control(&["cut", "600s"]).status.success());
            std::thread::sleep(Duration::from_millis(20));
            let folder = server.kill();
            let _ =
                Command::new("pkill").args(["-KILL", "-P", &database.id().to_string()]).status();
            database.kill().unwrap();
            database.wait().unwrap();
            let _ = tool("ipcrm", &["-m", &segment]);
            for (session, thread) in sessions.into_iter().enumerate() {
                committed[session] = thread.join().unwrap();
            }
            kept = Some(folder);
        });
        drop(mounted);
        let journal = kept.as_ref().unwrap().path().join("disk.lanemark");
        let journal = fs::read_to_string(journal).unwrap();
        let line = journal.lines().find(|line| line.starts_with("cut power cut")).unwrap();
        lost += u64::from(!line.contains("no data is lost"));
    }
}

fn finish(server: super::Server, cuts: u64, committed: &[u64], lost: u64) {
    let rows: u64 = committed.iter().sum();
    println!("{cuts} power cuts, {lost} with lost writes; all {rows} rows are present");
    assert!(rows > 20 && (lost > 0 || cuts < 10), "{rows} rows, {lost} cuts that lost anything");
    end(server);
}
