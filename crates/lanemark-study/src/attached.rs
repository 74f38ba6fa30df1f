//! A drive in one or two ports, and the system of all attached drives.

use lanemark_schema::result::Warning;
use lanemark_sim::SecondPort;
use lanemark_sim::VolumeSpec;
use lanemark_sim::spec::{AttachmentSpec, PortPathSpec, SystemSpec};

use crate::document::{Context, Document};
use crate::drive::Drive;
use crate::error::StudyError;
use crate::library::{Library, LibraryKind};
use crate::platform::{Platform, Port};
use crate::plug::{PluggedDrive, plug_in};
use crate::rated;
use crate::system::{NameLocations, UsedPort};

/// A drive in its one or two ports, and the origin of its values.
pub(crate) struct AttachedDrive {
    pub(crate) file: Document,
    pub(crate) drive: Drive,
    first: OccupiedPort,
    second: Option<OccupiedPort>,
}

/// A port and the link to the drive in it.
struct OccupiedPort {
    port: Port,
    plugged: PluggedDrive,
}

impl AttachedDrive {
    /// Plugs `drive` into `ports`, which names one port, or two as `one|other`.
    pub(crate) fn new(
        library: &Library,
        drive: &str,
        ports: &str,
        platform: &Platform,
        platform_file: &Document,
        named_at: &NameLocations,
        context: Context<'_>,
    ) -> Result<Self, StudyError> {
        let file = library
            .open(LibraryKind::Drive, drive)
            .map_err(|error| error.located_at(&named_at.drive))?;
        let file = match rated::complete(&file, library, context)? {
            Some(completed) => completed,
            None => file,
        };
        let drive = Drive::read(&file, context)?;
        let place = |drive: &Drive, name: &str| {
            let Some(port) = platform.ports.iter().find(|known| known.name == name) else {
                let known = platform.ports.iter().map(|known| known.name.as_str());
                return Err(StudyError::unknown(named_at.port.clone(), "port", name, known));
            };
            let plugged = plug_in(drive, platform, platform_file.file(), port, &named_at.port)?;
            Ok(OccupiedPort { port: port.clone(), plugged })
        };
        let fail = |message: String| StudyError::new(named_at.port.clone(), message);
        Ok(match ports.split_once('|') {
            None => Self { first: place(&drive, ports)?, second: None, file, drive },
            Some((one, other)) if one == other => {
                let drive = &drive.name;
                let platform = &platform.name;
                let message =
                    format!("port `{one}` of {platform} is taken twice, by both ports of {drive}");
                return Err(fail(message));
            }
            Some((one, other)) if !drive.has_two_ports => {
                let drive = &drive.name;
                let platform = &platform.name;
                let message = format!(
                    "{drive} has one port and cannot be in `{one}` and `{other}` of {platform}"
                );
                return Err(fail(message).hint("a drive with `ports = 2` in its `port` has two"));
            }
            Some((one, other)) => {
                let half = Drive { plug: drive.plug.half(), ..drive.clone() };
                let first = place(&half, one)?;
                let second = place(&half, other)?;
                Self { first, second: Some(second), file, drive }
            }
        })
    }

    /// Returns whether the drive is in the port with this name.
    pub(crate) fn takes(&self, port: &str) -> bool {
        self.places().any(|place| place.port.name == port)
    }

    /// Returns the name of the drive's port, or of both ports.
    pub(crate) fn port(&self) -> String {
        self.places().map(|place| place.port.name.as_str()).collect::<Vec<_>>().join(" and ")
    }

    pub(crate) fn used_ports(&self) -> Vec<UsedPort> {
        let used_port = |place: &OccupiedPort| UsedPort {
            port: place.port.name.clone(),
            drive: self.drive.name.clone(),
            link: place.plugged.link.clone(),
            own: place.plugged.own.clone(),
        };
        self.places().map(used_port).collect()
    }

    /// Returns the warnings about the drive in its ports.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        self.places().flat_map(|place| place.plugged.warnings.clone()).collect()
    }

    fn places(&self) -> impl Iterator<Item = &OccupiedPort> {
        [Some(&self.first), self.second.as_ref()].into_iter().flatten()
    }

    /// Returns the path to one of the drive's ports. The path begins with `trunk` shared links. The names of the ports
    /// distinguish the last links of the two paths.
    fn port_path(&self, place: &OccupiedPort, trunk: usize) -> PortPathSpec {
        let behind = place.port.behind.iter().skip(trunk).map(|link| link.spec.clone());
        let mut own_link = place.plugged.link.clone();
        if self.second.is_some() {
            own_link.name = format!("{}, port {}", own_link.name, place.port.name);
        }
        PortPathSpec { trunk, links: behind.chain([own_link]).collect() }
    }

    /// Returns the number of links on the second port's path that belong to the trunk, that is, to the path of the
    /// system's `first` drive.
    fn second_shared(&self, second: &OccupiedPort, first: &Self) -> Result<usize, String> {
        let between = self.first.shared_with(second);
        let shared_link_count = second.shared_with(&first.first);
        if between > shared_link_count {
            return Err(format!(
                "ports `{}` and `{}` of {} share link `{}`, which {} in `{}` does not use: list {2} first in the system",
                self.first.port.name,
                second.port.name,
                self.drive.name,
                self.first.port.behind[between - 1].name,
                first.drive.name,
                first.port()
            ));
        }
        Ok(shared_link_count)
    }
}

impl OccupiedPort {
    /// Returns the number of links that both paths share, counted from the host.
    fn shared_with(&self, other: &Self) -> usize {
        let both = self.port.behind.iter().zip(&other.port.behind);
        both.take_while(|(own, other)| own.name == other.name).count()
    }
}

/// Combines one or more attached drives into a system. The trunk of the system consists of the links on the first
/// drive's path that another path shares.
///
/// # Errors
/// Returns an error if the ports of a drive share links that the first drive's path does not contain.
pub(crate) fn join(
    platform: &Platform,
    attached: &[AttachedDrive],
    volume: Option<VolumeSpec>,
) -> Result<SystemSpec, String> {
    let first = &attached[0];
    let mut port_paths: Vec<(usize, Option<usize>)> = Vec::new();
    for one in attached {
        let second =
            one.second.as_ref().map(|place| one.second_shared(place, first)).transpose()?;
        port_paths.push((one.first.shared_with(&first.first), second));
    }
    let others = port_paths[1..].iter().map(|(shared, _)| *shared);
    let trunk =
        others.chain(port_paths.iter().filter_map(|(_, second)| *second)).max().unwrap_or(0);
    port_paths[0].0 = trunk;
    let attachment = |(one, (shared, second)): (&AttachedDrive, (usize, Option<usize>))| {
        let second = one.second.as_ref().zip(second).filter(|_| one.drive.has_two_ports);
        AttachmentSpec {
            protocol: one.first.plugged.protocol.clone(),
            port_path: one.port_path(&one.first, shared),
            second: second
                .map(|(place, shared)| SecondPort { port_path: one.port_path(place, shared) }),
            drive: one.drive.spec.clone(),
        }
    };
    let behind = first.first.port.behind.iter().take(trunk);
    Ok(SystemSpec {
        faults: Vec::new(),
        cpu: platform.cpu,
        trunk: behind.map(|link| link.spec.clone()).collect(),
        attachments: attached.iter().zip(port_paths).map(attachment).collect(),
        volume,
        host_power: platform.power,
        journal: platform.journal,
    })
}
