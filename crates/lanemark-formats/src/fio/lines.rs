//! Splits a job file into sections of options, each with its line. This module also resolves comments, includes and
//! environment variables.
//!
//! See fio's HOWTO, "Job file format". `[global]` may be repeated and applies to the jobs after it. A comment begins
//! with `;` or `#` at any position in a line. `${NAME}` is an environment variable. An unset variable is an error here,
//! but empty in fio.

use std::rc::Rc;

use lanemark_schema::pasted::{after_prompt, restored};

use super::job_environment::JobEnvironment;
use super::option;
use crate::error::{FormatError, shown};

/// Maximum depth of includes.
const INCLUDES_MAX: u32 = 16;
/// Maximum number of lines in a job file, including its includes.
const LINES_MAX: usize = 100_000;

/// A line `name=value` or `name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionLine {
    pub(crate) name: String,
    /// The value; `None` if there is no `=`.
    pub(crate) value: Option<String>,
    pub(crate) file: Rc<str>,
    pub(crate) line: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct JobSection {
    pub(crate) name: String,
    pub(crate) file: Rc<str>,
    pub(crate) line: u64,
    pub(crate) lines: Vec<OptionLine>,
}

/// Reads the sections of `text`.
pub(crate) fn read(
    text: &str,
    around: &JobEnvironment<'_>,
    faults: &mut Vec<FormatError>,
) -> Vec<JobSection> {
    let mut reader = JobFileReader { around, faults, sections: Vec::new(), count: 0 };
    reader.file(text, &Rc::from(around.file), 0);
    reader.sections
}

/// Maximum number of lines that are examined to recognise a job file.
const EXAMINED_MAX: usize = 400;

/// Returns whether a text is a job file by its contents: it begins with a section, and all lines are sections or known
/// options.
pub fn is_job_file(text: &str) -> bool {
    let head: String = text.split_inclusive('\n').take(EXAMINED_MAX).collect();
    let head = restored(&head);
    let significant = |line: &&str| !is_aside(line);
    let mut lines = head.lines().map(str::trim).filter(significant);
    let begins = lines.next().is_some_and(|line| line.starts_with('['));
    begins && lines.any(|line| !line.starts_with('[')) && foreign_line(&head).is_none()
}

/// Returns whether a line is empty, a comment, or the command that printed the file on a terminal.
fn is_aside(line: &str) -> bool {
    line.is_empty() || line.starts_with([';', '#']) || after_prompt(line).is_some()
}

/// Returns the number of the first line that cannot belong to a job file, because it is not a comment, a section, an
/// include or a known option.
fn foreign_line(text: &str) -> Option<u64> {
    let ours = |raw: &str| {
        let line = raw.trim_start_matches('\u{feff}');
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        let word = line.split([' ', '\t', '=']).next().unwrap_or_default();
        let section = line.starts_with('[') && line.contains(']');
        line.is_empty()
            || is_aside(raw.trim())
            || section
            || word == "include"
            || option::find(&word.to_ascii_lowercase()).is_some()
    };
    (1..).zip(text.lines()).find(|(_, raw)| !ours(raw)).map(|(number, _)| number)
}

struct JobFileReader<'a, 'f> {
    around: &'a JobEnvironment<'a>,
    faults: &'f mut Vec<FormatError>,
    sections: Vec<JobSection>,
    count: usize,
}

impl JobFileReader<'_, '_> {
    fn file(&mut self, text: &str, file: &Rc<str>, depth: u32) {
        for (index, raw) in restored(text).lines().enumerate() {
            let line = index as u64 + 1;
            self.count += 1;
            if self.count > LINES_MAX {
                let error = FormatError::at(file, line, "the job file is too long");
                return self.faults.push(error.hint("at most 100,000 lines with all includes"));
            }
            if let Err(error) = self.line(raw, file, line, depth) {
                self.faults.push(error);
            }
        }
    }

    fn line(
        &mut self,
        raw: &str,
        file: &Rc<str>,
        line: u64,
        depth: u32,
    ) -> Result<(), FormatError> {
        let raw = raw.trim_start_matches('\u{feff}');
        let text = raw.split([';', '#']).next().unwrap_or_default().trim();
        if text.is_empty() || is_aside(raw.trim()) {
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix('[') {
            let Some((name, _)) = rest.split_once(']') else {
                let error =
                    FormatError::at(file, line, format!("`{}` is not terminated", shown(text)));
                return Err(error.hint("write [name]"));
            };
            self.sections.push(JobSection {
                name: name.trim().to_owned(),
                file: file.clone(),
                line,
                lines: Vec::new(),
            });
            return Ok(());
        }
        if let Some(path) =
            text.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t']))
        {
            return self.include(path.trim(), file, line, depth);
        }
        let text = self.expanded(text, file, line)?;
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (text.trim(), None),
        };
        let Some(section) = self.sections.last_mut() else {
            let message = format!("`{}` is before the first section", shown(&text));
            return Err(FormatError::at(file, line, message).hint("begin with [global] or [name]"));
        };
        section.lines.push(OptionLine {
            name: name.to_ascii_lowercase(),
            value,
            file: file.clone(),
            line,
        });
        Ok(())
    }

    fn include(
        &mut self,
        path: &str,
        file: &Rc<str>,
        line: u64,
        depth: u32,
    ) -> Result<(), FormatError> {
        if depth >= INCLUDES_MAX {
            let message = format!("include {}: the includes are nested too deeply", shown(path));
            return Err(FormatError::at(file, line, message).hint("at most 16 levels"));
        }
        let text = (self.around.include)(path).map_err(|reason| {
            FormatError::at(file, line, format!("include {}: {reason}", shown(path)))
        })?;
        if let Some(line) = foreign_line(&text) {
            // The error does not quote the line, because the path might refer to a private file.
            return Err(FormatError::at(path, line, "is not a valid line of a job file")
                .hint("include a file that contains only sections and options of fio"));
        }
        self.file(&text, &Rc::from(path), depth + 1);
        Ok(())
    }

    /// Returns the text with each `${NAME}` replaced.
    fn expanded(&self, text: &str, file: &str, line: u64) -> Result<String, FormatError> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let Some((name, after)) = rest[at + 2..].split_once('}') else {
                let message = format!("`{}` is not terminated", shown(&rest[at..]));
                return Err(FormatError::at(file, line, message).hint("write ${NAME}"));
            };
            out.push_str(&(self.around.environment)(name).ok_or_else(|| {
                let message = format!("the environment variable {} is not set", shown(name));
                FormatError::at(file, line, message).hint(format!("set it: {}=…", shown(name)))
            })?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}
