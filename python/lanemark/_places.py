"""Folders of parts anywhere that fsspec reaches: files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from pathlib import Path
from typing import Any

from ._missing import package
from .errors import InputError

#: Bytes of the longest file that is read: a plan of a million chunks has fewer.
READ_MOST = 64 << 20


def content_of(path: Path) -> bytes:
    """Return the content of a regular file of at most ``READ_MOST`` bytes.

    Raises:
        FileNotFoundError: Where there is none.
        InputError: Where it is a pipe, a folder or a device, is longer, or cannot be read.
    """
    try:
        # A pipe without a writer would block.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be read: {error}") from error
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path}: is not a regular file")
        content = file.read(READ_MOST + 1)
    return _bounded(path, content)


def _bounded(place: object, content: bytes) -> bytes:
    if len(content) > READ_MOST:
        raise InputError(f"{place}: is longer than {READ_MOST >> 20} MiB")
    return content


class Place:
    """A folder: a path of this machine, or a URL of fsspec, ``"s3://bucket/folder"``."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url = os.fspath(url).rstrip("/") or "/"
        self._local = Path(self.url) if "://" not in self.url else None

    def _remote(self) -> tuple[Any, str]:
        """Return the file system, and the folder's path in it."""
        fsspec: Any = package("fsspec", "sweep")
        return fsspec.core.url_to_fs(self.url)

    def names(self) -> list[str]:
        """Return the names of all files in the folder, none where there is no such folder."""
        if self._local is not None:
            return sorted(one.name for one in self._local.iterdir()) if self._local.is_dir() else []
        system, folder = self._remote()
        system.invalidate_cache()
        if not system.exists(folder):
            return []
        return sorted(name.rstrip("/").rsplit("/", 1)[-1] for name in system.ls(folder, detail=False))

    def has(self, name: str) -> bool:
        """Whether the folder holds a file of that name."""
        if self._local is not None:
            return (self._local / name).is_file()
        system, folder = self._remote()
        system.invalidate_cache()
        return bool(system.exists(f"{folder}/{name}"))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, ``None`` where there is none.

        Raises:
            InputError: Where it is not a regular file, or longer than ``READ_MOST``.
        """
        try:
            if self._local is not None:
                return content_of(self._local / name)
            system, folder = self._remote()
            content: bytes = system.cat_file(f"{folder}/{name}", start=0, end=READ_MOST + 1)
            return _bounded(f"{self}/{name}", content)
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Put a file into the folder, whole or not at all; over one of that name."""
        self._put(name, content, over=True)

    def write_once(self, name: str, content: bytes) -> bytes:
        """Put a file into the folder unless one is there, and return what is there then."""
        there = self.read(name)
        if there is None:
            self._put(name, content, over=False)
            there = self.read(name)
        return content if there is None else there

    def _put(self, name: str, content: bytes, *, over: bool) -> None:
        if self._local is None:
            # A store of objects shows an object when all of it is there. Others have a name of their own for what grows.
            system, folder = self._remote()
            system.makedirs(folder, exist_ok=True)
            system.pipe_file(f"{folder}/{name}", content)
            return
        self._local.mkdir(parents=True, exist_ok=True)
        growing = self._local / f".{name}.{uuid.uuid4().hex}"
        try:
            with growing.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if over:
                growing.replace(self._local / name)
            else:
                # Of several that begin at once, one is first.
                with contextlib.suppress(FileExistsError):
                    os.link(growing, self._local / name)
        finally:
            growing.unlink(missing_ok=True)

    def __str__(self) -> str:
        return self.url
