//! Third-party clients: nbdinfo, nbdcopy, qemu-img and qemu-io.

use std::fs;
use std::path::Path;

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_testbed::tool_or_skip;

use super::{SIZE, Served};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn nbdinfo_sees_the_export() {
    for served in Served::both() {
        let uri = served.session().address().unwrap();
        let Some(output) = tool_or_skip("nbdinfo", &[uri]) else { return };
        let wanted = [
            "newstyle-fixed",
            "structured",
            "export-size: 33554432",
            "base:allocation",
            "can_multi_conn: true",
            "can_fua: true",
            "can_cache: true",
            "block_size_minimum: 512",
            "block_size_maximum: 33554432",
        ];
        for line in wanted {
            assert!(output.contains(line), "no `{line}` in\n{output}");
        }
        let Some(list) = tool_or_skip("nbdinfo", &["--list", uri]) else { return };
        assert!(list.contains("export=\"lanemark\""), "{list}");
    }
}

#[test]
fn nbdcopy_restores_its_copy_and_the_map_shows_its_holes() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let back = folder.path().join("back");
    let mut random = Rng::new(StreamKey::from_seed(1));
    let mut bytes = vec![0u8; SIZE as usize];
    bytes[..5 << 20].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
    fs::write(&image, &bytes).unwrap();
    for served in Served::both() {
        let uri = served.session().address().unwrap();
        if tool_or_skip("nbdcopy", &["--flush", text(&image), uri]).is_none() {
            return;
        }
        tool_or_skip("nbdcopy", &[uri, text(&back)]).unwrap();
        assert!(fs::read(&back).unwrap() == bytes);
        let map = tool_or_skip("nbdinfo", &["--map", uri]).unwrap();
        let first = map.lines().next().unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(first, ["0", "5242880", "0", "data"], "{map}");
        assert!(map.contains("hole,zero"), "{map}");
    }
}

#[test]
fn qemu_writes_reads_and_compares() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image.raw");
    for served in Served::both() {
        let uri = served.session().address().unwrap();
        let mut words = vec!["-f", "raw", uri];
        for command in [
            "write -P 7 1M 1M",
            "flush",
            "read -P 7 1M 1M",
            "write -f -P 8 4k 4k",
            "write -z 1M 64k",
            "read -P 0 1M 64k",
            "discard 1536k 512k",
            "read -P 0 1536k 512k",
            "read -P 8 4k 4k",
        ] {
            words.extend(["-c", command]);
        }
        let Some(output) = tool_or_skip("qemu-io", &words) else { return };
        assert!(!output.contains("failed") && !output.contains("error"), "{output}");
        let convert = ["convert", "-f", "raw", "-O", "raw", uri, text(&image)];
        tool_or_skip("qemu-img", &convert).unwrap();
        let compare = ["compare", "-f", "raw", "-F", "raw", uri, text(&image)];
        assert!(tool_or_skip("qemu-img", &compare).unwrap().contains("identical"));
    }
}
