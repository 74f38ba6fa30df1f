//! Tests of the layout of a plot: its margins, scales and labels.

use super::*;
use crate::charts::svg::image;

fn figure(title: &str, width: f64, height: f64) -> TitledPanel {
    TitledPanel { title: title.to_owned(), image: image(width, height, "label", html! {}) }
}

fn entry(name: &str) -> LegendEntry {
    LegendEntry::new(html! {}, name)
}

fn draw(entries: Vec<LegendEntry>, figures: Vec<TitledPanel>, columns: usize) -> ResultPlot {
    let heading = Heading { title: "t".repeat(99), chart: "Throughput", systems: "s".repeat(99) };
    render(&PanelPicture { entries, figures }, &heading, PlotStyle { dark: false, columns })
}

/// Returns the attributes `x` and `y` and the text of each element that begins with `start`.
fn placed(svg: &str, start: &str) -> Vec<(String, String)> {
    svg.split(start)
        .skip(1)
        .map(|rest| {
            let (head, body) = rest.split_once('>').unwrap();
            let attribute = |name: &str| {
                let value = head.split_once(&format!("{name}=\"")).unwrap().1;
                value.split('"').next().unwrap().to_owned()
            };
            let at = format!("{},{}", attribute(" x"), attribute(" y"));
            (at, body.split('<').next().unwrap().to_owned())
        })
        .collect()
}

fn at(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|&(at, text)| (at.to_owned(), text.to_owned())).collect()
}

#[test]
fn panels_are_in_rows_as_high_as_their_highest_panel() {
    let figures = vec![
        figure("one", 300.3, 100.0),
        figure("two", 200.0, 150.0),
        figure("three", 250.0, 80.4),
    ];
    let plot = draw(Vec::new(), figures, 2);
    // The width is twice the margin of 16, two columns of 300.3, and a gap of 28: 660.6. The height is the margin, the
    // heading of 46, rows of 20 + 150 and 20 + 80.4, a gap, and the margin: 376.4.
    assert_eq!((plot.width, plot.height), (661.0, 377.0));
    assert!(plot.svg.contains("width=\"661\" height=\"377\" viewBox=\"0 0 661 377\""));
    let titles = at(&[("16,75", "one"), ("344.3,75", "two"), ("16,273", "three")]);
    assert_eq!(placed(&plot.svg, "<text class=\"title\""), titles);
    let nested: Vec<&str> = plot
        .svg
        .split("<svg ")
        .skip(2)
        .filter_map(|rest| rest.split(" overflow").next())
        .filter(|head| head.starts_with("x="))
        .collect();
    assert_eq!(
        nested,
        [
            "x=\"16\" y=\"82\" width=\"300.3\" height=\"100\"",
            "x=\"344.3\" y=\"82\" width=\"200\" height=\"150\"",
            "x=\"16\" y=\"280\" width=\"250\" height=\"80.4\"",
        ]
    );
    // The title has 68% of the 628.6 between the margins, which is room for 64 characters of 6.6. The systems have the
    // full width.
    let texts =
        [("<text class=\"heading\"", "16,29", 't', 64), ("<text class=\"soft\"", "16,47", 's', 95)];
    for (start, place, letter, length) in texts {
        let text = format!("{}…", letter.to_string().repeat(length - 1));
        assert_eq!(placed(&plot.svg, start)[0], (place.to_owned(), text));
    }
}

#[test]
fn a_picture_has_as_many_columns_as_it_can_fill() {
    for (columns, wanted) in [(0, 1.0), (1, 1.0), (2, 2.0), (3, 3.0), (9, 3.0)] {
        let figures = (0..3).map(|_| figure("one", 100.0, 50.0)).collect();
        let plot = draw(Vec::new(), figures, columns);
        assert_eq!(plot.width, 32.0 + 100.0 * wanted + 28.0 * (wanted - 1.0), "{columns}");
        let rows = (3.0 / wanted).ceil();
        assert_eq!(plot.height, 62.0 + rows * 98.0 - 28.0 + 16.0, "{columns}");
    }
    // The title of a panel has 85% of the width: 85, which is room for 12 characters of 6.6.
    let plot = draw(Vec::new(), vec![figure(&"p".repeat(30), 100.0, 50.0)], 1);
    assert_eq!(placed(&plot.svg, "<text class=\"title\"")[0].1, format!("{}…", "p".repeat(11)));
    let many = (0..PANELS_MAX + 1).map(|_| figure("one", 9.0, 5.0)).collect();
    assert_eq!(draw(Vec::new(), many, 8).svg.matches("class=\"title\"").count(), PANELS_MAX);
}

