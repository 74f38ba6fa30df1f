//! Messages of the vhost-user protocol, as pure functions of bytes. They are limited in size, and checked before they
//! have any effect.

/// Length of a message's header.
pub const HEADER: usize = 12;
/// Maximum length of an accepted payload.
pub const PAYLOAD_MAX: u32 = 4096;
/// Maximum number of regions of a memory table.
pub const REGIONS_MAX: usize = 8;
/// Maximum length of a device description that may be requested.
pub const CONFIG_MAX: u32 = 256;
/// The feature for the negotiation of protocol features.
pub const F_PROTOCOL_FEATURES: u64 = 1 << 30;
/// The protocol feature for replies to messages that request a reply.
pub const P_REPLY_ACK: u64 = 1 << 3;
/// The protocol feature for a channel for messages from the device.
pub const P_CHANNEL: u64 = 1 << 5;
/// The protocol feature for reading the device's description.
pub const P_CONFIG: u64 = 1 << 9;
/// The protocol feature for notifications as messages.
pub const P_IN_BAND: u64 = 1 << 14;

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// Flag in the payload of a message about a notification: the message does not carry a file.
const NO_FILE: u64 = 1 << 8;
/// Number of the device's message that announces replies in a queue.
const CALL: u32 = 4;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// The number of the message.
    pub request: u32,
    /// Version and options.
    pub flags: u32,
    /// Length of the payload.
    pub size: u32,
}

/// A region of the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRegion {
    /// First address in the address space of the guest's devices.
    pub guest: u64,
    /// Length in bytes.
    pub size: u64,
    /// First address in the address space of the other end of the socket.
    pub user: u64,
    /// Offset of the first byte in the file.
    pub offset: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Queries the device's features.
    GetFeatures,
    /// Sets the features that are used.
    SetFeatures(u64),
    /// Queries the features of the protocol.
    GetProtocolFeatures,
    /// Sets the protocol features that are used.
    SetProtocolFeatures(u64),
    /// Changes nothing.
    Ignored,
    /// Sets the guest's memory; there is one file per region.
    SetMemory(Vec<MemoryRegion>),
    /// Sets the length of a queue.
    SetSize(u32, u32),
    /// Sets the addresses of a queue.
    SetAddresses {
        /// The queue.
        queue: u32,
        /// The table of descriptors.
        descriptors: u64,
        /// The ring of replies.
        used: u64,
        /// The ring of requests.
        available: u64,
    },
    /// Sets the next request of a queue.
    SetBase(u32, u32),
    /// Stops a queue, and queries its next request.
    GetBase(u32),
    /// Sets the file that the guest uses to announce requests, if there is one.
    SetKick(u32, bool),
    /// Sets the file that is used to notify the guest, if there is one.
    SetCall(u32, bool),
    /// Queries the number of queues.
    GetQueues,
    /// Enables or disables a queue.
    Enable(u32, bool),
    /// Sets the channel for messages from the device.
    SetChannel,
    /// Queries the first bytes of the device's description.
    GetConfig {
        /// Offset of the first byte.
        offset: u32,
        /// Number of bytes.
        size: u32,
        /// Flags, which the reply repeats.
        flags: u32,
    },
    /// Announces requests in a queue.
    Kick(u32),
}

/// A message that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// A header with a different version, or a reply without a request.
    #[error("a header with flags {0:#x}: expected version 1")]
    Flags(u32),
    /// A payload that is longer than the maximum.
    #[error("a payload of {0} bytes; the maximum is {PAYLOAD_MAX}")]
    Long(u32),
    /// A payload that does not match its message.
    #[error("message {request} does not match its payload of {size} bytes and {files} files")]
    Payload {
        /// The message.
        request: u32,
        /// Length of the payload.
        size: u32,
        /// Number of files in the message.
        files: usize,
    },
    /// A message that is not implemented here.
    #[error("message {0} is not known")]
    Unknown(u32),
}

impl MessageHeader {
    /// Reads the header of a message to the device.
    ///
    /// # Errors
    /// Returns an error if the header has a different version, belongs to a reply, or announces a payload that is too
    /// long.
    pub fn read(bytes: [u8; HEADER]) -> Result<Self, MessageError> {
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        let header = Self { request: number(0), flags: number(4), size: number(8) };
        if header.flags & !NEED_REPLY != VERSION {
            return Err(MessageError::Flags(header.flags));
        }
        match header.size <= PAYLOAD_MAX {
            true => Ok(header),
            false => Err(MessageError::Long(header.size)),
        }
    }

