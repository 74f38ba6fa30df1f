//! A file system that has no room left while a database is loaded. Only root can make one.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use lanemark_oltp::check::check;
use lanemark_oltp::load::{LoadOptions, LoadReport, load};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError};

static STOP: AtomicBool = AtomicBool::new(false);

/// A file system in memory, which is gone when this is dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn new(mib: u32) -> Option<Self> {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let options = format!("size={mib}m,mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "lanemark-test"]).arg(folder.path());
        if !mount.output().is_ok_and(|output| output.status.success()) {
            lanemark_testbed::skipped("a small file system can't be mounted (needs root)");
            return None;
        }
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn grow(&self, mib: u32) {
        let options = format!("remount,size={mib}m");
        let grown = Command::new("mount").args(["-o", &options]).arg(self.path()).status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn load_into(database: &Database, warehouses: i64) -> Result<LoadReport, OltpError> {
    let scale = Scale { warehouses, divisor: 100, seed: 7 };
    load(database, &LoadOptions { scale, jobs: 1, overwrite: None }, &STOP, &|_, _| ())
}

/// Panics unless `error` says what is full and what to do.
fn assert_told(error: &OltpError, path: &Path) {
    assert!(matches!(error, OltpError::Full(_)), "{error}");
    let told = error.to_string();
    for part in ["no room is left", "MiB are free below", path.to_str().unwrap()] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let hint = error.hint().unwrap();
    assert_eq!(hint, "make room, then load again: what is there is kept");
}

fn assert_consistent(database: &Database) {
    let loaded = database.loaded().unwrap();
    for condition in check(database.connect().unwrap().as_mut(), &loaded).unwrap() {
        assert_eq!(condition.broken, 0, "3.3.2.{}: {}", condition.number, condition.text);
    }
}

#[test]
fn sqlite_says_what_is_full_and_goes_on_when_there_is_room() {
    let Some(small) = Small::new(6) else { return };
    let database = Database::Sqlite(small.path().join("oltp.db"));
    assert_told(&load_into(&database, 12).unwrap_err(), small.path());
    small.grow(256);
    let report = load_into(&database, 12).unwrap();
    assert!((1..12).contains(&report.kept), "{} were kept", report.kept);
    assert_consistent(&database);
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_says_what_is_full_and_goes_on_when_there_is_room() {
    use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};
    if programs().is_none() {
        lanemark_testbed::skipped("PostgreSQL is not installed (package postgresql)");
        return;
    }
    let Some(small) = Small::new(96) else { return };
    let folder = small.path().join("server");
    let server = ManagedServer::start(&folder, &ServerOptions::default()).unwrap();
    let error = load_into(&server.database(), 100).unwrap_err();
    assert_told(&error, small.path());
    eprintln!("{error}");
    drop(server);
    small.grow(1_024);
    let server = ManagedServer::start(&folder, &ServerOptions::default()).unwrap();
    let report = load_into(&server.database(), 100).unwrap();
    assert!((1..100).contains(&report.kept), "{} were kept", report.kept);
    assert_consistent(&server.database());
}
