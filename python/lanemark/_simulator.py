"""The simulator with a custom load: requests are submitted one by one."""

from __future__ import annotations

from collections.abc import Iterator

from . import _lanemark
from ._ask import seeded
from ._model import System
from ._scalar import coerced
from .errors import InputError

#: A completed request: ``tag``, ``operation``, ``offset_bytes``, ``length_bytes``, ``submitted_ps``, ``completed_ps``,
#: ``latency_ps``, ``error`` (``None`` if the request succeeded) and ``budget()``, the waiting and service times at each
#: hop in ps, which sum to the latency.
Completion = _lanemark.Completion


class Simulator:
    """A running system: submit requests at simulated times, and advance to the next completion.

    Simulated time is in whole picoseconds. Several threads may use one simulator; its calls run one at a time.

    Args:
        system: The system, or its name.
        seed: The seed of the random events inside the drives.
        written: How much of the target contains data at the start, counted from its first byte, such as ``"1 GiB"``.
            Default: the whole target.
        compressibility_ratio: The share of the data that compression removes, 0 to 1.

    Raises:
        InputError: If the system is invalid or a value is out of bounds.
    """

    @coerced
    def __init__(
        self,
        system: System | str,
        *,
        seed: int = 1,
        written: str | None = None,
        compressibility_ratio: float = 0.0,
    ) -> None:
        self.system = System(system) if isinstance(system, str) else system
        if written is not None and not isinstance(written, str):
            raise InputError(f"written = {written!r} lacks a unit", "use text with a unit")
        inner = self.system._inner
        self._inner = _lanemark.Simulator(inner, seeded(seed), written, compressibility_ratio)

    @coerced
    def submit(
        self,
        operation: str,
        *,
        offset: str | None = None,
        offset_bytes: int | None = None,
        length: str | None = None,
        length_bytes: int | None = None,
        at: str | None = None,
        at_ps: int | None = None,
        tag: int = 0,
        thread: int = 0,
        drive: int = 0,
    ) -> None:
        """Submit a request.

        Args:
            operation: ``"read"``, ``"write"``, ``"flush"`` or ``"trim"``.
            offset: The offset of the request, such as ``"1 MiB"``, a multiple of 512 bytes.
            offset_bytes: The same offset in bytes.
            length: The length of the request, such as ``"4 KiB"``, a multiple of 512 bytes up to 64 MiB. A flush has
                neither an offset nor a length.
            length_bytes: The same length in bytes.
            at: The simulated time at which the request is submitted, such as ``"10 us"``. Default: the current time.
            at_ps: The same time in ps.
            tag: A number that is copied to the completion of the request.
            thread: The application thread that submits the request. Each thread has its own queue.
            drive: The index of the drive, starting at 0. A volume is drive 0.

        Raises:
            InputError: If the request extends beyond the end of the drive, its time is in the past, or a value is out
                of bounds.
        """
        self._inner.submit(
            operation,
            offset=offset,
            offset_bytes=offset_bytes,
            length=length,
            length_bytes=length_bytes,
            at=at,
            at_ps=at_ps,
            tag=tag,
            thread=thread,
            drive=drive,
        )

    @coerced
    def advance(self, *, until: str | None = None, until_ps: int | None = None) -> Completion | None:
        """Advance to the next completion, and return it.

        Args:
            until: The maximum simulated time to which to advance, such as ``"1 ms"``.
            until_ps: The same time in ps.

        Returns:
            The completion, or ``None`` if no request is outstanding or no request completes by ``until``.
        """
        return self._inner.advance(until=until, until_ps=until_ps)

    @property
    def now_ps(self) -> int:
        """The current simulated time, in ps."""
        return self._inner.now_ps

    @property
    def outstanding(self) -> int:
        """The number of requests that have not completed."""
        return self._inner.outstanding

    @property
    def events(self) -> int:
        """The number of events that the simulator has processed."""
        return self._inner.events

    def __iter__(self) -> Iterator[Completion]:
        """Yield completions until no request is outstanding."""
        while (completion := self.advance()) is not None:
            yield completion

    def __repr__(self) -> str:
        return f"<Simulator of {self.system.name} at {self.now_ps} ps, {self.outstanding} requests outstanding>"
