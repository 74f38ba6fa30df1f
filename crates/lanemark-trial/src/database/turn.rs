//! A turn: users of PostgreSQL on a served disk, and its measured outcome.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lanemark_lab::LabError;
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::managed::{ManagedServer, ServerOptions};
use lanemark_oltp::run::{RunOptions, TransactionDates, run_shown};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{OltpError, TransactionProfile, Value, outcome};
use lanemark_schema::result::{DatabaseTarget, LiveDelivery, RunResult, Sample};
use lanemark_schema::units::Bytes;

use crate::error::of_database;
use crate::event::{TrialEvent, TrialObserver};
use crate::served_disk::{Contents, DiskParameters, ServedDisk, ServedForm};

/// Buffer of a server while it is loaded, in MiB.
const LOADING_MIB: u64 = 256;
/// Connections that a server reserves for administration.
const CONNECTIONS_BESIDE: u32 = 20;
/// Size of the disk without the space for the log, as a multiple of the fresh data.
const ROOM: u64 = 3;
/// Space for the log on the disk, in bytes.
const LOG_ROOM: u64 = 6 << 30;

/// The folder and the settings that all turns share.
pub(super) struct TurnEnvironment {
    /// The mount namespace from which this command started.
    pub(super) outside: std::fs::File,
    /// A folder that the server's account can access.
    pub(super) folder: PathBuf,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) library: Vec<String>,
    pub(super) scale: Scale,
    pub(super) users: u32,
    pub(super) seed: u64,
    /// Whether the database's flushes reach the drive.
    pub(super) flushes: bool,
}

#[derive(Clone, Copy)]
pub(super) struct LoadedContents {
    /// Length of the disk, in bytes.
    size: u64,
    /// The buffer of a server, in MiB.
    pub(super) buffer_mib: u64,
    /// All tables and indexes, in MiB.
    pub(super) data_mib: u64,
}

#[cfg(test)]
impl LoadedContents {
    /// Returns contents for tests that serve no disk.
    pub(super) fn with_sizes(buffer_mib: u64, data_mib: u64) -> Self {
        Self { size: 0, buffer_mib, data_mib }
    }
}

pub(super) struct TurnParameters<'t> {
    pub(super) name: String,
    /// System and settings, as arguments of `lanemark serve`.
    pub(super) system: &'t [String],
    /// The time scale; `None` serves the disk without the model.
    pub(super) scale: Option<f64>,
    /// Time outside the database, in wall-clock time.
    pub(super) pause: Duration,
    pub(super) times: TurnTimes,
    pub(super) number: u32,
}

#[derive(Clone, Copy)]
pub(super) struct TurnTimes {
    /// Time before transactions are counted.
    pub(super) ramp: Duration,
    /// Time during which transactions are counted.
    pub(super) duration: Duration,
}

pub(super) struct TurnOutcome {
    pub(super) sample: Sample,
    /// The disk server's result; `None` without a model.
    pub(super) served: Option<RunResult>,
    pub(super) target: DatabaseTarget,
    pub(super) data: Bytes,
    pub(super) options: RunOptions,
    /// The reason why the database used the page cache, if it did.
    pub(super) page_cache: Option<String>,
}

impl TurnEnvironment {
    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    fn start(
        &self,
        name: &str,
        system: &[String],
        contents: Contents<'_>,
        size: u64,
        scale: Option<f64>,
    ) -> Result<Option<ServedDisk>, LabError> {
        let system = [system, &self.library].concat();
        let wanted = DiskParameters {
            form: ServedForm::Disk { outside: &self.outside },
            folder: self.folder.as_path(),
            name,
            system,
            contents,
            size,
            scale,
        };
        ServedDisk::start(&wanted, &self.stop)
    }

    /// Mounts the file system of a disk.
    fn mount(&self, served: &mut ServedDisk) -> Result<(), LabError> {
        // The disk's own setting (`queue/write_cache`) would remain after the disk is removed.
        let options = if self.flushes { "" } else { "barrier=0" };
        served.mount(&self.disk(), "ext4", options)
    }

