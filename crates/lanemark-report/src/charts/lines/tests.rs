//! Tests of the lines: their scales, their dashes and their labels.

use super::*;

#[test]
fn a_path_skips_points_on_a_straight_line_and_turns_at_corners() {
    let path = |points: &[(f64, f64)]| trace(points.iter().copied());
    assert_eq!(
        path(&[(0.0, 1.0), (2.0, 1.0), (5.0, 1.0), (5.0, 4.0), (6.0, 5.5)]),
        "M0 1H5V4L6 5.5"
    );
    assert_eq!(path(&[(0.0, 1.0), (5.0, 1.0), (3.0, 1.0), (3.02, 1.0)]), "M0 1H5H3");
}

#[test]
fn twenty_four_series_have_their_own_look() {
    let looks: std::collections::BTreeSet<String> = (0..LOOKS).map(style).collect();
    assert_eq!((looks.len(), LOOKS), (24, 24));
}

#[test]
fn an_axis_of_latencies_contains_all_of_them_and_names_few() {
    let ends = |values: &[f64]| LineAxis::latency("l", values.iter().copied()).ends;
    assert_eq!(ends(&[f64::NAN, 210.0, -3.0, 0.0, 480.0, f64::INFINITY]), (200.0, 500.0));
    assert_eq!(ends(&[200.0, 500.0]), (200.0, 500.0));
    assert_eq!(ends(&[2_000.0, 2_000.0]), (2_000.0, 4_000.0));
    assert_eq!(ends(&[]), (1e3, 1e4));
    let scale = LineAxis::latency("l", [90e3, 12e6].into_iter());
    assert!((scale.share(1e6) - 0.5).abs() < 1e-9);
    let labels = |values: [f64; 2]| -> Vec<String> {
        let axis = LineAxis::latency("l", values.into_iter());
        axis.ticks.into_iter().map(|tick| tick.1).collect()
    };
    // An axis that spans less than 1.7 decades has a tick at every step.
    assert_eq!(labels([2e3, 50e3]), ["2 µs", "5 µs", "10 µs", "20 µs", "50 µs"]);
    assert_eq!(labels([2e3, 200e3]), ["10 µs", "100 µs"]);
    assert_eq!(labels([500e6, 2e9]), ["500 ms", "1 s", "2 s"]);
    let times = [998.9, 999.0, 998.9e3, 0.999e6, 998.9e6, 0.999e9].map(time_label);
    let wanted = ["999 ns", "0.999 µs", "999 µs", "0.999 ms", "999 ms", "0.999 s"];
    assert_eq!(times, wanted);
}

#[test]
fn an_axis_from_zero_ends_beyond_the_maximum() {
    let axis = |most: f64| {
        let axis = LineAxis::from_zero("n", [most, f64::NAN].into_iter());
        let labels: Vec<String> = axis.ticks.into_iter().map(|tick| tick.1).collect();
        (axis.ends, labels.join(" "))
    };
    assert_eq!(axis(230.0), ((0.0, 250.0), "0 50 100 150 200 250".to_owned()));
    assert_eq!(axis(250.0), ((0.0, 250.0), "0 50 100 150 200 250".to_owned()));
    assert_eq!(axis(2.1), ((0.0, 2.5), "0.0 0.5 1.0 1.5 2.0 2.5".to_owned()));
    assert_eq!(axis(0.0), ((0.0, 0.2), "0.0 0.2".to_owned()));
    assert_eq!(axis(9_000.0).1, "0 2,000 4,000 6,000 8,000 10,000");
    let scale = LineAxis::from_zero("n", [250.0].into_iter());
    let shares = [50.0, -10.0, 300.0].map(|value| scale.share(value));
    assert_eq!(shares, [0.2, 0.0, 1.0]);
    let point = LineAxis { ends: (5.0, 5.0), ..scale };
    assert_eq!(point.share(5.0), 0.5);
}

fn line(style: usize, points: &[(f64, f64)]) -> LineSeries {
    let name = format!("s{style}");
    LineSeries { name, style, rings: false, points: points.to_vec(), intervals: Vec::new() }
}

fn chart(lines: Vec<LineSeries>) -> LineChart {
    let across = LineAxis::from_zero("depth", [100.0].into_iter());
    let up = LineAxis::from_zero("MB/s", [200.0].into_iter());
    LineChart { title: "T".to_owned(), across, up, lines, marks: Vec::new() }
}

