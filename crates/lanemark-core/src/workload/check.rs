//! The bounds of a test: its own, and those of its limits, its mix and its load together.

use super::{
    BLOCK_MAX, Interval, Load, Pattern, QUEUE_DEPTH_MAX, RATE_MAX, ROUND_MAX, Rounds, SECTOR,
    SIZES_MAX, THREADS_MAX, Test, TestError, Zone,
};
use crate::units::{Bytes, Duration, Ratio};

/// Longest delay before a test begins.
const DELAY_MAX: Duration = Duration::from_seconds(86_400);

impl Test {
    /// Checks every field against its bounds.
    ///
    /// # Errors
    /// The first field that is out of bounds, with the bound.
    pub fn check(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        let sectors = |bytes: Bytes| bytes.get() > 0 && bytes.get().is_multiple_of(SECTOR.get());
        if !sectors(self.block) || self.block > BLOCK_MAX {
            return fail(
                "block",
                self.block.to_string(),
                "a multiple of 512 B from 512 B to 64 MiB",
            );
        }
        if !sectors(self.alignment) {
            return fail("alignment", self.alignment.to_string(), "a multiple of 512 B");
        }
        if !self.offset.get().is_multiple_of(SECTOR.get()) {
            return fail("offset", self.offset.to_string(), "a multiple of 512 B");
        }
        if self.queue_depth == 0 || self.queue_depth > QUEUE_DEPTH_MAX {
            return fail("queue_depth", self.queue_depth.to_string(), "from 1 to 65536");
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return fail("threads", self.threads.to_string(), "from 1 to 1024");
        }
        self.check_limits()?;
        self.check_mix()?;
        self.check_load()?;
        let needed = match self.pattern {
            Pattern::Sequential | Pattern::Backward => {
                self.step().saturating_mul(u64::from(self.threads))
            }
            _ => self.block.get(),
        };
        if self.span.get() < needed {
            return fail(
                "span",
                self.span.to_string(),
                &format!("at least {}: one block for each sequential thread", Bytes(needed)),
            );
        }
        match &self.pattern {
            Pattern::Zipf { theta } if !(*theta > 0.0 && *theta <= 10.0) => {
                fail("theta", theta.to_string(), "above 0 and at most 10")
            }
            Pattern::HotCold { hot_span, .. } if *hot_span == Ratio::ZERO => {
                fail("hot_span", hot_span.to_string(), "above 0%")
            }
            Pattern::Pareto { h } if !(*h > 0.0 && *h < 1.0) => {
                fail("pareto", h.to_string(), "above 0 and below 1")
            }
            Pattern::Normal { deviation } if *deviation == Ratio::ZERO => {
                fail("normal", deviation.to_string(), "above 0%")
            }
            Pattern::Zones { zones } if !zones.iter().any(Zone::is_used) || zones.len() > 64 => {
                fail("zones", format!("{} zones", zones.len()), "up to 64 with shares above 0%")
            }
            Pattern::Trace => {
                fail("pattern", "trace".to_owned(), "a pattern whose places can be drawn")
            }
            _ => Ok(()),
        }
    }

    /// Checks that the test ends, and what it is cut into.
    fn check_limits(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        match (self.rounds, self.volume, self.duration) {
            (Some(Rounds { length, .. }), None, None)
                if length == Duration::ZERO || length > ROUND_MAX =>
            {
                return fail("round", length.to_string(), "more than 0 s, at most 168 h");
            }
            (Some(_), Some(volume), _) => {
                return fail("volume", volume.to_string(), "none beside round");
            }
            (Some(_), None, Some(duration)) => {
                return fail("duration", duration.to_string(), "none beside round");
            }
            (None, None, None) => {
                let bound = "give volume, duration or both: the test never ends";
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
            ("think", self.think),
        ];
        for (field, time) in times {
            if time > Duration::INPUT_MAX {
                return fail(field, time.to_string(), "at most 1000 h");
            }
        }
        if self.duration == Some(Duration::ZERO) {
            return fail("duration", "0 s".to_owned(), "more than 0 s");
        }
        if let Some(Interval::Fixed { interval }) = self.interval
            && (interval == Duration::ZERO || interval > ROUND_MAX)
        {
            return fail("interval", interval.to_string(), "more than 0 s, at most 168 h");
        }
        Ok(())
    }

    fn check_mix(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        let sizes = &self.mix.sizes;
        if sizes.len() > SIZES_MAX {
            return fail("sizes", format!("{} sizes", sizes.len()), "at most 64");
        }
        for size in sizes {
            let whole = size.block.get().is_multiple_of(SECTOR.get());
            if size.block == Bytes::ZERO || !whole || size.block > BLOCK_MAX {
                let bound = "multiples of 512 B from 512 B to 64 MiB";
                return fail("sizes", size.block.to_string(), bound);
            }
            if !(size.share > 0.0 && size.share.is_finite()) {
                return fail("sizes", size.share.to_string(), "shares above 0%");
            }
        }
        let largest = sizes.iter().map(|size| size.block).max();
        if largest.is_some_and(|largest| largest != self.block) {
            return fail("block", self.block.to_string(), "the largest of the sizes");
        }
        if self.mix.flush_every == Some(0) {
            return fail("flush_every", "0".to_owned(), "at least 1");
        }
        if self.start.delay > DELAY_MAX {
            return fail("delay", self.start.delay.to_string(), "at most 24 h");
        }
        Ok(())
    }

    fn check_load(&self) -> Result<(), TestError> {
        match &self.load {
            Load::Transactions(load) => load.check(self),
            Load::Database(_) => {
                let bound =
                    "a load of requests; `lanemark oltp workload` makes one of a run".to_owned();
                Err(TestError { field: "load", value: "a real database".to_owned(), bound })
            }
            &Load::Open { rate_per_second, .. }
                if !(rate_per_second > 0.0 && rate_per_second <= RATE_MAX) =>
            {
                let bound = "above 0 and at most 1,000,000,000 a second".to_owned();
                Err(TestError { field: "rate", value: rate_per_second.to_string(), bound })
            }
            Load::Open { .. } if self.think > Duration::ZERO => {
                let (value, bound) = (self.think.to_string(), "none beside rate".to_owned());
                Err(TestError { field: "think", value, bound })
            }
            _ => Ok(()),
        }
    }
}