    /// Returns whether the other end waits for a reply to the message.
    pub fn needs_reply(&self) -> bool {
        self.flags & NEED_REPLY != 0
    }

    /// Returns the reply to the message, with this payload.
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        bytes_of(self.request, VERSION | REPLY, payload)
    }

    /// Reads the message after the header, which came with `files` files.
    ///
    /// # Errors
    /// Returns an error if the message is not known, or does not match its payload.
    pub fn message(&self, payload: &[u8], files: usize) -> Result<Message, MessageError> {
        let wrong = MessageError::Payload { request: self.request, size: self.size, files };
        let mut fields = FieldReader(payload);
        let mut read = || -> Option<Result<Message, MessageError>> {
            Some(Ok(match self.request {
                1 => Message::GetFeatures,
                2 => Message::SetFeatures(fields.u64()?),
                // Sets or resets the owner.
                3 | 4 => Message::Ignored,
                5 => {
                    let count = usize::try_from(fields.u32()?).ok()?;
                    let _padding = fields.u32()?;
                    if count == 0 || count > REGIONS_MAX || count != files {
                        return None;
                    }
                    let regions = (0..count).map(|_| region(&mut fields));
                    Message::SetMemory(regions.collect::<Option<_>>()?)
                }
                8 => Message::SetSize(fields.u32()?, fields.u32()?),
                9 => {
                    let (queue, _flags) = (fields.u32()?, fields.u32()?);
                    let (descriptors, used, available) =
                        (fields.u64()?, fields.u64()?, fields.u64()?);
                    Message::SetAddresses { queue, descriptors, used, available }
                }
                10 => Message::SetBase(fields.u32()?, fields.u32()?),
                11 => Message::GetBase(fields.u32()?),
                request @ 12..=14 => {
                    let number = fields.u64()?;
                    let (queue, has_file) = ((number & 0xff) as u32, number & NO_FILE == 0);
                    if has_file != (files == 1) {
                        return None;
                    }
                    match request {
                        12 => Message::SetKick(queue, has_file),
                        13 => Message::SetCall(queue, has_file),
                        // An error in a queue ends the connection.
                        _ => Message::Ignored,
                    }
                }
                15 => Message::GetProtocolFeatures,
                16 => Message::SetProtocolFeatures(fields.u64()?),
                17 => Message::GetQueues,
                18 => Message::Enable(fields.u32()?, fields.u32()? != 0),
                21 if files == 1 => Message::SetChannel,
                21 => return None,
                24 => {
                    let (offset, size, flags) = (fields.u32()?, fields.u32()?, fields.u32()?);
                    if offset.checked_add(size)? > CONFIG_MAX {
                        return None;
                    }
                    Message::GetConfig { offset, size, flags }
                }
                // The driver cannot set values here, because the cache mode is not offered.
                25 => Message::Ignored,
                35 => Message::Kick(fields.u32()?),
                other => return Some(Err(MessageError::Unknown(other))),
            }))
        };
        read().unwrap_or(Err(wrong))
    }
}

fn region(fields: &mut FieldReader<'_>) -> Option<MemoryRegion> {
    let (guest, size, user) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let region = MemoryRegion { guest, size, user, offset: fields.u64()? };
    let ends = [region.guest, region.user, region.offset].map(|start| start.checked_add(size));
    // Offsets in files are signed.
    let fits = ends.iter().all(Option::is_some) && ends[2]? <= i64::MAX as u64;
    (size > 0 && fits).then_some(region)
}

/// Returns the message that announces replies in a queue; the other end acknowledges the message.
pub fn call(queue: u32) -> Vec<u8> {
    let mut payload = queue.to_le_bytes().to_vec();
    payload.extend([0; 4]);
    bytes_of(CALL, VERSION | NEED_REPLY, &payload)
}

/// Returns whether a header belongs to the acknowledgement of a [`call`]. The payload of an acknowledgement is an
/// eight-byte number.
pub fn is_call_reply(header: [u8; HEADER]) -> bool {
    let mut wanted = [0; HEADER];
    wanted[0] = CALL as u8;
    wanted[4] = (VERSION | REPLY) as u8;
    wanted[8] = 8;
    let version = header[4] & VERSION_MASK as u8 == VERSION as u8;
    version && header == wanted
}

fn bytes_of(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let size = payload.len() as u32;
    let mut bytes: Vec<u8> = [request, flags, size].iter().flat_map(|n| n.to_le_bytes()).collect();
    bytes.extend(payload);
    bytes
}

