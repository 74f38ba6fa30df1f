"""Errors, with the messages of the ``lanemark`` command.

``message`` describes the error. ``hint`` states how to fix it, or is ``None``.
"""

from __future__ import annotations


class LanemarkError(Exception):
    """The base class of Lanemark's errors: what is wrong, where, and how to fix it."""

    message: str
    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class InputError(LanemarkError, ValueError):
    """An invalid input: an unknown name, a value out of bounds, or a file of the wrong kind."""


class RefusedError(LanemarkError):
    """A refusal to overwrite a file or a device whose data would be lost."""


class RunError(LanemarkError):
    """A failed run, or a file that cannot be written."""


class MissingPackageError(LanemarkError, ImportError):
    """A missing optional package."""
