"""The library, systems, tests and workloads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from . import _lanemark, _toml
from ._quantity import named, settings, texts
from ._scalar import coerced
from ._table import Table
from .errors import InputError

Setting = str | int | float


class Library:
    """A library of drives, platforms, hosts and workloads.

    Args:
        folder: The library's folder. Default: ``./library`` if it exists, otherwise the built-in library.

    Raises:
        InputError: If ``folder`` does not contain a library.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else os.fspath(folder)
        self._inner = _lanemark.Library(self.folder)

    @property
    def drives(self) -> list[str]:
        """The names of all drives."""
        return self._inner.names("drives")

    @property
    def platforms(self) -> list[str]:
        """The names of all platforms."""
        return self._inner.names("platforms")

    @property
    def hosts(self) -> list[str]:
        """The names of all hosts."""
        return self._inner.names("hosts")

    @property
    def workloads(self) -> list[str]:
        """The names of all workloads."""
        return self._inner.names("workloads")

    def table(self, kind: str) -> Table:
        """Return the entries of a kind as a table.

        The table of drives has the columns ``name``, ``title``, ``maker``, ``year``, ``kind``, ``connector`` and
        ``capacity_bytes``; other tables have ``name`` and ``title``.

        Args:
            kind: ``"drives"``, ``"platforms"``, ``"hosts"`` or ``"workloads"``.

        Raises:
            InputError: If there is no such kind, or if a file of the library is invalid.
        """
        return Table(self._inner.table(kind))

    def summary(self, kind: str, name: str) -> str:
        """Return the descriptive name of a library file.

        Args:
            kind: ``"drives"``, ``"platforms"``, ``"hosts"`` or ``"workloads"``.
            name: The name of a file of that kind.

        Raises:
            InputError: If there is no such kind or file. The hint suggests the most similar name.
        """
        return self._inner.summary(kind, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Library, (self.folder,)

    def __eq__(self, other: object) -> bool:
        return self.folder == other.folder if isinstance(other, Library) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.folder)

    def __repr__(self) -> str:
        return f"Library({self.folder!r})" if self.folder else "Library()"


@cache
def _built_in() -> Library:
    return Library()


def library(folder: str | os.PathLike[str] | None = None) -> Library:
    """Return the library in ``folder``, or the library that the command would use.

    Without ``folder``, the library is in ``$LANEMARK_LIBRARY`` if that variable is set, otherwise in ``./library`` if
    that folder exists. Otherwise it is the built-in library.

    Raises:
        InputError: If the folder does not contain a library.
    """
    if folder is not None:
        return Library(folder)
    from_environment = os.environ.get("LANEMARK_LIBRARY", "")
    # The working directory may change between calls, so the result is not cached.
    # os.path is used because importing pathlib takes a tenth of the package's import time.
    here = os.path.isdir(os.path.join("library", "drives"))  # noqa: PTH112, PTH118
    return Library(from_environment or None) if from_environment or here else _built_in()


def inner(given: Library | None) -> _lanemark.Library:
    """Return the extension's object for the ``given`` library, or for the default library."""
    return (library() if given is None else given)._inner


