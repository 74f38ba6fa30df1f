//! Times with the unit that suits their length.

use lanemark_schema::units::Duration;

use super::number::significant;

/// Returns a unit that suits times up to `longest`, and the length of the unit in seconds.
pub(crate) fn time_unit(longest: Duration) -> (&'static str, f64) {
    match longest.as_seconds() {
        seconds if seconds >= 7200.0 => ("h", 3600.0),
        seconds if seconds >= 120.0 => ("min", 60.0),
        seconds if seconds >= 2.0 => ("s", 1.0),
        seconds if seconds >= 2e-3 => ("ms", 1e-3),
        _ => ("µs", 1e-6),
    }
}

/// Formats a time, such as `3.06 h`.
pub(crate) fn time_text(time: Duration) -> String {
    let (unit, seconds) = time_unit(time);
    format!("{} {unit}", significant(time.as_seconds() / seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_unit_of_its_length() {
        let microseconds = [
            7_200_000_000,
            7_199_000_000,
            120_000_000,
            119_000_000,
            2_000_000,
            1_999_000,
            2_000,
            1_999,
        ];
        let text_of = microseconds.map(|us| time_text(Duration::from_microseconds(us)));
        assert_eq!(
            text_of,
            ["2.00 h", "120 min", "2.00 min", "119 s", "2.00 s", "1,999 ms", "2.00 ms", "1,999 µs"]
        );
    }
}
