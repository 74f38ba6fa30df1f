//! Compares every view of the fixture with a snapshot, byte by byte. `LANEMARK_BLESS=1` rewrites the expected files.

use std::path::Path;

use crate::{fixture, path_fixture};
use lanemark_report::{
    Style, compare_runs, compare_table, html, path_svg, path_table, run_table, study_table,
    test_details,
};

/// Compares `printed` with the file `name`, or rewrites the file if that is requested.
fn assert_snapshot(name: &str, printed: &str) {
    let printed = without_script(printed);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("LANEMARK_BLESS").is_some() {
        std::fs::write(&path, printed).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = expected.lines().zip(printed.lines()).position(|(one, other)| one != other);
    let line = differing.unwrap_or(expected.lines().count().min(printed.lines().count()));
    assert!(
        expected == printed,
        "{name} differs from line {}; look at it and bless it with LANEMARK_BLESS=1\n  was: {}\n  is:  {}",
        line + 1,
        expected.lines().nth(line).unwrap_or_default(),
        printed.lines().nth(line).unwrap_or_default(),
    );
}

/// Removes the script of a page, which is a file of its crate and the same in every page.
fn without_script(page: &str) -> String {
    let Some((before, rest)) = page.split_once("<script>") else { return page.to_owned() };
    let (_, after) = rest.split_once("</script>").expect("the script ends");
    format!("{before}<script></script>{after}")
}

const fn plain(width: usize) -> Style {
    Style { width, colour: false }
}

#[test]
fn a_simulated_run() {
    assert_snapshot("run-simulated-100.txt", &run_table(&fixture::simulated(), &plain(100)));
}

#[test]
fn a_measured_run_in_80_columns() {
    assert_snapshot("run-measured-80.txt", &run_table(&fixture::measured(), &plain(80)));
}

#[test]
fn a_test_in_detail() {
    let run = fixture::simulated();
    let test = run.test("4K QD32 read").unwrap();
    assert_snapshot("detail-simulated-100.txt", &fixture::detail(&run, test, &plain(100)));
    let run = fixture::measured();
    let test = run.test("Seq write").unwrap();
    assert_snapshot("detail-measured-80.txt", &fixture::detail(&run, test, &plain(80)));
}

#[test]
fn a_test_over_time() {
    let run = fixture::over_time();
    assert_snapshot("detail-over-time-80.txt", &fixture::detail(&run, &run.tests[0], &plain(80)));
    let mut run = run;
    run.tests[0].samples[0].steady = None;
    assert_snapshot("detail-series-80.txt", &fixture::detail(&run, &run.tests[0], &plain(80)));
    assert_snapshot("page-over-time.html", &html(None, &[&run]));
}

#[test]
fn a_study() {
    let study = fixture::study();
    let measured = fixture::measured();
    assert_snapshot("study-100.txt", &study_table(&study, Some(&measured), true, &plain(100)));
    assert_snapshot("study-80.txt", &study_table(&study, None, true, &plain(80)));
    let colour = Style { width: 100, colour: true };
    assert_snapshot("study-100-colour.txt", &study_table(&study, Some(&measured), true, &colour));
}

#[test]
fn two_runs_compared() {
    let study = fixture::study();
    let sata = &study.systems[0].run;
    assert_snapshot(
        "compare-simulated-100.txt",
        &compare_table(
            ("sata.json", sata),
            ("nvme.json", &study.systems[1].run),
            true,
            &plain(100),
        ),
    );
    assert_snapshot(
        "compare-measured-80.txt",
        &compare_table(("sata.json", sata), ("here.json", &fixture::measured()), true, &plain(80)),
    );
}

#[test]
fn a_page() {
    let study = fixture::study();
    let measured = fixture::measured();
    assert_snapshot("study.html", &html(Some(&study), &[&measured]));
    assert_snapshot("runs.html", &html(None, &[&measured, &fixture::simulated()]));
}

#[test]
fn a_path() {
    let view = path_fixture::marvell();
    assert_snapshot("path-100.txt", &path_table(&view, &plain(100)));
    assert_snapshot("path-60.txt", &path_table(&view, &plain(60)));
    let colour = Style { width: 80, colour: true };
    assert_snapshot("path-80-colour.txt", &path_table(&view, &colour));
    assert_snapshot("path.svg", &path_svg(&view));
}

#[test]
fn details_of_several_tests_are_separated_by_one_blank_line() {
    let run = fixture::simulated();
    assert!(run.tests.len() > 1);
    let details = test_details(&run, &plain(100));
    let lines: Vec<&str> = details.lines().collect();
    let headings: Vec<usize> = run
        .tests
        .iter()
        .map(|test| {
            let is_heading = |line: &&str| line.ends_with(&format!(": {}", test.test.name));
            lines.iter().position(is_heading).unwrap()
        })
        .collect();
    assert_eq!(headings[0], 0);
    for &heading in &headings[1..] {
        assert!(lines[heading - 1].is_empty() && !lines[heading - 2].is_empty(), "{details}");
    }
}

#[test]
fn a_comparison_names_the_tests_that_only_one_run_contains() {
    let mut own = fixture::simulated();
    let mut other = fixture::simulated();
    let names: Vec<String> = own.tests.iter().map(|test| test.test.name.clone()).collect();
    assert!(names.len() > 2);
    own.tests.remove(0);
    other.tests.remove(1);
    let compared = compare_runs(("a", &own), ("b", &other));
    assert_eq!(compared.only_in_a, [names[1].clone()]);
    assert_eq!(compared.only_in_b, [names[0].clone()]);
    let same = compare_runs(("a", &own), ("b", &own));
    assert!(same.only_in_a.is_empty() && same.only_in_b.is_empty());
}
