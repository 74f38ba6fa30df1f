"""Dask Distributed under a sweep: keys go through the scheduler, and nothing else.

The space goes to the workers once. A task is a chunk's number and the name of its part; its answer is a number of
seconds. A task that is lost with its worker runs again elsewhere: the part that it writes has the same name and the same
content, so that a worker that was only thought to be lost does no harm.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from .errors import RunError

if TYPE_CHECKING:
    from ._plan import Plan
    from .sweep import Space

#: How often a chunk may lose its worker before the sweep ends: a chunk that kills whoever runs it must not go on so.
LOSSES_MAX = 5
#: Chunks that are handed out for each worker's thread at a time, so that the scheduler holds few of a million.
AHEAD = 8


def is_dask(executor: Any) -> bool:
    """Whether ``executor`` is a client of Dask."""
    return any(base.__module__.split(".")[0] == "distributed" for base in type(executor).__mro__) and hasattr(
        executor, "scheduler_info"
    )


def workers_of(executor: Any) -> int | None:
    """Return how many chunks run at a time on an executor, where it tells."""
    if is_dask(executor):
        return sum(executor.nthreads().values()) or None
    return getattr(executor, "_max_workers", None)


@cache
def keep_memory() -> bool:
    """Let this process keep the memory that a simulation gives back, for the next one.

    Dask's nannies have ``MALLOC_TRIM_THRESHOLD_`` set low, by which the C library hands every large block back at once and
    takes it anew for each point: that took three quarters of a worker's time. At most 128 MiB are kept.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        # Another C library, which has no such setting.
        return False
    trim_threshold, mmap_threshold = -1, -3
    return bool(mallopt(mmap_threshold, 32 << 20) and mallopt(trim_threshold, 128 << 20))


def chunk_on_worker(space: Space, key: str, first: int, last: int, place: str, name: str) -> float | None:
    """Run a chunk on a worker of Dask."""
    from .sweep import run_chunk

    keep_memory()
    return run_chunk(space, key, first, last, place, name)


@dataclass(frozen=True)
class Work:
    """The chunks of a sweep that are to be run."""

    space: Space
    plan: Plan
    #: The numbers of the chunks.
    missing: list[int]
    #: The folder that takes their parts.
    place: str
    #: How many chunks run at a time.
    workers: int
    #: Told the number of each chunk whose part is written.
    ended: Callable[[int], None]

    def asked(self, chunk: int) -> tuple[Space, str, int, int, str, str]:
        """Return what :func:`lanemark.sweep.run_chunk` is asked for a chunk."""
        first, last = self.plan.chunks[chunk]
        return self.space, self.plan.key, first, last, self.place, self.plan.part(chunk)


def on_dask(client: Any, work: Work) -> None:
    """Run chunks on a cluster of Dask.

    Raises:
        RunError: Where a chunk failed, or lost its worker too often.
    """
    from distributed import KilledWorker, as_completed  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    left = iter(work.missing)
    chunk_of: dict[str, int] = {}
    losses: dict[int, int] = {}
    done: Any = as_completed()

    def hand_out(chunk: int) -> None:
        key = f"{work.plan.part(chunk)}-{losses.get(chunk, 0)}"
        future: Any = client.submit(chunk_on_worker, *work.asked(chunk), key=key, pure=False)
        chunk_of[future.key] = chunk
        done.add(future)

    try:
        for chunk in islice(left, AHEAD * work.workers):
            hand_out(chunk)
        for future in done:
            chunk = chunk_of.pop(future.key)
            error = future.exception()
            if isinstance(error, KilledWorker):
                losses[chunk] = losses.get(chunk, 0) + 1
                if losses[chunk] >= LOSSES_MAX:
                    first, last = work.plan.chunks[chunk]
                    raise RunError(f"the points {first} to {last} lost their worker {LOSSES_MAX} times") from error
                hand_out(chunk)
                continue
            if error is not None:
                raise error
            work.ended(chunk)
            future.release()
            following = next(left, None)
            if following is not None:
                hand_out(following)
    except BaseException:
        client.cancel(list(getattr(done, "futures", {})), force=True)
        raise
