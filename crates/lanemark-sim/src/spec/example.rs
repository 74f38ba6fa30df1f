//! A small system with round numbers, as a starting point. It does not represent a product, and its values lack
//! sources.

use super::{
    AttachmentSpec, CpuSpec, DataWorkSpec, DieSpec, DriveCondition, DriveSpec, FlashSpec,
    FrontEndSpec, MediaSpec, PageTimes, PortPathSpec, ProtocolKind, ProtocolSpec, SystemSpec,
    Technology, TranslationSpec, WriteCacheMode,
};
use crate::link::{LinkModel, LinkSpec, Pcie, PcieGeneration};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};

impl DriveSpec {
    /// Returns a 64 MiB drive with four dies of MLC NAND, which read in 50 µs and program in 600 µs.
    pub fn example() -> Self {
        Self {
            capacity: Bytes::mebi(64),
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
                blocks_per_plane: 40,
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
}
