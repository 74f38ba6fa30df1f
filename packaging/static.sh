#!/usr/bin/env bash
# Builds the program without shared libraries, for each target that is named: `make static`. Such a program runs on any
# Linux of its processor.
#
# Zig compiles the C code of SQLite, because it contains musl's headers for all processors; Rust's own linker links.
set -euo pipefail
cd "$(dirname "$0")/.."

zig=$PWD/target/zig
version=0.17.1
if [ "$("$zig/bin/python" -m ziglang version 2>/dev/null)" != $version ]; then
    python3 -m venv "$zig"
    "$zig/bin/pip" install -q --disable-pip-version-check "ziglang==$version"
fi
for target in "$@"; do
    [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"
    architecture=${target%%-*}
    # The compiler's name of the target differs from the name that the build scripts pass.
    cat >"$zig/cc-$architecture" <<END
#!/bin/sh
for argument; do
    shift
    case \$argument in --target=*) ;; *) set -- "\$@" "\$argument" ;; esac
done
exec "$zig/bin/python" -m ziglang cc -target $architecture-linux-musl "\$@"
END
    printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$zig/bin/python" >"$zig/ar"
    chmod +x "$zig/cc-$architecture" "$zig/ar"
    upper=$(tr a-z- A-Z_ <<<"$target")
    env "CC_${target//-/_}=$zig/cc-$architecture" "AR_${target//-/_}=$zig/ar" \
        "CARGO_TARGET_${upper}_LINKER=rust-lld" "CARGO_TARGET_${upper}_RUSTFLAGS=-C link-self-contained=yes" \
        cargo build --release --locked -p lanemark-cli --features mysql --target "$target"
done
