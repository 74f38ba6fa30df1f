//! The list of servers on this machine, for measurements that run on their devices.
//!
//! A server lists its device numbers in a file, next to a socket that answers with a [`SystemReading`]. The folder is
//! `/run/lanemark/served` for root, `$XDG_RUNTIME_DIR/lanemark/served` for other users, or a folder among the temporary
//! files. [`servers_below`] follows a path down to these devices, through the file system, partitions, volumes, loop
//! devices and mounted images. The kernel's NBD client and a virtual machine do not report their server.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanemark_files::mounts::{self, MountEntry, device_number};

use crate::query_server::{self, QueryServer};
use crate::reading::SystemReading;
use crate::socket::{Endpoint, Listener};
use crate::undo;

/// The folder of root's servers, which all users may read.
const OF_ROOT: &str = "/run/lanemark/served";
pub const READING: &str = "reading";
/// Maximum length of a list of devices.
const LIST_MAX: u64 = 4096;
/// Maximum length of a reading, which contains some histograms of a few thousand buckets each.
const READING_MAX: usize = 16 << 20;
/// Maximum time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Maximum number of underlying devices of a path.
const DEVICES_MAX: usize = 1000;

/// The entry of a server. Dropping it removes the entry.
pub struct Registration {
    list: PathBuf,
    _server: QueryServer,
    undone: undo::UndoEntry,
}

impl Registration {
    /// Lists a server whose block devices or files are at `paths`; `answer` returns its reading, in one line.
    ///
    /// # Errors
    /// Returns an error if the folder is not writable, or if no thread can be started.
    pub fn open(paths: &[&Path], answer: impl Fn() -> String + Send + 'static) -> io::Result<Self> {
        let folder = own_folder();
        let mode = if folder == Path::new(OF_ROOT) { 0o755 } else { 0o700 };
        fs::DirBuilder::new().recursive(true).mode(mode).create(&folder)?;
        if !is_trusted(&folder) {
            return Err(io::Error::other(format!("{} belongs to another user", folder.display())));
        }
        remove_dead(&folder);
        let numbers: io::Result<BTreeSet<String>> =
            paths.iter().map(|path| number_of(path)).collect();
        let text: String = numbers?.iter().map(|number| format!("{number}\n")).collect();
        let list = folder.join(std::process::id().to_string());
        let listener = Listener::bind(&Endpoint::Unix(socket_of(&list)))?;
        let answer = move |query: &str| match query {
            READING => answer(),
            _ => format!("error: `{query}`: expected {READING}\n"),
        };
        let server = QueryServer::open(listener, answer)?;
        let part = list.with_extension("part");
        fs::write(&part, text)?;
        fs::rename(&part, &list)?;
        let registered = list.clone();
        let undone = undo::register_undo(move || remove(&registered));
        Ok(Self { list, _server: server, undone })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.undone.cancel() {
            remove(&self.list);
        }
    }
}

/// Returns the sockets of the servers whose devices underlie `path`.
///
/// # Errors
/// Returns an error if the path does not exist.
pub fn servers_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folders: BTreeSet<PathBuf> = [own_folder(), OF_ROOT.into()].into();
    let lists: Vec<(PathBuf, String)> =
        folders.iter().flat_map(|folder| read_lists(folder)).collect();
    if lists.is_empty() {
        return Ok(Vec::new());
    }
    let devices = devices_below(path, Path::new("/sys/dev/block"), &mounts::mounts())?;
    let is_below = |text: &str| text.lines().any(|number| devices.contains(number));
    let found = lists.into_iter().filter(|(_, text)| is_below(text));
    Ok(found.map(|(list, _)| socket_of(&list)).collect())
}

/// Returns the reading of the server at `socket`.
///
/// # Errors
/// Returns an error if no server answers, if this user is not permitted to connect, or if the answer is not a reading.
pub fn read(socket: &Path) -> io::Result<SystemReading> {
    let answer = query_server::ask(socket, READING, READING_MAX, ANSWER_MAX)?;
    match answer.strip_prefix("error: ") {
        Some(error) => Err(io::Error::other(error.trim_end().to_owned())),
        None => match serde_json::from_str(&answer) {
            Ok(reading) if SystemReading::is_possible(&reading) => Ok(reading),
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "its time scale is not valid")),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        },
    }
}

