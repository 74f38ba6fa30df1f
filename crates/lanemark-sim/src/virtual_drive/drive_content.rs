//! The data of a simulated drive, in memory. Pages that were never written read as zeroes and take no memory.

use std::collections::BTreeMap;

/// Length of a page in bytes.
const PAGE: u64 = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct DriveContent {
    pages: BTreeMap<u64, Vec<u8>>,
}

impl DriveContent {
    /// Returns the `length` bytes at `offset`.
    pub(super) fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length as usize);
        for (number, from, to) in pieces(offset, length) {
            match self.pages.get(&number) {
                Some(page) => bytes.extend_from_slice(&page[from..to]),
                None => bytes.resize(bytes.len() + to - from, 0),
            }
        }
        bytes
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for (number, from, to) in pieces(offset, bytes.len() as u64) {
            let (piece, after) = rest.split_at(to - from);
            let page = self.pages.entry(number).or_insert_with(|| vec![0; PAGE as usize]);
            page[from..to].copy_from_slice(piece);
            rest = after;
        }
    }

    /// Makes a range read as zeroes. The time depends on the written pages in the range, not on its length.
    pub(super) fn zero(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        let mut number = offset / PAGE;
        while let Some((&written, page)) = self.pages.range_mut(number..end.div_ceil(PAGE)).next() {
            let start = written * PAGE;
            let from = offset.max(start) - start;
            let to = end.min(start + PAGE) - start;
            page[from as usize..to as usize].fill(0);
            if to - from == PAGE {
                self.pages.remove(&written);
            }
            number = written + 1;
        }
    }
}

/// Returns the part of each page in a range: the page's number, and the first and last offset in the page.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + length;
    (offset / PAGE..end.div_ceil(PAGE)).map(move |number| {
        let start = number * PAGE;
        let from = offset.max(start) - start;
        let to = end.min(start + PAGE) - start;
        (number, from as usize, to as usize)
    })
}
