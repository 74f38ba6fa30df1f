"""The library, systems, tests and workloads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

from . import _lanemark, _toml
from ._quantity import named, settings
from ._scalar import coerced
from .errors import InputError

Setting = str | int | float


class Library:
    """A library of drives, platforms, hosts and workloads.

    Args:
        folder: The library's folder; without one ``./library`` where there is one, else the library built in.

    Raises:
        InputError: Where ``folder`` holds no library.
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

    def summary(self, kind: str, name: str) -> str:
        """Return the name for people of the file ``name`` of a kind.

        Args:
            kind: ``"drives"``, ``"platforms"``, ``"hosts"`` or ``"workloads"``.
            name: A name of that kind.

        Raises:
            InputError: Where there is no such kind or file; the hint has the nearest name.
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
def _usual(folder: str) -> Library:
    return Library(folder or None)


def library(folder: str | os.PathLike[str] | None = None) -> Library:
    """Return the library in ``folder``, or the one that the command would take.

    Without ``folder`` that is ``$LANEMARK_LIBRARY``, then ``./library`` where there is one, then the library built in.

    Raises:
        InputError: Where ``folder`` holds no library.
    """
    if folder is not None:
        return Library(folder)
    told = os.environ.get("LANEMARK_LIBRARY", "")
    # The current folder may change from one call to the next.
    here = os.path.isdir(os.path.join("library", "drives"))  # noqa: PTH112, PTH118 (pathlib takes a tenth of the import)
    return Library(told or None) if told or here else _usual("")


def inner(of: Library | None) -> _lanemark.Library:
    """Return the extension's library of ``of``, or of the usual one."""
    return (library() if of is None else of)._inner