/// Returns the folder of this user's servers.
fn own_folder() -> PathBuf {
    let user = rustix::process::geteuid();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|folder| folder.is_absolute()) {
        _ if user.is_root() => OF_ROOT.into(),
        Some(folder) => folder.join("lanemark/served"),
        None => std::env::temp_dir().join(format!("lanemark-{}/served", user.as_raw())),
    }
}

/// Returns whether `folder` belongs to root or to this user, and only its owner can write to it.
fn is_trusted(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|there| {
        let owners = [0, rustix::process::geteuid().as_raw()];
        there.is_dir() && owners.contains(&there.uid()) && there.mode() & 0o022 == 0
    })
}

/// Returns the lists of devices in a folder, with their contents.
fn read_lists(folder: &Path) -> Vec<(PathBuf, String)> {
    if !is_trusted(folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let text = |path: &Path| {
        let mut text = String::new();
        let is_file = fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
        let file = is_file.then(|| fs::File::open(path).ok()).flatten()?;
        file.take(LIST_MAX).read_to_string(&mut text).ok().map(|_| text)
    };
    let named = entries.filter(|path| path.extension().is_none());
    named.filter_map(|path| text(&path).map(|text| (path, text))).collect()
}

/// Removes the entries of killed servers.
fn remove_dead(folder: &Path) {
    for (list, _) in read_lists(folder) {
        let refused = UnixStream::connect(socket_of(&list)).err();
        let is_dead = refused.is_some_and(|error| {
            [io::ErrorKind::ConnectionRefused, io::ErrorKind::NotFound].contains(&error.kind())
        });
        if is_dead {
            remove(&list);
        }
    }
}

fn remove(list: &Path) {
    let _ = fs::remove_file(list);
    let _ = fs::remove_file(socket_of(list));
}

fn socket_of(list: &Path) -> PathBuf {
    list.with_extension("sock")
}

/// Returns the number of the block device at `path`, or of the device that stores the file at `path`.
fn number_of(path: &Path) -> io::Result<String> {
    let stat = fs::metadata(path)?;
    let is_device = stat.file_type().is_block_device();
    Ok(device_number(if is_device { stat.rdev() } else { stat.dev() }))
}

/// Returns the numbers of all underlying devices of `path`: its own device, and all devices that this device consists
/// of.
fn devices_below(path: &Path, block: &Path, mounts: &[MountEntry]) -> io::Result<BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![number_of(path)?];
    // For their files, some file systems (btrfs) report a number that belongs to no device.
    let real = fs::canonicalize(path)?;
    let mount = mounts::mount_of_device(mounts, pending.first().map_or("", String::as_str), &real);
    pending.extend(mount.and_then(source));
    while let Some(number) = pending.pop() {
        if seen.len() >= DEVICES_MAX || seen.contains(&number) {
            continue;
        }
        pending.extend(parts(&block.join(&number)));
        let mounted = mounts.iter().filter(|mount| mount.device == number);
        pending.extend(mounted.filter_map(source));
        seen.insert(number);
    }
    Ok(seen)
}

/// Returns the number of the device or image that is mounted.
fn source(mount: &MountEntry) -> Option<String> {
    mount.source.is_absolute().then(|| number_of(&mount.source).ok()).flatten()
}

