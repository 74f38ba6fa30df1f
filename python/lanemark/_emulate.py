"""Served systems, trials of a program on them, pages of several results, and drive files from ratings.

Servers, pages and drive files are made by the ``lanemark`` command of this package in separate processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from . import _lanemark
from ._ask import FAULT, Progress, call, seeded
from ._model import Library, Setting, inner
from ._model import library as usual_library
from ._quantity import count, settings, texts
from ._result import Result, StudyResult
from ._scalar import coerced
from .errors import InputError, LanemarkError, RefusedError, RunError

#: The errors by the exit code of the command.
ERRORS: dict[int, type[LanemarkError]] = {2: InputError, 3: RefusedError}
#: The exit codes with which the command prints a complete outcome: done, lost data, and an unknown outcome.
OUTCOMES = (0, 1, 5)
#: The longest time for which a server may take to end, in seconds.
END_SECONDS = 60.0


def _words(*arguments: str | os.PathLike[str]) -> list[str]:
    return [sys.executable, "-m", "lanemark", *(os.fspath(argument) for argument in arguments)]


def _error(code: int, text: str) -> LanemarkError:
    """Return the error that the command printed."""
    lines = text.strip().splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("error: ")), None)
    if first is None:
        return RunError(text.strip() or f"the command ended with exit code {code}")
    hint = next((line.removeprefix("hint: ") for line in lines[first:] if line.startswith("hint: ")), None)
    message = [line for line in lines[first:] if not line.startswith("hint: ")]
    return ERRORS.get(code, RunError)("\n".join(message).removeprefix("error: "), hint)


def _run(*words: str | os.PathLike[str]) -> tuple[int, str]:
    process = subprocess.run(_words(*words), capture_output=True, text=True, check=False)
    if process.returncode not in OUTCOMES or (process.returncode == 1 and not process.stdout):
        raise _error(process.returncode, process.stderr)
    return process.returncode, process.stdout


def _options(set: Mapping[str, Setting] | None, faults: Sequence[str], seed: int, library: Library | None) -> list[str]:
    words = [word for value in settings(set) for word in ("--set", value)]
    words += [word for fault in texts("faults", faults, FAULT) for word in ("--fault", fault)]
    return [*words, *_library(library), "--seed", str(seeded(seed))]


def _library(library: Library | None) -> list[str]:
    folder = library.folder if library is not None else None
    return [] if folder is None else ["--library", os.fspath(folder)]


class Server:
    """A modelled system that other programs use as a disk, like ``lanemark serve``.

    The server runs inside a ``with`` statement. When the statement ends, the server stops, and :attr:`result` contains
    the requests that the system served.

    >>> with lanemark.Server("samsung-850-pro-1tb@workstation-z170:sata", size="64 MiB") as server:  # doctest: +SKIP
    ...     print(server.address)
    """

    #: The address for clients: an NBD URI, or the path of the file or disk.
    address: str
    #: The result of the served requests, after the ``with`` statement.
    result: Result

    @coerced
    def __init__(
        self,
        system: str,
        *,
        size: str | None = None,
        data: str | os.PathLike[str] | None = None,
        over: str | os.PathLike[str] | None = None,
        mount: str | os.PathLike[str] | None = None,
        attach: bool = False,
        time_scale: float = 1.0,
        set: Mapping[str, Setting] | None = None,
        faults: Sequence[str] = (),
        seed: int = 1,
        library: Library | None = None,
    ) -> None:
        """Prepare a server.

        Args:
            system: The system, ``"drive@platform:port"``.
            size: The size of the disk, such as ``"8 GiB"``. Default: the size of ``over``, or the drive's capacity.
            data: The sparse file that keeps the data. Default: the data is in memory, and is lost at the end.
            over: The image whose content unwritten sectors have.
            mount: The file as which the system is also served.
            attach: Whether the system is also a disk, ``/dev/loopN``, which only root can have.
            time_scale: Real seconds per simulated second.
            set: Model values that override library values.
            faults: The faults to inject, such as ``"latency extra=2ms share=1%"``.
            seed: The seed of all random events.
            library: The library that contains the names.

        Raises:
            InputError: If an argument is invalid.
        """
        words = [system, "--time-scale", repr(time_scale), *_options(set, faults, seed, library)]
        words += ["--memory"] if data is None else ["--data", os.fspath(data)]
        for name, value in (("--size", size), ("--over", over), ("--mount", mount)):
            if value is not None:
                words += [name, os.fspath(value)]
        self._arguments = [*words, *(["--attach"] if attach else [])]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Server:
        """Start the server, and return when clients can connect.

        Raises:
            LanemarkError: If the server cannot start.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="lanemark-")
        folder = Path(self._folder.name)
        self._control = folder / "control"
        self._out = folder / "result.json"
        self._errors: IO[str] = (folder / "errors").open("w+", encoding="utf-8")
        socket = [] if "--mount" in self._arguments else ["--socket", os.fspath(folder / "disk")]
        words = _words("serve", *self._arguments, *socket, "--control", self._control, "--out", self._out)
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self._errors, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            self._end()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server, and read its result."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.terminate()
        self._end(raises=kind is None)

    def _end(self, *, raises: bool = True) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            self._process.stdout.read()
            code = self._process.wait(timeout=END_SECONDS)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._process.stdout.close()
            self._errors.seek(0)
            text = self._errors.read()
            self._errors.close()
            saved = self._out.read_text(encoding="utf-8") if self._out.exists() and self._out.stat().st_size else None
            self._folder.cleanup()
        if saved is not None:
            self.result = Result(_lanemark.Run.of_json(saved))
        elif raises:
            raise _error(code, text)

    def _ask(self, command: str, *words: str) -> str:
        if self._process is None or self._process.poll() is not None:
            raise InputError("the server does not run", "use it inside a `with` statement")
        return _run("serve", command, self._control, *words)[1]

    def status(self) -> str:
        """Return the current figures as OpenMetrics text."""
        return self._ask("status")

    def fault(self, fault: str) -> None:
        """Inject a fault, whose times are measured from now, such as ``"latency extra=2ms for=10s"``.

        Raises:
            InputError: If the fault is invalid.
        """
        self._ask("fault", *fault.split())

    def cut(self, boot: str = "1 s") -> None:
        """Cut the power of the drives now; they are ready again after ``boot``."""
        self._ask("cut", boot.replace(" ", ""))


