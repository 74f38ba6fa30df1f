//! Fixed newstyle negotiation: a client's options, and the reply to each option.

use super::{
    BLOCK_MIN, BLOCK_PREFERRED, CONTEXT, CONTEXT_NAME, Export, FieldReader, NegotiatedExport,
    PAYLOAD_MAX, ReplyForm,
};

/// Beginning of a server's greeting.
const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
/// Beginning of every option.
const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
/// Beginning of every reply to an option.
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Handshake flag: fixed newstyle.
const FIXED_NEWSTYLE: u16 = 1;
/// Handshake flag: no zeroes follow the reply to `NBD_OPT_EXPORT_NAME`.
const NO_ZEROES: u16 = 2;
pub const GREETING: usize = 18;
/// Length of an option's header.
pub const HEADER: usize = 16;
/// Maximum length of an option's data that is read. Names have up to 4,096 bytes.
pub const OPTION_MAX: u32 = 16 << 10;
/// Maximum length of the name of an export or context.
const NAME_MAX: usize = 4096;
/// Maximum number of queries for metadata contexts in one option.
const QUERIES_MAX: u32 = 64;

// Options.
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;
const EXTENDED_HEADERS: u32 = 11;

// Replies to options.
const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFORMATION: u32 = 3;
const META_CONTEXT: u32 = 4;
const ERROR: u32 = 1 << 31;
const UNSUPPORTED: u32 = ERROR | 1;
const INVALID: u32 = ERROR | 3;
const UNKNOWN: u32 = ERROR | 6;
const TOO_BIG: u32 = ERROR | 9;
const EXTENDED_REQUIRED: u32 = ERROR | 10;

// Pieces of information.
const OF_EXPORT: u16 = 0;
const OF_NAME: u16 = 1;
const OF_DESCRIPTION: u16 = 2;
const OF_BLOCK_SIZE: u16 = 3;

// Transmission flags.
const HAS_FLAGS: u16 = 1;
const SEND_FLUSH: u16 = 1 << 2;
const SEND_FUA: u16 = 1 << 3;
const ROTATIONAL: u16 = 1 << 4;
const SEND_TRIM: u16 = 1 << 5;
const SEND_WRITE_ZEROES: u16 = 1 << 6;
const SEND_DF: u16 = 1 << 7;
const CAN_MULTI_CONN: u16 = 1 << 8;
const SEND_CACHE: u16 = 1 << 10;
const SEND_FAST_ZERO: u16 = 1 << 11;

pub fn greeting() -> [u8; GREETING] {
    let mut bytes = [0; GREETING];
    bytes[..8].copy_from_slice(&NBDMAGIC.to_be_bytes());
    bytes[8..16].copy_from_slice(&IHAVEOPT.to_be_bytes());
    bytes[16..].copy_from_slice(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    bytes
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHeader {
    pub option: u32,
    /// Length of the option's data.
    pub length: u32,
}

impl OptionHeader {
    /// Reads a header; returns `None` if it is not the header of an option.
    pub fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let mut fields = FieldReader(bytes);
        let magic = fields.u64()?;
        let option = fields.u32()?;
        let length = fields.u32()?;
        (magic == IHAVEOPT).then_some(Self { option, length })
    }
}

/// The step after an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegotiationStep {
    /// The next option follows.
    Next,
    /// Transmission begins, with these agreed parameters.
    Transmit(NegotiatedExport),
    /// The connection ends.
    End,
}

#[derive(Clone, Debug)]
pub struct Negotiation<'e> {
    export: &'e Export,
    agreed: NegotiatedExport,
    no_zeroes: bool,
    /// Name of the export for which contexts were agreed.
    context_for: Option<Vec<u8>>,
}

impl<'e> Negotiation<'e> {
    /// Starts the negotiation of `export` with a client that sent these flags; returns `None` if a flag is unknown.
    pub fn new(export: &'e Export, client_flags: u32) -> Option<Self> {
        let known = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
        if client_flags & !known != 0 || client_flags & u32::from(FIXED_NEWSTYLE) == 0 {
            return None;
        }
        let no_zeroes = client_flags & u32::from(NO_ZEROES) != 0;
        Some(Self { export, agreed: NegotiatedExport::default(), no_zeroes, context_for: None })
    }

    /// Answers an option whose data is longer than the maximum.
    pub fn too_long(option: u32, answer: &mut Vec<u8>) {
        refuse(answer, option, TOO_BIG, "the option is too long");
    }

