//! Tests of the times of pages.

use super::*;
use crate::spec::DriveSpec;

fn ps(picoseconds: u64) -> Duration {
    Duration::from_picoseconds(picoseconds)
}

fn of_each(times: PageTimes) -> Vec<u64> {
    (0..u32::from(times.kinds)).map(|page| times.page_time(page).picoseconds()).collect()
}

#[test]
fn times_in_a_ratio_have_its_proportions_and_exactly_the_mean() {
    for (mean, ratio, expected) in [
        (70, &[2, 3, 2][..], vec![60, 90, 60]),
        (70, &[1, 2, 4], vec![30, 60, 120]),
        (10, &[1, 1, 1], vec![10, 10, 10]),
        (35, &[3, 4], vec![30, 40]),
        (30, &[1, 2, 4, 8], vec![8, 16, 32, 64]),
        (1, &[2, 3, 2], vec![0, 2, 1]),
        (9, &[5], vec![9]),
        (9, &[], vec![9]),
        (9, &[0, 0], vec![9]),
    ] {
        let times = PageTimes::in_ratio(ps(mean), ratio);
        assert_eq!(times.mean(), ps(mean), "{ratio:?}");
        assert_eq!(of_each(times), expected, "{mean} in {ratio:?}");
    }
    // The largest numbers do not overflow, and neither do more than four numbers.
    let day = Duration::from_seconds(86_400);
    let times = PageTimes::in_ratio(day, &[u32::MAX; 5]);
    assert_eq!((times.mean(), times.longest()), (day, day));
}

#[test]
fn another_mean_keeps_the_proportions() {
    let times = PageTimes::in_ratio(ps(7_000), &[2, 3, 2]);
    assert_eq!(times.with_mean(ps(700)), PageTimes::in_ratio(ps(700), &[2, 3, 2]));
    assert_eq!(times.with_mean(ps(700)).with_mean(ps(7_000)), times);
    assert_eq!(PageTimes::alike(ps(5)).with_mean(ps(9)), PageTimes::alike(ps(9)));
    assert_eq!(PageTimes::alike(ps(0)).with_mean(ps(9)), PageTimes::alike(ps(9)));
}

#[test]
fn times_that_do_not_fit_a_cells_pages_are_refused() {
    let drive = DriveSpec::example();
    let says = |technology, times: &[u64]| {
        let mut flash = drive.flash().clone();
        flash.technology = technology;
        flash.read = PageTimes::from_kinds(&times.iter().map(|&time| ps(time)).collect::<Vec<_>>());
        flash.check(drive.capacity).map_err(|error| error.to_string())
    };
    for (technology, times) in [
        (Technology::Slc, &[5][..]),
        (Technology::Mlc, &[3, 4]),
        (Technology::Tlc, &[7]),
        (Technology::Tlc, &[2, 3, 2]),
        (Technology::Qlc, &[1, 2, 4, 8]),
    ] {
        assert_eq!(says(technology, times), Ok(()), "{technology:?} {times:?}");
    }
    for (technology, times) in [
        (Technology::Slc, &[3, 4][..]),
        (Technology::Mlc, &[2, 3, 2]),
        (Technology::Mlc, &[0, 4]),
        (Technology::Tlc, &[3, 4]),
        (Technology::Qlc, &[2, 3, 2]),
    ] {
        let error = says(technology, times).unwrap_err();
        assert!(error.starts_with("drive.flash.read = "), "{error}");
        assert!(error.contains("a time above 0 for each"), "{error}");
    }
    let bound = "one time, or a time above 0 for each of the 3 pages of a cell";
    let found = says(Technology::Tlc, &[3, 4]);
    assert_eq!(found, Err(format!("drive.flash.read = 3 ps, 4 ps: {bound}")));
}
