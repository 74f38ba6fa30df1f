//! A platform without drives: its tree, its links and ports with the formulas of their rates, and its values.

use std::collections::BTreeSet;

use lanemark_lab::LabError;
use lanemark_report::{PlatformLink, PlatformPort};
use lanemark_schema::result::{ParameterOverride, TopologyNode};
use lanemark_sim::spec::ProtocolKind;
use lanemark_study::document::Context;
use lanemark_study::drive::Connector;
use lanemark_study::library::LibraryKind;
use lanemark_study::platform::Platform;
use lanemark_study::{Ledger, Library, Location, Overrides, ValueRecord, path};
use serde::Serialize;

/// A platform with empty ports.
#[derive(Serialize)]
pub(crate) struct PlatformEntry {
    /// The display name.
    pub(crate) name: String,
    pub(crate) cores: u32,
    pub(crate) ports: Vec<Port>,
    pub(crate) links: Vec<Link>,
    pub(crate) topology: TopologyNode,
    #[serde(skip)]
    pub(crate) values: Vec<ValueRecord>,
}

#[derive(Serialize)]
pub(crate) struct Port {
    name: String,
    connector: String,
    controller: &'static str,
    rate_bytes_per_second: u64,
    /// The links between the port and the processor, in order from the processor.
    behind: Vec<String>,
}

/// A link of a platform that does not end at a port.
#[derive(Serialize)]
pub(crate) struct Link {
    name: String,
    to: String,
    law: String,
    rate_bytes_per_second: u64,
    latency_ns: f64,
}

impl PlatformEntry {
    /// Reads the platform `name` with the values in `settings`.
    ///
    /// # Errors
    /// Returns an error if there is no such platform, or the platform is not valid.
    pub(crate) fn read(
        library: &Library,
        name: &str,
        settings: &[(ParameterOverride, Location)],
    ) -> Result<Self, LabError> {
        let ledger = Ledger::default();
        let mut overrides = Overrides::default();
        for (setting, location) in settings {
            overrides.set(&setting.parameter, &setting.value, location.clone());
        }
        let file = library.open(LibraryKind::Platform, name)?;
        let platform = Platform::read(&file, Context { ledger: &ledger, overrides: &overrides })?;
        overrides.check_used(&ledger)?;
        Ok(Self::from_platform(&platform, ledger.records()))
    }

    fn from_platform(platform: &Platform, values: Vec<ValueRecord>) -> Self {
        let topology = path::platform_tree(platform);
        let mut seen = BTreeSet::new();
        let mut links = Vec::new();
        for link in platform.ports.iter().flat_map(|port| &port.behind) {
            if seen.insert(&link.name) {
                links.push(Link {
                    name: link.spec.name.clone(),
                    to: link.to.clone(),
                    law: link.spec.model.to_string(),
                    rate_bytes_per_second: link.spec.model.rate().0,
                    latency_ns: link.spec.latency.picoseconds() as f64 / 1e3,
                });
            }
        }
        let port = |port: &lanemark_study::platform::Port| Port {
            name: port.name.clone(),
            connector: port.plug.to_string(),
            controller: match port.plug {
                // A device that is plugged into this port contains its own controller.
                Connector::Pcie(..) if !port.controller.is_usb() => ProtocolKind::Nvme.name(),
                _ => port.controller.name(),
            },
            rate_bytes_per_second: path::plug_rate(port.plug).0,
            behind: port.behind.iter().map(|link| link.spec.name.clone()).collect(),
        };
        Self {
            name: platform.name.clone(),
            cores: platform.cpu.cores,
            ports: platform.ports.iter().map(port).collect(),
            links,
            topology,
            values,
        }
    }

    pub(crate) fn shown_links(&self) -> Vec<PlatformLink> {
        let link_json = |link: &Link| PlatformLink {
            name: link.name.clone(),
            to: link.to.clone(),
            law: link.law.clone(),
            megabytes_per_second: link.rate_bytes_per_second as f64 / 1e6,
            latency_us: link.latency_ns / 1e3,
        };
        self.links.iter().map(link_json).collect()
    }

    pub(crate) fn shown_ports(&self) -> Vec<PlatformPort> {
        let port_json = |port: &Port| PlatformPort {
            name: port.name.clone(),
            law: port.connector.clone(),
            controller: port.controller.to_owned(),
            megabytes_per_second: port.rate_bytes_per_second as f64 / 1e6,
            behind: port.behind.join(", "),
        };
        self.ports.iter().map(port_json).collect()
    }
}
