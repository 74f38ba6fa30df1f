//! Hostile files of a served drive: journals and maps that no server wrote, and images from other programs.

use std::fs;
use std::path::{Path, PathBuf};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_serve::data::image::{ImageContent, Partition, PartitionTable};
use lanemark_serve::data::{DataLocation, DataPlan, OpenedData};

use super::CACHE;

const LENGTH: u64 = 1 << 16;

/// Returns the files in a folder under `tests/` from which the fuzz targets start, with their names.
fn seeds(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: PathBuf| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
    };
    paths.map(named).collect()
}

#[test]
fn the_images_to_start_from_have_the_content_of_their_names() {
    let first = Some(Partition { start: 512, length: 512 });
    let partitions = |name, first| ImageContent::Partitions(PartitionTable { name, first });
    let seeds = seeds("images");
    assert_eq!(seeds.len(), 8);
    for (name, image) in seeds {
        let expected = match name.as_str() {
            "ext4" => ImageContent::FileSystem("ext4"),
            "xfs" => ImageContent::FileSystem("xfs"),
            "mbr" => partitions("MBR", first),
            "gpt" => partitions("GPT", Some(Partition { start: 1536, length: 512 })),
            "qcow2" => ImageContent::Container("qcow2"),
            "vmdk" => ImageContent::Container("VMDK"),
            "vhd" => ImageContent::Container("VHD"),
            "vhdx" => ImageContent::Container("VHDX"),
            other => panic!("{other}"),
        };
        let content = ImageContent::recognise(image.len() as u64, |bytes, at| {
            bytes.copy_from_slice(&image[at as usize..at as usize + bytes.len()]);
            Ok(bytes.len())
        });
        assert_eq!(content.unwrap(), expected, "{name}");
    }
}

/// A data file with its companions and an image under it.
struct Files {
    folder: tempfile::TempDir,
    image: PathBuf,
}

impl Files {
    fn new() -> Self {
        // Opening data stores its files several times; in memory, this takes no time on a busy disk.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let image = folder.path().join("image");
        fs::write(&image, vec![3; 9_000]).unwrap();
        Self { folder, image }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn plan(&self, over: bool, overwrite: bool) -> DataPlan {
        let disk = self.path("disk");
        DataPlan {
            location: DataLocation::File(disk.clone()),
            over: over.then(|| self.image.clone()),
            size: LENGTH,
            overwrite: overwrite.then_some(disk),
        }
    }

    fn contents(&self) -> Vec<Option<Vec<u8>>> {
        ["disk", "disk.lanemark", "disk.map", "image"]
            .map(|name| fs::read(self.path(name)).ok())
            .into()
    }

    /// Opens the data. Checks that no file changes if the data is rejected, and that reads return the written data if
    /// it is used.
    fn open(&self, over: bool, overwrite: bool) -> bool {
        let before = self.contents();
        let plan = self.plan(over, overwrite);
        let Ok(OpenedData { data, notes }) = plan.open(CACHE, 1) else {
            assert!(self.contents() == before, "a refusal changed a file");
            return false;
        };
        assert!(notes.len() < 100);
        let mut read = vec![0; LENGTH as usize];
        data.read(0, &mut read).unwrap();
        assert!(read.iter().all(|byte| [0, 3, 7].contains(byte)));
        data.write(5_000, &[9; 600]).unwrap();
        data.close().unwrap();
        drop(data);
        let again = self.plan(over, false).open(CACHE, 1).unwrap();
        again.data.read(5_000, &mut read[..600]).unwrap();
        assert!(read[..600] == [9; 600]);
        true
    }
}

#[test]
fn hostile_journals_and_maps_are_refused_unchanged_or_give_all_data() {
    let mut random = Rng::new(StreamKey::from_seed(38));
    let files = Files::new();
    let mut used = 0;
    let mut refused = 0;
    for (name, seed) in seeds("files") {
        // The seed names its image without a folder.
        let image = files.image.display().to_string();
        let mut parts = seed.splitn(2, |byte| *byte == 0);
        let journal = String::from_utf8(parts.next().unwrap().to_vec()).unwrap();
        let journal = journal.replace(" image\n", &format!(" {image}\n")).into_bytes();
        let map = parts.next().map(<[u8]>::to_vec);
        for round in 0..300 {
            let mut journal = journal.clone();
            let mut map = map.clone();
            let damaged = match &mut map {
                Some(map) if round % 2 == 1 => map,
                _ => &mut journal,
            };
            for _ in 0..random.below(3).min(round) {
                let at = random.below(damaged.len() as u64) as usize;
                match random.below(4) {
                    0 => damaged.truncate(at.max(1)),
                    1 => damaged.extend_from_within(at..),
                    _ => damaged[at] = random.next_u64() as u8,
                }
            }
            // Every third data file is truncated, as if by the user.
            let length = if round % 3 == 2 { LENGTH / 2 } else { LENGTH };
            fs::write(files.path("disk"), vec![7; length as usize]).unwrap();
            fs::write(files.path("disk.lanemark"), &journal).unwrap();
            let _ = fs::remove_file(files.path("disk.map"));
            if let Some(map) = &map {
                fs::write(files.path("disk.map"), map).unwrap();
            }
            // The journal records other files, so only the user can decide to use these files.
            assert!(!files.open(map.is_some(), false), "{name}");
            let is_used = files.open(map.is_some(), true);
            assert!(is_used || round > 0, "{name}: undamaged files are used");
            used += u32::from(is_used);
            refused += u32::from(!is_used);
        }
    }
    assert!(used > 200 && refused > 50, "{used} used, {refused} refused");
}
