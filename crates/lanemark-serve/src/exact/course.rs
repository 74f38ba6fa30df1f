//! The loop of an exact run, with calendar, device and simulator in one thread.
//!
//! The guest either works or waits, and the loop reads only the guest's messages while it works. While the guest waits,
//! the simulator advances from event to event. If an event puts a reply into the queue, the guest is notified at that
//! instant, rounded up to a nanosecond, and requests to run at that time. Otherwise the guest runs at the time that it
//! had requested. The guest need not send a request before the simulator's next event; a disk request may make that
//! event earlier.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use lanemark_schema::units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::boot::Guest;
use super::calendar::{self, CalendarMessage, GuestMessage, NEVER};
use crate::clock::ManualClock;
use crate::engine::SimulatedSystem;
use crate::vhost::device::VhostDevice;
use crate::vhost::message::{self, HEADER};
use crate::vhost::wire;

/// The time at which every guest starts, 2026-01-01, in ns since 1970; it is fixed so that a run is reproducible.
const DAY_NS: u64 = 1_767_225_600_000_000_000;
/// Interval between checks whether the guest is alive and whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Time limit for the rest of a message that has begun, and for an answer that the guest must send immediately.
const MESSAGE: Duration = Duration::from_secs(20);
/// Real time after which a silent guest is reported.
const SILENCE: Duration = Duration::from_secs(30);
/// Number of messages between two checks.
const MESSAGES: u32 = 512;

/// Calendar, device and simulator of a run.
pub(crate) struct GuestRun {
    core: SimulatedSystem,
    clock: Arc<ManualClock>,
    device: VhostDevice,
    listeners: (UnixListener, UnixListener),
    calendar: Option<UnixStream>,
    disk: Option<UnixStream>,
    /// The last known time of the guest in ns.
    now: u64,
    /// Time at which the guest has requested to run.
    requested: Option<u64>,
    is_waiting: bool,
    /// The time before which the guest does not send requests.
    free_until: u64,
    /// Sequence numbers of the calendar's next message, and of the last message that the guest acknowledged.
    order: (u32, u32),
    has_more: bool,
}

impl GuestRun {
    pub(crate) fn new(
        core: SimulatedSystem,
        clock: Arc<ManualClock>,
        device: VhostDevice,
        listeners: (UnixListener, UnixListener),
    ) -> io::Result<Self> {
        Ok(Self {
            core,
            clock,
            device,
            listeners,
            calendar: None,
            disk: None,
            now: 0,
            requested: None,
            is_waiting: false,
            free_until: 0,
            order: (1, 0),
            has_more: false,
        })
    }

    /// Returns the simulator, after the run.
    pub(crate) fn into_core(self) -> SimulatedSystem {
        self.core
    }

    /// Runs until the guest has ended or `is_stopped`. `silent` is called when the guest has sent no message for
    /// [`SILENCE`].
    ///
    /// # Errors
    /// Returns an error if the guest breaks a protocol, does not answer, or waits for an event that will never occur.
    pub(crate) fn run(
        &mut self,
        guest: &mut Guest,
        is_stopped: &dyn Fn() -> bool,
        silent: &dyn Fn(Duration),
    ) -> io::Result<()> {
        let mut messages = 0;
        let mut since = None;
        let mut is_reported = false;
        loop {
            let has_come = match self.is_waiting {
                true => self.go_on()?,
                false => self.wait_for_message()?,
            };
            if has_come {
                (since, is_reported) = (None, false);
            } else {
                let quiet = since.get_or_insert_with(std::time::Instant::now).elapsed();
                if quiet >= SILENCE && !is_reported {
                    silent(quiet);
                    is_reported = true;
                }
            }
            messages += 1;
            if !has_come || messages >= MESSAGES {
                messages = 0;
                guest.forward()?;
                if is_stopped() || guest.has_ended()? {
                    return Ok(());
                }
            }
        }
    }

