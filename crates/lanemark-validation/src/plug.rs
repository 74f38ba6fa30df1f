//! Connectors of drives and ports: finds them in the text of a row, and writes them as TOML.

use crate::corpus::CorpusRow;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Connector {
    /// PCI Express, with its generation and number of lanes.
    Pcie(u32, u32),
    /// SATA, with its rate in Gb/s.
    Sata(f64),
    /// SAS, with its rate in Gb/s and number of phys.
    Sas(f64, u32),
    /// A USB port with a UASP bridge, with its rate in Gb/s. A drive never has this connector.
    Usb(f64),
}

impl Connector {
    /// Finds a connector such as `PCIe 3.0 x4`, `SATA 6 Gb/s` or `SAS 12 Gb/s` in a text.
    pub fn find(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split([' ', ',', ';', '(', ')']).collect();
        let word_after = |name: &str, distance: usize| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + distance)?.parse::<f64>().ok()
        };
        if let Some(generation) = word_after("pcie", 1) {
            let lanes = words.iter().find_map(|word| word.strip_prefix('x')?.parse().ok());
            return Some(Self::Pcie(generation as u32, lanes.unwrap_or(4)));
        }
        if let Some(rate) = word_after("sata", 1) {
            return Some(Self::Sata(rate));
        }
        word_after("sas", 1).map(|rate| Self::Sas(rate, 1))
    }

    /// Returns the port that the path of a row names, or otherwise a port with the drive's connector.
    pub fn of_path(row: &CorpusRow, drive: Self) -> Self {
        let path = row.text("path").to_lowercase();
        if path.contains("usb 2") {
            return Self::Usb(0.48);
        }
        if path.contains("usb 3") {
            return Self::Usb(if path.contains("10 gb/s") { 10.0 } else { 5.0 });
        }
        Self::find(&path).unwrap_or(drive)
    }

    /// Returns the rate in bytes a second, after the overhead of the line code.
    pub fn rate(self) -> f64 {
        match self {
            Self::Pcie(generation, lanes) => {
                let lane = [250e6, 500e6, 984.6e6, 1969.2e6, 3938.5e6];
                lane[(generation as usize).saturating_sub(1).min(4)] * f64::from(lanes)
            }
            Self::Sata(rate) => rate * 1e8,
            Self::Sas(rate, phys) => rate * 1e8 * f64::from(phys),
            Self::Usb(rate) if rate < 1.0 => rate * 1e9 / 8.0,
            Self::Usb(rate) if rate < 10.0 => rate * 1e8,
            Self::Usb(rate) => rate * 1e9 / 8.0 * 128.0 / 132.0,
        }
    }

    /// Returns the connector as keys of a drive or platform file.
    pub fn toml(self) -> String {
        match self {
            Self::Pcie(generation, lanes) => {
                format!("pcie = {{ generation = {generation}, lanes = {lanes} }}")
            }
            Self::Sata(rate) => format!("sata = \"{rate} Gb/s\""),
            Self::Sas(rate, phys) => format!("sas = {{ rate = \"{rate} Gb/s\", phys = {phys} }}"),
            Self::Usb(rate) => format!("usb = \"{rate} Gb/s\""),
        }
    }

    /// Returns the host protocol of drives with this connector.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Pcie(..) => "nvme",
            Self::Sata(_) => "ahci",
            Self::Sas(..) => "sas",
            Self::Usb(rate) if rate < 1.0 => "bulk-only",
            Self::Usb(_) => "uasp",
        }
    }
}

