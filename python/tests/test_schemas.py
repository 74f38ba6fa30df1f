"""The JSON Schemas accept each file of the library, each study and each sample, and reject wrong keys and values."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema
import pytest
import tomllib

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
KINDS = {
    "drive": "library/drives/*.toml",
    "host": "library/hosts/*.toml",
    "platform": "library/platforms/*.toml",
    "priors": "library/priors/*.toml",
    "workload": "library/workloads/*.toml",
    "study": "studies/*.toml",
    "result": "crates/lanemark-cli/tests/saved/*.json",
}


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the schemas."""
    folder = tmp_path_factory.mktemp("schemas")
    subprocess.run([sys.executable, ROOT / "packaging" / "schemas.py", folder], check=True)
    return folder


@functools.cache
def validator(schemas: Path, kind: str) -> Callable[[Any], Any]:
    """Return a function that raises an error for a file that breaks the schema of its kind."""
    return fastjsonschema.compile(json.loads((schemas / f"{kind}.schema.json").read_text(encoding="utf-8")))


def content(path: Path) -> Any:
    """Return the values of a TOML or JSON file."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)


@pytest.mark.parametrize("kind", KINDS)
def test_each_file_is_valid(schemas: Path, kind: str) -> None:
    """No file of the tree breaks the schema of its kind."""
    schema = validator(schemas, kind)
    files = sorted(ROOT.glob(KINDS[kind]))
    assert files
    for path in files:
        try:
            schema(content(path))
        except fastjsonschema.JsonSchemaException as error:
            pytest.fail(f"{path.name}: {error}")


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("flash", "chanels", 8),
        ("flash", "technology", "plc"),
        ("flash", "channels", 2.5),
        ("flash", "channels", {"value": 0, "assumed": "a guess"}),
        ("flash", "read", 45),
        ("port", "pcie", {"generation": 4, "lane": 4}),
        ("drive", "capacity", None),
    ],
)
def test_a_wrong_key_or_value_is_rejected(schemas: Path, table: str, key: str, value: Any) -> None:
    """A misspelt key, a name that does not exist, a number out of bounds and a missing unit are errors."""
    drive = content(ROOT / "library" / "drives" / "samsung-980-pro-1tb.toml")
    drive.setdefault(table, {})[key] = value
    with pytest.raises(fastjsonschema.JsonSchemaException):
        validator(schemas, "drive")(drive)
