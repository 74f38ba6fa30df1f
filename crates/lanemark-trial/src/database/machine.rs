//! The requirements of a database trial: root, programs, and a folder.

use std::path::{Path, PathBuf};

use lanemark_files::private::PrivateFolder;
use lanemark_lab::LabError;
use lanemark_oltp::{OltpError, managed};

use crate::error::of_database;

/// Checks that the machine fulfils the requirements, before anything starts.
pub(super) fn check_machine() -> Result<(), LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::input("mounting a served disk requires root").hint("use sudo"));
    }
    for (path, module) in [("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")] {
        if !Path::new(path).exists() {
            return Err(LabError::input(format!("{path} does not exist"))
                .hint(format!("run `modprobe {module}`")));
        }
    }
    let folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    for (program, package) in [
        ("mkfs.ext4", "e2fsprogs"),
        ("setpriv", "util-linux"),
        ("nsenter", "util-linux"),
        ("chrt", "util-linux"),
    ] {
        if !folders.iter().any(|folder| folder.join(program).is_file()) {
            return Err(LabError::input(format!("the program {program} is not in PATH"))
                .hint(format!("install the package {package}, and add /usr/sbin to PATH")));
        }
    }
    managed::programs().map(drop).ok_or_else(|| of_database(OltpError::NoPrograms))
}

/// Creates a temporary folder to which only this user and the server's account have access.
pub(super) fn folder(within: Option<&Path>) -> Result<PrivateFolder, LabError> {
    let within = within.map_or_else(std::env::temp_dir, Path::to_owned);
    let folder = PrivateFolder::within(&within, "lanemark-live-").map_err(|error| {
        LabError::input(format!("can't create a folder in {}: {error}", within.display()))
            .hint("use a different --folder")
    })?;
    managed::let_server_enter(folder.path()).map_err(of_database)?;
    Ok(folder)
}