class Trial:
    """The outcome of a trial: the answer, and one result per system."""

    def __init__(self, answer: str, runs: Sequence[_lanemark.Run]) -> None:
        #: The answer in a few sentences, which begins with the verdict about lost data.
        self.answer = answer
        #: The result of each system, with its power cuts in ``to_dict()["power_cuts"]``.
        self.results = [Result(run) for run in runs]

    @property
    def is_data_lost(self) -> bool:
        """Whether the check reported lost data after a power cut."""
        cuts = (cut for result in self.results for cut in result.to_dict().get("power_cuts", []))
        return any(cut["outcome"] == "lost" for cut in cuts)

    def __repr__(self) -> str:
        return self.answer


@coerced
def trial(
    systems: Sequence[str],
    command: Sequence[str],
    *,
    fs: str = "ext4",
    size: str | None = None,
    source: str | os.PathLike[str] | None = None,
    turns: int = 3,
    time_scale: float | None = None,
    cuts: int = 0,
    check: str | None = None,
    set: Mapping[str, Setting] | None = None,
    faults: Sequence[str] = (),
    seed: int = 1,
    library: Library | None = None,
    on_progress: Progress | None = None,
) -> Trial:
    """Run and time a program on several modelled systems in turn, like ``lanemark trial``. Nothing is saved.

    Args:
        systems: The systems, each ``"drive@platform:port"``.
        command: The program and its arguments.
        fs: The file system on each system: ``"ext4"``, ``"xfs"``, ``"btrfs"``, or ``"none"`` for the bare device.
        size: The size of each system, such as ``"1 GiB"``.
        source: The folder that is copied to the system before each turn, or the raw image with which it starts.
        turns: The number of turns per system.
        time_scale: Real seconds per simulated second. Default: what this machine can sustain, for each system.
        cuts: The number of power cuts of each system after the turns, which require ``check``.
        check: The shell command that runs after each cut; exit code 1 means that acknowledged data is lost.
        set: Model values that override library values.
        faults: The faults to inject into each turn.
        seed: The seed of all random events.
        library: The library that contains the names.
        on_progress: Called with the number of finished turns and cuts, and their total number. Turns that determine the
            time scale do not count. An exception in it stops the trial.

    Raises:
        InputError: If an argument is invalid.
        RunError: If the program or the machine fails.
        KeyboardInterrupt: If Ctrl-C stopped the trial.
    """
    names = texts("systems", systems, "drive@platform:port")
    program = texts("command", command, "sync")
    if isinstance(cuts, bool) or not isinstance(cuts, int) or cuts < 0:
        raise InputError(f"cuts: expected a whole number, found {cuts!r}")
    own_library = usual_library() if library is None else library
    options: _lanemark.TrialOptions = {
        "fs": fs,
        "size": size,
        "source": source,
        "turns": count("turns", turns) or 1,
        "time_scale": time_scale,
        "cuts": cuts,
        "check": check,
        "set": settings(set),
        "faults": texts("faults", faults, FAULT),
        "seed": seeded(seed),
        "library": own_library.folder,
    }
    called = call("trial", *names, "--", *program)
    return Trial(*_lanemark.trial(names, program, options, inner(own_library), called, on_progress))


