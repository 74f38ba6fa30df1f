//! A job: its own options and the options of `[global]`, with typed access to their values.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use lanemark_schema::units::Duration;

use super::lines::{JobSection, OptionLine};
use super::number::{self, DefaultTimeUnit, WrittenSize};
use super::option::{self, OptionTreatment};
use crate::error::{FormatError, OptionNote, SupportLevel, shown};

/// The errors in a file, and the notes about approximated values.
#[derive(Debug, Default)]
pub(crate) struct JobProblems {
    pub(crate) faults: Vec<FormatError>,
    pub(crate) notes: Vec<OptionNote>,
    noted: HashSet<OptionNote>,
}

/// Maximum number of errors that are reported; each is compared with all others.
const FAULTS_MAX: usize = 1000;

/// A job with all of its options.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) file: Rc<str>,
    pub(crate) line: u64,
    lines: BTreeMap<&'static str, OptionLine>,
    kb_base: u64,
}

/// Number of directions: reads, writes and trims. An option may have a value for each, as in `4k,8k,64k`.
pub(crate) const DIRECTIONS: usize = 3;

impl JobProblems {
    pub(crate) fn add_error(&mut self, error: FormatError) {
        if self.faults.len() < FAULTS_MAX && !self.faults.contains(&error) {
            self.faults.push(error);
        }
    }

    pub(crate) fn note(
        &mut self,
        line: &OptionLine,
        support_level: SupportLevel,
        reason: impl Into<String>,
    ) {
        let note = OptionNote {
            file: line.file.to_string(),
            line: line.line,
            option: line.name.clone(),
            kept: support_level,
            reason: reason.into(),
        };
        if self.noted.insert(note.clone()) {
            self.notes.push(note);
        }
    }
}

/// Returns the jobs of `sections`, each with the options of the `[global]` sections before it.
pub(crate) fn jobs(sections: &[JobSection], findings: &mut JobProblems) -> Vec<Job> {
    let mut global = BTreeMap::new();
    let mut jobs: Vec<Job> = Vec::new();
    for section in sections {
        let lines = known_options(section, findings);
        if section.name.eq_ignore_ascii_case("global") {
            global.extend(lines);
            continue;
        }
        let mut all: BTreeMap<&'static str, OptionLine> = global.clone();
        // The name of a job is the name of its section, regardless of [global].
        all.remove("name");
        all.extend(lines);
        let stated_name = all.get("name").and_then(|line| line.value.clone());
        let base = match all.get("kb_base").and_then(|line| line.value.as_deref()) {
            None | Some("1024") => 1024,
            Some("1000") => 1000,
            Some(other) => {
                let line = &all["kb_base"];
                let message = format!("kb_base={}: expected 1000 or 1024", shown(other));
                findings.add_error(FormatError::at(&line.file, line.line, message));
                1024
            }
        };
        jobs.push(Job {
            name: stated_name.unwrap_or_else(|| section.name.clone()),
            file: section.file.clone(),
            line: section.line,
            lines: all,
            kb_base: base,
        });
    }
    jobs
}

/// Returns the options of a section under their primary names in fio, and reports the options that are not supported.
fn known_options(
    section: &JobSection,
    findings: &mut JobProblems,
) -> BTreeMap<&'static str, OptionLine> {
    let mut lines = BTreeMap::new();
    for line in &section.lines {
        let Some(known) = option::find(&line.name) else {
            let message = format!("`{}` is not a known option of fio", shown(&line.name));
            let mut error = FormatError::at(&line.file, line.line, message);
            error.hint = option::nearest(&line.name).map(|name| format!("did you mean {name}?"));
            findings.add_error(error);
            continue;
        };
        let off = line.value.as_deref().is_some_and(|value| value == "0" || value == "none");
        match known.fate {
            OptionTreatment::Read => {}
            OptionTreatment::Needless(reason) => {
                findings.note(line, SupportLevel::Needless, reason);
            }
            OptionTreatment::Nearly(_) | OptionTreatment::Refused(_) if off => {
                findings.note(line, SupportLevel::Needless, "switched off, as in Lanemark");
            }
            OptionTreatment::Nearly(reason) => findings.note(line, SupportLevel::Nearly, reason),
            OptionTreatment::Refused(hint) => {
                let message = format!("{} is not supported", line.name);
                findings.add_error(FormatError::at(&line.file, line.line, message).hint(hint));
            }
        }
        lines.insert(known.name, line.clone());
    }
    lines
}

