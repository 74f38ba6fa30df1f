//! The content of a disk image is recognised without reading past its end, a container is rejected, and every other
//! image is served unchanged, followed by zeros.

use std::io::Write;

use lanemark_serve::data::image::ImageContent;
use lanemark_serve::data::{DataError, DataLocation, DataPlan, DriveCache};
use lanemark_sim::spec::WriteCacheMode;
use tempfile::NamedTempFile;

const SIZE: u64 = 1 << 16;

pub(crate) fn read(bytes: &[u8]) {
    let length = bytes.len() as u64;
    let content = ImageContent::recognise(length, |part, at| {
        assert!(at + part.len() as u64 <= length, "no byte after the end is read");
        part.copy_from_slice(&bytes[at as usize..at as usize + part.len()]);
        Ok(part.len())
    });
    let content = content.unwrap();
    if let ImageContent::Partitions(table) = content
        && let Some(first) = table.first
    {
        assert!(first.start > 0 && first.length > 0 && first.start + first.length <= length);
    }
    let mut image = NamedTempFile::new_in("/dev/shm").unwrap();
    image.write_all(bytes).unwrap();
    let over = Some(image.path().to_owned());
    let plan = DataPlan { location: DataLocation::Memory, over, size: SIZE, overwrite: None };
    match plan.open(DriveCache { kind: WriteCacheMode::Off, size: 0 }, 1) {
        Ok(opened) => {
            assert!(!matches!(content, ImageContent::Container(_)) && length <= SIZE);
            let mut served = vec![1; SIZE as usize];
            opened.data.read(0, &mut served).unwrap();
            let (inside, after) = served.split_at(bytes.len());
            assert!(inside == bytes && after.iter().all(|byte| *byte == 0));
        }
        Err(DataError::Refused { .. }) => assert!(matches!(content, ImageContent::Container(_))),
        Err(error) => assert!(length > SIZE, "{error}"),
    }
}
