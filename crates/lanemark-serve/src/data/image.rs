//! Recognises the content of a disk image by its magic numbers: a container format of another program, a file system,
//! or a partition table.
//!
//! Every number read from an image is checked against the image's length. A damaged table counts as a table without
//! partitions.

use std::io;
use std::path::Path;

/// Formats of disk images that do not contain the disk's data in its original order, each with its magic number at the
/// start of the file.
const CONTAINERS: [(&str, &[u8]); 5] = [
    ("qcow2", b"QFI\xfb"),
    ("VMDK", b"KDMV"),
    ("VMDK", b"COWD"),
    ("VHDX", b"vhdxfile"),
    ("VDI", b"<<< "),
];
/// The magic number of a VHD footer, in the last 512 bytes of the file.
const VHD: &[u8] = b"conectix";
/// File systems by the kernel's names, with the offsets and values of their magic numbers.
const FILE_SYSTEMS: [(&str, u64, &[u8]); 3] =
    [("ext4", 0x438, &[0x53, 0xef]), ("xfs", 0, b"XFSB"), ("btrfs", 0x1_0040, b"_BHRfS_M")];
/// Sector sizes for which the image is searched for a GPT.
const SECTORS: [u64; 2] = [512, 4096];
/// The magic number of a GPT, at the start of the second sector.
const GPT: &[u8] = b"EFI PART";
/// Length of the part of a GPT header that is read.
const GPT_HEADER: usize = 92;
/// Length of the part of a GPT entry that is read.
const GPT_ENTRY: usize = 48;
/// Maximum number of GPT entries that are read.
const GPT_ENTRIES_MAX: u32 = 128;
/// The last bytes of a master boot record.
const MBR: [u8; 2] = [0x55, 0xaa];
/// Offset of the entries of a master boot record.
const MBR_ENTRIES_AT: u64 = 446;
/// Number of entries of a master boot record.
const MBR_ENTRIES: u64 = 4;
/// Length of an entry of a master boot record.
const MBR_ENTRY: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageContent {
    /// An image in this format, which must be converted.
    Container(&'static str),
    /// A file system, by the kernel's name.
    FileSystem(&'static str),
    Partitions(PartitionTable),
    /// Raw data without a known magic number.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionTable {
    /// `GPT` or `MBR`.
    pub name: &'static str,
    /// The first partition that is inside the image.
    pub first: Option<Partition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Offset of the first byte.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
}

impl ImageContent {
    /// Recognises an image of `length` bytes. `read` fills a buffer from an offset, and returns the number of bytes
    /// that it has read.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub fn recognise(
        length: u64,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> io::Result<Self> {
        let mut image = ImageBytes { length, read: &mut read };
        for (name, magic) in CONTAINERS {
            if image.contains(magic, 0)? {
                return Ok(Self::Container(name));
            }
        }
        if let Some(footer) = length.checked_sub(512)
            && image.contains(VHD, footer)?
        {
            return Ok(Self::Container("VHD"));
        }
        for (name, at, magic) in FILE_SYSTEMS {
            if image.contains(magic, at)? {
                return Ok(Self::FileSystem(name));
            }
        }
        for sector in SECTORS {
            if image.contains(GPT, sector)? {
                let first = image.first_of_gpt(sector)?;
                return Ok(Self::Partitions(PartitionTable { name: "GPT", first }));
            }
        }
        let first = image.first_of_mbr()?;
        let table = |first| Self::Partitions(PartitionTable { name: "MBR", first: Some(first) });
        Ok(first.map_or(Self::Unknown, table))
    }
}

/// Returns the command that converts the container at `path` to a raw image.
pub fn conversion(path: &Path) -> String {
    format!("qemu-img convert -O raw {} {}", path.display(), path.with_extension("raw").display())
}

impl Partition {
    /// Returns the command that copies the partition of the image at `path` into a file.
    pub fn copy(&self, path: &Path) -> String {
        format!(
            "dd if={} of={} bs=1M iflag=skip_bytes,count_bytes skip={} count={}",
            path.display(),
            path.with_extension("partition").display(),
            self.start,
            self.length
        )
    }
}

/// An image that is read at given offsets.
struct ImageBytes<'r> {
    length: u64,
    read: &'r mut dyn FnMut(&mut [u8], u64) -> io::Result<usize>,
}

impl ImageBytes<'_> {
    /// Returns the `N` bytes at offset `at`; `None` if the image is too short.
    fn bytes<const N: usize>(&mut self, at: u64) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        let is_inside = at.checked_add(N as u64).is_some_and(|end| end <= self.length);
        Ok((is_inside && (self.read)(&mut bytes, at)? == N).then_some(bytes))
    }

    /// Returns whether the bytes at offset `at` are `magic`, which consists of up to eight bytes.
    fn contains(&mut self, magic: &[u8], at: u64) -> io::Result<bool> {
        let mut bytes = [0; 8];
        let Some(there) = bytes.get_mut(..magic.len()) else { return Ok(false) };
        let is_inside = at.checked_add(magic.len() as u64).is_some_and(|end| end <= self.length);
        Ok(is_inside && (self.read)(there, at)? == magic.len() && *there == *magic)
    }

    /// Returns the range of `sectors` sectors that starts at `first`, if it is inside the image.
    fn partition(&self, first: u64, sectors: u64, sector: u64) -> Option<Partition> {
        let start = first.checked_mul(sector).filter(|start| *start > 0)?;
        let length = sectors.checked_mul(sector).filter(|length| *length > 0)?;
        let end = start.checked_add(length)?;
        (end <= self.length).then_some(Partition { start, length })
    }

    /// Returns the first partition of a GPT (UEFI specification 2.10, 5.3).
    fn first_of_gpt(&mut self, sector: u64) -> io::Result<Option<Partition>> {
        let Some(header) = self.bytes::<GPT_HEADER>(sector)? else { return Ok(None) };
        let table = read_u64(&header, 72);
        let count = read_u32(&header, 80);
        let size = read_u32(&header, 84);
        for number in 0..u64::from(count.min(GPT_ENTRIES_MAX)) {
            let at = table.checked_mul(sector);
            let at = at.and_then(|at| at.checked_add(number * u64::from(size)));
            let entry = at.map(|at| self.bytes::<GPT_ENTRY>(at)).transpose()?.flatten();
            let Some(entry) = entry else { return Ok(None) };
            let is_used = entry.iter().take(16).any(|byte| *byte != 0);
            let first = read_u64(&entry, 32);
            let last = read_u64(&entry, 40);
            let sectors = last.checked_sub(first).and_then(|more| more.checked_add(1));
            let found = sectors.and_then(|sectors| self.partition(first, sectors, sector));
            if is_used && found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the first partition of a master boot record. A boot sector of a file system ends with the same bytes, so
    /// the record is accepted only if each of its entries is empty or valid.
    fn first_of_mbr(&mut self) -> io::Result<Option<Partition>> {
        if self.bytes(510)? != Some(MBR) {
            return Ok(None);
        }
        let mut found = None;
        for number in 0..MBR_ENTRIES {
            let at = MBR_ENTRIES_AT + number * MBR_ENTRY as u64;
            let Some(entry) = self.bytes::<MBR_ENTRY>(at)? else { return Ok(None) };
            let [status, _, _, _, kind, ..] = entry;
            if entry == [0; MBR_ENTRY] {
                continue;
            }
            let first = read_u32(&entry, 8);
            let sectors = read_u32(&entry, 12);
            let partition = self.partition(first.into(), sectors.into(), 512);
            if !matches!(status, 0 | 0x80) || kind == 0 || partition.is_none() {
                return Ok(None);
            }
            found = found.or(partition);
        }
        Ok(found)
    }
}

/// Returns the little-endian 32-bit number at offset `at`, or 0 if it extends past the end.
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(|rest| rest.first_chunk());
    number.map_or(0, |number| u32::from_le_bytes(*number))
}