class System:
    """One or several drives in ports of a platform, assembled and checked.

    Args:
        name: ``"drive@platform:port"``. ``+port`` adds a drive, and ``|port`` adds a second path to the drive. A
            leading ``stripe:`` or ``mirror:`` combines all drives into one volume.
        set: Model values that override library values, such as ``{"drive.flash.read": "60 us"}``. A quantity is text
            with a unit; a count may be a number.
        library: The library that contains the names. Default: the library that :func:`library` returns.

    Raises:
        InputError: If a name is unknown, a value is out of bounds, or the parts are incompatible.
    """

    @coerced
    def __init__(self, name: str, *, set: Mapping[str, Setting] | None = None, library: Library | None = None) -> None:
        given: object = name
        if not isinstance(given, str):
            raise InputError(f"system: expected a name, found {name!r}", "for example 'drive@platform:port'")
        pairs = settings(set)
        self.set = dict(set or {})
        self.library = library
        self._inner = _lanemark.System(name, pairs, inner(library))

    @property
    def name(self) -> str:
        """The name from which the system was assembled."""
        return self._inner.name

    @property
    def capacity_bytes(self) -> int:
        """The number of bytes that a test can use: the size of the volume, or of the smallest drive."""
        return self._inner.capacity_bytes

    @property
    def values(self) -> Table:
        """The model values that the system's files state, with a row for each value that ``set`` can override.

        The columns are ``parameter``, ``value``, ``unit``, ``low`` and ``high`` (the 80% range of a value that is not
        known exactly, in its unit), ``origin`` (``sourced``, ``derived``, ``assumed`` or ``set``) and ``source``.
        """
        return Table(self._inner.values())

    def path(self, test: Test | Workload | str | None = None) -> str:
        """Return the hops as text, each with its formula and the throughput of ``test`` that it can carry.

        Args:
            test: One test. Default: small random reads.

        Raises:
            InputError: If several tests are given.
        """
        return self._path(test)[0]

    def path_svg(self, test: Test | Workload | str | None = None) -> str:
        """Return a drawing of the platform with the path, as SVG."""
        return self._path(test)[1]

    def _path(self, test: Test | Workload | str | None) -> tuple[str, str]:
        return self._inner.path(None if test is None else workload(test, self.library)._inner)

    def __reduce__(self) -> tuple[Any, ...]:
        return _system, (self.name, self.set, self.library)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, System):
            return NotImplemented
        return (self.name, self.set, self.library) == (other.name, other.set, other.library)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.set)), self.library))

    def _repr_html_(self) -> str:
        return self.path_svg()

    def __repr__(self) -> str:
        return f"System({self.name!r}, set={self.set!r})" if self.set else f"System({self.name!r})"


def _system(name: str, set: dict[str, Setting], library: Library | None) -> System:
    return System(name, set=set, library=library)


class Test:
    """A test: requests of one kind to one target, up to a limit.

    Each key of a ``[[test]]`` table in ``library/workloads`` is a parameter, and accepts the same values:
    ``Test("reads", block="4 KiB", pattern="random", read="100%", queue_depth=32, threads=1, span="1 GiB",
    duration="1 s")``. A quantity is text with a unit, or a number in a parameter whose name ends in the unit:
    ``_bytes``, ``_seconds``, ``_bytes_per_second``, or ``_ratio`` (a fraction of one).

    By default, one thread sends uniform random reads to the first GiB for one second, at queue depth 1.
    """

    __test__ = False  # Otherwise pytest would collect the class.

    @coerced
    def __init__(self, name: str | None = None, **values: Any) -> None:
        parameters = named(values)
        parameters.setdefault("pattern", "random")
        parameters.setdefault("read", "100%")
        parameters.setdefault("queue_depth", 1)
        parameters.setdefault("threads", 1)
        parameters.setdefault("span", "1 GiB")
        if not {"duration", "volume", "rounds"} & parameters.keys():
            parameters["duration"] = "1 s"
        head = _toml.table("[workload]", {"name": "Tests", "repeats": 1, "average": "mean"})
        table = _toml.table("[[test]]", {"name": "test", **parameters})
        # Unknown parameters and invalid values are errors here, and not only when the test runs.
        _lanemark.Workload.parse("test", f"{head}\n{table}")
        self.name = name or _lanemark.Workload.description(f"{head}\n{table}")
        self.values = parameters

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Test):
            return NotImplemented
        return (self.name, self.values) == (other.name, other.values)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.values))))

    def __repr__(self) -> str:
        return f"Test({self.name!r}, {', '.join(f'{key}={value!r}' for key, value in self.values.items())})"


