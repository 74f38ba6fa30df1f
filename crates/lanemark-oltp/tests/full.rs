//! A file system becomes full while a database is loaded. Only root can create such a file system.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use lanemark_oltp::check::check;
use lanemark_oltp::database::DatabaseContents;
use lanemark_oltp::load::{LoadOptions, LoadReport, load};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError};

static STOP: AtomicBool = AtomicBool::new(false);

/// A file system in memory, which is unmounted when this value is dropped.
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
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn load_into(
    database: &Database,
    warehouses: i64,
    progress: &(dyn Fn(i64, i64) + Sync),
) -> Result<LoadReport, OltpError> {
    let scale = Scale { warehouses, divisor: 100, seed: 7 };
    load(database, &LoadOptions { scale, jobs: 1, overwrite: None }, &STOP, progress)
}

/// Panics unless `error` states the full file system and a remedy.
fn assert_full_reported(error: &OltpError, path: &Path) {
    assert!(matches!(error, OltpError::Full(_)), "{error}");
    let message = error.to_string();
    for part in ["no space is left", "MiB are free in", path.to_str().unwrap()] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let hint = error.hint().unwrap();
    assert_eq!(hint, "free some space, then load again: existing data is kept");
}

fn assert_consistent(database: &Database) {
    let loaded = database.loaded().unwrap();
    for condition in check(database.connect().unwrap().as_mut(), &loaded).unwrap() {
        assert_eq!(condition.broken, 0, "{}: {}", condition.source, condition.text);
    }
}

/// Returns a progress function that fills the file system after some parts are loaded, as another program might.
fn filling(path: &Path) -> impl Fn(i64, i64) + Sync {
    let filler = path.join("filler");
    move |done: i64, _| {
        if done == 4 {
            // Data is written until the file system is full.
            let _ = std::io::copy(
                &mut std::io::repeat(1),
                &mut std::fs::File::create(&filler).unwrap(),
            );
        }
    }
}

/// Checks that a load is rejected at its start if it would not fit.
fn assert_refused(database: &Database, warehouses: i64) {
    let error = load_into(database, warehouses, &|_, _| ()).unwrap_err();
    assert!(matches!(error, OltpError::NoRoom { .. }) && error.is_input(), "{error}");
    assert!(error.to_string().contains("GB are free in"), "{error}");
    assert_eq!(database.examine_contents().unwrap(), DatabaseContents::Nothing);
}

#[test]
fn sqlite_names_the_full_file_system_and_continues_when_there_is_room() {
    let Some(small) = Small::new(24) else { return };
    let database = Database::sqlite(small.path().join("oltp.db"));
    assert_refused(&database, 5_000);
    assert!(!small.path().join("oltp.db").exists());
    let error = load_into(&database, 12, &filling(small.path())).unwrap_err();
    assert_full_reported(&error, small.path());
    std::fs::remove_file(small.path().join("filler")).unwrap();
    let report = load_into(&database, 12, &|_, _| ()).unwrap();
    assert!((1..12).contains(&report.kept), "{} were kept", report.kept);
    assert_consistent(&database);
}

#[test]
fn a_warehouse_takes_its_estimated_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oltp.db");
    let database = Database::sqlite(path.clone());
    let scale = Scale { warehouses: 3, divisor: 10, seed: 7 };
    let options = LoadOptions { scale, jobs: 1, overwrite: None };
    load(&database, &options, &STOP, &|_, _| ()).unwrap();
    let ratio = path.metadata().unwrap().len() as f64 / database.footprint(&scale) as f64;
    assert!((0.97..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn postgres_names_the_full_file_system_and_continues_when_there_is_room() {
    use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};
    if programs().is_none() {
        lanemark_testbed::skipped("PostgreSQL is not installed (package postgresql)");
        return;
    }
    let Some(small) = Small::new(320) else { return };
    let folder = small.path().join("server");
    let server = ManagedServer::start(&folder, &ServerOptions::default()).unwrap();
    assert_refused(&server.database(), 5_000);
    let error = load_into(&server.database(), 60, &filling(small.path())).unwrap_err();
    assert_full_reported(&error, small.path());
    drop(server);
    std::fs::remove_file(small.path().join("filler")).unwrap();
    let server = ManagedServer::start(&folder, &ServerOptions::default()).unwrap();
    let report = load_into(&server.database(), 60, &|_, _| ()).unwrap();
    assert!((1..60).contains(&report.kept), "{} were kept", report.kept);
    assert_consistent(&server.database());
    // The database contains 60 warehouses at a scale of 1/100, whose small tables occupy whole pages.
    let (_, data) = server.database().cache_and_data().unwrap();
    let scale = Scale { warehouses: 60, divisor: 100, seed: 7 };
    let ratio = data as f64 / server.database().footprint(&scale) as f64;
    assert!((0.95..1.2).contains(&ratio), "{ratio}");
}
