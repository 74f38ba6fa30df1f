"""Folders of sweep parts, local or remote (fsspec), in which each file is either complete or absent."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from pathlib import Path
from typing import Any

from ._missing import package
from .errors import InputError

#: The maximum size of a file, in bytes. A plan of a million chunks is smaller.
READ_MAX = 64 << 20


def content_of(path: Path) -> bytes:
    """Return the content of a regular file of up to ``READ_MAX`` bytes.

    Raises:
        FileNotFoundError: If there is no such file.
        InputError: If the file is a pipe, a folder or a device, exceeds the maximum size, or cannot be read.
    """
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would block.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be read: {error}") from error
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path} is not a regular file")
        content = file.read(READ_MAX + 1)
    return _bounded(path, content)


def _bounded(path: object, content: bytes) -> bytes:
    if len(content) > READ_MAX:
        raise InputError(f"{path} is longer than {READ_MAX >> 20} MiB")
    return content


class PartFolder:
    """A folder: a local path, or an fsspec URL, ``"s3://bucket/folder"``."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url = os.fspath(url).rstrip("/") or "/"
        self._local = Path(self.url) if "://" not in self.url else None

    def _remote(self) -> tuple[Any, str]:
        """Return the file system and the folder's path in it."""
        fsspec: Any = package("fsspec", "sweep")
        return fsspec.core.url_to_fs(self.url)

    def names(self) -> list[str]:
        """Return the names of all files in the folder, or an empty list if the folder does not exist."""
        if self._local is not None:
            return sorted(entry.name for entry in self._local.iterdir()) if self._local.is_dir() else []
        system, folder = self._remote()
        system.invalidate_cache()
        if not system.exists(folder):
            return []
        return sorted(name.rstrip("/").rsplit("/", 1)[-1] for name in system.ls(folder, detail=False))

    def has(self, name: str) -> bool:
        """Return whether the folder contains a file named ``name``."""
        if self._local is not None:
            return (self._local / name).is_file()
        system, folder = self._remote()
        system.invalidate_cache()
        return bool(system.exists(f"{folder}/{name}"))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or ``None`` if there is no such file.

        Raises:
            InputError: If the file is not a regular file, or is longer than ``READ_MAX``.
        """
        try:
            if self._local is not None:
                return content_of(self._local / name)
            system, folder = self._remote()
            content: bytes = system.cat_file(f"{folder}/{name}", start=0, end=READ_MAX + 1)
            return _bounded(f"{self}/{name}", content)
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically. An existing file with the same name is replaced."""
        self._put(name, content, replace=True)

    def write_once(self, name: str, content: bytes) -> bytes:
        """Write a file atomically unless a file with the same name exists, and return the stored content."""
        stored = self.read(name)
        if stored is None:
            self._put(name, content, replace=False)
            stored = self.read(name)
        return content if stored is None else stored

    def _put(self, name: str, content: bytes, *, replace: bool) -> None:
        if self._local is None:
            # An object store publishes an object only once it is complete, so a temporary name is not needed.
            system, folder = self._remote()
            system.makedirs(folder, exist_ok=True)
            system.pipe_file(f"{folder}/{name}", content)
            return
        self._local.mkdir(parents=True, exist_ok=True)
        temporary = self._local / f".{name}.{uuid.uuid4().hex}"
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                temporary.replace(self._local / name)
            else:
                # If several processes write the file at the same time, the first process to finish wins.
                with contextlib.suppress(FileExistsError):
                    os.link(temporary, self._local / name)
        finally:
            temporary.unlink(missing_ok=True)

    def __str__(self) -> str:
        return self.url
