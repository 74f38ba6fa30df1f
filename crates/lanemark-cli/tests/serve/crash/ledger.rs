//! The history of each sector of an export, and the contents that it permits after a crash, a kill or a power cut.
//!
//! The ledger is independent of `lanemark verify`: it shares neither code nor format with the product.

use std::fmt;

use lanemark_schema::rng::{Rng, StreamKey};

pub(super) const SECTOR: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Zeros,
    /// The bytes that the write with this number writes to the sector; 0 is the image.
    Of(u64),
}

impl Content {
    /// Returns the bytes of this content at `sector`.
    pub(super) fn bytes(self, sector: u64) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        if let Self::Of(write) = self {
            let mut random = Rng::new(StreamKey::from_seed(sector << 40 | write));
            bytes
                .chunks_mut(8)
                .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
        }
        bytes
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SectorWrite {
    pub(super) content: Content,
    /// Instant at which the success was received; `None` if the outcome is unknown.
    pub(super) acknowledged: Option<u64>,
    /// Whether the acknowledgement promises that the data is stored (FUA).
    pub(super) is_stored: bool,
}

/// The event whose damage is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The server was killed: all acknowledged data must be present.
    Kill,
    /// The power of the host or of the drive failed: all flushed data must be present.
    PowerLoss,
}

/// The sectors of an export.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Content of each sector before its first write since the last event.
    before: Vec<Content>,
    writes: Vec<Vec<SectorWrite>>,
    /// The latest instant at which a successful flush was submitted.
    flushed: u64,
}

/// The outcome of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    /// Acknowledged sectors that had to be present.
    pub(super) required: u64,
    /// Acknowledged sectors that are absent, which the event permits.
    pub(super) unflushed_lost: u64,
    /// Sectors whose promised data is absent.
    pub(super) lost: u64,
    /// Sectors with bytes that no client wrote there.
    pub(super) foreign: u64,
}

impl std::ops::AddAssign for Judgement {
    fn add_assign(&mut self, other: Self) {
        self.required += other.required;
        self.unflushed_lost += other.unflushed_lost;
        self.lost += other.lost;
        self.foreign += other.foreign;
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { required, unflushed_lost, lost, foreign } = self;
        write!(
            f,
            "{required} promised sectors: {lost} lost; {unflushed_lost} others lost; {foreign} sectors with foreign bytes"
        )
    }
}

impl Ledger {
    /// Creates the ledger of an export whose first `image` sectors are the image; the others contain zeros.
    pub(super) fn new(sectors: u64, image: u64) -> Self {
        let content = |sector| if sector < image { Content::Of(0) } else { Content::Zeros };
        Self {
            before: (0..sectors).map(content).collect(),
            writes: vec![Vec::new(); sectors as usize],
            flushed: 0,
        }
    }

    /// Adds a write to one sector. The writes to a sector are added in the order in which they were submitted.
    pub(super) fn add(&mut self, sector: u64, write: SectorWrite) {
        self.writes[sector as usize].push(write);
    }

    /// Adds a flush that succeeded and was submitted at `instant`.
    pub(super) fn add_flush(&mut self, instant: u64) {
        self.flushed = self.flushed.max(instant);
    }

    /// Compares the export's bytes with the histories, and begins new histories with them.
    pub(super) fn judge(&mut self, bytes: &[u8], event: Event) -> Judgement {
        let mut judgement = Judgement::default();
        let sectors = bytes.chunks(SECTOR).zip(self.before.iter_mut().zip(&mut self.writes));
        for (sector, (bytes, (before, writes))) in sectors.enumerate() {
            let promised = writes.iter().rposition(|write| {
                write.acknowledged.is_some_and(|instant| {
                    event == Event::Kill || write.is_stored || instant < self.flushed
                })
            });
            let acknowledged = writes.iter().rposition(|write| write.acknowledged.is_some());
            judgement.required += u64::from(promised.is_some());
            // A later write takes precedence if two writes have the same content.
            let found =
                writes.iter().rposition(|write| write.content.bytes(sector as u64) == bytes);
            match found {
                Some(found) => {
                    judgement.lost += u64::from(promised.is_some_and(|promised| found < promised));
                    let is_absent = acknowledged.is_some_and(|acknowledged| found < acknowledged);
                    judgement.unflushed_lost += u64::from(is_absent);
                    *before = writes[found].content;
                }
                None if before.bytes(sector as u64) == bytes => {
                    judgement.lost += u64::from(promised.is_some());
                    judgement.unflushed_lost += u64::from(acknowledged.is_some());
                }
                None => judgement.foreign += 1,
            }
            writes.clear();
        }
        self.flushed = 0;
        judgement
    }
}

#[test]
fn the_ledger_reports_each_kind_of_damage() {
    let write = |number, acknowledged| SectorWrite {
        content: Content::Of(number),
        acknowledged,
        is_stored: false,
    };
    let export = |contents: [Content; 3]| {
        let sectors = contents.iter().enumerate();
        sectors.flat_map(|(sector, content)| content.bytes(sector as u64)).collect::<Vec<u8>>()
    };
    let ledger = || {
        let mut ledger = Ledger::new(3, 2);
        ledger.add(0, write(1, Some(5)));
        ledger.add_flush(6);
        ledger.add(0, write(2, Some(7)));
        ledger.add(1, write(3, None));
        ledger
    };
    let image = Content::Of(0);
    let judge = |contents, event| ledger().judge(&export(contents), event);
    let whole = Judgement { required: 1, ..Judgement::default() };
    let newest = [Content::Of(2), Content::Of(3), Content::Zeros];
    assert_eq!(judge(newest, Event::Kill), whole);
    let flushed = [Content::Of(1), image, Content::Zeros];
    assert_eq!(judge(flushed, Event::PowerLoss), Judgement { unflushed_lost: 1, ..whole });
    assert_eq!(judge(flushed, Event::Kill), Judgement { unflushed_lost: 1, lost: 1, ..whole });
    let neither = [image, image, Content::Zeros];
    assert_eq!(judge(neither, Event::PowerLoss), Judgement { unflushed_lost: 1, lost: 1, ..whole });
    let foreign = [Content::Of(2), Content::Zeros, Content::Of(9)];
    assert_eq!(judge(foreign, Event::PowerLoss), Judgement { foreign: 2, ..whole });
}
