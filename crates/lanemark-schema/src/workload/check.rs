//! The bounds of a test: of its fields, of its limits, and of its requests or transactions.

use super::bound::{BLOCK, DELAY, QUEUE_DEPTH, RATE, ROUND, SIZES, THREADS};
use super::{
    Load, LoadKind, Pattern, PatternZone, RequestMix, RoundSettings, SECTOR, SeriesInterval,
    SyntheticRequests, Test, TestError,
};
use crate::units::{Bytes, Duration, Ratio};

impl Test {
    /// Checks every field against its bounds.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, with the bound.
    pub fn check(&self) -> Result<(), TestError> {
        self.check_in_units(SECTOR)
    }

    /// Checks a test whose requests go through the page cache, so that they may begin and end at any byte. Trims bypass
    /// the page cache.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, with the bound.
    pub fn check_through_cache(&self) -> Result<(), TestError> {
        self.check_in_units(if self.trims() { SECTOR } else { Bytes(1) })
    }

    fn check_in_units(&self, unit: Bytes) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        let sectors = |bytes: Bytes| bytes.get() > 0 && bytes.get().is_multiple_of(unit.get());
        let bound = |sectors: &'static str, bytes: &'static str| {
            if unit == SECTOR { sectors } else { bytes }
        };
        if !sectors(self.block) || self.block > BLOCK.max {
            return fail(
                "block",
                self.block.to_string(),
                bound("a multiple of 512 B from 512 B to 64 MiB", "from 1 B to 64 MiB"),
            );
        }
        if !sectors(self.alignment()) {
            let bound = bound("a multiple of 512 B", "1 B or more");
            return fail("alignment", self.alignment().to_string(), bound);
        }
        if !self.offset.get().is_multiple_of(unit.get()) {
            return fail("offset", self.offset.to_string(), "a multiple of 512 B");
        }
        let queue_depth = self.issue_depth();
        if !QUEUE_DEPTH.contains(&queue_depth) {
            return fail("queue_depth", queue_depth.to_string(), &QUEUE_DEPTH.to_string());
        }
        if !THREADS.contains(&self.threads) {
            return fail("threads", self.threads.to_string(), &THREADS.to_string());
        }
        self.check_limits()?;
        if !DELAY.contains(&self.start.delay) {
            return fail("delay", self.start.delay.to_string(), "up to 24 h");
        }
        match &self.asks {
            LoadKind::Requests(requests) => {
                requests.mix.check(self.block, unit)?;
                requests.check_copy(self)?;
                requests.check_load()?;
            }
            LoadKind::Transactions(transactions) => transactions.check(self.block, self.span)?,
            LoadKind::Database(_) => {
                let bound = "a load of requests; `lanemark report` converts a run to such a load";
                return fail("load", "a real database".to_owned(), bound);
            }
            LoadKind::PartlyStated(stated) => {
                let Some((what, option)) = stated.missing().first().copied() else {
                    return fail("requests", "partly stated".to_owned(), "complete requests");
                };
                let bound = format!("save it with `lanemark report FILE {option} --out NEW.json`");
                let field = if what == "the queue depth" { "queue_depth" } else { "pattern" };
                return fail(field, "not stated".to_owned(), &bound);
            }
            LoadKind::Trace(_) => {
                let bound = "a pattern from which offsets can be drawn";
                return fail("pattern", "trace".to_owned(), bound);
            }
        }
        let in_order = self.requests().filter(|requests| requests.is_in_order());
        let needed = in_order.map_or(self.block.get(), |requests| {
            requests.step(self.block).saturating_mul(u64::from(self.threads))
        });
        if self.span.get() < needed {
            return fail(
                "span",
                self.span.to_string(),
                &format!("{} or more: one block per sequential thread", Bytes(needed)),
            );
        }
        self.pattern().map_or(Ok(()), Pattern::check)
    }

    /// Checks that the test ends, and checks its rounds and intervals.
    fn check_limits(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        match (self.rounds, self.volume, self.duration) {
            (Some(RoundSettings { length, .. }), None, None)
                if length == Duration::ZERO || length > ROUND.max =>
            {
                return fail("round", length.to_string(), "more than 0 s and up to 168 h");
            }
            (Some(_), Some(volume), _) => {
                return fail("volume", volume.to_string(), "not together with `round`");
            }
            (Some(_), None, Some(duration)) => {
                return fail("duration", duration.to_string(), "not together with `round`");
            }
            (None, None, None) => {
                let bound = "a volume, a duration or both; otherwise the test never ends";
                return fail("volume", "none".to_owned(), bound);
            }
            _ => {}
        }
        if self.volume == Some(Bytes::ZERO) {
            return fail("volume", "0 B".to_owned(), "more than 0 B");
        }
        let times = [
            ("duration", self.duration.unwrap_or_default()),
            ("ramp", self.ramp),
            ("think", self.think()),
        ];
        for (field, time) in times {
            if time > Duration::INPUT_MAX {
                return fail(field, time.to_string(), "up to 1000 h");
            }
        }
        if self.duration == Some(Duration::ZERO) {
            return fail("duration", "0 s".to_owned(), "more than 0 s");
        }
        if let Some(SeriesInterval::Fixed { interval }) = self.interval
            && (interval == Duration::ZERO || interval > ROUND.max)
        {
            return fail("interval", interval.to_string(), "more than 0 s and up to 168 h");
        }
        Ok(())
    }
}

