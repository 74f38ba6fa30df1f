//! Tests properties of every path in a terminal, including unusual paths.

use lanemark_report::{Style, path_table};
use unicode_width::UnicodeWidthStr;

use crate::path_fixture::{all, bare, named, unknown};

const PLAIN: Style = Style { width: 100, colour: false };

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
fn colour_moves_nothing() {
    for view in all() {
        let mut stripped = path_table(&view, &Style { colour: true, ..PLAIN });
        for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m"] {
            stripped = stripped.replace(code, "");
        }
        assert_eq!(stripped, path_table(&view, &PLAIN));
        assert!(!stripped.contains('\x1b'));
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
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let printed = path_table(&named("\x1b[31m\u{7}\r\n\t"), &PLAIN);
    assert!(printed.chars().all(|character| character == '\n' || !character.is_control()));
}
