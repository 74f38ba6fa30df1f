//! The requirements of `lanemark trial --database`: root, programs, and a folder.

use std::path::{Path, PathBuf};

use lanemark_files::private::PrivateFolder;
use lanemark_oltp::{OltpError, managed};

use crate::failure::Failure;

/// Checks that the machine fulfils the requirements, before anything starts.
pub(super) fn check_machine() -> Result<(), Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::input("mounting a served disk requires root").hint("use sudo"));
    }
    for (path, module) in [("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")] {
        if !Path::new(path).exists() {
            return Err(Failure::input(format!("{path} does not exist"))
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
            return Err(Failure::input(format!("the program {program} is not in PATH"))
                .hint(format!("install the package {package}, and add /usr/sbin to PATH")));
        }
    }
    managed::programs().map(drop).ok_or_else(|| OltpError::NoPrograms.into())
}

/// Creates a temporary folder to which only this user and the server's account have access.
pub(super) fn folder(within: Option<&Path>) -> Result<PrivateFolder, Failure> {
    let within = within.map_or_else(std::env::temp_dir, Path::to_owned);
    let folder = PrivateFolder::within(&within, "lanemark-live-").map_err(|error| {
        Failure::input(format!("can't create a folder in {}: {error}", within.display()))
            .hint("use a different --folder")
    })?;
    managed::let_server_enter(folder.path())?;
    Ok(folder)
}
