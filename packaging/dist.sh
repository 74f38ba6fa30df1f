#!/usr/bin/env bash
# Builds the release packages in target/dist: `make dist`. The folder is replaced only when all packages are complete.
#
# The program of the wheel and of the Debian package for x86-64 is linked to the system's glibc. The minimum glibc version
# is read from the program's symbols, and stated in RELEASE.md, in the Debian package and in glibc.txt. The programs of
# the other packages need no library (packaging/static.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1      # of the workspace
sbom_tool=$2    # the folder with cargo-cyclonedx
maintainer=${MAINTAINER:-The Lanemark authors <noreply@lanemark.invalid>}
homepage=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
target=x86_64-unknown-linux-gnu
architectures="x86_64 aarch64" # of the static programs
name=lanemark-$version
# All files of a commit have the same date, so that equal programs produce equal archives and packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

for tool in objdump dpkg-deb dpkg-shlibdeps gzip sha256sum; do
    command -v $tool >/dev/null || { echo "missing: $tool (apt-get install binutils dpkg-dev)" >&2; exit 1; }
done
[ "$(uname -m)" = x86_64 ] || { echo "packages are built on x86_64" >&2; exit 1; }

new=$PWD/target/dist.new
work=$PWD/target/dist.work
rm -rf "$new" "$work"
mkdir -p "$new" "$work"
trap 'rm -rf "$new" "$work"' EXIT

# The files of the program, as the packages contain them.
tree=$work/$name
install -d "$tree"/bin "$tree"/share/man/man1 "$tree"/share/bash-completion/completions \
    "$tree"/share/zsh/site-functions "$tree"/share/fish/vendor_completions.d
# Rust's own tool knows the formats of all targets; it needs the compiler's library.
sysroot=$(rustc --print sysroot)
stripped() { # copies a program without its symbols
    LD_LIBRARY_PATH=$sysroot/lib "$sysroot/lib/rustlib/$target/bin/rust-objcopy" --strip-all "$1" "$2"
    chmod 755 "$2"
}
stripped target/release/lanemark "$tree/bin/lanemark"
program=$tree/bin/lanemark
"$program" completions bash >"$tree/share/bash-completion/completions/lanemark"
"$program" completions zsh >"$tree/share/zsh/site-functions/_lanemark"
"$program" completions fish >"$tree/share/fish/vendor_completions.d/lanemark.fish"
"$program" completions man "$tree/share/man/man1" 2>/dev/null
install -d "$tree/share/doc/lanemark"
python3 packaging/licences.py >"$tree/share/doc/lanemark/THIRD-PARTY-LICENCES.txt"
cp LICENSE-APACHE LICENSE-MIT CHANGELOG.md METHOD.md "$tree/share/doc/lanemark"

glibc=$(objdump -T "$program" | grep -o 'GLIBC_[0-9][0-9.]*' | sort -uV | tail -1 | cut -d_ -f2)
echo "$glibc" >"$new/glibc.txt"
echo "the program needs glibc $glibc or later"

packed() { # prints the compressed archive of a folder in $work
    tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode='u=rwX,go=rX' -cf - "$1" | gzip -9n
}
packed "$name" >"$new/$name-x86_64-linux-gnu.tar.gz"
cp "$program" "$work/dynamic"
for architecture in $architectures; do
    stripped "target/$architecture-unknown-linux-musl/release/lanemark" "$program"
    packed "$name" >"$new/$name-$architecture-linux-musl.tar.gz"
done

