//! Families of tests. Tests that differ in only one number are points on lines over that number, and do not have
//! separate panels.

use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Test;

use crate::charts::lines::LineAxis;

/// Minimum number of tests in a family.
const LEAST: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyAxis {
    /// Total amount of transferred data.
    Volume,
    /// Size of a request.
    Block,
    /// Number of outstanding requests per thread.
    Depth,
}

/// Tests that differ in only one number.
#[derive(Debug)]
pub(super) struct TestFamily<'t> {
    pub(super) axis: FamilyAxis,
    /// The value of the number for each test, with the test, in ascending order of the value.
    pub(super) tests: Vec<(f64, &'t Test)>,
}

impl FamilyAxis {
    const ALL: [Self; 3] = [Self::Volume, Self::Block, Self::Depth];

    /// Returns the test's value of this number; `None` if the test does not have the number.
    fn value_in(self, test: &Test) -> Option<f64> {
        match self {
            Self::Volume => test.volume.map(|volume| volume.get() as f64),
            Self::Block => Some(test.block.get() as f64),
            Self::Depth => test.requests().map(|requests| requests.queue_depth.into()),
        }
    }

    /// Returns the test without this number, and without the fields that depend on it.
    fn without(self, test: &Test) -> Test {
        let mut test = Test { name: String::new(), ..test.clone() };
        match self {
            Self::Volume => test.volume = None,
            Self::Block => {
                test = Test { block: Bytes::ZERO, span: Bytes::ZERO, volume: None, ..test };
                test = test.with(|requests| requests.alignment = Bytes::ZERO);
            }
            Self::Depth => {
                test.volume = None;
                test = test.with(|requests| requests.queue_depth = 0);
            }
        }
        test
    }

    /// Returns a scale for the values of a family, with a tick at each value.
    pub(super) fn scale(self, values: impl Iterator<Item = f64>) -> LineAxis {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (name, label): (&str, fn(f64) -> String) = match self {
            Self::Volume => ("data moved (logarithmic)", |bytes| Bytes(bytes as u64).to_string()),
            Self::Block => {
                ("size of a request (logarithmic)", |bytes| Bytes(bytes as u64).to_string())
            }
            Self::Depth => ("queue depth (logarithmic)", |depth| format!("{depth}")),
        };
        let ends = (
            values.first().copied().unwrap_or(1.0).max(1.0),
            values.last().copied().unwrap_or(1.0).max(1.0),
        );
        let ticks = values.into_iter().map(|value| (value, label(value))).collect();
        LineAxis { name: name.to_owned(), ends, logarithmic: true, ticks }
    }
}

impl<'t> TestFamily<'t> {
    /// Returns the families among `tests`; a test belongs to up to one family.
    pub(super) fn all(tests: &[&'t Test]) -> Vec<Self> {
        let mut families: Vec<Self> = Vec::new();
        let mut left: Vec<&Test> = tests.to_vec();
        for axis in FamilyAxis::ALL {
            let mut groups: Vec<(Test, Vec<(f64, &'t Test)>)> = Vec::new();
            for &test in &left {
                let Some(value) = axis.value_in(test) else { continue };
                let key = axis.without(test);
                match groups.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, group)) => group.push((value, test)),
                    None => groups.push((key, vec![(value, test)])),
                }
            }
            for (_, mut tests) in groups {
                tests.sort_by(|one, other| one.0.total_cmp(&other.0));
                let distinct = tests.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if tests.len() >= LEAST && distinct && tests[0].0 > 0.0 {
                    left.retain(|test| tests.iter().all(|(_, one)| one.name != test.name));
                    families.push(Self { axis, tests });
                }
            }
        }
        families
    }

    /// Returns whether the family contains a test with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tests.iter().any(|(_, test)| test.name == name)
    }

    /// Returns the title of the family, such as `sequential write, 32 MiB`.
    pub(super) fn title(&self) -> String {
        let Some((_, test)) = self.tests.first() else { return String::new() };
        let what = match test.read_share() {
            Some(Ratio::ONE) => "read".to_owned(),
            Some(Ratio::ZERO) => "write".to_owned(),
            Some(share) => format!("{:.0}% read", share.get() * 100.0),
            None => "read and write".to_owned(),
        };
        let order = test.order_word().map_or(String::new(), |order| format!("{order} "));
        let mut title = format!("{order}{what}");
        if self.axis != FamilyAxis::Block {
            title += &format!(", {}", test.block);
        }
        if self.axis != FamilyAxis::Depth
            && let Some(depth) = test.queue_depth().filter(|depth| *depth > 1)
        {
            title += &format!(", queue depth {depth}");
        }
        match test.threads {
            0 | 1 => title,
            threads => format!("{title}, {threads} threads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(block: u64, depth: u32) -> Test {
        let name = format!("{block} {depth}");
        let test = Test { name, ..Test::of_blocks(Bytes(block)) };
        test.with(|requests| requests.queue_depth = depth)
    }

    #[test]
    fn tests_that_differ_in_one_number_are_a_family() {
        let mut all: Vec<Test> = [8, 1, 4, 2].map(|depth| test(4096, depth)).into();
        all.push(test(65_536, 1));
        all.push(Test { threads: 4, ..test(4096, 16) });
        let families = TestFamily::all(&all.iter().collect::<Vec<_>>());
        assert_eq!(families.len(), 1);
        assert_eq!(families[0].axis, FamilyAxis::Depth);
        let depths: Vec<f64> = families[0].tests.iter().map(|test| test.0).collect();
        assert_eq!(depths, [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(families[0].title(), "random read, 4 KiB");
        assert!(families[0].has("4096 1") && !families[0].has("65536 1"));
        let scale = families[0].axis.scale(depths.into_iter());
        assert_eq!((scale.ends, scale.ticks.len()), ((1.0, 8.0), 4));
    }

    #[test]
    fn three_tests_or_two_of_one_number_are_no_family() {
        let three: Vec<Test> = [1, 2, 4].map(|depth| test(4096, depth)).into();
        assert!(TestFamily::all(&three.iter().collect::<Vec<_>>()).is_empty());
        let mut twice: Vec<Test> = [1, 2, 4, 8].map(|depth| test(4096, depth)).into();
        twice.push(Test { name: "again".to_owned(), ..test(4096, 8) });
        assert!(TestFamily::all(&twice.iter().collect::<Vec<_>>()).is_empty());
    }
}
