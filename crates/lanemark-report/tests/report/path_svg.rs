//! Tests properties of every drawn path, including unusual paths: elements do not overlap, all numbers are finite, and
//! the file is XML without external references.

use std::collections::HashMap;

use lanemark_report::path_svg;
use unicode_width::UnicodeWidthStr;

use crate::path_fixture::{all, bare, named, unknown};

/// Coordinates have one decimal, and an edge is the sum of two coordinates.
const ROUNDING: f64 = 0.15;

/// A drawn rectangle, and its description for messages.
#[derive(Debug)]
struct Area {
    what: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        self.left + ROUNDING < other.right
            && other.left + ROUNDING < self.right
            && self.top + ROUNDING < other.bottom
            && other.top + ROUNDING < self.bottom
    }

    fn contains(&self, other: &Self) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// Returns the elements called `name`, with their attributes and texts.
fn elements(svg: &str, name: &str) -> Vec<(HashMap<String, String>, String)> {
    svg.split(&format!("<{name} "))
        .skip(1)
        .map(|rest| {
            let (head, body) = rest.split_once('>').unwrap();
            let words: Vec<&str> = head.split('"').collect();
            let attribute = |pair: &[&str]| {
                (pair[0].trim().trim_end_matches('=').to_owned(), pair[1].to_owned())
            };
            let attributes = words.chunks_exact(2).map(attribute).collect();
            (attributes, body.split('<').next().unwrap().to_owned())
        })
        .collect()
}

fn number(attributes: &HashMap<String, String>, name: &str) -> f64 {
    attributes.get(name).map_or(0.0, |text| text.parse().unwrap())
}

/// Returns the area of the page, followed by the boxes.
fn boxes(svg: &str) -> Vec<Area> {
    elements(svg, "rect")
        .into_iter()
        .map(|(attributes, _)| {
            let at = |name| number(&attributes, name);
            Area {
                what: attributes["class"].clone(),
                left: at("x"),
                right: at("x") + at("width"),
                top: at("y"),
                bottom: at("y") + at("height"),
            }
        })
        .collect()
}

fn lines(svg: &str) -> Vec<Area> {
    elements(svg, "line")
        .into_iter()
        .map(|(attributes, _)| {
            let half = number(&attributes, "stroke-width") / 2.0;
            let left = number(&attributes, "x1");
            let right = number(&attributes, "x2");
            let y = number(&attributes, "y1");
            assert_eq!(y, number(&attributes, "y2"), "links are level");
            let what = format!("{} at {y}", attributes["class"]);
            Area { what, left, right, top: y - half, bottom: y + half }
        })
        .collect()
}

/// Returns the areas of all texts, with widths estimated from the size of their characters.
fn texts(svg: &str) -> Vec<Area> {
    elements(svg, "text")
        .into_iter()
        .map(|(attributes, text)| {
            let decoded = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let decoded = decoded.replace("&quot;", "\"");
            let heading = attributes.get("class").is_some_and(|class| class == "heading");
            let character = if heading { 9.0 } else { 6.6 };
            let width = decoded.width() as f64 * character;
            let x = number(&attributes, "x");
            let y = number(&attributes, "y");
            let middle = attributes.get("text-anchor").is_some_and(|anchor| anchor == "middle");
            let left = if middle { x - width / 2.0 } else { x };
            Area { what: decoded, left, right: left + width, top: y - 9.0, bottom: y + 3.0 }
        })
        .collect()
}

fn assert_apart(areas: &[Area]) {
    for (index, one) in areas.iter().enumerate() {
        for other in &areas[index + 1..] {
            assert!(
                !one.overlaps(other),
                "{} overlaps {}: {one:?}, {other:?}",
                one.what,
                other.what
            );
        }
    }
}

#[test]
fn boxes_links_and_labels_do_not_overlap() {
    for view in all() {
        let svg = path_svg(&view);
        let boxes = boxes(&svg);
        let lines = lines(&svg);
        let texts = texts(&svg);
        assert_apart(&boxes[1..]);
        assert_apart(&lines);
        assert_apart(&texts);
        for line in &lines {
            assert!(!boxes[1..].iter().any(|one| one.overlaps(line)), "a box is over {line:?}");
            assert!(!texts.iter().any(|text| text.overlaps(line)), "a text is on {line:?}");
        }
        for text in &texts {
            let over: Vec<&Area> = boxes[1..].iter().filter(|one| one.overlaps(text)).collect();
            assert!(over.iter().all(|one| one.contains(text)), "{text:?} crosses {over:?}");
        }
        let page = &boxes[0];
        for area in boxes.iter().chain(&lines).chain(&texts) {
            assert!(page.contains(area), "{area:?} is off the page {page:?}");
        }
    }
}

#[test]
fn numbers_are_finite_and_lines_within_their_bounds() {
    for view in all() {
        let svg = path_svg(&view);
        for word in ["NaN", "inf"] {
            assert!(!svg.contains(&format!("\"{word}")) && !svg.contains(&format!("{word} MB/s")));
        }
        for (attributes, _) in elements(&svg, "line") {
            let width = number(&attributes, "stroke-width");
            assert!((1.5..=22.0).contains(&width), "{width}");
        }
    }
}

#[test]
fn a_link_of_unknown_rate_is_dashed_and_never_the_bottleneck() {
    let svg = path_svg(&unknown());
    assert!(svg.contains("Dashed: the rate is not known.") && !svg.contains("Line width"));
    assert!(!path_svg(&bare()).contains("Dashed"));
    assert_eq!(svg.matches("on narrow\"").count(), 0);
}

#[test]
fn a_drawing_is_one_image_that_asks_for_nothing_outside_itself() {
    for view in all() {
        let svg = path_svg(&view);
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" class"));
        assert_eq!(svg.matches("role=\"img\" aria-label=\"").count(), 1);
        assert_eq!(svg.matches("http").count(), 1, "the name of SVG itself");
        for reference in ["src=", "href", "url(", "@import", "<link", "<script"] {
            assert!(!svg.contains(reference), "the drawing has {reference}");
        }
    }
}

#[test]
fn names_are_text_that_xml_can_hold() {
    let svg = path_svg(&named("<script>alert('x')</script>\x1b[31m\"&\u{ffff}\u{0}"));
    assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script"));
    let forbidden = |character: char| {
        (character.is_control() && character != '\n')
            || matches!(character, '\u{fffe}' | '\u{ffff}')
    };
    assert!(!svg.contains(forbidden));
    for entity in svg.split('&').skip(1) {
        let name = entity.split(';').next().unwrap();
        assert!(["lt", "gt", "amp", "quot"].contains(&name), "&{name}");
    }
    for element in ["g", "title", "text", "rect", "line", "svg", "style"] {
        let opened = svg.matches(&format!("<{element}>")).count()
            + svg.matches(&format!("<{element} ")).count();
        assert_eq!(opened, svg.matches(&format!("</{element}>")).count(), "<{element}> is closed");
    }
}
