//! Users that ask for one transaction after another, each on a connection and thread of its own.
//!
//! A transaction counts where it ends: after the ramp and before the end. One that meets another in its way is
//! done again with the same input, and its latency goes on. Any other error ends the run. Who looks on meanwhile is
//! the thread that started the run.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use lanemark_core::result::{Counters, Sample, ServerTime, SessionTime};

use crate::database::Database;
use crate::error::OltpError;
use crate::live::{Moment, Tally};
use crate::look::{Onlooker, Seen};
use crate::notes::{AllNotes, Ended, Notes};
use crate::outcome::Counted;
use crate::profile::Profile;
use crate::room::Room;
use crate::schema::Scale;
pub use crate::user::User;

/// Users that one warehouse has terminals for.
const USERS_A_WAREHOUSE: i64 = 10;
/// Longest sleep before a check whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// A repeat that was stopped is kept if it counted for so long.
const KEPT_FROM: Duration = Duration::from_secs(1);
/// The stack of a user's thread, so that a thousand of them fit anywhere.
const STACK: usize = 512 * 1024;

/// The source of the dates of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The machine's clock.
    Wall,
    /// A second for each transaction of a user, so that a run leaves the same contents again.
    Counted,
}

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// Mix of transactions.
    pub profile: Profile,
    /// Number of users at once.
    pub users: u32,
    /// Whether users have keying and think times.
    pub think_times: bool,
    /// Time before counting.
    pub ramp: Duration,
    /// Time that is counted.
    pub duration: Duration,
    /// The seed of what users ask for.
    pub seed: u64,
    /// Source of dates.
    pub clock: Clock,
    /// Whether transactions are procedures of the server.
    pub procedures: bool,
    /// Time that each user spends outside the database after each transaction.
    pub pause: Duration,
}

impl RunOptions {
    /// Whether there are terminals for the users.
    pub fn check(&self, scale: &Scale) -> Result<(), OltpError> {
        let (users, warehouses) = (i64::from(self.users), scale.warehouses);
        match self.users {
            0 => Err(OltpError::Bound { what: "users", value: 0, min: 1, max: 1_000_000 }),
            _ if users > warehouses * USERS_A_WAREHOUSE => {
                Err(OltpError::Users { users, warehouses })
            }
            _ => Ok(()),
        }
    }
}

/// Sleeps until `until` or until it shall stop.
fn sleep_until(until: Instant, stop: &dyn Fn() -> bool) {
    while !stop() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// The times of a repeat.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) begins: Instant,
    pub(crate) counts_from: Instant,
    pub(crate) ends: Instant,
}

/// The state that all threads of a repeat share.
pub(crate) struct Shared<'a> {
    pub(crate) span: Span,
    /// Whether users make the database count what they have done ([`crate::session::Connection::report`]).
    pub(crate) reports: bool,
    /// Users that are past the edge where counting begins.
    pub(crate) past: AtomicU32,
    pub(crate) tallies: Vec<Tally>,
    failed: AtomicBool,
    failure: Mutex<Option<OltpError>>,
    stop: &'a AtomicBool,
    /// Time at which a thread first saw that it shall stop.
    stopped_at: OnceLock<Instant>,
}

impl Shared<'_> {
    pub(crate) fn stopped(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            self.stopped_at.get_or_init(Instant::now);
        }
        self.stopped_at.get().is_some() || self.failed.load(Ordering::Relaxed)
    }

    /// Returns the time at which counting ends: with the repeat, or where it is stopped before that.
    pub(crate) fn counts_until(&self) -> Instant {
        self.stopped_at.get().map_or(self.span.ends, |&stopped| stopped.min(self.span.ends))
    }

    /// Ends the run with an error, of which the first stays.
    fn fail(&self, error: OltpError) {
        self.failed.store(true, Ordering::Relaxed);
        if let Ok(mut first) = self.failure.lock() {
            first.get_or_insert(error);
        }
    }
}

/// The work of users in a repeat.
#[derive(Default)]
struct Work {
    counters: Counters,
    /// Processor time of the sessions for which it is known.
    sessions: Option<SessionTime>,
}

impl Work {
    fn merge(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        if let Some(own) = other.sessions {
            let all = self.sessions.get_or_insert_default();
            all.running_s += own.running_s;
            all.ready_s += own.ready_s;
        }
    }
}

