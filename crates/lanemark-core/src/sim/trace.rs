//! The time budget of one command while it is under way.
//!
//! The hops that nearly every command passes lie in two lines of the processor's cache; a place for the other hops is made
//! when something is first spent there, and stays with whatever command takes the trace over.

use super::budget::{Budget, FAR, Hop, NEAR, Spent};
use super::drive::outcome::Passage;
use super::station::Span;
use crate::units::Instant;

/// A budget and the instant up to which it accounts for the time.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Trace {
    mark: Instant,
    far: Option<Box<[Spent; FAR]>>,
    near: [Spent; NEAR],
}

const _: () = assert!(size_of::<Trace>() == 128, "a trace is two lines");

impl Trace {
    /// A time budget with nothing spent yet at `start`.
    pub(super) fn new(start: Instant) -> Self {
        Self { mark: start, far: None, near: [Spent::NOTHING; NEAR] }
    }

    /// Begins the time budget of another command at `start`.
    #[inline]
    pub(super) fn begin(&mut self, start: Instant) {
        self.mark = start;
        self.near = [Spent::NOTHING; NEAR];
        if let Some(far) = &mut self.far {
            **far = [Spent::NOTHING; FAR];
        }
    }

    /// A number without a meaning, for which both of its lines had to be read.
    #[inline]
    pub(super) fn touch(&self) -> u64 {
        self.mark.picoseconds() ^ self.near[NEAR - 1].wait.picoseconds()
    }

    /// The instant up to which the time is accounted for.
    pub(super) fn mark(&self) -> Instant {
        self.mark
    }

    /// The budget so far.
    #[inline]
    pub(super) fn budget(&self) -> Budget {
        let far = self.far.as_ref().map_or([Spent::NOTHING; FAR], |far| **far);
        Budget::new(self.near, far)
    }

    /// Accounts for the time up to `span.end`: waiting before `span.start`, service after.
    #[inline]
    pub(super) fn spend(&mut self, hop: usize, span: Span) {
        let (spent, mark) = Spent::since(self.mark, span);
        self.take_down(hop, spent);
        self.mark = mark;
    }

    /// Accounts for the time up to `now` as waiting for `hop`.
    #[inline]
    pub(super) fn waited(&mut self, hop: Hop, now: Instant) {
        self.spend(hop as usize, Span { start: now, end: now });
    }

    /// Accounts for the time up to `now` that data spent in the media.
    #[inline]
    pub(super) fn passed(&mut self, passage: Passage, now: Instant) {
        match passage {
            Passage::Span(span) => self.spend(Hop::Die as usize, span),
            Passage::Counted { media, channels } => {
                self.take_down(Hop::Die as usize, media);
                self.take_down(Hop::Channel as usize, channels);
                self.mark = now;
            }
        }
    }

    #[inline]
    fn take_down(&mut self, hop: usize, spent: Spent) {
        match self.near.get_mut(hop) {
            Some(near) => near.add(spent),
            None if spent == Spent::NOTHING => {}
            None => {
                let far = self.far.get_or_insert_with(|| Box::new([Spent::NOTHING; FAR]));
                far[hop - NEAR].add(spent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    fn at(picoseconds: u64) -> Instant {
        Instant::from_picoseconds(picoseconds)
    }

    #[test]
    fn spending_covers_the_time_since_the_mark_without_gaps() {
        let mut trace = Trace::new(at(10));
        trace.spend(Hop::Cpu as usize, Span { start: at(15), end: at(20) });
        // A span that began before the mark overlapped the stage before: only the rest counts.
        trace.spend(Hop::Die as usize, Span { start: at(12), end: at(27) });
        assert_eq!(trace.mark(), at(27));
        assert_eq!(trace.budget().wait(Hop::Cpu as usize), Duration::from_picoseconds(5));
        assert_eq!(trace.budget().service(Hop::Die as usize), Duration::from_picoseconds(7));
        assert_eq!(trace.budget().total(), at(27).since(at(10)));
    }

    #[test]
    fn another_command_begins_with_nothing_spent_near_or_far() {
        let mut trace = Trace::new(at(0));
        trace.spend(Hop::Cpu as usize, Span { start: at(0), end: at(1) });
        trace.spend(Hop::Power as usize, Span { start: at(3), end: at(5) });
        assert_eq!(trace.budget().wait(Hop::Power as usize), Duration::from_picoseconds(2));
        assert_eq!(trace.budget().total(), Duration::from_picoseconds(5));
        trace.begin(at(7));
        assert_eq!((trace.budget(), trace.mark()), (Budget::default(), at(7)));
    }
}
