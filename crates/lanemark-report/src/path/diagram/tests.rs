//! Tests of the layout of a platform's drawing.

use lanemark_schema::units::BytesPerSecond;

use super::*;

fn node(label: &str, link: Option<&str>, megabytes: u64, on_path: bool) -> TopologyNode {
    TopologyNode {
        label: label.to_owned(),
        link: link.map(str::to_owned),
        link_rate: Some(BytesPerSecond(megabytes * 1_000_000)).filter(|rate| rate.0 > 0),
        on_path,
        ..TopologyNode::default()
    }
}

fn tree(children: Vec<TopologyNode>) -> TopologyNode {
    TopologyNode { children, ..node("CPU", None, 0, true) }
}

fn draw_topology(topology: &TopologyNode, narrow: &str) -> String {
    TreeDrawing {
        heading: "Heading",
        subtitle: "Subtitle",
        title: "Title",
        topology,
        narrow: &|node| node.label == narrow,
        dashed: "Dashed.",
        sentences: vec![("bottleneck", "It is so.".to_owned())],
    }
    .svg()
}

fn assert_contains(svg: &str, parts: &[&str]) {
    for part in parts {
        assert!(svg.contains(part), "{part} in {svg}");
    }
}

#[test]
fn a_narrow_link_is_marked_also_off_the_path() {
    let topology =
        tree(vec![node("Drive", Some("SATA"), 600, true), node("Other", None, 0, false)]);
    let svg = draw_topology(&topology, "Other");
    assert_contains(&svg, &["<g class=\"off narrow\"><title>Other"]);
    assert!(!svg.contains("\"on narrow\""));
    // The root does not have a link that could be narrow.
    assert!(!draw_topology(&topology, "CPU").contains(" narrow\""));
}

#[test]
fn text_without_a_legend_begins_below_the_tree_and_stays_in_the_drawing() {
    let topology = tree(vec![node("Drive", Some("SATA"), 0, true)]);
    let words = "word ".repeat(60);
    let svg = TreeDrawing {
        heading: "H",
        subtitle: "S",
        title: "T",
        topology: &topology,
        narrow: &|_| false,
        dashed: "Dashed.",
        sentences: vec![("note", words)],
    }
    .svg();
    // There are a row of 34 and 30 below it, the note about dashes, and 300 characters in lines of up to 80 characters.
    let lines: Vec<&str> = svg
        .split("<text class=\"note\" x=\"16\" y=\"")
        .skip(1)
        .filter_map(|rest| rest.split("</text>").next())
        .collect();
    let tops: Vec<&str> = lines.iter().filter_map(|line| line.split('"').next()).collect();
    assert_eq!(tops, ["128", "145", "162", "179", "196"]);
    let longest = lines.iter().filter_map(|line| line.split('>').nth(1)).map(str::len).max();
    assert_eq!(longest, Some(79));
    assert_contains(&svg, &["height=\"221\""]);
    assert!(!svg.contains("Line width"));
}

#[test]
fn rates_beyond_the_widest_and_below_the_thinnest_line_are_noted() {
    let path = || node("Drive", Some("SATA"), 600, true);
    let with = |others: Vec<TopologyNode>| {
        let all = tree(std::iter::once(path()).chain(others).collect());
        draw_topology(&all, "none")
    };
    // The path has a width of 3 for 600 MB/s, so a width of 22 is 4,400 MB/s, and a width of 1.5 is 300 MB/s.
    let fast = || node("Fast", Some("PCIe"), 8_000, false);
    let wide = "Lines have the maximum width above 4,400 MB/s.";
    let thin = "Lines have the minimum width below 300 MB/s.";
    let svg = with(vec![fast()]);
    assert!(svg.contains(wide) && !svg.contains(thin) && !svg.contains("Dashed"), "{svg}");
    let svg = with(vec![fast(), node("Slow", Some("USB"), 299, false)]);
    let (first, second) = thin.split_once(" below").unwrap();
    assert_contains(&svg, &[&format!("{wide} {first}</text>"), &format!(">below{second}</text>")]);
    let svg = with(vec![fast(), node("Slow", Some("USB"), 300, false)]);
    assert!(!svg.contains("minimum width"));
    let svg = with(vec![node("Fast", Some("PCIe"), 4_400, false)]);
    assert!(!svg.contains("Lines have"), "{svg}");
}

#[test]
fn a_tall_link_makes_its_row_taller_and_children_their_parent() {
    let switch = TopologyNode {
        children: vec![node("A", Some("x"), 500, false), node("B", Some("y"), 500, false)],
        ..node("Switch", Some("PCIe"), 8_000, false)
    };
    let svg = draw_topology(&tree(vec![node("Drive", Some("SATA"), 600, true), switch]), "none");
    // The row of the drive is 35 high. The switch is as high as its two rows, and its link is at its middle.
    assert_contains(
        &svg,
        &[
            "y=\"64.5\" width=\"64\" height=\"34\"",
            "stroke-width=\"22\"",
            "<title>Switch: PCIe, 8,000 MB/s</title>",
        ],
    );
    let boxes: Vec<(f64, f64)> = svg
        .split("<rect class=\"node\"")
        .skip(1)
        .map(|rest| {
            let of = |name: &str| {
                let text = rest.split_once(&format!(" {name}=\"")).unwrap().1;
                text.split('"').next().unwrap().parse::<f64>().unwrap()
            };
            (of("y"), of("height"))
        })
        .collect();
    // The processor and the drive begin at 64.5. A row of the switch is 34.5 high, and the gap between two rows is 10.
    let wanted = [(64.5, 123.2), (64.5, 34.0), (109.2, 78.5), (109.2, 34.0), (153.8, 34.0)];
    assert_eq!(boxes, wanted);
}

#[test]
fn the_title_names_the_path() {
    let mut on = node("Drive", Some("SATA"), 600, true);
    on.children.push(node("Die", None, 0, true));
    let mut path = Vec::new();
    collect(&tree(vec![on, node("Other", None, 0, false)]), &mut path);
    assert_eq!(path, ["CPU", "Drive", "Die"]);
    let range = TopologyNode {
        link_rate_least: Some(BytesPerSecond(400_000_000)),
        ..node("Drive", Some(" "), 600, true)
    };
    assert_eq!(node_description(&range), "Drive: 400 to 600 MB/s");
    assert_eq!(node_description(&node("Drive", Some("SATA"), 0, true)), "Drive: SATA");
    assert_eq!(node_description(&node("Drive", None, 0, true)), "Drive");
}
