//! The copy of the tree with its switches, in `target/mutants/tree`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::site::Site;

/// Source of the switches, which every crate includes as its module `switch`.
const SWITCH: &str = include_str!("switch.rs.txt");
/// Maximum number of rounds in which changes that do not compile are removed.
const ROUNDS: usize = 40;
/// Number of additional changes, which replace changes that do not compile in builds with tests.
const SPARE: usize = 10;

pub struct Tree {
    pub root: PathBuf,
    pub copy: PathBuf,
    /// The changes; the position of a change, counted from one, is the number of its switch.
    pub sites: Vec<Site>,
    /// Contents of the files without switches.
    originals: BTreeMap<PathBuf, String>,
}

impl Tree {
    /// Copies the tracked files of the tree below `root`, and removes nested sites from `sites`.
    pub fn new(root: &Path, sites: Vec<Site>) -> Result<Self, String> {
        let copy = root.join("target/mutants/tree");
        let _ = fs::remove_dir_all(&copy);
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        for name in listed.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name).into_owned();
            let from = root.join(&name);
            let to = copy.join(&name);
            let folder = to.parent().unwrap_or(&copy);
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            if from.is_file() {
                fs::copy(&from, &to).map_err(|error| format!("{name}: {error}"))?;
            }
        }
        let mut tree =
            Self { root: root.to_owned(), copy, sites: Vec::new(), originals: BTreeMap::new() };
        for site in sites {
            let apart = |other: &Site| {
                other.file != site.file
                    || other.range.end <= site.range.start
                    || site.range.end <= other.range.start && site.range != other.range
            };
            if tree.sites.iter().all(apart) {
                let path = root.join(&site.file);
                let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
                tree.originals.entry(site.file.clone()).or_insert(text);
                tree.sites.push(site);
            }
        }
        tree.add_switches()?;
        Ok(tree)
    }

    /// Adds the module `switch` to every crate.
    fn add_switches(&self) -> Result<(), String> {
        let switch = self.copy.join("switch.rs");
        fs::write(&switch, SWITCH).map_err(|error| error.to_string())?;
        let crates = fs::read_dir(self.copy.join("crates")).map_err(|error| error.to_string())?;
        for folder in crates.flatten() {
            for name in ["src/lib.rs", "src/main.rs"] {
                let path = folder.path().join(name);
                let Ok(mut text) = fs::read_to_string(&path) else { continue };
                text += &module(&switch);
                fs::write(&path, text).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Writes the files with their switches, and returns the byte range of each change, by file.
    fn write(&self) -> Result<BTreeMap<PathBuf, Vec<(Range<usize>, usize)>>, String> {
        let switch = self.copy.join("switch.rs");
        let mut all = BTreeMap::new();
        for (file, original) in &self.originals {
            let mut sites: Vec<(usize, &Site)> =
                self.sites.iter().enumerate().filter(|(_, site)| site.file == *file).collect();
            sites.sort_by_key(|(_, site)| site.range.start);
            let mut text = String::new();
            let mut at = 0;
            let mut ranges = Vec::new();
            for (number, site) in sites {
                text += &original[at..site.range.start];
                let start = text.len();
                text += &site.switched(number + 1);
                ranges.push((start..text.len(), number));
                at = site.range.end;
            }
            text += &original[at..];
            if file.ends_with("src/lib.rs") || file.ends_with("src/main.rs") {
                text += &module(&switch);
            }
            let path = self.copy.join(file);
            // An unchanged file is not written, so that it is not built again.
            if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
                fs::write(&path, text).map_err(|error| error.to_string())?;
            }
            all.insert(file.clone(), ranges);
        }
        Ok(all)
    }

    /// Removes the changes that do not compile, and the changes beyond `count`.
    pub fn settle(&mut self, count: usize) -> Result<(), String> {
        // Tests enable additional features and take much longer, so they are built only after all other code compiles.
        let mut with_tests = false;
        for _ in 0..ROUNDS {
            let ranges = self.write()?;
            let errors = self.errors(with_tests)?;
            if errors.is_empty() {
                if with_tests && self.sites.len() <= count {
                    return Ok(());
                }
                self.sites.truncate(count + if with_tests { 0 } else { SPARE });
                with_tests = true;
                continue;
            }
            let mut wrong = BTreeSet::new();
            for (file, error) in &errors {
                let Some(ranges_of_file) =
                    ranges.get(file).filter(|ranges_of_file| !ranges_of_file.is_empty())
                else {
                    continue;
                };
                // An error outside all changes is attributed to the nearest change.
                let away = |range: &Range<usize>| {
                    error.start.saturating_sub(range.end) + range.start.saturating_sub(error.end)
                };
                let nearest = ranges_of_file.iter().min_by_key(|(range, _)| away(range));
                wrong.extend(nearest.map(|(_, number)| *number));
            }
            if wrong.is_empty() {
                return Err(format!("the copy does not compile: {errors:?}"));
            }
            let mut number = 0;
            self.sites.retain(|_| {
                number += 1;
                !wrong.contains(&(number - 1))
            });
        }
        Err(format!("the copy does not compile after {ROUNDS} rounds"))
    }

    /// Returns the locations of code that the compiler rejects.
    fn errors(&self, with_tests: bool) -> Result<BTreeSet<(PathBuf, ByteRange)>, String> {
        let mut errors = BTreeSet::new();
        let mut arguments =
            vec!["check", "--workspace", "--all-features", "--lib", "--bins", "--keep-going"];
        if with_tests {
            arguments.push("--tests");
        }
        for message in self.cargo(&arguments)? {
            let message = &message["message"];
            if message["level"] != "error" {
                continue;
            }
            for span in message["spans"].as_array().into_iter().flatten() {
                if span["is_primary"] == true {
                    let file = span["file_name"].as_str().unwrap_or_default();
                    let end = |key: &str| span[key].as_u64().unwrap_or(0) as usize;
                    let range = ByteRange { start: end("byte_start"), end: end("byte_end") };
                    errors.insert((PathBuf::from(file), range));
                }
            }
        }
        Ok(errors)
    }

    /// Returns the folder of the programs that cargo builds in the copy.
    pub fn programs(&self) -> PathBuf {
        self.root.join("target/mutants/build/debug")
    }

    /// Runs cargo in the copy, with a separate target folder, and returns its messages. In the target folder of the
    /// tree, the crates of the copy would overwrite the crates of the tree, which have the same names.
    pub fn cargo(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let output = Command::new("cargo")
            .args(arguments)
            .args(["--locked", "--message-format=json", "--quiet"])
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", self.root.join("target/mutants/build"))
            .env("CARGO_INCREMENTAL", "0")
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let is_reported = messages.iter().any(|message| message["message"]["level"] == "error");
        if !output.status.success() && !is_reported {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(messages)
    }
}

/// A part of a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ByteRange {
    start: usize,
    end: usize,
}

fn module(switch: &Path) -> String {
    format!("\n#[allow(dead_code)]\n#[path = {:?}]\nmod switch;\n", switch.display().to_string())
}
