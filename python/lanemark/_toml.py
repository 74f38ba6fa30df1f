"""Values as TOML, in which the laboratory reads workloads and sweeps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

from .errors import InputError


def value(name: str, given: object) -> str:
    """Return a value as TOML.

    Raises:
        InputError: Where TOML has no such value.
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
        inner = ", ".join(f"{key(name, one)} = {value(name, other)}" for one, other in pairs)
        return "{ " + inner + " }"
    if isinstance(given, Sequence) and not isinstance(given, (bytes, bytearray, memoryview)):
        return "[" + ", ".join(value(name, one) for one in cast("Sequence[object]", given)) + "]"
    raise InputError(f"{name} = {given!r}: is no value of a workload")


def key(name: str, given: object) -> str:
    """Return a key as TOML."""
    if not isinstance(given, str):
        raise InputError(f"{name}: {given!r} is no name")
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def table(head: str, pairs: Mapping[str, object]) -> str:
    """Return a table below ``head``; what is ``None`` is left out."""
    lines = [f"{key(head, one)} = {value(one, other)}" for one, other in pairs.items() if other is not None]
    return "\n".join([head, *lines, ""])
