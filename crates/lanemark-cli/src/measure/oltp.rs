//! `lanemark oltp`: runs a TPC-C-derived workload on a real database.

use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use lanemark_lab::results;
use lanemark_oltp::check::{ConditionResult, check};
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::managed::{ManagedServer, ServerOptions};
use lanemark_oltp::progress::ProgressSnapshot;
use lanemark_oltp::run::{self, RunOptions, TransactionDates};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError, outcome};
use lanemark_schema::result::Warning;
use lanemark_schema::units;
use lanemark_trial::served_target::ServedMeasurement;
use serde_json::json;

use crate::args::{OltpArgs, OltpCommand, OltpDatabaseArgs, OltpLoadArgs, OltpRunArgs};
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::progress::Progress;
use crate::output::saving::{Destination, ResultSaver};
use crate::output::{self, messages, provenance, stop};

pub(crate) fn run(args: &OltpArgs) -> Result<CommandOutcome, Failure> {
    match &args.command {
        OltpCommand::Load(args) => {
            // One connection monitors the load, in addition to the connections that load.
            let connections = u32::from(args.jobs.unwrap_or(256)) + 1;
            with_database(&args.database, connections, |database, _| load_database(database, args))
        }
        OltpCommand::Run(args) => {
            let connections = args.users.saturating_add(1);
            with_database(&args.database, connections, |database, page_cache| {
                run_users(database, args, page_cache)
            })
        }
        OltpCommand::Check(args) => {
            with_database(&args.database, 1, |database, _| check_database(database, args.json))
        }
    }
}

/// Maximum time for a server that Lanemark started to stop.
const SERVER_STOP: Duration = Duration::from_secs(30);

/// Connections that a server reserves for administration.
const CONNECTIONS_BESIDE: u32 = 20;

/// Calls a function with a database; if requested, first starts a server for the database. The function also receives
/// the reason why the server uses the page cache although direct I/O was requested.
fn with_database(
    args: &OltpDatabaseArgs,
    connections: u32,
    act: impl FnOnce(&Database, Option<&str>) -> Result<CommandOutcome, Failure>,
) -> Result<CommandOutcome, Failure> {
    let Some(folder) = &args.managed else { return act(&args.database, None) };
    let shared_buffers_mib = args.shared_buffers.0 >> 20;
    if shared_buffers_mib == 0 {
        return Err(Failure::input("--shared-buffers: expected 1 MiB or more"));
    }
    let connections_max = connections.saturating_add(CONNECTIONS_BESIDE);
    let direct_io = args.direct_io;
    let options = ServerOptions { shared_buffers_mib, connections_max, direct_io };
    // A server's orderly shutdown takes longer than the usual end of a command.
    stop::extend_patience(SERVER_STOP);
    let server = ManagedServer::start(folder, &options).map_err(|error| match error {
        OltpError::Foreign(_) => Failure::from(error).hint("use a new folder for --managed"),
        error => error.into(),
    })?;
    let database = server.database();
    let settings = database.settings()?;
    let settings: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    tell!("PostgreSQL in {}: {}", folder.display(), settings.join(", "));
    let outcome = act(&database, server.page_cache());
    if args.remove {
        server.remove()?;
    }
    outcome
}

