#!/usr/bin/env bash
# Tests the packages in target/dist: `make dist-test`. The Debian package is unpacked in an empty root folder with the
# shared libraries that it depends on, but without the checkout, a shell or Rust. The commands of the README and the
# book run in that root (LANEMARK_INSTALLED). The static programs run in roots that contain nothing else, and must print
# the same figures; the program for arm64 runs in an emulator. The other files are checked too.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$PWD/target/dist
root=$PWD/target/dist-test/root
[ -f "$dist/RELEASE.md" ] || { echo "there are no packages: make dist" >&2; exit 1; }

(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
rm -rf target/dist-test
mkdir -p "$root"/{tmp,root,proc,sys,dev}
dpkg-deb -x "$dist"/lanemark_*_amd64.deb "$root"
for file in usr/share/man/man1/lanemark.1.gz usr/share/man/man1/lanemark-sim.1.gz usr/share/doc/lanemark/copyright \
    usr/share/doc/lanemark/changelog.Debian.gz usr/share/bash-completion/completions/lanemark \
    usr/share/zsh/vendor-completions/_lanemark usr/share/fish/vendor_completions.d/lanemark.fish; do
    [ -s "$root/$file" ] || { echo "the package lacks $file" >&2; exit 1; }
done
# Each library that the program loads must belong to a package in Depends.
depends=$(dpkg-deb -f "$dist"/lanemark_*_amd64.deb Depends | tr , '\n' | awk '{print $1}')
with_libraries() { # copies the libraries of a program to the same paths in the root, and prints them
    ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
        install -D "$(readlink -f "$library")" "$root$library"
        echo "$library"
    done
}
with_libraries "$root/usr/bin/lanemark" | while read -r library; do
    # One of the two paths belongs to the package; the other path is a link to it.
    package=$({ dpkg -S "$(readlink -f "$library")" "$library" 2>/dev/null || true; } | head -1 | cut -d: -f1)
    grep -qx "$package" <<<"$depends" || { echo "Depends lacks $package, the package of $library" >&2; exit 1; }
done
# `env` creates the empty environment of each command.
install -D /usr/bin/env "$root/usr/bin/env"
with_libraries /usr/bin/env >/dev/null

version=$("$root"/usr/bin/lanemark --version)
for archive in x86_64-linux-gnu x86_64-linux-musl aarch64-linux-musl; do
    folder=target/dist-test/$archive
    mkdir "$folder"
    tar -xzf "$dist"/lanemark-*-$archive.tar.gz -C "$folder" --strip-components=1
done
[ "$version" = "$(target/dist-test/x86_64-linux-gnu/bin/lanemark --version)" ]
packaging/same.sh "$root/usr/bin/lanemark" target/dist-test/*-musl
dpkg-deb -c "$dist"/lanemark_*_arm64.deb | grep ./usr/bin/lanemark >/dev/null
packaging/recipes.sh "$dist" target/dist-test
man --warnings -l "$root/usr/share/man/man1/lanemark.1.gz" >/dev/null
for name in $(sed -n 's/^COPY \(.*\) .*/\1/p' "$dist/Containerfile"); do
    compgen -G "$dist/$name" >/dev/null || { echo "Containerfile: there is no $name" >&2; exit 1; }
done

LANEMARK_INSTALLED=$root cargo test --workspace --all-features --locked --test readme --test book every_command
echo "$version: the commands of the README and the book run from the Debian package without the checkout"
