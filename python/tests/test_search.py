"""A search finds the optimum of an exhaustive search, and Sobol's indices match analytic values."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SYSTEM, TEST

import lanemark
from lanemark import InputError
from lanemark.search import Choice, Prices, Range, search, sensitivity

READS = lanemark.Test("reads", block="4 KiB", queue_depth=32, duration="2 ms", span="1 GiB")
LANES = "platform.port.m2.pcie.lanes"


def test_the_cheapest_feasible_point_is_found(tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text(
        f"name,price\nsamsung-950-pro-512gb,100\nworkstation-z170,200\n{LANES}=1,1\n{LANES}=2,2\n{LANES}=4,4\n"
    )
    space = {LANES: Choice(1, 2, 4), "queue_depth": Choice(1, 4, 16, 64)}
    all_points = {
        (lanes, depth): lanemark.simulate(
            SYSTEM,
            lanemark.Test("reads", **{**READS.values, "queue_depth": depth}),
            set={LANES: lanes},
        ).figure("iops")
        for lanes in (1, 2, 4)
        for depth in (1, 4, 16, 64)
    }
    iops_min = 0.9 * max(iops for (lanes, _), iops in all_points.items() if lanes == 1)
    best = search(
        SYSTEM, READS, space, objectives={"price": "min"}, bounds=[("iops", ">=", iops_min)], prices=prices, trials=40
    )
    assert len(best) == 1
    assert best[0].point[LANES] == 1
    assert best[0].objectives == (301.0,)
    assert best[0].figures["iops"] >= iops_min
    assert best[0].figures["iops"] == all_points[(1, best[0].point["queue_depth"])]


def test_several_objectives_give_a_front() -> None:
    longer = lanemark.Test("reads", **{**READS.values, "duration": "20 ms"})
    space = {"queue_depth": Range(1, 64, log=True, whole=True)}
    objectives = [("iops", "max"), ("latency_p99_us", "min")]
    front, again = (search(SYSTEM, longer, space, objectives=objectives, trials=30, seed=3) for _ in range(2))
    assert len(front) >= 3
    rates = [trial.objectives[0] for trial in front]
    latencies = [trial.objectives[1] for trial in front]
    assert rates == sorted(rates, reverse=True)
    assert latencies == sorted(latencies, reverse=True)
    assert again == front


def test_a_figure_of_too_few_requests_is_an_error() -> None:
    with pytest.raises(InputError, match="too few requests to determine latency_p999_us"):
        search(SYSTEM, READS, {"queue_depth": Choice(1)}, objectives={"latency_p999_us": "min"}, trials=1)


def test_a_search_without_a_feasible_point_is_empty() -> None:
    space = {"queue_depth": Range(1, 8, whole=True)}
    assert search(SYSTEM, READS, space, objectives={"iops": "max"}, bounds=[("iops", ">=", 1e9)], trials=5) == []


def test_invalid_systems_are_skipped() -> None:
    space = {"drive.flash.channels": Choice(8, 100_000)}
    best = search(SYSTEM, READS, space, objectives={"iops": "max"}, trials=8)
    assert [trial.point for trial in best] == [{"drive.flash.channels": 8}]
    with pytest.raises(InputError, match="channels"):
        search(SYSTEM, READS, {"drive.flash.channels": Choice(100_000)}, objectives={"iops": "max"}, trials=3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"objectives": {"iopses": "max"}},
        {"objectives": {"iops": "most"}},
        {"objectives": {"price": "min"}},
        {"objectives": {}},
        {"objectives": {"iops": "max"}, "bounds": [("iops", "=", 1)]},
        {"objectives": {"iops": "max"}, "trials": 0},
        {"objectives": {"iops": "max"}, "space": {}},
        {"objectives": {"iops": "max"}, "space": {"queue_depth": 3}},
    ],
)
def test_invalid_searches_are_refused(wrong: dict[str, object]) -> None:
    arguments = {"space": {"queue_depth": Choice(1, 2)}, "trials": 2, **wrong}
    with pytest.raises(InputError):
        search(SYSTEM, READS, arguments.pop("space"), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name\nx\n",
        "name,price\nx,y\n",
        "name,price\nx,-1\n",
        "name,price\nx,nan\n",
        "name,price\nx,1\nx,2\n",
        "name,price\n" + "x" * 200_000 + ",1\n",
    ],
)
def test_invalid_prices_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"prices\.csv:"):
        Prices.open(path)
    with pytest.raises(InputError, match="no price for the drive x"):
        Prices({}).of({"drive": "x"})


def test_the_value_that_determines_a_latency_has_most_of_its_variance() -> None:
    # A read at queue depth 1 never waits. Its latency is a sum of values, and each index is the value's share of the
    # variance.
    space = {"drive.flash.read": Range(40, 80, "us"), "drive.flash.command_time": Range(0.1, 10.1, "us")}
    indices = sensitivity(SYSTEM, TEST, space, figure="latency_mean_us", draws=64, duration="1 ms")
    # Uniform draws from ranges of 40 us and 10 us have variances in the ratio 16 to 1.
    assert indices.first["drive.flash.read"] == pytest.approx(16 / 17, abs=0.08)
    assert indices.total["drive.flash.command_time"] == pytest.approx(1 / 17, abs=0.05)
    assert indices.simulations == 64 * 4
    assert indices.to_rows()[0]["parameter"] == "drive.flash.read"
    same = sensitivity(SYSTEM, TEST, space, figure="latency_mean_us", draws=64, duration="1 ms", threads=1)
    assert same == indices


def test_a_value_without_effect_has_a_zero_index() -> None:
    indices = sensitivity(SYSTEM, TEST, {"drive.flash.erase": Range(1, 5, "ms")}, draws=4, duration="1 ms")
    assert indices.total == {"drive.flash.erase": 0.0}
    with pytest.raises(InputError, match="power of two"):
        sensitivity(SYSTEM, TEST, {"drive.flash.erase": Range(1, 5, "ms")}, draws=3)
