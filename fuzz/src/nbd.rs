//! The bytes of a client, from its flags to its last request. The length of every reply is limited, and every accepted
//! command is within the export.

use lanemark_serve::nbd::negotiation::{
    HEADER, Negotiation, NegotiationStep, OPTION_MAX, OptionHeader,
};
use lanemark_serve::nbd::transmission::{NbdCommand, ReplyWriter, RequestHeader};
use lanemark_serve::nbd::{Export, NegotiatedExport, PAYLOAD_MAX};

const SIZE: u64 = 1 << 30;

pub(crate) fn read(bytes: &[u8]) {
    let name = "lanemark".to_owned();
    let export = Export { description: name.clone(), name, size: SIZE, is_rotational: false };
    let Some((flags, mut rest)) = bytes.split_first_chunk::<4>() else { return };
    let Some(mut negotiation) = Negotiation::new(&export, u32::from_be_bytes(*flags)) else {
        return;
    };
    let mut answer = Vec::new();
    let agreed: NegotiatedExport = loop {
        let Some((header, after)) = rest.split_first_chunk::<HEADER>() else { return };
        let Some(OptionHeader { option, length }) = OptionHeader::read(header) else { return };
        if length > OPTION_MAX {
            return;
        }
        let Some((data, after)) = after.split_at_checked(length as usize) else { return };
        rest = after;
        answer.clear();
        let step = negotiation.answer(option, data, &mut answer);
        assert!(answer.len() < 4096, "every reply is short");
        match step {
            NegotiationStep::Next => {}
            NegotiationStep::Transmit(agreed) => break agreed,
            NegotiationStep::End => return,
        }
    };
    let length = RequestHeader::length_of(agreed.replies);
    let writer = ReplyWriter::new(agreed.replies);
    while let Some((header, after)) = rest.split_at_checked(length) {
        let Some(header) = RequestHeader::read(header, agreed.replies) else { return };
        answer.clear();
        match header.command(&agreed, SIZE) {
            Ok(NbdCommand::Disconnect) => return,
            Ok(command) => {
                let end = header.offset.checked_add(header.length).unwrap();
                assert!(end <= SIZE);
                if let NbdCommand::Read | NbdCommand::Write { .. } = command {
                    assert!(header.length <= PAYLOAD_MAX);
                }
                writer.before_data(&header, &mut answer);
                writer.write_success(&header, &mut answer);
            }
            Err(error) => writer.write_failure(&header, error, &mut answer),
        }
        assert!(answer.len() < 256);
        let Some(after) = usize::try_from(header.payload()).ok().and_then(|has| after.get(has..))
        else {
            return;
        };
        rest = after;
    }
}
