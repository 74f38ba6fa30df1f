//! A USB port with the bridge of an enclosure: `usb` and `[port.bridge]` in a platform's port.
//!
//! The type of the port is the type of the drive downstream of the bridge, SATA or PCI Express. The USB link and the
//! bridge are the last links on the path.

use lanemark_schema::units::{BitsPerSecond, BytesPerSecond, Duration};
use lanemark_sim::link::{Bridge, LinkModel, LinkSpec, PcieSetup, Usb, UsbRate, UsbTransport};
use lanemark_sim::spec::ProtocolKind;

use crate::document::Section;
use crate::drive::{Connector, plug};
use crate::error::StudyError;
use crate::links::{NamedLink, packets};

/// The links between a USB port and the drive in an enclosure.
pub(crate) struct Enclosure {
    /// The links of the port, and the bridge.
    pub(crate) links: [NamedLink; 2],
    /// The connector downstream of the bridge.
    pub(crate) plug: Connector,
    /// The packet settings of a PCI Express drive downstream of the bridge.
    pub(crate) packets: Option<PcieSetup>,
    /// The protocol between the host and the bridge.
    pub(crate) protocol: ProtocolKind,
}

/// Reads `usb` and `bridge` of the port `name`.
///
/// # Errors
/// Returns an error if USB does not support the rate, or if the kind of bridge does not exist.
pub(crate) fn enclosure(section: &Section<'_>, name: &str) -> Result<Enclosure, StudyError> {
    let line_rate: BitsPerSecond = section.quantity("usb")?;
    let Some(usb) = UsbRate::new(line_rate) else {
        let message = format!("usb = {line_rate}: USB runs at 480 Mb/s, or at 5, 10 or 20 Gb/s");
        return Err(section.error("usb", message));
    };
    let bridge = section.table("bridge")?;
    let chip = bridge.text("name")?;
    let plug = plug(&bridge)?;
    let packets = match plug {
        Connector::Pcie(..) => Some(packets(&bridge)?),
        Connector::Sata(_) => None,
        Connector::Sas(..) => {
            return Err(bridge
                .error("sas", "there are no bridges from USB to SAS")
                .hint("write sata = \"6 Gb/s\" or pcie = { generation = 3, lanes = 2 }"));
        }
    };
    let protocols = [("uasp", ProtocolKind::Uasp), ("bulk-only", ProtocolKind::BulkOnly)];
    let protocol = bridge.choice("protocol", &protocols)?;
    let latency: Duration = bridge.quantity("latency")?;
    let command_time: Duration = bridge.quantity("command_time")?;
    let rate: BytesPerSecond = bridge.quantity("rate")?;
    bridge.finish()?;
    let transport = if protocol == ProtocolKind::BulkOnly {
        UsbTransport::BulkOnly
    } else {
        UsbTransport::AttachedScsi
    };
    let link = |what: &str, label: String, model, latency| NamedLink {
        name: format!("{name} {what}"),
        to: chip.clone(),
        spec: LinkSpec { name: label, model, latency, speed: 1 },
    };
    let wire = LinkModel::Usb(Usb::new(usb, transport));
    let wire = link("usb", format!("USB {line_rate}"), wire, Duration::ZERO);
    let model = LinkModel::Bridge(Bridge { command_time, rate });
    let links = [wire, link("bridge", chip.clone(), model, latency)];
    Ok(Enclosure { links, plug, packets, protocol })
}
