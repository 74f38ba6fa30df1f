//! A PostgreSQL server that Lanemark runs in a folder, with the installed programs.
//!
//! The server listens only on a socket in its folder, and accepts every user who may enter that folder. PostgreSQL
//! refuses to run as root, so root starts the server under another account of the machine. A folder that contains other
//! files is rejected.
//!
//! The server ends with its driver, even if the driver is killed: when the thread that started the server ends, the
//! kernel sends the server a signal (`PR_SET_PDEATHSIG`, prctl(2)). A lock on the folder's mark prevents a second
//! driver from stopping the server of the first.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_files::companion::{self, CompanionError};
use lanemark_files::removal::remove_tree;
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, fchown, flock};
use rustix::process::{Gid, Pid, Signal, Uid, getpid, getppid, set_parent_process_death_signal};

use crate::database::Database;
use crate::error::OltpError;
use crate::postgres::PostgresConnection;
use crate::session::Connection as _;

/// The file that marks a folder as Lanemark's.
const MARK: &str = "lanemark-managed";
const MARK_TEXT: &[u8] = b"A PostgreSQL server that Lanemark created.\n";
/// Maximum time until a server answers, including its recovery after a crash.
const START_MAX: Duration = Duration::from_secs(120);
/// Maximum length of the path of the socket's folder; the system allows 107 bytes, including the name of the socket.
const SOCKET_PATH_MAX: usize = 85;
/// Folder of servers that packages install outside `PATH`.
const PACKAGES: &str = "/usr/lib/postgresql";
/// The first version that can bypass the page cache.
const DIRECT_IO_MIN: u32 = 16;
/// Accounts under which root may start the server; the first existing account is used.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// Size of the server's own buffer in MiB, which determines how many reads reach the drive.
    pub shared_buffers_mib: u64,
    pub connections_max: u32,
    /// Whether the tables bypass the system's page cache, so that the buffer is the only cache. Servers before version
    /// 16 use the page cache ([`ManagedServer::page_cache`]).
    pub direct_io: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { shared_buffers_mib: 128, connections_max: 100, direct_io: false }
    }
}

/// A running server. Dropping this value stops the server.
#[derive(Debug)]
pub struct ManagedServer {
    folder: PathBuf,
    database: Database,
    programs: PathBuf,
    account: Option<(u32, u32)>,
    process: Child,
    /// The file that marks the folder, which is locked while this driver owns the server.
    lock: Option<File>,
    /// The reason why the tables use the page cache although direct I/O was requested.
    page_cache: Option<String>,
}

/// Returns the folder of PostgreSQL's programs, from `PATH` or from the newest package.
pub fn programs() -> Option<PathBuf> {
    programs_in(&std::env::var_os("PATH").unwrap_or_default(), Path::new(PACKAGES))
}

/// Returns the first folder of `path` with PostgreSQL's programs, or the folder of the newest package in `packages`.
fn programs_in(path: &OsStr, packages: &Path) -> Option<PathBuf> {
    let has_them =
        |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let mut packaged: Vec<(u32, PathBuf)> = fs::read_dir(packages)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    packaged.sort_unstable();
    let packaged = packaged.into_iter().rev().map(|(_, folder)| folder);
    std::env::split_paths(path).chain(packaged).find(has_them)
}

