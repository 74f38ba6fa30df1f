//! Values of the host that are determined by runs on it: the processor time per request, and the number of cores.
//!
//! A run reports the processor time of a request in the program and in the kernel. With many requests outstanding, this
//! time limits the rate of a core. It determines the factor by which all three of the platform's times are scaled: from
//! the application to the driver, in the driver, and back. The additional time of a single request is spent on sleeping
//! and waking, and becomes the platform's `wake`. Interrupt time in other contexts is not included in either.

use lanemark_schema::result::ParameterOverride;
use lanemark_schema::units::Duration;
use lanemark_sim::spec::SystemSpec;
use lanemark_study::platform;

use super::trials::MeasuredHost;

/// The minimum and maximum plausible ratio between the host's times and the platform's times.
const BELIEVED: (f64, f64) = (0.1, 10.0);
/// The prefix of settings that override a measurement.
const PREFIX: &str = "platform.";

/// Sets the host's values in `system` to the measured values, and returns them. If `settings` contain any value of the
/// platform, no values are set.
pub(super) fn measured(
    system: &mut SystemSpec,
    host: MeasuredHost,
    settings: &[&ParameterOverride],
) -> Vec<ParameterOverride> {
    let is_overridden = settings.iter().any(|setting| setting.parameter.starts_with(PREFIX));
    let mut set = Vec::new();
    if is_overridden {
        return set;
    }
    let note = |parameter: String, value: String, reason: &str| ParameterOverride {
        parameter,
        value,
        figure: None,
        reason: Some(reason.to_owned()),
    };
    let cpu = &mut system.cpu;
    let protocol = &mut system.attachments[0].protocol;
    if let Some(cores) = host.cores.filter(|&cores| cores != cpu.cores && cores <= 1024) {
        cpu.cores = cores;
        set.push(note(format!("{PREFIX}cpu.cores"), cores.to_string(), "the machine's"));
    }
    let Some(request_ns) = host.deep_ns.or(host.alone_ns) else { return set };
    let total_time = cpu.request_submit + cpu.request_complete + protocol.read_time;
    let share = request_ns / 1e3 / total_time.as_microseconds();
    if !(BELIEVED.0..=BELIEVED.1).contains(&share) {
        return set;
    }
    let nanoseconds = |ns: f64| Duration::from_nanoseconds(ns.round().max(0.0) as u64);
    let scaled = |time: Duration| nanoseconds(time.as_microseconds() * 1e3 * share);
    cpu.request_times_mut().into_iter().for_each(|(_, time)| *time = scaled(*time));
    (protocol.read_time, protocol.write_time) =
        (scaled(protocol.read_time), scaled(protocol.write_time));
    let reason = "processor time of a request, as measured";
    let driver = format!("{PREFIX}{}.driver_time", platform::table_of(protocol.kind));
    let times = cpu.request_times_mut().map(|(key, time)| (format!("{PREFIX}cpu.{key}"), *time));
    for (parameter, time) in times.into_iter().chain([(driver, protocol.read_time)]) {
        if time > Duration::ZERO {
            set.push(note(parameter, time.to_string(), reason));
        }
    }
    if let (Some(alone), Some(deep)) = (host.alone_ns, host.deep_ns)
        && alone > deep
    {
        cpu.wake = nanoseconds(alone - deep);
        let reason = "the additional time of a single request, compared with one of many outstanding requests";
        set.push(note(format!("{PREFIX}cpu.wake"), cpu.wake.to_string(), reason));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> SystemSpec {
        let mut system = SystemSpec::example();
        let us = Duration::from_microseconds;
        system.cpu.request_submit = us(2);
        system.cpu.write_submit = us(4);
        system.cpu.request_complete = us(1);
        let protocol = &mut system.attachments[0].protocol;
        (protocol.read_time, protocol.write_time) = (us(1), us(3));
        system
    }

    fn measured_host(alone_ns: Option<f64>, deep_ns: Option<f64>) -> MeasuredHost {
        MeasuredHost { alone_ns, deep_ns, cores: Some(12) }
    }

    #[test]
    fn all_times_of_a_request_scale_alike() {
        let ns = Duration::from_nanoseconds;
        // The platform's read takes 2 + 1 + 1 = 4 µs of processor time.
        for (deep_us, scale) in [(8.0, 2), (4.0, 1), (2.0, 0)] {
            let mut scaled = system();
            let set = measured(&mut scaled, measured_host(None, Some(1e3 * deep_us)), &[]);
            let half = |us: u64| if scale == 0 { ns(us * 500) } else { ns(us * 1_000 * scale) };
            let cpu = &scaled.cpu;
            let protocol = &scaled.attachments[0].protocol;
            assert_eq!(
                [cpu.request_submit, cpu.write_submit, cpu.request_complete],
                [half(2), half(4), half(1)]
            );
            assert_eq!([protocol.read_time, protocol.write_time], [half(1), half(3)]);
            assert_eq!((cpu.cores, cpu.wake), (12, Duration::ZERO));
            assert_eq!(set.len(), 5, "{set:?}");
        }
    }

    #[test]
    fn the_excess_of_a_single_request_is_the_wake() {
        let mut woken = system();
        measured(&mut woken, measured_host(Some(7_500.0), Some(4_000.0)), &[]);
        assert_eq!(woken.cpu.wake, Duration::from_nanoseconds(3_500));
        // A single request may need less processor time than each of many requests.
        let mut quick = system();
        measured(&mut quick, measured_host(Some(3_000.0), Some(4_000.0)), &[]);
        assert_eq!(quick.cpu.wake, Duration::ZERO);
    }

    #[test]
    fn settings_and_ratios_beyond_belief_leave_the_platform() {
        for us in [0.39, 40.1] {
            let mut kept = system();
            let set = measured(&mut kept, measured_host(None, Some(1e3 * us)), &[]);
            assert_eq!((kept.cpu.request_submit, set.len()), (Duration::from_microseconds(2), 1));
        }
        let calibration = ParameterOverride {
            parameter: "platform.cpu.wake".to_owned(),
            value: "1 us".to_owned(),
            figure: None,
            reason: None,
        };
        let mut kept = system();
        assert!(
            measured(&mut kept, measured_host(None, Some(8_000.0)), &[&calibration]).is_empty()
        );
        assert_eq!(kept, system());
    }
}