fn load_database(database: &Database, args: &OltpLoadArgs) -> Result<CommandOutcome, Failure> {
    let stop = stop::on_signal();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = LoadOptions {
        scale: Scale { warehouses: args.warehouses, divisor: args.scale, seed: args.seed },
        jobs: args.jobs.map_or(cores, usize::from),
        overwrite: args.overwrite.clone(),
    };
    let progress = Mutex::new(Progress::new());
    let show = |done: i64, all: i64| {
        if let Ok(mut progress) = progress.lock() {
            progress.show(&format!("{}: {done} of {all} parts loaded", database.name()));
        }
    };
    let outcome = load(database, &options, &stop, &show);
    drop(progress);
    let report = match outcome {
        Err(OltpError::Stopped) => {
            tell!("interrupted; run the same command to continue");
            return Ok(CommandOutcome::Interrupted);
        }
        outcome => outcome?,
    };
    let rate = report.rows as f64 / report.seconds.max(1e-9);
    if args.json {
        let figures = json!({
            "database": database.name(),
            "warehouses": args.warehouses,
            "warehouses_loaded_before": report.kept,
            "rows": report.rows,
            "seconds": report.seconds,
            "rows_per_second": rate,
        });
        output::print(&figures.to_string())?;
        return Ok(CommandOutcome::Done);
    }
    output::print(&format!(
        "{}: {} warehouses, {} of them loaded before; {} rows in {:.1} s, {rate:.0} rows/s",
        database.name(),
        args.warehouses,
        report.kept,
        report.rows,
        report.seconds
    ))?;
    Ok(CommandOutcome::Done)
}

fn run_users(
    database: &Database,
    args: &OltpRunArgs,
    page_cache: Option<&str>,
) -> Result<CommandOutcome, Failure> {
    let scale = database.loaded()?.scale;
    let options = RunOptions {
        profile: args.profile,
        users: args.users,
        think_times: args.think_times,
        ramp: std_duration(args.ramp),
        duration: std_duration(args.duration),
        seed: args.seed,
        clock: TransactionDates::Wall,
        pause: std_duration(args.pause),
    };
    options.check(&scale)?;
    if options.duration.is_zero() {
        return Err(Failure::input("--duration: expected a time above 0 s"));
    }
    let stop = stop::on_signal();
    let (target, data) = outcome::target(database)?;
    let workload = outcome::workload(&scale, &options, data, args.repeats);
    let mut provenance = provenance::own_provenance(args.seed);
    // The command line may contain a password.
    hide_password(&mut provenance.command, database);
    let path = target.place.as_deref().unwrap_or_default();
    let mut served = messages::with_remarks(|remarks| {
        ServedMeasurement::find(Path::new(path), args.served.as_deref(), remarks)
    })?;
    let out = Destination::from_out(args.out.as_deref());
    let saving = ResultSaver::open(out, "oltp", &provenance.started_at)?;
    let mut progress = Progress::new();
    let mut ending = CommandOutcome::Done;
    let mut saved = Ok(());
    let mut samples = Vec::new();
    let mut result = None;
    for repeat in 0..args.repeats {
        let title = format!("repeat {} of {}", repeat + 1, args.repeats);
        progress.show(&title);
        served.iter_mut().for_each(ServedMeasurement::begin);
        let mut show = |moment: &ProgressSnapshot| {
            progress.show(&format!("{title} · {}", status_line(moment)));
        };
        match run::run_shown(database, scale, &options, repeat, &stop, &mut show) {
            Ok(sample) => {
                if !sample.complete {
                    ending = CommandOutcome::Interrupted;
                }
                samples.push(sample);
            }
            Err(OltpError::Stopped) => {
                ending = CommandOutcome::Interrupted;
                break;
            }
            Err(error) => return Err(error.into()),
        }
        provenance.finished_at = results::now();
        let parts = (provenance.clone(), target.clone(), workload.clone(), samples.clone());
        let mut so_far = outcome::result(parts.0, parts.1, parts.2, parts.3);
        let reason = page_cache.map(str::to_owned);
        so_far.warnings.extend(reason.map(|reason| Warning::PageCache { reason }));
        if let Some(served) = &mut served {
            served.end(&so_far.tests);
            served.complete(&mut so_far);
        }
        saved = saving.save_run(&so_far);
        result = Some(so_far);
        if matches!(ending, CommandOutcome::Interrupted) {
            break;
        }
    }
    let Some(result) = result else {
        drop(progress);
        tell!("interrupted before 1 s was counted; nothing is saved");
        return Ok(ending);
    };
    drop(progress);
    if args.json {
        output::print_json(&result)?;
    } else {
        output::print(
            &lanemark_report::database_text(&result, &output::style()).unwrap_or_default(),
        )?;
    }
    saving.report(saved)?;
    Ok(ending)
}

