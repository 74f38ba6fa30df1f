//! The course of a run: calendar, device and simulator as one, in one thread.
//!
//! The guest either works or waits, and only its messages are heard while it works. When it waits, the simulator goes from
//! event to event. Where one leaves an answer in the queue, the guest is notified at that instant, rounded up to its ns,
//! and asks to run then. Else it runs at the time that it had requested. It need not ask before the simulator's next
//! event, which a request may bring nearer.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use lanemark_core::units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::boot::Guest;
use super::calendar::{self, NEVER, Said, Told};
use crate::clock::ManualClock;
use crate::engine::Core;
use crate::vhost::device::Device;
use crate::vhost::message::{self, HEADER};
use crate::vhost::wire;

/// The time of day at which every guest begins: 2026-01-01, so that a run can be had again.
const DAY_NS: u64 = 1_767_225_600_000_000_000;
/// Interval at which is looked whether the guest lives, and whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Time for the rest of a message that has begun, and for an answer that the guest gives at once.
const MESSAGE: Duration = Duration::from_secs(20);
/// Real time after which a guest that says nothing is told of.
const SILENCE: Duration = Duration::from_secs(30);
/// Messages between two looks.
const MESSAGES: u32 = 512;

/// Calendar, device and simulator of a run.
pub(crate) struct Course {
    core: Core,
    clock: Arc<ManualClock>,
    device: Device,
    listeners: (UnixListener, UnixListener),
    calendar: Option<UnixStream>,
    disk: Option<UnixStream>,
    /// The time of the guest in ns, as far as it is known.
    now: u64,
    /// The time at which the guest wants to run.
    requested: Option<u64>,
    is_waiting: bool,
    /// The time before which the guest does not ask.
    free_until: u64,
    /// The number of the next message of the calendar, and of the last one that the guest took.
    order: (u32, u32),
    has_more: bool,
}

