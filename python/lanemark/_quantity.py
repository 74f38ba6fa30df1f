"""Quantities: text with a unit, or a number in a parameter whose name ends in the unit.

The extension parses the text. This module only converts a number with a named unit into text, and rejects a number
without a unit, like the command and its files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import cast

from .errors import InputError

#: The units with which parameter names end, longest first, and the text of each unit.
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
        InputError: If ``value`` is not a finite number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name}: expected a finite number of {unit}, found {value!r}")
    exact = Decimal(repr(value))
    # The number is written without an exponent, because quantities such as 1e-05 are not accepted.
    return f"{exact * 100:f}%" if unit == "%" else f"{exact:f} {unit}"


def one_of(name: str, written: object, unit_name: str, number: object) -> str | None:
    """Return the quantity ``name``, given as text or as a number in ``unit_name``. Return ``None`` if neither is given.

    Raises:
        InputError: If both are given, or if a number without a unit replaces the text.
    """
    with_unit = f"{name}_{unit_name}"
    if number is not None:
        if written is not None:
            raise InputError(f"{name} and {with_unit}: use only one of them")
        return text(with_unit, number, UNITS[unit_name])
    if written is None or isinstance(written, str):
        return written
    raise InputError(f"{name} = {written!r} lacks a unit", f"use text with a unit, or {with_unit}={written!r}")


def named(values: dict[str, object]) -> dict[str, object]:
    """Convert every number whose name ends in a unit to text: ``span_bytes=4096`` becomes ``span="4096 B"``.

    Raises:
        InputError: If a quantity is given twice, or is not a finite number.
    """
    texts: dict[str, object] = {}
    for key, value in values.items():
        unit = next((unit for unit in UNITS if key.endswith("_" + unit)), None)
        name, value = (key, value) if unit is None else (key[: -len(unit) - 1], text(key, value, UNITS[unit]))
        if name in texts:
            raise InputError(f"{name} and {key}: use only one of them")
        texts[name] = value
    return texts


def count(name: str, value: object) -> int | None:
    """Return ``value`` if it is ``None`` or a whole number above 0.

    Raises:
        InputError: If ``value`` is another value.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise InputError(f"{name}: expected a whole number above 0, found {value!r}")


def texts(name: str, values: object, example: str) -> list[str]:
    """Return ``values`` if it is a list of texts.

    Raises:
        InputError: If ``values`` is a single text, or contains anything but text.
    """
    listed = cast("Sequence[object]", values) if isinstance(values, (list, tuple)) else None
    if listed is None or not all(isinstance(item, str) for item in listed):
        raise InputError(f"{name}: expected a list of texts, found {values!r}", f"write {name}=[{example!r}]")
    return [str(item) for item in listed]


def settings(values: Mapping[str, object] | None) -> list[str]:
    """Return model values in the syntax of the command's ``--set``, ``parameter=value``.

    Raises:
        InputError: If a value is neither text nor a number.
    """
    # Callers without a type checker may pass any value.
    given: object = values
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"set: expected a mapping of parameters to values, found {values!r}",
            'write set={"drive.flash.read": "60 us"}',
        )
    pairs: list[str] = []
    for name, value in (values or {}).items():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise InputError(f"set: {name}: expected text or a number, found {value!r}")
        pairs.append(f"{name}={value}")
    return pairs
