//! Tests how data is opened: which files are used, refused, created and renamed, and the notes about them.

use super::*;
use lanemark_sim::spec::WriteCacheMode;

const CACHE: DriveCache = DriveCache { kind: WriteCacheMode::Volatile, size: 1 << 20 };

fn plan(path: &Path) -> DataPlan {
    let location = DataLocation::File(path.to_owned());
    DataPlan { location, over: None, size: 1 << 20, overwrite: None }
}

fn refusal(plan: &DataPlan) -> String {
    plan.open(CACHE, 1).expect_err("refused").to_string()
}

#[test]
fn a_file_is_there_again_and_says_how_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&folder.path().join("disk"));
    let OpenedData { data, notes } = plan.open(CACHE, 1).unwrap();
    assert!(notes.is_empty());
    assert!(refusal(&plan).contains("locked"));
    data.write(4096, &[5; 512]).unwrap();
    drop(data);
    let OpenedData { data, notes } = plan.open(CACHE, 1).unwrap();
    assert!(notes[0].contains("unknown whether all writes were flushed"), "{notes:?}");
    let mut bytes = [0; 512];
    data.read(4096, &mut bytes).unwrap();
    assert_eq!(bytes, [5; 512]);
    data.flush(data.mark()).unwrap();
    drop(data);
    // A flush is not recorded, so the next server does not claim that all data is there.
    let OpenedData { data, notes } = plan.open(CACHE, 1).unwrap();
    assert!(notes[0].contains("unknown"), "{notes:?}");
    data.close().unwrap();
    drop(data);
    assert!(plan.open(CACHE, 1).unwrap().notes.is_empty());
}

#[test]
fn data_lost_in_a_cut_is_reported_at_the_next_start() {
    use crate::engine::DataOwner;
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&folder.path().join("disk"));
    let data = std::sync::Arc::new(plan.open(CACHE, 1).unwrap().data);
    (0..20).for_each(|at| data.write(at * 512, &[5; 512]).unwrap());
    let line = data.power_cut();
    assert!(line.contains("of 20 unflushed writes"), "{line}");
    data.close().unwrap();
    drop(data);
    assert_eq!(plan.open(CACHE, 1).unwrap().notes, [format!("before: {line}")]);
}

#[test]
fn data_of_others_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs");
    std::fs::write(&path, "important").unwrap();
    let mut plan = plan(&path);
    assert!(refusal(&plan).contains("no server wrote"));
    plan.overwrite = Some(folder.path().join("another"));
    assert!(refusal(&plan).contains("no server wrote"));
    assert_eq!(std::fs::read(&path).unwrap(), b"important");
    plan.overwrite = Some(path);
    assert!(plan.open(CACHE, 1).is_ok());
}

#[test]
fn only_regular_files_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refusal(&plan(folder.path())).contains("folder"));
    assert!(refusal(&plan(Path::new("/dev/null"))).contains("not a regular file"));
    let disk = Path::new("/dev/vda");
    if disk.exists() {
        assert!(refusal(&plan(disk)).contains("block device"));
    }
}

