//! The files that an earlier server left next to its data: the journal and, after a zero byte, the map of the blocks
//! over an image. If the files are rejected, no file changes. If they are used, the data has the full length, and reads
//! return the data that was written.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use lanemark_serve::data::{DataLocation, DataPlan, DriveCache, OpenedData};
use lanemark_sim::spec::WriteCacheMode;
use tempfile::TempDir;

const SIZE: u64 = 1 << 16;
const CACHE: DriveCache = DriveCache { kind: WriteCacheMode::Volatile, size: 1 << 16 };
/// The data, its journal and map, and the image. A journal contains the path of the image as its server named it, so
/// all paths are relative to one folder.
const FILES: [&str; 4] = ["disk", "disk.lanemark", "disk.map", "image"];
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    folder
});

fn contents() -> [Option<Vec<u8>>; 4] {
    FILES.map(|name| fs::read(name).ok())
}

pub(crate) fn read(bytes: &[u8]) {
    LazyLock::force(&FOLDER);
    let [disk, journal, map, image] = FILES;
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    // In half of the cases the user has truncated the file of the disk.
    let length = if bytes.len().is_multiple_of(2) { SIZE } else { SIZE / 2 };
    fs::write(disk, vec![7; length as usize]).unwrap();
    fs::write(journal, parts.next().unwrap_or_default()).unwrap();
    fs::write(image, vec![3; 9_000]).unwrap();
    let _ = fs::remove_file(map);
    let over = parts.next().map(|mapped| {
        fs::write(map, mapped).unwrap();
        PathBuf::from(image)
    });
    for overwrite in [None, Some(PathBuf::from(disk))] {
        let before = contents();
        let location = DataLocation::File(disk.into());
        let plan = DataPlan { location, over: over.clone(), size: SIZE, overwrite };
        let Ok(OpenedData { data, notes }) = plan.open(CACHE, 1) else {
            assert!(contents() == before, "a refusal changes nothing");
            continue;
        };
        assert!(notes.iter().all(|note| note.len() <= bytes.len() + 256));
        let mut read = vec![0; SIZE as usize];
        data.read(0, &mut read).unwrap();
        assert!(read.iter().all(|byte| [0, 3, 7].contains(byte)));
        data.write(5_000, &[9; 600]).unwrap();
        data.close().unwrap();
        drop(data);
        let again = DataPlan { overwrite: None, ..plan }.open(CACHE, 1).unwrap();
        again.data.read(5_000, &mut read[..600]).unwrap();
        assert!(again.notes.is_empty() && read[..600] == [9; 600]);
        return;
    }
}
