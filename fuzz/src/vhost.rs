//! Messages from a virtual machine. The size of every accepted message is limited, and every accepted request is within
//! the device.

use lanemark_serve::exact::calendar;
use lanemark_serve::vhost::block::{self, BlockRequest};
use lanemark_serve::vhost::message::{CONFIG_MAX, HEADER, Message, MessageHeader, REGIONS_MAX};

const SIZE: u64 = 1 << 30;

pub(crate) fn read(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk() {
        let _ = calendar::read(*first);
    }
    if let Ok((request, (offset, length))) = block::read(bytes, 16, 4096, SIZE) {
        assert!(
            matches!(request, BlockRequest::Flush | BlockRequest::Identity)
                || offset + length <= SIZE
        );
    }
    let mut rest = bytes;
    while let Some((header, after)) = rest.split_first_chunk::<HEADER>() {
        let Ok(header) = MessageHeader::read(*header) else { return };
        let Some((payload, after)) = after.split_at_checked(header.size as usize) else { return };
        match header.message(payload, (header.flags >> 3) as usize & 1) {
            Ok(Message::SetMemory(regions)) => {
                assert!(regions.len() <= REGIONS_MAX);
                for region in regions {
                    assert!(region.guest.checked_add(region.size).is_some());
                }
            }
            Ok(Message::GetConfig { offset, size, .. }) => assert!(offset + size <= CONFIG_MAX),
            _ => {}
        }
        rest = after;
    }
}