#[test]
fn a_panel_places_its_points_between_its_axes() {
    let mut rings = line(1, &[(100.0, 200.0)]);
    rings.rings = true;
    let mut first = line(0, &[(0.0, 0.0), (50.0, 100.0), (100.0, 150.0)]);
    first.intervals = vec![(50.0, 80.0, 120.0), (100.0, 150.0, 150.0)];
    let mut chart = chart(vec![first, rings, line(7, &[(25.0, 50.0)])]);
    chart.marks = vec![
        VerticalMark { at: 75.0, name: "SATA".to_owned(), style: 0 },
        VerticalMark { at: 50.0, name: "PCIe".to_owned(), style: 7 },
    ];
    let image = chart.figure().image;
    // The height is 20 at the top, 190 for the plot, and 32 for the labels below it.
    assert_eq!((image.width, image.height), (440.0, 242.0));
    let svg = maud::Render::render(&image).into_string();
    // The plot is 440 - 48 - 14 units wide.
    for part in [
        "<g transform=\"translate(48 0)\">",
        "<path class=\"base\" d=\"M0 20V210H378\">",
        "M0 210h378M0 162.5h378M0 115h378M0 67.5h378M0 20h378",
        "M0 20v190M75.6 20v190M151.2 20v190M226.8 20v190M302.4 20v190M378 20v190",
        "<text x=\"-48\" y=\"11\">MB/s</text>",
        "<text x=\"75.6\" y=\"223\">20</text>",
        "<text x=\"-5\" y=\"118.5\">100</text>",
        "<text x=\"378\" y=\"237\">depth</text>",
        "<path class=\"trace c0 d0\" d=\"M0 210L189 115L378 67.5\">",
        "<path class=\"trace thin c0 d0\" d=\"M189 134V96\">",
        "<circle class=\"ring c1 d0\" cx=\"378\" cy=\"20\" r=\"3.5\">",
        "<circle class=\"dot c1 d1\" cx=\"94.5\" cy=\"162.5\" r=\"2.5\">",
        "<path class=\"trace ceiling c0 d0\" d=\"M283.5 20V210\">",
        "<text class=\"named\" x=\"279.5\" y=\"30\" text-anchor=\"end\">SATA</text>",
        "<text class=\"named\" x=\"185\" y=\"42\" text-anchor=\"end\">PCIe</text>",
        "s0: from 0 to 150; s1: from 200 to 200; s7: from 50.0 to 50.0; ceiling SATA",
    ] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
    // Labels that are wider than the margin need more room: ten characters, plus 7.
    chart.up.ticks[1].1 = "1234567890".to_owned();
    let svg = maud::Render::render(&chart.figure().image).into_string();
    assert!(svg.contains("translate(73 0)") && svg.contains("M0 20V210H353"), "{svg}");
}

#[test]
fn labels_of_an_axis_stay_in_the_drawing_and_apart() {
    let mut chart = chart(Vec::new());
    // Two labels of width 132 around 0 and 378, and one of width 66 that would begin before the first one ends.
    chart.across.ticks = vec![
        (0.0, "x".repeat(20)),
        (25.0, "y".repeat(10)),
        (55.0, "z".repeat(10)),
        (100.0, "w".repeat(20)),
    ];
    let svg = maud::Render::render(&chart.figure().image).into_string();
    let at = |letter: char| {
        let (before, _) = svg.split_once(&format!(">{letter}{letter}"))?;
        let text = before.rsplit("x=\"").next()?;
        text.split('"').next()?.parse::<f64>().ok()
    };
    assert_eq!(at('x'), Some(18.0), "half of 132 from the left edge at -48");
    // The first label ends at 84, but the next one would begin at 61.5.
    assert_eq!(at('y'), None);
    assert_eq!(at('z'), Some(207.9));
    assert_eq!(at('w'), Some(326.0), "half of 132 from the right edge at 392");
}

#[test]
fn panels_are_flat_uniform_or_alike_within_a_hundredth() {
    let of = |all: &[&[(f64, f64)]]| {
        chart(all.iter().enumerate().map(|(style, points)| line(style, points)).collect())
    };
    let level: &[_] = &[(1.0, 100.0), (2.0, 100.0)];
    let near: &[_] = &[(1.0, 99.0), (2.0, 100.0)];
    let rising: &[_] = &[(1.0, 98.9), (2.0, 100.0)];
    let more: &[_] = &[(1.0, 99.8), (2.0, 100.0)];
    assert!(of(&[level, near]).is_flat() && !of(&[level, rising]).is_flat());
    assert!(of(&[rising, more]).is_uniform() && !of(&[rising]).is_uniform());
    assert!(!of(&[rising, level]).is_uniform() && !chart(Vec::new()).is_uniform());
    assert!(!of(&[level, &level[..1]]).is_uniform());
    assert!(of(&[rising, near]).is_like(&of(&[more, near])));
    assert!(!of(&[rising, near]).is_like(&of(&[rising])));
    assert!(!of(&[rising]).is_like(&of(&[level])));
    let mut other = of(&[rising]);
    other.lines[0].style = 5;
    assert!(!of(&[rising]).is_like(&other));
    let shifted: &[_] = &[(1.5, 98.9), (2.0, 100.0)];
    assert!(!of(&[rising]).is_like(&of(&[shifted])));
}
