"""The simulator's open interface: a load of one's own."""

from __future__ import annotations

from collections.abc import Iterator

from . import _lanemark
from ._ask import seeded
from ._model import System
from ._scalar import coerced
from .errors import InputError

#: A request that came back: ``tag``, ``operation``, ``offset_bytes``, ``length_bytes``, ``submitted_ps``,
#: ``completed_ps``, ``latency_ps``, ``error`` (``None`` where it did what it was asked for) and ``budget()``, the waiting
#: and service at each hop in ps, which sum to the latency.
Completion = _lanemark.Completion


class Simulator:
    """A system at work, driven from outside: submit requests at simulated times, advance to the next completion.

    Simulated time is in whole picoseconds. One simulator may be used by several threads, one call at a time.

    Args:
        system: The system, or its name.
        seed: The seed of what happens by chance inside the drives.
        written: The bytes that hold data at the start, from the first on; all of them without it.
        compressibility_ratio: The share of the data that compresses away, 0 to 1.

    Raises:
        InputError: A system that cannot be, or values out of bounds.
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
            raise InputError(f"written = {written!r}: has no unit", "write text with a unit")
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
        namespace: int = 0,
    ) -> None:
        """Submit a request.

        Args:
            operation: ``"read"``, ``"write"``, ``"flush"`` or ``"trim"``.
            offset: Where it begins, ``"1 MiB"``, a multiple of 512 bytes.
            offset_bytes: The same in bytes.
            length: How long it is, ``"4 KiB"``, a multiple of 512 bytes up to 64 MiB. A flush has neither.
            length_bytes: The same in bytes.
            at: The simulated time at which it is submitted, ``"10 us"``; now without it.
            at_ps: The same in ps.
            tag: A number that comes back with its completion.
            thread: The thread of the application, which has a queue of its own.
            drive: The drive, 0 for the first; a volume is drive 0.
            namespace: The namespace on the drive.

        Raises:
            InputError: A request that ends beyond the end of the drive, a time in the past, a value out of bounds.
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
            namespace=namespace,
        )

    @coerced
    def advance(self, *, until: str | None = None, until_ps: int | None = None) -> Completion | None:
        """Go on to the next completion; ``None`` where nothing is under way, or none comes until then.

        Args:
            until: The simulated time at which to stop at the latest, ``"1 ms"``.
            until_ps: The same in ps.
        """
        return self._inner.advance(until=until, until_ps=until_ps)

    @property
    def now_ps(self) -> int:
        """The simulated time."""
        return self._inner.now_ps

    @property
    def outstanding(self) -> int:
        """Requests that have not come back."""
        return self._inner.outstanding

    @property
    def events(self) -> int:
        """Events of the simulator so far."""
        return self._inner.events

    def __iter__(self) -> Iterator[Completion]:
        """Go on from completion to completion, until nothing is under way."""
        while (completion := self.advance()) is not None:
            yield completion

    def __repr__(self) -> str:
        return f"<Simulator of {self.system.name} at {self.now_ps} ps, {self.outstanding} requests outstanding>"
