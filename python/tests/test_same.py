"""The command, a Rust program and the package produce the same results to the last digit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import SYSTEM, TEST, binary
from conftest import lanemark as command

import lanemark
from lanemark.sweep import Space, Sweep, SweepResult

CASES = [
    (SYSTEM, "quick", "20 ms", 1),
    ("samsung-850-pro-1tb@workstation-z170:sata", "crystaldiskmark-8", "10 ms", 7),
    ("stripe-64KiB:samsung-980-pro-1tb@workstation-x570:m2-2+m2-3", TEST, "10 ms", 2**64 - 1),
]


@pytest.mark.parametrize(("system", "workload", "duration", "seed"), CASES)
def test_one_seed_gives_one_result(system: str, workload: str, duration: str, seed: int, tmp_path: Path) -> None:
    ours = lanemark.simulate(system, workload, duration=duration, seed=seed).to_dict()
    arguments = ["sim", system, workload, "--duration", duration, "--seed", str(seed), "--no-interval"]
    theirs = json.loads(command(*arguments, "--json", "--out", str(tmp_path)).stdout)
    assert ours["tests"] == theirs["tests"]
    assert ours["workload"] == theirs["workload"]
    assert ours["target"] == theirs["target"]
    assert ours["provenance"]["inputs"] == theirs["provenance"]["inputs"]
    program = [binary("examples/one_run"), system, workload, duration, str(seed)]
    rust = json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
    assert ours["tests"] == rust


def test_another_seed_gives_another_result() -> None:
    first, second = (lanemark.simulate(SYSTEM, TEST, duration="20 ms", seed=seed).hops.to_arrow() for seed in (1, 2))
    assert not first.equals(second)


def test_threads_change_nothing() -> None:
    serial, parallel = (
        lanemark.simulate(SYSTEM, "quick", duration="5 ms", threads=n).to_dict()["tests"] for n in (1, 4)
    )
    assert serial == parallel


def test_intervals_are_the_commands(tmp_path: Path) -> None:
    ours = lanemark.simulate(SYSTEM, TEST, duration="20 ms", interval=True).to_dict()
    theirs = json.loads(command("sim", SYSTEM, TEST, "--duration", "20ms", "--json", "--out", str(tmp_path)).stdout)
    assert ours["tests"] == theirs["tests"]
    assert "interval" in ours["tests"][0]


def test_texts_are_the_commands(tmp_path: Path) -> None:
    arguments = ["sim", SYSTEM, "quick", "--duration", "10ms", "--no-interval", "--out", str(tmp_path)]
    assert lanemark.simulate(SYSTEM, "quick", duration="10 ms").to_text() == command(*arguments).stdout


def test_a_what_if_is_the_commands() -> None:
    arguments = ["compare", SYSTEM, "--set", "platform.port.m2.pcie.lanes=1", "--workload", TEST, "--duration", "10ms"]
    theirs = json.loads(command(*arguments, "--json").stdout)
    ours = lanemark.compare(SYSTEM, set={"platform.port.m2.pcie.lanes": 1}, workload=TEST, duration="10 ms")
    assert ours.to_dict() == theirs
    assert ours.to_text() == command(*arguments).stdout


def test_a_study_is_the_commands(tmp_path: Path) -> None:
    theirs = json.loads(
        command("study", "studies/sata-express.toml", "--no-interval", "--json", "--out", str(tmp_path)).stdout
    )
    ours = lanemark.Study("studies/sata-express.toml").run().to_dict()
    for outcome in (ours, theirs):
        for part in (outcome, *(system["run"] for system in outcome["systems"])):
            part.pop("provenance")
    assert ours == theirs


def test_a_sweeps_points_are_the_commands(tmp_path: Path) -> None:
    axes = {"queue_depth": "1..8*2", "block": ["4 KiB", "128 KiB"]}
    sweep = Sweep(Space(SYSTEM, TEST, axes, duration="5 ms"))
    ours = sweep.run(tmp_path / "ours.csv")
    arguments = ["sweep", SYSTEM, "--workload", TEST, "--axis", "queue_depth=1..8*2", "--axis", "block=4 KiB,128 KiB"]
    out = tmp_path / "sweep.csv"
    command(*arguments, "--duration", "5ms", "--out", str(out))
    theirs = SweepResult.open(out).to_arrow()
    assert theirs.num_rows == 8
    assert ours.to_arrow().equals(theirs)
    assert ours.path.read_bytes() == out.read_bytes()
    provenance = json.loads(out.with_name("sweep.csv.provenance.json").read_text())
    assert provenance["sweep"] == sweep.key