/// Describes the state of a run in one line.
fn status_line(moment: &ProgressSnapshot) -> String {
    let phase = if moment.counts { "counted" } else { "ramp" };
    let elapsed = moment.elapsed.as_secs_f64();
    let of = moment.of.as_secs_f64();
    let mut line = format!("{phase} {:.0} of {of:.0} s", elapsed.min(of));
    line += &format!(" · {:.0} tpm, {:.0} NOPM", moment.tpm(), moment.nopm());
    if let Some(latency) = moment.latency {
        line += &format!(" · {:.3} ms", latency.as_secs_f64() * 1e3);
    }
    if let Some(device) = &moment.device {
        let us = |mean: Option<f64>| mean.map_or("–".to_owned(), |us| format!("{us:.0}"));
        let read = us(device.read_us());
        let write = us(device.write_us());
        let share = moment.device_share().map_or(0.0, |share| 100.0 * share);
        line += &format!(" · device {share:.0}%, read {read}, write {write} µs");
    }
    line
}

fn check_database(database: &Database, as_json: bool) -> Result<CommandOutcome, Failure> {
    let loaded = database.loaded()?;
    let conditions = check(database.connect()?.as_mut(), &loaded)?;
    if as_json {
        output::print(&check_json(database, &conditions).to_string())?;
    } else {
        output::print(&check_text(&conditions))?;
    }
    match conditions.iter().filter(|condition| condition.broken > 0).count() {
        0 => Ok(CommandOutcome::Done),
        broken => Err(Failure::run(format!(
            "{}: {broken} of {} conditions are violated",
            database.name(),
            conditions.len()
        ))),
    }
}

/// Returns the conditions as JSON, each with its violation count.
fn check_json(database: &Database, conditions: &[ConditionResult]) -> serde_json::Value {
    let condition = |condition: &ConditionResult| {
        json!({
            "source": condition.source.to_string(),
            "condition": condition.text,
            "violations": condition.broken,
        })
    };
    let all: Vec<serde_json::Value> = conditions.iter().map(condition).collect();
    json!({ "database": database.name(), "conditions": all })
}

/// Returns the conditions as a table.
fn check_text(conditions: &[ConditionResult]) -> String {
    let mut text = String::new();
    for condition in conditions {
        let outcome = match condition.broken {
            0 => "holds".to_owned(),
            broken => format!("VIOLATED in {broken}"),
        };
        let source = condition.source.to_string();
        let _ = writeln!(text, "{source:<11}{:<72}{outcome}", condition.text);
    }
    text
}

fn std_duration(duration: units::Duration) -> Duration {
    Duration::from_nanos(duration.nanoseconds())
}

/// Removes the password from the database name in a command line.
fn hide_password(command: &mut [String], database: &Database) {
    for word in command {
        for scheme in ["postgres://", "postgresql://", "mysql://", "mariadb://"] {
            if let Some(at) = word.find(scheme) {
                word.replace_range(at.., &database.name());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_shows_phase_and_rates() {
        let mut moment = ProgressSnapshot {
            counts: false,
            elapsed: Duration::from_secs(3),
            of: Duration::from_secs(30),
            transactions: 0,
            new_orders: 0,
            latency: None,
            device: None,
        };
        assert_eq!(status_line(&moment), "ramp 3 of 30 s · 0 tpm, 0 NOPM");
        moment = ProgressSnapshot {
            counts: true,
            transactions: 600,
            new_orders: 300,
            latency: Some(Duration::from_micros(1_234)),
            device: Some(lanemark_oltp::device::DeviceWork {
                writes: 10,
                write_ms: 2,
                ..Default::default()
            }),
            ..moment
        };
        let wanted =
            "counted 3 of 30 s · 12000 tpm, 6000 NOPM · 1.234 ms · device 0%, read –, write 200 µs";
        assert_eq!(status_line(&moment), wanted);
    }
}