impl Course {
    pub(crate) fn new(
        core: Core,
        clock: Arc<ManualClock>,
        device: Device,
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

    /// The simulator, after the run.
    pub(crate) fn into_core(self) -> Core {
        self.core
    }

    /// Runs until the guest has ended or `is_stopped`. A guest that has said nothing for [`SILENCE`] is `silent`.
    ///
    /// # Errors
    /// A guest that breaks a protocol, does not answer, or waits for what never comes.
    pub(crate) fn run(
        &mut self,
        guest: &mut Guest,
        is_stopped: &dyn Fn() -> bool,
        silent: &dyn Fn(Duration),
    ) -> io::Result<()> {
        let mut messages = 0;
        let mut since = None;
        let mut is_told = false;
        loop {
            let has_come = match self.is_waiting {
                true => self.go_on()?,
                false => self.hear()?,
            };
            if has_come {
                (since, is_told) = (None, false);
            } else {
                let quiet = since.get_or_insert_with(std::time::Instant::now).elapsed();
                if quiet >= SILENCE && !is_told {
                    silent(quiet);
                    is_told = true;
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

    /// Waits for a message while the guest works. False where none has come for a while.
    fn hear(&mut self) -> io::Result<bool> {
        let calendar = ready(&self.calendar, &self.listeners.0);
        let disk = ready(&self.disk, &self.listeners.1);
        let [from_calendar, from_disk] = wait_for([calendar, disk], LOOK)?;
        if from_calendar {
            match &self.calendar {
                None => self.calendar = Some(taken(&self.listeners.0)?),
                Some(_) => self.hear_calendar()?,
            }
        }
        if from_disk {
            match &self.disk {
                None => self.disk = Some(taken(&self.listeners.1)?),
                Some(_) => self.hear_disk()?,
            }
        }
        Ok(from_calendar || from_disk)
    }

    fn hear_calendar(&mut self) -> io::Result<()> {
        let Some(stream) = &self.calendar else { return Ok(()) };
        let mut bytes = [0; calendar::LENGTH];
        match (&*stream).read_exact(&mut bytes) {
            // The guest has ended, which is seen at the next look.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                std::thread::sleep(Duration::from_millis(5));
                self.is_waiting = false;
                return Ok(());
            }
            read => read?,
        }
        let (said, order) = calendar::read(bytes).map_err(io::Error::other)?;
        let mut answer = 0;
        match said {
            Said::Taken => {
                self.order.1 = order;
                return Ok(());
            }
            Said::Start => {}
            Said::Request(time) => self.requested = Some(time),
            Said::Wait => self.is_waiting = true,
            Said::Get => answer = self.now,
            Said::Update(time) => self.pass(time)?,
            Said::Day => answer = DAY_NS,
        }
        match &self.calendar {
            Some(stream) => (&*stream).write_all(&calendar::write(Told::Taken(answer), order)),
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
            self.tell(Told::FreeUntil(next))?;
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
            true => Err(io::Error::other("the guest's disk: an answer has no place in memory")),
            false => Ok(()),
        }
    }

    /// The guest's time has come to `time` by itself.
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
        while !self.core.turn() {}
    }

    /// The ns of the simulator's next event, rounded up; [`NEVER`] where there is none.
    fn next(&self) -> u64 {
        // Answers that lie there are to be told of now.
        self.core.next_event().map_or(NEVER, |at| at.picoseconds().div_ceil(1_000).min(NEVER))
    }

    /// Goes on to what the guest waits for, and lets it run.
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
                    return Err(io::Error::other("the guest waits for what never comes"));
                }
                _ => {
                    self.pass(requested)?;
                    break;
                }
            }
        }
        (self.is_waiting, self.requested) = (false, None);
        self.free_until = self.next();
        self.tell(Told::FreeUntil(self.free_until))?;
        self.tell(Told::Run(self.now))?;
        Ok(true)
    }

    /// Tells the guest something, and waits until it has taken that.
    fn tell(&mut self, told: Told) -> io::Result<()> {
        let order = self.order.0;
        self.order.0 = order.wrapping_add(1);
        let Some(stream) = &self.calendar else { return Ok(()) };
        (&*stream).write_all(&calendar::write(told, order))?;
        while self.order.1 != order {
            let Some(stream) = &self.calendar else { return Ok(()) };
            if !wait_for_one(stream, MESSAGE)? {
                return Err(io::Error::other("the guest does not take what the calendar says"));
            }
            self.hear_calendar()?;
        }
        Ok(())
    }

    /// Notifies the guest of answers, and waits until it has noted that; meanwhile it asks for the time.
    fn notify(&mut self) -> io::Result<()> {
        let Some(channel) = self.device.channel.as_ref().map(UnixStream::try_clone).transpose()?
        else {
            return Err(io::Error::other("the guest's disk has given no channel"));
        };
        channel.set_read_timeout(Some(MESSAGE))?;
        (&channel).write_all(&message::call(0))?;
        loop {
            let Some(calendar) = &self.calendar else { return Ok(()) };
            let [said, answered] = wait_for([calendar.into(), (&channel).into()], MESSAGE)?;
            if said {
                self.hear_calendar()?;
            }
            if answered {
                let mut bytes = [0; HEADER + 8];
                (&channel).read_exact(&mut bytes)?;
                return match bytes.first_chunk().copied().is_some_and(message::is_call_reply) {
                    true => Ok(()),
                    false => Err(io::Error::other("the guest's disk: an answer to nothing")),
                };
            }
            if !said {
                return Err(io::Error::other("the guest does not take a notification"));
            }
        }
    }
}

fn instant(ns: u64) -> Instant {
    Instant::from_picoseconds(ns.saturating_mul(1_000)).min(Instant::END)
}

/// A socket to be waited for.
struct Waited<'s>(PollFd<'s>);

impl<'s> From<&'s UnixStream> for Waited<'s> {
    fn from(stream: &'s UnixStream) -> Self {
        Self(PollFd::new(stream, PollFlags::IN))
    }
}

fn ready<'s>(stream: &'s Option<UnixStream>, listener: &'s UnixListener) -> Waited<'s> {
    match stream {
        Some(stream) => stream.into(),
        None => Waited(PollFd::new(listener, PollFlags::IN)),
    }
}

/// Waits until something has come on a socket, or `most` is over, and tells whether it has.
fn wait_for_one(socket: &UnixStream, most: Duration) -> io::Result<bool> {
    Ok(wait_for([socket.into()], most)? == [true])
}

/// Waits until something has come on one of the sockets, or `most` is over, and tells on which. Signals that come meanwhile
/// change nothing.
fn wait_for<const N: usize>(sockets: [Waited<'_>; N], most: Duration) -> io::Result<[bool; N]> {
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

fn taken(listener: &UnixListener) -> io::Result<UnixStream> {
    let stream = listener.accept()?.0;
    stream.set_read_timeout(Some(MESSAGE))?;
    stream.set_write_timeout(Some(MESSAGE))?;
    Ok(stream)
}
