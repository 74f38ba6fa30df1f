//! Runs users that execute one transaction after another, each on a separate connection and thread.
//!
//! A transaction counts if it ends after the ramp and before the end of the run. A transaction that conflicts with
//! another is repeated with the same input, and its latency includes all attempts. Any other error ends the run. The
//! thread that started the run observes it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use lanemark_schema::result::{
    DatabaseCounters, Sample, ServerProcessorTime, SessionProcessorTime,
};

use crate::database::Database;
use crate::error::OltpError;
use crate::free_space::DataFolder;
use crate::histograms::{EndedTransaction, SharedHistograms, TransactionLog};
use crate::observation::{RepeatObservations, RunObserver};
pub use crate::options::{RunOptions, TransactionDates};
use crate::outcome::RepeatCounts;
use crate::progress::{ProgressSnapshot, TransactionCounters};
use crate::repeat_state::{RepeatState, RepeatTimes};
use crate::schema::Scale;
pub use crate::user::User;

/// Longest sleep between checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Minimum counted time after which the sample of a stopped repeat is kept.
const KEPT_FROM: Duration = Duration::from_secs(1);
/// Stack size of a user's thread, small enough for a thousand users.
const STACK: usize = 512 * 1024;

/// Sleeps until `until`, or until `stop` returns true.
fn sleep_until(until: Instant, stop: &dyn Fn() -> bool) {
    while !stop() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

#[derive(Default)]
struct RepeatWork {
    counters: DatabaseCounters,
    /// Processor time of the sessions, if it is known.
    sessions: Option<SessionProcessorTime>,
}

impl RepeatWork {
    fn merge(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        if let Some(sessions) = other.sessions {
            let merged_waits = self.sessions.get_or_insert_default();
            merged_waits.running_s += sessions.running_s;
            merged_waits.ready_s += sessions.ready_s;
        }
    }
}

/// Runs the transactions of one user in a repeat.
fn work(
    user: &mut User,
    options: &RunOptions,
    shared: &RepeatState<'_>,
    tally: &TransactionCounters,
    notes: &mut TransactionLog<'_>,
) -> Result<RepeatWork, OltpError> {
    let RepeatTimes { counts_from, ends, .. } = shared.span;
    let stop = || shared.stopped();
    let mut work = RepeatWork::default();
    let mut edge = None;
    while !stop() && Instant::now() < ends {
        if edge.is_none() && Instant::now() >= counts_from {
            edge = Some(user.read_edge(shared.reports)?);
            shared.past.fetch_add(1, Ordering::Release);
        }
        let kind = user.choose();
        let pauses = options.think_times.then(|| user.pauses(kind));
        if let Some((keying, _)) = pauses {
            sleep_until((Instant::now() + keying).min(ends), &stop);
        }
        let begun = Instant::now();
        if begun >= ends {
            break;
        }
        let rolled_back = user.perform(kind)?;
        let ended = Instant::now();
        tally.add(kind, rolled_back, ended - begun);
        if ended >= counts_from && ended < shared.counts_until() {
            notes.add(EndedTransaction {
                kind,
                rolled_back,
                retries: user.retries(),
                latency: ended - begun,
            });
        }
        let outside = options.pause + pauses.map_or(Duration::ZERO, |(_, thinking)| thinking);
        if !outside.is_zero() {
            sleep_until((ended + outside).min(ends), &stop);
        }
    }
    if !shared.failed.load(Ordering::Relaxed) {
        let last = user.read_edge(shared.reports)?;
        if let Some(first) = edge {
            (work.sessions, work.counters) = last.since(&first);
        }
    }
    Ok(work)
}

/// Runs one repeat.
///
/// If `stop` returns true before the end, the sample covers the time until then, and is marked as incomplete. If
/// counting has not yet lasted a second, the result is [`OltpError::Stopped`] instead.
pub fn run(
    database: &Database,
    scale: Scale,
    options: &RunOptions,
    repeat: u32,
    stop: &AtomicBool,
) -> Result<Sample, OltpError> {
    run_shown(database, scale, options, repeat, stop, &mut |_| ())
}

/// Runs one repeat, and passes its progress to `show` each second and at the ends of the ramp and of counting.
pub fn run_shown(
    database: &Database,
    scale: Scale,
    options: &RunOptions,
    repeat: u32,
    stop: &AtomicBool,
    show: &mut dyn FnMut(&ProgressSnapshot),
) -> Result<Sample, OltpError> {
    options.check(&scale)?;
    let room = DataFolder::query(database);
    let mut users = (0..options.users)
        .map(|number| User::new(database, scale, options, repeat, number))
        .collect::<Result<Vec<User>, OltpError>>()?;
    let mut onlooker = RunObserver::new(database, &mut users, options.has_pauses())?;
    let begins = Instant::now();
    let counts_from = begins + options.ramp;
    let shared = RepeatState {
        span: RepeatTimes { begins, counts_from, ends: counts_from + options.duration },
        reports: onlooker.wants_reports(),
        past: AtomicU32::new(0),
        tallies: users.iter().map(|_| TransactionCounters::default()).collect(),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        stop,
        stopped_at: OnceLock::new(),
    };
    let mut all = RepeatWork::default();
    let uses = SharedHistograms::default();
    let observations = std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(users.len());
        for (user, tally) in users.iter_mut().zip(&shared.tallies) {
            let shared = &shared;
            let uses = &uses;
            let body = move || {
                work(user, options, shared, tally, &mut uses.notes()).unwrap_or_else(|error| {
                    shared.fail(error);
                    RepeatWork::default()
                })
            };
            match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, body) {
                Ok(thread) => started.push(thread),
                Err(error) => shared.fail(OltpError::System {
                    what: "a thread for a user".to_owned(),
                    reason: error.to_string(),
                }),
            }
        }
        let observations = onlooker.look_on(&shared, show);
        if observations.is_err() {
            // The flag ends the users without recording this error, because a user's own error describes the cause
            // better.
            shared.failed.store(true, Ordering::Relaxed);
        }
        for thread in started {
            match thread.join() {
                Ok(notes) => all.merge(&notes),
                Err(_) => shared.fail(OltpError::Database("a user's thread panicked".to_owned())),
            }
        }
        observations
    });
    let failure = shared.failure.lock().ok().and_then(|mut first| first.take());
    if let Some(error) = failure {
        return Err(room.explain(error));
    }
    let counted = shared.counts_until().saturating_duration_since(counts_from);
    if counted < KEPT_FROM.min(options.duration) {
        return Err(OltpError::Stopped);
    }
    let mut observations = observations?;
    onlooker.finish(&shared, &mut observations)?;
    let complete = counted == options.duration;
    Ok(Sample { complete, ..outcome(counted, uses, &all, observations) })
}

