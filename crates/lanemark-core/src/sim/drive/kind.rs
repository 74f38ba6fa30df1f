//! The kinds of drives, and what all of them have: a front end that takes commands, and room for written data.

use super::disk::{Disk, DiskTime};
use super::{ArrayTime, Buffer, FrontEnd, SolidState};
use crate::result::DriveUse;
use crate::rng::StreamKey;
use crate::sim::arbitration::Arbiter;
use crate::sim::budget::{HOPS, Hop};
use crate::sim::number::DriveNumber;
use crate::sim::schedule::Schedule;
use crate::sim::spec::{AttachmentSpec, Content, DriveSpec, MediaSpec};
use crate::units::{Bytes, Duration, Instant};

/// A drive at work.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "few of them, and flash is asked at every event")]
pub(crate) enum Drive {
    /// Flash.
    SolidState(SolidState),
    /// Platters.
    Disk(Box<HardDisk>),
}

/// Times that media have worked, by what they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaTime {
    /// Flash.
    Flash(ArrayTime),
    /// A hard disk.
    Disk(DiskTime),
}

/// A hard disk at work.
#[derive(Clone, Debug)]
pub(crate) struct HardDisk {
    /// Command decoding and firmware.
    pub front_end: FrontEnd,
    /// Room for written data.
    pub buffer: Buffer,
    /// Arm, platters and cache.
    pub disk: Disk,
}

impl Drive {
    /// Drive `index` of a system, idle, in its condition with `content`. Its front end takes commands as
    /// `arbiter` says, and what happens by chance in it follows from the run's `key`.
    pub(crate) fn new(
        index: DriveNumber,
        spec: &DriveSpec,
        content: Content,
        arbiter: Option<Arbiter>,
        key: StreamKey,
    ) -> Self {
        match &spec.media {
            MediaSpec::Flash(_) => {
                let drive = SolidState::new(index, spec, content, key);
                let front_end = drive.front_end.arbitrated(arbiter);
                Self::SolidState(SolidState { front_end, ..drive })
            }
            MediaSpec::Disk(disk) => Self::Disk(Box::new(HardDisk {
                front_end: FrontEnd::new(index, spec.front_end).arbitrated(arbiter),
                buffer: Buffer::new(spec.buffer),
                disk: Disk::new(index, disk, spec.capacity, spec.buffer),
            })),
        }
    }

    /// Command decoding and firmware.
    #[inline]
    pub(crate) fn front_end(&mut self) -> &mut FrontEnd {
        match self {
            Self::SolidState(drive) => &mut drive.front_end,
            Self::Disk(drive) => &mut drive.front_end,
        }
    }

    /// Room for written data.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        match self {
            Self::SolidState(drive) => &mut drive.buffer,
            Self::Disk(drive) => &mut drive.buffer,
        }
    }

    /// The solid-state drive, where it is one.
    #[inline]
    pub(crate) fn solid_state(&mut self) -> Option<&mut SolidState> {
        match self {
            Self::SolidState(drive) => Some(drive),
            Self::Disk(_) => None,
        }
    }

    /// The hard disk, where it is one.
    pub(crate) fn hard_disk(&mut self) -> Option<&mut HardDisk> {
        match self {
            Self::SolidState(_) => None,
            Self::Disk(drive) => Some(drive),
        }
    }

    /// The power fails: all that is under way is gone. Returns what was acknowledged and is lost.
    pub(crate) fn power_cut(&mut self, now: Instant, spec: &AttachmentSpec) -> Bytes {
        let front_end =
            self.front_end().restarted(spec.drive.front_end, Arbiter::of(&spec.protocol));
        *self.front_end() = front_end;
        match self {
            Self::SolidState(drive) => drive.power_cut(now, &spec.drive),
            Self::Disk(drive) => {
                drive.buffer = Buffer::new(spec.drive.buffer);
                drive.disk.power_cut(now)
            }
        }
    }

    /// The drive has its power back.
    pub(crate) fn power_up(&mut self, now: Instant, events: &mut Schedule) {
        if let Self::SolidState(drive) = self {
            drive.power_up(now, events);
        }
    }

    /// The drive gets commands.
    #[inline]
    pub(crate) fn takes(&mut self, commands: u32) {
        if let Self::SolidState(drive) = self {
            drive.takes(commands);
        }
    }

    /// The drive has completed a command: when to look whether it is still idle, if that matters.
    #[inline]
    pub(crate) fn gives(&mut self, now: Instant) -> Option<Instant> {
        match self {
            Self::SolidState(drive) => drive.gives(now),
            Self::Disk(_) => None,
        }
    }

    /// Returns the data that the drive has written so far.
    pub(crate) fn usage(&self) -> DriveUse {
        match self {
            Self::SolidState(drive) => DriveUse { buffered: drive.buffer.held(), ..drive.usage() },
            Self::Disk(drive) => DriveUse {
                host_written: drive.disk.written(),
                buffered: drive.buffer.held(),
                ..DriveUse::default()
            },
        }
    }

    /// Returns whether the drive's media have anything to do.
    #[inline]
    pub(crate) fn works(&self, now: Instant) -> bool {
        match self {
            Self::SolidState(drive) => !drive.flash.is_idle(),
            Self::Disk(drive) => drive.disk.is_working(now),
        }
    }

    /// Returns the times that the media have worked until `at`.
    pub(crate) fn media_time(&self, at: Instant) -> MediaTime {
        match self {
            Self::SolidState(drive) => MediaTime::Flash(drive.flash.array_time(at)),
            Self::Disk(drive) => MediaTime::Disk(drive.disk.worked(at)),
        }
    }

    /// Adds the time busy until now of its parts.
    pub(crate) fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]) {
        match self {
            Self::SolidState(drive) => {
                let (channels, dies) = drive.flash.busy(now);
                busy[Hop::FrontEnd as usize].extend(drive.front_end.busy());
                busy[Hop::Channel as usize].extend(channels);
                busy[Hop::Die as usize].extend(dies);
            }
            Self::Disk(drive) => {
                busy[Hop::FrontEnd as usize].extend(drive.front_end.busy());
                busy[Hop::Die as usize].push(drive.disk.busy(now));
            }
        }
    }
}