impl Job {
    /// Returns the line of an option, if the option is set.
    pub(crate) fn line(&self, name: &str) -> Option<&OptionLine> {
        self.lines.get(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.lines.contains_key(name)
    }

    /// Returns the value as text, if the option has a value.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.lines.get(name)?.value.as_deref()
    }

    /// Returns an error about the value of an option, or about the job if the option is not set.
    pub(crate) fn error(&self, name: &str, expected: &str) -> FormatError {
        match self.lines.get(name) {
            Some(line) => {
                let value = line.value.as_deref().map_or("nothing", |value| value);
                let message = format!("{}={}: expected {expected}", line.name, shown(value));
                FormatError::at(&line.file, line.line, message)
            }
            None => {
                let job = shown(&self.name);
                let message = format!("job `{job}` does not set {name}: expected {expected}");
                FormatError::at(&self.file, self.line, message)
            }
        }
    }

    /// Records a note on an option, if the option is set.
    pub(crate) fn note(
        &self,
        name: &str,
        findings: &mut JobProblems,
        support_level: SupportLevel,
        reason: &str,
    ) {
        if let Some(line) = self.lines.get(name) {
            findings.note(line, support_level, reason);
        }
    }

    /// Returns a value that `read` parses; for an invalid value, records an error and returns `None`.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        findings: &mut JobProblems,
        read: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let line = self.lines.get(name)?;
        match read(line.value.as_deref().unwrap_or("")) {
            Ok(value) => Some(value),
            Err(expected) => {
                findings.add_error(self.error(name, expected));
                None
            }
        }
    }

    pub(crate) fn size(&self, name: &str, findings: &mut JobProblems) -> Option<WrittenSize> {
        self.parsed(name, findings, |text| number::size(text, self.kb_base))
    }

    pub(crate) fn integer(&self, name: &str, findings: &mut JobProblems) -> Option<u64> {
        self.parsed(name, findings, |text| number::integer(text, self.kb_base))
    }

    pub(crate) fn time(
        &self,
        name: &str,
        unit: DefaultTimeUnit,
        findings: &mut JobProblems,
    ) -> Option<Duration> {
        self.parsed(name, findings, |text| number::time(text, unit))
    }

    /// Returns the state of a switch, which is on if the option does not have a value.
    pub(crate) fn flag(&self, name: &str, findings: &mut JobProblems) -> Option<bool> {
        let line = self.lines.get(name)?;
        match line.value.as_deref() {
            None => Some(true),
            Some(value) => match value.parse::<i64>() {
                Ok(number) => Some(number != 0),
                Err(_) => {
                    findings.add_error(self.error(name, "0 or 1"));
                    None
                }
            },
        }
    }

    /// Returns up to three values, for reads, writes and trims; a missing value defaults to the last value given.
    pub(crate) fn read_per_direction<T: Clone>(
        &self,
        name: &str,
        found: &mut JobProblems,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Option<[Option<T>; DIRECTIONS]> {
        let text = self.lines.get(name)?.value.as_deref().unwrap_or("");
        let mut values: [Option<T>; DIRECTIONS] = [None, None, None];
        let mut last = None;
        let mut parts = text.split(',');
        for value in &mut values {
            match parts.next().map(str::trim) {
                Some("") => {}
                Some(part) => match read(part) {
                    Ok(read) => {
                        last = Some(read.clone());
                        *value = Some(read);
                    }
                    Err(expected) => {
                        found.add_error(self.error(name, expected));
                        return None;
                    }
                },
                None => value.clone_from(&last),
            }
        }
        if parts.next().is_some() {
            found.add_error(self.error(name, "up to three values, for reads, writes and trims"));
            return None;
        }
        Some(values)
    }

    pub(crate) fn kb_base(&self) -> u64 {
        self.kb_base
    }
}
