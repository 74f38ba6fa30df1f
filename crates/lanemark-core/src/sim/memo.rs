//! The last answer of a law that is asked the same thing again and again.

/// A question and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memo<Q, A> {
    last: Option<(Q, A)>,
}

impl<Q: Copy + PartialEq, A: Copy> Memo<Q, A> {
    /// A memo without an answer.
    pub(super) const fn new() -> Self {
        Self { last: None }
    }

    /// The answer to `question`, from `law` where it is not the last one.
    #[inline]
    pub(super) fn answer(&mut self, question: Q, law: impl FnOnce() -> A) -> A {
        if let Some((last, answer)) = self.last
            && last == question
        {
            return answer;
        }
        let answer = law();
        self.last = Some((question, answer));
        answer
    }
}

impl<Q: Copy + PartialEq, A: Copy> Default for Memo<Q, A> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_question_has_another_answer() {
        let (mut memo, mut asked) = (Memo::new(), 0);
        let mut ask = |number: u32| {
            memo.answer(number, || {
                asked += 1;
                number * 2
            })
        };
        assert_eq!([ask(1), ask(1), ask(2), ask(1)], [2, 2, 4, 2]);
        assert_eq!(asked, 3);
    }
}
