//! A PostgreSQL server in a temporary folder.

use std::os::unix::fs::PermissionsExt;

use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};

/// Returns a folder that any account can reach.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// Returns a server in a folder that any account can reach, if the programs are installed.
pub(crate) fn server() -> Option<(tempfile::TempDir, ManagedServer)> {
    if programs().is_none() {
        lanemark_testbed::skipped("PostgreSQL is not installed (package postgresql)");
        return None;
    }
    let folder = folder();
    let server =
        ManagedServer::start(&folder.path().join("server"), &ServerOptions::default()).unwrap();
    Some((folder, server))
}
