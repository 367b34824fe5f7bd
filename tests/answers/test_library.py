"""dse as a library: sweep, open and evaluate from Python, quietly; importing it stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dse

TINY = ("system=torus_4x4", "model=tiny", "space.sp=[1]", "executor=local")


def config(folder: Path, *overrides: str) -> dse.Config:
    return dse.compose_config([*TINY, f"results_dir={folder}", *overrides])


def test_a_sweep_runs_quietly_resumes_and_says_what_comes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows: list[dse.StudyRow] = []
    study = dse.sweep_study(config(tmp_path, "space.tp=[1,2]"), on_row=rows.append)
    assert sorted(row.key or "" for row in rows) == sorted(study.keys())
    first = len(rows)
    dse.sweep_study(config(tmp_path, "space.tp=[1,2]"), on_row=rows.append)
    assert len(rows) == first
    dse.sweep_study(config(tmp_path), on_row=rows.append)
    assert len(rows) == len(study.keys()) > first
    assert "dse.sweep_study" in study.sweeps()[0].read_text()
    assert capfd.readouterr() == ("", "")


def test_what_a_callback_raises_ends_the_sweep_and_what_is_stored_stays(tmp_path: Path) -> None:
    def stop(row: dse.StudyRow) -> None:
        rows.append(row)
        if len(rows) == 3:
            raise RuntimeError("enough")

    rows: list[dse.StudyRow] = []
    with pytest.raises(RuntimeError, match="enough"):
        dse.sweep_study(config(tmp_path), on_row=stop)
    left: list[dse.StudyRow] = []
    study = dse.sweep_study(config(tmp_path), on_row=left.append)
    assert rows[2].key in {row.key for row in left}  # the third was not stored yet
    assert {row.key for row in rows} | {row.key for row in left} == study.keys()


def test_warnings_go_to_a_callback(tmp_path: Path) -> None:
    lines: list[str] = []
    dse.sweep_study(config(tmp_path, "study=one"))
    dse.sweep_study(config(tmp_path, "study=one", "model.seq_len=64"), say=lines.append)
    assert any(line.startswith("warning: study one holds points of other inputs: ") for line in lines)


def test_a_point_and_a_configuration_are_evaluated(tmp_path: Path) -> None:
    study = dse.sweep_study(config(tmp_path))
    best = dse.select(study.rows()).optimum
    assert best is not None
    assert (best.dp, best.tp, best.wall_time_ns) == (16, 1, 555_332)
    assert dse.evaluate(dse.point_of_row(best)) == best
    assert dse.evaluate(config(tmp_path, "strategy.dp=16")) == best


def test_a_study_is_opened_or_named_as_none(tmp_path: Path) -> None:
    study = dse.sweep_study(config(tmp_path, "study=s"))
    again = dse.open_study(tmp_path / "s")
    assert again.rows() == study.rows()
    assert list(again.to_pandas(["dp", "wall_time_ns"]).columns) == ["dp", "wall_time_ns"]
    with pytest.raises(dse.InputError, match="is not a study"):
        dse.open_study(tmp_path / "none")


def test_every_name_is_there_and_importing_the_package_loads_none_of_them() -> None:
    assert {getattr(dse, name).__name__ for name in dse.__all__} == set(dse.__all__)
    assert set(dse.__all__) <= set(dir(dse))
    code = (
        "import sys; before = set(sys.modules); import dse\n"
        "new = set(sys.modules) - before\n"
        "print(sorted(name for name in new if name.startswith('dse.') or name in ('typing', 'signal')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