#[test]
fn a_legend_flows_in_lines_and_moves_the_panels_down() {
    let text = LegendEntry { swatch: None, name: "alone".to_owned() };
    let entries = [entry("reads"), entry("writes"), text];
    // A character is 6.6 wide, and a sample with its gap is 28 wide.
    assert_eq!(entries.each_ref().map(entry_width), [61.0, 28.0 + 6.0 * 6.6, 33.0]);
    let flow = |width: f64| -> Vec<(f64, f64)> {
        legend_positions(&entries, width).into_iter().map(|(x, y, _)| (x, y)).collect()
    };
    let second = 77.0 + entry_width(&entries[1]);
    assert_eq!(flow(second), [(0.0, 0.0), (77.0, 0.0), (0.0, 20.0)]);
    let after = entry_width(&entries[1]) + 16.0;
    assert_eq!(flow(second - 0.1), [(0.0, 0.0), (0.0, 20.0), (after, 20.0)]);
    assert_eq!(flow(1.0), [(0.0, 0.0), (0.0, 20.0), (0.0, 40.0)]);
    let third = 77.0 + (entry_width(&entries[1]) + 16.0);
    assert_eq!(flow(400.0), [(0.0, 0.0), (77.0, 0.0), (third, 0.0)]);

    let plot = |width: f64| {
        let entries = vec![entry("reads"), entry("writes")];
        draw(entries, vec![figure("one", width, 50.0)], 1)
    };
    // The two names need a width of 144.6.
    let narrow = plot(144.0);
    let wide = plot(145.0);
    assert_eq!((narrow.height, wide.height), (188.0, 168.0));
    let names = placed(&wide.svg, "<text class=\"soft\"");
    assert_eq!(names[1..], at(&[("44,72", "reads"), ("121,72", "writes")]));
    let names = placed(&narrow.svg, "<text class=\"soft\"");
    assert_eq!(names[1..], at(&[("44,72", "reads"), ("44,92", "writes")]));
    assert!(wide.svg.contains("<svg x=\"93\" y=\"62\" width=\"22\" height=\"12\""));
    let text = LegendEntry { swatch: None, name: "alone".to_owned() };
    let plot = draw(vec![text], vec![figure("one", 145.0, 50.0)], 1);
    assert_eq!(placed(&plot.svg, "<text class=\"soft\"")[1..], at(&[("16,72", "alone")]));
}

#[test]
fn two_pictures_have_the_names_of_both_unless_the_second_is_empty() {
    let picture = |name: &str, figures: usize| PanelPicture {
        entries: vec![entry(name)],
        figures: (0..figures).map(|_| figure(name, 10.0, 10.0)).collect(),
    };
    let names = |picture: PanelPicture| -> Vec<String> {
        let entries = picture.entries.into_iter().map(|entry| entry.name);
        entries.chain(picture.figures.into_iter().map(|figure| figure.title)).collect()
    };
    assert_eq!(names(merged_pictures(picture("a", 1), picture("b", 1))), ["a", "b", "a", "b"]);
    assert_eq!(names(merged_pictures(picture("a", 1), picture("b", 0))), ["a", "a"]);
    assert_eq!(names(merged_pictures(picture("a", 0), picture("b", 1))), ["a", "b", "b"]);
}

#[test]
fn every_chart_has_its_name() {
    let charts = [
        ResultChart::Throughput,
        ResultChart::Percentiles,
        ResultChart::Cumulative,
        ResultChart::Load,
        ResultChart::Time,
        ResultChart::Budget,
    ];
    let names = [
        "Throughput",
        "Latency by percentile",
        "Cumulative latency",
        "Latency over load",
        "Over time",
        "Where the time goes",
    ];
    assert_eq!(charts.map(ResultChart::name), names);
}
