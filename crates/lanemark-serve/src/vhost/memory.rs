//! The memory of a guest, read and written through the files that back it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use super::message::MemoryRegion;

/// The memory of a guest.
#[derive(Debug, Default)]
pub(crate) struct GuestMemory(Vec<(MemoryRegion, File)>);

impl GuestMemory {
    /// Creates the memory from these regions, each with its file.
    pub(crate) fn new(regions: Vec<MemoryRegion>, files: Vec<OwnedFd>) -> Self {
        Self(regions.into_iter().zip(files.into_iter().map(File::from)).collect())
    }

    /// Translates an address in the other process's address space to an address in the guest's memory.
    pub(crate) fn guest_address(&self, user: u64, length: u64) -> io::Result<u64> {
        let found = self.0.iter().find_map(|(region, _)| {
            let inside = user.checked_sub(region.user)?;
            (inside.checked_add(length)? <= region.size).then_some(region.guest + inside)
        });
        found.ok_or_else(|| outside(user, length))
    }

    /// Reads `bytes` from the guest's address.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let (file, at) = self.place(address, bytes.len() as u64)?;
        file.read_exact_at(bytes, at)
    }

    /// Writes `bytes` to the guest's address.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let (file, at) = self.place(address, bytes.len() as u64)?;
        // A write must not extend a file that is shorter than its region.
        if file.metadata()?.len() < at + bytes.len() as u64 {
            return Err(outside(address, bytes.len() as u64));
        }
        file.write_all_at(bytes, at)
    }

    fn place(&self, address: u64, length: u64) -> io::Result<(&File, u64)> {
        let found = self.0.iter().find_map(|(region, file)| {
            let inside = address.checked_sub(region.guest)?;
            (inside.checked_add(length)? <= region.size).then_some((file, region.offset + inside))
        });
        found.ok_or_else(|| outside(address, length))
    }
}

fn outside(address: u64, length: u64) -> io::Error {
    io::Error::other(format!("{length} bytes at {address:#x} are not in the guest's memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_ends_where_its_region_and_its_file_do() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x3000).unwrap();
        let region = MemoryRegion { guest: 0x10_000, size: 0x4000, user: 0x70_000, offset: 0 };
        let memory = GuestMemory::new(vec![region], vec![file.try_clone().unwrap().into()]);
        memory.write(0x10_010, &[7; 4]).unwrap();
        let mut bytes = [0; 6];
        memory.read(0x10_00f, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 7, 7, 7, 7, 0]);
        assert_eq!(memory.guest_address(0x70_010, 4).unwrap(), 0x10_010);
        for (address, length) in [(0xffff, 1), (0x13_fff, 2), (0x13_000, 1), (u64::MAX, 8)] {
            assert!(memory.read(address, &mut vec![0; length]).is_err(), "{address:#x}");
            assert!(memory.write(address, &vec![0; length]).is_err(), "{address:#x}");
        }
        assert!(memory.guest_address(0x73_fff, 2).is_err());
        assert!(memory.guest_address(u64::MAX, u64::MAX).is_err());
        assert_eq!(file.metadata().unwrap().len(), 0x3000);
    }
}