#[test]
fn a_file_keeps_its_size_and_its_image() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let image = folder.path().join("image");
    std::fs::write(&image, vec![3; 9_000]).unwrap();
    let over = DataPlan { over: Some(image.clone()), ..plan(&path) };
    let data = over.open(CACHE, 1).unwrap().data;
    data.write(4096, &[1; 512]).unwrap();
    drop(data);
    assert!(refusal(&plan(&path)).contains("over"));
    assert!(refusal(&DataPlan { size: 1 << 21, ..over.clone() }).contains("size of 1048576"));
    let short = DataPlan { size: 8_192, location: DataLocation::Memory, ..over.clone() };
    assert!(refusal(&short).contains("longer than the export"));
    let data = over.open(CACHE, 1).unwrap().data;
    let mut bytes = [0; 1024];
    data.read(4096, &mut bytes).unwrap();
    assert!(bytes[..512] == [1; 512] && bytes[512..] == [3; 512]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn companions_of_others_are_refused_and_left_as_they_are() {
    for ending in [".map", JOURNAL] {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| folder.path().join(name);
        std::fs::write(in_folder("image"), vec![3; 9_000]).unwrap();
        let disk = in_folder("disk");
        let over = DataPlan { over: Some(in_folder("image")), ..plan(&disk) };
        let beside = companion::path(&disk, ending);
        std::fs::write(&beside, "a map of the Alps").unwrap();
        assert!(refusal(&over).contains("not a Lanemark file"), "{ending}");
        assert_eq!(std::fs::read(&beside).unwrap(), b"a map of the Alps");
        std::fs::rename(&beside, in_folder("victim")).unwrap();
        std::os::unix::fs::symlink(in_folder("victim"), &beside).unwrap();
        assert!(refusal(&over).contains("symbolic link"), "{ending}");
        assert_eq!(std::fs::read(in_folder("victim")).unwrap(), b"a map of the Alps");
        // A rejected start leaves no new files.
        let beside = beside.file_name().unwrap().to_str().unwrap();
        assert_eq!(names(folder.path()), [beside, "image", "victim"]);
    }
}

/// Serves, flushes and closes data that consists of `byte`.
fn serve_once(plan: &DataPlan, byte: u8) {
    let data = plan.open(CACHE, 1).unwrap().data;
    data.write(0, &vec![byte; plan.size as usize]).unwrap();
    data.close().unwrap();
}

#[test]
fn data_that_was_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let plan = plan(&path);
    serve_once(&plan, 7);
    for length in [4096, 0] {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        assert!(refusal(&plan).contains("read as zeroes"), "{length}");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    }
    let allowed = DataPlan { overwrite: Some(path.clone()), ..plan.clone() };
    assert!(allowed.open(CACHE, 1).is_ok());
    assert!(plan.open(CACHE, 1).is_ok());
    // A user who has removed the file no longer needs its data.
    std::fs::remove_file(&path).unwrap();
    assert!(plan.open(CACHE, 1).unwrap().notes[0].contains("is missing"));
}

#[test]
fn another_file_in_its_place_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let copy = folder.path().join("copy");
    let plan = plan(&path);
    serve_once(&plan, 7);
    std::fs::copy(&path, &copy).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    assert!(refusal(&plan).contains("not the file of the last server"));
    let allowed = DataPlan { overwrite: Some(path.clone()), ..plan.clone() };
    let mut bytes = [0; 512];
    allowed.open(CACHE, 1).unwrap().data.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 512]);
    assert!(plan.open(CACHE, 1).is_ok());
}

#[test]
fn an_image_or_a_map_that_was_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let image = folder.path().join("image");
    std::fs::write(&image, vec![3; 9_000]).unwrap();
    let plan = DataPlan { over: Some(image.clone()), ..plan(&path) };
    plan.open(CACHE, 1).unwrap().data.write(0, &[7; 4096]).unwrap();
    let cut = |path: &Path, length| {
        std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
    };
    cut(&image, 4_096);
    assert!(refusal(&plan).contains("the image below it has 4096"));
    cut(&image, 9_000);
    let allowed = DataPlan { overwrite: Some(path.clone()), ..plan.clone() };
    assert!(allowed.open(CACHE, 1).is_ok());
    for length in [70, 0] {
        cut(&companion::path(&path, ".map"), length);
        let refused = refusal(&plan);
        assert!(refused.contains("map"), "{length}: {refused}");
    }
    std::fs::remove_file(companion::path(&path, ".map")).unwrap();
    assert!(refusal(&plan).contains("the map of the data is missing"));
}