@coerced
def drive(
    name: str,
    out: str | os.PathLike[str],
    *,
    protocol: str,
    capacity: str,
    library: Library | None = None,
    **ratings: str | int,
) -> Path:
    """Write a drive file from the ratings on a box, like ``lanemark drive``, and return its path.

    The path can replace the name of a drive in the name of a system. :func:`fit` makes a drive from measurements.

    Args:
        name: The display name.
        out: The file, whose name ends in ``.toml``.
        protocol: ``"nvme"``, ``"pcie-ahci"``, ``"sata"`` or ``"sas"``.
        capacity: The capacity that the host can address, such as ``"2 TB"``.
        library: The library that contains the priors.
        ratings: The other options of ``lanemark drive``, such as ``generation=4``, ``lanes=4``, ``read="7450 MB/s"``,
            ``random_read=1_000_000`` and ``nand="tlc"``.

    Raises:
        InputError: If a rating is unknown or invalid.
        RefusedError: If the existing file is not a rated drive of Lanemark.
    """
    words = [name, "--json", "--protocol", protocol, "--capacity", capacity]
    for option, value in ratings.items():
        words += [f"--{option.replace('_', '-')}", str(value)]
    _run("drive", *words, "--out", out, *_library(library))
    return Path(out)


def report(results: Iterable[Result | StudyResult], out: str | os.PathLike[str]) -> Path:
    """Write a page or a chart of several results, like ``lanemark report``.

    Args:
        results: The results, in the order in which they are shown.
        out: The file, whose name ends in ``.html`` or ``.svg``.

    Raises:
        InputError: If there is no result, or if the name has another ending.
        RefusedError: If the existing file is not a page or chart of Lanemark.
    """
    with tempfile.TemporaryDirectory(prefix="lanemark-") as folder:
        files = [os.fspath(result.save(Path(folder) / f"{number}.json")) for number, result in enumerate(results)]
        if not files:
            raise InputError("results: expected at least one result")
        _run("report", *files, "--out", out)
    return Path(out)
