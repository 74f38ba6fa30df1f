"""Sweeps on Dask Distributed, whose scheduler handles small tasks and rows of text.

A task consists of the space and the first and last point of a chunk, and returns the rows of its points. If a worker is
lost, its task runs again on a different worker and returns the same rows. Therefore a worker that was wrongly considered
lost does no harm.
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
    from .sweep import Space

#: The number of lost workers after which a chunk ends the sweep, so that a chunk that kills its workers is not retried
#: forever.
LOSSES_MAX = 5
#: The number of chunks that are submitted ahead per worker thread. It limits how many tasks the scheduler stores.
AHEAD = 8


def is_dask(executor: Any) -> bool:
    """Return whether ``executor`` is a Dask client."""
    return any(base.__module__.split(".")[0] == "distributed" for base in type(executor).__mro__) and hasattr(
        executor, "scheduler_info"
    )


def workers_of(executor: Any) -> int | None:
    """Return the number of chunks that an executor runs at a time, or ``None`` if the executor does not report it."""
    if is_dask(executor):
        return sum(executor.nthreads().values()) or None
    return getattr(executor, "_max_workers", None)


@cache
def keep_memory() -> bool:
    """Keep the memory that a simulation frees in this process, for the next simulation.

    Dask's nannies set ``MALLOC_TRIM_THRESHOLD_`` low. The C library then returns every large block to the kernel
    immediately and allocates it again for each point, which took three quarters of a worker's time. Up to 128 MiB are
    kept.

    Returns:
        Whether the C library accepted the setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        # This C library does not have such a setting.
        return False
    trim_threshold, mmap_threshold = -1, -3
    return bool(mallopt(mmap_threshold, 32 << 20) and mallopt(trim_threshold, 128 << 20))


def chunk_on_worker(space: Space, key: str, first: int, last: int) -> str | None:
    """Run a chunk on a Dask worker."""
    from .sweep import run_chunk

    keep_memory()
    return run_chunk(space, key, first, last)


@dataclass(frozen=True)
class Work:
    """The chunks of a sweep that remain to be run."""

    space: Space
    #: The hash that identifies the sweep.
    key: str
    #: The first and last point of each chunk.
    chunks: list[tuple[int, int]]
    #: The number of chunks that run at a time.
    workers: int
    #: Called with the rows of each chunk that ended.
    ended: Callable[[str], None]


def on_dask(client: Any, work: Work) -> None:
    """Run chunks on a Dask cluster.

    Raises:
        RunError: If a chunk fails, or loses its worker too often.
    """
    from distributed import KilledWorker, as_completed  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    remaining = iter(work.chunks)
    chunk_of: dict[str, tuple[int, int]] = {}
    losses: dict[tuple[int, int], int] = {}
    done: Any = as_completed()

    def submit(chunk: tuple[int, int]) -> None:
        first, last = chunk
        key = f"{work.key[:16]}-{first}-{last}-{losses.get(chunk, 0)}"
        future: Any = client.submit(chunk_on_worker, work.space, work.key, first, last, key=key, pure=False)
        chunk_of[future.key] = chunk
        done.add(future)

    try:
        for chunk in islice(remaining, AHEAD * work.workers):
            submit(chunk)
        for future in done:
            chunk = chunk_of.pop(future.key)
            error = future.exception()
            if isinstance(error, KilledWorker):
                losses[chunk] = losses.get(chunk, 0) + 1
                if losses[chunk] >= LOSSES_MAX:
                    first, last = chunk
                    raise RunError(f"the worker of points {first} to {last} was lost {LOSSES_MAX} times") from error
                submit(chunk)
                continue
            if error is not None:
                raise error
            work.ended(future.result() or "")
            future.release()
            following = next(remaining, None)
            if following is not None:
                submit(following)
    except BaseException:
        client.cancel(list(getattr(done, "futures", {})), force=True)
        raise
