//! The host's values from runs on it: processor time per request, and cores.
//!
//! A run reports the processor time of a request in the program and in the kernel. With many requests outstanding, this
//! time limits a core, and scales the platform's three times (from the application to the driver, in the driver, and
//! back). The excess of a single request is the time of sleeping and waking, and becomes the platform's `wake`. Neither
//! contains the time of interrupts in other contexts.

use lanemark_schema::result::Calibration;
use lanemark_schema::units::Duration;
use lanemark_sim::spec::SystemSpec;
use lanemark_study::platform;

use super::measured::MeasuredHost;

/// The minimum and maximum believed ratio of a host's times to the platform's.
const BELIEVED: (f64, f64) = (0.1, 10.0);
/// The prefix of settings that take precedence over a measurement.
const PREFIX: &str = "platform.";

/// Sets in `system` the values that were `seen` of the host, and returns them. Values are not set if `settings` contain
/// any value of the platform.
pub(super) fn measured(
    system: &mut SystemSpec,
    seen: MeasuredHost,
    settings: &[&Calibration],
) -> Vec<Calibration> {
    let own = settings.iter().any(|setting| setting.parameter.starts_with(PREFIX));
    let mut set = Vec::new();
    if own {
        return set;
    }
    let note = |parameter: String, value: String, reason: &str| Calibration {
        parameter,
        value,
        figure: None,
        reason: Some(reason.to_owned()),
    };
    let (cpu, protocol) = (&mut system.cpu, &mut system.attachments[0].protocol);
    if let Some(cores) = seen.cores.filter(|&cores| cores != cpu.cores && cores <= 1024) {
        cpu.cores = cores;
        set.push(note(format!("{PREFIX}cpu.cores"), cores.to_string(), "the machine's"));
    }
    let Some(request_ns) = seen.deep_ns.or(seen.alone_ns) else { return set };
    let all = cpu.request_submit + cpu.request_complete + protocol.read_time;
    let share = request_ns / 1e3 / all.as_microseconds();
    if !(BELIEVED.0..=BELIEVED.1).contains(&share) {
        return set;
    }
    let nanoseconds = |ns: f64| Duration::from_nanoseconds(ns.round().max(0.0) as u64);
    let scaled = |time: Duration| nanoseconds(time.as_microseconds() * 1e3 * share);
    cpu.request_submit = scaled(cpu.request_submit);
    cpu.write_submit = scaled(cpu.write_submit);
    cpu.request_complete = scaled(cpu.request_complete);
    (protocol.read_time, protocol.write_time) =
        (scaled(protocol.read_time), scaled(protocol.write_time));
    let reason = "processor time of a request, as measured";
    let driver = format!("{PREFIX}{}.driver_time", platform::table_of(protocol.kind));
    if cpu.write_submit > Duration::ZERO {
        let parameter = format!("{PREFIX}cpu.write_submit");
        set.push(note(parameter, cpu.write_submit.to_string(), reason));
    }
    for (parameter, time) in [
        (format!("{PREFIX}cpu.request_submit"), cpu.request_submit),
        (format!("{PREFIX}cpu.request_complete"), cpu.request_complete),
        (driver, protocol.read_time),
    ] {
        set.push(note(parameter, time.to_string(), reason));
    }
    if let (Some(alone), Some(deep)) = (seen.alone_ns, seen.deep_ns)
        && alone > deep
    {
        cpu.wake = nanoseconds(alone - deep);
        let reason = "the extra time of a single request over one of many";
        set.push(note(format!("{PREFIX}cpu.wake"), cpu.wake.to_string(), reason));
    }
    set
}
