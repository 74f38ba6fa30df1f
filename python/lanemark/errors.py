"""Errors, in the words of the ``lanemark`` command.

Each has its sentence in ``message`` and advice on how to go on in ``hint``, where there is any.
"""

from __future__ import annotations


class LanemarkError(Exception):
    """An error of Lanemark: what is wrong, where, and how to go on."""

    message: str
    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class InputError(LanemarkError, ValueError):
    """An input that is wrong: a name that nobody knows, a value out of its bounds, a file of another kind."""


class RefusedError(LanemarkError):
    """An obstacle that must not be touched: a file or a device whose data would be lost."""


class RunError(LanemarkError):
    """A run that failed, or a file that cannot be written."""


class MissingPackageError(LanemarkError, ImportError):
    """An optional package that is not installed."""