/// Reads numbers from the start of a byte string; returns `None` if too few bytes are left.
pub(crate) struct FieldReader<'b>(pub(crate) &'b [u8]);

impl FieldReader<'_> {
    pub(crate) fn u16(&mut self) -> Option<u16> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*front))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*front))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*front))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: u32, payload: &[u8], files: usize) -> Result<Message, MessageError> {
        let bytes = bytes_of(request, VERSION, payload);
        MessageHeader::read(*bytes.first_chunk().unwrap())?.message(payload, files)
    }

    fn table(regions: &[[u64; 4]]) -> Vec<u8> {
        let mut bytes = (regions.len() as u64).to_le_bytes().to_vec();
        bytes.extend(regions.iter().flatten().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    #[test]
    fn a_header_of_another_version_or_with_a_long_payload_is_refused() {
        for (flags, size, wanted) in [
            (VERSION, 0, Ok(())),
            (VERSION | NEED_REPLY, PAYLOAD_MAX, Ok(())),
            (VERSION | REPLY, 0, Err(MessageError::Flags(5))),
            (2, 0, Err(MessageError::Flags(2))),
            (VERSION, PAYLOAD_MAX + 1, Err(MessageError::Long(PAYLOAD_MAX + 1))),
        ] {
            let mut bytes = bytes_of(1, flags, &[]);
            bytes[8..].copy_from_slice(&u32::to_le_bytes(size));
            assert_eq!(MessageHeader::read(*bytes.first_chunk().unwrap()).map(|_| ()), wanted);
        }
    }

    #[test]
    fn a_memory_table_has_a_file_for_each_region_and_addresses_that_do_not_wrap() {
        let good = [0x1000, 0x2000, 0x7000, 0];
        let region = MemoryRegion { guest: 0x1000, size: 0x2000, user: 0x7000, offset: 0 };
        assert_eq!(read(5, &table(&[good]), 1), Ok(Message::SetMemory(vec![region])));
        for (regions, files) in [
            (vec![good], 0),
            (vec![good], 2),
            (vec![], 0),
            (vec![good; 9], 9),
            (vec![[u64::MAX, 2, 0, 0]], 1),
            (vec![[0, 2, u64::MAX, 0]], 1),
            (vec![[0, 2, 0, i64::MAX as u64]], 1),
            (vec![[0, 0, 0, 0]], 1),
        ] {
            let error = read(5, &table(&regions), files).unwrap_err();
            assert!(matches!(error, MessageError::Payload { request: 5, .. }), "{regions:x?}");
        }
        assert!(read(5, &table(&[good])[..30], 1).is_err());
    }

    #[test]
    fn every_message_without_its_payload_is_refused_or_needs_none() {
        let none = [1, 3, 4, 15, 17, 25];
        for request in 0..100 {
            assert_eq!(read(request, &[], 0).is_ok(), none.contains(&request), "{request}");
        }
        assert_eq!(read(99, &[], 0), Err(MessageError::Unknown(99)));
        assert!(read(24, &[0; 12], 0).is_ok());
        assert!(read(24, &[0xff; 12], 0).is_err());
        assert!(read(12, &0u64.to_le_bytes(), 0).is_err());
        assert_eq!(read(12, &256u64.to_le_bytes(), 0), Ok(Message::SetKick(0, false)));
    }

    #[test]
    fn a_call_is_acknowledged_by_its_own_reply_alone() {
        let call = call(0);
        assert!(!is_call_reply(*call.first_chunk().unwrap()));
        let header = MessageHeader { request: CALL, flags: VERSION, size: 8 };
        assert!(is_call_reply(*header.reply(&[0; 8]).first_chunk().unwrap()));
        assert!(!is_call_reply(*header.reply(&[0; 4]).first_chunk().unwrap()));
    }

    #[test]
    fn the_configuration_is_read_up_to_its_end_and_not_beyond() {
        for (offset, size, is_inside) in [
            (0, 0, true),
            (0, CONFIG_MAX, true),
            (CONFIG_MAX - 8, 8, true),
            (CONFIG_MAX, 0, true),
            (0, CONFIG_MAX + 1, false),
            (CONFIG_MAX, 1, false),
            (u32::MAX, 1, false),
        ] {
            let payload = [offset, size, 0].map(u32::to_le_bytes).concat();
            let message = read(24, &payload, 0);
            assert_eq!(message.is_ok(), is_inside, "{size} from {offset}: {message:?}");
        }
    }
}