/// Returns the little-endian 64-bit number at offset `at`, or 0 if it extends past the end.
fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(|rest| rest.first_chunk());
    number.map_or(0, |number| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::rng::{Rng, StreamKey};

    const MIB: u64 = 1 << 20;

    fn read(image: &[u8], bytes: &mut [u8], at: u64) -> usize {
        let rest = image.get(at as usize..).unwrap_or_default();
        let length = rest.len().min(bytes.len());
        bytes[..length].copy_from_slice(&rest[..length]);
        length
    }

    /// Recognises an image that consists of the bytes of `image`, followed by zeros up to `length`.
    fn content(image: &[u8], length: u64) -> ImageContent {
        ImageContent::recognise(length, |bytes, at| {
            bytes.fill(0);
            let there = (length - at).min(bytes.len() as u64) as usize;
            read(image, &mut bytes[..there], at);
            Ok(there)
        })
        .unwrap()
    }

    fn with(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let length = parts.iter().map(|(at, bytes)| at + bytes.len()).max().unwrap();
        let mut image = vec![0; length];
        parts.iter().for_each(|(at, bytes)| image[*at..at + bytes.len()].copy_from_slice(bytes));
        image
    }

    /// Returns an image with a GPT that contains an empty entry and one partition, which begins at 1 MiB.
    fn gpt(sector: usize, last: u64) -> Vec<u8> {
        let first = MIB / sector as u64;
        with(&[
            (sector, GPT),
            (sector + 72, &2u64.to_le_bytes()),
            (sector + 80, &128u32.to_le_bytes()),
            (sector + 84, &128u32.to_le_bytes()),
            (2 * sector + 128, &[7; 16]),
            (2 * sector + 128 + 32, &first.to_le_bytes()),
            (2 * sector + 128 + 40, &last.to_le_bytes()),
        ])
    }

    fn mbr(status: u8, kind: u8, first: u32, sectors: u32) -> Vec<u8> {
        with(&[
            (446 + 16, &[status]),
            (446 + 20, &[kind]),
            (446 + 24, &first.to_le_bytes()),
            (446 + 28, &sectors.to_le_bytes()),
            (510, &MBR),
        ])
    }

    fn table(name: &'static str, first: Option<Partition>) -> ImageContent {
        ImageContent::Partitions(PartitionTable { name, first })
    }

    #[test]
    fn containers_and_file_systems_are_recognised_at_their_positions_only() {
        for (name, magic) in CONTAINERS {
            assert_eq!(content(magic, MIB), ImageContent::Container(name));
            assert_eq!(content(&with(&[(4096, magic)]), MIB), ImageContent::Unknown);
        }
        let footer = with(&[(MIB as usize - 512, VHD)]);
        assert_eq!(content(&footer, MIB), ImageContent::Container("VHD"));
        assert_eq!(content(&footer, MIB + 512), ImageContent::Unknown);
        for (name, at, magic) in FILE_SYSTEMS {
            let image = with(&[(at as usize, magic)]);
            assert_eq!(content(&image, MIB), ImageContent::FileSystem(name));
            assert_eq!(content(&image, at + magic.len() as u64 - 1), ImageContent::Unknown);
        }
    }

    #[test]
    fn the_first_partition_is_found_and_copied_by_its_command() {
        for sector in [512, 4096] {
            let last = 3 * MIB / sector - 1;
            let first = Some(Partition { start: MIB, length: 2 * MIB });
            let image = gpt(sector as usize, last);
            assert_eq!(content(&image, 3 * MIB), table("GPT", first));
            // The partition extends past the end of the image.
            assert_eq!(content(&image, 3 * MIB - 1), table("GPT", None));
            // A file system on the whole disk replaces the table of an earlier use.
            let mut former = image.clone();
            former.resize(4096.max(former.len()), 0);
            former[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
            assert_eq!(content(&former, 3 * MIB), ImageContent::FileSystem("ext4"));
        }
        let first = Partition { start: MIB, length: 512 * 10 };
        assert_eq!(content(&mbr(0x80, 0x83, 2048, 10), 2 * MIB), table("MBR", Some(first)));
        assert_eq!(
            first.copy(Path::new("/a/disk.img")),
            "dd if=/a/disk.img of=/a/disk.partition bs=1M iflag=skip_bytes,count_bytes \
             skip=1048576 count=5120"
        );
        assert_eq!(conversion(Path::new("a.qcow2")), "qemu-img convert -O raw a.qcow2 a.raw");
    }

    #[test]
    fn impossible_tables_lack_partitions() {
        for (status, kind, first, sectors) in
            [(1, 0x83, 1, 1), (0, 0, 1, 1), (0, 0x83, 0, 1), (0, 0x83, 1, 0), (0, 0x83, !0, !0)]
        {
            assert_eq!(content(&mbr(status, kind, first, sectors), MIB), ImageContent::Unknown);
        }
        let sound = gpt(512, 4096);
        assert_eq!(
            content(&sound, 4 * MIB),
            table("GPT", Some(Partition { start: MIB, length: 2049 * 512 }))
        );
        for (at, number) in [
            (512 + 72, u64::MAX),
            (1024 + 128 + 32, 0),
            (1024 + 128 + 32, u64::MAX),
            (1024 + 128 + 40, u64::MAX),
        ] {
            let mut image = sound.clone();
            image[at..at + 8].copy_from_slice(&number.to_le_bytes());
            assert_eq!(content(&image, 4 * MIB), table("GPT", None), "{at}");
        }
    }

    #[test]
    fn hostile_images_are_recognised_within_bounds_and_with_few_reads() {
        let mut random = Rng::new(StreamKey::from_seed(38));
        let ext4 = with(&[(0x438, &[0x53, 0xef][..])]);
        let seeds = [gpt(512, 4096), gpt(4096, 700), mbr(0, 7, 63, 100), ext4];
        for _ in 0..20_000 {
            let mut image = seeds[random.below(4) as usize].clone();
            for _ in 0..random.below(8) {
                let at = random.below(image.len() as u64) as usize;
                image[at] = random.next_u64() as u8;
            }
            image.truncate(random.below(image.len() as u64 + 1) as usize);
            let length = image.len() as u64 + random.below(2) * random.below(4 * MIB);
            let mut reads = 0;
            let content = ImageContent::recognise(length, |bytes, at| {
                reads += 1;
                assert!(at + bytes.len() as u64 <= length);
                Ok(read(&image, bytes, at))
            })
            .unwrap();
            if let ImageContent::Partitions(PartitionTable { first: Some(first), .. }) = content {
                assert!(first.start > 0 && first.length > 0);
                assert!(first.start + first.length <= length);
            }
            assert!(reads < 160, "{reads} reads");
        }
        let error =
            ImageContent::recognise(MIB, |_, _| Err(io::ErrorKind::Other.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Other);
    }
}
