//! The processor of a host, and its times outside the storage driver.

use super::SpecError;
use super::bounds::check_step_times;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Operation;

/// A host processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuSpec {
    /// Number of cores, which run benchmark threads, the driver and interrupts.
    pub cores: u32,
    /// Time per request from the application to the driver.
    pub request_submit: Duration,
    /// Additional time per write, for the work of the file system: allocation, checksums.
    pub write_submit: Duration,
    /// Time per request from the driver back to the application.
    pub request_complete: Duration,
    /// Time per MiB in which the submitting thread pins the pages of a request and maps them for the controller.
    pub pin_per_mib: Duration,
    /// Work of kernel threads on the data of reads, after the driver has completed a command.
    pub read_work: DataWorkSpec,
    /// Work of kernel threads on the data of writes, before a command is sent.
    pub write_work: DataWorkSpec,
    /// Number of threads outside this machine that perform the work on data, such as the I/O threads of a hypervisor;
    /// zero if the machine's own cores perform it.
    pub io_threads: u32,
    /// Time that an idle core takes to wake up for an interrupt (C1E, C6 and similar states).
    pub wake: Duration,
    /// Idle time after which a core needs the wake-up time.
    pub idle_after: Duration,
    /// Time that a core takes to wake up from its deepest idle state (C6) for the next request; zero if the core does
    /// not enter this state.
    pub deep_wake: Duration,
    /// Time since a thread's last request after which its core is in the deepest idle state.
    pub deep_idle_after: Duration,
    /// Share by which all processor times of a request grow with each doubling of the threads, because threads share
    /// caches, locks and memory.
    pub thread_growth: Ratio,
}

/// Work of kernel threads on the data of a command, such as encryption or checksums, or of a hypervisor. The work of a
/// command occupies the core that becomes free first, or the I/O thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataWorkSpec {
    /// Time per command, for the hand-over to a kernel thread and the set-up.
    pub command_time: Duration,
    /// Time per MiB of data.
    pub per_mib: Duration,
}

/// Returns the time for `length` bytes of data at `per_mib` for each MiB.
fn time_for(per_mib: Duration, length: Bytes) -> Duration {
    let picoseconds = (u128::from(per_mib.picoseconds()) * u128::from(length.get())) >> 20;
    Duration::from_picoseconds(u64::try_from(picoseconds).unwrap_or(u64::MAX))
}

impl DataWorkSpec {
    /// Returns the time for a command of `length` bytes.
    pub fn time(&self, length: Bytes) -> Duration {
        self.command_time.saturating_add(time_for(self.per_mib, length))
    }
}

impl CpuSpec {
    /// The keys of a request's processor times in a platform file: all times except the times of idle states.
    pub const REQUEST_TIMES: [&str; 8] = [
        "request_submit",
        "write_submit",
        "request_complete",
        "pin_per_mib",
        "read_work",
        "read_work_per_mib",
        "write_work",
        "write_work_per_mib",
    ];

    /// Returns the time in which the submitting thread pins the pages of `length` bytes.
    pub fn pin_time(&self, length: Bytes) -> Duration {
        time_for(self.pin_per_mib, length)
    }

    /// Returns the work of kernel threads on the data of such a command.
    pub fn data_work(&self, operation: Operation) -> DataWorkSpec {
        match operation {
            Operation::Read => self.read_work,
            Operation::Write => self.write_work,
            Operation::Flush | Operation::Trim => DataWorkSpec::default(),
        }
    }

    /// Returns whether any time depends on the length of a request or belongs to a kernel thread.
    pub(crate) fn works_on_data(&self) -> bool {
        let idle = DataWorkSpec::default();
        self.pin_per_mib > Duration::ZERO || self.read_work != idle || self.write_work != idle
    }

    /// Returns the processor times of a request, each with its key, in the order of [`Self::REQUEST_TIMES`].
    pub fn request_times_mut(&mut self) -> [(&'static str, &mut Duration); 8] {
        // All values are named, so that adding a value is a compile error here.
        let Self {
            cores: _,
            request_submit,
            write_submit,
            request_complete,
            pin_per_mib,
            read_work,
            write_work,
            io_threads: _,
            wake: _,
            idle_after: _,
            deep_wake: _,
            deep_idle_after: _,
            thread_growth: _,
        } = self;
        let keys = Self::REQUEST_TIMES;
        [
            (keys[0], request_submit),
            (keys[1], write_submit),
            (keys[2], request_complete),
            (keys[3], pin_per_mib),
            (keys[4], &mut read_work.command_time),
            (keys[5], &mut read_work.per_mib),
            (keys[6], &mut write_work.command_time),
            (keys[7], &mut write_work.per_mib),
        ]
    }

    pub(super) fn check_times(&self) -> Result<(), SpecError> {
        check_step_times([
            ("platform.cpu.request_submit", self.request_submit),
            ("platform.cpu.write_submit", self.write_submit),
            ("platform.cpu.request_complete", self.request_complete),
            ("platform.cpu.pin_per_mib", self.pin_per_mib),
            ("platform.cpu.read_work", self.read_work.command_time),
            ("platform.cpu.read_work_per_mib", self.read_work.per_mib),
            ("platform.cpu.write_work", self.write_work.command_time),
            ("platform.cpu.write_work_per_mib", self.write_work.per_mib),
            ("platform.cpu.wake", self.wake),
            ("platform.cpu.deep_wake", self.deep_wake),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_data_of_any_length_has_a_time() {
        let us = Duration::from_microseconds;
        let endless = DataWorkSpec { command_time: us(1), per_mib: Duration::from_seconds(60) };
        assert_eq!(endless.time(Bytes(u64::MAX)), Duration::from_picoseconds(u64::MAX));
    }
}
