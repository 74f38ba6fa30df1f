"""Numbers of numpy, pandas and their like as Python's own, made so once where they come in.

A scalar of numpy has a ``dtype`` and no shape; ``item`` gives Python's number. Nothing here imports numpy: a value that has
neither is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def plain(value: Any) -> Any:
    """Return ``value`` with each scalar and array of numpy or pandas in it as Python's number, text or list.

    Lists, tuples, dictionaries and sets are looked through; anything else is returned as it is.
    """
    kind = cast("type[object]", type(value))
    if value is None or kind in _OWN:
        return value
    if kind is list:
        return [plain(one) for one in value]
    if kind is tuple:
        return tuple(plain(one) for one in value)
    if kind is dict:
        return {plain(key): plain(one) for key, one in value.items()}
    if hasattr(value, "dtype"):
        return _of_array(value)
    return value


_OWN = frozenset({bool, int, float, str, bytes})


def _of_array(value: Any) -> Any:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        own = value.item()
        # A long double has no number of Python's, and gives itself.
        return float(own) if hasattr(own, "dtype") and own.dtype.kind == "f" else own
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def coerced(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` with all of its arguments as :func:`plain` makes them."""

    @wraps(function)
    def taking(*args: P.args, **kwargs: P.kwargs) -> R:
        own_args = tuple(plain(one) for one in args)
        own_kwargs = {name: plain(one) for name, one in kwargs.items()}
        return cast("Callable[..., R]", function)(*own_args, **own_kwargs)

    return taking
