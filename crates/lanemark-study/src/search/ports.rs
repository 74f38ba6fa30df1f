//! Ports by description, such as "second slot", "m.2 at the chipset" or "3 Gb/s".

use crate::drive::Connector;
use crate::platform::Port;

/// Numbers as words. The position in the list is the number minus one.
const ORDINALS: [[&str; 3]; 8] = [
    ["first", "1st", "1"],
    ["second", "2nd", "2"],
    ["third", "3rd", "3"],
    ["fourth", "4th", "4"],
    ["fifth", "5th", "5"],
    ["sixth", "6th", "6"],
    ["seventh", "7th", "7"],
    ["eighth", "8th", "8"],
];
/// Words for kinds and locations of ports that do not occur in names of drives or platforms.
const WORDS: [&str; 15] = [
    "slot",
    "port",
    "m2",
    "u2",
    "pcie",
    "sata",
    "sas",
    "usb",
    "bay",
    "chipset",
    "pch",
    "cpu",
    "processor",
    "last",
    "uplink",
];

/// Kinds of ports whose names are a kind and a number, such as `m2-3`; the first port of a kind may lack the number.
const NUMBERED: [&str; 5] = ["m2", "u2", "sata", "sas", "bay"];

/// Returns whether a word can describe a port.
pub(super) fn is_word(word: &str) -> bool {
    WORDS.contains(&word) || is_number(word)
}

/// Returns whether a word is the number of a port, or the name of a port with its number.
pub(super) fn is_number(word: &str) -> bool {
    word == "last" || ordinal(word).is_some() || is_name(word)
}

/// Returns whether a word has the form of a numbered port, such as `m2-3`.
pub(super) fn is_name(word: &str) -> bool {
    let name = numbered(word);
    name.0 != word && NUMBERED.contains(&name.0)
}

/// Returns the kind and the number of a port's name: 1 for a name without a number.
fn numbered(name: &str) -> (&str, u32) {
    let parts = name.rsplit_once('-');
    let parts = parts.and_then(|(kind, number)| Some((kind, number.parse().ok()?)));
    parts.unwrap_or((name, 1))
}

/// Returns the number that a word states, counted from 1.
fn ordinal(word: &str) -> Option<usize> {
    ORDINALS.iter().position(|all| all.contains(&word)).map(|at| at + 1)
}

/// Returns how well a port suits a drive's connector, as a number above 0.
pub(super) fn suitability(drive: Connector, port: &Port) -> f64 {
    let own = drive.line_rate();
    let other = port.plug.line_rate();
    let rate = (other / own).min(1.0) * 0.3;
    // A slot as wide as the drive is preferred to a wider slot.
    let excess = match (drive, port.plug) {
        (Connector::Pcie(_, own), Connector::Pcie(_, other))
        | (Connector::Sas(_, own), Connector::Sas(_, other))
            if other > own =>
        {
            0.0
        }
        _ => 0.1,
    };
    let kind = if port.name.starts_with("m2") { 0.05 } else { 0.0 };
    0.1 + rate + excess + kind
}

/// Words that fit every port.
const GENERAL: [&str; 3] = ["slot", "port", "bay"];

/// Returns whether a word describes a port, which is one of the ports that accept the drive.
pub(super) fn matches(word: &str, port: &Port, fitting: &[&Port]) -> bool {
    let text = format!("{} {}", port.name, port.plug).to_lowercase();
    let (at, count) = place(port, fitting);
    match word {
        "chipset" | "pch" | "uplink" => !port.behind.is_empty(),
        "cpu" | "processor" => port.behind.is_empty(),
        "last" => at == count,
        _ if GENERAL.contains(&word) || ordinal(word) == Some(at) => true,
        _ if is_name(word) => numbered(word) == numbered(&port.name),
        _ => {
            text.split(|letter: char| !letter.is_alphanumeric()).any(|token| token == word)
                || word.len() > 2
                    && port.behind.iter().any(|link| link.spec.name.to_lowercase().contains(word))
        }
    }
}

/// Returns the ports that accept the drive with their scores, the best port first.
pub(super) fn ranked<'p>(
    words: &[String],
    drive: Connector,
    fitting: &[&'p Port],
) -> Vec<(&'p Port, f64)> {
    let score = |port: &&'p Port| {
        let text = format!("{} {}", port.name, port.plug).to_lowercase();
        let behind: Vec<String> =
            port.behind.iter().map(|link| link.spec.name.to_lowercase()).collect();
        let tokens: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
        let place = place(port, fitting);
        let named: f64 = words
            .iter()
            .map(|word| match word.as_str() {
                "chipset" | "pch" | "uplink" if !behind.is_empty() => 1.0,
                "cpu" | "processor" if behind.is_empty() => 1.0,
                "last" if place.0 == place.1 => 1.5,
                word if ordinal(word) == Some(place.0) => 1.5,
                word if is_name(word) && numbered(word) == numbered(&port.name) => 2.0,
                word if word.len() > 1 && tokens.contains(&word) => 1.0,
                word if word.len() > 2 && behind.iter().any(|link| link.contains(word)) => 0.6,
                _ => 0.0,
            })
            .sum();
        (*port, named + suitability(drive, port))
    };
    let mut all: Vec<(&Port, f64)> = fitting.iter().map(score).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all
}

/// Returns the position of a port among the ports whose names differ only in a final number, and the count of these
/// ports.
fn place(port: &Port, all: &[&Port]) -> (usize, usize) {
    let kind = numbered(&port.name).0;
    let group = all.iter().filter(|other| numbered(&other.name).0 == kind);
    let at = group.clone().position(|other| other.name == port.name).unwrap_or(0);
    (at + 1, group.count())
}
