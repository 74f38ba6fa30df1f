//! A drive in a port: the link after training, its protocol, and the checks that the drive and the port fit.

use lanemark_schema::result::Warning;
use lanemark_sim::link::{LinkModel, LinkSpec, Pcie, Sas, Sata, SataCommands};
use lanemark_sim::spec::{ProtocolKind, ProtocolSpec};

use crate::drive::{Connector, Drive};
use crate::error::{Location, StudyError};
use crate::platform::{Platform, Port, table_of};

/// A drive in a port.
#[derive(Clone, Debug, PartialEq)]
pub struct PluggedDrive {
    /// The protocol that carries commands to the drive.
    pub protocol: ProtocolSpec,
    /// The port's own link, as trained.
    pub link: LinkSpec,
    /// The drive's own connector, if the port limits the drive.
    pub own: Option<NativeInterface>,
    /// The warnings about the combination.
    pub warnings: Vec<Warning>,
}

/// A drive's own connector that is faster than the trained link.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeInterface {
    /// Name of the connector, such as `SATA 6 Gb/s`.
    pub name: String,
    /// Ratio of the connector's speed to the trained link's speed.
    pub times: f64,
}

/// Plugs `drive` into `port` of `platform`, which was read from `platform_file`. Errors about the port have the
/// location `named_at`.
///
/// # Errors
/// Returns an error if the two do not fit, or if the platform does not have a driver for the protocol.
pub fn plug_in(
    drive: &Drive,
    platform: &Platform,
    platform_file: &str,
    port: &Port,
    named_at: &Location,
) -> Result<PluggedDrive, StudyError> {
    let (trained, model) = train(drive, platform, port, named_at)?;
    let kind = match port.plug {
        Connector::Pcie(..) if !port.controller.is_usb() => drive.protocol,
        Connector::Pcie(..) if drive.protocol != ProtocolKind::Nvme => {
            let spoken = drive.protocol.name();
            let message = format!(
                "{} speaks {spoken}, but the bridge of port `{}` speaks NVMe",
                drive.name, port.name
            );
            return Err(StudyError::new(named_at.clone(), message));
        }
        Connector::Pcie(..) | Connector::Sata(..) | Connector::Sas(..) => port.controller,
    };
    let known = platform.protocols.iter().find(|spec| spec.kind == kind);
    let mut protocol = known.cloned().ok_or_else(|| {
        let message = format!("`{}` does not have a {} driver", platform.name, kind.name());
        StudyError::new(Location::file(platform_file), message).hint(format!(
            "add the table [{}], which {} needs",
            table_of(kind),
            drive.name
        ))
    })?;
    if drive.commands != SataCommands::Queued {
        protocol.queue_depth = 1;
    }
    if kind == ProtocolKind::SasHba && matches!(drive.plug, Connector::Sata(_)) {
        protocol.queue_depth = protocol.queue_depth.min(crate::platform::AHCI_DEPTH);
    }
    if let Some(limit) = drive.transfer_max {
        protocol.transfer_max = protocol.transfer_max.min(limit);
    }
    let trained_down = (trained != drive.plug)
        .then(|| Warning::TrainedDown { drive: drive.plug.to_string(), port: trained.to_string() });
    let own = (trained != drive.plug).then(|| NativeInterface {
        name: drive.plug.to_string(),
        times: drive.plug.line_rate() / trained.line_rate(),
    });
    let link = LinkSpec { name: trained.to_string(), model, latency: port.latency, speed: 1 };
    Ok(PluggedDrive { protocol, link, own, warnings: trained_down.into_iter().collect() })
}

/// Returns the connector to which the drive and the port train, which is the lesser of the two, and the model of the
/// link.
fn train(
    drive: &Drive,
    platform: &Platform,
    port: &Port,
    named_at: &Location,
) -> Result<(Connector, LinkModel), StudyError> {
    let commands = match drive.commands {
        SataCommands::Queued
            if matches!(port.controller, ProtocolKind::AtaDma | ProtocolKind::BulkOnly) =>
        {
            SataCommands::Unqueued
        }
        SataCommands::Queued | SataCommands::Unqueued | SataCommands::Pio => drive.commands,
    };
    match (drive.plug, port.plug) {
        (Connector::Sata(own), Connector::Sata(other)) => {
            let rate = own.min(other);
            Ok((Connector::Sata(rate), LinkModel::Sata(Sata::new(rate, commands))))
        }
        (Connector::Sata(own), Connector::Sas(other, _)) => {
            // A SAS phy uses SATA's rate for a SATA drive, in connections of a different kind.
            let connection = Sas::new(other, 1).stp_connection_time();
            let sata = Sata::new(own, commands).over_stp(connection);
            Ok((Connector::Sata(own), LinkModel::Sata(sata)))
        }
        (Connector::Sas(own, own_phys), Connector::Sas(other, phys)) => {
            let rate = own.min(other);
            let phys = own_phys.min(phys);
            // Connections stay open while there is work, as under load from an initiator.
            Ok((Connector::Sas(rate, phys), LinkModel::Sas(Sas::new(rate, phys).kept_open())))
        }
        (Connector::Pcie(own, own_lanes), Connector::Pcie(other, lanes)) => {
            let generation = own.min(other);
            let lanes = own_lanes.min(lanes);
            let setup = drive.payload_max.map_or(port.packets, |most| port.packets.at_most(most));
            let model = Pcie::with_setup(generation, lanes, port.latency, &setup);
            Ok((Connector::Pcie(generation, lanes), LinkModel::Pcie(model)))
        }
        (own @ Connector::Sata(_), other @ Connector::Pcie(..))
        | (own @ Connector::Pcie(..), other @ (Connector::Sata(_) | Connector::Sas(..)))
        | (own @ Connector::Sas(..), other @ (Connector::Sata(_) | Connector::Pcie(..))) => {
            Err(misfit_error(drive, platform, port, named_at, own, other))
        }
    }
}

fn misfit_error(
    drive: &Drive,
    platform: &Platform,
    port: &Port,
    named_at: &Location,
    plug: Connector,
    other: Connector,
) -> StudyError {
    let message = format!(
        "{} has {plug} and does not fit port `{}` of {}, which is {other}",
        drive.name, port.name, platform.name
    );
    let fits_port = |candidate: &&Port| plug.fits(candidate.plug);
    let fitting: Vec<&str> =
        platform.ports.iter().filter(fits_port).map(|port| port.name.as_str()).collect();
    let error = StudyError::new(named_at.clone(), message);
    if fitting.is_empty() {
        error.hint("no port of this platform accepts the drive")
    } else {
        error.hint(format!("it fits {}", fitting.join(", ")))
    }
}
