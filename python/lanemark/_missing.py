"""Optional packages, imported on first use."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingPackageError


def package(name: str, extra: str) -> Any:
    """Import the module ``name``.

    Raises:
        MissingPackageError: If the module is not installed. The hint names the extra that installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        distribution = name.split(".")[0]
        raise MissingPackageError(f"{distribution} is not installed", f"pip install 'lanemark[{extra}]'") from error
