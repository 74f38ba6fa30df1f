#!/usr/bin/env bash
# Installs the programs that the tests need in addition to cargo: `make tools`. Root installs the missing Debian packages.
# For other users they are listed, and each test that needs a missing program is skipped with a message. In CI (CI=true)
# these tests fail. `tools.sh axe` only downloads axe-core, and `tools.sh dist-tools` installs what the packages of a release
# and their tests need.
set -euo pipefail
cd "$(dirname "$0")/.."

# Each command with its package.
commands="fio:fio valgrind:valgrind losetup:mount mount:mount blkid:util-linux mkswap:util-linux addpart:util-linux
    mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs setpriv:util-linux nbdkit:nbdkit
    psql:postgresql-client nbdinfo:libnbd-bin nbdcopy:libnbd-bin qemu-io:qemu-utils curl:curl python3:python3-venv
    chromium:chromium zsh:zsh fish:fish fusermount3:fuse3 fuse2fs:fuse2fs mariadbd:mariadb-server sqlite3:sqlite3
    rsync:rsync git:git cc:gcc node:nodejs"
# axe-core checks the accessibility of the pages (WCAG). Its licence, MPL 2.0, is saved next to it; only tests use it.
axe=4.14.1
axe_sha256=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745

download_axe() {
    [ ! -f target/tools/axe-core-$axe/axe.min.js ] || return 0
    rm -rf target/tools/axe-core.new && mkdir -p target/tools/axe-core.new
    (
        cd target/tools/axe-core.new
        curl -sSfLO https://registry.npmjs.org/axe-core/-/axe-core-$axe.tgz
        echo "$axe_sha256  axe-core-$axe.tgz" | sha256sum --check --quiet
        tar xzf axe-core-$axe.tgz && mv package ../axe-core-$axe
    ) && rm -r target/tools/axe-core.new
}

install_packages() {
    local command
    for command in $commands; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${command%%:*}" >/dev/null || missing="$missing ${command##*:}"
    done
    command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 ||
        missing="$missing postgresql"
    ls /usr/share/fonts/truetype/*/*.ttf >/dev/null 2>&1 || missing="$missing fonts-dejavu-core"
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq $missing
}

missing=""
case ${1:-tools} in
axe)
    download_axe
    exit
    ;;
dist-tools)
    commands="objdump:binutils dpkg-shlibdeps:dpkg-dev qemu-aarch64-static:qemu-user-static man:man-db ruby:ruby
        nix-instantiate:nix-bin"
    install_packages || echo "missing: apt-get install$missing" >&2
    exit
    ;;
esac
install_packages || echo "missing, and their tests will be skipped: apt-get install$missing" >&2
download_axe || echo "axe-core is missing (curl): the accessibility test will be skipped" >&2
[ -x target/fio-plot/bin/fio-plot ] ||
    { python3 -m venv target/fio-plot && target/fio-plot/bin/pip install -q fio-plot==1.1.21; } ||
    echo "fio-plot is missing (python3 with venv and pip): the test that uses it will be skipped" >&2
