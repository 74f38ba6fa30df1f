//! The turns of short frames between the frames of a long burst on a half-duplex link.
//!
//! SATA's link layer arbitrates frame by frame: a device that has data to send requests the link with X_RDY when the
//! current frame has ended (Serial ATA Revision 3.0, 9.6). A command's Register frame therefore waits for up to one
//! Data frame, and not for all the data that other commands have queued.
//!
//! The data of a burst is one booking of the link's station, without an event for each frame. This is exact while no
//! other frame waits. A Register frame that arrives during a burst begins at the next boundary of full Data frames,
//! counted from the last idle instant of the link, and its time is appended to the bookings. The link carries the same
//! data in the same time, but earlier bookings still end at their booked instants, too early by the time of the
//! Register frame (1.3 µs at 6 Gb/s).
//!
//! Not modelled: the drive's precedence if both ends request the link at once, and alternating Data frames of two
//! commands.

use super::ServiceSpan;
use lanemark_schema::units::{Duration, Instant};

/// The state of a link's bookings that determines when a short frame can begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameArbitration {
    /// Instant from which the link has been busy without a gap.
    busy_since: Instant,
    /// End of the last short frame.
    last_end: Instant,
}

impl FrameArbitration {
    /// Records the span that was booked on a link that was free from `free` onward.
    #[inline]
    pub(super) fn record_booking(&mut self, free: Instant, span: ServiceSpan) {
        if span.start > free {
            self.busy_since = span.start;
        }
    }

    /// Returns the span of a frame of `length` that arrives at `now`, on a link that is booked until `free` with Data
    /// frames of `data_frame` each.
    pub(super) fn enter(
        &mut self,
        now: Instant,
        free: Instant,
        data_frame: Duration,
        length: Duration,
    ) -> ServiceSpan {
        // A booking may begin later than now; before that, the link is idle.
        let busy_since = self.busy_since.min(now);
        let under_way = now.since(busy_since).picoseconds();
        let frames = under_way.div_ceil(data_frame.picoseconds().max(1));
        let boundary = busy_since + data_frame * frames;
        let start = boundary.min(free).max(self.last_end).max(now);
        self.last_end = start + length;
        ServiceSpan { start, end: self.last_end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{at, us};

    /// Creates a link that is busy from 100 to 200 µs with frames of 10 µs.
    fn busy() -> FrameArbitration {
        let mut turns = FrameArbitration::default();
        turns.record_booking(Instant::ZERO, ServiceSpan { start: at(100), end: at(150) });
        turns.record_booking(at(150), ServiceSpan { start: at(150), end: at(200) });
        turns
    }

    #[test]
    fn a_frame_waits_for_the_one_under_way_and_no_longer() {
        let enter = |now: Instant| busy().enter(now, at(200), us(10), us(1)).start;
        assert_eq!(enter(at(121)), at(130));
        assert_eq!(enter(at(130)), at(130));
        assert_eq!(enter(Instant::from_picoseconds(at(130).picoseconds() + 1)), at(140));
        assert_eq!(enter(at(199)), at(200));
    }

    #[test]
    fn two_frames_that_come_together_go_one_after_the_other() {
        let mut turns = busy();
        assert_eq!(turns.enter(at(121), at(200), us(10), us(1)).end, at(131));
        assert_eq!(turns.enter(at(121), at(201), us(10), us(1)).end, at(132));
    }

    #[test]
    fn on_an_idle_link_a_frame_goes_at_once() {
        let mut turns = busy();
        let span = turns.enter(at(300), at(200), us(10), us(1));
        assert_eq!(span, ServiceSpan { start: at(300), end: at(301) });
        // The booking begins later; before that, the link is idle.
        turns.record_booking(at(200), ServiceSpan { start: at(400), end: at(450) });
        assert_eq!(turns.enter(at(350), at(450), us(10), us(1)).start, at(350));
    }
}
