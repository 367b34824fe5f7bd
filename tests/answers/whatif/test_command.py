"""`python -m dse sensitivity` on a study of the tiny model."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_lines import error_of, run_ok
from study_rows import row
from tiny_points import TINY, rows

from dse.answers.fidelities import REFERENCE
from dse.base.errors import InputError
from dse.commands import sensitivity
from dse.studies.store import StudyStore

KEY = {(row.dp, row.tp, row.sp, row.activation_recompute): row.key or "" for row in rows(*TINY)}


@pytest.fixture
def study(tmp_path: Path) -> str:
    StudyStore.create(tmp_path / "study").append(rows(*TINY))
    return str(tmp_path / "study")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert sensitivity.main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sensitivity.main([study, "memory_cap=96468992B", "factors=0.5,2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"tiny on torus_4x4, 16 NPUs, {REFERENCE}"
    assert lines[1].startswith("dp8 tp2 sp1 pp1 recompute: 752.6 µs, 60.82 MB, under 96.47 MB, key ")
    assert lines[2].startswith("the memory cap binds: dp16 tp1 sp1 pp1 is 197.2 µs faster")
    assert lines[4].split() == ["system.", "value", "elasticity", "x0.5", "x2"]
    assert lines[5].split() == ["peak_tflops", "450", "-0.4064", "1.131", "ms*", "603.4", "µs"]
    assert "* another strategy wins there" in lines
    (cap,) = [line for line in lines if "111149056" in line]
    assert " ".join(cap.split()) == (
        "memory_cap_bytes 111149056 x1.152 dp8 tp2 sp1 pp1, 659.2 µs (fits there)"
    )
    assert lines[-1] == "  none within the limit: memory_bandwidth_gbps, endpoint_delay_ns"


def test_json_has_everything_that_the_table_has(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, study, "--no-memory-cap", "parameters=peak_tflops,endpoint_delay_ns")
    assert found["strategy"] == found["winner"]
    assert found["key"] == KEY[16, 1, 1, False]
    assert [entry["parameter"] for entry in found["parameters"]] == [
        "system.peak_tflops",
        "system.endpoint_delay_ns",
    ]
    delay = found["parameters"][1]
    assert (delay["switch"]["last_value"], delay["switch"]["first_value"]) == (404, 405)
    assert [sample["value"] for sample in delay["samples"]] == [5, 8, 12, 20]
    assert [optimum["strategy"]["dp"] for optimum in delay["optima"]] == [16] * 4


def test_a_point_that_does_not_win_has_sensitivities_only(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, study, f"point={KEY[4, 4, 1, False][:10]}")
    assert (found["strategy"]["tp"], found["winner"]["dp"], found["binding"]) == (4, 16, None)
    assert {entry["switch"] for entry in found["parameters"]} == {None}
    assert sensitivity.main([study, f"point={KEY[4, 4, 1, False]}"]) == 0
    assert "does not win: dp16 tp1 sp1 pp1 does" in capsys.readouterr().out


def test_if_nothing_fits_the_best_without_a_cap_is_varied(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, study, "memory_cap=1MB", "--no-switches")
    assert (found["key"], found["memory_cap_bytes"]) == (KEY[16, 1, 1, False], None)
    assert found["note"] == (
        "nothing fits under 1 MB (the smallest peak memory is 39.85 MB): this is the best without a cap"
    )


def test_groups_are_reported_one_by_one(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    StudyStore(study).append(rows("system=torus_4x4", "model=tiny", "model.num_layers=2")[:6])
    quick = ("--no-switches", "factors=2")
    both = answer(capsys, study, *quick)
    assert [entry["title"] for entry in both] == [
        "tiny (model.num_layers=2) on torus_4x4, 16 NPUs",
        "tiny (model.num_layers=4) on torus_4x4, 16 NPUs",
    ]
    assert answer(capsys, study, "group=1", *quick) == both[1]
    with pytest.raises(InputError, match="group 2 does not exist; groups are 0: tiny"):
        sensitivity.main([study, "group=2"])


def test_csv_has_a_line_for_each_parameter_and_factor(study: str, tmp_path: Path) -> None:
    file = tmp_path / "answer.csv"
    sensitivity.main([study, "parameters=endpoint_delay_ns", "factors=0.5,2", f"csv={file}"])
    first, second = csv.DictReader(io.StringIO(file.read_text()))
    assert (first["value_at_factor"], second["value_at_factor"]) == ("5", "20")
    assert (first["switch_value"], first["switch_winner"]) == ("405", "dp8 tp2 sp1 pp1")


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.html", b"<!d")])
def test_plots_are_written_and_repeat(study: str, tmp_path: Path, name: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    contents = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / name
        sensitivity.main([study, "--no-switches", "factors=0.5,2", f"plot={file}"])
        contents.append(file.read_bytes())
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]


def test_without_matplotlib_the_fix_is_named(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'dse\[plot\]'"):
        sensitivity.main([study, f"plot={tmp_path / 'a.svg'}"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["factors=a"], "factors is 'a'; it must be a list of numbers"),
        (["factors=0"], "factor 0.0 is not a positive number"),
        (["factors=2,0.5,2.0"], "factors is '2,0.5,2.0'; a list has different numbers, such as"),
        (["parameters=peak_tflops,peak_tflops"], "a list has different entries"),
        (["plot=a.pdf"], "plot a.pdf must end in one of .png, .svg, .html"),
        (["memory_cap=80"], "has no unit"),
        (["parameters=nothing"], "nothing cannot be varied on torus_4x4"),
        (["point=ab"], "is not one of 4 to 32 hexadecimal digits"),
    ],
)
def test_bad_options_are_named(study: str, options: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        sensitivity.main([study, *options])
    assert message in str(caught.value)


def test_the_real_command(tmp_path: Path) -> None:
    StudyStore.create(tmp_path / "study").append(rows(*TINY))
    StudyStore.create(tmp_path / "old").append([row()])
    assert "x1.25" in run_ok("sensitivity", "study", "--no-switches", cwd=tmp_path).out
    assert "schema version 1" in error_of("sensitivity", "old", cwd=tmp_path)
    assert error_of("sensitivity", "nowhere", cwd=tmp_path).startswith("nowhere is not a study")