/// Returns the numbers of the devices that the device at `folder` in sysfs consists of.
fn parts(folder: &Path) -> Vec<String> {
    let text = |path: PathBuf| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let members = fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
    let members = members.filter_map(|member| text(member.path().join("dev")));
    let whole = folder.join("partition").exists().then(|| text(folder.join("../dev"))).flatten();
    let image = text(folder.join("loop/backing_file")).map(PathBuf::from);
    let image = image.and_then(|image| number_of(&image).ok());
    members.chain(whole).chain(image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(device: &str, point: &Path, source: &Path) -> MountEntry {
        MountEntry {
            device: device.to_owned(),
            point: point.to_owned(),
            file_system: "ext4".to_owned(),
            source: source.to_owned(),
        }
    }

    #[test]
    fn a_path_leads_down_to_every_device() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let number = number_of(&file).unwrap();
        // The file's device is a volume on a partition and a loop device; the image of the loop device is in the same
        // folder.
        let block = folder.path().join("block");
        let add = |name: &str, path: &str, text: &str| {
            let path = block.join(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        add(&number, "slaves/sda1/dev", "8:1\n");
        add(&number, "slaves/loop0/dev", "7:0\n");
        add("8:0", "dev", "8:0\n");
        fs::create_dir_all(block.join("8:0/sda1")).unwrap();
        std::os::unix::fs::symlink("8:0/sda1", block.join("8:1")).unwrap();
        add("8:0", "sda1/partition", "1\n");
        add("7:0", "loop/backing_file", &format!("{}\n", file.display()));
        let found = devices_below(&file, &block, &[]).unwrap();
        assert_eq!(found, [number.as_str(), "8:1", "8:0", "7:0"].map(str::to_owned).into());
    }

    #[test]
    fn a_mounted_image_leads_to_the_device_of_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let mounted = folder.path().canonicalize().unwrap();
        let none = Path::new("/no/such/place");
        let image = Path::new("/proc/self/status");
        let of_image = number_of(image).unwrap();
        let of_mounted = number_of(&mounted).unwrap();
        for mounts in
            [[mount("0:999", &mounted, image)], [mount(&of_mounted, Path::new("/"), image)]]
        {
            let found = devices_below(&mounted, none, &mounts).unwrap();
            assert_eq!(found, [of_mounted.clone(), of_image.clone()].into());
        }
        let other = [mount("0:999", &mounted, Path::new("lanemark-serve"))];
        assert_eq!(devices_below(&mounted, none, &other).unwrap(), [of_mounted].into());
        assert!(devices_below(none, none, &[]).is_err());
    }

    #[test]
    fn foreign_entries_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("1"), "7:0\n").unwrap();
        fs::write(path("2"), [0xff, 0xfe]).unwrap();
        fs::write(path("3.part"), "7:1\n").unwrap();
        fs::create_dir(path("4")).unwrap();
        std::os::unix::fs::symlink("/proc/kmsg", path("5")).unwrap();
        fs::write(path("6"), "x".repeat(1 << 20)).unwrap();
        let found = read_lists(folder.path());
        assert!(found.contains(&(path("1"), "7:0\n".to_owned())));
        assert!(found.iter().all(|(_, text)| text.len() <= LIST_MAX as usize));
        assert_eq!(found.len(), 2);
        remove_dead(folder.path());
        assert_eq!(read_lists(folder.path()), []);
        // A folder to which other users can write is not trusted.
        fs::write(path("1"), "7:0\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), mode).unwrap();
        assert_eq!(read_lists(folder.path()), []);
        let link = path("1");
        assert!(!is_trusted(&link) && !is_trusted(Path::new("/no/such/folder")));
    }

    #[test]
    fn an_answer_that_is_no_reading_is_an_error() {
        use std::io::Write;
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        for answer in ["", "{}\n", "{}", "error: gone\n", "[[[[\n"] {
            let socket = folder.path().join("s");
            let listener = UnixListener::bind(&socket).unwrap();
            let thread = std::thread::spawn(move || {
                let (mut client, _) = listener.accept().unwrap();
                let mut query = String::new();
                client.read_to_string(&mut query).unwrap();
                assert_eq!(query, "reading\n");
                client.write_all(answer.as_bytes()).unwrap();
            });
            let error = read(&socket).unwrap_err().to_string();
            assert!(!error.is_empty() && (answer != "error: gone\n" || error == "gone"), "{error}");
            thread.join().unwrap();
            fs::remove_file(&socket).unwrap();
        }
        assert_eq!(read(&folder.path().join("s")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
