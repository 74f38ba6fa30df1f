"""NumPy and pandas numbers are accepted wherever Python numbers are, and produce the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import SYSTEM
from hypothesis import given
from hypothesis import strategies as st

import lanemark
from lanemark import InputError
from lanemark._quantity import named, one_of, settings
from lanemark._scalar import plain
from lanemark._toml import value as toml
from lanemark.search import Choice, Prices, Range
from lanemark.sweep import Space, Sweep

WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
#: The forms of a number: a scalar, an array without dimensions, and an element of a column.
SHAPES = [
    lambda kind, number: kind(number),
    lambda kind, number: np.array(number, dtype=kind),
    lambda kind, number: pd.Series([kind(number)]).iloc[0] if kind is not np.longdouble else kind(number),
    lambda kind, number: (
        pd.DataFrame({"qd": [kind(number)]}).loc[0, "qd"] if kind is not np.longdouble else kind(number)
    ),
]


@given(kind=st.sampled_from(WHOLE), shape=st.sampled_from(SHAPES), number=st.integers(0, 127))
def test_whole_numbers_are_pythons(kind: Any, shape: Any, number: int) -> None:
    given_number = shape(kind, number)
    assert type(plain(given_number)) is int
    assert plain(given_number) == number
    assert toml("queue_depth", plain(given_number)) == str(number)
    assert plain({"a": [given_number, (given_number,)]}) == {"a": [number, (number,)]}


@given(kind=st.sampled_from(FLOATS), shape=st.sampled_from(SHAPES), number=st.integers(0, 64))
def test_floats_are_pythons(kind: Any, shape: Any, number: int) -> None:
    # All kinds represent eighths exactly.
    given_number = shape(kind, number / 8)
    assert type(plain(given_number)) is float
    assert plain(given_number) == number / 8


@given(kind=st.sampled_from(WHOLE + FLOATS), numbers=st.lists(st.integers(0, 100), max_size=5))
def test_arrays_are_lists_of_pythons_numbers(kind: Any, numbers: list[int]) -> None:
    for array in (
        np.array(numbers, dtype=kind),
        pd.Series(numbers, dtype=None if kind in (np.float16, np.longdouble) else kind),
    ):
        converted = plain(array)
        assert converted == numbers
        assert all(type(number) in (int, float) for number in converted)


def test_invalid_numbers_raise_an_input_error() -> None:
    for wrong in (np.float64("nan"), np.float64("inf"), np.bool_(True), np.datetime64("2026-01-01"), np.complex128(1)):
        with pytest.raises(InputError):
            named({"block_bytes": plain(wrong)})
        with pytest.raises(InputError):
            lanemark.Test("t", block_bytes=wrong)
        with pytest.raises(InputError):
            one_of("size", None, "bytes", plain(wrong))
    with pytest.raises(InputError):
        settings(plain({"drive.flash.read": np.bool_(True)}))
    with pytest.raises(InputError):
        lanemark.simulate(SYSTEM, "quick", seed=np.float64(1.5))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
def test_a_run_with_numpy_numbers_equals_one_with_python_numbers(kind: Any) -> None:
    def run(number: Any, share: Any) -> list[Any]:
        test = lanemark.Test(
            "t", block_bytes=number(16384), queue_depth=number(8), read_ratio=share(0.75), duration_seconds=share(0.005)
        )
        system = lanemark.System(SYSTEM, set={"drive.flash.channels": number(8)})
        workload = lanemark.Workload(test, repeats=number(2))
        result = lanemark.simulate(system, workload, seed=number(7), threads=number(1), size_bytes=number(2**30))
        return [result.to_dict()["tests"], result.figure("iops", number(0))]

    assert run(kind, np.float64) == run(int, float)


def test_axes_are_arrays_and_columns() -> None:
    frame = pd.DataFrame({"qd": [1, 2, 4]})
    test = lanemark.Test("t", block="4 KiB", duration="1 ms")
    ours = Sweep(Space(SYSTEM, test, {"queue_depth": [1, 2, 4]}))
    for values in (np.array([1, 2, 4]), frame["qd"], list(frame["qd"]), 2 ** np.arange(3)):
        theirs = Sweep(Space(SYSTEM, test, {"queue_depth": values}, seed=np.int64(1), repeats=np.int64(1)))  # type: ignore[arg-type]
        assert (theirs.key, theirs.axes) == (ours.key, ours.axes)
    assert ours.point(np.int64(2)) == {"queue_depth": "4"}  # type: ignore[arg-type]


def test_searches_and_simulators_accept_numpy_numbers() -> None:
    assert Range(np.int64(1), np.float64(8.0), whole=np.bool_(True)) == Range(1, 8.0, whole=True)  # type: ignore[arg-type]
    assert Choice(*np.array([1, 2, 4])) == Choice(1, 2, 4)
    prices = Prices({"drive.flash.channels=4": np.float64(5)})
    assert prices.of({"drive.flash.channels": 4}) == 5.0
    simulator = lanemark.Simulator(SYSTEM, seed=np.int64(3), compressibility_ratio=np.float32(0.5))
    simulator.submit("read", offset_bytes=np.int64(0), length_bytes=np.uint32(4096), tag=np.int64(9))
    done = simulator.advance(until_ps=np.int64(10**12))  # type: ignore[arg-type]
    assert done is not None
    assert done.tag == 9
