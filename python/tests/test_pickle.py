"""Pickled and copied objects equal their originals, even in a different process and working directory."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SYSTEM, TEST

import lanemark
from lanemark import InputError
from lanemark.sweep import Space, Sweep

STUDY = "studies/sata-vs-nvme-datasheets.toml"


def made() -> dict[str, Any]:
    result = lanemark.simulate(SYSTEM, "quick", duration="2 ms", interval_length="1 ms", seed=3)
    test = lanemark.Test("mixed", block="4 KiB", read="70%", queue_depth=4, duration="2 ms")
    study = lanemark.Study(STUDY)
    return {
        "library": lanemark.Library(),
        "folder": lanemark.library(ROOT / "library"),
        "system": lanemark.System(SYSTEM, set={"drive.flash.read": "60 us", "drive.flash.channels": 8}),
        "test": test,
        "workload": lanemark.Workload("crystaldiskmark-8"),
        "tests": lanemark.Workload([test, lanemark.Test("other", block="8 KiB")], name="Two", repeats=3),
        "changed": lanemark.Workload(TEST).changed(duration="3 ms", repeats=2).changed(faults=["pause at=1ms for=1ms"]),
        "result": result,
        "measured": lanemark.simulate(SYSTEM, test, seed=2**63),
        "table": result.tests,
        "hops": result.hops,
        "series": result.series,
        "empty": lanemark.simulate(SYSTEM, TEST, duration="1 ms").series,
        "sweep": Sweep(Space(SYSTEM, test, {"queue_depth": "1..4*2", "block": ["4 KiB", "8 KiB"]}, duration="1 ms")),
        "study": study,
        "outcome": study.run(),
    }


@pytest.fixture(scope="module")
def all_made() -> dict[str, Any]:
    return made()


NAMES = [
    "library", "folder", "system", "test", "workload", "tests", "changed", "result", "measured", "table", "hops", "series",
    "empty", "sweep", "study", "outcome",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_round_trip_is_equal(name: str, all_made: dict[str, Any]) -> None:
    assert set(all_made) == set(NAMES)
    made_object = all_made[name]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(made_object, protocol))
        assert type(again) is type(made_object)
        assert again == made_object
        assert hash(again) == hash(made_object)
        assert repr(again) == repr(made_object) or name in ("study", "folder")
    assert copy.deepcopy(made_object) == made_object
    assert copy.copy(made_object) == made_object
    assert all(made_object != different for key, different in all_made.items() if key != name)


def test_restored_objects_behave_like_their_originals(all_made: dict[str, Any]) -> None:
    system, workload, sweep = (pickle.loads(pickle.dumps(all_made[name])) for name in ("system", "changed", "sweep"))
    ours = lanemark.simulate(all_made["system"], all_made["changed"]).to_dict()["tests"]
    assert lanemark.simulate(system, workload).to_dict()["tests"] == ours
    assert sweep.key == all_made["sweep"].key
    result = pickle.loads(pickle.dumps(all_made["result"]))
    assert result.to_html() == all_made["result"].to_html()
    assert result.hops.to_arrow().equals(all_made["result"].hops.to_arrow())


def test_another_process_in_another_folder_restores_equal_objects(all_made: dict[str, Any], tmp_path: Path) -> None:
    fio = tmp_path / "mine" / "w.fio"
    fio.parent.mkdir()
    fio.write_text("[w]\nrw=randread\nbs=4k\niodepth=8\nruntime=1\ntime_based\nsize=1g\nioengine=libaio\ndirect=1\n")
    ours: dict[str, Any] = {name: all_made[name] for name in ("result", "table", "outcome", "study", "test")}
    ours["fio"] = lanemark.Workload(fio, target_size="1 GiB")
    (tmp_path / "all.pickle").write_bytes(pickle.dumps(ours))
    program = (
        "import pickle, sys\n"
        "objects = pickle.loads(open('all.pickle', 'rb').read())\n"
        "sys.stdout.buffer.write(pickle.dumps(objects))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(lanemark.__file__).parents[1])},
    )
    assert run.returncode == 0, run.stderr.decode()
    assert pickle.loads(run.stdout) == ours
    # The notes and settings of another program's file are read from the file again.
    assert ours["fio"].notes
    fio.write_text(fio.read_text().replace("iodepth=8", "iodepth=9"))
    with pytest.raises(InputError, match="has changed since"):
        pickle.loads((tmp_path / "all.pickle").read_bytes())