    pub fn answer(&mut self, option: u32, data: &[u8], answer: &mut Vec<u8>) -> NegotiationStep {
        match option {
            EXPORT_NAME => return self.export_name(data, answer),
            ABORT => {
                reply(answer, option, ACK, &[]);
                return NegotiationStep::End;
            }
            LIST if data.is_empty() => {
                let name = self.export.name.as_bytes();
                let mut payload = (name.len() as u32).to_be_bytes().to_vec();
                payload.extend_from_slice(name);
                payload.extend_from_slice(self.export.description.as_bytes());
                reply(answer, option, SERVER, &payload);
                reply(answer, option, ACK, &[]);
            }
            INFO | GO => return self.go(option, data, answer),
            STRUCTURED_REPLY if !data.is_empty() => write_invalid_reply(answer, option),
            STRUCTURED_REPLY if self.agreed.replies == ReplyForm::Extended => {
                refuse(answer, option, EXTENDED_REQUIRED, "headers are already extended");
            }
            STRUCTURED_REPLY => {
                self.agreed.replies = ReplyForm::Structured;
                reply(answer, option, ACK, &[]);
            }
            EXTENDED_HEADERS if !data.is_empty() => write_invalid_reply(answer, option),
            EXTENDED_HEADERS => {
                self.agreed.replies = ReplyForm::Extended;
                // Contexts that were agreed for another form of headers must be negotiated again.
                self.context_for = None;
                reply(answer, option, ACK, &[]);
            }
            LIST_META_CONTEXT | SET_META_CONTEXT => self.contexts(option, data, answer),
            LIST => write_invalid_reply(answer, option),
            _ => refuse(answer, option, UNSUPPORTED, "this server does not know the option"),
        }
        NegotiationStep::Next
    }

    fn is_export(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    fn export_name(&mut self, name: &[u8], answer: &mut Vec<u8>) -> NegotiationStep {
        // The protocol does not provide an error reply to this option, so the connection ends.
        if !self.is_export(name) {
            return NegotiationStep::End;
        }
        answer.extend_from_slice(&self.export.size.to_be_bytes());
        answer.extend_from_slice(&self.flags().to_be_bytes());
        if !self.no_zeroes {
            answer.extend_from_slice(&[0; 124]);
        }
        NegotiationStep::Transmit(self.agreed_for(name))
    }

    fn go(&mut self, option: u32, data: &[u8], answer: &mut Vec<u8>) -> NegotiationStep {
        let Some((name, requested)) = go_request(data) else {
            write_invalid_reply(answer, option);
            return NegotiationStep::Next;
        };
        if !self.is_export(name) {
            let payload = format!(
                "the only export is `{}`, which the empty name also selects",
                self.export.name
            );
            refuse(answer, option, UNKNOWN, &payload);
            return NegotiationStep::Next;
        }
        let mut payload = OF_EXPORT.to_be_bytes().to_vec();
        payload.extend_from_slice(&self.export.size.to_be_bytes());
        payload.extend_from_slice(&self.flags().to_be_bytes());
        reply(answer, option, INFORMATION, &payload);
        let Export { name: own, description, .. } = self.export;
        for (kind, text) in [(OF_NAME, own), (OF_DESCRIPTION, description)] {
            if requested.contains(&kind) {
                let mut payload = kind.to_be_bytes().to_vec();
                payload.extend_from_slice(text.as_bytes());
                reply(answer, option, INFORMATION, &payload);
            }
        }
        // The block sizes are sent to every client; a client that requested them respects them.
        let mut payload = OF_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [BLOCK_MIN, BLOCK_PREFERRED, PAYLOAD_MAX as u32] {
            payload.extend_from_slice(&size.to_be_bytes());
        }
        reply(answer, option, INFORMATION, &payload);
        reply(answer, option, ACK, &[]);
        match option {
            GO => {
                self.agreed.knows_blocks = requested.contains(&OF_BLOCK_SIZE);
                NegotiationStep::Transmit(self.agreed_for(name))
            }
            _ => NegotiationStep::Next,
        }
    }

    fn contexts(&mut self, option: u32, data: &[u8], answer: &mut Vec<u8>) {
        if option == SET_META_CONTEXT {
            self.context_for = None;
        }
        if self.agreed.replies == ReplyForm::Simple {
            return refuse(answer, option, INVALID, "negotiate structured replies first");
        }
        let Some((name, queries)) = queries(data) else {
            return write_invalid_reply(answer, option);
        };
        if !self.is_export(name) {
            return refuse(answer, option, UNKNOWN, "there is no such export");
        }
        let lists = option == LIST_META_CONTEXT;
        let wanted = queries
            .iter()
            .any(|query| *query == CONTEXT_NAME.as_bytes() || lists && *query == b"base:");
        if wanted || lists && queries.is_empty() {
            let number = if lists { 0 } else { CONTEXT };
            let mut payload = number.to_be_bytes().to_vec();
            payload.extend_from_slice(CONTEXT_NAME.as_bytes());
            reply(answer, option, META_CONTEXT, &payload);
            if !lists {
                self.context_for = Some(name.to_vec());
            }
        }
        reply(answer, option, ACK, &[]);
    }

    /// Returns the agreed parameters of the transmission for the export `name`.
    fn agreed_for(&self, name: &[u8]) -> NegotiatedExport {
        NegotiatedExport { has_context: self.context_for.as_deref() == Some(name), ..self.agreed }
    }

    fn flags(&self) -> u16 {
        let mut flags = HAS_FLAGS
            | SEND_FLUSH
            | SEND_FUA
            | SEND_TRIM
            | SEND_WRITE_ZEROES
            | CAN_MULTI_CONN
            | SEND_CACHE
            | SEND_FAST_ZERO;
        if self.export.is_rotational {
            flags |= ROTATIONAL;
        }
        if self.agreed.replies != ReplyForm::Simple {
            flags |= SEND_DF;
        }
        flags
    }
}

/// Reads the name and the requested pieces of information in `NBD_OPT_GO`.
fn go_request(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut fields = FieldReader(data);
    let name = fields.text().filter(|name| name.len() <= NAME_MAX)?;
    let count = fields.u16()?;
    if fields.0.len() != usize::from(count) * 2 {
        return None;
    }
    let requested: Option<Vec<u16>> = (0..count).map(|_| fields.u16()).collect();
    Some((name, requested?))
}

/// Reads the name and the queries in an option about metadata contexts.
fn queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = FieldReader(data);
    let name = fields.text().filter(|name| name.len() <= NAME_MAX)?;
    let count = fields.u32().filter(|count| *count <= QUERIES_MAX)?;
    let queries: Option<Vec<&[u8]>> = (0..count).map(|_| fields.text()).collect();
    fields.0.is_empty().then_some((name, queries?))
}

