"""dse plan explain and report: from the file of a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plan_command import FIRST, Run, keys, refused

from dse.base.errors import InputError
from dse.commands.plan import __main__ as plan
from dse.planner.questions.simulation.simulate import PlanSimulator


@pytest.fixture
def file(run: Run, inputs: Path, tmp_path: Path) -> str:
    path = tmp_path / "plan.json"
    run(*keys(inputs), "planner=exact", "allow_mixed_stages=false", "-o", str(path))
    return str(path)


def test_an_explanation_adds_up(run: Run, file: str) -> None:
    found = json.loads(run("explain", file, "format=json"))
    assert found["cost_ms"] == 2486.015238278919
    assert sum(found["parts_ms"].values()) == pytest.approx(found["cost_ms"], rel=1e-12)
    assert len(found["others"]) == 5
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


@pytest.mark.parametrize("words", [("explain",), ("report",)])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost_model": "foo"}, "cost_model is 'foo'; allowed are compat, strict, step"),
        ({"ranking": 0}, "is not as dse plan wrote it (TypeError: 'int' object is not iterable)"),
        ({"optimal": "yes"}, "is not as dse plan wrote it (TypeError: optimal is 'yes')"),
        ({"provenance": {}}, "is not as dse plan wrote it (KeyError: 'cluster')"),
        ({"plan": {}}, "plan: 'types' is missing"),
        ({"problem": {}}, "problem: 'cluster' is missing"),
    ],
)
def test_a_document_that_was_changed_is_one_line(
    file: str, tmp_path: Path, words: tuple[str, ...], change: dict[str, object], message: str
) -> None:
    path = Path(file)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    output = ("-o", str(tmp_path / "plan.html")) if words == ("report",) else ()
    assert refused(*words, file, *output) == f"{file}: {message}"


@pytest.mark.parametrize("part", ["optimal", "gap", "provenance"])
def test_a_document_that_lacks_a_part_names_it(file: str, part: str) -> None:
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    del data[part]
    Path(file).write_text(json.dumps(data), encoding="utf-8")
    assert refused("explain", file).startswith(f"{file}: has no {part}; the file is cut short")


def test_figures_of_a_page_are_priced_anew(run: Run, file: str, tmp_path: Path) -> None:
    run("report", file, "-o", str(tmp_path / "own.html"))
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    data["best"]["cost_ms"] = data["ranking"][0]["cost_ms"] = 1.0
    Path(file).write_text(json.dumps(data), encoding="utf-8")
    run("report", file, "-o", str(tmp_path / "changed.html"))
    assert (tmp_path / "changed.html").read_bytes() == (tmp_path / "own.html").read_bytes()


def test_a_bug_of_ours_is_not_blamed_on_the_file(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(*_: object) -> None:
        raise AttributeError("a bug of ours")

    monkeypatch.setattr(PlanSimulator, "simulate", simulate)
    with pytest.raises(AttributeError, match="a bug of ours"):
        plan.main(("explain", file))


def test_what_is_too_large_to_simulate_is_explained_all_the_same(
    run: Run, file: str, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate(*_: object) -> None:
        raise InputError("a graph of 4096 NPUs is too large")

    monkeypatch.setattr(PlanSimulator, "simulate", simulate)
    text = run("explain", file)
    assert text.startswith(
        "2 times 8 as 8x1 | 16 as 1x16: 2.486 s per step under strict; proven optimal within"
    )
    assert text.endswith("not simulated: a graph of 4096 NPUs is too large\n")
    assert "2.486 s per step" in run(*keys(inputs), "planner=exact", "simulate=1")
    assert "not simulated: a graph of 4096 NPUs is too large" in run.notes  # type: ignore[attr-defined]


@pytest.fixture
def walked(run: Run, inputs: Path, tmp_path: Path) -> str:
    """A plan of Metis's walk whose price leaves its second stage out."""
    path = tmp_path / "walk.json"
    asked = [key.replace("[A100,V100]", "[V100,A100]") for key in keys(inputs)]
    run(*asked, FIRST, "planner=metis", "cost=compat", "-o", str(path))
    return str(path)


def test_a_plan_that_cannot_run_is_not_explained_as_if_it_could(run: Run, walked: str) -> None:
    found = json.loads(run("explain", walked, "format=json"))
    assert found["defects"][0] == "its price counts 1 of its 2 stages"
    assert [stage["period_ms"] is None for stage in found["stages"]] == [False, True]
    assert [stage["sets_the_pace"] for stage in found["stages"]] == [True, False]
    assert found["moves"] == []
    text = run("explain", walked).splitlines()
    assert text[1] == "cannot run as it is: its price counts 1 of its 2 stages"
    (left_out,) = [line for line in text if line.startswith("    1  ")]
    assert left_out.split()[-4:] == ["-"] * 4
    assert "not priced" in left_out


def test_a_page_of_a_file_says_what_the_command_says(run: Run, walked: str, tmp_path: Path) -> None:
    run("report", walked, "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "its price counts 1 of its 2 stages" in page
    assert "1 micro-batch per step" in page
    assert "beside this page" not in page


def test_card_bar_and_sentence_have_one_pace(run: Run, inputs: Path, tmp_path: Path) -> None:
    """Under compat a stage sends beside its work, not within: 207.6 ms, and 0.09 ms of sending."""
    page = tmp_path / "page.html"
    asked = (*keys(inputs), FIRST, "planner=exact", "cost=compat", "allow_mixed_stages=false")
    run(*asked, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert "207.6 ms</" in text
    assert "stage 0 sets the pace with 207.6 ms per micro-batch" in text
    assert "207.7 ms" not in text
    assert "width: 93.4%" in text