impl SyntheticRequests {
    /// Checks a copy: a closed loop that only reads, whose writes do not overlap its reads.
    fn check_copy(&self, test: &Test) -> Result<(), TestError> {
        let Some(to) = self.mix.copy_to else { return Ok(()) };
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        if !to.get().is_multiple_of(SECTOR.get()) {
            return fail("copy_to", to.to_string(), "a multiple of 512 B");
        }
        if to < test.span_end() && to.get().saturating_add(test.span.get()) > test.offset.get() {
            let bound = format!("outside of the span that is copied, from {}", test.span_end());
            return fail("copy_to", to.to_string(), &bound);
        }
        if self.read_share != Ratio::HALF {
            return fail(
                "read",
                self.read_share.to_string(),
                "50% in a copy, because each block is read and written",
            );
        }
        if self.mix.trim_share > Ratio::ZERO {
            return fail("trim", self.mix.trim_share.to_string(), "not allowed in a copy");
        }
        if let Some(every) = self.mix.flush_every {
            return fail("flush_every", every.to_string(), "not allowed in a copy");
        }
        match self.load {
            Load::Closed => Ok(()),
            Load::Open { rate_per_second, .. } => {
                fail("rate", rate_per_second.to_string(), "not allowed in a copy")
            }
        }
    }

    fn check_load(&self) -> Result<(), TestError> {
        match self.load {
            Load::Open { rate_per_second, .. }
                if !(rate_per_second > 0.0 && rate_per_second <= RATE.max) =>
            {
                let bound = "above 0 and up to 1,000,000,000 a second".to_owned();
                Err(TestError { field: "rate", value: rate_per_second.to_string(), bound })
            }
            Load::Open { .. } if self.think > Duration::ZERO => Err(TestError {
                field: "think",
                value: self.think.to_string(),
                bound: "not together with `rate`".to_owned(),
            }),
            Load::Closed | Load::Open { .. } => self.check_burst(),
        }
    }

    fn check_burst(&self) -> Result<(), TestError> {
        let bound = match self.burst {
            1 => return Ok(()),
            0 => "at least 1",
            _ if self.think == Duration::ZERO => "not without `think`",
            _ => return Ok(()),
        };
        let value = self.burst.to_string();
        Err(TestError { field: "burst", value, bound: bound.to_owned() })
    }
}

