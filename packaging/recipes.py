"""Write the recipes of package managers for a release, with its version and checksums, from the files in recipes/."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def main() -> None:
    """Fill each recipe with the values of the release in a folder."""
    folder, version, homepage = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    sums = [line.split() for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    digests = {name: digest for digest, name in sums}
    values = {"version": version, "homepage": homepage}
    for architecture in ("x86_64", "aarch64"):
        values[architecture] = digests[f"lanemark-{version}-{architecture}-linux-musl.tar.gz"]
    for recipe in sorted((Path(__file__).parent / "recipes").iterdir()):
        text = re.sub(r"@(\w+)@", lambda name: values[name[1]], recipe.read_text(encoding="utf-8"))
        (folder / recipe.name).write_text(text, encoding="utf-8")


main()
