//! Search for systems by free text: "980 pro in the second slot of a B550" finds `samsung-980-pro-1tb@amd-b550:m2-2`.
//!
//! Each word is compared with the names of drives and platforms. A word that occurs in few names has a large weight.
//! Words may match both kinds of parts. The kind whose best entry matches the larger weight claims its words first, so
//! that "intel z270" is a platform and "intel 520" is a drive. All words then rank the ports that accept the drive. If
//! the text does not name a part, the part of the current system is used.
//!
//! Every word must match the found system; if a word does not, no system is found, and the result names the word. Part
//! numbers count as words of their drives. A volume of a cloud is found only in machines of the same cloud.

mod ports;
#[cfg(test)]
mod tests;
mod words;

use crate::catalogue::{self, DriveEntry};
use crate::document::{Context, Document};
use crate::drive::DriveKind;
use crate::error::StudyError;
use crate::library::{Library, LibraryKind};
use crate::model_names;
use crate::platform::{Platform, Port};
use crate::system::SystemName;
use crate::{Ledger, Overrides};
use words::{NameWords, nearest_spelling, words};

/// Maximum length of a text that is searched; the rest is ignored.
const TEXT_MAX: usize = 400;
/// Maximum number of drives that are combined.
const DRIVES: usize = 9;
/// Maximum number of platforms that are combined.
const PLATFORMS: usize = 4;
/// Share of the best score above which an entry counts as an alternative.
const ALTERNATIVE: f64 = 0.6;
/// Factor for words in the names of drives and platforms that usually describe ports, such as `sata`.
const PORT_WORD: f64 = 0.05;
/// Minimum score of an entry that counts as named by the text.
const NAMED: f64 = 0.4;
/// Weight of a drive whose part number the text contains.
const PART: f64 = 40.0;
/// Maximum number of words in a message.
const SHOWN_MAX: usize = 3;

/// The names of the library's drives and platforms, with which texts are compared.
#[derive(Clone, Debug, Default)]
pub struct LibraryIndex {
    drives: Vec<(DriveEntry, NameWords)>,
    platforms: Vec<(PlatformEntry, NameWords)>,
}

#[derive(Clone, Debug)]
struct PlatformEntry {
    id: String,
    name: String,
    ports: Vec<Port>,
}

/// A system that a text may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSystem {
    /// The system in the form `drive@platform:port`.
    pub system: String,
    /// Display name of the drive.
    pub drive: String,
    /// Display name of the platform.
    pub platform: String,
    /// Name of the port.
    pub port: String,
    /// Name of the port's connector.
    pub connector: String,
    /// Links between the port and the processor, nearest to the processor first.
    pub behind: Vec<String>,
}

/// The systems that a text may mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResult {
    /// The systems, the most likely first.
    pub found: Vec<FoundSystem>,
    /// Words that do not name a part in the library.
    pub unknown: Vec<String>,
    /// The reason why the named parts do not fit together, if they do not.
    pub misfit: Option<String>,
}

impl LibraryIndex {
    /// Reads the heads of the library's files. Files that cannot be read are omitted.
    pub fn new(library: &Library) -> Self {
        let mut index = Self::default();
        for id in library.names(LibraryKind::Drive) {
            if let Ok(entry) = catalogue::drive(library, &id) {
                let names = NameWords::new(&drive_text(&entry));
                index.drives.push((entry, names));
            }
        }
        for id in library.names(LibraryKind::Platform) {
            if let Ok(file) = library.open(LibraryKind::Platform, &id) {
                let _ = index.add_platform(&id, &file);
            }
        }
        index
    }

    /// Adds a platform, or replaces the platform with the same name.
    ///
    /// # Errors
    /// Returns an error if the file is not a platform.
    pub fn add_platform(&mut self, id: &str, file: &Document) -> Result<(), StudyError> {
        let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
        let Platform { name, ports, .. } = Platform::read(file, context)?;
        let names = NameWords::new(&format!("{id} {name}"));
        self.platforms.retain(|(known, _)| known.id != id);
        self.platforms.push((PlatformEntry { id: id.to_owned(), name, ports }, names));
        Ok(())
    }