    /// Waits for a message while the guest works. Returns false if no message arrives within [`LOOK`].
    fn wait_for_message(&mut self) -> io::Result<bool> {
        let calendar = socket_to_wait_on(&self.calendar, &self.listeners.0);
        let disk = socket_to_wait_on(&self.disk, &self.listeners.1);
        let [from_calendar, from_disk] = wait_for([calendar, disk], LOOK)?;
        if from_calendar {
            match &self.calendar {
                None => self.calendar = Some(accept_within(&self.listeners.0)?),
                Some(_) => self.hear_calendar()?,
            }
        }
        if from_disk {
            match &self.disk {
                None => self.disk = Some(accept_within(&self.listeners.1)?),
                Some(_) => self.hear_disk()?,
            }
        }
        Ok(from_calendar || from_disk)
    }

    fn hear_calendar(&mut self) -> io::Result<()> {
        let Some(stream) = &self.calendar else { return Ok(()) };
        let mut bytes = [0; calendar::LENGTH];
        match (&*stream).read_exact(&mut bytes) {
            // The guest has ended; the next check detects this.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                std::thread::sleep(Duration::from_millis(5));
                self.is_waiting = false;
                return Ok(());
            }
            read => read?,
        }
        let (message, order) = calendar::read(bytes).map_err(io::Error::other)?;
        let mut answer = 0;
        match message {
            GuestMessage::Taken => {
                self.order.1 = order;
                return Ok(());
            }
            GuestMessage::Start => {}
            GuestMessage::Request(time) => self.requested = Some(time),
            GuestMessage::Wait => self.is_waiting = true,
            GuestMessage::Get => answer = self.now,
            GuestMessage::Update(time) => self.pass(time)?,
            GuestMessage::Day => answer = DAY_NS,
        }
        match &self.calendar {
            Some(stream) => {
                (&*stream).write_all(&calendar::write(CalendarMessage::Taken(answer), order))
            }
            None => Ok(()),
        }
    }

    fn hear_disk(&mut self) -> io::Result<()> {
        let Some(stream) = &self.disk else { return Ok(()) };
        let Some(came) = wire::receive(stream)? else {
            self.disk = None;
            return Ok(());
        };
        let answer = self.device.handle(came.message, came.files)?;
        self.pull()?;
        let next = self.next();
        if next < self.free_until {
            self.free_until = next;
            self.send_message(CalendarMessage::FreeUntil(next))?;
        }
        match &self.disk {
            Some(stream) => wire::answer(stream, &came.header, answer),
            None => Ok(()),
        }
    }

    fn pull(&mut self) -> io::Result<()> {
        let pulled = self.device.pull()?;
        self.has_more = pulled.has_more;
        pulled.requests.into_iter().for_each(|request| self.core.submit(request));
        match self.device.queue().is_broken() {
            true => {
                Err(io::Error::other("the guest's disk: there is not enough memory for an answer"))
            }
            false => Ok(()),
        }
    }

    /// Records that the guest's own time has advanced to `time`.
    fn pass(&mut self, time: u64) -> io::Result<()> {
        if time < self.now {
            return Err(io::Error::other(format!("the guest's time goes back to {time} ns")));
        }
        self.now = time;
        self.turn_to(instant(time));
        Ok(())
    }

    fn turn_to(&mut self, at: Instant) {
        self.clock.turn_to(at);
        while !self.core.advance_to_now() {}
    }

    /// Returns the time of the simulator's next event in ns, rounded up; [`NEVER`] if there is no event.
    fn next(&self) -> u64 {
        // The guest must now be notified of replies in the queue.
        self.core.next_event().map_or(NEVER, |at| at.picoseconds().div_ceil(1_000).min(NEVER))
    }

    /// Advances to the event that the guest waits for, and lets the guest run.
    fn go_on(&mut self) -> io::Result<bool> {
        loop {
            if self.device.queue().take_answers() {
                self.notify()?;
                if self.has_more {
                    self.pull()?;
                }
                continue;
            }
            let requested = self.requested.unwrap_or(NEVER).max(self.now);
            match self.core.next_event() {
                Some(at) if at <= instant(requested) => {
                    self.turn_to(at);
                    self.now = self.now.max(at.picoseconds().div_ceil(1_000));
                }
                None if requested >= NEVER => {
                    return Err(io::Error::other("the guest waits for an event that never occurs"));
                }
                _ => {
                    self.pass(requested)?;
                    break;
                }
            }
        }
        (self.is_waiting, self.requested) = (false, None);
        self.free_until = self.next();
        self.send_message(CalendarMessage::FreeUntil(self.free_until))?;
        self.send_message(CalendarMessage::Run(self.now))?;
        Ok(true)
    }

    /// Sends a message to the guest, and waits until the guest acknowledges it.
    fn send_message(&mut self, message: CalendarMessage) -> io::Result<()> {
        let order = self.order.0;
        self.order.0 = order.wrapping_add(1);
        let Some(stream) = &self.calendar else { return Ok(()) };
        (&*stream).write_all(&calendar::write(message, order))?;
        while self.order.1 != order {
            let Some(stream) = &self.calendar else { return Ok(()) };
            if !wait_for_one(stream, MESSAGE)? {
                return Err(io::Error::other("the guest does not accept the calendar's message"));
            }
            self.hear_calendar()?;
        }
        Ok(())
    }

    /// Notifies the guest of replies, and waits until the guest acknowledges this. Before that, the guest requests the
    /// time.
    fn notify(&mut self) -> io::Result<()> {
        let Some(channel) = self.device.channel.as_ref().map(UnixStream::try_clone).transpose()?
        else {
            return Err(io::Error::other("the guest's disk has not provided a channel"));
        };
        channel.set_read_timeout(Some(MESSAGE))?;
        (&channel).write_all(&message::call(0))?;
        loop {
            let Some(calendar) = &self.calendar else { return Ok(()) };
            let [has_message, is_answered] =
                wait_for([calendar.into(), (&channel).into()], MESSAGE)?;
            if has_message {
                self.hear_calendar()?;
            }
            if is_answered {
                let mut bytes = [0; HEADER + 8];
                (&channel).read_exact(&mut bytes)?;
                return match bytes.first_chunk().copied().is_some_and(message::is_call_reply) {
                    true => Ok(()),
                    false => Err(io::Error::other("the guest's disk: an answer without a request")),
                };
            }
            if !has_message {
                return Err(io::Error::other("the guest does not accept a notification"));
            }
        }
    }
}