impl ManagedServer {
    /// Starts the server in `folder`. If the folder is new or empty, the server is first created. The server ends no
    /// later than the calling thread.
    pub fn start(folder: &Path, options: &ServerOptions) -> Result<Self, OltpError> {
        let programs = programs().ok_or(OltpError::NoPrograms)?;
        let account = account()?;
        let version = version(&programs, account)?;
        let page_cache = (options.direct_io && version < DIRECT_IO_MIN).then(|| {
            format!("PostgreSQL {version} lacks direct I/O, which version {DIRECT_IO_MIN} added")
        });
        let lock = claim(folder, account)?;
        let folder = folder.canonicalize().map_err(|error| path_error(folder, &error))?;
        let sockets = folder.join("socket");
        if sockets.as_os_str().len() > SOCKET_PATH_MAX || sockets.to_str().is_none() {
            let reason = format!(
                "is not usable as the path of a socket; the maximum is {SOCKET_PATH_MAX} bytes"
            );
            return Err(OltpError::System { what: sockets.display().to_string(), reason });
        }
        let data = folder.join("data");
        if let Ok(held) = fs::read_to_string(data.join("PG_VERSION")) {
            let held = held.trim();
            if held.parse() != Ok(version) {
                let programs = programs.display();
                let reason = format!(
                    "contains data of PostgreSQL {held}, but {programs} is version {version}"
                );
                return Err(OltpError::System { what: folder.display().to_string(), reason });
            }
        } else {
            make_data(&programs, &folder, account)?;
        }
        // Stops a server that a killed Lanemark process left running. Usually there is no such server, so the error is
        // ignored.
        let _ = finish(stop(&programs, &data, account, "fast").arg("-s"));
        let log = folder.join("log");
        // An existing file here is an older log of Lanemark, or a link, which must not be followed.
        let _ = fs::remove_file(&log);
        let log = companion::create(&log).map_err(|error| path_error(&log, &error))?;
        let errors = log.try_clone().map_err(|error| path_error(&folder, &error))?;
        let mut serve = command(&programs.join("postgres"), account);
        serve.arg("-D").arg(&data).arg("-k").arg(&sockets).args(["-h", "", "-p", "5432"]);
        serve.arg("-c").arg(format!("shared_buffers={}MB", options.shared_buffers_mib));
        serve.arg("-c").arg(format!("max_connections={}", options.connections_max));
        serve.args(["-c", "fsync=on", "-c", "synchronous_commit=on", "-c", "max_wal_size=4GB"]);
        if options.direct_io && page_cache.is_none() {
            serve.args(["-c", "debug_io_direct=data"]);
        }
        // Ctrl-C must reach only Lanemark, which then stops the server.
        serve.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        // A fast shutdown ends the sessions and keeps committed data.
        end_with_driver(&mut serve, Signal::INT);
        let process =
            serve.spawn().map_err(|error| path_error(&programs.join("postgres"), &error))?;
        let database = name(&folder, "lanemark").parse()?;
        let lock = Some(lock);
        let mut server = Self { folder, database, programs, account, process, lock, page_cache };
        server.wait()?;
        server.make_database()?;
        Ok(server)
    }

    /// Creates the database if it does not exist.
    fn make_database(&self) -> Result<(), OltpError> {
        let mut client = self.client("postgres")?;
        let named = "SELECT 1 FROM pg_database WHERE datname = 'lanemark'";
        let there = !client.rows(named)?.is_empty();
        if there { Ok(()) } else { client.script("CREATE DATABASE lanemark") }
    }

    pub fn database(&self) -> Database {
        self.database.clone()
    }

    /// Returns the reason why the tables use the page cache although direct I/O was requested, if they do.
    pub fn page_cache(&self) -> Option<&str> {
        self.page_cache.as_deref()
    }

    /// Returns the name of a database of the server.
    pub fn name(&self, database: &str) -> String {
        name(&self.folder, database)
    }

    fn client(&self, database: &str) -> Result<PostgresConnection, OltpError> {
        PostgresConnection::connect(
            &self.name(database),
            &format!("the server in {}", self.folder.display()),
        )
    }

