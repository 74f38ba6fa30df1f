//! Tests of each order of addresses with one, two and three positions, and of its frequencies with many positions.

use super::*;
use crate::units::{Bytes, Ratio};
use crate::workload::{Accesses, RequestMix, SizeShare};

/// Returns the positions of the first `count` 4 KiB requests over `positions`.
fn draw_positions(pattern: Pattern, positions: u64, count: usize) -> Vec<u64> {
    let test = Test {
        span: Bytes(4096 * positions),
        volume: Some(Bytes::mebi(1)),
        ..Test::of_blocks(Bytes::kibi(4))
    };
    let test = test.with(|requests| requests.pattern = pattern);
    test.check().unwrap();
    let mut stream = Accesses::new(&test, StreamKey::from_seed(positions)).unwrap();
    (0..count).map(|_| stream.next_access().offset.get() / 4096).collect()
}

fn ratio(share: f64) -> Ratio {
    Ratio::new(share).unwrap()
}

fn zone(share: f64, span: f64) -> PatternZone {
    PatternZone { share: ratio(share), span: ratio(span) }
}

/// Returns the share of each position among many requests.
fn shares(pattern: Pattern, positions: u64) -> Vec<f64> {
    const COUNT: usize = 200_000;
    let mut counts = vec![0u32; positions as usize];
    draw_positions(pattern, positions, COUNT)
        .into_iter()
        .for_each(|address| counts[address as usize] += 1);
    counts.into_iter().map(|count| f64::from(count) / COUNT as f64).collect()
}

#[test]
fn every_pattern_reaches_each_of_a_few_places() {
    let patterns = [
        Pattern::Sequential,
        Pattern::Backward,
        Pattern::Uniform,
        Pattern::Shuffled,
        Pattern::Zipf { theta: 0.9 },
        Pattern::Pareto { h: 0.3 },
        Pattern::Normal { deviation: ratio(0.4) },
        Pattern::PartlyRandom { random_share: ratio(0.3) },
        Pattern::HotCold { hot_span: ratio(0.4), hot_share: ratio(0.6) },
        Pattern::Zones { zones: vec![zone(0.5, 0.5), zone(0.5, 0.5)] },
    ];
    for pattern in patterns {
        for positions in [1, 2, 3, 7] {
            let mut reached = draw_positions(pattern.clone(), positions, 500);
            reached.sort_unstable();
            reached.dedup();
            assert_eq!(reached, (0..positions).collect::<Vec<_>>(), "{pattern:?} over {positions}");
        }
    }
}

