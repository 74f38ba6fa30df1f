//! How busy the machine's processors were (`/proc/stat`).

/// Time of all processors since the machine began, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessorTime {
    busy: u64,
    all: u64,
}

impl ProcessorTime {
    /// Until now.
    pub(crate) fn now() -> Option<Self> {
        parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The share of time since `earlier` in which processors worked, from 0 to 1.
    pub(crate) fn busy_since(self, earlier: Self) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|&ticks| ticks > 0)?;
        Some(self.busy.saturating_sub(earlier.busy) as f64 / all as f64)
    }
}

fn parse(text: &str) -> Option<ProcessorTime> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    // Guests' time, from the ninth on, is in the user's already.
    let ticks: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all: u64 = ticks.iter().sum();
    (ticks.len() >= 5).then_some(ProcessorTime { busy: all - idle, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_drive_is_idle() {
        let earlier = parse("cpu  0 0 0 0 0 0 0 0 0 0\n").unwrap();
        let later = parse("cpu  30 10 10 40 10 0 0 0 5 0\ncpu0 1").unwrap();
        assert_eq!(later.busy_since(earlier), Some(0.5));
        assert_eq!(later.busy_since(later), None);
    }
}