    /// Waits until the server answers.
    fn wait(&mut self) -> Result<(), OltpError> {
        let begun = Instant::now();
        loop {
            let Err(error) = self.client("postgres") else { return Ok(()) };
            let ended = !matches!(self.process.try_wait(), Ok(None));
            if ended || begun.elapsed() > START_MAX {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let last = log.lines().last().map_or_else(|| error.to_string(), str::to_owned);
                return Err(OltpError::System { what: "PostgreSQL".to_owned(), reason: last });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the server abruptly, as a power cut would, and starts it again.
    pub fn crash(mut self, options: &ServerOptions) -> Result<Self, OltpError> {
        let folder = self.folder.clone();
        // The postmaster's child processes detect that it is gone, and end.
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.lock = None;
        let begun = Instant::now();
        loop {
            match Self::start(&folder, options) {
                Err(_) if begun.elapsed() < Duration::from_secs(10) => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                outcome => return outcome,
            }
        }
    }

    /// Stops the server immediately, and leaves its data as after a crash. This is for data that is no longer needed.
    pub fn abandon(mut self) {
        let data = self.folder.join("data");
        if finish(&mut stop(&self.programs, &data, self.account, "immediate")).is_ok() {
            let _ = self.process.wait();
        }
    }

    /// Stops the server and removes its data, and the folder if it is then empty.
    pub fn remove(mut self) -> Result<(), OltpError> {
        let folder = self.folder.clone();
        // The lock prevents other drivers from using the folder until the files are removed.
        let _lock = self.lock.take();
        drop(self);
        for made in ["data", "socket"] {
            let made = folder.join(made);
            remove_tree(&made).map_err(|error| path_error(&made, &error))?;
        }
        for made in ["log", MARK] {
            let made = folder.join(made);
            fs::remove_file(&made).map_err(|error| path_error(&made, &error))?;
        }
        // The folder is not removed if it contains files of the user.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }
}

impl Drop for ManagedServer {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            let data = self.folder.join("data");
            let _ = finish(&mut stop(&self.programs, &data, self.account, "fast"));
            let _ = self.process.wait();
        }
    }
}

/// Marks a folder as Lanemark's and returns the locked mark. A folder is rejected if it contains other files or if
/// another driver uses it.
fn claim(folder: &Path, account: Option<(u32, u32)>) -> Result<File, OltpError> {
    let to_error = |error: std::io::Error| path_error(folder, &error);
    fs::create_dir_all(folder).map_err(to_error)?;
    let held = fs::read_dir(folder).map_err(to_error)?.count();
    let path = folder.join(MARK);
    let foreign = || OltpError::Foreign(folder.display().to_string());
    if held > 0 && fs::symlink_metadata(&path).is_err() {
        return Err(foreign());
    }
    let opened = companion::open(&path, MARK_TEXT).map_err(|error| match error {
        CompanionError::Foreign { .. } => foreign(),
        CompanionError::System { source, .. } => to_error(source),
    })?;
    let mut mark = opened.file;
    match flock(&mark, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let folder = folder.display();
            return Err(OltpError::InUse(format!(
                "{folder}: another lanemark process is running this server"
            )));
        }
        Err(error) => return Err(to_error(error.into())),
    }
    if mark.metadata().map_err(to_error)?.len() == 0 {
        mark.write_all(MARK_TEXT).map_err(to_error)?;
    }
    // An interrupted removal is completed here.
    for subfolder in [folder.join("data"), folder.join("socket")] {
        own_folder(&subfolder, account)?;
    }
    Ok(mark)
}

/// Creates a folder for the server's account, if it does not exist.
fn own_folder(path: &Path, account: Option<(u32, u32)>) -> Result<(), OltpError> {
    let to_error = |error: std::io::Error| path_error(path, &error);
    match fs::create_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(to_error(error));
        }
        _ => {}
    }
    // Through a link, the account could access another folder.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| to_error(error.into()))?;
    fchmod(&folder, Mode::RWXU).map_err(|error| to_error(error.into()))?;
    let (user, group) = account.unzip();
    let user = user.map(Uid::from_raw);
    let group = group.map(Gid::from_raw);
    fchown(&folder, user, group).map_err(|error| to_error(error.into()))
}