    /// Returns up to `most` systems that `text` may mean. Parts that the text does not name are taken from `present`.
    pub fn find(
        &self,
        library: &Library,
        text: &str,
        present: Option<&str>,
        most: usize,
    ) -> SearchResult {
        let text: String = text.chars().take(TEXT_MAX).collect();
        let present = present.and_then(|name| SystemName::parse(name).ok());
        if let Some(exact) = self.exact(text.trim()) {
            return SearchResult { found: vec![exact], ..SearchResult::default() };
        }
        let (text, parts) = without_parts(library, &text);
        let words: Vec<String> =
            words(&text).into_iter().map(|word| self.corrected(word)).collect();
        if words.is_empty() && parts.is_empty() && !text.trim().is_empty() {
            return SearchResult::default();
        }
        let by_drive = weights(&words, &self.drives);
        let by_platform = weights(&words, &self.platforms);
        let mut drives = by_drive.scores(&[]);
        let mut platforms = by_platform.scores(&[]);
        for id in &parts {
            if let Some(at) = self.drives.iter().position(|(drive, _)| drive.id == *id) {
                drives[at] += PART;
            }
        }
        if best_score(&drives) >= best_score(&platforms) {
            platforms = by_platform.scores(&by_drive.best_words(&drives));
        } else {
            drives = by_drive.scores(&by_platform.best_words(&platforms));
        }
        let unknown = unknown_words(&words, &[&by_drive, &by_platform]);
        if !unknown.is_empty() {
            return SearchResult { unknown, ..SearchResult::default() };
        }
        let is_named = |scores: &[f64]| best_score(scores) >= NAMED;
        let is_port = words.iter().any(|word| ports::is_word(word));
        if !words.is_empty() && !is_named(&drives) && !is_named(&platforms) && !is_port {
            return SearchResult::default();
        }
        let drives = if is_named(&drives) {
            let present_name = present.as_ref().map(|one| one.drive.as_str());
            prefer_present(self.ranked_drives(&drives), |at| {
                Some(self.drives[at].0.id.as_str()) == present_name
            })
        } else {
            self.present_drive(present.as_ref())
        };
        let platforms = if is_named(&platforms) {
            let present_name = present.as_ref().map(|one| one.platform.as_str());
            prefer_present(self.ranked_platforms(&platforms), |at| {
                Some(self.platforms[at].0.id.as_str()) == present_name
            })
        } else {
            self.present_platform(present.as_ref(), &drives)
        };
        let found = self.combined(&words, &drives, &platforms, most);
        let misfit = || self.misfit(&words, &drives, &platforms);
        let misfit = found.is_empty().then(misfit).flatten();
        SearchResult { found, unknown, misfit }
    }

    /// Returns the system that `text` names exactly.
    fn exact(&self, text: &str) -> Option<FoundSystem> {
        let name = SystemName::parse(text).ok()?;
        let (drive, _) = self.drives.iter().find(|(drive, _)| drive.id == name.drive)?;
        let (platform, _) = self.platforms.iter().find(|(one, _)| one.id == name.platform)?;
        let port = platform.ports.iter().find(|port| port.name == name.port)?;
        (name.to_string() == text && self.accepts(drive, platform, port))
            .then(|| found_system(drive, platform, port))
    }

    /// Returns `word`, or the word from a name that it misspells.
    fn corrected(&self, word: String) -> String {
        let names = self.drives.iter().map(|(_, names)| names);
        let names = names.chain(self.platforms.iter().map(|(_, names)| names));
        let is_known = ports::is_word(&word) || names.clone().any(|name| name.quality(&word) > 0.0);
        if is_known {
            return word;
        }
        nearest_spelling(&word, names.flat_map(NameWords::tokens)).map_or(word, str::to_owned)
    }

    fn ranked_drives(&self, scores: &[f64]) -> Vec<(usize, f64)> {
        ranked(scores, DRIVES, |at| {
            let (drive, names) = &self.drives[at];
            (names.count(), drive.id.clone())
        })
    }

