//! Messages of the vhost-user protocol on a socket, with the files that accompany them.

use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::message::{HEADER, Message, MessageHeader, REGIONS_MAX};

/// A received message, with its files.
pub(crate) struct ReceivedMessage {
    pub(crate) header: MessageHeader,
    pub(crate) message: Message,
    pub(crate) files: Vec<OwnedFd>,
}

/// Waits for the next message; returns `None` if the other end has closed the connection.
///
/// # Errors
/// Returns an error if the connection fails or the message breaks the protocol; the connection is then unusable.
pub(crate) fn receive(stream: &UnixStream) -> io::Result<Option<ReceivedMessage>> {
    let (mut bytes, mut files) = ([0; HEADER], Vec::new());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(REGIONS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = loop {
        let slices = &mut [IoSliceMut::new(&mut bytes)];
        match recvmsg(stream, slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?.bytes,
        }
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            files.extend(came);
        }
    }
    if read == 0 {
        return Ok(None);
    }
    (&*stream).read_exact(&mut bytes[read..])?;
    let header = MessageHeader::read(bytes).map_err(io::Error::other)?;
    let mut payload = vec![0; header.size as usize];
    (&*stream).read_exact(&mut payload)?;
    let message = header.message(&payload, files.len()).map_err(io::Error::other)?;
    Ok(Some(ReceivedMessage { header, message, files }))
}

/// Sends a reply to a message that requests one: the `payload`, or a success code.
pub(crate) fn answer(
    stream: &UnixStream,
    header: &MessageHeader,
    payload: Option<Vec<u8>>,
) -> io::Result<()> {
    match payload {
        Some(payload) => (&*stream).write_all(&header.reply(&payload)),
        None if header.needs_reply() => (&*stream).write_all(&header.reply(&[0; 8])),
        None => Ok(()),
    }
}