/// Creates the server's data next to its final path and then renames it, so that the data exists completely or not at
/// all.
fn make_data(programs: &Path, folder: &Path, account: Option<(u32, u32)>) -> Result<(), OltpError> {
    let part = folder.join("data.part");
    let data = folder.join("data");
    match remove_tree(&part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(path_error(&part, &error));
        }
        _ => {}
    }
    own_folder(&part, account)?;
    let mut make = command(&programs.join("initdb"), account);
    end_with_driver(&mut make, Signal::KILL);
    make.arg("-D").arg(&part).args(["-U", "lanemark", "-A", "trust", "-E", "UTF8", "--locale=C"]);
    finish(&mut make)?;
    fs::rename(&part, &data).map_err(|error| path_error(&data, &error))
}

/// Makes the kernel send `signal` to a program when the thread that starts it ends.
fn end_with_driver(command: &mut Command, signal: Signal) {
    let driver: Pid = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(signal))?;
        // If the driver ended earlier, the signal would never arrive.
        if getppid() == Some(driver) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure only executes two system calls; it does not allocate memory or acquire
    // a lock. It runs after the change of account, which would clear the signal.
    unsafe { command.pre_exec(ask) };
}

/// Lets the account of a server that root started, and no other account, enter a folder of this user: the folder is
/// assigned to the group of the account, with mode 0710.
///
/// # Errors
/// Returns an error if there is no account, or if the folder does not belong to this user.
pub fn let_server_enter(folder: &Path) -> Result<(), OltpError> {
    let Some((_, group)) = account()? else { return Ok(()) };
    let to_error = |error: rustix::io::Errno| path_error(folder, &error.into());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty()).map_err(to_error)?;
    fchown(&open, None, Some(Gid::from_raw(group))).map_err(to_error)?;
    fchmod(&open, Mode::RWXU | Mode::XGRP).map_err(to_error)
}

/// Returns the account under which root starts a server; `None` for other users.
fn account() -> Result<Option<(u32, u32)>, OltpError> {
    if fs::metadata("/proc/self").map_or(1, |process| process.uid()) != 0 {
        return Ok(None);
    }
    let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = ACCOUNTS.iter().find_map(|name| account_of(&text, name));
    found.map(Some).ok_or_else(|| OltpError::System {
        what: "PostgreSQL".to_owned(),
        reason: "must not run as root, and the accounts postgres and nobody do not exist"
            .to_owned(),
    })
}

fn account_of(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let fields: Vec<&str> = passwd
        .lines()
        .map(|line| line.split(':').collect())
        .find(|fields: &Vec<&str>| fields[0] == name)?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// Returns the major version of the programs, which the account that runs them queries.
fn version(programs: &Path, account: Option<(u32, u32)>) -> Result<u32, OltpError> {
    let program = programs.join("postgres");
    let to_error =
        |reason: String| OltpError::System { what: program.display().to_string(), reason };
    let output = command(&program, account).arg("--version").output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied if account.is_some() => {
            to_error("the account under which root starts it cannot execute it".to_owned())
        }
        _ => to_error(error.to_string()),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Example: postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
    let version = text.split(' ').nth(2).map(|version| version.split(['.', '\n']).next());
    let number = version.flatten().and_then(|number| number.trim().parse().ok());
    number.ok_or_else(|| to_error(format!("does not print its version: {}", text.trim())))
}

fn command(program: &Path, account: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null());
    if let Some((user, group)) = account {
        command.uid(user).gid(group);
    }
    command
}

fn stop(programs: &Path, data: &Path, account: Option<(u32, u32)>, mode: &str) -> Command {
    let mut command = command(&programs.join("pg_ctl"), account);
    command.args(["stop", "-w", "-m", mode, "-D"]).arg(data);
    command
}

