//! The owner of an SQLite file is determined without changing the file.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use lanemark_oltp::database::DatabaseContents;
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError};

static STOP: AtomicBool = AtomicBool::new(false);
const SCALE: Scale = Scale { warehouses: 1, divisor: 100, seed: 7 };

fn options() -> LoadOptions {
    LoadOptions { scale: SCALE, jobs: 1, overwrite: None }
}

/// The files of a folder, each with its bytes and its modification time.
type Files = BTreeMap<PathBuf, (Vec<u8>, SystemTime)>;

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let content = |path: PathBuf| {
        let changed = path.metadata().unwrap().modified().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (path, (bytes, changed))
    };
    entries.map(content).collect()
}

/// Panics unless every operation on a foreign file is rejected and leaves the folder unchanged.
fn assert_untouched(folder: &Path) {
    let database = Database::sqlite(folder.join("foreign.db"));
    let before = files(folder);
    assert_eq!(database.examine_contents().unwrap(), DatabaseContents::Foreign);
    assert!(matches!(database.loaded(), Err(OltpError::NotLoaded(_))));
    let error = load(&database, &options(), &STOP, &|_, _| ()).unwrap_err();
    assert!(matches!(error, OltpError::Foreign(_)), "{error}");
    let after = files(folder);
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    for (path, found) in &before {
        assert!(after[path] == *found, "{} was changed", path.display());
    }
}

