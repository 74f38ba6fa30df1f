//! Virtual machines that use the device in real time, one connection after another, all in the same thread.

use std::io;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lanemark_sim::RequestStatus;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::device::VhostDevice;
use super::wire;
use crate::connection::ServerState;
use crate::delivered::DueCompletion;
use crate::engine::EngineRequest;
use crate::job::RequestContext;
use crate::socket::{Listener, Socket};

/// The thread number of the queue in the model.
const THREAD: u32 = 1;
/// Interval between checks whether deferred requests can be submitted.
const HELD_BACK: Duration = Duration::from_millis(1);
/// Time limit for the rest of a message that has begun.
const MESSAGE: Duration = Duration::from_secs(10);

/// The thread that serves virtual machines.
pub(crate) struct MachineServer {
    listener: Arc<Listener>,
    now: Arc<OpenConnection>,
    thread: Option<JoinHandle<()>>,
}

/// The open connection.
#[derive(Default)]
struct OpenConnection {
    ended: AtomicBool,
    stream: Mutex<Option<UnixStream>>,
}

impl MachineServer {
    /// Begins to accept connections.
    pub(crate) fn start(
        listener: Listener,
        shared: Arc<ServerState>,
        around: RequestContext,
    ) -> io::Result<Self> {
        let (listener, now) = (Arc::new(listener), Arc::new(OpenConnection::default()));
        let (own, current) = (Arc::clone(&listener), Arc::clone(&now));
        let thread = thread::Builder::new().name("machine".to_owned());
        let thread = thread.spawn(move || {
            while !current.ended.load(Ordering::SeqCst) {
                let Ok(Socket::Unix(stream)) = own.accept() else {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                *lock(&current.stream) = stream.try_clone().ok();
                // The outcome concerns only the guest.
                let _ = serve(&stream, &shared, &around, &current.ended);
                *lock(&current.stream) = None;
            }
        })?;
        Ok(Self { listener, now, thread: Some(thread) })
    }

    /// Returns the number of open connections: one or zero.
    pub(crate) fn connections(&self) -> usize {
        usize::from(lock(&self.now.stream).is_some())
    }
}

impl Drop for MachineServer {
    fn drop(&mut self) {
        self.now.ended.store(true, Ordering::SeqCst);
        self.listener.close();
        if let Some(stream) = &*lock(&self.now.stream) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    stream: &UnixStream,
    shared: &ServerState,
    around: &RequestContext,
    ended: &AtomicBool,
) -> io::Result<()> {
    stream.set_read_timeout(Some(MESSAGE))?;
    stream.set_write_timeout(Some(MESSAGE))?;
    let mut device = VhostDevice::new(around.clone(), THREAD, false);
    let mut held_back = false;
    while !ended.load(Ordering::SeqCst) && !device.queue().is_broken() {
        let mut waited = vec![PollFd::new(stream, PollFlags::IN)];
        waited.extend(device.kick.as_ref().map(|kick| PollFd::new(kick, PollFlags::IN)));
        let nap = Timespec { tv_sec: 0, tv_nsec: HELD_BACK.as_nanos() as i64 };
        match poll(&mut waited, held_back.then_some(&nap)) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let (has_message, is_kicked) = (
            !waited[0].revents().is_empty(),
            waited.get(1).is_some_and(|kick| !kick.revents().is_empty()),
        );
        if is_kicked && let Some(kick) = &device.kick {
            // At the end of the file, the guest has closed it and sends no more notifications.
            let mut count = [0; 8];
            if matches!((&*kick).read(&mut count), Ok(0)) {
                return Ok(());
            }
        }
        if has_message {
            let Some(came) = wire::receive(stream)? else { break };
            let answer = device.handle(came.message, came.files)?;
            wire::answer(stream, &came.header, answer)?;
        }
        let pulled = device.pull()?;
        held_back = pulled.has_more;
        pulled.requests.into_iter().for_each(|request| submit(shared, request));
    }
    device.stop();
    Ok(())
}

/// Submits a request to the model, or executes it immediately if there is no model.
fn submit(shared: &ServerState, request: EngineRequest) {
    let Some(engine) = &shared.engine else {
        let EngineRequest { access, came, work, .. } = request;
        shared.delivered.count_at_once(access.operation, access.length);
        let (at, modelled) = (came, lanemark_schema::units::Duration::ZERO);
        let _ = work.completed(
            RequestStatus::Good,
            &DueCompletion { access, came, at, modelled, before_flush: modelled, damage: None },
        );
        return;
    };
    engine.submit(request);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
