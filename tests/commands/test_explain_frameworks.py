"""`dse explain framework=...`: a point and its runner-up in the settings of a framework."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

from dse.prediction.frameworks.checks.text import setting_line, setting_words
from dse.studies.store import StudyStore, as_rows

STUDY = "results/s"
POINT = ("system=dgx_h100", "system.nodes=2", "model=llama3_8b", "model.batch_size=64")
SPACE = ("space.launchable=megatron-lm", "space.pp=[1,2]", "space.micro_batch=[1]", "space.cp=[1]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("in-frameworks")
    run_ok("sweep", *POINT, *SPACE, "study=s", cwd=folder)
    return folder


def test_the_settings_are_those_that_launch_writes(folder: Path) -> None:
    words = ("explain", STUDY, "framework=megatron-lm", "--no-switches")
    data = json.loads(run_ok(*words, "--json", cwd=folder).out)
    found = data["framework"]
    launched = run_ok("launch", STUDY, "framework=megatron-lm", "--json", cwd=folder)
    assert found["settings"] == json.loads(launched.out)["settings"]
    assert (found["name"], found["lacks"]) == ("megatron-lm", {})
    lines = run_ok(*words, cwd=folder).out.splitlines()
    start = next(
        n for n, line in enumerate(lines) if line.startswith(f"megatron-lm {found['version']} runs ")
    )
    told = shlex.split(lines[start + 1])
    assert told[told.index("--micro-batch-size") + 1] == "1"
    assert told.count("--use-megatron-fsdp") == 1


def test_changes_lead_from_the_settings_of_a_point_to_those_of_the_other(folder: Path) -> None:
    rows = [row for row in as_rows(StudyStore(folder / STUDY).read_table()) if row.status == "ok"]
    one = next(row for row in rows if (row.tp, row.pp) == (2, 1))
    two = next(row for row in rows if (row.tp, row.pp) == (4, 2))
    words = (STUDY, f"point={one.key}", f"versus={two.key}", "framework=megatron-lm", "--no-switches")
    found = json.loads(run_ok("explain", *words, "--json", cwd=folder).out)["framework"]
    after = {key: change["to"] for key, change in found["changes"].items()}
    changed = {key: value for key, value in {**found["settings"], **after}.items() if value is not None}
    launched = run_ok("launch", STUDY, f"point={two.key}", "framework=megatron-lm", "--json", cwd=folder)
    assert changed == json.loads(launched.out)["settings"]
    out = run_ok("explain", *words, cwd=folder).out
    assert f"to get {two.label()}: " in out
    assert "--tensor-model-parallel-size 4 instead of 2" in out


def test_what_a_framework_lacks_is_said_with_the_nearest(folder: Path) -> None:
    words = ("explain", STUDY, "framework=deepspeed", "--no-switches")
    row = next(row for row in as_rows(StudyStore(folder / STUDY).read_table()) if (row.pp, row.tp) == (2, 1))
    found = json.loads(run_ok(*words, f"point={row.key}", "--json", cwd=folder).out)["framework"]
    text = run_ok(*words, f"point={row.key}", cwd=folder).out
    assert found["lacks"]["pp"] == {"from": 2, "to": 1}
    assert all(f"; the nearest is {name}={lack['to']}\n" in text for name, lack in found["lacks"].items())


def test_a_shape_that_a_framework_does_not_know_is_refused_in_its_place(tmp_path: Path) -> None:
    narrow = ("model.num_layers=30", "space.tp=[2]", "space.pp=[1]", "space.cp=[1]", "study=odd")
    run_ok("sweep", *POINT, *narrow, cwd=tmp_path)
    words = ("explain", "results/odd", "framework=torchtitan", "--no-switches")
    found = json.loads(run_ok(*words, "--json", cwd=tmp_path).out)["framework"]
    assert set(found) == {"name", "refused"}
    assert found["refused"].startswith("torchtitan cannot run this job: model.name=llama3_8b: ")
    assert found["refused"].endswith("; nothing near it runs")
    assert run_ok(*words, cwd=tmp_path).out.endswith(f"{found['refused']}\n")


@pytest.mark.parametrize(("name", "message"), [("nemo", "framework is 'nemo'; allowed are megatron-lm")])
def test_an_unknown_framework_is_refused(folder: Path, name: str, message: str) -> None:
    assert message in error_of("explain", STUDY, f"framework={name}", cwd=folder)


def test_a_simulated_study_is_refused(tmp_path: Path) -> None:
    run_ok("sweep", "system=torus_4x4", "model=tiny", "study=simulated", cwd=tmp_path)
    message = error_of("explain", "results/simulated", "framework=megatron-lm", cwd=tmp_path)
    assert "is simulated, not predicted: frameworks run on a cluster" in message


def test_words_of_settings_are_quoted_and_say_what_they_replace() -> None:
    changes = {"--a": (1, 4), "--b": (True, None), "--c": (None, True), "d.e": (True, False), "f": (2, 0)}
    told = setting_words(changes, with_old=True)
    assert told == "--a 4 instead of 1, without --b, --c, d.e=false instead of true, f=0 instead of 2"
    assert setting_words(changes) == "--a 4 without --b --c d.e=false f=0"
    assert setting_line({"--a": "x y", "--b": False, "c": [1, 2], "d": "$x"}) == "--a 'x y' c=1,2 d='$x'"
