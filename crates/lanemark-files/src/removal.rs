//! Removes a folder with its contents, and never a file of another mount.
//!
//! Another process may mount a folder of the user next to or over the files of a run. A plain recursive removal enters
//! such a mount and deletes the user's files. This removal therefore begins only if the kernel lists no mount at or
//! below the folder. It also opens each folder with `RESOLVE_NO_XDEV` (openat2(2), Linux 5.6), so a mount that appears
//! during the removal is not entered either.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat2, unlinkat};
use rustix::io::Errno;

use crate::mounts;

/// Removes the folder `path` with all its contents.
///
/// # Errors
/// Returns an error of the kind `ResourceBusy`, and removes nothing, if a file system is mounted at or below `path`.
/// Returns the first other error of the kernel after everything else is removed.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let parent = parent.canonicalize()?;
    let full_path = parent.join(name);
    if let Some(mount) = mounts::mounts().iter().find(|mount| mount.point.starts_with(&full_path)) {
        return Err(mounted_error(&mount.point));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::openat(CWD, &parent, flags, Mode::empty())?;
    let folder = open_folder(&parent, name).map_err(|error| match error {
        Errno::XDEV => mounted_error(&full_path),
        error => error.into(),
    })?;
    let cleared = clear(&folder);
    let removed = unlinkat(&parent, name, AtFlags::REMOVEDIR);
    cleared.and(removed).map_err(|error| match error {
        Errno::XDEV => mounted_error(&full_path),
        error => error.into(),
    })
}

/// Opens a folder unless it is a mount point or a link.
fn open_folder(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    openat2(parent, name, flags, Mode::empty(), resolve)
}

/// Removes the contents of a folder. Returns the first error after all other contents are removed.
fn clear(folder: &OwnedFd) -> Result<(), Errno> {
    let mut first = Ok(());
    for entry in Dir::read_from(folder)? {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return first.and(Err(error)),
        };
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        let removed = match entry.file_type() {
            FileType::Directory => remove_folder(folder, name),
            // The kernel refuses to remove a file on which another file is mounted.
            _ => match unlinkat(folder, name, AtFlags::empty()) {
                // Some file systems do not list the types of their files.
                Err(Errno::ISDIR) => remove_folder(folder, name),
                removed => removed,
            },
        };
        match removed {
            // Another process has removed the file in the meantime.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

fn remove_folder(parent: &OwnedFd, name: &CStr) -> Result<(), Errno> {
    clear(&open_folder(parent, name)?)?;
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn mounted_error(point: &Path) -> io::Error {
    let point = point.display();
    io::Error::new(io::ErrorKind::ResourceBusy, format!("a file system is mounted at {point}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_bind, mount_change, unmount};
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    use super::*;

    #[test]
    fn a_folder_is_removed_with_its_contents_but_not_what_its_links_name() {
        let outer = tempfile::tempdir().unwrap();
        let path = |name: &str| outer.path().join(name);
        fs::create_dir_all(path("run/a/b/c")).unwrap();
        fs::write(path("run/a/b/file"), "text").unwrap();
        fs::create_dir(path("kept")).unwrap();
        fs::write(path("kept/file"), "text").unwrap();
        std::os::unix::fs::symlink(path("kept"), path("run/a/link")).unwrap();
        std::os::unix::fs::symlink(path("kept"), path("link")).unwrap();
        assert!(remove_tree(&path("link")).is_err(), "a link is not a folder");
        assert!(remove_tree(&path("kept/file")).is_err(), "a file is not a folder");
        remove_tree(&path("run")).unwrap();
        assert!(!path("run").exists() && path("kept/file").exists());
        assert_eq!(remove_tree(&path("run")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn nothing_is_removed_while_a_file_system_is_mounted_below() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().canonicalize().unwrap();
        // The mounts are in the thread's own namespace, and end with the thread.
        let thread = std::thread::spawn(move || {
            // SAFETY: the flag affects only mounts; the table of open files stays shared.
            match unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
                Err(Errno::PERM) => return lanemark_testbed::skipped("only root can mount"),
                unshared => unshared.unwrap(),
            }
            let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            mount_change("/", flags).unwrap();
            remove_around_mounts(&folder);
        });
        thread.join().unwrap();
    }

    fn remove_around_mounts(outer: &Path) {
        let path = |name: &str| outer.join(name);
        for folder in ["user", "run/folder", "run/deep/er"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        fs::write(path("user/letter"), "text").unwrap();
        let bind = |point: &str| mount_bind(path("user"), path(point)).unwrap();
        let unmount = |point: &str| unmount(path(point), UnmountFlags::empty()).unwrap();
        for point in ["run", "run/folder", "run/deep/er"] {
            bind(point);
            let error = remove_tree(&path("run")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "{error}");
            assert!(error.to_string().contains(point), "{error}");
            assert!(path("user/letter").exists(), "{point}");
            unmount(point);
            assert!(path("run/deep/er").exists() && path("run/folder").exists(), "{point}");
        }
        // A mount that appears after the list was read is not entered.
        bind("run/folder");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let run = rustix::fs::open(path("run"), flags, Mode::empty()).unwrap();
        assert_eq!(clear(&run), Err(Errno::XDEV));
        assert!(path("user/letter").exists() && !path("run/deep").exists());
        unmount("run/folder");
        remove_tree(&path("run")).unwrap();
        assert!(!path("run").exists() && path("user/letter").exists());
    }
}
