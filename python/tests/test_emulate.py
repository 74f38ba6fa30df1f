"""Served systems, trials and pages of several results."""

from __future__ import annotations

import os
import signal
import threading
import time
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


def test_a_trial_reports_its_progress_and_names_wrong_arguments() -> None:
    with pytest.raises(lanemark.InputError, match="require a check"):
        lanemark.trial([SATA], ["true"], size="64 MiB", cuts=1)
    with pytest.raises(lanemark.InputError, match="fs: `zfs` is not"):
        lanemark.trial([SATA], ["true"], fs="zfs")
    with pytest.raises(lanemark.InputError, match="turns: expected"):
        lanemark.trial([SATA], ["true"], turns=0)
    with pytest.raises(lanemark.InputError, match="is given twice"):
        lanemark.trial([SATA, SATA], ["true"])
    needs_fuse()
    reports: list[tuple[float, int]] = []
    lanemark.trial(
        [SATA],
        ["sh", "-c", "echo x >f; sync f; sleep 0.2"],
        size="64 MiB",
        turns=2,
        time_scale=1,
        on_progress=lambda *now: reports.append(now),
    )
    assert reports[-1] == (2, 2)
    assert (1, 2) in reports


def test_ctrl_c_ends_a_trial_and_removes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_fuse()
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))
    sent: list[float] = []

    def press() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        lanemark.trial([SATA], ["sh", "-c", "echo x >f; sync f; sleep 60"], size="64 MiB", turns=1, time_scale=1)
    # The calling thread keeps its mounts, and nothing of the trial remains.
    assert time.monotonic() - sent[0] < 1
    assert not list(tmp_path.glob("lanemark-trial-*"))


def test_a_drive_file_is_written_from_ratings(tmp_path: Path) -> None:
    file = lanemark.drive(
        "Maker Model 2TB",
        tmp_path / "drive.toml",
        protocol="nvme",
        capacity="2 TB",
        generation=4,
        lanes=4,
        read="7450 MB/s",
        write="6900 MB/s",
        year=2022,
    )
    system = lanemark.System(f"{file}@workstation-x570:m2")
    assert system.capacity_bytes == 2_000_000_000_000
    with pytest.raises(lanemark.InputError, match="--reed"):
        lanemark.drive("x", tmp_path / "other.toml", protocol="nvme", capacity="2 TB", reed="1 MB/s")


def test_several_results_share_a_page(tmp_path: Path) -> None:
    results = [lanemark.simulate(system, TEST, duration="5 ms", repeats=1) for system in (SYSTEM, SATA)]
    page = lanemark.report(results, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "950 PRO" in page
    assert "850 PRO" in page
    with pytest.raises(lanemark.InputError, match="at least one"):
        lanemark.report([], tmp_path / "absent.html")
    with pytest.raises(lanemark.InputError, match="selects no form"):
        lanemark.report(results, tmp_path / "page.pdf")