fn reply(answer: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    answer.extend_from_slice(&REPLY_MAGIC.to_be_bytes());
    answer.extend_from_slice(&option.to_be_bytes());
    answer.extend_from_slice(&kind.to_be_bytes());
    answer.extend_from_slice(&(data.len() as u32).to_be_bytes());
    answer.extend_from_slice(data);
}

fn refuse(answer: &mut Vec<u8>, option: u32, kind: u32, text: &str) {
    reply(answer, option, kind, text.as_bytes());
}

fn write_invalid_reply(answer: &mut Vec<u8>, option: u32) {
    refuse(answer, option, INVALID, "the option's data does not follow the protocol");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export() -> Export {
        Export {
            name: "drive".to_owned(),
            description: "a drive".to_owned(),
            size: 1 << 30,
            is_rotational: false,
        }
    }

    /// Returns the types and data of the replies to an option, and the next step.
    fn ask(
        negotiation: &mut Negotiation<'_>,
        option: u32,
        data: &[u8],
    ) -> (Vec<(u32, Vec<u8>)>, NegotiationStep) {
        let mut bytes = Vec::new();
        let step = negotiation.answer(option, data, &mut bytes);
        let mut fields = FieldReader(&bytes);
        let mut replies = Vec::new();
        while !fields.0.is_empty() {
            assert_eq!(fields.u64(), Some(REPLY_MAGIC));
            assert_eq!(fields.u32(), Some(option));
            let kind = fields.u32().unwrap();
            replies.push((kind, fields.text().unwrap().to_vec()));
        }
        (replies, step)
    }

    fn kinds(negotiation: &mut Negotiation<'_>, option: u32, data: &[u8]) -> Vec<u32> {
        ask(negotiation, option, data).0.into_iter().map(|(kind, _)| kind).collect()
    }

    fn go(name: &str, infos: &[u16]) -> Vec<u8> {
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(&(infos.len() as u16).to_be_bytes());
        infos.iter().for_each(|info| data.extend_from_slice(&info.to_be_bytes()));
        data
    }

    fn context(name: &str, queries: &[&str]) -> Vec<u8> {
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(&(queries.len() as u32).to_be_bytes());
        for query in queries {
            data.extend_from_slice(&(query.len() as u32).to_be_bytes());
            data.extend_from_slice(query.as_bytes());
        }
        data
    }

    #[test]
    fn the_greeting_is_the_documents() {
        assert_eq!(&greeting(), b"NBDMAGICIHAVEOPT\0\x03");
    }

    #[test]
    fn only_known_client_flags_are_taken() {
        let export = export();
        let taken = |flags| Negotiation::new(&export, flags).is_some();
        assert_eq!([0, 1, 2, 3, 5, 1 << 31].map(taken), [false, true, false, true, false, false]);
    }

    #[test]
    fn go_reports_the_export_and_its_block_sizes_and_begins() {
        let export = export();
        let mut negotiation = Negotiation::new(&export, 3).unwrap();
        let (replies, step) = ask(&mut negotiation, GO, &go("", &[OF_BLOCK_SIZE, OF_NAME]));
        let kinds: Vec<u32> = replies.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [INFORMATION, INFORMATION, INFORMATION, ACK]);
        assert_eq!(replies[0].1[2..10], (1u64 << 30).to_be_bytes());
        assert_eq!(replies[1].1[2..], *b"drive");
        assert_eq!(replies[2].1[2..], [0, 0, 2, 0, 0, 0, 16, 0, 2, 0, 0, 0]);
        let agreed = NegotiatedExport { knows_blocks: true, ..NegotiatedExport::default() };
        assert_eq!(step, NegotiationStep::Transmit(agreed));
    }

    #[test]
    fn info_reports_and_does_not_begin_and_unknown_exports_are_refused() {
        let export = export();
        let mut negotiation = Negotiation::new(&export, 3).unwrap();
        assert_eq!(ask(&mut negotiation, INFO, &go("drive", &[])).1, NegotiationStep::Next);
        assert_eq!(kinds(&mut negotiation, GO, &go("other", &[])), [UNKNOWN]);
        assert_eq!(ask(&mut negotiation, EXPORT_NAME, b"other").1, NegotiationStep::End);
        assert_eq!(kinds(&mut negotiation, LIST, &[]), [SERVER, ACK]);
        assert_eq!(kinds(&mut negotiation, 5, &[]), [UNSUPPORTED]);
        assert_eq!(
            ask(&mut negotiation, ABORT, &[]),
            (vec![(ACK, Vec::new())], NegotiationStep::End)
        );
    }

    #[test]
    fn export_name_has_zeroes_unless_the_client_does_without() {
        let export = export();
        for (flags, length) in [(1, 134), (3, 10)] {
            let mut bytes = Vec::new();
            let step =
                Negotiation::new(&export, flags).unwrap().answer(EXPORT_NAME, b"", &mut bytes);
            assert_eq!(
                (bytes.len(), step),
                (length, NegotiationStep::Transmit(NegotiatedExport::default()))
            );
        }
    }

    #[test]
    fn a_context_is_agreed_only_for_its_requested_name() {
        let export = export();
        let mut negotiation = Negotiation::new(&export, 3).unwrap();
        assert_eq!(
            kinds(&mut negotiation, SET_META_CONTEXT, &context("", &[CONTEXT_NAME])),
            [INVALID]
        );
        assert_eq!(kinds(&mut negotiation, STRUCTURED_REPLY, &[]), [ACK]);
        assert_eq!(
            kinds(&mut negotiation, LIST_META_CONTEXT, &context("", &[])),
            [META_CONTEXT, ACK]
        );
        let request = context("", &["other:x", CONTEXT_NAME]);
        assert_eq!(kinds(&mut negotiation, SET_META_CONTEXT, &request), [META_CONTEXT, ACK]);
        assert!(
            !negotiation.agreed_for(b"drive").has_context
                && negotiation.agreed_for(b"").has_context
        );
        assert_eq!(kinds(&mut negotiation, SET_META_CONTEXT, &context("", &["qemu:x"])), [ACK]);
        assert!(!negotiation.agreed_for(b"").has_context);
    }

    #[test]
    fn extended_headers_are_kept_once_agreed() {
        let export = export();
        let mut negotiation = Negotiation::new(&export, 3).unwrap();
        assert_eq!(kinds(&mut negotiation, EXTENDED_HEADERS, &[1]), [INVALID]);
        assert_eq!(kinds(&mut negotiation, EXTENDED_HEADERS, &[]), [ACK]);
        assert_eq!(kinds(&mut negotiation, STRUCTURED_REPLY, &[]), [EXTENDED_REQUIRED]);
        assert_eq!(negotiation.agreed.replies, ReplyForm::Extended);
    }

    #[test]
    fn data_that_is_cut_short_or_too_long_is_invalid() {
        let export = export();
        let mut negotiation = Negotiation::new(&export, 3).unwrap();
        kinds(&mut negotiation, STRUCTURED_REPLY, &[]);
        let cases =
            [(GO, go("drive", &[3])), (SET_META_CONTEXT, context("drive", &[CONTEXT_NAME]))];
        for (option, good) in cases {
            for cut in 0..good.len() {
                assert_eq!(
                    kinds(&mut negotiation, option, &good[..cut]),
                    [INVALID],
                    "{option} {cut}"
                );
            }
            let longer = [good, vec![0]].concat();
            assert_eq!(kinds(&mut negotiation, option, &longer), [INVALID]);
        }
        assert_eq!(kinds(&mut negotiation, GO, &go(&"x".repeat(5000), &[])), [INVALID]);
    }
}
