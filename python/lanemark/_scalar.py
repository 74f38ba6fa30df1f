"""Conversion of numpy and pandas numbers to Python numbers at the entry points of the package.

A numpy scalar has a ``dtype`` and an empty shape, and its ``item`` method returns a Python number. This module does not
import numpy. A value without a ``dtype`` is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def plain(value: Any) -> Any:
    """Return ``value`` with each numpy or pandas scalar and array in it converted to a Python number, text or list.

    Lists, tuples and dictionaries are converted recursively. Any other value is returned unchanged.
    """
    kind = cast("type[object]", type(value))
    if value is None or kind in _PYTHON_TYPES:
        return value
    if kind is list:
        return [plain(item) for item in value]
    if kind is tuple:
        return tuple(plain(item) for item in value)
    if kind is dict:
        return {plain(key): plain(item) for key, item in value.items()}
    if hasattr(value, "dtype"):
        return _of_array(value)
    return value


_PYTHON_TYPES = frozenset({bool, int, float, str, bytes})


def _of_array(value: Any) -> Any:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        number = value.item()
        # The item method of a long double returns the long double itself.
        return float(number) if hasattr(number, "dtype") and number.dtype.kind == "f" else number
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def coerced(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` with :func:`plain` applied to all of its arguments."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        plain_args = tuple(plain(argument) for argument in args)
        plain_kwargs = {name: plain(argument) for name, argument in kwargs.items()}
        return cast("Callable[..., R]", function)(*plain_args, **plain_kwargs)

    return wrapper
