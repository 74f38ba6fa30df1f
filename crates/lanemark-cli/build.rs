//! Puts the page's module into the command, if `make page` has built it.

use std::path::Path;

fn main() {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let folder = Path::new(&manifest).join("../lanemark-ui/module");
    // Cargo compares the time of the folder too, so a new module is found.
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rustc-check-cfg=cfg(has_page)");
    let module = folder.join("lanemark.wasm.gz");
    if module.is_file() {
        println!("cargo::rustc-cfg=has_page");
        println!("cargo::rustc-env=LANEMARK_PAGE_MODULE={}", module.display());
    }
}
