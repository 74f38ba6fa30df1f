//! The order in which tests and repeats are measured.

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload::{Test, TestOrder, Workload};

/// Separates the random stream of the order from other streams of the same seed.
const ORDER_STREAM: u64 = 0x0d4e_4a11_d0c5_0bad;

/// The samples of a workload, in the order in which they are taken.
#[derive(Debug, PartialEq, Eq)]
pub struct SamplePlan {
    /// The groups of tests, in running order.
    pub turns: Vec<ConcurrentRun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrentRun {
    /// Index of the first test.
    pub first: usize,
    /// Number of tests.
    pub count: usize,
    /// Index of the repeat, from 0.
    pub repeat: u32,
}

impl ConcurrentRun {
    /// Returns the indices of the turn's tests in the workload.
    pub fn tests(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

impl SamplePlan {
    /// Returns the order of a workload; `seed` determines a shuffled order.
    pub fn for_workload(workload: &Workload, seed: u64) -> Self {
        let mut groups: Vec<ConcurrentRun> = Vec::new();
        for (first, test) in workload.tests.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if test.start.beside => group.count += 1,
                _ => groups.push(ConcurrentRun { first, count: 1, repeat: 0 }),
            }
        }
        let turns = match workload.order {
            TestOrder::Listed => (groups.iter())
                .flat_map(|group| {
                    (0..workload.repeats).map(|repeat| ConcurrentRun { repeat, ..*group })
                })
                .collect(),
            TestOrder::Shuffled => {
                let mut rng = Rng::new(StreamKey::from_seed(seed ^ ORDER_STREAM));
                let pass = |repeat| {
                    for last in (1..groups.len()).rev() {
                        groups.swap(last, rng.below(last as u64 + 1) as usize);
                    }
                    groups
                        .iter()
                        .map(|group| ConcurrentRun { repeat, ..*group })
                        .collect::<Vec<_>>()
                };
                (0..workload.repeats).flat_map(pass).collect()
            }
        };
        Self { turns }
    }
}

/// Returns whether the test at `index` runs without other tests: it does not start together with the test before it,
/// and the next test does not start together with it.
pub(crate) fn runs_alone(tests: &[Test], index: usize) -> bool {
    let is_beside = |index: usize| tests.get(index).is_some_and(|test| test.start.beside);
    !is_beside(index) && !is_beside(index + 1)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Bytes;
    use lanemark_schema::workload::AverageMethod;

    use super::*;

    #[test]
    fn a_single_test_of_a_turn_runs_by_itself() {
        for beside in [
            &[false][..],
            &[false, false],
            &[false, true],
            &[false, false, true],
            &[false, true, false],
            &[false, true, true, false, false, true],
        ] {
            let test = |beside: &bool| {
                let mut test = Test::of_blocks(Bytes(4096));
                test.start.beside = *beside;
                test
            };
            let workload = Workload {
                faults: Vec::new(),
                id: "turns".to_owned(),
                name: "turns".to_owned(),
                repeats: 1,
                average: AverageMethod::Mean,
                order: TestOrder::Listed,
                precondition: None,
                tests: beside.iter().map(test).collect(),
            };
            let turns = SamplePlan::for_workload(&workload, 1).turns;
            for index in 0..beside.len() {
                let turn = turns.iter().find(|turn| turn.tests().contains(&index)).unwrap();
                let found = runs_alone(&workload.tests, index);
                assert_eq!(found, turn.count == 1, "test {index} of {beside:?}");
            }
        }
    }
}
