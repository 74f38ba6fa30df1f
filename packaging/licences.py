"""Print the licences of all crates that the program of the release packages contains."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

METADATA = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"]
NAMES = ("license", "licence", "copying", "copyright", "notice", "unlicense")


def built_in(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the foreign packages that are linked into the program, by name."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    root = next(key for key, package in packages.items() if package["name"] == "lanemark-cli")
    found, pending = set[str](), [root]
    while pending:
        key = pending.pop()
        if key in found:
            continue
        found.add(key)
        for dependency in nodes[key]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                pending.append(dependency["pkg"])
    foreign = [packages[key] for key in found if packages[key]["source"]]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> list[str]:
    """Return the texts of a package's licence files."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.name.lower().startswith(NAMES) and path.is_file())
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def main() -> None:
    """Print a list of the crates, then each licence text once with the crates that use it."""
    printed = subprocess.run([*METADATA, "--features=lanemark-cli/mysql"], capture_output=True, text=True, check=False)
    if printed.returncode != 0:
        sys.exit(printed.stderr)
    packages = built_in(json.loads(printed.stdout))
    users: dict[str, list[str]] = {}
    print("Lanemark contains these crates.\n")
    for package in packages:
        label = f"{package['name']} {package['version']}"
        print(f"{label}: {package['license'] or 'see its file below'}, {package['repository'] or 'no address'}")
        for text in texts(package):
            users.setdefault(text, []).append(label)
    for text, labels in users.items():
        print(f"\n{'=' * 100}\n{', '.join(labels)}\n{'=' * 100}\n\n{text}")


main()
