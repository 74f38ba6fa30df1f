//! The answers of a study: counts, ties, and what is not there.

use lanemark_report::answer;
use lanemark_schema::result::{Comparison, StudyOutcome};

use crate::fixture;

fn study(ratios: &[(&str, f64, Option<f64>)]) -> StudyOutcome {
    let ratios = ratios.iter().map(|(test, ours, theirs)| ((*test).to_owned(), *ours, *theirs));
    let comparison =
        Comparison { system: "nvme".to_owned(), base: "sata".to_owned(), ratios: ratios.collect() };
    StudyOutcome { comparison: Some(comparison), ..fixture::study() }
}

#[test]
fn a_tie_in_every_test_is_told_as_one() {
    let tie = |test: &str| (test.to_owned(), 1.001, None);
    let outcome = StudyOutcome {
        comparison: Some(Comparison {
            system: "nvme".to_owned(),
            base: "sata".to_owned(),
            ratios: vec![tie("Seq read"), tie("Seq write")],
        }),
        ..fixture::study()
    };
    let told = answer(&outcome).unwrap();
    assert!(told.contains(" is as fast as ") && told.contains(" in every test."), "{told}");
}

#[test]
fn simulated_and_published_stand_side_by_side() {
    assert_eq!(
        answer(&fixture::study()).unwrap(),
        "NVMe is faster than SATA in 7 of 8 tests, from 0.94x (4K read) to 3.01x (Seq read), median \
         2.35x, at least twice as fast in 6. Published: 7 of 8 tests, from 0.95x (4K read) to 3.02x \
         (Seq read), median 2.34x, at least twice as fast in 4."
    );
}

#[test]
fn a_tie_is_neither_faster_nor_slower_and_what_reads_twice_is_twice() {
    let study = study(&[("a", 1.004, None), ("b", 1.996, None), ("c", 0.5, None)]);
    let answer = answer(&study).unwrap();
    assert!(answer.contains("faster than SATA in 1 of 3 tests and as fast in 1,"), "{answer}");
    assert!(answer.contains("from 0.50x (c) to 2.00x (b), median 1.00x"), "{answer}");
    assert!(answer.contains("at least twice as fast in 1."), "{answer}");
}

#[test]
fn published_ratios_count_over_the_tests_that_have_one() {
    let partly = study(&[("a", 1.5, Some(1.4)), ("b", 2.5, None), ("c", 3.0, Some(0.9))]);
    let answer_partly = answer(&partly).unwrap();
    assert!(answer_partly.contains("in 3 of 3 tests"), "{answer_partly}");
    assert!(answer_partly.contains("Published: 1 of 2 tests, from 0.90x (c)"), "{answer_partly}");
    let none = answer(&study(&[("a", 1.5, None), ("b", 2.0, None)])).unwrap();
    assert!(none.ends_with("No published ratio to compare."), "{none}");
}

#[test]
fn a_ratio_that_is_no_number_does_not_count() {
    let answer = answer(&study(&[("a", f64::INFINITY, Some(f64::NAN)), ("b", 2.0, None)])).unwrap();
    assert!(
        answer.starts_with("NVMe is faster than SATA in 1 of 1 test, at 2.00x (b)."),
        "{answer}"
    );
    assert!(!answer.contains("inf") && !answer.contains("NaN"), "{answer}");
}

#[test]
fn nothing_compared_is_no_answer() {
    assert_eq!(answer(&study(&[])), None);
    assert_eq!(answer(&StudyOutcome { comparison: None, ..fixture::study() }), None);
}
