#!/usr/bin/env bash
# Packages the crates for other projects, and tests the examples with the packages outside the workspace: `make examples`.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
root=$PWD
try=$root/target/package-try
# Uncommitted changes are packaged too; the check of a release rejects them.
cargo package --locked --quiet --no-verify --allow-dirty -p lanemark-schema -p lanemark-sim
rm -rf "$try"
mkdir -p "$try"
for name in lanemark-schema lanemark-sim; do
    tar -xzf "target/package/$name-$version.crate" -C "$try"
done
cp -r examples/turmoil "$try"
sed -i "s#\.\./\.\./crates/lanemark-sim#../lanemark-sim-$version#" "$try/turmoil/Cargo.toml"
# The registry does not contain the crates before the release.
cat >"$try/patched.toml" <<END
[patch.crates-io]
lanemark-schema = { path = "$try/lanemark-schema-$version" }
END
export CARGO_TARGET_DIR=$root/target/package-try.build CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=none
cp Cargo.lock "$try/lanemark-sim-$version"
(cd "$try/lanemark-sim-$version" && cargo --config "$try/patched.toml" test --quiet --examples)
(cd "$try/turmoil" && cargo --config "$try/patched.toml" test --quiet)