    fn ranked_platforms(&self, scores: &[f64]) -> Vec<(usize, f64)> {
        ranked(scores, PLATFORMS, |at| {
            let (platform, names) = &self.platforms[at];
            (names.count(), platform.id.clone())
        })
    }

    fn present_drive(&self, present: Option<&SystemName>) -> Vec<(usize, f64)> {
        let at = present.and_then(|one| self.drives.iter().position(|(d, _)| d.id == one.drive));
        at.into_iter().map(|at| (at, 1.0)).collect()
    }

    /// Returns the current platform if it accepts one of the drives; otherwise the platforms whose ports suit the first
    /// drive best.
    fn present_platform(
        &self,
        present: Option<&SystemName>,
        drives: &[(usize, f64)],
    ) -> Vec<(usize, f64)> {
        let suits = |platform: &PlatformEntry, drive: usize| {
            let drive = &self.drives[drive].0;
            let fitting_ports =
                platform.ports.iter().filter(|port| self.accepts(drive, platform, port));
            fitting_ports.map(|port| ports::suitability(drive.plug, port)).fold(0.0, f64::max)
        };
        let id = present.map(|one| one.platform.split(',').next().unwrap_or_default());
        let at = self.platforms.iter().position(|(one, _)| Some(one.id.as_str()) == id);
        let accepts = |at: &usize| {
            drives.iter().any(|(drive, _)| suits(&self.platforms[*at].0, *drive) > 0.0)
        };
        if let Some(at) = at.filter(accepts) {
            return vec![(at, 1.0)];
        }
        let Some((drive, _)) = drives.first() else { return Vec::new() };
        let scores: Vec<f64> = self.platforms.iter().map(|(one, _)| suits(one, *drive)).collect();
        self.ranked_platforms(&scores)
    }

    /// Returns the best combinations of drives, platforms and ports.
    fn combined(
        &self,
        words: &[String],
        drives: &[(usize, f64)],
        platforms: &[(usize, f64)],
        most: usize,
    ) -> Vec<FoundSystem> {
        let mut all: Vec<(f64, FoundSystem)> = Vec::new();
        for &(drive_at, drive_score) in drives {
            let (drive, drive_names) = &self.drives[drive_at];
            for &(platform_at, platform_score) in platforms {
                let (platform, platform_names) = &self.platforms[platform_at];
                let fitting: Vec<&Port> = platform
                    .ports
                    .iter()
                    .filter(|port| self.accepts(drive, platform, port))
                    .collect();
                let mut ranked = ports::ranked(words, drive.plug, &fitting);
                if !words.iter().any(|word| ports::is_number(word)) {
                    keep_first_of_equal(&mut ranked);
                }
                for (port, score) in ranked {
                    let is_matched = |word: &String| {
                        drive_names.quality(word) > 0.0
                            || platform_names.quality(word) > 0.0
                            || ports::matches(word, port, &fitting)
                    };
                    if words.iter().all(is_matched) {
                        let score = 2.0 * drive_score + 2.0 * platform_score + score;
                        all.push((score, found_system(drive, platform, port)));
                    }
                }
            }
        }
        // Combinations with equal scores keep the order of drives, platforms and ports.
        all.sort_by(|one, other| other.0.total_cmp(&one.0));
        all.into_iter().map(|(_, found)| found).take(most).collect()
    }

    fn accepts(&self, drive: &DriveEntry, platform: &PlatformEntry, port: &Port) -> bool {
        self.is_of_one_cloud(drive, &platform.id) && drive.plug.fits(port.plug)
    }

    /// Returns whether a drive and a platform are of the same cloud, if one of them is of a cloud. A cloud's volumes
    /// and machines belong together, because their names begin with the same provider.
    pub fn is_of_one_cloud(&self, drive: &DriveEntry, platform: &str) -> bool {
        let provider = |id: &str| id.split('-').next().unwrap_or_default().to_owned();
        let is_volume = |drive: &DriveEntry| drive.kind == DriveKind::CloudVolume;
        let own = provider(platform);
        if is_volume(drive) {
            return provider(&drive.id) == own;
        }
        !self.drives.iter().any(|(one, _)| is_volume(one) && provider(&one.id) == own)
    }