#[test]
fn sequential_patterns_turn_over_at_their_last_place() {
    assert_eq!(draw_positions(Pattern::Sequential, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(draw_positions(Pattern::Backward, 3, 7), [2, 1, 0, 2, 1, 0, 2]);
    // Each pass of a shuffled order contains every position once, in another order than the previous pass.
    for count in [5, 1_000] {
        let passes = draw_positions(Pattern::Shuffled, count, 3 * count as usize);
        let passes: Vec<&[u64]> = passes.chunks(count as usize).collect();
        assert_ne!(passes[0], passes[1]);
        for pass in passes {
            let mut positions = pass.to_vec();
            positions.sort_unstable();
            assert!(positions.into_iter().eq(0..count));
        }
    }
}

#[test]
fn all_but_a_share_of_the_requests_follow_their_predecessor() {
    let positions =
        draw_positions(Pattern::PartlyRandom { random_share: ratio(0.25) }, 1_000, 40_000);
    let following = positions.windows(2).filter(|pair| pair[1] == (pair[0] + 1) % 1_000).count();
    assert!((following as f64 / 40_000.0 - 0.75).abs() < 0.01, "{following}");
}

#[test]
fn sequential_requests_of_several_sizes_use_the_last_place_and_no_more() {
    let size = |kibi| SizeShare { block: Bytes::kibi(kibi), share: 1.0 };
    for positions in [2, 3, 4, 5, 9] {
        let test = Test {
            span: Bytes(4096 * positions),
            block: Bytes::kibi(8),
            ..Test::of_blocks(Bytes::kibi(8))
        }
        .with(|requests| {
            requests.pattern = Pattern::Sequential;
            requests.alignment = Bytes::kibi(4);
            requests.mix = RequestMix { sizes: vec![size(4), size(8)], ..RequestMix::default() };
        });
        let mut stream = Accesses::new(&test, StreamKey::from_seed(positions)).unwrap();
        // Whole blocks of the maximum size fit the span.
        let end = test.span.get() / 8192 * 8192;
        let mut at = 0;
        let mut reached = 0;
        for _ in 0..1000 {
            let access = stream.next_access();
            let offset = access.offset.get();
            let length = access.length.get();
            // The next access begins at the end of the previous access, or at zero if the maximum size no longer fits.
            let wanted = if at + 8192 > end { 0 } else { at };
            assert_eq!(offset, wanted, "{positions} positions");
            at = offset + length;
            reached = reached.max(at);
        }
        assert_eq!(reached, end, "{positions} positions");
    }
}

#[test]
fn zones_are_taken_in_proportion_for_any_sum() {
    // The zones have shares of 1:3:4 and spans of 1:2:2 over ten positions; their sums are 0.8 and 0.5.
    let zones = vec![zone(0.1, 0.1), zone(0.3, 0.2), zone(0.4, 0.2)];
    let found = shares(Pattern::Zones { zones }, 10);
    let wanted = [1.0, 1.0, 1.5, 1.5, 1.5, 1.5, 2.0, 2.0, 2.0, 2.0].map(|share| share / 16.0);
    for (index, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() < 0.003, "{index}: {found} for {wanted}");
    }
    // The cases are equal zones, and a single zone.
    for zones in [vec![zone(0.2, 0.3); 5], vec![zone(0.01, 0.01)]] {
        for share in shares(Pattern::Zones { zones: zones.clone() }, 5) {
            assert!((share - 0.2).abs() < 0.005, "{zones:?}: {share}");
        }
    }
}

#[test]
fn hot_places_get_their_share_each() {
    let found = shares(Pattern::HotCold { hot_span: ratio(0.2), hot_share: ratio(0.9) }, 10);
    for (index, found) in found.into_iter().enumerate() {
        let wanted = if index < 2 { 0.45 } else { 0.1 / 8.0 };
        assert!((found - wanted).abs() < 0.004, "{index}: {found} for {wanted}");
    }
    // If the whole span is hot, there is no cold part.
    let found = shares(Pattern::HotCold { hot_span: Ratio::ONE, hot_share: ratio(0.3) }, 4);
    assert!(found.into_iter().all(|found| (found - 0.25).abs() < 0.005));
}

#[test]
fn pareto_sends_its_share_to_its_places() {
    // `h` sends 1 - h of the requests to h of the positions, which are scattered over the span.
    for h in [0.2, 0.35] {
        let mut found = shares(Pattern::Pareto { h }, 1000);
        found.sort_by(|one, two| two.total_cmp(one));
        let hot: f64 = found[..(1000.0 * h) as usize].iter().sum();
        assert!((hot - (1.0 - h)).abs() < 0.01, "{h}: {hot}");
    }
}

#[test]
fn normal_places_have_their_mean_and_deviation() {
    let found = draw_positions(Pattern::Normal { deviation: ratio(0.1) }, 10_000, 50_000);
    let mean = found.iter().sum::<u64>() as f64 / 50_000.0;
    let squares: f64 = found.iter().map(|&address| libm::pow(address as f64 - mean, 2.0)).sum();
    let deviation = (squares / 50_000.0).sqrt();
    assert!((mean - 5000.0).abs() < 20.0, "{mean}");
    assert!((deviation / 1000.0 - 1.0).abs() < 0.02, "{deviation}");
}
