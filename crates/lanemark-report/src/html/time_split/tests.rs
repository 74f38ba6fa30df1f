//! Tests how the bars for the parts of a transaction's time are laid out.

use maud::Render;

use super::*;
use crate::database::TimePart;

fn part(class: usize, name: &'static str, ms: f64, share: f64) -> TimePart {
    TimePart { class, name, ms, share, note: format!("note of {name}") }
}

fn splits() -> Vec<(String, TimeSplit)> {
    let first = vec![part(3, "lock", 2.0, 0.25), part(1, "data", 6.0, 0.75)];
    let second = vec![part(1, "data", 3.0, 0.6), part(14, "log", 2.0, 0.4)];
    let split = |parts| TimeSplit { source: "from samples".to_owned(), measured: None, parts };
    vec![("A".to_owned(), split(first)), ("B".to_owned(), split(second))]
}

#[test]
fn bars_are_below_their_names_and_as_long_as_their_times() {
    let image = draw(&splits());
    // The height is two bars of 16 + 18 + 9 each, and an axis of 16.
    assert_eq!((image.width, image.height), (900.0, 102.0));
    let svg = image.render().into_string();
    assert!(svg.contains("viewBox=\"0 0 900 102\""), "{svg}");
    for name in ["<text x=\"4\" y=\"12\">A ", "<text x=\"4\" y=\"55\">B "] {
        assert!(svg.contains(name), "{name} in {svg}");
    }
    assert!(svg.contains("8.00 ms</tspan>") && svg.contains("5.00 ms</tspan>"), "{svg}");
    // The longest bar, for 8 ms, has a width of 860, so a millisecond is 107.5 wide.
    let paths: Vec<&str> = svg
        .split("<path class=\"part ")
        .skip(1)
        .filter_map(|rest| rest.split("<title>").next())
        .collect();
    assert_eq!(
        paths,
        [
            "h3\" d=\"M0 16H215v18H0z\">",
            "h1\" d=\"M215 16H860v18H215z\">",
            "h1\" d=\"M0 59H322.5v18H0z\">",
            "h2\" d=\"M322.5 59H537.5v18H322.5z\">",
        ]
    );
    assert!(svg.contains("<title>lock: 2.00 ms, 25.0%</title>"), "{svg}");
    assert!(svg.contains("Time of a transaction. A: lock 25.0%, data 75.0%; B: "), "{svg}");
    // The grid ends at the end of the last bar, and the labels are 12 below it.
    assert!(svg.contains("d=\"M0 0v86\"") && svg.contains("translate(0 98)"), "{svg}");
}

#[test]
fn parts_are_named_once_in_the_order_of_their_classes() {
    let all = splits();
    let names: Vec<String> = entries(&all).into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["data", "lock", "log"]);
    assert_eq!(colour(palette::HOP_COLOURS + 2), "h2");
    let from: Vec<(f64, f64)> =
        placed_parts(&all[1].1).map(|(from, part)| (from, part.ms)).collect();
    assert_eq!(from, [(0.0, 3.0), (3.0, 2.0)]);
}