    /// Returns the reason why no system was found although the text names parts.
    fn misfit(
        &self,
        words: &[String],
        drives: &[(usize, f64)],
        platforms: &[(usize, f64)],
    ) -> Option<String> {
        let (drive, drive_names) = &self.drives[drives.first()?.0];
        let (platform, platform_names) = &self.platforms[platforms.first()?.0];
        let fitting: Vec<&Port> =
            platform.ports.iter().filter(|port| self.accepts(drive, platform, port)).collect();
        if fitting.is_empty() {
            return Some(format!(
                "no port of {} accepts {}, which has {}",
                platform.name, drive.name, drive.plug
            ));
        }
        let is_matched = |word: &&String| {
            drive_names.quality(word) > 0.0
                || platform_names.quality(word) > 0.0
                || fitting.iter().any(|port| ports::matches(word, port, &fitting))
        };
        let unmatched: Vec<&str> = words
            .iter()
            .filter(|word| !is_matched(word))
            .map(String::as_str)
            .take(SHOWN_MAX)
            .collect();
        let what = match unmatched.as_slice() {
            [] => "no port matches all words".to_owned(),
            unmatched => format!("`{}` does not match", unmatched.join("`, `")),
        };
        Some(format!("{what}; nearest: {} in {}", drive.name, platform.name))
    }
}

/// Removes each port that differs from an earlier one only in its name.
fn keep_first_of_equal(ranked: &mut Vec<(&Port, f64)>) {
    let mut known: Vec<&Port> = Vec::new();
    ranked.retain(|(port, _)| {
        let is_equal = |other: &&Port| other.plug == port.plug && other.behind == port.behind;
        let is_new = !known.iter().any(is_equal);
        known.push(port);
        is_new
    });
}

/// Returns the words that match no name and describe no port.
fn unknown_words(words: &[String], names: &[&MatchWeights]) -> Vec<String> {
    let is_known =
        |at: usize, word: &str| names.iter().any(|all| all.matches_any(at)) || ports::is_word(word);
    let unknown = words.iter().enumerate().filter(|(at, word)| !is_known(*at, word));
    unknown.map(|(_, word)| word.clone()).collect()
}

/// Returns the text without its part numbers, and the drives that these name.
fn without_parts(library: &Library, text: &str) -> (String, Vec<String>) {
    let mut rest = Vec::new();
    let mut drives = Vec::new();
    for word in text.split_whitespace() {
        match model_names::drive_of_part(library, word.trim_matches([',', ';', '.', '(', ')'])) {
            Some(drive) => drives.push(drive),
            None => rest.push(word),
        }
    }
    (rest.join(" "), drives)
}

/// A search for entries of the library of any kind: every word of the text must match an entry.
#[derive(Clone, Debug)]
pub struct EntrySearch {
    words: Vec<String>,
    parts: Vec<String>,
    /// Whether any entry matched each word.
    met: Vec<bool>,
}

impl EntrySearch {
    /// Creates a search for the words and part numbers in `text`.
    pub fn new(library: &Library, text: &str) -> Self {
        let text: String = text.chars().take(TEXT_MAX).collect();
        let (rest, parts) = without_parts(library, &text);
        let words = words::all(&rest);
        Self { met: vec![false; words.len()], words, parts }
    }

    /// Returns whether an entry matches. `drive` is present if the entry is a drive.
    pub fn matches(&mut self, id: &str, name: &str, drive: Option<&DriveEntry>) -> bool {
        let text = drive.map_or_else(|| format!("{id} {name}"), drive_text);
        let names = NameWords::new(&text);
        let mut all = self.parts.is_empty() || self.parts.iter().any(|part| part == id);
        for (word, met) in self.words.iter().zip(&mut self.met) {
            let is_matched = names.quality(word) > 0.0;
            *met |= is_matched;
            all &= is_matched;
        }
        all
    }

    /// Returns the words that did not match any entry so far.
    pub fn unmatched(&self) -> Vec<&str> {
        let words = self.words.iter().zip(&self.met);
        words.filter(|(_, met)| !**met).map(|(word, _)| word.as_str()).collect()
    }
}