/// Overlay data in a folder: the image has the bytes 3, and the data has a flushed block of the bytes 7.
fn overlay(folder: &Path) -> DataPlan {
    let image = folder.join("image");
    std::fs::write(&image, vec![3; 9_000]).unwrap();
    let plan = DataPlan { over: Some(image), ..plan(&folder.join("disk")) };
    let data = plan.open(CACHE, 1).unwrap().data;
    data.write(0, &[7; 4096]).unwrap();
    data.close().unwrap();
    plan
}

fn allow(plan: &DataPlan) -> DataPlan {
    let DataLocation::File(path) = &plan.location else { panic!("a file") };
    DataPlan { overwrite: Some(path.clone()), ..plan.clone() }
}

/// Returns the first bytes of the first two blocks.
fn first_bytes(data: &ExportData) -> [u8; 2] {
    let mut bytes = [0; 2];
    data.read(0, &mut bytes[..1]).unwrap();
    data.read(4096, &mut bytes[1..]).unwrap();
    bytes
}

#[test]
fn a_crash_changes_no_byte_next_to_an_unflushed_write() {
    let folder = tempfile::tempdir().unwrap();
    let plan = overlay(folder.path());
    let path = folder.path().join("disk");
    let before = std::fs::read(&path).unwrap();
    let data = plan.open(CACHE, 1).unwrap().data;
    data.write(4096, &[5; 512]).unwrap();
    drop(data);
    // The map has reached the disk, and the data has not.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&before, 0).unwrap();
    let data = plan.open(CACHE, 1).unwrap().data;
    let mut block = [0; 4096];
    data.read(4096, &mut block).unwrap();
    assert!(block[..512] == [5; 512] || block[..512] == [3; 512], "{:?}", &block[..4]);
    assert!(block[512..] == [3; 3584]);
}

#[test]
fn without_a_valid_journal_the_map_is_used() {
    let older = "lanemark-serve 1 closed   \nsize 1048576\n";
    for journal in [None, Some(""), Some("lanemark-serve 3 clo"), Some(older)] {
        let folder = tempfile::tempdir().unwrap();
        let plan = overlay(folder.path());
        let in_folder = |name: &str| folder.path().join(name);
        let map = std::fs::read(in_folder("disk.map")).unwrap();
        std::fs::remove_file(in_folder("disk.lanemark")).unwrap();
        if let Some(text) = journal {
            std::fs::write(in_folder("disk.lanemark"), text).unwrap();
        }
        let refused = plan.open(CACHE, 1).unwrap_err();
        let DataError::Refused { hint, .. } = refused else { panic!("{refused}") };
        assert!(hint.contains("--overwrite"), "{hint}");
        // Without its image, the data would be incomplete, and writes to it would not be in the map.
        let lone = DataPlan { over: None, ..allow(&plan) };
        assert!(refusal(&lone).contains("layered over an image"), "{journal:?}");
        let data = allow(&plan).open(CACHE, 1).unwrap().data;
        assert_eq!(first_bytes(&data), [7, 3], "{journal:?}");
        drop(data);
        assert_eq!(std::fs::read(in_folder("disk.map")).unwrap(), map);
    }
}

#[test]
fn a_map_whose_data_was_moved_away_is_renamed() {
    for (is_over, is_recorded) in [(true, true), (true, false), (false, true), (false, false)] {
        let folder = tempfile::tempdir().unwrap();
        let plan = overlay(folder.path());
        let in_folder = |name: &str| folder.path().join(name);
        std::fs::rename(in_folder("disk"), in_folder("moved")).unwrap();
        if !is_recorded {
            std::fs::remove_file(in_folder("disk.lanemark")).unwrap();
        }
        let image = plan.over.clone().filter(|_| is_over);
        let opened = DataPlan { over: image, ..plan.clone() }.open(CACHE, 1).unwrap();
        assert!(opened.notes.iter().any(|note| note.contains("disk.map.old-1")));
        assert_eq!(first_bytes(&opened.data), if is_over { [3, 3] } else { [0, 0] });
        opened.data.write(0, &[9; 512]).unwrap();
        opened.data.close().unwrap();
        drop(opened);
        // With its map, the moved data is complete.
        std::fs::rename(in_folder("moved"), in_folder("disk")).unwrap();
        std::fs::rename(in_folder("disk.map.old-1"), in_folder("disk.map")).unwrap();
        std::fs::remove_file(in_folder("disk.lanemark")).unwrap();
        assert_eq!(first_bytes(&allow(&plan).open(CACHE, 1).unwrap().data), [7, 3]);
    }
}