/// Runs one user's part of a repeat.
fn work(
    user: &mut User,
    options: &RunOptions,
    shared: &Shared<'_>,
    tally: &Tally,
    notes: &mut Notes<'_>,
) -> Result<Work, OltpError> {
    let Span { counts_from, ends, .. } = shared.span;
    let stop = || shared.stopped();
    let (mut work, mut edge) = (Work::default(), None);
    while !stop() && Instant::now() < ends {
        if edge.is_none() && Instant::now() >= counts_from {
            edge = Some(user.edge(shared.reports)?);
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
            let (retries, latency) = (user.retries(), ended - begun);
            notes.add(Ended { kind, rolled_back, retries, latency });
        }
        let outside = options.pause + pauses.map_or(Duration::ZERO, |(_, thinking)| thinking);
        if !outside.is_zero() {
            sleep_until((ended + outside).min(ends), &stop);
        }
    }
    if !shared.failed.load(Ordering::Relaxed) {
        let last = user.edge(shared.reports)?;
        if let Some(first) = edge {
            (work.sessions, work.counters) = last.since(&first);
        }
    }
    Ok(work)
}

/// Runs one repeat.
///
/// Where `stop` comes before its end, the sample is that of the time until then and is not complete; within the first
/// second that counts, the outcome is [`OltpError::Stopped`].
pub fn run(
    database: &Database,
    scale: Scale,
    options: &RunOptions,
    repeat: u32,
    stop: &AtomicBool,
) -> Result<Sample, OltpError> {
    run_shown(database, scale, options, repeat, stop, &mut |_| ())
}

/// Runs one repeat, and tells `show` each second, and where ramp and counting end, how it goes on.
pub fn run_shown(
    database: &Database,
    scale: Scale,
    options: &RunOptions,
    repeat: u32,
    stop: &AtomicBool,
    show: &mut dyn FnMut(&Moment),
) -> Result<Sample, OltpError> {
    options.check(&scale)?;
    let room = Room::of(database);
    let mut users = (0..options.users)
        .map(|number| User::new(database, scale, options, repeat, number))
        .collect::<Result<Vec<User>, OltpError>>()?;
    let mut onlooker =
        Onlooker::new(database, &mut users, options.think_times || !options.pause.is_zero())?;
    let begins = Instant::now();
    let counts_from = begins + options.ramp;
    let shared = Shared {
        span: Span { begins, counts_from, ends: counts_from + options.duration },
        reports: onlooker.wants_reports(),
        past: AtomicU32::new(0),
        tallies: users.iter().map(|_| Tally::default()).collect(),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        stop,
        stopped_at: OnceLock::new(),
    };
    let (mut all, uses) = (Work::default(), AllNotes::default());
    let seen = std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(users.len());
        for (user, tally) in users.iter_mut().zip(&shared.tallies) {
            let (shared, uses) = (&shared, &uses);
            let body = move || {
                work(user, options, shared, tally, &mut uses.notes()).unwrap_or_else(|error| {
                    shared.fail(error);
                    Work::default()
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
        let seen = onlooker.look_on(&shared, show);
        if seen.is_err() {
            // The users' own errors say more of what has happened; they come by themselves or not at all.
            shared.failed.store(true, Ordering::Relaxed);
        }
        for thread in started {
            match thread.join() {
                Ok(own) => all.merge(&own),
                Err(_) => shared.fail(OltpError::Database("a user's thread has died".to_owned())),
            }
        }
        seen
    });
    let failure = shared.failure.lock().ok().and_then(|mut first| first.take());
    if let Some(error) = failure {
        return Err(room.explain(error));
    }
    let counted = shared.counts_until().saturating_duration_since(counts_from);
    if counted < KEPT_FROM.min(options.duration) {
        return Err(OltpError::Stopped);
    }
    let mut seen = seen?;
    onlooker.finish(&shared, &mut seen)?;
    let complete = counted == options.duration;
    Ok(Sample { complete, ..outcome(counted, uses, &all, seen) })
}

/// The repeat, of what users did and what was seen beside them.
fn outcome(counted: Duration, uses: AllNotes, work: &Work, seen: Seen) -> Sample {
    let seconds = counted.as_secs_f64();
    let kinds = uses.into_uses();
    let time =
        ServerTime { server_s: seen.server_s, driver_s: seen.driver_s, sessions: work.sessions };
    let retries: u64 = kinds.values().map(|one| one.retries).sum();
    // What was done again is in the database's count each time, and in ours once.
    let beside = seen.reports + retries;
    let counted = seen.counters.transactions();
    let mut counters = seen.counters;
    counters.add(&work.counters);
    Counted {
        seconds,
        kinds,
        device: seen.device,
        processor_busy: seen.processor_busy,
        processor_others: seen.processor_others,
        processor_time: (time != ServerTime::default()).then_some(time),
        counters,
        waits: seen.waits,
        counted_per_minute: counted
            .map(|counted| counted.saturating_sub(beside) as f64 * 60.0 / seconds.max(1e-9)),
        looked_on: seen.reports,
    }
    .sample()
}