fn drive_text(entry: &DriveEntry) -> String {
    let kind = match entry.kind {
        DriveKind::SolidState => "ssd",
        DriveKind::Disk => "hard disk hdd",
        DriveKind::CloudVolume => "cloud volume",
    };
    let year = entry.year.map_or(String::new(), |year| year.to_string());
    let DriveEntry { id, name, plug, .. } = entry;
    let plug = plug.to_string();
    let bus = plug.split(' ').next().unwrap_or_default();
    let bus = if bus == "PCIe" { "nvme pcie" } else { bus };
    format!("{id} {name} {year} {kind} {bus}")
}

fn found_system(drive: &DriveEntry, platform: &PlatformEntry, port: &Port) -> FoundSystem {
    FoundSystem {
        system: format!("{}@{}:{}", drive.id, platform.id, port.name),
        drive: drive.name.clone(),
        platform: platform.name.clone(),
        port: port.name.clone(),
        connector: port.plug.to_string(),
        behind: port.behind.iter().map(|link| link.spec.name.clone()).collect(),
    }
}

/// The quality of each word's match with each entry, and the weight of each word.
struct MatchWeights {
    /// For each entry, the weighted match of each word.
    matches: Vec<Vec<f64>>,
}

fn weights<T>(words: &[String], entries: &[(T, NameWords)]) -> MatchWeights {
    let quality = |(_, names): &(T, NameWords)| -> Vec<f64> {
        words.iter().map(|word| names.quality(word)).collect()
    };
    let mut matches: Vec<Vec<f64>> = entries.iter().map(quality).collect();
    for word in 0..words.len() {
        let count = matches.iter().filter(|all| all[word] > 0.0).count();
        let weight = (1.0 + entries.len() as f64 / count.max(1) as f64).ln();
        let weight = if ports::is_word(&words[word]) { weight * PORT_WORD } else { weight };
        matches.iter_mut().for_each(|all| all[word] *= weight);
    }
    MatchWeights { matches }
}

impl MatchWeights {
    /// Returns the score of each entry over all words except those at the positions `without`.
    fn scores(&self, without: &[usize]) -> Vec<f64> {
        let score = |all: &Vec<f64>| {
            let counted_words = all.iter().enumerate().filter(|(word, _)| !without.contains(word));
            counted_words.map(|(_, quality)| quality).sum()
        };
        self.matches.iter().map(score).collect()
    }

    /// Returns the words that the entry with the best score matches.
    fn best_words(&self, scores: &[f64]) -> Vec<usize> {
        let most = best_score(scores);
        let at = scores.iter().position(|score| most > 0.0 && *score >= most);
        let Some(all) = at.and_then(|at| self.matches.get(at)) else { return Vec::new() };
        (0..all.len()).filter(|word| all[*word] > 0.0).collect()
    }

    fn matches_any(&self, word: usize) -> bool {
        self.matches.iter().any(|all| all[word] > 0.0)
    }
}

fn best_score(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(0.0, f64::max)
}

/// Returns the entries; the current one is first if it has the best score.
fn prefer_present(
    mut ranked: Vec<(usize, f64)>,
    is_present: impl Fn(usize) -> bool,
) -> Vec<(usize, f64)> {
    let own = ranked.iter().position(|(at, share)| *share >= 1.0 - 1e-9 && is_present(*at));
    if let Some(own) = own {
        ranked[..=own].rotate_right(1);
    }
    ranked
}

/// Returns the entries with the best scores, each with its score as a share of the best score. Among equal scores,
/// entries with fewer words are first.
fn ranked(
    scores: &[f64],
    most: usize,
    order: impl Fn(usize) -> (usize, String),
) -> Vec<(usize, f64)> {
    let best = best_score(scores);
    let mut kept: Vec<(usize, f64)> = scores
        .iter()
        .enumerate()
        .filter(|(_, score)| **score > 0.0 && **score >= best * ALTERNATIVE)
        .map(|(at, score)| (at, score / best))
        .collect();
    kept.sort_by(|one, other| {
        other.1.total_cmp(&one.1).then_with(|| order(one.0).cmp(&order(other.0)))
    });
    kept.truncate(most);
    kept
}
