//! Tests properties of every path in a terminal, including unusual paths.

use lanemark_report::{Style, path_table};
use unicode_width::UnicodeWidthStr;

use crate::path_fixture::{all, bare, comb, marvell, named, server, unknown};

const PLAIN: Style = Style { width: 100, colour: false };

/// Returns the text without the line breaks that wrapping added.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn lines_keep_to_the_width_and_lack_trailing_spaces() {
    for view in all() {
        for width in (60..=120).chain([0, 20]) {
            for line in path_table(&view, &Style { width, colour: false }).lines() {
                let columns = width.max(60);
                assert!(line.width() <= columns, "{} columns of {width}: {line}", line.width());
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn colour_moves_nothing_and_the_path_is_bright() {
    for view in all() {
        let mut stripped = path_table(&view, &Style { colour: true, ..PLAIN });
        for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m"] {
            stripped = stripped.replace(code, "");
        }
        assert_eq!(stripped, path_table(&view, &PLAIN));
        assert!(!stripped.contains('\x1b'));
    }
    let printed = path_table(&marvell(), &Style { colour: true, ..PLAIN });
    assert!(printed.contains("\x1b[1m● Samsung SSD 850 PRO 1TB\x1b[0m"), "{printed}");
    assert!(printed.contains("\x1b[2m○ slot x16\x1b[0m"), "{printed}");
    assert!(
        printed.contains("   ┃  \x1b[2m└─\x1b[0m"),
        "the path is brighter than others: {printed}"
    );
}

#[test]
fn every_node_has_a_line_and_the_path_is_marked() {
    let printed = path_table(&server(), &PLAIN);
    let marked: Vec<&str> =
        printed.lines().filter_map(|line| Some(line.split_once("● ")?.1)).collect();
    assert_eq!(marked, ["2 x EPYC 7B13", "switch B", "U.2 bay 13", "Micron 9300 PRO 3.84TB"]);
    assert_eq!(printed.matches("○ ").count(), 1 + 19 * 2, "{printed}");
    assert_eq!(path_table(&comb(6, 4), &PLAIN).matches("● ").count(), 6);
}

#[test]
fn each_link_is_on_its_branch_with_its_rate() {
    let printed = path_table(&marvell(), &PLAIN);
    for branch in [
        "┠─ PCIe 2.0 x16, 8,000 MB/s ───────── ○ slot x16",
        "┗━ DMI 1.0: PCIe 1.1 x4, 1,000 MB/s ━ ● ICH10R",
        "┡━ PCIe 1.1 x4, 1,000 MB/s ━ ● slot x4",
        "│        ┗━ SATA 6 Gb/s, 600 MB/s ━ ● Samsung SSD 850 PRO 1TB",
        "└─ PCIe 1.1 x1, 250 MB/s ─── ○ slot x1",
    ] {
        assert!(printed.contains(branch), "`{branch}` is missing in\n{printed}");
    }
}

#[test]
fn the_bottleneck_hop_is_marked_in_its_row_and_in_a_sentence() {
    let printed = path_table(&marvell(), &PLAIN);
    let marked: Vec<&str> = printed.lines().filter(|line| line.contains('◀')).collect();
    assert_eq!(marked.len(), 3, "its link in the tree, its row and the sentence: {printed}");
    assert!(marked[1].starts_with("PCIe 2.0 x1 ") && marked[1].contains("412  ◀"), "{printed}");
    assert!(
        unwrapped(&printed).contains(
            "◀ The bottleneck is PCIe 2.0 x1: at most 412 MB/s of this workload. The whole path \
             carries 399 MB/s in the simulator (97% of it)."
        ),
        "{printed}"
    );
}

#[test]
fn formulas_are_printed_whole_at_every_width() {
    for width in [60, 80, 100] {
        let printed = path_table(&marvell(), &Style { width, colour: false });
        let words = unwrapped(&printed);
        for word in ["turn-around", "complete,", "payloads", "128", "KiB"] {
            assert!(words.contains(word), "`{word}` is missing in\n{printed}");
        }
        assert!(
            !printed
                .lines()
                .skip_while(|line| !line.starts_with("hop "))
                .any(|line| line.contains('…'))
        );
    }
}

#[test]
fn unknown_values_are_not_shown_as_zero() {
    let printed = path_table(&unknown(), &PLAIN);
    assert!(!printed.contains('◀') && !printed.contains("latency"), "{printed}");
    assert!(printed.contains("┗━ DMI 1.0: PCIe 1.1 x4 ━ ● ICH10R"), "{printed}");
    assert!(printed.contains("No hop of the path has a ceiling for this test."), "{printed}");
    let bare = path_table(&bare(), &PLAIN);
    let expected = "No hop of 850-pro@desktop-x58:marvell has a ceiling for Seq read.\n\n\
        850-pro@desktop-x58:marvell under Seq read\n\n● processor\n\nThe path does not have hops.\n";
    assert_eq!(bare, expected);
    let dies = path_table(&marvell(), &PLAIN);
    let dies = dies.lines().find(|line| line.starts_with("dies")).unwrap();
    assert_eq!(dies.split_whitespace().collect::<Vec<_>>(), ["dies", "–", "–", "52.0"]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let printed = path_table(&named("\x1b[31m\u{7}\r\n\t"), &PLAIN);
    assert!(printed.chars().all(|character| character == '\n' || !character.is_control()));
}
