//! The last result of a formula that is evaluated repeatedly with the same arguments.

/// The last arguments of a formula, and their result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memo<Q, A> {
    last: Option<(Q, A)>,
}

impl<Q: Copy + PartialEq, A: Copy> Memo<Q, A> {
    /// Creates a memo without a result.
    pub(crate) const fn new() -> Self {
        Self { last: None }
    }

    /// Returns the result for the arguments `question`. Calls `formula` only if the arguments differ from the last
    /// arguments.
    #[inline]
    pub(crate) fn answer(&mut self, question: Q, formula: impl FnOnce() -> A) -> A {
        if let Some((last, answer)) = self.last
            && last == question
        {
            return answer;
        }
        let answer = formula();
        self.last = Some((question, answer));
        answer
    }
}

impl<Q: Copy + PartialEq, A: Copy> Default for Memo<Q, A> {
    fn default() -> Self {
        Self::new()
    }
}
