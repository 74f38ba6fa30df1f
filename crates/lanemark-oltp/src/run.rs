//! Users that ask for one transaction after another, each on a connection and thread of its own.
//!
//! A transaction counts where it ends: after the ramp and before the end. One that meets another in its way is
//! done again with the same input, and its latency goes on. Any other error ends the run.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::database::Database;
use crate::device::{Device, between};
use crate::error::OltpError;
use crate::input::Inputs;
use crate::processor::ProcessorTime;
use crate::profile::{Mix, Profile, TransactionKind};
use crate::result::{OltpRepeat, TransactionUse};
use crate::schema::Scale;
use crate::session::Connection;
use crate::transactions::NewOrderOutcome;

/// Users that one warehouse has terminals for.
const USERS_A_WAREHOUSE: i64 = 10;
/// Times that a transaction is done again before the run gives up.
const RETRIES_MAX: u64 = 1_000;
/// How long a sleep goes on before it looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// The stack of a user's thread, so that a thousand of them fit anywhere.
const STACK: usize = 512 * 1024;

/// Where the dates of transactions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The machine's.
    Wall,
    /// A second for each transaction of a user, so that a run leaves the same contents again.
    Counted,
}

/// How a run goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// The mix.
    pub profile: Profile,
    /// Users at once.
    pub users: u32,
    /// Whether they key and think.
    pub think_times: bool,
    /// Time before counting.
    pub ramp: Duration,
    /// Time that is counted.
    pub duration: Duration,
    /// The seed of what users ask for.
    pub seed: u64,
    /// Dates.
    pub clock: Clock,
    /// Whether transactions are procedures of the server.
    pub procedures: bool,
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

/// One user with a connection.
pub struct User {
    connection: Box<dyn Connection>,
    inputs: Inputs,
    mix: Mix,
    clock: Clock,
    done: i64,
    retries: u64,
}

impl User {
    /// The user of a number, in a repeat.
    pub fn new(
        database: &Database,
        scale: Scale,
        options: &RunOptions,
        repeat: u32,
        number: u32,
    ) -> Result<Self, OltpError> {
        Ok(Self {
            connection: database.connect_user(options.procedures)?,
            inputs: Inputs::new(scale, options.profile, options.seed, repeat, number),
            mix: Mix::new(options.profile),
            clock: options.clock,
            done: 0,
            retries: 0,
        })
    }

    /// Draws the next transaction.
    pub fn choose(&mut self) -> TransactionKind {
        self.mix.next(self.inputs.rng())
    }

    /// Does a transaction until it is done; whether it was rolled back as it should.
    pub fn perform(&mut self, kind: TransactionKind) -> Result<bool, OltpError> {
        let at_ms = self.now_ms();
        self.done += 1;
        self.retries = 0;
        match kind {
            TransactionKind::NewOrder => {
                let input = self.inputs.new_order(at_ms);
                let outcome = self.again(|connection| connection.new_order(&input))?;
                Ok(outcome == NewOrderOutcome::RolledBack)
            }
            TransactionKind::Payment => {
                let input = self.inputs.payment(at_ms);
                self.again(|connection| connection.payment(&input)).map(|_| false)
            }
            TransactionKind::OrderStatus => {
                let input = self.inputs.order_status();
                self.again(|connection| connection.order_status(&input)).map(|_| false)
            }
            TransactionKind::Delivery => {
                let input = self.inputs.delivery(at_ms);
                self.again(|connection| connection.delivery(&input)).map(|_| false)
            }
            TransactionKind::StockLevel => {
                let input = self.inputs.stock_level();
                self.again(|connection| connection.stock_level(&input)).map(|_| false)
            }
        }
    }

    fn again<T>(
        &mut self,
        mut act: impl FnMut(&mut dyn Connection) -> Result<T, OltpError>,
    ) -> Result<T, OltpError> {
        loop {
            match act(self.connection.as_mut()) {
                Err(OltpError::Conflict(_)) if self.retries < RETRIES_MAX => self.retries += 1,
                outcome => return outcome,
            }
        }
    }