class Workload:
    """A named list of tests.

    Args:
        source: A name in the library, ``"quick"``; one of a workload's tests, ``"quick:rnd4k-q1t1-read"``; a file of
            Lanemark, fio (``.fio``) or Iometer (``.icf``); a :class:`Test`; or a sequence of tests.
        name: The descriptive name. The parameters ``name``, ``repeats`` and ``average`` are used only if ``source``
            consists of :class:`Test` objects.
        repeats: The number of times that each test is run.
        average: The method for combining repeats into a figure, ``"mean"`` or ``"median"``.
        library: The library that contains the name. Default: the library that :func:`library` returns.
        target_size: The size of the target, ``"1 GiB"``, which some fio job files require.

    Raises:
        InputError: If there is no such file or test, or if the file is invalid. The message lists all mistakes.
    """

    @coerced
    def __init__(
        self,
        source: str | os.PathLike[str] | Test | Sequence[Test],
        *,
        name: str = "Tests",
        repeats: int = 1,
        average: str = "mean",
        library: Library | None = None,
        target_size: str | None = None,
    ) -> None:
        #: The arguments and later changes, from which another process recreates the workload.
        self._arguments: dict[str, Any] = {
            "name": name,
            "repeats": repeats,
            "average": average,
            "library": library,
            "target_size": target_size,
        }
        self._changes: tuple[dict[str, Any], ...] = ()
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            # Another process may have a different working directory.
            self._source: Any = os.path.abspath(path) if os.path.isfile(path) else path  # noqa: PTH100, PTH113
            self._inner = _lanemark.Workload.open(path, inner(library), target_size)
            return
        given: object = source
        if not isinstance(given, (Test, Sequence)):
            raise InputError(
                f"workload: expected a name, a Workload, a Test or a list of tests, found {source!r}",
                "for example 'quick'",
            )
        tests = [source] if isinstance(source, Test) else list(source)
        for test in tests:
            if not isinstance(test, Test):
                raise InputError(f"expected a Test, found {test!r}")
        self._source = tests
        head = {"name": name, "repeats": repeats, "average": average}
        tables = [_toml.table("[workload]", head)]
        tables += [_toml.table("[[test]]", {"name": test.name, **test.values}) for test in tests]
        self._inner = _lanemark.Workload.parse("workload", "\n".join(tables))

    def __reduce__(self) -> tuple[Any, ...]:
        return _workload, (self._source, self._arguments, self._changes, self._inner.json())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return (self._inner.json(), self.notes) == (other._inner.json(), other.notes)

    def __hash__(self) -> int:
        return hash(self._inner.json())

    @property
    def id(self) -> str:
        """The name of the workload's file."""
        return self._inner.id

    @property
    def name(self) -> str:
        """The descriptive name."""
        return self._inner.name

    @property
    def tests(self) -> list[str]:
        """The names of the tests."""
        return self._inner.tests()

    @property
    def repeats(self) -> int:
        """The number of times that each test is run."""
        return self._inner.repeats

    @property
    def notes(self) -> list[str]:
        """Notes on settings of another program's file that are approximated or do not have an effect."""
        return self._inner.notes

    @coerced
    def changed(
        self,
        *,
        size: str | None = None,
        duration: str | None = None,
        repeats: int | None = None,
        steady: str | None = None,
        interval: str | None = None,
        faults: Sequence[str] = (),
    ) -> Workload:
        """Return the workload with the same changes as the command's options of the same names.

        Args:
            size: The part of the target that each test uses, such as ``"256 MiB"``. Volumes are scaled with it.
            duration: The time for which each test runs, ``"1 s"``, regardless of its volume.
            repeats: The number of times that each test is run, 1 to 1000.
            steady: The length of a round, such as ``"60 s"``. Each test then runs in rounds until it reaches SNIA's
                steady state.
            interval: The length of the recorded intervals, such as ``"1 s"``.
            faults: The faults to inject into each test, such as ``"power-cut at=2s boot=5s"``.

        Raises:
            InputError: If a change is invalid for a test.
        """
        for name, given in [
            ("size", size),
            ("duration", duration),
            ("steady", steady),
            ("interval", interval),
        ]:
            if given is not None and not isinstance(given, str):
                raise InputError(f"{name} = {given!r} lacks a unit", "use text with a unit")
        change: dict[str, Any] = {
            "size": size,
            "duration": duration,
            "repeats": repeats,
            "steady": steady,
            "interval": interval,
        }
        fault_texts = texts("faults", faults, "power-cut at=2s boot=5s")
        change["faults"] = fault_texts
        changed = Workload.__new__(Workload)
        changed._source, changed._arguments = self._source, self._arguments
        changed._changes = (*self._changes, change)
        changed._inner = self._inner.changed(size, duration, repeats, steady, interval, fault_texts)
        return changed

    def __repr__(self) -> str:
        return f"Workload({self.id!r}, tests={self.tests!r})"


def workload(source: Workload | Test | Sequence[Test] | str | os.PathLike[str], library: Library | None) -> Workload:
    """Return ``source`` as a :class:`Workload`."""
    return source if isinstance(source, Workload) else Workload(source, library=library)


def _workload(source: Any, arguments: dict[str, Any], changes: Sequence[dict[str, Any]], pickled: str) -> Workload:
    """Return a pickled workload, whose JSON was ``pickled`` at that time.

    Raises:
        InputError: If the workload's file is missing or has changed since then.
    """
    restored = Workload(source, **arguments)
    for change in changes:
        restored = restored.changed(**change)
    if restored._inner.json() != pickled:
        raise InputError(f"{source} has changed since the workload was pickled", "open the file again")
    return restored
