//! The time budget of one command while it is in flight.
//!
//! The hops of nearly every command fit into two cache lines. The memory for the other hops is allocated when a command
//! first spends time there. The memory is kept when another command reuses the trace.

use super::budget::{Budget, FAR, Hop, HopTime, NEAR};
use super::station::ServiceSpan;
use lanemark_schema::units::Instant;

/// Times in the media, for a command's time budget.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MediaTimes {
    /// The media worked during a span, and the command waited before it.
    Span(ServiceSpan),
    /// The media and the channels have recorded the times since the command arrived.
    Counted { media: HopTime, channels: HopTime },
}

impl MediaTimes {
    /// Returns times for a command that waited until `now`, while the media worked for other commands.
    pub(crate) fn waited(now: Instant) -> Self {
        Self::Span(ServiceSpan { start: now, end: now })
    }

    /// Returns times for a command for which the media worked until `now`.
    pub(crate) fn worked(now: Instant) -> Self {
        Self::Span(ServiceSpan { start: Instant::ZERO, end: now })
    }
}

/// A budget, and the instant up to which time has been attributed to it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct BudgetTrace {
    mark: Instant,
    far: Option<Box<[HopTime; FAR]>>,
    near: [HopTime; NEAR],
}

const _: () = assert!(size_of::<BudgetTrace>() == 128, "a trace takes two cache lines");

impl BudgetTrace {
    /// Creates an empty time budget that begins at `start`.
    pub(crate) fn new(start: Instant) -> Self {
        Self { mark: start, far: None, near: [HopTime::NOTHING; NEAR] }
    }

    /// Begins the time budget of another command at `start`.
    #[inline]
    pub(crate) fn begin(&mut self, start: Instant) {
        self.mark = start;
        self.near = [HopTime::NOTHING; NEAR];
        if let Some(far) = &mut self.far {
            **far = [HopTime::NOTHING; FAR];
        }
    }

    /// Reads both cache lines, as a prefetch, and returns a meaningless number.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        self.mark.picoseconds() ^ self.near[NEAR - 1].wait.picoseconds()
    }

    /// Returns the instant up to which the time has been attributed.
    pub(crate) fn mark(&self) -> Instant {
        self.mark
    }

    #[inline]
    pub(crate) fn budget(&self) -> Budget {
        let far = self.far.as_ref().map_or([HopTime::NOTHING; FAR], |far| **far);
        Budget::new(self.near, far)
    }

    /// Attributes the time up to `span.end` to `hop`: waiting before `span.start`, and service after it.
    #[inline]
    pub(crate) fn account_service(&mut self, hop: usize, span: ServiceSpan) {
        let (spent, mark) = HopTime::since(self.mark, span);
        self.take_down(hop, spent);
        self.mark = mark;
    }

    /// Attributes the time up to `now` to `hop` as waiting time.
    #[inline]
    pub(crate) fn account_wait(&mut self, hop: Hop, now: Instant) {
        self.account_service(hop as usize, ServiceSpan { start: now, end: now });
    }

    /// Attributes the time up to `now`, which data spent in the media.
    #[inline]
    pub(crate) fn account_media_time(&mut self, passage: MediaTimes, now: Instant) {
        match passage {
            MediaTimes::Span(span) => self.account_service(Hop::Die as usize, span),
            MediaTimes::Counted { media, channels } => {
                self.take_down(Hop::Die as usize, media);
                self.take_down(Hop::Channel as usize, channels);
                self.mark = now;
            }
        }
    }

    #[inline]
    fn take_down(&mut self, hop: usize, spent: HopTime) {
        match self.near.get_mut(hop) {
            Some(near) => near.add(spent),
            None if spent == HopTime::NOTHING => {}
            None => {
                let far = self.far.get_or_insert_with(|| Box::new([HopTime::NOTHING; FAR]));
                far[hop - NEAR].add(spent);
            }
        }
    }
}