/// Returns a sample of the users' work and the observations.
fn outcome(
    counted: Duration,
    uses: SharedHistograms,
    work: &RepeatWork,
    observations: RepeatObservations,
) -> Sample {
    let seconds = counted.as_secs_f64();
    let kinds = uses.into_uses();
    let time = ServerProcessorTime {
        server_s: observations.server_s,
        driver_s: observations.driver_s,
        sessions: work.sessions,
    };
    let retries: u64 = kinds.values().map(|kind| kind.retries).sum();
    // The database counts every attempt; the users count a transaction once.
    let beside = observations.reports + retries;
    let counted = observations.counters.transactions();
    let mut counters = observations.counters;
    counters.add(&work.counters);
    RepeatCounts {
        seconds,
        kinds,
        device: observations.device,
        processor_busy: observations.processor_busy,
        processor_others: observations.processor_others,
        processor_time: (time != ServerProcessorTime::default()).then_some(time),
        counters,
        waits: observations.waits,
        counted_per_minute: counted
            .map(|counted| counted.saturating_sub(beside) as f64 * 60.0 / seconds.max(1e-9)),
        looked_on: observations.reports,
    }
    .sample()
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::DatabaseCounter;

    use super::*;
    use crate::profile::TransactionKind;

    #[test]
    fn the_work_of_users_adds_up() {
        let work = |commits: u64, sessions: Option<(f64, f64)>| RepeatWork {
            counters: [(DatabaseCounter::Commits, commits)].into_iter().collect(),
            sessions: sessions
                .map(|(running_s, ready_s)| SessionProcessorTime { running_s, ready_s }),
        };
        let mut all = RepeatWork::default();
        all.merge(&work(3, None));
        assert_eq!(all.sessions, None);
        all.merge(&work(4, Some((1.5, 0.25))));
        all.merge(&work(0, Some((2.0, 0.5))));
        all.merge(&work(5, None));
        assert_eq!(all.counters.get(DatabaseCounter::Commits), Some(12));
        assert_eq!(all.sessions, Some(SessionProcessorTime { running_s: 3.5, ready_s: 0.75 }));
    }

    #[test]
    fn a_sleep_ends_at_its_time_or_when_the_run_stops() {
        let begun = Instant::now();
        sleep_until(begun + Duration::from_millis(70), &|| false);
        assert!(begun.elapsed() >= Duration::from_millis(70));
        let begun = Instant::now();
        sleep_until(begun + Duration::from_secs(60), &|| {
            begun.elapsed() > Duration::from_millis(1)
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
        sleep_until(begun, &|| false);
    }

    #[test]
    fn a_sample_has_the_transactions_that_the_database_counted_without_attempts_and_reports() {
        let uses = SharedHistograms::default();
        for (retries, rolled_back) in [(0, false), (2, false), (1, true)] {
            let kind = TransactionKind::NewOrder;
            let latency = Duration::from_millis(4);
            uses.notes().add(EndedTransaction { kind, rolled_back, retries, latency });
        }
        let sessions = Some(SessionProcessorTime { running_s: 0.5, ready_s: 0.25 });
        let own: DatabaseCounters = [(DatabaseCounter::WalBytes, 7)].into_iter().collect();
        let work = RepeatWork { counters: own, sessions };
        let counters: DatabaseCounters = [
            (DatabaseCounter::Commits, 10),
            (DatabaseCounter::Rollbacks, 1),
            (DatabaseCounter::WalBytes, 200),
        ]
        .into_iter()
        .collect();
        let observations = RepeatObservations {
            counters,
            processor_busy: Some(0.75),
            processor_others: Some(0.125),
            server_s: Some(3.0),
            driver_s: Some(1.0),
            reports: 2,
            ..RepeatObservations::default()
        };
        let sample = outcome(Duration::from_secs(2), uses, &work, observations);
        let found = sample.transactions.unwrap();
        assert_eq!((found.count, found.per_minute), (3, 90.0));
        assert_eq!(found.new_orders_per_minute, Some(60.0));
        // The database counted eleven transactions, including three retries and two reports.
        assert_eq!(found.counted_per_minute, Some(180.0));
        assert_eq!(found.looked_on, 2);
        assert_eq!((found.processor_busy, found.processor_others), (Some(0.75), Some(0.125)));
        let time = ServerProcessorTime { server_s: Some(3.0), driver_s: Some(1.0), sessions };
        assert_eq!(found.processor_time, Some(time));
        assert_eq!(found.counters.get(DatabaseCounter::WalBytes), Some(207));
        assert_eq!(found.log_bytes, Some(69.0));
        // Counters that the database does not provide are not reported.
        let nothing = outcome(
            Duration::from_secs(2),
            SharedHistograms::default(),
            &RepeatWork::default(),
            RepeatObservations::default(),
        );
        let found = nothing.transactions.unwrap();
        assert_eq!((found.count, found.counted_per_minute, found.processor_time), (0, None, None));
    }
}
