//! Small systems with round numbers, as starting points. They do not represent products, and their values lack sources.

use super::{
    AttachmentSpec, CpuSpec, DataWorkSpec, DieSpec, DiskSpec, DiskZone, DriveCondition, DriveSpec,
    FlashSpec, FrontEndSpec, MediaSpec, PageTimes, PortPathSpec, ProtocolKind, ProtocolSpec,
    SeekSpec, SystemSpec, Technology, TranslationSpec, WriteCacheMode,
};
use crate::link::{LinkModel, LinkSpec, Pcie, PcieGeneration, Sata, SataCommands, SataRate};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};

impl DriveSpec {
    /// Returns a 64 MiB drive with four dies of MLC NAND, which read in 50 µs and program in 600 µs.
    pub fn example() -> Self {
        Self::example_of(Bytes::mebi(64))
    }

    /// Returns the drive of [`DriveSpec::example`] with another capacity and the blocks per plane that it needs.
    pub fn example_of(capacity: Bytes) -> Self {
        let blocks = capacity.get().div_ceil(Bytes::mebi(64).get()).max(1).saturating_mul(40);
        Self {
            capacity,
            front_end: FrontEndSpec {
                engines: 1,
                read_time: Duration::from_microseconds(1),
                write_time: Duration::from_microseconds(1),
                read_latency: Duration::from_microseconds(5),
                write_latency: Duration::from_microseconds(5),
                ..FrontEndSpec::INSTANT
            },
            buffer: Bytes::mebi(1),
            write_cache: WriteCacheMode::default(),
            read_ahead: Bytes::ZERO,
            data_path_read: None,
            data_path_write: None,
            media: MediaSpec::Flash(FlashSpec {
                technology: Technology::Mlc,
                channels: 2,
                dies_per_channel: 2,
                planes: 2,
                page: Bytes::kibi(16),
                pages_per_block: 16,
                blocks_per_plane: u32::try_from(blocks).unwrap_or(u32::MAX),
                read: PageTimes::alike(Duration::from_microseconds(50)),
                program: PageTimes::alike(Duration::from_microseconds(600)),
                erase: Duration::from_microseconds(3000),
                channel_rate: BytesPerSecond(400_000_000),
                command_time: Duration::from_nanoseconds(200),
                die: DieSpec::default(),
                translation: TranslationSpec::default(),
                condition: DriveCondition::Fresh,
                filled: Ratio::ONE,
                cycles: 0,
            }),
            power: None,
        }
    }
}

impl DiskSpec {
    /// Returns a 7,200 rpm disk with two zones and a capacity of 78 MiB.
    pub fn example() -> Self {
        let us = Duration::from_microseconds;
        Self {
            rpm: 7_200,
            heads: 3,
            zones: vec![
                DiskZone { cylinders: 100, sectors_per_track: 333 },
                DiskZone { cylinders: 100, sectors_per_track: 201 },
            ],
            read_seek: SeekSpec {
                track_to_track: us(300),
                average: us(4_000),
                full_stroke: us(9_000),
            },
            write_seek: SeekSpec {
                track_to_track: us(500),
                average: us(4_500),
                full_stroke: us(9_700),
            },
            head_switch: us(400),
            track_skew: us(650),
            cylinder_skew: us(700),
            command_overhead: us(100),
            segments: 8,
            segment: Bytes::mebi(1),
            read_ahead: Bytes::kibi(512),
            write_cache: true,
            destage_window: 64,
            age_max: us(500_000),
            reorder_margin: us(0),
        }
    }
}

impl SystemSpec {
    /// Returns the drive of [`DriveSpec::example`], attached with NVMe over PCIe 3.0 x4 to a host with four cores.
    pub fn example() -> Self {
        let link = LinkSpec {
            name: "PCIe 3.0 x4".to_owned(),
            model: LinkModel::Pcie(Pcie::new(PcieGeneration::Three, 4, Bytes(128), Bytes(512))),
            latency: Duration::from_nanoseconds(150),
            speed: 1,
        };
        Self {
            cpu: CpuSpec {
                cores: 4,
                request_submit: Duration::ZERO,
                write_submit: Duration::ZERO,
                request_complete: Duration::ZERO,
                pin_per_mib: Duration::ZERO,
                read_work: DataWorkSpec::default(),
                write_work: DataWorkSpec::default(),
                wake: Duration::ZERO,
                idle_after: Duration::ZERO,
                deep_wake: Duration::ZERO,
                deep_idle_after: Duration::ZERO,
                thread_growth: Ratio::ZERO,
                io_threads: 0,
            },
            trunk: Vec::new(),
            attachments: vec![AttachmentSpec {
                protocol: ProtocolSpec {
                    kind: ProtocolKind::Nvme,
                    queues: 4,
                    queue_depth: 1024,
                    read_time: Duration::from_microseconds(1),
                    write_time: Duration::from_microseconds(1),
                    submit_share: Ratio::HALF,
                    transfer_max: Bytes::kibi(128),
                    memory_read: Duration::from_nanoseconds(500),
                    interrupt_time: Duration::ZERO,
                    adapter: None,
                },
                port_path: PortPathSpec { trunk: 0, links: vec![link] },
                second: None,
                drive: DriveSpec::example(),
            }],
            volume: None,
            host_power: None,
            journal: None,
            faults: Vec::new(),
        }
    }

    /// Returns a 64 MiB hard disk with the values of [`DiskSpec::example`], attached with AHCI over SATA at 6 Gb/s.
    pub fn example_disk() -> Self {
        let mut system = Self::example();
        let attachment = system.first_mut();
        attachment.drive.media = MediaSpec::Disk(DiskSpec::example());
        attachment.protocol.kind = ProtocolKind::Ahci;
        attachment.protocol.queues = 1;
        attachment.protocol.queue_depth = 32;
        attachment.port_path.links.push(LinkSpec {
            name: "SATA 6 Gb/s".to_owned(),
            model: LinkModel::Sata(Sata::new(SataRate::Gen3, SataCommands::Queued)),
            latency: Duration::ZERO,
            speed: 1,
        });
        system
    }
}
