"""dse plan explain and report: from the file of a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plan_command import Run, keys, refused


@pytest.fixture
def file(run: Run, inputs: Path, tmp_path: Path) -> str:
    path = tmp_path / "plan.json"
    run(*keys(inputs), "planner=exact", "allow_mixed_stages=false", "-o", str(path))
    return str(path)


def test_an_explanation_adds_up(run: Run, file: str) -> None:
    found = json.loads(run("explain", file, "format=json"))
    assert found["cost_ms"] == 2486.015238278919
    assert sum(found["parts_ms"].values()) == pytest.approx(found["cost_ms"], rel=1e-12)
    for other in found["others"]:
        assert sum(other["parts_ms"].values()) == pytest.approx(other["longer_ms"], rel=1e-9)
        assert other["longer_ms"] >= 0
    simulation = found["simulation"]
    effects = sum(effect["ms"] for effect in simulation["effects"]) + simulation["remainder_ms"]
    assert simulation["price_ms"] + effects == pytest.approx(simulation["step_ms"], rel=1e-9)


def test_moves_of_a_layer_never_make_an_optimum_better(run: Run, file: str) -> None:
    found = json.loads(run("explain", file, "format=json"))
    assert found["moves"]
    assert all(move["refused"] or move["ms"] >= -1e-9 for move in found["moves"])
    assert [stage["idle_share"] == 0.0 for stage in found["stages"]] == [
        stage["sets_the_pace"] for stage in found["stages"]
    ]


def test_the_text_says_what_binds_and_what_others_lose(run: Run, file: str) -> None:
    text = run("explain", file)
    assert "sets the pace" in text
    assert "a layer less on a stage that sets the pace:\n- from stage" in text
    assert "what the next plans lose" in text
    assert "one message at a time: messages and reductions of a GPU wait for each other" in text


def test_a_file_without_a_plan_says_so(run: Run, inputs: Path, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    run(*keys(inputs), "memory_reserve=0.99", "-o", str(path), code=1)
    assert run("explain", str(path), code=1) == "no plan fits\n"


def test_a_page_of_a_file_is_that_of_the_plan(run: Run, inputs: Path, tmp_path: Path) -> None:
    folder, page = tmp_path / "out", tmp_path / "page.html"
    run(*keys(inputs), "planner=exact", "-o", str(folder))
    run("report", str(folder), "-o", str(page))
    assert page.read_bytes() == (folder / "index.html").read_bytes()


def test_files_that_are_no_plan_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"version": 1, "problem": {}}), encoding="utf-8")
    assert "has no planner; the file is cut short" in refused("explain", str(path))


@pytest.mark.parametrize(
    ("words", "change"),
    [(("explain",), {"cost_model": "foo"}), (("explain",), {"ranking": 0}), (("report",), {"best": {}})],
)
def test_a_document_that_was_changed_is_one_line(
    file: str, tmp_path: Path, words: tuple[str, ...], change: dict[str, object]
) -> None:
    path = Path(file)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    output = ("-o", str(tmp_path / "plan.html")) if words == ("report",) else ()
    assert refused(*words, file, *output).startswith(f"{file}: is not as dse plan wrote it (")
