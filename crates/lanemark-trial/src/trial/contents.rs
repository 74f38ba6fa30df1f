//! The contents with which every turn of a trial starts: an image of a fresh file system, an image of a folder, or the
//! user's own image.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lanemark_lab::LabError;
use lanemark_schema::units::Bytes;
use lanemark_serve::data::SECTOR;
use lanemark_serve::data::image::{ImageContent, PartitionTable, conversion};

use crate::file_system::FileSystem;

/// Size of a system without an image.
const SIZE: Bytes = Bytes::mebi(8 << 10);
/// Advice about an image without a recognised file system.
const WITHOUT_PARTITIONS: &str = "use an image of one file system, without partitions";

/// The source of the contents.
pub(super) enum InitialContents<'p> {
    Empty,
    Folder(&'p Path),
    Image(&'p Path),
}

impl<'p> InitialContents<'p> {
    /// Examines the path of `--from`.
    pub(super) fn examine(from: Option<&'p Path>) -> Result<Self, LabError> {
        let Some(path) = from else { return Ok(Self::Empty) };
        let fail = |why: &dyn std::fmt::Display| {
            LabError::input(format!("--from {}: {why}", path.display()))
        };
        let metadata = fs::metadata(path).map_err(|error| fail(&error))?;
        match (metadata.is_dir(), metadata.is_file()) {
            (true, _) => Ok(Self::Folder(path)),
            (_, true) => Ok(Self::Image(path)),
            _ => Err(fail(&"expected a folder or a raw disk image")),
        }
    }

    /// Returns the size of each system: the requested size, the size of the image, or the default size, limited to
    /// `capacity`.
    pub(super) fn size(&self, requested: Option<Bytes>, capacity: Bytes) -> Result<u64, LabError> {
        let image = match self {
            Self::Image(path) => fs::metadata(path).map(|it| Bytes(it.len())).ok(),
            Self::Empty | Self::Folder(_) => None,
        };
        let size = requested.or(image).unwrap_or(SIZE.min(capacity));
        let size = Bytes(size.get().next_multiple_of(SECTOR));
        let size_error = |why: String| Err(LabError::input(format!("--size {size}: {why}")));
        match (size > capacity, image.filter(|image| size < *image)) {
            (true, _) => size_error(format!("the smallest drive holds only {capacity}")),
            (_, Some(image)) => size_error(format!("the image is larger: {image}")),
            _ if size == Bytes::ZERO => size_error("expected more than 0 bytes".to_owned()),
            _ => Ok(size.get()),
        }
    }
}

/// Returns the image of the contents. The image is in `folder`, unless it is the user's own file.
pub(super) fn image(
    source: &InitialContents<'_>,
    file_system: FileSystem,
    folder: &Path,
    size: u64,
) -> Result<PathBuf, LabError> {
    let image = folder.join("image");
    let fail = |error: std::io::Error| LabError::run(format!("{}: {error}", image.display()));
    match source {
        InitialContents::Image(path) => {
            let image_path = path.canonicalize().map_err(fail)?;
            check_file_system(&image_path, file_system)?;
            return Ok(image_path);
        }
        InitialContents::Folder(path) if file_system == FileSystem::None => {
            let why = format!("--from {}: a bare device does not have folders", path.display());
            return Err(LabError::input(why).hint("use a different --fs, or an image"));
        }
        InitialContents::Folder(path) if file_system == FileSystem::Xfs => {
            let why = format!("--from {}: mkfs.xfs can't copy a folder", path.display());
            return Err(LabError::input(why).hint("use --fs ext4 or btrfs"));
        }
        InitialContents::Empty | InitialContents::Folder(_) => {}
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&image);
    let made = made.map_err(fail)?;
    made.set_len(size).map_err(fail)?;
    drop(made);
    let (program, mut arguments): (&str, Vec<String>) = match file_system {
        FileSystem::None => return Ok(image),
        // The kernel must not initialise parts of the file system later. This user becomes the owner of the root
        // folder.
        FileSystem::Ext4 => {
            let user = rustix::process::geteuid();
            let group = rustix::process::getegid();
            let owner = format!("root_owner={}:{}", user.as_raw(), group.as_raw());
            let extended = format!("lazy_itable_init=0,lazy_journal_init=0,{owner}");
            ("mkfs.ext4", vec!["-q".into(), "-F".into(), "-E".into(), extended])
        }
        FileSystem::Xfs => ("mkfs.xfs", vec!["-q".into()]),
        FileSystem::Btrfs => ("mkfs.btrfs", vec!["-q".into()]),
    };
    if let InitialContents::Folder(path) = source {
        let option = if file_system == FileSystem::Btrfs { "--rootdir" } else { "-d" };
        arguments.extend([option.to_owned(), path.display().to_string()]);
    }
    let mut command = Command::new(program);
    let done = command.args(&arguments).arg(&image).stdin(Stdio::null()).output();
    let done = done.map_err(|error| {
        LabError::run(format!("{program}: {error}"))
            .hint(format!("install {program}, and add /usr/sbin to PATH"))
    })?;
    if done.status.success() {
        Ok(image)
    } else {
        let message = String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ");
        Err(LabError::run(format!("{program}: {message}"))
            .hint("if the contents do not fit, use a larger --size"))
    }
}

/// Rejects an image that is not raw, or does not contain the requested file system.
fn check_file_system(image: &Path, file_system: FileSystem) -> Result<(), LabError> {
    let fail = |why: String| LabError::input(format!("--from {}: {why}", image.display()));
    let open = File::open(image).map_err(|error| fail(error.to_string()))?;
    let length = open.metadata().map_err(|error| fail(error.to_string()))?.len();
    let content = ImageContent::recognise(length, |bytes, at| open.read_at(bytes, at))
        .map_err(|error| fail(error.to_string()))?;
    let name = match (content, file_system.kernel_name()) {
        (ImageContent::Container(format), _) => {
            let why = format!("expected a raw disk image, found an image in the format {format}");
            return Err(fail(why).hint(conversion(image)));
        }
        (_, None) => return Ok(()),
        (_, Some(name)) => name,
    };
    match content {
        ImageContent::FileSystem(found) if found == name => Ok(()),
        ImageContent::FileSystem(found) => {
            Err(fail(format!("expected {name}, found {found}")).hint(format!("use --fs {found}")))
        }
        ImageContent::Partitions(PartitionTable { name: table, first }) => {
            let copied = first.map(|first| format!("copy one partition: {}", first.copy(image)));
            let why = format!("expected {name}, found a partition table ({table})");
            Err(fail(why).hint(copied.unwrap_or_else(|| WITHOUT_PARTITIONS.to_owned())))
        }
        ImageContent::Container(_) | ImageContent::Unknown => {
            let why = format!("expected {name}, found no known file system");
            Err(fail(why).hint(WITHOUT_PARTITIONS))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(error: &LabError) -> String {
        format!("{error} hint: {}", error.hint.as_deref().unwrap_or_default())
    }

    #[test]
    fn a_requested_size_or_an_images_size_fits_the_drive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(10_000).unwrap();
        let image = InitialContents::examine(Some(&path)).unwrap();
        let capacity = Bytes::mebi(16 << 10);
        assert_eq!(InitialContents::Empty.size(None, capacity).unwrap(), 8 << 30);
        assert_eq!(InitialContents::Empty.size(None, Bytes::mebi(1)).unwrap(), 1 << 20);
        // The size is a whole number of sectors, and not less than the image.
        assert_eq!(image.size(None, capacity).unwrap(), 10_240);
        assert_eq!(image.size(Some(Bytes::mebi(1)), capacity).unwrap(), 1 << 20);
        for (source, size, why) in [
            (&image, Bytes(512), "the image is larger"),
            (
                &InitialContents::Empty,
                Bytes::mebi(32 << 10),
                "the smallest drive holds only 16 GiB",
            ),
            (&InitialContents::Empty, Bytes::ZERO, "more than 0"),
        ] {
            let error = text(&source.size(Some(size), capacity).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
        assert!(InitialContents::examine(Some(Path::new("/nothing-here"))).is_err());
        assert!(matches!(
            InitialContents::examine(Some(folder.path())).unwrap(),
            InitialContents::Folder(_)
        ));
    }

    #[test]
    fn an_image_must_have_the_requested_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let write = |at: u64, bytes: &[u8]| {
            let file = File::create(&path).unwrap();
            file.set_len(4 << 20).unwrap();
            file.write_all_at(bytes, at).unwrap();
        };
        for (kind, at, magic) in [
            (FileSystem::Ext4, 0x438, &[0x53, 0xef][..]),
            (FileSystem::Xfs, 0, b"XFSB"),
            (FileSystem::Btrfs, 0x1_0040, b"_BHRfS_M"),
        ] {
            write(at, magic);
            let name = kind.name();
            assert!(
                check_file_system(&path, kind).is_ok()
                    && check_file_system(&path, FileSystem::None).is_ok()
            );
            let other = if kind == FileSystem::Ext4 { FileSystem::Xfs } else { FileSystem::Ext4 };
            let error = text(&check_file_system(&path, other).unwrap_err());
            assert!(error.contains(&format!("hint: use --fs {name}")), "{error}");
        }
        // The programs of a trial cannot read these images.
        write(0, b"QFI\xfb");
        for kind in [FileSystem::Ext4, FileSystem::None] {
            let error = text(&check_file_system(&path, kind).unwrap_err());
            assert!(
                error.contains("format qcow2") && error.contains("qemu-img convert"),
                "{error}"
            );
        }
        // A master boot record with a partition at 1 MiB. The image itself is a raw disk.
        let mut record = [0; 512];
        record[450] = 0x83;
        record[454..462].copy_from_slice(&[0, 8, 0, 0, 0, 8, 0, 0]);
        record[510..].copy_from_slice(&[0x55, 0xaa]);
        write(0, &record);
        assert!(check_file_system(&path, FileSystem::None).is_ok());
        let error = text(&check_file_system(&path, FileSystem::Ext4).unwrap_err());
        assert!(error.contains("a partition table (MBR)"), "{error}");
        assert!(error.contains("skip=1048576 count=1048576"), "{error}");
        File::create(&path).unwrap();
        let error = text(&check_file_system(&path, FileSystem::Ext4).unwrap_err());
        assert!(error.contains("found no known file system"), "{error}");
    }

    #[test]
    fn folders_are_copied_only_if_possible() {
        let folder = tempfile::tempdir().unwrap();
        let from = InitialContents::Folder(folder.path());
        for (file_system, why) in
            [(FileSystem::None, "a bare device"), (FileSystem::Xfs, "can't copy a folder")]
        {
            let made = image(&from, file_system, folder.path(), 1 << 20);
            let error = text(&made.unwrap_err());
            assert!(error.contains(why), "{error}");
        }
        let bare = image(&InitialContents::Empty, FileSystem::None, folder.path(), 4096).unwrap();
        assert_eq!(fs::metadata(bare).unwrap().len(), 4096);
    }
}
