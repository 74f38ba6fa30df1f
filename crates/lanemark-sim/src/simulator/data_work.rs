//! Processor time that depends on the length of a request: pinned pages, and the work of kernel threads on the data,
//! such as encryption and checksums.
//!
//! A kernel thread runs on the core that becomes free first, which must wake if it sleeps. It works on the data of a
//! write before the command is sent, and on the data of a read after the driver has completed the command. The I/O
//! threads of a hypervisor perform this work outside the guest's cores. They poll, and therefore do not have to wake.

use super::Simulator;
use crate::engine::budget::Hop;
use crate::engine::slab::CommandHandle;
use crate::spec::CpuSpec;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;

/// The values of the host for this work.
pub(super) struct DataWork(CpuSpec);

impl DataWork {
    /// Returns the values of `cpu`, if any of its times depends on the data of a request.
    pub(super) fn from_cpu(cpu: &CpuSpec) -> Option<Box<Self>> {
        cpu.works_on_data().then(|| Box::new(Self(*cpu)))
    }
}

impl Simulator {
    /// Returns the time in which the submitting thread pins the pages of a command.
    #[inline]
    pub(super) fn pin_time(&self, operation: Operation, length: Bytes) -> Duration {
        match &self.data_work {
            Some(work) if operation.moves_data() => work.0.pin_time(length),
            _ => Duration::ZERO,
        }
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
            Some(_) if self.commands[handle].operation == operation => self.work(handle, ready),
            _ => ready,
        }
    }

    #[cold]
    fn work(&mut self, handle: CommandHandle, ready: Instant) -> Instant {
        let Some(values) = &self.data_work else { return ready };
        let command = &mut self.commands[handle];
        let time = values.0.data_work(command.operation).time(command.length);
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
