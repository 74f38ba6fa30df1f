//! Tests the contrast of colours with the page, computed from the style sheet by the rule of WCAG 2.

use super::STYLE;
use crate::charts::theme::{root, variables};

/// Returns the relative luminance of a colour `#rgb` or `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let digits: Vec<u32> = colour[1..].chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    let channels: Vec<u32> = match digits.len() {
        3 => digits.iter().map(|digit| digit * 17).collect(),
        6 => digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect(),
        _ => panic!("{colour} is not a colour"),
    };
    let linear = |channel: u32| match f64::from(channel) / 255.0 {
        low if low <= 0.04045 => low / 12.92,
        high => ((high + 0.055) / 1.055).powf(2.4),
    };
    0.2126 * linear(channels[0]) + 0.7152 * linear(channels[1]) + 0.0722 * linear(channels[2])
}

fn contrast(one: &str, other: &str) -> f64 {
    let one = luminance(one);
    let other = luminance(other);
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn every_mark_has_a_contrast_of_three_to_one_in_light_dark_and_print() {
    let light = variables(root(STYLE, ":root"), &[]);
    let dark = variables(root(STYLE, "@media (prefers-color-scheme: dark)"), &light);
    let print = variables(root(STYLE, "@media print"), &dark);
    for (mode, all) in [("light", light), ("dark", dark), ("print", print)] {
        let of = |name: &str| all.iter().find(|(known, _)| *known == name).unwrap().1;
        let marks = (0..6).map(|index| format!("--s{index}"));
        let marks = marks.chain((0..12).map(|index| format!("--h{index}")));
        let marks = marks.chain((0..5).map(|index| format!("--q{index}")));
        let named = ["--neutral", "--soft", "--ink", "--link", "--warning"].map(str::to_owned);
        for mark in marks.chain(named) {
            let found = contrast(of(&mark), of("--page"));
            assert!(found >= 3.0, "{mode}: {mark} has {found:.2} to 1");
        }
    }
}

#[test]
fn translucent_shapes_have_an_outline() {
    assert!(STYLE.contains(".part.wait { stroke: currentColor; }"));
    assert!((contrast("#000", "#fff") - 21.0).abs() < 1e-9);
}
