//! `lanemark report --out FILE.svg`: self-contained drawings of results, and refusals that do not change files.

use std::fs;

use lanemark_testbed::{lanemark, stderr};

/// Six queue depths of one short test.
const DEPTHS: &str = r#"
[workload]
name    = "depths"
repeats = 1
average = "mean"

[defaults]
block    = "4 KiB"
pattern  = "random"
read     = "100%"
span     = "1 GiB"
duration = "20 ms"
interval = "1 ms"
"#;

const CHARTS: [&str; 6] = ["throughput", "percentiles", "cumulative", "load", "time", "budget"];

/// Creates a folder with a result for six queue depths, `depths.json`.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tests: String = [1, 2, 4, 8, 16, 32]
        .iter()
        .map(|depth| format!("[[test]]\nname = \"QD{depth}\"\nqueue_depth = {depth}\n"))
        .collect();
    let text = format!("{}{tests}", DEPTHS.replace("interval = \"1 ms\"\n", ""));
    fs::write(folder.path().join("depths.toml"), text).unwrap();
    let sim = ["sim", "samsung-850-pro-1tb@workstation-z170:sata", "depths.toml"];
    let sim = lanemark!(folder.path(), &sim);
    sim.with("--no-interval --interval 1ms --out depths.json").stdout();
    folder
}

#[test]
fn each_chart_is_a_drawing_that_asks_for_nothing() {
    let folder = results();
    for chart in CHARTS {
        let out = format!("{chart}.svg");
        lanemark!(folder.path(), &["report", "depths.json", "--chart", chart, "--out", &out])
            .stdout();
        let svg = fs::read_to_string(folder.path().join(&out)).unwrap();
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{chart}");
        assert!(!svg.contains("var(") && !svg.contains("url(") && !svg.contains("href"), "{chart}");
        assert_eq!(svg.matches("http").count(), 1, "{chart}: only the name space");
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count(), "{chart}");
        assert!(svg.matches("class=\"title\"").count() >= 1, "{chart} lacks a panel");
    }
    lanemark!(folder.path(), &["report", "depths.json", "--dark", "--out", "dark.svg"]).stdout();
    assert!(fs::read_to_string(folder.path().join("dark.svg")).unwrap().contains("#16181a"));
    // A panel is selected by its title, and an existing drawing with the same name is overwritten.
    let one =
        ["report", "depths.json", "--chart", "budget", "--panel", "qd16", "--out", "budget.svg"];
    assert!(lanemark!(folder.path(), &one).output().status.success());
    let svg = fs::read_to_string(folder.path().join("budget.svg")).unwrap();
    assert_eq!(svg.matches("class=\"title\"").count(), 1);
}

#[test]
fn an_impossible_drawing_is_refused_and_nothing_is_overwritten() {
    let folder = results();
    let path = folder.path();
    fs::write(path.join("mine.svg"), "<svg>mine</svg>").unwrap();
    let fails = |arguments: &[&str], expected: &str| {
        let all = [&["report"], arguments].concat();
        let ran = lanemark!(path, &all).output();
        assert!(
            !ran.status.success() && stderr(&ran).contains(expected),
            "{all:?}: {}",
            stderr(&ran)
        );
    };
    fails(&["depths.json", "--out", "mine.svg"], "mine.svg exists and");
    fails(&["depths.json", "--out", "x.png"], "selects no form");
    fails(&["depths.json", "--panel", "none", "--out", "x.svg"], "that contains `none`");
    fails(&["absent.json", "--out", "x.svg"], "absent.json");
    fails(&["depths.toml", "--out", "x.svg"], "depths.toml");
    fails(&["depths.json", "--columns", "0", "--out", "x.svg"], "columns");
    assert_eq!(fs::read_to_string(path.join("mine.svg")).unwrap(), "<svg>mine</svg>");
    assert!(!path.join("x.svg").exists() && !path.join("x.png").exists());
}
