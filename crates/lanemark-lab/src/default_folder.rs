//! The folders of results and of the page, used if the user does not request a path.
//!
//! The default folder is the folder named by `LANEMARK_RESULTS`, or otherwise `lanemark` in the user's state folder
//! (`XDG_STATE_HOME`, by default `~/.local/state`). Results are saved in the current folder only if the user requests
//! it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::LabError;

/// The environment variable that names the folder of results.
pub const VARIABLE: &str = "LANEMARK_RESULTS";

/// Returns the default folder of results, which may not exist yet.
///
/// # Errors
/// Returns an error if neither the variables nor the user's account name a folder.
pub fn of_results() -> Result<PathBuf, LabError> {
    choose_folder(|name| std::env::var_os(name), std::env::home_dir)
}

/// Returns the folder of files that can be made again, which may not exist yet: `lanemark` in the user's cache folder
/// (`XDG_CACHE_HOME`, by default `~/.cache`).
///
/// # Errors
/// Returns an error if neither the variable nor the user's account names a folder.
pub fn of_cache() -> Result<PathBuf, LabError> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let usual = || std::env::home_dir().map(|home| home.join(".cache"));
    let folder = named.filter(|folder| folder.is_absolute()).or_else(usual);
    let folder = folder.filter(|folder| folder.is_absolute()).ok_or_else(|| {
        LabError::run("there is no folder for the page, because the home folder is unknown")
            .hint("set XDG_CACHE_HOME")
    })?;
    Ok(folder.join("lanemark"))
}

/// Returns the default folder for these values of the variables and the home folder `home`.
fn choose_folder(
    value: impl Fn(&str) -> Option<OsString>,
    home: impl FnOnce() -> Option<PathBuf>,
) -> Result<PathBuf, LabError> {
    let absolute_variable =
        |name: &str| value(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = absolute_variable(VARIABLE) {
        return Ok(folder);
    }
    // A relative path in `XDG_STATE_HOME` is invalid according to its specification.
    let state = absolute_variable("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
    let usual_folder =
        || home().filter(|home| home.is_absolute()).map(|home| home.join(".local/state"));
    let state = state.or_else(usual_folder).ok_or_else(|| {
        LabError::run("there is no folder for results, because the home folder is unknown")
            .hint(format!("set {VARIABLE}"))
    })?;
    Ok(state.join("lanemark"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)], home: Option<&str>) -> Option<String> {
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let chosen = choose_folder(value, || home.map(PathBuf::from));
        chosen.ok().map(|folder| folder.display().to_string())
    }

    #[test]
    fn the_most_specific_variable_names_the_folder() {
        let all = [(VARIABLE, "runs"), ("XDG_STATE_HOME", "/state")];
        assert_eq!(folder(&all, Some("/home/me")).unwrap(), "runs");
        assert_eq!(folder(&all[1..], Some("/home/me")).unwrap(), "/state/lanemark");
        assert_eq!(folder(&[], Some("/home/me")).unwrap(), "/home/me/.local/state/lanemark");
    }

    #[test]
    fn empty_and_relative_values_are_ignored() {
        let odd = [(VARIABLE, ""), ("XDG_STATE_HOME", "state")];
        assert_eq!(folder(&odd, Some("/me")).unwrap(), "/me/.local/state/lanemark");
        assert_eq!(
            folder(&[("XDG_STATE_HOME", "")], Some("/me")).unwrap(),
            "/me/.local/state/lanemark"
        );
        assert_eq!(folder(&odd, None), None);
        assert_eq!(folder(&[], Some("")), None);
    }
}