/// Returns the connector of the row's drive, according to its ratings or the row. If they do not state a connector, the
/// usual connector of drives with these ratings is assumed.
pub fn drive_plug(row: &CorpusRow, rated: Option<&CorpusRow>) -> Connector {
    let stated = rated.and_then(|rated| Connector::find(rated.text("interface")));
    if let Some(plug) = stated.or_else(|| Connector::find(row.text("interface"))) {
        return plug;
    }
    let read = rated.and_then(|rated| rated.number("seq_read_mb_s")).unwrap_or(3000.0);
    match row.text("drive_kind") {
        "nvme-ssd" | "optane" if read > 7600.0 => Connector::Pcie(5, 4),
        "nvme-ssd" | "optane" if read > 3800.0 => Connector::Pcie(4, 4),
        "nvme-ssd" | "optane" => Connector::Pcie(3, 4),
        "sas-ssd" => Connector::Sas(12.0, 1),
        _ => Connector::Sata(6.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLUGS: [Connector; 8] = [
        Connector::Pcie(3, 4),
        Connector::Pcie(4, 2),
        Connector::Sata(6.0),
        Connector::Sas(12.0, 2),
        Connector::Usb(0.48),
        Connector::Usb(5.0),
        Connector::Usb(10.0),
        Connector::Pcie(1, 1),
    ];

    #[test]
    fn connectors_have_the_rates_of_their_line_codes() {
        // The line codes carry 8 bits in 10. From PCIe generation 3 they carry 128 bits in 130, and for USB at 10 Gb/s
        // 128 bits in 132.
        let wanted = [
            4.0 * 8e9 * 128.0 / 130.0 / 8.0,
            2.0 * 16e9 * 128.0 / 130.0 / 8.0,
            600e6,
            2_400e6,
            60e6,
            500e6,
            10e9 * 128.0 / 132.0 / 8.0,
            250e6,
        ];
        for (plug, wanted) in PLUGS.into_iter().zip(wanted) {
            assert!((plug.rate() / wanted - 1.0).abs() < 1e-4, "{plug:?}: {}", plug.rate());
        }
    }

    #[test]
    fn connectors_are_written_as_keys_with_their_protocols() {
        let wanted = [
            ("pcie = { generation = 3, lanes = 4 }", "nvme"),
            ("pcie = { generation = 4, lanes = 2 }", "nvme"),
            ("sata = \"6 Gb/s\"", "ahci"),
            ("sas = { rate = \"12 Gb/s\", phys = 2 }", "sas"),
            ("usb = \"0.48 Gb/s\"", "bulk-only"),
            ("usb = \"5 Gb/s\"", "uasp"),
            ("usb = \"10 Gb/s\"", "uasp"),
            ("pcie = { generation = 1, lanes = 1 }", "nvme"),
        ];
        for (plug, (toml, protocol)) in PLUGS.into_iter().zip(wanted) {
            assert_eq!((plug.toml().as_str(), plug.protocol()), (toml, protocol));
        }
    }

    #[test]
    fn the_path_of_a_row_names_its_port() {
        let of = |path: &str| {
            Connector::of_path(&CorpusRow::from_columns(&[("path", path)]), Connector::Sata(6.0))
        };
        assert_eq!(of("USB 2.0 enclosure"), Connector::Usb(0.48));
        assert_eq!(of("USB 3.2 at 10 Gb/s, NVMe"), Connector::Usb(10.0));
        assert_eq!(of("USB 3.0 enclosure"), Connector::Usb(5.0));
        assert_eq!(of("PCIe 3.0 x2"), Connector::Pcie(3, 2));
        assert_eq!(of("not stated"), Connector::Sata(6.0));
    }

    #[test]
    fn a_drive_without_a_stated_connector_has_the_usual_one_of_its_kind() {
        let of = |kind: &str, read: &str| {
            let row = CorpusRow::from_columns(&[("drive_kind", kind)]);
            drive_plug(&row, Some(&CorpusRow::from_columns(&[("seq_read_mb_s", read)])))
        };
        for (read, generation) in
            [("3800", 3), ("3801", 4), ("7600", 4), ("7601", 5), ("14000", 5), ("", 3)]
        {
            assert_eq!(of("nvme-ssd", read), Connector::Pcie(generation, 4), "{read}");
            assert_eq!(of("optane", read), Connector::Pcie(generation, 4), "{read}");
        }
        assert_eq!(of("sas-ssd", "9000"), Connector::Sas(12.0, 1));
        assert_eq!(of("sata-ssd", "9000"), Connector::Sata(6.0));
        assert_eq!(of("hdd", "100"), Connector::Sata(6.0));
        // Ratings take precedence over the row.
        let row =
            CorpusRow::from_columns(&[("interface", "SATA 3 Gb/s"), ("drive_kind", "nvme-ssd")]);
        assert_eq!(drive_plug(&row, None), Connector::Sata(3.0));
        let rated = CorpusRow::from_columns(&[("interface", "PCIe 5.0 x4")]);
        assert_eq!(drive_plug(&row, Some(&rated)), Connector::Pcie(5, 4));
    }
}