class System:
    """A drive, or several, in ports of a platform, assembled and checked.

    Args:
        name: ``"drive@platform:port"``; ``+port`` adds a drive, ``|port`` a second way to it, ``stripe:`` and
            ``mirror:`` before it make one volume of all.
        set: Model values in place of the library's, ``{"drive.flash.read": "60 us"}``. Quantities are text with a unit,
            counts may be numbers.
        library: The library of the names; the usual one of :func:`library` without it.

    Raises:
        InputError: A name that the library does not know, a value that is out of its bounds, parts that do not fit.
    """

    @coerced
    def __init__(self, name: str, *, set: dict[str, Setting] | None = None, library: Library | None = None) -> None:
        self.set = dict(set or {})
        self.library = library
        self._inner = _lanemark.System(name, settings(self.set), inner(library))

    @property
    def name(self) -> str:
        """The name that it was made by."""
        return self._inner.name

    @property
    def capacity_bytes(self) -> int:
        """The bytes that a test can use: of the volume, or of the smallest drive."""
        return self._inner.capacity_bytes

    def path(self, test: Test | Workload | str | None = None) -> str:
        """Return the hops as text, each with its law and what it can carry of ``test``.

        Args:
            test: One test; small random reads without it.

        Raises:
            InputError: Where there are several tests.
        """
        return self._path(test)[0]

    def path_svg(self, test: Test | Workload | str | None = None) -> str:
        """Return the drawing of the platform with the path, as SVG."""
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
    """A test: requests of one kind to a target, until a limit.

    Every key of a ``[[test]]`` in ``library/workloads`` is a parameter, with the file's text as its value:
    ``Test("reads", block="4 KiB", pattern="random", read="100%", queue_depth=32, threads=1, span="1 GiB",
    duration="1 s")``. A quantity is text with its unit, or a number in a parameter that ends in the unit: ``_bytes``,
    ``_seconds``, ``_bytes_per_second``, ``_ratio`` (a share of one).

    Without them a test is one thread of uniform random reads, one at a time, over the first GiB, for a second.
    """

    __test__ = False  # pytest would collect it

    @coerced
    def __init__(self, name: str | None = None, **values: Any) -> None:
        told = named(values)
        told.setdefault("pattern", "random")
        told.setdefault("read", "100%")
        told.setdefault("queue_depth", 1)
        told.setdefault("threads", 1)
        told.setdefault("span", "1 GiB")
        if not {"duration", "volume", "rounds"} & told.keys():
            told["duration"] = "1 s"
        head = _toml.table("[workload]", {"name": "Tests", "repeats": 1, "average": "mean"})
        table = _toml.table("[[test]]", {"name": "test", **told})
        self.name = name or _lanemark.Workload.description(f"{head}\n{table}")
        self.values = told

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
        source: A name of the library, ``"quick"``; one of its tests, ``"quick:rnd4k-q1t1-read"``; a file of Lanemark, of
            fio (``.fio``) or of Iometer (``.icf``); a :class:`Test`, or several.
        name: The name for people, of tests that are given.
        repeats: How often each test is run, of tests that are given.
        average: How repeats become a figure, ``"mean"`` or ``"median"``, of tests that are given.
        library: The library of the name; the usual one without it.
        target_size: The size of the target, ``"1 GiB"``, which a job file of fio may need.

    Raises:
        InputError: Where there is no such file or test, or all that is wrong in it.
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
        #: What it was made by, and the changes since then: by these it is made again in another process.
        self._made: dict[str, Any] = {
            "name": name,
            "repeats": repeats,
            "average": average,
            "library": library,
            "target_size": target_size,
        }
        self._changes: tuple[dict[str, Any], ...] = ()
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            # Another process may be in another folder.
            self._source: Any = os.path.abspath(path) if os.path.isfile(path) else path  # noqa: PTH100, PTH113
            self._inner = _lanemark.Workload.open(path, inner(library), target_size)
            return
        tests = [source] if isinstance(source, Test) else list(source)
        for one in tests:
            if not isinstance(one, Test):
                raise InputError(f"{one!r} is no Test")
        self._source = tests
        head = {"name": name, "repeats": repeats, "average": average}
        tables = [_toml.table("[workload]", head)]
        tables += [_toml.table("[[test]]", {"name": one.name, **one.values}) for one in tests]
        self._inner = _lanemark.Workload.parse("workload", "\n".join(tables))

    def __reduce__(self) -> tuple[Any, ...]:
        return _workload, (self._source, self._made, self._changes, self._inner.json())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return (self._inner.json(), self.notes) == (other._inner.json(), other.notes)

    def __hash__(self) -> int:
        return hash(self._inner.json())

    @property
    def id(self) -> str:
        """The name of its file."""
        return self._inner.id

    @property
    def name(self) -> str:
        """The name for people."""
        return self._inner.name

    @property
    def tests(self) -> list[str]:
        """The names of the tests."""
        return self._inner.tests()

    @property
    def repeats(self) -> int:
        """How often each test is run."""
        return self._inner.repeats

    @property
    def notes(self) -> list[str]:
        """Notes on settings of another program's file that are only nearly kept, or needless."""
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
        """Return the workload with changes for a run, as the command's options make them.

        Args:
            size: Part of the target that each test uses, ``"256 MiB"``; volumes shrink or grow with it.
            duration: How long each test runs, ``"1 s"``, whatever its volume.
            repeats: How often each test is run, 1 to 1000.
            steady: The length of the rounds, ``"60 s"``, in which each test runs until it is steady by SNIA's rule.
            interval: The length of the intervals that are recorded, ``"1 s"``.
            faults: What goes wrong in each test, ``"power-cut at=2s boot=5s"``.

        Raises:
            InputError: Where a test cannot be so.
        """
        for name, given in [
            ("size", size),
            ("duration", duration),
            ("steady", steady),
            ("interval", interval),
        ]:
            if given is not None and not isinstance(given, str):
                raise InputError(f"{name} = {given!r}: has no unit", "write text with a unit")
        change: dict[str, Any] = {
            "size": size,
            "duration": duration,
            "repeats": repeats,
            "steady": steady,
            "interval": interval,
            "faults": list(faults),
        }
        made = Workload.__new__(Workload)
        made._source, made._made, made._changes = self._source, self._made, (*self._changes, change)
        made._inner = self._inner.changed(size, duration, repeats, steady, interval, list(faults))
        return made

    def __repr__(self) -> str:
        return f"Workload({self.id!r}, tests={self.tests!r})"


def workload(of: Workload | Test | Sequence[Test] | str | os.PathLike[str], library: Library | None) -> Workload:
    """Return ``of`` as a workload."""
    return of if isinstance(of, Workload) else Workload(of, library=library)


def _workload(source: Any, made: dict[str, Any], changes: Sequence[dict[str, Any]], told: str) -> Workload:
    """Return the workload that was pickled as ``told``.

    Raises:
        InputError: Where its file is gone, or says something else now.
    """
    again = Workload(source, **made)
    for change in changes:
        again = again.changed(**change)
    if again._inner.json() != told:
        raise InputError(f"{source}: has changed since the workload was pickled", "open it again")
    return again