# The Debian package. Debian policy: manual pages and changelogs are compressed, and each file has a checksum.
deb=$work/deb
doc=$deb/usr/share/doc/lanemark
install -d "$deb/DEBIAN" "$deb/usr/bin" "$deb/usr/share/man/man1" "$deb/usr/share/zsh/vendor-completions" "$doc"
cp "$work/dynamic" "$deb/usr/bin/lanemark"
cp -r "$tree/share/bash-completion" "$tree/share/fish" "$deb/usr/share"
cp "$tree/share/zsh/site-functions/_lanemark" "$deb/usr/share/zsh/vendor-completions"
for page in "$tree"/share/man/man1/*.1; do
    gzip -9nc "$page" >"$deb/usr/share/man/man1/$(basename "$page").gz"
done
gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
gzip -9n >"$doc/changelog.Debian.gz" <<END
lanemark ($version-1) unstable; urgency=medium

  * Version $version. Changes for users are in changelog.gz.

 -- $maintainer  $(date -Rud "@$SOURCE_DATE_EPOCH")
END
gzip -9nc "$tree/share/doc/lanemark/THIRD-PARTY-LICENCES.txt" >"$doc/THIRD-PARTY-LICENCES.txt.gz"
{
    cat <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Lanemark
Source: $homepage

Files: *
Copyright: 2026 The Lanemark authors
License: Apache-2.0 or Expat
Comment: The program contains the Rust crates that THIRD-PARTY-LICENCES.txt.gz lists with their licences.

License: Apache-2.0
 On Debian systems, the full text of the Apache License, Version 2.0 is in
 /usr/share/common-licenses/Apache-2.0.

License: Expat
END
    sed '1,/^Copyright/d;1{/^$/d}' LICENSE-MIT | sed 's/^$/./;s/^/ /' | sed '1{/^ \.$/d}'
} >"$doc/copyright"
mkdir -p "$work/shlibs/debian"
printf 'Source: lanemark\n\nPackage: lanemark\nArchitecture: any\n' >"$work/shlibs/debian/control"
depends=$(cd "$work/shlibs" && dpkg-shlibdeps -O -e"$deb/usr/bin/lanemark" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo "dpkg-shlibdeps found no dependency" >&2; exit 1; }
package() { # builds the package of an architecture from $deb, with its dependencies
    rm -rf "$deb/DEBIAN"
    install -d "$deb/DEBIAN"
    chmod 755 "$deb/usr/bin/lanemark"
    find "$deb" -type d -exec chmod 755 {} + -o -type f -exec chmod go=rX {} +
    cat >"$deb/DEBIAN/control" <<END
Package: lanemark
Version: $version-1
Architecture: $1
Maintainer: $maintainer
Installed-Size: $(du -k --apparent-size -s "$deb/usr" | cut -f1)
${2:+Depends: $2
}Section: utils
Priority: optional
Homepage: $homepage
Description: storage-path laboratory: measures, simulates and explains drives
 Lanemark measures a drive, simulates it in any slot of a known computer, and
 shows hop by hop how much of its speed reaches the application, where the rest
 is lost, and how fast another path would be.
 .
 The program contains its library of drives, platforms and workloads, the
 studies, and samples of results, traces and job files.
END
    (cd "$deb" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$deb/DEBIAN/md5sums"
    find "$deb" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$deb" "$new/lanemark_$version-1_$1.deb" >/dev/null
}
package amd64 "$depends"
cp "$program" "$deb/usr/bin/lanemark" # the last static program
package arm64 ""

cp target/wheels/lanemark-"$version"-*.whl "$new"

# The tool writes next to each manifest, so it reads a copy.
mkdir "$work/sources"
git ls-files -z -- Cargo.toml Cargo.lock crates | xargs -0 cp --parents -t "$work/sources"
(cd "$work/sources" && PATH=$sbom_tool:$PATH cargo cyclonedx --format json --spec-version 1.5 --features mysql \
    --target $target --quiet --manifest-path crates/lanemark-cli/Cargo.toml)
# The references to the workspace's crates contain the path of this machine's folder.
sed "s#path+file://$work/sources/#path+file:///#g" "$work/sources/crates/lanemark-cli/lanemark-cli.cdx.json" \
    >"$new/$name.cdx.json"
cp packaging/Containerfile "$new"

(cd "$new" && sha256sum -- "$name"* lanemark[_-]*.deb lanemark-*.whl Containerfile glibc.txt | sort -uk2 >SHA256SUMS)
python3 packaging/recipes.py "$new" "$version" "$homepage"
python3 packaging/release.py "$new" "$version" "$homepage" >"$work/RELEASE.md"
mv "$work/RELEASE.md" "$new"
rm -rf target/dist.old
[ ! -e target/dist ] || mv target/dist target/dist.old
mv "$new" target/dist
rm -rf target/dist.old
ls -l target/dist