#[test]
fn data_without_a_map_is_not_hidden_by_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let plan = overlay(folder.path());
    let in_folder = |name: &str| folder.path().join(name);
    let before = std::fs::read(in_folder("disk")).unwrap();
    std::fs::remove_file(in_folder("disk.lanemark")).unwrap();
    std::fs::remove_file(in_folder("disk.map")).unwrap();
    assert!(refusal(&allow(&plan)).contains("there is no map"));
    assert_eq!(std::fs::read(in_folder("disk")).unwrap(), before);
    // An image hides nothing in a file without data.
    std::fs::File::create(in_folder("disk")).unwrap().set_len(1 << 20).unwrap();
    assert_eq!(first_bytes(&allow(&plan).open(CACHE, 1).unwrap().data), [3, 3]);
}

/// Repeats `change` until the modification time differs, because the kernel's clock advances in steps.
fn modify(path: &Path, change: impl Fn()) {
    let time = || std::fs::metadata(path).unwrap().modified().unwrap();
    let before = time();
    while time() == before {
        change();
    }
}

#[test]
fn a_file_that_was_replaced_in_place_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = overlay(folder.path());
    let [image, disk] = ["image", "disk"].map(|name| folder.path().join(name));
    modify(&image, || std::fs::write(&image, vec![4; 9_000]).unwrap());
    assert!(refusal(&plan).contains("written to the image below it"));
    assert!(allow(&plan).open(CACHE, 1).unwrap().data.close().is_ok());
    modify(&disk, || {
        let file = std::fs::OpenOptions::new().write(true).open(&disk).unwrap();
        file.set_len(0).unwrap();
        file.set_len(plan.size).unwrap();
    });
    assert!(refusal(&plan).contains("written to the file"));
    assert!(allow(&plan).open(CACHE, 1).is_ok());
}

#[test]
fn an_image_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let image = folder.path().join("image");
    let theirs = plan(&image);
    let ours = DataPlan { over: Some(image.clone()), ..plan(&path) };
    serve_once(&theirs, 3);
    // The link is another name for the same file.
    let link = folder.path().join("link");
    std::fs::hard_link(&image, &link).unwrap();
    let both = DataPlan { over: Some(image.clone()), ..plan(&link) };
    assert!(refusal(&both).contains("is also the image of --over"));
    let writer = theirs.open(CACHE, 1).unwrap();
    assert!(refusal(&ours).contains("is locked by another program"));
    drop(writer);
    let readers = [ours.open(CACHE, 1).unwrap(), {
        let location = DataLocation::Memory;
        DataPlan { location, ..ours.clone() }.open(CACHE, 1).unwrap()
    }];
    assert!(refusal(&theirs).contains("is locked by another program"));
    drop(readers);
    assert!(theirs.open(CACHE, 1).is_ok());
}

#[test]
fn neither_files_of_the_kernel_nor_ends_of_links_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Path::new("/proc/self/mem");
    assert!(refusal(&plan(memory)).contains("generated by the kernel"));
    let over =
        DataPlan { over: Some(memory.to_owned()), location: DataLocation::Memory, ..plan(memory) };
    assert!(refusal(&over).contains("generated by the kernel"));
    let link = folder.path().join("link");
    let end = folder.path().join("end");
    std::os::unix::fs::symlink(&end, &link).unwrap();
    assert!(refusal(&plan(&link)).contains("without a target"));
    assert!(!end.exists());
}
