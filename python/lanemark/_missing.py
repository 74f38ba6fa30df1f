"""Optional packages, asked for where they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingPackageError


def package(name: str, extra: str) -> Any:
    """Import the module ``name``.

    Raises:
        MissingPackageError: Where it is not installed; the hint names the extra that brings it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        wanted = name.split(".")[0]
        raise MissingPackageError(f"{wanted} is not installed", f"pip install 'lanemark[{extra}]'") from error
