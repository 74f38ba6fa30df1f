#!/usr/bin/env bash
# Builds the laboratory as one HTML file, target/page/lanemark.html: `make page`. The toolchain's target is installed once.
# Without it the page is not built, its tests are skipped, and `lanemark ui` reports that the page is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
# The command contains the module. An equal module keeps its time, so the command is not built again.
module=crates/lanemark-ui/module/lanemark.wasm.gz
# A page runs up to six copies of the module; a copy that needs more memory than this reports an error.
memory_max=$((400 << 20))

has_target() { [ -d "$(rustc --print target-libdir --target $target)" ]; }
has_target || rustup target add $target || true
if ! has_target; then
    echo "the target $target cannot be installed: the page is not built, and its tests are skipped" >&2
    rm -f $module
    exit 0
fi
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C link-arg=--max-memory=$memory_max" \
    cargo rustc --locked -p lanemark-ui --lib --crate-type cdylib --target $target --profile module
mkdir -p target/page
gzip -9nc target/$target/module/lanemark_ui.wasm >target/page/lanemark.wasm.gz
cmp -s target/page/lanemark.wasm.gz $module || cp target/page/lanemark.wasm.gz $module
cargo run --quiet --locked -p lanemark-ui --example page $module target/page/lanemark.html
