//! What the processor time of single requests tells of the host they were measured on.
//!
//! A run tells how long its threads were at work for a request, in the program and in the kernel. The platform's three
//! times for that (from the application to the driver, in the driver, and back) are taken in proportion. What interrupts
//! take in other contexts is not in it.

use lanemark_core::result::Calibration;
use lanemark_core::sim::spec::SystemSpec;
use lanemark_core::units::Duration;
use lanemark_study::platform;

/// How far from the platform's a host's times are believed.
const BELIEVED: (f64, f64) = (0.1, 10.0);
/// The prefix of settings that say more than a measurement.
const PREFIX: &str = "platform.";

/// Gives `system` the host's times that `processor` tells, of reads and of writes in ns, and returns what was set.
/// Nothing is set where `settings` set any of the platform's own.
pub(super) fn measured(
    system: &mut SystemSpec,
    processor: [Option<f64>; 2],
    settings: &[&Calibration],
) -> Vec<Calibration> {
    let own = settings.iter().any(|setting| setting.parameter.starts_with(PREFIX));
    let told: Vec<f64> = processor.into_iter().flatten().collect();
    if own || told.is_empty() {
        return Vec::new();
    }
    let measured_ns = told.iter().sum::<f64>() / told.len() as f64;
    let (cpu, protocol) = (&mut system.cpu, &mut system.protocol);
    let all = cpu.request_submit + cpu.request_complete + protocol.read_time;
    let share = measured_ns / 1e3 / all.as_microseconds();
    if !(BELIEVED.0..=BELIEVED.1).contains(&share) {
        return Vec::new();
    }
    let scaled = |time: Duration| {
        Duration::from_nanoseconds((time.as_microseconds() * 1e3 * share).round() as u64)
    };
    cpu.request_submit = scaled(cpu.request_submit);
    cpu.request_complete = scaled(cpu.request_complete);
    (protocol.read_time, protocol.write_time) =
        (scaled(protocol.read_time), scaled(protocol.write_time));
    let set = |parameter: String, time: Duration| Calibration {
        parameter,
        value: time.to_string(),
        figure: None,
        reason: Some("processor time of single requests, as measured".to_owned()),
    };
    let driver = format!("{PREFIX}{}.driver_time", platform::table_of(protocol.kind));
    vec![
        set(format!("{PREFIX}cpu.request_submit"), cpu.request_submit),
        set(format!("{PREFIX}cpu.request_complete"), cpu.request_complete),
        set(driver, protocol.read_time),
    ]
}
