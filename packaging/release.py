"""Print the release page: how to install each file, the changes, and the checksums."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def changes(version: str) -> str:
    """Return the changelog section for a version, without its heading."""
    text = Path("CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        if heading.split(",")[0].strip() == version:
            # Links to files in the tree do not work on a release page.
            return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", body).strip()
    sys.exit(f"CHANGELOG.md: there is no section about {version}")


def size(path: Path) -> str:
    """Return the size of a file."""
    length = path.stat().st_size
    return f"{length / 1e6:.1f} MB" if length >= 1e6 else f"{length / 1e3:.0f} kB"


def main() -> None:
    """Print the release page for the files in a folder."""
    folder, version, homepage = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    glibc = (folder / "glibc.txt").read_text(encoding="utf-8").strip()
    sums = [line.split() for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]

    def one(ending: str) -> str:
        found = [name for _, name in sums if name.endswith(ending)]
        if len(found) != 1:
            sys.exit(f"{folder}: {len(found)} files end in {ending}")
        return found[0]

    deb, arm_deb, archive = one("_amd64.deb"), one("_arm64.deb"), one("-x86_64-linux-musl.tar.gz")
    wheel, sbom = one(".whl"), one(".cdx.json")
    rows = "\n".join(f"| `{name}` | {size(folder / name)} | `{digest}` |" for digest, name in sums)
    print(
        f"""# Lanemark {version}

For Linux on x86-64 and arm64. The programs in the archives that end in `-musl.tar.gz` need no library; the wheel, the
Debian package for x86-64 and the archive `-gnu.tar.gz` need glibc {glibc} or later. On Windows and macOS, use the
laboratory's page in a browser. Download from {homepage}/releases/tag/v{version}, and check the files:

```sh
sha256sum --check --ignore-missing SHA256SUMS
```

## Install

Debian, Ubuntu and their derivatives, with manual pages and completions:

```sh
sudo apt install ./{deb}     # x86-64
sudo apt install ./{arm_deb}     # arm64
```

Any distribution, also without glibc, into `~/.local`; for arm64, replace `x86_64` by `aarch64`:

```sh
mkdir -p ~/.local && tar -xzf {archive} -C ~/.local --strip-components=1
```

Python 3.10 or later, the package and the command:

```sh
pip install ./{wheel}
```

Arch Linux, Homebrew on Linux, and Nix, each in a folder with its file from this page:

```sh
makepkg --install                       # PKGBUILD
brew install --formula ./lanemark.rb
nix profile install path:.              # flake.nix
```

A container that saves its results in the folder `results`:

```sh
podman build -t lanemark -f Containerfile .
podman run --rm -v ./results:/results lanemark sim samsung-850-pro-1tb@workstation-z170:sata quick
```

The packages do not need any other files: the library, the studies and the samples are built in.

## Changes

{changes(version)}

## Files

| file | size | SHA-256 |
|---|---:|---|
{rows}

`{sbom}` lists all crates in the program (CycloneDX). The archive and the Debian package contain their licences.
"""
    )


main()
