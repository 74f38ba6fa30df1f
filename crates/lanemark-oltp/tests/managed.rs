//! A server that Lanemark starts: its owner, and its termination together with its driver. The tests are skipped with a
//! message if PostgreSQL is not installed.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_oltp::OltpError;
use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};

/// Environment variable with the server's folder, for a process that acts as a driver.
const PLAYED: &str = "LANEMARK_TEST_MANAGED";

/// Returns a folder that any account can reach, or `None` if the programs are not installed.
fn folder() -> Option<tempfile::TempDir> {
    if programs().is_none() {
        assert!(std::env::var_os("CI").is_none(), "install the package postgresql");
        eprintln!("skipped: PostgreSQL is not installed (package postgresql)");
        return None;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    Some(folder)
}

fn start(folder: &Path) -> Result<ManagedServer, OltpError> {
    ManagedServer::start(folder, &ServerOptions::default())
}

/// The driver's process in the tests. If they did not start it, it does nothing.
#[test]
fn driver_with_a_server() {
    let Ok(folder) = std::env::var(PLAYED) else { return };
    let _server = start(folder.as_ref()).unwrap();
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Returns whether a process exists and is not a zombie.
fn lives(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_server_ends_with_a_driver_that_is_killed() {
    let Some(folder) = folder() else { return };
    let own = folder.path().join("server");
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "driver_with_a_server", "--nocapture"])
        .env(PLAYED, &own)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(driver.stdout.take().unwrap());
    assert!(stdout.by_ref().lines().any(|line| line.unwrap().ends_with("ready")));
    let noted = std::fs::read_to_string(own.join("data/postmaster.pid")).unwrap();
    let server = noted.lines().next().unwrap();
    assert!(lives(server));
    // A second driver with the same folder does not affect the server of the first driver.
    let error = start(&own).unwrap_err();
    assert!(matches!(error, OltpError::InUse(_)), "{error}");
    assert!(lives(server));
    driver.kill().unwrap();
    driver.wait().unwrap();
    let begun = Instant::now();
    while lives(server) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server has stayed");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The server ended cleanly, so the next server starts immediately, without recovery.
    assert!(!own.join("data/postmaster.pid").exists());
    start(&own).unwrap().remove().unwrap();
    assert!(!own.exists());
}

#[test]
fn interrupted_data_creation_begins_again() {
    let Some(folder) = folder() else { return };
    let own = folder.path().join("server");
    // The folder has Lanemark's mark and contains only these files.
    std::fs::create_dir_all(own.join("data.part")).unwrap();
    std::fs::write(own.join("lanemark-managed"), "").unwrap();
    std::fs::write(own.join("data.part/PG_VERSION"), "15").unwrap();
    let server = start(&own).unwrap();
    assert!(server.database().examine_contents().is_ok());
    server.remove().unwrap();
}
