//! The sysfs tree of a small laptop: an NVMe drive with two lanes at a root port, and a drive on a virtual bus.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Creates the tree below `root`.
pub(crate) fn laptop(root: &Path) {
    let file = |path: String, content: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{content}\n")).unwrap();
    };
    let upper = "devices/pci0000:00/0000:00:06.0";
    let lower = format!("{upper}/0000:01:00.0");
    for (at, class) in [(upper, "0x060400"), (lower.as_str(), "0x010802")] {
        for (name, text) in [
            ("class", class),
            ("vendor", "0x8086"),
            ("device", "0x1234"),
            ("current_link_speed", "8.0 GT/s PCIe"),
            ("current_link_width", "2"),
            ("max_link_speed", "8.0 GT/s PCIe"),
            ("max_link_width", "2"),
        ] {
            file(format!("{at}/{name}"), text);
        }
    }
    fs::create_dir_all(root.join("block")).unwrap();
    let block = |at: &str| {
        let name = at.rsplit('/').next().unwrap();
        file(format!("{at}/size"), "1953125000");
        file(format!("{at}/queue/logical_block_size"), "512");
        file(format!("{at}/queue/rotational"), "0");
        symlink(format!("../{at}"), root.join(format!("block/{name}"))).unwrap();
    };
    let controller = format!("{lower}/nvme/nvme0");
    file(format!("{controller}/model"), "Drive X");
    block(&format!("{controller}/nvme0n1"));
    block("devices/pci0000:00/0000:00:07.0/virtio1/block/vda");
    file("devices/system/cpu/online".to_owned(), "0-7");
}
