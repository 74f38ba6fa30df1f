//! Tests of the parts of pages and drawings: contents, sections, titles, and the colours of hops.

use lanemark_report::{PlotStyle, ResultChart, html, palette, plot, results_answer};
use lanemark_schema::result::RunResult;

use crate::fixture;

const STYLE: PlotStyle = PlotStyle { dark: false, columns: 2 };

fn headings(page: &str) -> Vec<&str> {
    page.split("<h2>").skip(1).filter_map(|rest| rest.split("</h2>").next()).collect()
}

#[test]
fn a_long_page_lists_its_sections_and_a_short_one_does_not() {
    let page = html(Some(&fixture::study()), &[]);
    let list = page.split("<nav").nth(1).unwrap().split("</nav>").next().unwrap();
    let links: Vec<&str> = list
        .split("</a>")
        .filter_map(|link| link.rsplit('>').next())
        .filter(|text| !text.trim().is_empty())
        .collect();
    assert_eq!(links, headings(&page));
    let empty = RunResult { tests: Vec::new(), warnings: Vec::new(), ..fixture::measured() };
    let page = html(None, &[&empty]);
    assert!(headings(&page).len() < 5 && !page.contains("<nav"), "{:?}", headings(&page));
}

#[test]
fn a_study_without_published_figures_lacks_their_section() {
    let mut study = fixture::study();
    let first = headings(&html(Some(&study), &[])).join(", ");
    assert!(first.starts_with("Published and simulated, Figures and errors"), "{first}");
    study.figures.clear();
    let page = html(Some(&study), &[]);
    let first = headings(&page).join(", ");
    assert!(first.starts_with("Simulated, Figures"), "{first}");
    for word in ["Published and", "Predicted:", "Calibrated:", "Errors in parentheses"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_drawing_has_its_title_its_chart_and_the_names_of_its_systems() {
    let run = fixture::simulated();
    let other = fixture::measured();
    let drawn = |chart| plot(None, &[&run, &other], chart, None, STYLE).unwrap();
    for (chart, name) in [
        (ResultChart::Throughput, "Throughput"),
        (ResultChart::Percentiles, "Latency by percentile"),
    ] {
        let svg = drawn(chart).svg;
        let title = format!("<title>{}: {name}</title>", run.workload.name);
        assert!(svg.contains(&title), "{title}");
        let heading = svg.split("class=\"heading\"").nth(1).unwrap();
        assert!(heading.split("</text>").next().unwrap().contains(name), "{name}");
        let systems = heading.split("</text>").nth(1).unwrap();
        assert!(systems.contains(" · "), "{systems}");
    }
    let study = fixture::study();
    let svg = plot(Some(&study), &[], ResultChart::Budget, None, STYLE).unwrap().svg;
    assert!(svg.contains(&format!("<title>{}: Where the time goes</title>", study.title)));
}

#[test]
fn a_hop_has_one_colour_in_pages_and_drawings() {
    let run = fixture::simulated();
    let path = run.tests.iter().find_map(|test| test.samples[0].path.as_ref()).unwrap();
    let page = html(None, &[&run]);
    let svg = plot(None, &[&run], ResultChart::Budget, None, STYLE).unwrap().svg;
    for hop in path.hops.iter().filter(|hop| hop.service_ns > 0.0) {
        let class = format!("h{}\"", palette::hop(hop.id));
        let named = format!("<title>{}, service", hop.name);
        for (drawn, kind) in [(&page, "page"), (&svg, "drawing")] {
            let before = drawn.split(&named).next().unwrap();
            assert!(before.len() < drawn.len(), "{kind}: {} is not drawn", hop.name);
            let own = before.rsplit("<path").next().unwrap();
            assert!(own.contains(&class), "{kind}: {} in {own}", hop.name);
        }
    }
}

#[test]
fn a_page_begins_with_one_sentence_of_its_runs() {
    let run = fixture::simulated();
    let page = html(None, &[&run]);
    let answer = results_answer(None, &[&run]).unwrap();
    assert!(page.split("<section").next().unwrap().contains(&answer));
    let measured = fixture::measured();
    for other in [&measured, &run] {
        let answer = results_answer(None, &[&run, other]).unwrap();
        let page = html(None, &[&run, other]);
        assert!(page.split("<section").next().unwrap().contains(&answer), "{answer}");
    }
}
