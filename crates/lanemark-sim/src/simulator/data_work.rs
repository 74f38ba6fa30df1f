//! Processor time that depends on the length of a request: pinned pages, and the work of kernel threads on the data,
//! such as encryption and checksums. Also the exit from a deep idle state, which few requests need.
//!
//! A kernel thread runs on the core that becomes free first, which must wake if it sleeps. It works on the data of a
//! write before the command is sent, and on the data of a read after the driver has completed the command. The I/O
//! threads of a hypervisor perform this work outside the guest's cores. They poll, and therefore do not have to wake.
//!
//! A core on which no request of its thread began or ended for `deep_idle_after` is in its deepest idle state. The next
//! request begins after the core's exit from this state. A thread in a closed loop submits its next request when a
//! request ends, and therefore never waits for the exit.

use super::Simulator;
use crate::engine::budget::Hop;
use crate::engine::slab::CommandHandle;
use crate::spec::CpuSpec;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;

/// The values of the host for this work.
pub(super) struct DataWork {
    cpu: CpuSpec,
    /// For each core, the last instant at which a request of its threads began or ended.
    last_requests: Vec<Instant>,
}

impl DataWork {
    /// Returns the values of `cpu`, if any of its times depends on the data of a request, or if its cores enter a deep
    /// idle state.
    pub(super) fn from_cpu(cpu: &CpuSpec) -> Option<Box<Self>> {
        let last_requests = vec![Instant::ZERO; cpu.cores as usize];
        let is_needed = cpu.works_on_data() || cpu.deep_wake > Duration::ZERO;
        is_needed.then(|| Box::new(Self { cpu: *cpu, last_requests }))
    }
}

impl Simulator {
    /// Wakes the submitting thread's core if it is in a deep idle state, and returns the time in which the thread pins
    /// the pages of a command.
    #[inline]
    pub(super) fn pin_time(
        &mut self,
        thread: u32,
        operation: Operation,
        length: Bytes,
    ) -> Duration {
        match self.data_work {
            Some(_) => self.wake_and_pin(thread, operation, length),
            None => Duration::ZERO,
        }
    }

    #[cold]
    fn wake_and_pin(&mut self, thread: u32, operation: Operation, length: Bytes) -> Duration {
        let Some(values) = &self.data_work else { return Duration::ZERO };
        let CpuSpec { deep_wake, deep_idle_after, .. } = values.cpu;
        let core = thread as usize % self.cores.len();
        let idle_since = self.cores[core].free_at().max(values.last_requests[core]);
        if deep_wake > Duration::ZERO && idle_since + deep_idle_after < self.now {
            self.cores[core].serve(self.now + deep_wake, Duration::ZERO);
        }
        if operation.moves_data() { values.cpu.pin_time(length) } else { Duration::ZERO }
    }

    /// Performs the work of a kernel thread on the data of a command at `ready`, if the command's operation is
    /// `operation` and the host has such work. Returns the end of the work, or `ready` without work.
    #[inline]
    pub(super) fn end_of_data_work(
        &mut self,
        handle: CommandHandle,
        operation: Operation,
        ready: Instant,
    ) -> Instant {
        match self.data_work {
            Some(_) => self.work(handle, operation, ready),
            None => ready,
        }
    }

    #[cold]
    fn work(&mut self, handle: CommandHandle, operation: Operation, ready: Instant) -> Instant {
        let Some(values) = &mut self.data_work else { return ready };
        let command = &mut self.commands[handle];
        let core = command.thread as usize % self.cores.len();
        values.last_requests[core] = values.last_requests[core].max(ready);
        if command.operation != operation {
            return ready;
        }
        let time = values.cpu.data_work(command.operation).time(command.length);
        let is_outside = !self.io_threads.is_empty();
        let servers = if is_outside { &mut self.io_threads } else { &mut self.cores };
        let first = servers.iter_mut().min_by_key(|core| core.free_at());
        let Some(core) = first.filter(|_| time > Duration::ZERO) else { return ready };
        let sleeps = !is_outside && core.free_at() + self.idle_after < ready;
        let span = core.serve(if sleeps { ready + self.wake } else { ready }, time);
        command.trace.account_service(Hop::Cpu as usize, span);
        span.end
    }
}
