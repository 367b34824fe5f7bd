"""`python -m dse.best` answers for any study, and says in one line what is wrong with its input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dse import best
from dse.errors import InputError
from dse.results import StudyRow, StudyStore


def point(dp: int, sp: int, recompute: bool, wall_time_ns: int, peak_memory_bytes: int | None) -> StudyRow:
    return StudyRow(
        study="llama70b-system1",
        model="llama70b",
        system="system1",
        dp=dp,
        tp=1,
        sp=sp,
        pp=1,
        weight_sharded=False,
        activation_recompute=recompute,
        status="ok",
        reason="",
        fractional=False,
        npus=64,
        wall_time_ns=wall_time_ns,
        exposed_comm_ns=0,
        compute_utilization_pct=92.5,
        peak_memory_bytes=peak_memory_bytes,
    )


FAST = point(32, 2, False, 3_206_889_878, 143_896_084_480)
SMALL = point(8, 8, True, 4_088_264_658, 67_022_880_768)


@pytest.fixture
def study(tmp_path: Path) -> str:
    folder = tmp_path / "llama70b-system1"
    StudyStore.create(folder).append([SMALL, FAST])
    return str(folder)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "dse.best", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_prints_the_table(study: str) -> None:
    done = command(study)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3206889878" in done.stdout
    assert "under 80.00 GB (80000000000 bytes)" in done.stdout
    assert done.stdout.endswith("\n2 points: 2 ok\n")


@pytest.mark.parametrize(
    ("options", "cap"),
    [
        ([], 80_000_000_000),
        (["--memory-cap", "80GiB"], 85_899_345_920),
        (["--no-memory-cap"], None),
    ],
)
def test_json_names_the_best_and_the_best_under_the_cap(
    study: str, capsys: pytest.CaptureFixture[str], options: list[str], cap: int | None
) -> None:
    assert best.main([study, "--json", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert StudyRow(**answer["best"]) == FAST
    assert answer["memory_cap_bytes"] == cap
    assert (answer["best_under_cap"] or {}).get("dp") == (None if cap is None else 8)


def test_a_study_without_peak_memories_needs_no_cap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    StudyStore.create(tmp_path).append([point(32, 2, False, 3_206_889_878, None)])
    with pytest.raises(InputError, match="track_local_memory"):
        best.main([str(tmp_path)])
    assert best.main([str(tmp_path), "--no-memory-cap"]) == 0
    assert "3.207 s" in capsys.readouterr().out


def test_a_cap_without_a_unit_is_refused_by_name(study: str) -> None:
    with pytest.raises(InputError, match="--memory-cap '80' has no unit"):
        best.main([study, "--memory-cap", "80"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere"],
        ["nowhere", "--memory-cap", "80"],
        [],
        ["nowhere", "--memory-cap", "80GB", "--no-memory-cap"],
    ],
)
def test_bad_input_is_exit_code_2_without_a_traceback(arguments: list[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_input_error_is_one_line() -> None:
    assert command("nowhere").stderr == "error: nowhere is not a study: No such file or directory\n"


def test_help_does_not_load_pyarrow() -> None:
    code = "import sys; import dse.best; print(sorted({'pyarrow', 'numpy', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
