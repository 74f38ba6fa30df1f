"""Division of a sweep into chunks of consecutive points with about equal expected costs.

The cost of a point is its run time. A few points across the sweep are run first, and their results are discarded. The
logarithm of the run times is fitted by regularised least squares as the sum of one effect per value of each axis.
Effects with few observations shrink towards zero. The fit affects only the sizes of the chunks, not the results.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import InputError, LanemarkError

#: The name of the plan in a sweep's folder.
PLAN = "plan.json"
#: The weight of each effect's prior, as a number of observations without an effect.
PRIOR_WEIGHT = 1.0
#: The minimum length of a chunk, in seconds. A Dask task and a Parquet file take a few milliseconds.
CHUNK_MIN_S = 0.05
#: The number of consecutive points that are run to estimate the run time of one point.
NEIGHBOURS = 4
#: The number of rounds of coordinate descent over the axes.
ROUNDS = 20


@dataclass(frozen=True)
class Plan:
    """The chunks of a sweep, which do not change once they are written to a folder.

    The name of a part therefore states its points, regardless of the worker that writes it. No point can be stored
    twice.
    """

    #: The hash that identifies the sweep.
    key: str
    #: The number of points.
    points: int
    #: The first and last point of each chunk, in order.
    chunks: tuple[tuple[int, int], ...]
    #: The expected run time of each chunk, in seconds.
    seconds: tuple[float, ...]

    def part(self, chunk: int) -> str:
        """Return the name of a chunk's part."""
        first, last = self.chunks[chunk]
        return f"part-{self.key[:16]}-{first}-{last}.parquet"

    def to_json(self) -> bytes:
        """Return the content of the plan's file."""
        fields = {
            "lanemark_sweep_plan": 1,
            "sweep": self.key,
            "points": self.points,
            "chunks": self.chunks,
            "seconds": self.seconds,
        }
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def of(cls, text: bytes, folder: object) -> Plan:
        """Return the plan that the content of a plan's file describes.

        Args:
            text: The content.
            folder: The folder of the file, for the message of an error.

        Raises:
            InputError: If the content is not a plan.
        """
        try:
            fields = json.loads(text)
            chunks = tuple((int(first), int(last)) for first, last in fields["chunks"])
            seconds = tuple(float(length) for length in fields["seconds"])
            plan = cls(str(fields["sweep"]), int(fields["points"]), chunks, seconds)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise InputError(f"{folder}/{PLAN} is not the plan of a sweep", "use a different folder") from error
        has_times = 0 < len(chunks) == len(seconds) and all(0 <= length < math.inf for length in seconds)
        if not has_times or not re.fullmatch("[0-9a-f]{64}", plan.key):
            raise InputError(f"{folder}/{PLAN} is not the plan of a sweep", "use a different folder")
        ends = [0, *(last + 1 for _, last in plan.chunks)]
        in_order = all(first <= last for first, last in plan.chunks)
        if not in_order or [first for first, _ in plan.chunks] != ends[:-1] or ends[-1] != plan.points:
            raise InputError(f"{folder}/{PLAN}: expected each point in exactly one chunk", "use a different folder")
        return plan


def expected(
    points: int, values: Callable[[int], list[str]], run: Callable[[int, int], None], budget_s: float
) -> Callable[[int], float]:
    """Time a few runs for about ``budget_s`` seconds, and return a function that estimates the run time of a point.

    Args:
        points: The number of points.
        values: Returns the value of each axis at a point.
        run: Runs the points from a first to a last point.
        budget_s: The time after which no further run starts, in seconds.
    """
    samples: list[tuple[list[str], float]] = []
    began = time.perf_counter()
    # Steps of the golden ratio cover the range evenly, regardless of the axes' lengths.
    position = 0.5
    chosen: set[int] = set()
    runs_max = min(points, max(4, min(32, points // 16)))
    while len(chosen) < runs_max and (not samples or time.perf_counter() - began < budget_s):
        position = (position + 0.618033988749895) % 1.0
        point = min(int(position * points), points - 1)
        if point in chosen:
            point = next(unused for unused in range(points) if unused not in chosen)
        chosen.add(point)
        # Consecutive points share the assembled system, as they do in a chunk.
        last = min(point + NEIGHBOURS, points) - 1
        start = time.perf_counter()
        run(point, last)
        samples.append((values(point), max((time.perf_counter() - start) / (last - point + 1), 1e-6)))
    mean = sum(math.log(seconds) for _, seconds in samples) / len(samples)
    effects: list[dict[str, float]] = [{} for _ in samples[0][0]]
    for _ in range(ROUNDS):
        for axis, axis_effects in enumerate(effects):
            residuals: dict[str, list[float]] = {}
            for labels, seconds in samples:
                further = sum(effect.get(labels[at], 0.0) for at, effect in enumerate(effects) if at != axis)
                residuals.setdefault(labels[axis], []).append(math.log(seconds) - mean - further)
            axis_effects.update({value: sum(rest) / (len(rest) + PRIOR_WEIGHT) for value, rest in residuals.items()})

    def cost(point: int) -> float:
        labels = values(point)
        return math.exp(mean + sum(effect.get(labels[at], 0.0) for at, effect in enumerate(effects)))

    return cost


def cut(
    points: int, cost: Callable[[int], float], workers: int, target_s: float
) -> tuple[tuple[tuple[int, int], ...], tuple[float, ...]]:
    """Divide points into chunks of up to ``target_s``, sixteen or more per worker if the sweep is long enough.

    With many chunks per worker, all workers finish at about the same time: with sixteen, a worker is idle for up
    to a sixteenth of its time.
    """
    costs = [cost(point) for point in range(points)]
    chunk_s = min(target_s, max(sum(costs) / (16 * max(workers, 1)), CHUNK_MIN_S))
    chunks: list[tuple[int, int]] = []
    seconds: list[float] = []
    first, total = 0, 0.0
    for point, point_cost in enumerate(costs):
        total += point_cost
        if total >= chunk_s or point == points - 1:
            chunks.append((first, point))
            seconds.append(round(total, 6))
            first, total = point + 1, 0.0
    return tuple(chunks), tuple(seconds)


class Interrupted(LanemarkError):
    """An interrupted sweep. Its finished parts are written, and the same call continues it."""
