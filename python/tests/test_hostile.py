"""Hostile arguments: each call either succeeds or raises a documented error with a message. A panic of the extension
fails the test, because its exception is not one of the documented errors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import SYSTEM, TEST
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lanemark
from lanemark.search import Prices
from lanemark.sweep import Space, Sweep, SweepResult

#: The errors that invalid arguments may raise: the package's own, and Python's for wrong types and values out of range.
REFUSED = (lanemark.LanemarkError, TypeError, ValueError, OverflowError)

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.booleans(), st.sampled_from([0, 1, 511, 512, 4096, 2**63, 2**64 - 1])
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["", "0 B", "4 KiB", "-1 B", "1 ms", "1e300 s", "nan s", "0%", "101%", "\x00", "\ud800", "a=b", "x" * 9999]
    ),
    st.from_regex(r"[0-9]{1,22}(\.[0-9]{1,9})? ?(B|KiB|TB|EiB|ps|ns|us|MB/s|%)?", fullmatch=True),
)
ANYTHING = st.recursive(
    st.one_of(st.none(), NUMBERS, TEXTS, st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)
ANYTHING_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
MANY = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def refused_or_done(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except REFUSED as error:
        assert str(error)
        return None


@MANY
@given(name=ANYTHING, set=ANYTHING)
def test_systems(name: Any, set: Any) -> None:
    refused_or_done(lambda: lanemark.System(name, set=set))
    refused_or_done(lambda: lanemark.System(SYSTEM, set=set))


PARAMETERS = st.sampled_from(
    [
        "drive.flash.read",
        "drive.flash.channels",
        "drive.flash.page",
        "drive.buffer.capacity",
        "drive.capacity",
        "drive.port.pcie.lanes",
        "platform.cpu.cores",
        "drive.state.condition",
        "drive.flash.nothing",
    ]
)


@MANY
@given(parameter=PARAMETERS, value=st.one_of(NUMBERS, TEXTS))
def test_model_values(parameter: str, value: Any) -> None:
    system = refused_or_done(lambda: lanemark.System(SYSTEM, set={parameter: value}))
    if system is not None:
        refused_or_done(lambda: lanemark.simulate(system, TEST, duration="100 us", repeats=1))


KEYS = st.sampled_from(
    [
        "block",
        "block_bytes",
        "pattern",
        "read",
        "read_ratio",
        "queue_depth",
        "threads",
        "span",
        "span_bytes",
        "offset",
        "volume",
        "volume_bytes",
        "think",
        "think_seconds",
        "alignment",
        "compressibility",
        "rate",
        "arrival",
        "nothing",
    ]
)
#: Limits that keep the accepted workloads short and small.
SMALL = {"queue_depth": st.integers(-5, 300), "threads": st.integers(-5, 40)}


@MANY
@given(data=st.data(), keys=st.lists(KEYS, max_size=4, unique=True))
def test_workloads(data: st.DataObject, keys: list[str]) -> None:
    values = {key: data.draw(SMALL.get(key, ANYTHING)) for key in keys}
    values.setdefault("block", "4 KiB")
    test = refused_or_done(lambda: lanemark.Test("t", duration="200 us", **values))
    workload = refused_or_done(lambda: lanemark.Workload(test))
    if workload is not None:
        refused_or_done(lambda: lanemark.simulate(SYSTEM, workload))


@MANY
@given(
    name=st.sampled_from(
        ["size", "size_bytes", "steady", "interval_length", "repeats", "faults", "seed", "threads", "set"]
    ),
    value=ANYTHING,
)
def test_simulations(name: str, value: Any) -> None:
    options: dict[str, Any] = {"duration": "100 us", name: value}
    if name == "repeats" and isinstance(value, int) and value > 20:
        return
    if name == "steady":
        options = {name: value}
        if isinstance(value, str) and value.strip()[-1:] not in ("", "%"):
            return
    refused_or_done(lambda: lanemark.simulate(SYSTEM, TEST, **options))


OFFSETS = st.one_of(st.none(), st.integers(0, 2**20).map(lambda n: n * 512), NUMBERS, TEXTS)
REQUESTS = st.tuples(
    st.one_of(st.sampled_from(["read", "write", "trim", "flush"]), TEXTS),
    OFFSETS,
    st.one_of(st.integers(0, 600).map(lambda n: n * 512), OFFSETS),
    st.one_of(st.none(), NUMBERS),
    NUMBERS,
    NUMBERS,
)


@MANY
@given(
    requests=st.lists(REQUESTS, max_size=12), until=st.one_of(st.none(), NUMBERS), written=st.one_of(st.none(), TEXTS)
)
def test_custom_loads(requests: list[Any], until: Any, written: Any) -> None:
    with_data = refused_or_done(lambda: lanemark.Simulator(SYSTEM, written=written))
    simulator = with_data or lanemark.Simulator(SYSTEM)
    accepted = 0
    for operation, offset, length, at, tag, drive in requests:
        before = simulator.outstanding
        refused_or_done(
            lambda: simulator.submit(
                operation,
                offset_bytes=offset,
                length_bytes=length,
                at_ps=at,
                tag=tag,
                drive=drive,
            )
        )
        refused_or_done(lambda: simulator.submit("read", offset=offset, length=length))
        accepted += simulator.outstanding - before
    refused_or_done(lambda: simulator.advance(until_ps=until))
    done = sum(1 for _ in simulator)
    assert done <= accepted


@MANY
@given(
    axes=st.dictionaries(
        st.one_of(st.sampled_from(["queue_depth", "block", "drive", "port", "drive.flash.channels", "read"]), TEXTS),
        st.one_of(ANYTHING, st.sampled_from(["1..4", "1..1e9", "1..0", "0..1+0", "1..2*1", "4KiB..1GiB*2", "1,1"])),
        max_size=3,
    )
)
def test_sweeps(axes: Any) -> None:
    sweep = refused_or_done(lambda: Sweep(Space(SYSTEM, TEST, axes, duration="50 us")))
    if sweep is not None:
        assert sweep.points <= 1_000_000
        refused_or_done(lambda: sweep.point(0))
        refused_or_done(lambda: sweep.point(2**70))


@MANY
@given(path=st.one_of(TEXTS, st.none(), st.integers()), value=ANYTHING)
def test_files_and_questions(path: Any, value: Any) -> None:
    refused_or_done(lambda: lanemark.load_results(path))
    refused_or_done(lambda: lanemark.Study(path))
    refused_or_done(lambda: lanemark.Library(path))
    refused_or_done(lambda: lanemark.inspect(path, sysfs=value))
    refused_or_done(lambda: lanemark.compare(path, value))
    refused_or_done(lambda: lanemark.compare(SYSTEM, queue_depth=value, workload="quick:nothing"))
    refused_or_done(lambda: lanemark.fit(value, path))


SPOILT = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(st.tuples(TEXTS, NUMBERS), max_size=4).map(
        lambda rows: "\n".join(["name,price", *(f"{name},{price}" for name, price in rows)]).encode("utf-8", "replace")
    ),
    st.text(max_size=200).map(lambda text: ("point,key,system,test," + text).encode("utf-8", "replace")),
)


@MANY
@given(content=SPOILT)
def test_files_that_the_package_itself_reads(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(content)
    result = refused_or_done(lambda: SweepResult.open(tmp_path / "prices.csv"))
    assert result is None or len(result.to_polars()) == 0
    prices = refused_or_done(lambda: Prices.open(tmp_path / "prices.csv"))
    if prices is not None:
        assert prices.of({}) == 0
