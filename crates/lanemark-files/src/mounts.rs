//! The mounts that this thread sees, from `/proc/thread-self/mountinfo` (proc_pid_mountinfo(5)). A thread may have its
//! own mount namespace.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Device number, `major:minor`, which stat usually reports for the files; some file systems (btrfs) report a
    /// different number for their files.
    pub device: String,
    /// Mount point of the file system: a folder or a file.
    pub point: PathBuf,
    /// Type of the file system, such as `ext4`.
    pub file_system: String,
    /// Source of the mount, such as `/dev/vda`.
    pub source: PathBuf,
}

/// Returns all mounts; each mount precedes the mounts that cover it. The list is empty if the kernel does not provide
/// it.
pub fn mounts() -> Vec<MountEntry> {
    parse(&fs::read("/proc/thread-self/mountinfo").unwrap_or_default())
}

/// Returns a device number in the form `major:minor`, which mountinfo and `/sys/dev/block` use.
pub fn device_number(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// Returns the mount with the longest mount point above `path`; a mount of `device` takes precedence. If several file
/// systems are mounted at one point, the last is visible.
pub fn mount_of_device<'m>(
    mounts: &'m [MountEntry],
    device: &str,
    path: &Path,
) -> Option<&'m MountEntry> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| (mount.device == device, mount.point.components().count()))
}

/// Returns the topmost mount exactly at `path`.
pub fn mount_at<'m>(mounts: &'m [MountEntry], path: &Path) -> Option<&'m MountEntry> {
    mounts.iter().rev().find(|mount| mount.point == path)
}

/// Parses the text of mountinfo. Lines that do not describe a mount are omitted.
pub fn parse(text: &[u8]) -> Vec<MountEntry> {
    text.split(|byte| *byte == b'\n').filter_map(parse_mount_line).collect()
}

/// Parses a line such as `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw`.
fn parse_mount_line(line: &[u8]) -> Option<MountEntry> {
    let mut words = line.split(|byte| *byte == b' ');
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let device = text(words.nth(2)?);
    let point = unescape(words.nth(1)?);
    // The type and the source follow a hyphen, which follows any number of optional words.
    let mut words = words.skip_while(|word| *word != b"-").skip(1);
    Some(MountEntry {
        device,
        point,
        file_system: text(words.next()?),
        source: unescape(words.next()?),
    })
}

/// Decodes a path in mountinfo, which writes a space as `\040`, and a tab, newline or backslash in the same form.
fn unescape(word: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let value =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        plain.push(value.unwrap_or(*first));
        rest = match value {
            Some(_) => after.get(3..).unwrap_or_default(),
            None => after,
        };
    }
    OsString::from_vec(plain).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
24 22 254:16 / /mnt/my\\040disk rw shared:1 master:2 - xfs /dev/vdb rw
25 22 254:16 / /mnt/again rw - xfs /dev/vdb rw
26 22 0:40 / /data rw - btrfs /dev/vdc rw
63 22 0:50 / /tmp/a\\040b rw,nosuid shared:2 master:1 - fuse first rw,user_id=0
64 22 0:51 / /tmp/a\\040b rw - fuse lanemark\\055serve rw
65 22 0:52 / /tmp/short
nonsense
1 2 3 -
66 22 0:53 / /tmp/\\9 \\04 - fuse
";

    #[test]
    fn lines_that_are_not_mounts_are_omitted() {
        assert_eq!(parse(MOUNTS).len(), 7);
        assert_eq!(parse(b""), []);
        assert_eq!(unescape(b"\\9\\04\\134\\"), Path::new("\\9\\04\\\\"));
    }

    #[test]
    fn the_mount_that_holds_a_path_most_closely_is_found() {
        let all = parse(MOUNTS);
        let found = |device, path| mount_of_device(&all, device, Path::new(path)).unwrap();
        assert_eq!(found("254:0", "/home/a").file_system, "ext4");
        assert_eq!(found("254:16", "/mnt/my disk/a").source, Path::new("/dev/vdb"));
        assert_eq!(found("254:16", "/mnt/again/a").point, Path::new("/mnt/again"));
        assert_eq!(found("0:99", "/data/a").source, Path::new("/dev/vdc"));
        assert_eq!(mount_of_device(&[], "0:1", Path::new("/")), None);
    }

    #[test]
    fn the_topmost_mount_of_a_path_is_found_with_its_escapes() {
        let all = parse(MOUNTS);
        let source = |path: &str| mount_at(&all, Path::new(path)).map(|mount| mount.source.clone());
        assert_eq!(source("/tmp/a b").as_deref(), Some(Path::new("lanemark-serve")));
        assert_eq!(source("/").as_deref(), Some(Path::new("/dev/vda")));
        for none in ["/tmp", "/tmp/a", "/tmp/short", ""] {
            assert_eq!(source(none), None, "{none}");
        }
    }

    #[test]
    fn this_process_has_a_root() {
        let all = mounts();
        assert!(mount_at(&all, Path::new("/")).is_some() || all.is_empty());
    }
}
