#!/usr/bin/env bash
# Checks the recipes of package managers in the release folder DIST, with the release's own files instead of downloads:
# `packaging/recipes.sh DIST FOLDER`. A check whose program is missing is reported.
set -euo pipefail

dist=$1
folder=$2
version=$(sed -n 's/^pkgver=//p' "$dist/PKGBUILD")

# Each address names a file of the release, and each checksum belongs to a file of the release.
cat "$dist"/{PKGBUILD,lanemark.rb,flake.nix} | grep -oE '\b[0-9a-f]{32,}\b' | while read -r digest; do
    grep -q "^$digest " "$dist/SHA256SUMS" || { echo "a recipe names the unknown checksum $digest" >&2; exit 1; }
done
binstall=$(sed -n 's/^pkg-url = "\(.*\)"/\1/p' crates/lanemark-cli/Cargo.toml)
for architecture in x86_64 aarch64; do
    file=$(sed "s/{ version }/$version/g; s/{ target-arch }/$architecture/" <<<"${binstall##*/}")
    [ -f "$dist/$file" ] || { echo "cargo binstall: the release lacks $file" >&2; exit 1; }
    # shellcheck source=/dev/null
    (. "$dist/PKGBUILD"
        declare -n source=source_$architecture sums=sha256sums_$architecture
        archive=$dist/${source[0]##*/}
        sha256sum --check --quiet <<<"${sums[0]}  $archive"
        pkgdir=$(realpath "$folder")/arch-$architecture
        mkdir "$pkgdir" && cd "$folder" && tar -xzf "$archive" && (package)
        rm -r "lanemark-$version"
        [ -x "$pkgdir/usr/bin/lanemark" ])
done
check() {
    command -v "$1" >/dev/null || { echo "skipped: $1 (apt-get install $2)"; return; }
    "${@:3}" >/dev/null
}
check ruby ruby ruby -c "$dist/lanemark.rb"
check nix-instantiate nix-bin nix-instantiate --parse "$dist/flake.nix"
echo "the recipes for cargo binstall, Arch Linux, Homebrew and Nix match the release"
