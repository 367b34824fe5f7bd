"""`dse best` answers for any study, and says in one line what is wrong with its input."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.commands import best
from dse.studies.store import StudyRow, StudyStore


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
    line = [sys.executable, "-m", "dse", "best", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_prints_the_table(study: str) -> None:
    done = command(study)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3.207 s" in done.stdout
    assert "3206889878" not in done.stdout
    assert "under 80 GB" in done.stdout
    assert done.stdout.endswith("\n2 points: 2 ok\n")


@pytest.mark.parametrize("options", [[], ["--caps"], ["--pareto"], ["top=2", "--no-memory-cap"]])
def test_exact_figures_are_shown_when_asked_for(
    study: str, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert best.main([study, "--exact", *options]) == 0
    out = capsys.readouterr().out
    assert "  3206889878  143896084480  " in out
    assert "  4088264658   67022880768  " in out


def test_exact_beside_json_is_refused(study: str) -> None:
    with pytest.raises(InputError, match="--json is exact without it"):
        best.main([study, "--exact", "--json"])


@pytest.mark.parametrize(
    ("options", "cap"),
    [
        ([], 80_000_000_000),
        (["memory_cap=80GiB"], 85_899_345_920),
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
    with pytest.raises(InputError, match=r"no point has one, because system\.track_local_memory is off"):
        best.main([str(tmp_path), "memory_cap=80GB"])
    for options in ([], ["--no-memory-cap"]):
        assert best.main([str(tmp_path), *options]) == 0
        printed = capsys.readouterr()
        assert "3.207 s" in printed.out
        assert "under" not in printed.out
        assert ("so the memory cap is ignored" in printed.err) == (not options)


def test_a_cap_without_a_unit_is_refused_by_name(study: str) -> None:
    with pytest.raises(InputError, match="memory_cap '80' has no unit"):
        best.main([study, "memory_cap=80"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere"],
        ["nowhere", "memory_cap=80"],
        [],
        ["nowhere", "memory_cap=80GB", "--no-memory-cap"],
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
    code = (
        "import sys, dse.commands.best as _; print(sorted({'pyarrow', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def lab_like(folder: Path) -> str:
    """Two models, one of them on two variants of a system."""
    rows = []
    for model, tflops, wall_time_ns in (("a", 450, 5), ("a", 900, 3), ("b", 450, 7)):
        model_spec = json.dumps({"name": model})
        system_spec = json.dumps({"name": "system1", "peak_tflops": tflops})
        for dp in (1, 2):
            row = point(dp, 1, False, wall_time_ns * 1000 + dp, dp * 10**10)
            key = f"{model}{tflops}{dp}"
            rows.append(
                replace(
                    row, model=model, key=key, model_spec=model_spec, system_spec=system_spec, options="{}"
                )
            )
    StudyStore.create(folder).append(rows)
    return str(folder)


def test_every_model_and_system_has_its_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert best.main([lab_like(tmp_path), "memory_cap=10GB"]) == 0
    out = capsys.readouterr().out
    assert (
        out.index("a on system1, 64 NPUs") < out.index("    with system.peak_tflops=900") < out.index("b on")
    )
    assert best.main([lab_like(tmp_path / "again"), "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [(answer["title"], answer["best"]["wall_time_ns"]) for answer in answers] == [
        ("a on system1, 64 NPUs", 3001),
        ("b on system1, 64 NPUs", 7001),
    ]


def test_the_best_for_every_cap_as_steps(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert best.main([study, "--caps"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[4:]] == [["from", "67.02", "GB"], ["from", "143.90", "GB"]]
    assert best.main([study, "--caps", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [(entry["peak_memory_bytes"], entry["dp"]) for entry in points] == [
        (67_022_880_768, 8),
        (143_896_084_480, 32),
    ]


def test_the_pareto_front_with_a_cost_and_a_condition_goes_to_a_csv_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "front.csv"
    options = [
        "--pareto",
        "cost=system.peak_tflops * npus",
        "where=model = 'a'",
        f"csv={file}",
    ]
    assert best.main([lab_like(tmp_path / "study"), *options]) == 0
    with file.open(newline="") as text:
        points = [(row["dp"], row["wall_time_ns"], row["group"]) for row in csv.DictReader(text)]
    group = "a on system1, 64 NPUs"
    assert points == [("1", "3001", group), ("1", "5001", group)]
    assert len(capsys.readouterr().out.splitlines()) == 4 + 2 * 2


def test_the_first_of_every_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert best.main([lab_like(tmp_path), "top=1", "by=system.peak_tflops", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [(answer["title"], answer["points"][0]["wall_time_ns"]) for answer in answers] == [
        ("a on system1, 64 NPUs: system.peak_tflops=450", 5001),
        ("a on system1, 64 NPUs: system.peak_tflops=900", 3001),
        ("b on system1, 64 NPUs: system.peak_tflops=450", 7001),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["cost=dp"], "write --pareto too"),
        (
            ["--caps", "memory_cap=80GB"],
            "--caps has the best point for every cap, so a cap has no effect",
        ),
        (["--caps", "--no-memory-cap"], "--caps has the best point for every cap, so a cap has no effect"),
        (["--pareto", "--no-memory-cap"], "--pareto has no cap without memory_cap; leave"),
        (["--mixed", "group=0"], "--mixed makes one group of all points, so group has no effect"),
        (["group=1"], "group 1 does not exist; groups are 0: llama70b on system1, 64 NPUs"),
        (["top=0"], "top is '0'; it must be a whole number of at least 1"),
        (["--caps", "--pareto"], "exclude each other; write one of them"),
        (["top=1", "by=modle"], "unknown column 'modle'"),
        (["where=dp <"], "the expression ends too early"),
        (["csv=nowhere/x.csv"], "cannot write nowhere/x.csv"),
    ],
)
def test_wrong_options_are_said_in_one_line(study: str, options: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        best.main([study, *options])


def test_mfu_and_tokens_are_columns_like_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = '{"fidelity":"stage","name":"llama70b"}'
    worth = {"tokens_per_s": 164_900.5, "tokens_per_s_per_npu": 2_576.57, "model_spec": spec}
    rows = [
        replace(FAST, key="0" * 32, mfu_pct=95.4, **worth),
        replace(SMALL, key="1" * 32, mfu_pct=78.2, **worth),
    ]
    StudyStore.create(tmp_path).append(rows)
    assert best.main([str(tmp_path), "--json", "where=mfu_pct < 90", "--no-memory-cap"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["best"]["dp"], answer["best"]["mfu_pct"]) == (8, 78.2)
    assert answer["mfu"][0].startswith("MFU: operations of the reference's graph, one per multiply-add")
    assert best.main([str(tmp_path), "--caps", "by=dp"]) == 0
    out = capsys.readouterr().out
    assert out.count("from 143.90 GB") == out.count("from 67.02 GB") == 1
    assert out.count("\nMFU: ") == 1
    assert "95.4  164.9k" in out