fn instant(ns: u64) -> Instant {
    Instant::from_picoseconds(ns.saturating_mul(1_000)).min(Instant::END)
}

/// A socket that is waited for.
struct WaitedSocket<'s>(PollFd<'s>);

impl<'s> From<&'s UnixStream> for WaitedSocket<'s> {
    fn from(stream: &'s UnixStream) -> Self {
        Self(PollFd::new(stream, PollFlags::IN))
    }
}

fn socket_to_wait_on<'s>(
    stream: &'s Option<UnixStream>,
    listener: &'s UnixListener,
) -> WaitedSocket<'s> {
    match stream {
        Some(stream) => stream.into(),
        None => WaitedSocket(PollFd::new(listener, PollFlags::IN)),
    }
}

/// Waits until data arrives on a socket or `most` has passed, and returns whether data arrived.
fn wait_for_one(socket: &UnixStream, most: Duration) -> io::Result<bool> {
    Ok(wait_for([socket.into()], most)? == [true])
}

/// Waits until data arrives on one of the sockets or `most` has passed, and returns which sockets have data. Signals do
/// not affect the result.
fn wait_for<const N: usize>(
    sockets: [WaitedSocket<'_>; N],
    most: Duration,
) -> io::Result<[bool; N]> {
    let mut sockets = sockets.map(|socket| socket.0);
    let until = std::time::Instant::now() + most;
    loop {
        let left = until.saturating_duration_since(std::time::Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut sockets, Some(&left)) {
            Ok(_) => return Ok(sockets.each_ref().map(|socket| !socket.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn accept_within(listener: &UnixListener) -> io::Result<UnixStream> {
    let stream = listener.accept()?.0;
    stream.set_read_timeout(Some(MESSAGE))?;
    stream.set_write_timeout(Some(MESSAGE))?;
    Ok(stream)
}
