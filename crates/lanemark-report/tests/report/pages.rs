//! Tests of the parts of pages and drawings: contents, sections, titles, and the colours of hops.

use lanemark_report::{PlotStyle, ResultChart, html, plot};
use lanemark_schema::result::RunResult;

use crate::fixture;

const STYLE: PlotStyle = PlotStyle { dark: false, columns: 2 };

fn headings(page: &str) -> Vec<&str> {
    page.split("<h2>").skip(1).filter_map(|rest| rest.split("</h2>").next()).collect()
}

#[test]
fn a_study_without_published_figures_lacks_their_section_and_columns() {
    let mut study = fixture::study();
    study.figures.clear();
    let page = html(Some(&study), &[]);
    let first = headings(&page).join(", ");
    assert!(first.starts_with("Simulated, Figures"), "{first}");
    let role = r#"<th scope="col">role<"#;
    for word in ["Published and", "Predicted:", "Calibrated:", "Errors in parentheses", role] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn only_a_long_page_lists_its_sections() {
    let empty = RunResult { tests: Vec::new(), warnings: Vec::new(), ..fixture::measured() };
    assert!(!html(None, &[&empty]).contains("<nav"));
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