    /// Starts PostgreSQL on the mounted disk, with direct I/O if the server supports it.
    fn server(&self, buffer_mib: u64) -> Result<ManagedServer, LabError> {
        let options = ServerOptions {
            shared_buffers_mib: buffer_mib,
            connections_max: self.users.max(64).saturating_add(CONNECTIONS_BESIDE),
            direct_io: true,
        };
        ManagedServer::start(&self.disk().join("server"), &options).map_err(of_database)
    }

    /// Loads the database on a disk without latency; returns `None` if the command was stopped. `buffer_share`
    /// sets the buffer of all turns as a share of the pages in use.
    pub(super) fn load(
        &self,
        system: &[String],
        buffer_share: f64,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<LoadedContents>, LabError> {
        let to_failure =
            |error: std::io::Error| LabError::run(format!("{}: {error}", self.disk().display()));
        fs::create_dir(self.disk()).map_err(to_failure)?;
        fs::set_permissions(self.disk(), fs::Permissions::from_mode(0o755)).map_err(to_failure)?;
        let any = "postgres:///any".parse::<lanemark_oltp::Database>();
        let fresh = any.map_err(of_database)?.footprint(&self.scale);
        let size = (fresh.saturating_mul(ROOM) + LOG_ROOM).next_multiple_of(1 << 20);
        check_free_space(&self.folder, fresh.saturating_mul(2) + (1 << 30))?;
        let image = self.image();
        let contents = Contents::File(&image);
        let Some(mut served) = self.start("load", system, contents, size, None)? else {
            return Ok(None);
        };
        served.format()?;
        self.mount(&mut served)?;
        let server = self.server(LOADING_MIB)?;
        let database = server.database();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let options = LoadOptions { scale: self.scale, jobs, overwrite: None };
        let reporter = std::sync::Mutex::new(observer);
        let show = |done: i64, all: i64| {
            if let Ok(mut observer) = reporter.lock() {
                observer(TrialEvent::Stage(&format!("loading · {done} of {all} parts")));
            }
        };
        match load(&database, &options, &self.stop, &show) {
            Err(OltpError::Stopped) => return Ok(None),
            loaded => loaded.map_err(of_database)?,
        };
        let mut connection = database.connect().map_err(of_database)?;
        // The first reader of fresh rows would write hint bits, so they are written here.
        connection.script("VACUUM (FREEZE, ANALYZE)").map_err(of_database)?;
        let sizes = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'lanemark_oltp' \
             AND c.relname IN ('stock', 'customer', 'warehouse', 'district', 'item')";
        let rows = connection.rows(sizes).map_err(of_database)?;
        drop(connection);
        let (_, data) = database.cache_and_data().map_err(of_database)?;
        let Some(&Value::Int(in_use)) = rows.first().and_then(|row| row.first()) else {
            return Err(LabError::run("PostgreSQL does not report the sizes of its tables"));
        };
        drop(server);
        served.end()?;
        let buffer = in_use as f64 * buffer_share / f64::from(1 << 20);
        let buffer_mib = (buffer.round() as u64).max(1);
        Ok(Some(LoadedContents { size, buffer_mib, data_mib: (data >> 20).max(buffer_mib) }))
    }

    /// Runs users on a disk with the loaded contents, which a turn does not change. Returns `None` if the command was
    /// stopped.
    pub(super) fn turn(
        &self,
        turn: &TurnParameters<'_>,
        loaded: LoadedContents,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<TurnOutcome>, LabError> {
        observer(TrialEvent::Stage(&turn.name));
        let file = turn.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let image = self.image();
        let contents = Contents::Over(&image);
        let Some(mut served) = self.start(&file, turn.system, contents, loaded.size, turn.scale)?
        else {
            return Ok(None);
        };
        self.mount(&mut served)?;
        let server = self.server(loaded.buffer_mib)?;
        let database = server.database();
        let options = RunOptions {
            profile: TransactionProfile::Hammerdb,
            users: self.users,
            think_times: false,
            ramp: turn.times.ramp,
            duration: turn.times.duration,
            seed: self.seed,
            clock: TransactionDates::Wall,
            pause: turn.pause,
        };
        let (target, data) = outcome::target(&database).map_err(of_database)?;
        let mut show = |moment: &lanemark_oltp::progress::ProgressSnapshot| {
            let done = moment.elapsed.as_secs_f64();
            let of = moment.of.as_secs_f64();
            let phase = if moment.counts { "counted" } else { "ramp" };
            let name = &turn.name;
            let tpm = moment.tpm();
            let line = format!("{name} · {phase} {:.0} of {of:.0} s · {tpm:.0} tpm", done.min(of));
            observer(TrialEvent::Stage(&line));
        };
        let ran = run_shown(&database, self.scale, &options, turn.number, &self.stop, &mut show);
        let page_cache = server.page_cache().map(str::to_owned);
        // The server's memory content is discarded together with the disk.
        server.abandon();
        let sample = match ran {
            Err(OltpError::Stopped) => return Ok(None),
            ran => ran.map_err(of_database)?,
        };
        let served = served.end()?;
        Ok(Some(TurnOutcome { sample, served, target, data, options, page_cache }))
    }
}

/// Returns the processor time of the server and the users per transaction, in microseconds.
pub(super) fn processor_us(sample: &Sample) -> Option<f64> {
    let transactions = sample.transactions.as_ref()?;
    let time = transactions.processor_time.as_ref()?;
    let seconds = time.server_s? + time.driver_s?;
    (transactions.count > 0).then(|| seconds * 1e6 / transactions.count as f64)
}

/// The processor time that a turn took on this machine.
#[derive(Clone, Copy)]
pub(super) struct ProcessorCost {
    /// Processor time of the database per transaction, in microseconds: the time of its server, its users, and all
    /// other work except for the disk's server. On an otherwise idle machine, the other work is the kernel's work for
    /// the database.
    pub(super) database_us: f64,
    /// Processor time of the disk's server per transaction, in microseconds. This time represents the processors of the
    /// drives.
    pub(super) disk_us: f64,
    /// Share of the processors that the database uses, of those that the disk's server leaves free.
    pub(super) busy: f64,
}

impl ProcessorCost {
    /// Returns the cost of a turn; `None` if it is not known.
    pub(super) fn from_turn(turn: &TurnOutcome, cores: f64) -> Option<Self> {
        let live = || turn.served.as_ref()?.tests.first()?.samples.first()?.live.as_ref();
        Self::of_sample(&turn.sample, live(), cores)
    }

    /// Returns the cost of a turn from the sample of the database and the outcome of the disk's server.
    fn of_sample(sample: &Sample, live: Option<&LiveDelivery>, cores: f64) -> Option<Self> {
        let transactions = sample.transactions.as_ref()?;
        let all_us = cores * 1e6 * sample.elapsed.as_seconds();
        let count = transactions.count as f64;
        let own_us = processor_us(sample)?;
        let others_us = transactions.processor_others.unwrap_or(0.0) * all_us / count;
        // The server worked for longer than the counted time.
        let share =
            live.map_or(0.0, |live| live.processor_s / live.served.as_seconds().max(1e-9) / cores);
        let disk_us = share.min(1.0) * all_us / count;
        let database_us = own_us + (others_us - disk_us).max(0.0);
        let busy = database_us * count / (all_us - disk_us * count).max(1.0);
        (count > 0.0 && all_us > 0.0).then_some(Self { database_us, disk_us, busy: busy.min(1.0) })
    }

    /// Returns the transactions a minute that `cores` processors reach if the database uses the share `busy` of the
    /// processors that the disk's server leaves free.
    pub(super) fn rate(self, cores: f64, busy: f64) -> f64 {
        busy * cores * 60e6 / (self.database_us + busy * self.disk_us)
    }
}

/// Rejects a folder whose file system has less than `needed` bytes of free space.
fn check_free_space(folder: &Path, needed: u64) -> Result<(), LabError> {
    let Ok(there) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = there.f_bavail.saturating_mul(there.f_frsize);
    if free < needed {
        Err(LabError::input(format!(
            "{} has {} MiB free, but the loaded database needs {} MiB",
            folder.display(),
            free >> 20,
            needed >> 20
        ))
        .hint("use a different --folder, fewer --warehouses or a larger --scale"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{LatencyHistogram, ServerProcessorTime, TransactionFigures};
    use lanemark_schema::units::Duration;

    use super::*;

    #[test]
    fn a_transaction_costs_its_own_time_and_the_others_without_the_disks_server() {
        // 10,000 transactions in ten seconds on four processors use 4,000 µs of processor time each.
        let sample = |count: u64, others: Option<f64>| {
            let time =
                ServerProcessorTime { server_s: Some(10.0), driver_s: Some(2.0), sessions: None };
            let transactions = Some(TransactionFigures {
                count,
                processor_others: others,
                processor_time: Some(time),
                ..TransactionFigures::default()
            });
            Sample { elapsed: Duration::from_seconds(10), transactions, ..Sample::empty() }
        };
        // The disk's server takes `processor_s` of the four processors during twelve seconds.
        let live = |processor_s: f64| LiveDelivery {
            time_scale: 1.0,
            host_errors: Default::default(),
            served: Duration::from_seconds(12),
            lateness: LatencyHistogram::new(),
            reads: None,
            writes: None,
            evidence: Default::default(),
            content: None,
            processor_s,
            busy: Duration::ZERO,
            program: None,
        };
        let of = |others, processor_s: Option<f64>| {
            let live = processor_s.map(live);
            let cost =
                ProcessorCost::of_sample(&sample(10_000, others), live.as_ref(), 4.0).unwrap();
            [cost.database_us, cost.disk_us, cost.busy]
        };
        for (others, processor_s, wanted) in [
            (None, None, [1200.0, 0.0, 0.3]),
            (Some(0.25), None, [2200.0, 0.0, 0.55]),
            (Some(0.25), Some(9.6), [1400.0, 800.0, 1400.0 / 3200.0]),
            // The server's time is included in the others' time, and may have been measured over a longer period.
            (Some(0.1), Some(9.6), [1200.0, 800.0, 1200.0 / 3200.0]),
            (Some(1.0), Some(48.0), [1200.0, 4000.0, 1.0]),
        ] {
            for (found, wanted) in of(others, processor_s).into_iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-6, "{others:?} {processor_s:?}: {found}");
            }
        }
        assert!(ProcessorCost::of_sample(&sample(0, None), None, 4.0).is_none());
        assert!(ProcessorCost::of_sample(&Sample::empty(), None, 4.0).is_none());
    }

    #[test]
    fn the_disks_server_takes_processors_away_and_is_no_work_of_the_database() {
        let cost = ProcessorCost { database_us: 1_000.0, disk_us: 500.0, busy: 0.5 };
        // Both processors are busy, and a transaction takes 1.5 ms.
        assert!((cost.rate(2.0, 1.0) - 80_000.0).abs() < 1e-6);
        // The database uses half of the remaining time. Each second offers 2 s of processor time, and the disk's server
        // uses 0.5 ms of it per transaction.
        let rate = cost.rate(2.0, 0.5) / 60.0;
        let left = 2.0 - 0.5e-3 * rate;
        assert!((1e-3 * rate / left - 0.5).abs() < 1e-9);
        let alone = ProcessorCost { disk_us: 0.0, ..cost };
        assert!((alone.rate(2.0, 0.5) - 60_000.0).abs() < 1e-6);
    }
}
