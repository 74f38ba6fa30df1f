"""Write JSON Schemas of library files, studies and results into a folder.

The schemas contain the tables in docs/reference, which tests compare with the readers of the files and with saved
results. An editor with such a schema completes and checks keys; the readers check more, such as bounds that depend on
other values.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
# A study may contain the tables of a workload.
FILES = {
    "drive": ["drive"],
    "host": ["host"],
    "platform": ["platform"],
    "priors": ["priors"],
    "study": ["study", "workload"],
    "workload": ["workload"],
}
SCALAR: Schema = {"type": ["string", "number", "boolean"]}
# Each table may state the origin of its values, and each value may be a table with its origin.
ORIGIN = ("source", "derived", "assumed", "range", "note", "notes")
JSON_TYPES = {
    "number": "number",
    "text": "string",
    "true or false": "boolean",
    "object": "object",
    "list": "array",
    "null": "null",
}


def value_schema(values: str) -> Schema:
    """Return the schema of a value from its description in a table of keys."""
    if re.fullmatch(r'`"[^`]*"`(, `"[^`]*"`)+', values):
        plain: Schema = {"enum": re.findall(r'`"([^`]*)"`', values)}
    elif bounds := re.fullmatch(r"a (whole )?number from ([0-9.]+) to ([0-9.]+)", values):
        kind = "integer" if bounds[1] else "number"
        plain = {"type": kind, "minimum": float(bounds[2]), "maximum": float(bounds[3])}
    elif values == "a list of strings":
        return {"type": "array", "items": {"type": "string"}}
    elif values == "a string" or re.fullmatch(r'an? [a-z ]+, `"[^`]*"`', values):
        plain = {"type": "string"}
    else:
        return {}
    return {"anyOf": [plain, {"type": "object", "required": ["value"], "properties": {"value": plain}}]}


def table_at(root: Schema, path: list[str], is_list: bool) -> Schema:
    """Return the schema of a table of a file, which is created if it is new."""
    table = root
    for depth, name in enumerate(path):
        entry = table["properties"].setdefault(name, {})
        options = entry.setdefault("anyOf", [SCALAR])
        last = depth + 1 == len(path)
        found = [one.get("items", one) for one in options if "properties" in one.get("items", one)]
        if not found:
            found = [{"type": "object", "properties": {}, "additionalProperties": False}]
            options.append({"type": "array", "items": found[0]} if last and is_list else found[0])
        table = found[0]
    return table


def file_schema(pages: list[str]) -> Schema:
    """Return the schema of a kind of TOML file from its tables of keys."""
    root: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
    for page in pages:
        lines = (REFERENCE / f"{page}.md").read_text(encoding="utf-8").splitlines()
        tables = [root]
        for line in lines:
            if heading := re.fullmatch(r"## (\[+)([^\]]+)\]+(.*)", line):
                path = heading[2].split(".")
                table = table_at(root, path, heading[1] == "[[")
                # The keys of the first table may also be at the top of the file.
                tables = [table, root] if heading[3] else [table]
            elif line.startswith("| `"):
                key, meaning, values = (cell.strip() for cell in line.split(" | ")[:3])
                name = key.strip("|` ")
                for table in tables:
                    entry = table["properties"].setdefault(name, {})
                    entry.setdefault("description", meaning)
                    if "anyOf" not in entry:
                        entry.update(value_schema(values))
    add_origins(root)
    return root


def add_origins(schema: Any) -> None:
    """Permit the keys that state the origin of values in each table."""
    if isinstance(schema, dict):
        if schema.get("additionalProperties") is False:
            schema["patternProperties"] = {f"^({'|'.join(ORIGIN)})$": {}}
        for part in list(schema.values()):
            add_origins(part)
    elif isinstance(schema, list):
        for part in schema:
            add_origins(part)


def result_schema() -> Schema:
    """Return the schema of saved results from the table of paths."""
    root: Schema = {"type": "object", "properties": {}}
    for line in (REFERENCE / "results.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("| `"):
            continue
        path, kinds, meaning = (cell.strip("|` ") for cell in line.split(" | ")[:3])
        entry = root
        for name in re.findall(r"[^.\[\]]+|\[\]", path):
            if name == "[]":
                entry = entry.setdefault("items", {})
            elif name == "*":
                entry = entry.setdefault("additionalProperties", {})
            else:
                entry = entry.setdefault("properties", {}).setdefault(name, {})
        # The table describes a simulated run; other runs lack some values, and contain values that are null there.
        types = {JSON_TYPES[kind] for kind in kinds.split(", ")} | {"null"}
        entry.update({"type": sorted(types)} if len(types) > 1 else {}, description=meaning)
    return root


def main() -> None:
    """Write all schemas into the folder that the first argument names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    schemas = {name: file_schema(pages) for name, pages in FILES.items()} | {"result": result_schema()}
    for name, schema in schemas.items():
        titled = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": f"Lanemark: {name}",
            **schema,
        }
        (folder / f"{name}.schema.json").write_text(json.dumps(titled, indent=1) + "\n", encoding="utf-8")


main()
