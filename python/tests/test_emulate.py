"""Served systems, trials and pages of several results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import SYSTEM, TEST

import lanemark

SATA = "samsung-850-pro-1tb@workstation-z170:sata"


def needs_fuse() -> None:
    if not Path("/dev/fuse").exists():
        if os.environ.get("CI"):
            pytest.fail("/dev/fuse does not exist")
        pytest.skip("/dev/fuse does not exist")


def test_a_served_system_answers_requests_and_commands(tmp_path: Path) -> None:
    needs_fuse()
    disk = tmp_path / "disk"
    with lanemark.Server(SATA, size="16 MiB", mount=disk) as server:
        assert server.address.endswith("disk")
        with disk.open("r+b", buffering=0) as file:
            file.write(b"x" * 8192)
            os.fsync(file.fileno())
            file.seek(0)
            assert file.read(4096) == b"x" * 4096
        assert "lanemark" in server.status()
        server.fault("latency extra=1ms for=1s")
        with pytest.raises(lanemark.InputError, match="no-such-fault"):
            server.fault("no-such-fault")
    sample = server.result.to_dict()["tests"][0]["samples"][0]
    assert sample["writes"]["bytes"] == 8192
    with pytest.raises(lanemark.InputError, match="does not run"):
        server.status()


def test_a_server_that_cannot_start_states_the_reason(tmp_path: Path) -> None:
    with pytest.raises(lanemark.InputError, match="no-such-drive"), lanemark.Server("no-such-drive@a:b", size="1 MiB"):
        pass
    with pytest.raises(lanemark.LanemarkError), lanemark.Server(SATA, size="16 MiB", over=tmp_path / "missing"):
        pass


def test_a_trial_returns_its_answer_and_results() -> None:
    needs_fuse()
    outcome = lanemark.trial(
        [SATA], ["sh", "-c", "echo x >f; sync f"], size="64 MiB", turns=1, time_scale=1, cuts=1, check="test -e ."
    )
    assert outcome.answer.startswith("No acknowledged data was lost in 1 power cut on " + SATA), outcome.answer
    assert not outcome.is_data_lost
    assert len(outcome.results[0].to_dict()["power_cuts"]) == 1
    with pytest.raises(lanemark.LanemarkError, match="exit code 3"):
        lanemark.trial([SATA], ["sh", "-c", "exit 3"], size="64 MiB", turns=1, time_scale=1)


def test_several_results_share_a_page(tmp_path: Path) -> None:
    results = [lanemark.simulate(system, TEST, duration="5 ms", repeats=1) for system in (SYSTEM, SATA)]
    page = lanemark.report(results, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "950 PRO" in page
    assert "850 PRO" in page
    with pytest.raises(lanemark.InputError, match="at least one"):
        lanemark.report([], tmp_path / "absent.html")
    with pytest.raises(lanemark.InputError, match="selects no form"):
        lanemark.report(results, tmp_path / "page.pdf")