    fn now_ms(&self) -> i64 {
        match self.clock {
            Clock::Counted => crate::population::LOADED_AT_MS + 1_000 * (self.done + 1),
            Clock::Wall => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_millis() as i64),
        }
    }

    /// Keying and thinking times of a transaction (clause 5.2.5.7).
    fn pauses(&mut self, kind: TransactionKind) -> (Duration, Duration) {
        let (keying, mean) = kind.times_s();
        // The logarithm of nothing is cut at ten times the mean, as the clause has it.
        let thinking = (-self.inputs.rng().unit().ln() * mean).min(10.0 * mean);
        (Duration::from_secs_f64(keying), Duration::from_secs_f64(thinking))
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
struct Span {
    counts_from: Instant,
    ends: Instant,
}

type Uses = BTreeMap<TransactionKind, TransactionUse>;

/// One user's part of a repeat.
fn work(
    user: &mut User,
    options: &RunOptions,
    span: Span,
    stop: &dyn Fn() -> bool,
) -> Result<Uses, OltpError> {
    let mut uses = Uses::new();
    while !stop() && Instant::now() < span.ends {
        let kind = user.choose();
        let pauses = options.think_times.then(|| user.pauses(kind));
        if let Some((keying, _)) = pauses {
            sleep_until((Instant::now() + keying).min(span.ends), stop);
        }
        let begun = Instant::now();
        if begun >= span.ends {
            break;
        }
        let rolled_back = user.perform(kind)?;
        let ended = Instant::now();
        if ended >= span.counts_from && ended < span.ends {
            let entry = uses.entry(kind).or_default();
            entry.count += 1;
            entry.rolled_back += u64::from(rolled_back);
            entry.retries += user.retries;
            entry.latency.record_ns((ended - begun).as_nanos() as u64);
        }
        if let Some((_, thinking)) = pauses {
            sleep_until((ended + thinking).min(span.ends), stop);
        }
    }
    Ok(uses)
}

/// What is read where counting begins and ends.
struct Look {
    at: Instant,
    processor: Option<ProcessorTime>,
    device: Option<crate::result::DeviceWork>,
    counted: Option<u64>,
}

impl Look {
    fn now(connection: &mut dyn Connection, device: Option<&Device>) -> Result<Self, OltpError> {
        Ok(Self {
            counted: connection.transactions_counted()?,
            device: device.and_then(Device::read),
            processor: ProcessorTime::now(),
            at: Instant::now(),
        })
    }
}

/// Runs one repeat. Where `stop` comes before its end, the outcome is [`OltpError::Stopped`].
pub fn run(
    database: &Database,
    scale: Scale,
    options: &RunOptions,
    repeat: u32,
    stop: &AtomicBool,
) -> Result<OltpRepeat, OltpError> {
    options.check(&scale)?;
    let mut users = (0..options.users)
        .map(|number| User::new(database, scale, options, repeat, number))
        .collect::<Result<Vec<User>, OltpError>>()?;
    let device = database.data_path().and_then(|path| Device::below(&path));
    let mut observer = database.connect()?;
    let failure: Mutex<Option<OltpError>> = Mutex::new(None);
    let failed = AtomicBool::new(false);
    let stopped = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
    let counts_from = Instant::now() + options.ramp;
    let span = Span { counts_from, ends: counts_from + options.duration };
    let fail = |error: OltpError| {
        failed.store(true, Ordering::Relaxed);
        if let Ok(mut first) = failure.lock() {
            first.get_or_insert(error);
        }
    };
    let mut uses = Uses::new();
    let looks = std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(users.len());
        for user in &mut users {
            let (stopped, fail) = (&stopped, &fail);
            let body = move || {
                work(user, options, span, stopped).unwrap_or_else(|error| {
                    fail(error);
                    Uses::new()
                })
            };
            match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, body) {
                Ok(thread) => started.push(thread),
                Err(error) => fail(OltpError::System {
                    what: "a thread for a user".to_owned(),
                    reason: error.to_string(),
                }),
            }
        }
        sleep_until(span.counts_from, &stopped);
        let first = Look::now(observer.as_mut(), device.as_ref());
        sleep_until(span.ends, &stopped);
        let last = Look::now(observer.as_mut(), device.as_ref());
        for thread in started {
            match thread.join() {
                Ok(own) => own.iter().for_each(|(kind, one)| {
                    uses.entry(*kind).or_default().merge(one);
                }),
                Err(_) => fail(OltpError::Database("a user's thread has died".to_owned())),
            }
        }
        first.and_then(|first| Ok((first, last?)))
    });
    if let Some(error) = failure.into_inner().ok().flatten() {
        return Err(error);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(OltpError::Stopped);
    }
    let (first, last) = looks?;
    let mut repeat = OltpRepeat::new(options.duration.as_secs_f64(), uses);
    let minutes = (last.at - first.at).as_secs_f64() / 60.0;
    repeat.database_tpm = first
        .counted
        .zip(last.counted)
        .map(|(before, after)| after.saturating_sub(before) as f64 / minutes);
    repeat.device = first.device.zip(last.device).map(|(a, b)| between(&a, &b));
    repeat.processor_busy =
        first.processor.zip(last.processor).and_then(|(before, after)| after.busy_since(before));
    Ok(repeat)
}
