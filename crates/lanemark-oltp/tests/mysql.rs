//! The workload on a dedicated MariaDB server. The tests are skipped with a message if MariaDB is not installed.
#![cfg(feature = "mysql")]

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::run::run;
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError};

mod alike;
mod damage;
mod fixture;
use fixture::{STOP, assert_consistent, load_into, running};

const SCALE: Scale = Scale { warehouses: 2, divisor: 100, seed: 7 };

/// A running server and its folder. The server is killed at the end of the test.
struct Server {
    folder: tempfile::TempDir,
    process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the account for a server, because servers refuse to run as root.
fn account() -> Option<u32> {
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    root.then_some(65_534)
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--no-defaults").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    account().map(|user| command.uid(user).gid(user));
    command
}

fn program(name: &str) -> Option<std::path::PathBuf> {
    ["/usr/sbin", "/usr/bin", "/usr/local/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
}

impl Server {
    fn start() -> Option<Self> {
        let Some((make, serve)) = program("mariadb-install-db").zip(program("mariadbd")) else {
            lanemark_testbed::skipped("MariaDB is not installed (package mariadb-server)");
            return None;
        };
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let here = folder.path();
        std::fs::set_permissions(here, PermissionsExt::from_mode(0o755)).unwrap();
        chown(here, account(), account()).unwrap();
        let data = format!("--datadir={}", here.join("data").display());
        // A server that starts removes the temporary tables of all servers that share its folder of temporary files.
        let temporary = format!("--tmpdir={}", here.display());
        let made = command(&make)
            .args([&data, &temporary, "--auth-root-authentication-method=normal", "--skip-test-db"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let printed =
            [made.stdout, made.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(made.status.success(), "mariadb-install-db: {}: {}", made.status, printed.concat());
        let socket = format!("--socket={}", here.join("socket").display());
        let process = command(&serve)
            .args([
                &data,
                &temporary,
                &socket,
                "--skip-networking",
                "--innodb-buffer-pool-size=32M",
            ])
            .arg(format!("--pid-file={}", here.join("pid").display()))
            .spawn()
            .unwrap();
        let server = Self { folder, process };
        let begun = Instant::now();
        while server.database("x").examine_contents().is_err() {
            assert!(begun.elapsed() < Duration::from_secs(120), "the server doesn't answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    fn database(&self, name: &str) -> Database {
        self.database_of("root", name)
    }

    fn database_of(&self, user: &str, name: &str) -> Database {
        let socket = self.folder.path().join("socket");
        format!("mysql://{user}@localhost/{name}?socket={}", socket.display()).parse().unwrap()
    }
}

#[test]
fn one_user_leaves_the_same_contents_as_on_sqlite() {
    let Some(server) = Server::start() else { return };
    alike::assert_like_sqlite(&server.database("oltp"), server.folder.path());
}

#[test]
fn users_at_once_leave_it_consistent() {
    let Some(server) = Server::start() else { return };
    let database = server.database("oltp");
    load_into(&database, SCALE).unwrap();
    let sample = run(&database, SCALE, &running(8), 0, &STOP).unwrap();
    let repeat = sample.transactions.unwrap();
    assert!(
        repeat.per_minute > 0.0 && repeat.counted_per_minute.is_some_and(|counted| counted > 0.0)
    );
    assert_consistent(&database);
    let settings = database.settings().unwrap();
    let isolation = settings.iter().find(|(name, _)| name.ends_with("isolation")).unwrap();
    assert_eq!(isolation.1, "READ-COMMITTED");
}

#[test]
fn a_foreign_database_is_refused_unless_it_is_named() {
    let Some(server) = Server::start() else { return };
    let database = server.database("oltp");
    assert!(matches!(database.loaded(), Err(OltpError::NotLoaded(_))));
    let admin = |sql: &str| server.database("mysql").connect().unwrap().script(sql).unwrap();
    admin("CREATE DATABASE oltp; CREATE TABLE oltp.letter (text TEXT); CREATE USER guest");
    assert!(matches!(load_into(&database, SCALE), Err(OltpError::Foreign(_))));
    admin("SELECT * FROM oltp.letter");
    let guest = server.database_of("guest", "other");
    let error = load_into(&guest, SCALE).unwrap_err();
    assert!(matches!(error, OltpError::Rights { .. }), "{error}");
    let error = load_into(&server.database_of("root:secret", "other"), SCALE).unwrap_err();
    assert!(matches!(error, OltpError::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let mut named = LoadOptions { scale: SCALE, jobs: 1, overwrite: Some("letters".to_owned()) };
    let error = load(&database, &named, &STOP, &|_, _| ()).unwrap_err();
    assert!(matches!(error, OltpError::OverwriteMismatch { .. }), "{error}");
    named.overwrite = Some("oltp".to_owned());
    load(&database, &named, &STOP, &|_, _| ()).unwrap();
    assert_consistent(&database);
    // If a statement in the middle of a script fails, the error is reported.
    let mut connection = database.connect().unwrap();
    assert!(connection.script("SELECT 1; SELECT nothing; SELECT 2").is_err());
    connection.script("UPDATE lanemark_oltp SET value = 99 WHERE \"key\" = 'version'").unwrap();
    assert!(matches!(database.loaded(), Err(OltpError::Version { found: 99, .. })));
}

#[test]
fn missing_and_impossible_rows_of_a_table_are_found() {
    let Some(server) = Server::start() else { return };
    let database = server.database("oltp");
    load_into(&database, SCALE).unwrap();
    damage::assert_found(&database);
}

#[test]
fn a_warehouse_takes_its_estimated_room() {
    let Some(server) = Server::start() else { return };
    let database = server.database("oltp");
    let scale = Scale { warehouses: 4, divisor: 4, seed: 7 };
    load_into(&database, scale).unwrap();
    let (_, data) = database.cache_and_data().unwrap();
    let ratio = data as f64 / database.footprint(&scale) as f64;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}