/// Creates a foreign file in a folder whose name contains characters with a meaning in a URI.
fn made(script: &str) -> (tempfile::TempDir, PathBuf, rusqlite::Connection) {
    let folder = tempfile::Builder::new().prefix("who?se #1%41 ").tempdir().unwrap();
    let path = folder.path().join("foreign.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(script).unwrap();
    (folder, path, connection)
}

/// Environment variables with the file and the script of another program, for a process that acts as that program.
const PLAYED: [&str; 2] = ["LANEMARK_TEST_FOREIGN_FILE", "LANEMARK_TEST_FOREIGN_SCRIPT"];

/// A process that keeps a file open until this value is dropped. It must be a separate process, because the connections
/// of one process share the index of a log.
struct Other {
    process: Child,
    /// Output of the process, read until its end.
    _said: BufReader<ChildStdout>,
}

impl Other {
    fn using(path: &Path, script: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_program", "--nocapture"])
            .env(PLAYED[0], path)
            .env(PLAYED[1], script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut ready = |line: std::io::Result<String>| line.unwrap().ends_with("ready");
        assert!(stdout.by_ref().lines().any(&mut ready));
        Self { process, _said: stdout }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

/// The process of the other program. If the tests did not start it, it does nothing.
#[test]
fn other_program() {
    let [Ok(path), Ok(script)] = PLAYED.map(std::env::var) else { return };
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(&script).unwrap();
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_foreign_file_with_a_rollback_journal_is_not_changed() {
    for script in [
        "CREATE TABLE letter (text TEXT); INSERT INTO letter VALUES ('dear')",
        "CREATE VIEW letter AS SELECT 'dear'",
        "PRAGMA user_version = 5",
        "PRAGMA application_id = 77",
        "CREATE TABLE lanemark_oltp (poem TEXT)",
    ] {
        let (folder, _, connection) = made(script);
        drop(connection);
        assert_untouched(folder.path());
    }
}

#[test]
fn a_foreign_file_with_a_log_is_not_changed_while_it_is_used_and_after() {
    let logged = "PRAGMA journal_mode = WAL; CREATE TABLE letter (text TEXT); \
        PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO letter VALUES ('dear')";
    let (folder, path, connection) = made("SELECT 1");
    drop(connection);
    let other = Other::using(&path, logged);
    assert_untouched(folder.path());
    // After a crash, the file, its log and the index of the log exist; later the index is removed.
    let crashed = tempfile::tempdir().unwrap();
    for ending in ["", "-wal", "-shm"] {
        let from = format!("{}{ending}", path.display());
        std::fs::copy(from, crashed.path().join(format!("foreign.db{ending}"))).unwrap();
    }
    assert_untouched(crashed.path());
    std::fs::remove_file(crashed.path().join("foreign.db-shm")).unwrap();
    assert_untouched(crashed.path());
    drop(other);
    assert_eq!(files(folder.path()).len(), 1);
    assert_untouched(folder.path());
}

#[test]
fn tables_that_are_only_in_a_log_are_foreign() {
    let (folder, path, connection) = made("SELECT 1");
    drop(connection);
    let other = Other::using(&path, "PRAGMA journal_mode = WAL; CREATE TABLE letter (text TEXT)");
    assert_untouched(folder.path());
    let copied = tempfile::tempdir().unwrap();
    for ending in ["", "-wal"] {
        let from = format!("{}{ending}", path.display());
        std::fs::copy(from, copied.path().join(format!("foreign.db{ending}"))).unwrap();
    }
    assert_untouched(copied.path());
    drop(other);
}

#[test]
fn a_foreign_file_in_the_midst_of_a_change_is_not_rolled_back() {
    let (folder, path, connection) = made("CREATE TABLE letter (text TEXT)");
    // With a cache of a few pages, the change is written to the file before the commit.
    connection
        .execute_batch(
            "PRAGMA cache_size = 5; BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 \
             FROM n WHERE i < 2000) INSERT INTO letter SELECT hex(randomblob(300)) FROM n",
        )
        .unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for ending in ["", "-journal"] {
        let from = format!("{}{ending}", path.display());
        std::fs::copy(from, crashed.path().join(format!("foreign.db{ending}"))).unwrap();
    }
    assert!(files(crashed.path()).values().all(|(bytes, _)| !bytes.is_empty()));
    assert_untouched(crashed.path());
    assert_untouched(folder.path());
}

#[test]
fn a_file_that_only_begins_as_a_database_is_foreign() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.db");
    std::fs::write(&path, b"SQLite format 3\0").unwrap();
    assert_untouched(folder.path());
    std::fs::write(&path, [&b"SQLite format 3\0"[..], &[0xff; 8_000]].concat()).unwrap();
    assert_untouched(folder.path());
}

#[test]
fn our_own_file_is_known_while_it_is_used_and_after_its_user_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oltp.db");
    let database = Database::sqlite(path.clone());
    // The file was created but not used.
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA journal_mode = WAL").unwrap();
    assert_eq!(database.examine_contents().unwrap(), DatabaseContents::Nothing);
    load(&database, &options(), &STOP, &|_, _| ()).unwrap();
    let loaded = database.loaded().unwrap();
    let mut connection = database.connect().unwrap();
    connection.begin(true).unwrap();
    connection.script("UPDATE warehouse SET w_ytd = w_ytd").unwrap();
    assert_eq!(database.loaded().unwrap(), loaded);
    connection.commit().unwrap();
    assert_eq!(database.loaded().unwrap(), loaded);
    // After a kill, all loaded data is still in the log.
    let killed = tempfile::tempdir().unwrap();
    for ending in ["", "-wal", "-shm"] {
        let from = format!("{}{ending}", path.display());
        std::fs::copy(from, killed.path().join(format!("oltp.db{ending}"))).unwrap();
    }
    let killed = Database::sqlite(killed.path().join("oltp.db"));
    assert_eq!(killed.loaded().unwrap(), loaded);
}

#[test]
fn a_special_file_is_not_replaced_even_if_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.db");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let database = Database::sqlite(path.clone());
    let named = LoadOptions { overwrite: Some("pipe.db".to_owned()), ..options() };
    let error = load(&database, &named, &STOP, &|_, _| ()).unwrap_err();
    assert!(error.to_string().contains("is not a regular file"), "{error}");
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&path.metadata().unwrap().file_type()));
}

#[test]
fn a_log_without_an_index_matters_only_for_a_file_that_uses_it() {
    let holding = |path: &Path| Database::sqlite(path).examine_contents().unwrap();
    // The file contains pages but no table. It uses a rollback journal, so a log next to it belongs to another program.
    let (folder, path, connection) = made("CREATE TABLE letter (text TEXT); DROP TABLE letter");
    drop(connection);
    assert_eq!(holding(&path), DatabaseContents::Nothing);
    std::fs::write(format!("{}-wal", path.display()), "dear").unwrap();
    assert_eq!(holding(&path), DatabaseContents::Nothing);
    drop(folder);
    // If the log is in use, its index shows that there is no table.
    let logged = "PRAGMA journal_mode = WAL; CREATE TABLE letter (text TEXT); DROP TABLE letter";
    let (_folder, path, connection) = made("SELECT 1");
    drop(connection);
    let other = Other::using(&path, logged);
    assert_eq!(holding(&path), DatabaseContents::Nothing);
    drop(other);
}
