"""Conversion of values to TOML, the format in which the extension reads workloads and sweeps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

from .errors import InputError


def value(name: str, given: object) -> str:
    """Return a value as TOML.

    Raises:
        InputError: If the value does not have a TOML equivalent.
    """
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, float) and math.isfinite(given):
        return repr(given) if "e" not in repr(given) else f"{given:.20f}"
    if isinstance(given, str):
        return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(given, Mapping):
        pairs = cast("Mapping[object, object]", given).items()
        inner = ", ".join(f"{key(name, item_key)} = {value(name, item)}" for item_key, item in pairs)
        return "{ " + inner + " }"
    if isinstance(given, Sequence) and not isinstance(given, (bytes, bytearray, memoryview)):
        return "[" + ", ".join(value(name, item) for item in cast("Sequence[object]", given)) + "]"
    raise InputError(f"{name}: expected a finite number, text, a list or a mapping, found {given!r}")


def key(name: str, given: object) -> str:
    """Return a key as TOML.

    Raises:
        InputError: If the key is not text.
    """
    if not isinstance(given, str):
        raise InputError(f"{name}: expected text as a key, found {given!r}")
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def table(head: str, pairs: Mapping[str, object]) -> str:
    """Return a TOML table with the header ``head``. Pairs whose value is ``None`` are omitted."""
    lines = [f"{key(head, name)} = {value(name, given)}" for name, given in pairs.items() if given is not None]
    return "\n".join([head, *lines, ""])