/// Runs a program until it exits; the error contains its output.
fn finish(command: &mut Command) -> Result<(), OltpError> {
    let what = command.get_program().to_string_lossy().into_owned();
    let to_error = |reason: String| OltpError::System { what: what.clone(), reason };
    let output = command.output().map_err(|error| to_error(error.to_string()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(to_error(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

fn path_error(path: &Path, error: &std::io::Error) -> OltpError {
    OltpError::System { what: path.display().to_string(), reason: error.to_string() }
}

/// Returns the name of a database on the server in `folder`; the path is percent-encoded.
fn name(folder: &Path, database: &str) -> String {
    let sockets = folder.join("socket");
    let host: String = sockets.to_string_lossy().bytes().map(encoded).collect();
    format!("postgres:///{database}?user=lanemark&port=5432&host={host}")
}

fn encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
            char::from(byte).into()
        }
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_come_from_the_path_or_from_the_newest_package() {
        let root = tempfile::tempdir().unwrap();
        let install = |folder: &Path, names: &[&str]| {
            fs::create_dir_all(folder).unwrap();
            names.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        };
        let packages = root.path().join("packages");
        let empty = OsStr::new("");
        assert_eq!(programs_in(empty, &packages), None);
        for version in ["9", "15", "13"] {
            install(&packages.join(version).join("bin"), &["initdb", "postgres"]);
        }
        install(&packages.join("17/bin"), &["initdb"]);
        assert_eq!(programs_in(empty, &packages), Some(packages.join("15/bin")));
        let other = root.path().join("other");
        let own = root.path().join("own");
        install(&other, &["postgres"]);
        install(&own, &["initdb", "postgres"]);
        let path = std::env::join_paths([&other, &own]).unwrap();
        assert_eq!(programs_in(&path, &packages), Some(own));
    }

    #[test]
    fn an_account_is_found_by_its_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/:/bin/sh\n";
        assert_eq!(account_of(passwd, "postgres"), Some((101, 104)));
        assert_eq!(account_of(passwd, "nobody"), None);
    }

    #[test]
    fn a_folder_with_anything_in_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter"), "dear").unwrap();
        assert!(matches!(claim(folder.path(), None), Err(OltpError::Foreign(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Writes a program `postgres` with this mode that prints `text`, and returns its folder.
    fn programs(text: &str, mode: u32) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("postgres");
        fs::write(&path, format!("#!/bin/sh\nprintf '{text}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        folder
    }

    /// Returns the version, or the reason why it is not known.
    fn version_of(folder: &Path, account: Option<(u32, u32)>) -> Result<u32, String> {
        version(folder, account).map_err(|error| match error {
            OltpError::System { what, reason } => {
                assert_eq!(what, folder.join("postgres").display().to_string());
                reason
            }
            other => panic!("{other}"),
        })
    }

    #[test]
    fn the_major_version_is_the_number_before_the_first_point() {
        for (text, wanted) in [
            ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\\n", 15),
            ("postgres (PostgreSQL) 9.6.24\\n", 9),
            ("postgres (PostgreSQL) 17\\n", 17),
        ] {
            assert_eq!(version_of(programs(text, 0o755).path(), None), Ok(wanted), "{text}");
        }
        for text in ["", "postgres\\n", "postgres (PostgreSQL) devel\\n"] {
            let error = version_of(programs(text, 0o755).path(), None).unwrap_err();
            assert!(error.starts_with("does not print its version"), "{text}: {error}");
        }
        // A program without permission to execute. It is in the same test, because a program cannot be executed while
        // another thread that starts a process holds its file open.
        let folder = programs("", 0o644);
        let error = version_of(folder.path(), None).unwrap_err();
        assert!(error.contains("ermission denied"), "{error}");
        // Only root can change to another account.
        if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
            let error = version_of(folder.path(), Some((65_534, 65_534))).unwrap_err();
            assert_eq!(error, "the account under which root starts it cannot execute it");
        }
        let nothing = tempfile::tempdir().unwrap();
        let error = version_of(nothing.path(), None).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn the_name_of_a_database_encodes_the_path_of_its_socket() {
        assert_eq!(
            name(Path::new("/tmp/a b/c%"), "shop"),
            "postgres:///shop?user=lanemark&port=5432&host=/tmp/a%20b/c%25/socket"
        );
    }
}
