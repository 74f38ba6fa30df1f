//! The order in which requests were submitted, and the silent fault that affects each request in flight.
//!
//! Random draws depend on a request's position in the order of submission, so that a seed selects the same requests
//! regardless of their times.

use crate::engine::slab::RequestHandle;

/// The number of a fault in the plan.
pub(crate) type FaultNumber = u16;

#[derive(Clone, Copy, Debug, Default)]
struct RequestMark {
    /// Position of the request in the order of submission, from 1; 0 for a request submitted before the first fault was
    /// known.
    order: u64,
    /// The fault that makes the request's data wrong.
    silent: Option<FaultNumber>,
}

/// The marks of all requests in flight, by the numbers of their handles.
#[derive(Debug, Default)]
pub(super) struct RequestMarks {
    marks: Vec<RequestMark>,
    submitted: u64,
}

impl RequestMarks {
    /// Records that a request is submitted.
    pub(super) fn note_submission(&mut self, request: RequestHandle) {
        let index = request.number() as usize;
        if index >= self.marks.len() {
            self.marks.resize(index + 1, RequestMark::default());
        }
        self.submitted += 1;
        self.marks[index] = RequestMark { order: self.submitted, silent: None };
    }

    /// Returns the position of a request in the order of submission, from 1; `None` if it was submitted before the
    /// first fault was known.
    pub(super) fn order(&self, request: RequestHandle) -> Option<u64> {
        let mark = self.marks.get(request.number() as usize)?;
        (mark.order > 0).then_some(mark.order)
    }

    /// Records that a fault makes a request's data wrong.
    pub(super) fn mark_wrong_data(&mut self, request: RequestHandle, fault: FaultNumber) {
        if let Some(mark) = self.marks.get_mut(request.number() as usize) {
            mark.silent = Some(fault);
        }
    }

    /// Returns the fault that makes a request's data wrong.
    pub(super) fn deceived_by(&self, request: RequestHandle) -> Option<FaultNumber> {
        self.marks.get(request.number() as usize)?.silent
    }
}
