"""How a sweep is cut: chunks of points in a row, each of about the same expected cost.

The cost of a point is the time that it takes to run. A few points spread over the sweep are run first, and thrown away;
the logarithm of their times is fitted by least squares as a sum of one effect for each value of each axis, drawn towards
the mean where little was seen. Nothing rests on that but how even the chunks are.
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
#: How strongly an effect is drawn to none: so many points of no effect.
DRAWN = 1.0
#: Seconds of the shortest chunk: a task of Dask and a file of Parquet take some milliseconds.
CHUNK_LEAST_S = 0.05
#: Points that are run together to foretell the time of one.
NEIGHBOURS = 4
#: Rounds of fitting one axis after the other.
ROUNDS = 20


@dataclass(frozen=True)
class Plan:
    """The chunks of a sweep, which stay as they are once a folder has them.

    So a part's name says which points it holds, whoever writes it and how often: no point can be there twice.
    """

    #: The hash that tells the sweep from all others.
    key: str
    #: Number of points.
    points: int
    #: First and last point of each chunk, in order.
    chunks: tuple[tuple[int, int], ...]
    #: Expected seconds of each chunk.
    seconds: tuple[float, ...]

    def part(self, chunk: int) -> str:
        """Return the name of the part of a chunk."""
        first, last = self.chunks[chunk]
        return f"part-{self.key[:16]}-{first}-{last}.parquet"

    def to_json(self) -> bytes:
        """Return the plan as its file."""
        told = {
            "lanemark_sweep_plan": 1,
            "sweep": self.key,
            "points": self.points,
            "chunks": self.chunks,
            "seconds": self.seconds,
        }
        return json.dumps(told, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def of(cls, text: bytes, place: object) -> Plan:
        """Read a plan's file.

        Raises:
            InputError: Where it is none.
        """
        try:
            told = json.loads(text)
            chunks = tuple((int(first), int(last)) for first, last in told["chunks"])
            seconds = tuple(float(one) for one in told["seconds"])
            plan = cls(str(told["sweep"]), int(told["points"]), chunks, seconds)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise InputError(f"{place}/{PLAN}: is no plan of a sweep", "give another folder") from error
        told_each = 0 < len(chunks) == len(seconds) and all(0 <= one < math.inf for one in seconds)
        if not told_each or not re.fullmatch("[0-9a-f]{64}", plan.key):
            raise InputError(f"{place}/{PLAN}: is no plan of a sweep", "give another folder")
        ends = [0, *(last + 1 for _, last in plan.chunks)]
        in_order = all(first <= last for first, last in plan.chunks)
        if not in_order or [first for first, _ in plan.chunks] != ends[:-1] or ends[-1] != plan.points:
            raise InputError(f"{place}/{PLAN}: its chunks are not all points, each once", "give another folder")
        return plan


def expected(
    points: int, values: Callable[[int], list[str]], run: Callable[[int, int], None], budget_s: float
) -> Callable[[int], float]:
    """Time a few runs of points for at most about ``budget_s``, and return the seconds that each is expected to take."""
    seen: list[tuple[list[str], float]] = []
    began = time.perf_counter()
    # Steps by the golden section fall evenly on any range, whatever the axes' lengths are.
    place = 0.5
    chosen: set[int] = set()
    most = min(points, max(4, min(32, points // 16)))
    while len(chosen) < most and (not seen or time.perf_counter() - began < budget_s):
        place = (place + 0.618033988749895) % 1.0
        point = min(int(place * points), points - 1)
        if point in chosen:
            point = next(one for one in range(points) if one not in chosen)
        chosen.add(point)
        # Neighbours share what is assembled, as they do in a chunk.
        last = min(point + NEIGHBOURS, points) - 1
        start = time.perf_counter()
        run(point, last)
        seen.append((values(point), max((time.perf_counter() - start) / (last - point + 1), 1e-6)))
    mean = sum(math.log(seconds) for _, seconds in seen) / len(seen)
    effects: list[dict[str, float]] = [{} for _ in seen[0][0]]
    for _ in range(ROUNDS):
        for axis, own in enumerate(effects):
            left: dict[str, list[float]] = {}
            for told, seconds in seen:
                others = sum(effect.get(told[at], 0.0) for at, effect in enumerate(effects) if at != axis)
                left.setdefault(told[axis], []).append(math.log(seconds) - mean - others)
            own.update({value: sum(rest) / (len(rest) + DRAWN) for value, rest in left.items()})

    def cost(point: int) -> float:
        told = values(point)
        return math.exp(mean + sum(effect.get(told[at], 0.0) for at, effect in enumerate(effects)))

    return cost


def cut(
    points: int, cost: Callable[[int], float], workers: int, target_s: float
) -> tuple[tuple[tuple[int, int], ...], tuple[float, ...]]:
    """Cut points into chunks of ``target_s``, and of no more than a share of the work that keeps all workers busy.

    The last of the chunks end at about the same time where there are many for each worker: sixteen leave a worker idle
    for at most a sixteenth of its time.
    """
    costs = [cost(point) for point in range(points)]
    each = min(target_s, max(sum(costs) / (16 * max(workers, 1)), CHUNK_LEAST_S))
    chunks: list[tuple[int, int]] = []
    seconds: list[float] = []
    first, so_far = 0, 0.0
    for point, own in enumerate(costs):
        so_far += own
        if so_far >= each or point == points - 1:
            chunks.append((first, point))
            seconds.append(round(so_far, 6))
            first, so_far = point + 1, 0.0
    return tuple(chunks), tuple(seconds)


class Interrupted(LanemarkError):
    """A sweep that was ended before it was over; what had ended is written, and the same call goes on."""
