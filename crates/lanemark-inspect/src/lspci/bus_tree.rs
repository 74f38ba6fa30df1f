//! Reads the trees of `lspci -t` and `-tv`.
//!
//! The column of a branch identifies its bus, so a tree must have its original line breaks and indentation. If the
//! column of a branch does not match a line above it, or if a branch is in the middle of a name, line breaks or
//! indentation were lost. Such a tree is rejected, because its functions would appear under the wrong bridges.

use std::collections::BTreeMap;

use super::function::{
    FUNCTIONS_MAX, FunctionAddress, LINES_MAX, LspciFunction, hexadecimal, slot,
};

/// Maximum number of characters that are read from a line.
const LINE_MAX: usize = 4096;

/// The error for a tree that has lost its line breaks or its indentation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnreadableTree;

/// Returns whether `text` contains the beginning of a tree.
pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("-[") || line.starts_with("-+-[")
    })
}

/// Returns the class of a function in a tree, which it derives from words that vendors use in the names of controllers.
fn class_of_name(name: &str) -> Option<u32> {
    const WORDS: [(&str, u32); 12] = [
        ("NVMe", 0x01_0802),
        ("Non-Volatile", 0x01_0802),
        ("MegaRAID", 0x01_0400),
        ("RAID", 0x01_0400),
        ("AHCI", 0x01_0601),
        ("SATA", 0x01_0601),
        ("SAS", 0x01_0700),
        ("Fusion-MPT", 0x01_0700),
        ("xHCI", 0x0c_0330),
        ("USB", 0x0c_0330),
        ("SSD", 0x01_0802),
        ("Optane", 0x01_0802),
    ];
    WORDS.iter().find(|(word, _)| name.contains(word)).map(|(_, class)| *class)
}

/// Reads the functions of the tree in `text`. Lines before the tree are skipped.
pub(super) fn read(text: &str) -> Result<BTreeMap<FunctionAddress, LspciFunction>, UnreadableTree> {
    let mut functions = BTreeMap::new();
    // Columns of branches, each with its domain and bus.
    let mut branches: Vec<(usize, u32, u8)> = Vec::new();
    for line in text.lines().take(LINES_MAX) {
        let bytes: Vec<char> = line.chars().take(LINE_MAX).collect();
        let mut rest = 0;
        while rest < bytes.len() && matches!(bytes[rest], ' ' | '|' | '-' | '+' | '\\') {
            rest += 1;
        }
        let begin = bytes[..rest].iter().rposition(|c| matches!(c, '+' | '\\'));
        let branch =
            begin.and_then(|at| branches.iter().find(|candidate| candidate.0 == at)).copied();
        let (_, mut domain, mut bus) = branch.unwrap_or_default();
        let mut has_bus = branch.is_some();
        if let Some(at) = begin {
            branches.retain(|candidate| candidate.0 <= at);
        }
        loop {
            let tail: String = bytes[rest.min(bytes.len())..].iter().collect();
            if let Some((inside, _)) = tail.strip_prefix('[').and_then(|tail| tail.split_once(']'))
            {
                let range = inside.split('-').next().unwrap_or(inside);
                let (of, own) = match range.split_once(':') {
                    Some((of, own)) => (hexadecimal(of, 8).unwrap_or(domain), own),
                    None => (domain, range),
                };
                let Some(own) = bus_number(own) else { break };
                (domain, bus, has_bus) = (of, own, true);
                rest += inside.chars().count() + 2;
            } else if let Some(found) = tail.get(..4).and_then(slot) {
                if functions.len() >= FUNCTIONS_MAX {
                    return Ok(functions);
                }
                if !has_bus {
                    return Err(UnreadableTree);
                }
                rest += 4;
                let tail: String = bytes[rest..].iter().collect();
                let bridge = tail.strip_prefix("-[");
                let below = bridge.and_then(|tail| bus_number(tail.get(..2)?));
                let name = if bridge.is_none() { tail.trim().to_owned() } else { String::new() };
                if has_branch(&name) {
                    return Err(UnreadableTree);
                }
                let class = match below {
                    Some(_) => Some(0x06_0400),
                    None => class_of_name(&name),
                };
                functions.insert(
                    (domain, bus, found),
                    LspciFunction { class, name, below, ..LspciFunction::default() },
                );
                if below.is_none() {
                    break;
                }
                rest += 1;
                continue;
            } else {
                break;
            }
            while rest < bytes.len() && bytes[rest] == '-' {
                rest += 1;
            }
            if rest < bytes.len() && matches!(bytes[rest], '+' | '\\') {
                branches.retain(|candidate| candidate.0 < rest);
                branches.push((rest, domain, bus));
                rest += 1;
                while rest < bytes.len() && bytes[rest] == '-' {
                    rest += 1;
                }
            }
        }
    }
    Ok(functions)
}

fn bus_number(text: &str) -> Option<u8> {
    u8::try_from(hexadecimal(text, 2)?).ok()
}

/// Returns whether a name contains a branch with a function, such as `+-06.0`, which should begin a separate line.
fn has_branch(name: &str) -> bool {
    let mut marks = name.match_indices("+-").chain(name.match_indices("\\-"));
    marks.any(|(at, mark)| name.get(at + mark.len()..).is_some_and(begins_with_slot))
}

fn begins_with_slot(text: &str) -> bool {
    text.trim_start_matches('-').get(..4).and_then(slot).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_states_the_class_of_a_controller() {
        for (name, class) in [
            ("Samsung NVMe SSD Controller", Some(0x01_0802)),
            ("Intel Non-Volatile memory", Some(0x01_0802)),
            ("Broadcom MegaRAID SAS", Some(0x01_0400)),
            ("HP Smart RAID", Some(0x01_0400)),
            ("Intel AHCI mode", Some(0x01_0601)),
            ("ASMedia SATA Controller", Some(0x01_0601)),
            ("Broadcom SAS3008", Some(0x01_0700)),
            ("LSI Fusion-MPT", Some(0x01_0700)),
            ("Intel xHCI Host", Some(0x0c_0330)),
            ("VIA USB 3.0", Some(0x0c_0330)),
            ("Intel Corporation SSD 660P Series", Some(0x01_0802)),
            ("Intel Ethernet", None),
        ] {
            assert_eq!(class_of_name(name), class, "{name}");
        }
    }

    #[test]
    fn a_branch_within_a_name_is_recognised() {
        assert_eq!(
            [bus_number("3b"), bus_number("3bc"), bus_number("x")],
            [Some(0x3b), None, None]
        );
        for (name, is_broken) in [
            ("a +-06.0 b", true),
            ("a \\-06.0", true),
            ("a +--06.0", true),
            ("a +-6.0", false),
            ("a -06.0", false),
            ("a +-", false),
        ] {
            assert_eq!(has_branch(name), is_broken, "{name}");
        }
        for (text, is_tree) in
            [(" -[0000:00]-+-00.0", true), ("-+-[0000:00]", true), ("[0000:00]", false)]
        {
            assert_eq!(is_in(text), is_tree, "{text}");
        }
    }
}
