//! Tests of the steady-state rule, compared with figures that were computed by hand.

use super::*;
use crate::result::DriveUse;
use crate::units::{Bytes, Duration};
use crate::workload::TrackedFigure;

const RULE: RoundSettings =
    RoundSettings { length: Duration::from_seconds(60), tracked: TrackedFigure::Iops };

fn reached(figures: &[f64]) -> bool {
    matches!(judge(figures).0, RoundsOutcome::Reached { .. })
}

fn reason(figures: &[f64]) -> Option<UnsteadyReason> {
    match judge(figures).0 {
        RoundsOutcome::NotReached { reason } => Some(reason),
        RoundsOutcome::Reached { .. } => None,
    }
}

#[test]
fn the_best_fit_line_minimises_least_squares() {
    // y = 100 + 3 x with noise that is orthogonal to both a constant and a line.
    let noise = [1.0, -2.0, 0.0, 2.0, -1.0];
    let figures: Vec<f64> =
        (0..5).map(|x| 100.0 + 3.0 * f64::from(x) + noise[x as usize]).collect();
    let window = SteadyWindow::from_figures(&figures).unwrap();
    assert!((window.slope - 3.0).abs() < 1e-12, "{}", window.slope);
    assert!((window.mean - 106.0).abs() < 1e-12);
    assert!((window.slope_range - 12.0 / 106.0).abs() < 1e-12);
    assert!((window.range - 10.0 / 106.0).abs() < 1e-12);
}

/// The range is exactly 20% of the mean, and the slope is zero.
#[test]
fn a_range_on_the_bound_is_steady_and_one_above_is_not() {
    for scale in [1.0, 0.1, 1e-9, 3e7, 1.0 / 3.0] {
        let at = |edge: f64| {
            [110.0 + edge, 90.0 - edge, 100.0, 90.0 - edge, 110.0 + edge].map(|v| v * scale)
        };
        assert!(reached(&at(0.0)), "at {scale}");
        assert_eq!(reason(&at(1e-6)), Some(UnsteadyReason::Range), "above, at {scale}");
    }
}

/// A line that rises by exactly 10% of the mean, and whose range is also 10%.
#[test]
fn a_slope_on_the_bound_is_steady_and_one_above_is_not() {
    for scale in [1.0, 0.1, 1e-9, 3e7, 1.0 / 3.0] {
        for sign in [1.0, -1.0] {
            let at =
                |rise: f64| [-2.0, -1.0, 0.0, 1.0, 2.0].map(|x| (100.0 + sign * x * rise) * scale);
            assert!(reached(&at(2.5)), "at {scale}");
            assert_eq!(reason(&at(2.500_001)), Some(UnsteadyReason::Slope), "above, at {scale}");
        }
    }
}

#[test]
fn only_the_last_five_count() {
    let figures = [900.0, 500.0, 200.0, 101.0, 100.0, 99.0, 100.0, 101.0];
    assert!(!reached(&figures[..7]));
    let (outcome, window) = judge(&figures);
    assert_eq!(outcome, RoundsOutcome::Reached { round: 8 });
    assert_eq!(window.unwrap().first_round, 4);
}

#[test]
fn four_rounds_are_not_steady_however_alike() {
    assert_eq!(reason(&[100.0; 4]), Some(UnsteadyReason::FewRounds));
    assert_eq!(reason(&[]), Some(UnsteadyReason::FewRounds));
    assert!(reached(&[100.0; 5]));
}

#[test]
fn an_invalid_figure_is_not_steady() {
    for value in [0.0, f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(reason(&[value; 5]), Some(UnsteadyReason::NoFigures), "{value}");
    }
}

fn round(iops: f64) -> Round {
    Round {
        iops,
        throughput_bytes_per_second: 4096.0 * iops,
        latency_mean_ns: 1e9 / iops,
        drive: None,
    }
}

#[test]
fn a_test_ends_with_the_first_steady_window() {
    let mut state = SteadyState::new(RULE);
    let figures = [400.0, 300.0, 200.0, 150.0, 104.0, 102.0, 101.0, 100.0, 100.0];
    let over: Vec<bool> = figures.iter().map(|&iops| state.push(round(iops))).collect();
    assert_eq!(over.iter().position(|&over| over), Some(8));
    assert_eq!((state.outcome, state.warning("t")), (RoundsOutcome::Reached { round: 9 }, None));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<SteadyState>(&text).unwrap(), state);
}

#[test]
fn a_test_that_stays_unsteady_ends_after_25_rounds_with_its_figures() {
    let mut state = SteadyState::new(RULE);
    let rounds = (0..100).take_while(|&index| !state.push(round(1000.0 - 39.0 * f64::from(index))));
    assert_eq!(rounds.count() + 1, ROUNDS_MAX);
    // The figures of the window are 220, 181, 142, 103 and 64.
    let warning = state.warning("t").unwrap().to_string();
    assert_eq!(warning, "t: not steady after 25 rounds, the last five span 110% of their mean");
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<SteadyState>(&text).unwrap(), state);
}

/// A fresh drive satisfies the rule before it slows down; only the windows up to the end of the test count.
#[test]
fn an_early_steady_window_is_not_the_steady_state() {
    let figures = [[100.0; 8].as_slice(), &[60.0, 40.0], &[20.0; 8]].concat();
    assert!(reached(&figures[..8]));
    assert_eq!(steady_since(&figures, 0), Some(10));
    assert_eq!(steady_since(&figures[..12], 0), None);
    assert_eq!(steady_since(&figures[..8], 0), Some(0));
    assert_eq!(steady_since(&figures[..3], 0), None);
    // Figures that the caller excludes belong to no window.
    assert_eq!(steady_since(&figures, 13), Some(13));
    assert_eq!(steady_since(&figures, 14), None);
}

/// A drive that still fills erased flash is not steady, however equal its figures are, until no window contains a round
/// in which it did.
#[test]
fn a_window_in_which_erased_flash_is_used_up_is_not_steady() {
    let filling = |erased_used: u64| Round {
        drive: Some(DriveUse {
            host_written: Bytes(1_000),
            erased_used: Bytes(erased_used),
            ..DriveUse::default()
        }),
        ..round(100.0)
    };
    let mut state = SteadyState::new(RULE);
    let erased_used = [1_000, 1_000, 51, 50, 50, 50, 50, 50];
    let over: Vec<bool> = erased_used.iter().map(|&used| state.push(filling(used))).collect();
    assert_eq!(over.iter().position(|&over| over), Some(7));
    let mut state = SteadyState::new(RULE);
    (0..WINDOW).for_each(|_| _ = state.push(filling(1_000)));
    let warning = state.warning("t").unwrap().to_string();
    assert!(warning.contains("garbage collection has not begun"), "{warning}");
}
