//! A system that has passed its check: the input of the simulator, the driver of tests, and replays.

use std::borrow::Cow;
use std::ops::Deref;

use super::{AttachmentSpec, ProtocolKind, SpecError, SystemSpec};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Fault;

/// A system whose values are all within the bounds on which the simulator relies. A checked system dereferences to its
/// [`SystemSpec`]; a modified specification must be checked again.
///
/// ```
/// use lanemark_sim::SystemSpec;
///
/// let mut spec = SystemSpec::example();
/// let system = spec.clone().checked()?;
/// assert_eq!(system.drives(), 1);
///
/// spec.cpu.cores = 0;
/// let error = spec.checked().unwrap_err();
/// assert_eq!(error.to_string(), "platform.cpu.cores = 0: from 1 to 1024");
/// # Ok::<(), lanemark_sim::spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSystem {
    spec: SystemSpec,
    memory: Bytes,
}

/// Maximum memory of a simulation, unless [`CheckedSystem::with_memory`] sets a different one.
pub const MEMORY: Bytes = Bytes(1_000_000_000);

impl SystemSpec {
    /// Checks the system.
    ///
    /// # Errors
    /// Returns the error of [`SystemSpec::check`] if a value is out of bounds.
    pub fn checked(self) -> Result<CheckedSystem, SpecError> {
        self.check()?;
        Ok(CheckedSystem { spec: self, memory: MEMORY })
    }
}

impl CheckedSystem {
    /// Returns the system with these faults in addition to its own faults.
    ///
    /// # Errors
    /// Returns all faults that the system does not support, each with the accepted values.
    pub fn with_faults(&self, faults: &[Fault]) -> Result<Self, Vec<SpecError>> {
        self.with_only_faults([&self.faults, faults].concat())
    }

    /// Returns the system with only these faults.
    ///
    /// # Errors
    /// Returns all faults that the system does not support, each with the accepted values.
    pub(crate) fn with_only_faults(&self, faults: Vec<Fault>) -> Result<Self, Vec<SpecError>> {
        let spec = SystemSpec { faults, ..self.spec.clone() };
        let errors = spec.fault_errors();
        if errors.is_empty() { Ok(self.with_spec(spec)) } else { Err(errors) }
    }

    /// Returns the system with a maximum memory for each of its simulations. A run of a test or a replay ends with
    /// [`SimError::Memory`](crate::SimError::Memory) before its simulated drives take more.
    #[must_use]
    pub fn with_memory(self, memory: Bytes) -> Self {
        Self { memory, ..self }
    }

    /// Returns the maximum memory of a simulation.
    pub fn memory(&self) -> Bytes {
        self.memory
    }

    /// Returns a variant of this system.
    fn with_spec(&self, spec: SystemSpec) -> Self {
        Self { spec, memory: self.memory }
    }