impl Pattern {
    fn check(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        match self {
            Self::Zipf { theta } if !(*theta > 0.0 && *theta <= 10.0) => {
                fail("theta", theta.to_string(), "above 0 and up to 10")
            }
            Self::HotCold { hot_span, .. } if *hot_span == Ratio::ZERO => {
                fail("hot_span", hot_span.to_string(), "above 0%")
            }
            Self::Pareto { h } if !(*h > 0.0 && *h < 1.0) => {
                fail("pareto", h.to_string(), "above 0 and below 1")
            }
            Self::Normal { deviation } if *deviation == Ratio::ZERO => {
                fail("normal", deviation.to_string(), "above 0%")
            }
            Self::Zones { zones }
                if !zones.iter().any(PatternZone::is_used) || zones.len() > 64 =>
            {
                fail("zones", format!("{} zones", zones.len()), "up to 64 with shares above 0%")
            }
            Self::Sequential
            | Self::Backward
            | Self::Uniform
            | Self::Shuffled
            | Self::Pareto { .. }
            | Self::Normal { .. }
            | Self::Zones { .. }
            | Self::Zipf { .. }
            | Self::PartlyRandom { .. }
            | Self::HotCold { .. } => Ok(()),
        }
    }
}

impl RequestMix {
    /// Checks the mix of a test whose requests have up to `block` bytes and are multiples of `unit`.
    fn check(&self, block: Bytes, unit: Bytes) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        if !SIZES.contains(&self.sizes.len()) {
            return fail("sizes", format!("{} sizes", self.sizes.len()), "up to 64");
        }
        for size in &self.sizes {
            let whole = size.block.get().is_multiple_of(unit.get());
            if size.block == Bytes::ZERO || !whole || size.block > BLOCK.max {
                let bound = match unit {
                    SECTOR => "multiples of 512 B from 512 B to 64 MiB",
                    _ => "from 1 B to 64 MiB",
                };
                return fail("sizes", size.block.to_string(), bound);
            }
            if !(size.share > 0.0 && size.share.is_finite()) {
                return fail("sizes", size.share.to_string(), "shares above 0%");
            }
        }
        let largest = self.sizes.iter().map(|size| size.block).max();
        if largest.is_some_and(|largest| largest != block) {
            return fail("block", block.to_string(), "the largest of the sizes");
        }
        if self.flush_every == Some(0) {
            return fail("flush_every", "0".to_owned(), "1 or more");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::SizeShare;

    fn of_sizes(sizes: &[(u64, f64)]) -> Result<(), TestError> {
        let sizes: Vec<SizeShare> =
            sizes.iter().map(|&(block, share)| SizeShare { block: Bytes(block), share }).collect();
        let largest = sizes.iter().map(|size| size.block).max().unwrap_or(Bytes::kibi(4));
        let whole = largest.get().div_ceil(SECTOR.get()).max(1) * SECTOR.get();
        let block = Bytes(whole).min(BLOCK.max);
        let span = Bytes(1 << 32);
        let test = Test { span, volume: Some(span), ..Test::of_blocks(block) };
        test.with(|requests| {
            requests.alignment = SECTOR;
            requests.mix.sizes = sizes;
        })
        .check()
    }

    #[test]
    fn sizes_of_a_mix_have_bounds_on_both_sides() {
        let most = BLOCK.max.get();
        for good in [&[(512, 1.0)][..], &[(most, 1.0)], &[(512, 1e-9), (4096, 7.0)], &[]] {
            assert!(of_sizes(good).is_ok(), "{good:?}: {:?}", of_sizes(good));
        }
        let bad = [(0, 1.0), (511, 1.0), (513, 1.0), (most + 512, 1.0)];
        for size in bad.into_iter().chain([(512, 0.0), (512, -1.0), (512, f64::INFINITY)]) {
            assert_eq!(of_sizes(&[size]).unwrap_err().field, "sizes", "{size:?}");
        }
        let many = |count: usize| vec![(512, 1.0); count];
        assert!(of_sizes(&many(64)).is_ok() && of_sizes(&many(65)).is_err());
    }
}
