//! Small sysfs trees of fictitious machines in a temporary folder.

#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lanemark_inspect::{InspectError, Sysfs, inspect};
use lanemark_report::{Style, inspection_text};
use lanemark_schema::result::{InspectedDevice, Inspection};
use tempfile::TempDir;

/// A tree under construction.
pub(crate) struct Tree {
    folder: TempDir,
}

/// The payload fields in the registers of a PCI Express capability, as codes: 0 means 128 B, and 1 means 256 B.
pub(crate) struct Payload {
    pub(crate) port_type: u8,
    pub(crate) capable: u8,
    pub(crate) set: u8,
    pub(crate) request: u8,
}

impl Tree {
    pub(crate) fn new() -> Self {
        // Trees consist of thousands of small files, so a file system in memory is faster than most disks.
        let memory = Path::new("/dev/shm");
        let folder = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        fs::create_dir(folder.path().join("block")).unwrap();
        Self { folder }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Adds a file with `content` and the kernel's line end.
    pub(crate) fn file(&self, path: &str, content: &str) -> &Self {
        self.bytes(path, format!("{content}\n").as_bytes())
    }

    pub(crate) fn bytes(&self, path: &str, content: &[u8]) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Adds several files to one folder.
    pub(crate) fn files(&self, folder: &str, files: &[(&str, &str)]) -> &Self {
        for (name, content) in files {
            self.file(&format!("{folder}/{name}"), content);
        }
        self
    }

    pub(crate) fn folder(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Adds a PCI function with this class and vendor, and an optional driver.
    pub(crate) fn pci(&self, at: &str, class: &str, vendor: &str, driver: &str) -> &Self {
        self.files(at, &[("class", class), ("vendor", vendor), ("device", "0x1234")]);
        self.file(&format!("{at}/numa_node"), "0");
        self.link(&format!("{at}/driver"), &format!("../../../bus/pci/drivers/{driver}"))
    }

    /// Writes one end of a PCIe link: the speed as text and the number of lanes, current and maximum.
    pub(crate) fn pcie(&self, at: &str, now: (&str, u32), most: (&str, u32)) -> &Self {
        self.files(
            at,
            &[
                ("current_link_speed", now.0),
                ("current_link_width", &now.1.to_string()),
                ("max_link_speed", most.0),
                ("max_link_width", &most.1.to_string()),
            ],
        )
    }

    /// Adds a root port and a linked endpoint below it, and returns the endpoint's folder.
    pub(crate) fn slot(
        &self,
        port: &str,
        endpoint: &str,
        class: &str,
        driver: &str,
        now: (&str, u32),
        most: [(&str, u32); 2],
    ) -> String {
        let upper = format!("devices/pci0000:00/{port}");
        let lower = format!("{upper}/{endpoint}");
        self.pci(&upper, "0x060400", "0x8086", "pcieport").pcie(&upper, now, most[0]);
        self.pci(&lower, class, "0x144d", driver).pcie(&lower, now, most[1]);
        lower
    }

    /// Adds the configuration space of a function, as the superuser can read it.
    pub(crate) fn config(&self, at: &str, payload: &Payload) -> &Self {
        let mut config = vec![0_u8; 256];
        config[0x06] = 0x10;
        config[0x34] = 0x40;
        config[0x40] = 0x10;
        config[0x42] = payload.port_type << 4;
        config[0x44] = payload.capable;
        config[0x48] = payload.set << 5;
        config[0x49] = payload.request << 4;
        self.bytes(&format!("{at}/config"), &config)
    }

    /// Adds an NVMe controller below a function.
    pub(crate) fn nvme(&self, function: &str, name: &str, model: &str) -> String {
        let at = format!("{function}/nvme/{name}");
        self.files(
            &at,
            &[
                ("model", model),
                ("serial", "S1"),
                ("firmware_rev", "1.0"),
                ("transport", "pcie"),
                ("state", "live"),
            ],
        );
        at
    }

    /// Adds a PCIe 4.0 switch with eight lanes upstream, and `drives` NVMe drives with four lanes each downstream.
    pub(crate) fn switch(&self, drives: usize) -> &Self {
        const GEN4: &str = "16.0 GT/s PCIe";
        let most = [(GEN4, 16), (GEN4, 8)];
        let upstream =
            self.slot("0000:00:01.0", "0000:01:00.0", "0x060400", "pcieport", (GEN4, 8), most);
        for index in 0..drives {
            let downstream = format!("{upstream}/0000:02:0{index}.0");
            let end = format!("{downstream}/0000:0{}:00.0", index + 3);
            let four = (GEN4, 4);
            self.pci(&downstream, "0x060400", "0x10b5", "pcieport").pcie(&downstream, four, four);
            self.pci(&end, "0x010802", "0x144d", "nvme").pcie(&end, four, four);
            let controller = self.nvme(&end, &format!("nvme{index}"), "Samsung PM1733");
            self.block(&format!("{controller}/nvme{index}n1"), 3840);
        }
        self
    }

    /// Adds a complete block device at `at`, and lists it under its name.
    pub(crate) fn block(&self, at: &str, gigabytes: u64) -> &Self {
        let name = at.rsplit('/').next().unwrap();
        self.file(&format!("{at}/size"), &(gigabytes * 1_000_000_000 / 512).to_string());
        self.files(
            &format!("{at}/queue"),
            &[
                ("logical_block_size", "512"),
                ("physical_block_size", "4096"),
                ("rotational", "0"),
                ("scheduler", "[none] mq-deadline"),
                ("write_cache", "write back"),
            ],
        );
        self.link(&format!("block/{name}"), &format!("../{at}"))
    }

    pub(crate) fn partition(&self, device: &str, name: &str, start: u64, offset: &str) -> &Self {
        let at = format!("{device}/{name}");
        self.files(
            &at,
            &[
                ("partition", "1"),
                ("start", &start.to_string()),
                ("size", "2097152"),
                ("alignment_offset", offset),
            ],
        )
    }

    /// Adds a disk on a port of an ATA host, with speeds in the kernel's notation, and word 76 of the drive.
    pub(crate) fn ata(
        &self,
        host: &str,
        port: u32,
        name: &str,
        speeds: [&str; 3],
        word: u16,
    ) -> String {
        let index = port - 1;
        let link = format!("{host}/ata{port}/link{port}");
        self.files(
            &format!("{link}/ata_link/link{port}"),
            &[
                ("sata_spd", speeds[0]),
                ("sata_spd_limit", speeds[1]),
                ("hw_sata_spd_limit", speeds[2]),
            ],
        );
        let mut words = [0_u16; 256];
        words[76] = word;
        words[27] = u16::from_be_bytes(*b"SS");
        words[28] = u16::from_be_bytes(*b"D1");
        let words: Vec<String> = words.iter().map(|word| format!("{word:04x}")).collect();
        self.file(&format!("{link}/dev{port}.0/ata_device/dev{port}.0/id"), &words.join(" "));
        let scsi = format!("{host}/ata{port}/host{index}/target{index}:0:0/{index}:0:0:0");
        self.files(&scsi, &[("vendor", "ATA"), ("model", "SSD1"), ("queue_depth", "32")]);
        let block = format!("{scsi}/block/{name}");
        self.block(&block, 500).link(&format!("{block}/device"), "../..");
        block
    }

    /// Adds a SAS port whose phys run at `now` and support up to `most`.
    pub(crate) fn sas_port(
        &self,
        owner: &str,
        port: &str,
        phys: &[&str],
        now: &str,
        most: &str,
    ) -> String {
        let at = format!("{owner}/{port}");
        for phy in phys {
            self.files(
                &format!("{owner}/{phy}/sas_phy/{phy}"),
                &[
                    ("negotiated_linkrate", now),
                    ("maximum_linkrate", most),
                    ("maximum_linkrate_hw", most),
                ],
            );
            self.link(&format!("{at}/{phy}"), &format!("../{phy}"));
        }
        at
    }

    pub(crate) fn inspect(&self, target: Option<&str>) -> Result<Inspection, InspectError> {
        inspect(&Sysfs::open(self.root())?, target)
    }

    pub(crate) fn all(&self) -> Inspection {
        self.inspect(None).unwrap()
    }

    /// Returns the text of the whole tree in 100 columns.
    pub(crate) fn text(&self) -> String {
        inspection_text(&self.all(), &Style { width: 100, colour: false })
    }

    /// Returns the inspection as text without its answer, which is the first paragraph.
    pub(crate) fn path_text(&self) -> String {
        let text = self.text();
        text.split_once("\n\n").map(|(_, rest)| rest.to_owned()).unwrap()
    }
}

/// Returns the device `name`, which must exist.
#[track_caller]
pub(crate) fn device<'a>(inspection: &'a Inspection, name: &str) -> &'a InspectedDevice {
    inspection.devices.iter().find(|device| device.name == name).unwrap()
}

/// Returns the names of the hops of a device's first path.
#[track_caller]
pub(crate) fn hops<'a>(inspection: &'a Inspection, name: &str) -> Vec<&'a str> {
    device(inspection, name).paths[0].hops.iter().map(|hop| hop.name.as_str()).collect()
}

/// Returns the findings, each as `devices: text`.
pub(crate) fn finding_texts(inspection: &Inspection) -> Vec<String> {
    let line = |inspected_finding: &lanemark_schema::result::InspectedFinding| {
        format!("{}: {}", inspected_finding.devices.join(" "), inspected_finding.finding)
    };
    inspection.findings.iter().map(line).collect()
}