    /// Returns the system without the host's processor time, for use with a real host.
    ///
    /// ```
    /// use lanemark_schema::rng::StreamKey;
    /// use lanemark_sim::{SystemSpec, run_test};
    /// use lanemark_schema::units::Duration;
    /// use lanemark_schema::workload::Test;
    ///
    /// let mut spec = SystemSpec::example();
    /// spec.cpu.request_submit = Duration::from_microseconds(2);
    /// spec.cpu.request_complete = Duration::from_microseconds(3);
    /// let system = spec.checked()?;
    /// let test = Test::random_read("4 KiB").span("64 MiB").volume("1 MiB").build()?;
    /// let latency = |system| {
    ///     let sample = run_test(system, &test, StreamKey::from_seed(1)).expect("the test fits");
    ///     sample.latency_mean_ns()
    /// };
    /// let processor_ns = latency(&system) - latency(&system.device_side());
    /// // The application takes 2 µs and 3 µs, and the driver takes 1 µs for a read.
    /// assert!((processor_ns - 6_000.0).abs() < 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn device_side(&self) -> Self {
        let mut spec = self.spec.clone();
        let cpu = &mut spec.cpu;
        (cpu.wake, cpu.deep_wake) = (Duration::ZERO, Duration::ZERO);
        cpu.request_times_mut().into_iter().for_each(|(_, time)| *time = Duration::ZERO);
        // The work of an FPGA host is not processor time and affects the drive.
        let with_processor = |attachment_spec: &&mut AttachmentSpec| {
            attachment_spec.protocol.kind != ProtocolKind::AtaDma
        };
        for attachment in spec.attachments.iter_mut().filter(with_processor) {
            let protocol = &mut attachment.protocol;
            for time in
                [&mut protocol.read_time, &mut protocol.write_time, &mut protocol.interrupt_time]
            {
                *time = Duration::ZERO;
            }
        }
        self.with_spec(spec)
    }

    /// Returns the system with the processor times of a test of `threads` threads. Only as many threads as there are
    /// cores run at the same time.
    #[must_use]
    pub fn for_threads(&self, threads: u32) -> Cow<'_, Self> {
        let growth = self.cpu.thread_growth.get();
        let at_once = threads.min(self.cpu.cores);
        if growth <= 0.0 || at_once <= 1 {
            return Cow::Borrowed(self);
        }
        let factor = libm::pow(1.0 + growth, libm::log2(f64::from(at_once)));
        let longer = |time: &mut Duration| {
            let picoseconds = libm::round(time.picoseconds() as f64 * factor);
            *time = Duration::from_picoseconds(picoseconds as u64);
        };
        let mut spec = self.spec.clone();
        spec.cpu.request_times_mut().into_iter().for_each(|(_, time)| longer(time));
        if spec.cpu.io_threads > 0 {
            // The threads of a hypervisor run outside these cores.
            (spec.cpu.read_work, spec.cpu.write_work) = (self.cpu.read_work, self.cpu.write_work);
        }
        for attachment in &mut spec.attachments {
            let protocol = &mut attachment.protocol;
            [&mut protocol.read_time, &mut protocol.write_time, &mut protocol.interrupt_time]
                .into_iter()
                .for_each(longer);
        }
        Cow::Owned(self.with_spec(spec))
    }

    /// Returns the plain values, for modification.
    pub fn into_spec(self) -> SystemSpec {
        self.spec
    }
}

impl Deref for CheckedSystem {
    type Target = SystemSpec;

    fn deref(&self) -> &SystemSpec {
        &self.spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::units::Ratio;

    #[test]
    fn processor_times_grow_with_each_doubling_of_the_threads_up_to_the_cores() {
        let mut spec = SystemSpec::example();
        spec.cpu.cores = 4;
        spec.cpu.request_submit = Duration::from_nanoseconds(1_000);
        spec.cpu.wake = Duration::from_nanoseconds(1_500);
        spec.attachments[0].protocol.read_time = Duration::from_nanoseconds(2_000);
        let system = spec.clone().checked().unwrap();
        assert!(matches!(system.for_threads(64), Cow::Borrowed(_)));
        spec.cpu.thread_growth = Ratio::HALF;
        let system = spec.clone().checked().unwrap();
        assert!(matches!(system.for_threads(1), Cow::Borrowed(_)));
        for (threads, factor) in [(2, 1.5), (4, 2.25), (5, 2.25), (64, 2.25)] {
            let grown = system.for_threads(threads);
            let ns = |time: Duration| time.as_seconds() * 1e9;
            assert!((ns(grown.cpu.request_submit) - 1_000.0 * factor).abs() < 1e-3, "{threads}");
            let driver = ns(grown.attachments[0].protocol.read_time);
            assert!((driver - 2_000.0 * factor).abs() < 1e-3, "{threads}");
            // The wake-up time of a core does not change.
            assert_eq!(grown.cpu.wake, system.cpu.wake);
        }
        spec.cpu.read_work.command_time = Duration::from_nanoseconds(4_000);
        for (io_threads, factor) in [(0, 2.25), (1, 1.0)] {
            spec.cpu.io_threads = io_threads;
            let system = spec.clone().checked().unwrap();
            let grown = system.for_threads(4).cpu.read_work.command_time.as_seconds() * 1e9;
            assert!((grown - 4_000.0 * factor).abs() < 1e-3, "{io_threads}");
        }
    }
}
