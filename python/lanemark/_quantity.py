"""Quantities: text with a unit, or a number in a parameter whose name ends in the unit.

What a text means is for the laboratory to read; this module only turns a number with a named unit into such a text, and
refuses a bare number where a unit belongs, as the command and its files do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal

from .errors import InputError

#: The units that names of parameters end in, longest first, with the text of each.
UNITS = {
    "bytes_per_second": "B/s",
    "seconds": "s",
    "bytes": "B",
    "watts": "W",
    "ratio": "%",
}


def text(name: str, value: object, unit: str) -> str:
    """Return the number ``value`` of the parameter ``name`` as text with ``unit``.

    Raises:
        InputError: Where it is no finite number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} = {value!r}: is no number of {unit}")
    exact = Decimal(repr(value))
    # In digits alone: no quantity is read from 1e-05.
    return f"{exact * 100:f}%" if unit == "%" else f"{exact:f} {unit}"


def one_of(name: str, written: object, unit_name: str, number: object) -> str | None:
    """Return the quantity ``name`` from its text or from its number in ``unit_name``; ``None`` where it has neither.

    Raises:
        InputError: Where both are given, or a bare number in place of a text.
    """
    with_unit = f"{name}_{unit_name}"
    if number is not None:
        if written is not None:
            raise InputError(f"{name} and {with_unit}: give one of both")
        return text(with_unit, number, UNITS[unit_name])
    if written is None or isinstance(written, str):
        return written
    raise InputError(f"{name} = {written!r}: has no unit", f"write text with a unit, or {with_unit}={written!r}")


def named(values: dict[str, object]) -> dict[str, object]:
    """Turn every number whose name ends in a unit into text: ``span_bytes=4096`` becomes ``span="4096 B"``.

    Raises:
        InputError: Where a quantity is given twice, or is no number.
    """
    told: dict[str, object] = {}
    for key, value in values.items():
        unit = next((unit for unit in UNITS if key.endswith("_" + unit)), None)
        name, value = (key, value) if unit is None else (key[: -len(unit) - 1], text(key, value, UNITS[unit]))
        if name in told:
            raise InputError(f"{name} and {key}: give one of both")
        told[name] = value
    return told


def settings(values: Mapping[str, object] | None) -> list[str]:
    """Return model values as the command's ``--set`` takes them, ``parameter=value``."""
    told: list[str] = []
    for name, value in (values or {}).items():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise InputError(f"set: {name} = {value!r}: is neither a text nor a number")
        told.append(f"{name}={value}")
    return told
