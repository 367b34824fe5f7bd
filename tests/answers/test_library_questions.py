"""The questions of the library: what they answer, and one sentence for each wrong argument."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse.base.settings.keywords import words_of

QUESTIONS = (
    dse.sweep_study,
    dse.predict_step,
    dse.synthesize_collective,
    dse.plan_training,
    dse.partition_graph,
    dse.evaluate,
)
TORUS = {"topology": "torus__dim=[4,4]", "collective": "all_gather"}
WRONG = st.one_of(
    st.builds(object), st.binary(), st.complex_numbers(), st.sets(st.integers()), st.just(dict), st.just(len)
)


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """A graph of four nodes in a row."""
    graph = {"node_weights": [10, 11, 12, 13], "edges": [[0, 1], [1, 2], [2, 3]]}
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(graph))
    return path


@pytest.mark.parametrize(
    "ask",
    [
        lambda _: dse.predict_step(system="dgx_h100", model="llama3_8b", strategy={"dp": 8, "tp": 8}),
        lambda _: dse.synthesize_collective(**TORUS),
        lambda _: dse.plan_training(["model.seq_len=4096"], cluster="a100_v100", model="llama3_8b", gbs=64),
        lambda chain: dse.partition_graph(graph=chain, devices=2),
    ],
)
def test_answers_go_to_other_processes(ask: Callable[[Path], Any], chain: Path) -> None:
    answer = ask(chain)
    again = pickle.loads(pickle.dumps(answer))
    assert again.text() == answer.text()
    assert again.to_pandas().equals(answer.to_pandas())


@pytest.mark.parametrize("number", [np.int64(8), np.float32(8), np.array(8), 8.0])
def test_values_of_numpy_are_those_of_python(number: Any) -> None:
    strategy = {"dp": number, "tp": 8, "sequence_parallel": np.bool_(True)}
    step = dse.predict_step(system="dgx_h100", model="llama3_8b", strategy=strategy)
    plain = {"dp": 8, "tp": 8, "sequence_parallel": True}
    assert step.text() == dse.predict_step(system="dgx_h100", model="llama3_8b", strategy=plain).text()
    assert words_of("f", [], {"space": {"tp": np.array([1, 2])}}) == ["space.tp=[1,2]"]


LONG = "a" * 300


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: dse.predict_step(system=LONG, model="llama3_8b"), ".yaml: File name too long"),
        (lambda: dse.predict_step(system="dgx_h100", model=LONG), ".yaml: File name too long"),
        (lambda: dse.synthesize_collective(topology="b/" * 5000), ": File name too long"),
        (lambda: dse.plan_training(cluster=f"{LONG}.yaml", gbs=8), ".yaml: File name too long"),
        (lambda: dse.open_study("b/" * 5000), ": File name too long"),
    ],
)
def test_a_path_that_is_too_long_is_named(ask: Callable[[], object], named: str) -> None:
    with pytest.raises(dse.InputError) as error:
        ask()
    said = str(error.value)
    if sys.version_info < (3, 14):
        assert said.endswith(named)
    else:  # there is no such file, says Python 3.14
        assert re.match(r"(system|model|topology|cluster) (is )?'(a|b/)+|b/b/.*: File name too long", said)


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (3, "is 3 (int); it must be a text or a path"),
        (None, "is None (NoneType); it must be a text or a path"),
        (b"x", "is b'x' (bytes); it must be a text or a path"),
        ("a\0b", "is 'a\\x00b' (str); a path has no such characters"),
        ("\ud800", "is '\\ud800' (str); a path has no such characters"),
    ],
)
def test_a_folder_of_a_study_is_a_path(folder: Any, said: str) -> None:
    for ask, name in ((dse.StudyStore, "StudyStore: folder"), (dse.open_study, "open_study: path")):
        with pytest.raises(dse.InputError) as error:
            ask(folder)
        assert str(error.value) == f"{name} {said}"
    with pytest.raises(dse.InputError, match="StudyStore: record is 3"):
        dse.StudyStore("a", 3)  # type: ignore[call-overload]


def test_a_collective_is_synthesized() -> None:
    found = dse.synthesize_collective(**TORUS)
    assert (found.time_ps, found.bound_ps, found.gap) == (4_194_304_000, 4_194_304_000, 0.0)
    assert found.is_optimal
    assert found.checked == "all sends"
    assert found.data()["sends"] == len(found.to_pandas()) == 240
    assert list(found.to_pandas().columns) == ["src", "dst", "chunk", "start_ps", "end_ps", "reduce"]
    assert found.to_pandas()["end_ps"].max() == found.time_ps


def test_a_collective_on_a_system_takes_its_keys() -> None:
    ring = dse.synthesize_collective(system="torus_4x4", dimensions=[0], chunk_bytes=4096)
    assert ring.data()["npus"] == 4
    assert ring.data()["chunk_bytes"] == 4096


def test_failed_links_are_repaired() -> None:
    found = dse.synthesize_collective(**TORUS, failed_links="0-1", chunk_bytes=1_000_001)
    failures = found.data()["failures"]
    assert failures["failed_links"] == [[0, 1], [1, 0]]
    assert (failures["before_ps"], failures["repaired_ps"]) == (4_000_004_000, 5_000_005_000)


def test_padding_is_a_note() -> None:
    found = dse.synthesize_collective(
        topology="torus__dim=[2,2]", collective="all_reduce", operation_bytes=1001
    )
    assert found.notes[0] == "operation_bytes does not divide: 3 bytes of padding are sent too"


def test_a_collective_is_written_as_by_its_command(tmp_path: Path) -> None:
    dse.synthesize_collective(**TORUS).write(tmp_path / "all")
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert {"schedule.csv", "summary.json", "topology.csv", "index.html"} <= names


def test_a_mixed_cluster_gets_a_plan() -> None:
    found = dse.plan_training(cluster="a100_v100", model="llama3_8b", gbs=512, top=2, cost="strict")
    assert found.step_ms == found.bound_ms == pytest.approx(52_217.7244, abs=1e-3)
    assert (found.gap, found.is_optimal, found.planner) == (0.0, True, "exact")
    assert [note.split(" alone: 80 % of measured steps lie ")[0] for note in found.notes] == [
        "v100_32",
        "a100_80",
    ]
    assert list(found.to_pandas()["gpus"]) == [8, 8, 16]
    assert len(found.data()["ranking"]) == 2
    assert found.best is not None
    assert sum(found.best.groups) == 32


def test_a_plan_of_predicted_steps_says_how_each_stage_runs() -> None:
    found = dse.plan_training(cluster="a100_v100", model="llama3_8b", gbs=512, top=2)
    assert found.step_ms == found.bound_ms == pytest.approx(49_132.2359, abs=1e-3)
    assert found.best is not None
    assert len(found.best.ways) == len(found.best.groups) == len(found.best.starts)
    assert "this space leaves out replicas of a stage that differ" in found.text()


def test_prices_are_a_mapping_by_type() -> None:
    prices = {"A100": 1.0, "V100": 0.5}
    found = dse.plan_training(cluster="a100_v100", model="llama3_8b", gbs=64, prices=prices)
    assert found.data()["best"]["price_per_hour"] == 24.0


def test_a_plan_that_does_not_fit_has_no_time() -> None:
    found = dse.plan_training(cluster="a100_v100", model="gpt175b", max_tp=1, max_batch=1, gbs=32)
    assert (found.step_ms, found.best, found.gap) == (None, None, None)
    assert len(found.to_pandas()) == 0
    assert "no plan fits" in found.text()


def test_a_graph_is_partitioned(chain: Path) -> None:
    found = dse.partition_graph(graph=chain, devices=2, objective="pipeline_bottleneck")
    assert found.labels == (0, 0, 1, 1)
    assert (found.cost, found.bound, found.gap, found.is_optimal) == (25.0, 25.0, 0.0, True)
    assert list(found.to_pandas()["nodes"]) == [2, 2]
    assert found.data()["labels"] == [0, 0, 1, 1]


def test_a_graph_of_networkx_is_partitioned() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(4)
    networkx.set_node_attributes(graph, {0: 10, 1: 11, 2: 12, 3: 13}, "weight")
    found = dse.partition_graph(graph=graph, devices=2, objective="pipeline_bottleneck")
    assert (found.labels, found.cost, found.asked.source.name) == ((0, 0, 1, 1), 25.0, "Graph")
    with pytest.raises(dse.InputError, match="graph occurs twice"):
        dse.partition_graph(["graph=a.json"], graph=graph, devices=2)


def test_several_partitioners_are_compared(chain: Path) -> None:
    found = dse.partition_graph(graph=chain, devices=2, partitioner=["fast", "exact"], pinned={0: 1})
    assert len(found.found) == 2
    assert found.labels[0] == 1
    assert found.text().count("proven optimal") >= 1


def test_a_step_is_predicted() -> None:
    found = dse.predict_step(system="dgx_h100", model="llama3_8b", strategy={"dp": 8, "tp": 8})
    assert found.wall_time_ns == sum(found.parts_ns.values()) == found.to_pandas()["time_ns"].sum()
    assert found.peak_memory_bytes == sum(found.memory_bytes.values())
    assert found.memory_verdict == "fits"
    row = dse.evaluate(system="dgx_h100", model="llama3_8b", strategy={"dp": 8, "tp": 8})
    assert (row.wall_time_ns, row.peak_memory_bytes) == (found.wall_time_ns, found.peak_memory_bytes)
    assert (row.mfu_pct, row.tokens_per_s) == (found.mfu_pct, found.tokens_per_s)
    assert found.notes[0].startswith("80 % of measured steps lie ")


def test_a_step_that_is_simulated_is_not_predicted() -> None:
    with pytest.raises(dse.InputError, match="tiny on torus_4x4 is simulated, not predicted"):
        dse.predict_step(system="torus_4x4", model="tiny", strategy={"dp": 16})


def test_keywords_overrides_and_configurations_say_the_same(tmp_path: Path) -> None:
    words = ["system=torus_4x4", "model=tiny", "strategy.dp=16"]
    rows = [
        dse.evaluate(system="torus_4x4", model="tiny", strategy={"dp": 16}),
        dse.evaluate(system="torus_4x4", model="tiny", strategy=dse.Strategy(dp=16)),
        dse.evaluate(overrides=words),
        dse.evaluate(dse.compose_config(words)),
    ]
    assert [row.wall_time_ns for row in rows] == [555_332] * 4
    study = dse.sweep_study(
        system="torus_4x4",
        model="tiny",
        space={"sp": [1], "tp": [1, 2]},
        executor="local",
        results_dir=tmp_path,
    )
    assert study.count() == 4
    html = study._repr_html_()
    assert html.startswith("<p>4 rows of ")
    assert html.count("<tr") >= 5
    with pytest.raises(dse.InputError, match="a configuration has all of its keys"):
        dse.sweep_study(dse.compose_config(words), overrides=["model=tiny"])


def test_an_answer_prints_like_its_command_and_escapes_it_for_notebooks(chain: Path) -> None:
    graph = chain.rename(chain.with_name("<i>.json"))
    found = dse.partition_graph(graph=graph, devices=2, objective="pipeline_bottleneck")
    assert str(found) == found.text()
    assert repr(found) == f"<GraphPartition: {found.text().splitlines()[0]}>"
    plan = dse.plan_training(cluster="a100_v100", model="llama3_8b", gbs=64, top=1)
    for answer in (found, plan):
        html = answer._repr_html_()
        assert html.startswith("<pre>")
        assert html.count("<") == 2
    assert "16 V100 + 16 A100" in plan._repr_html_()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
@given(value=WRONG)
def test_a_value_of_a_wrong_type_gets_a_sentence_that_names_it(question: Any, value: object) -> None:
    with pytest.raises(dse.InputError) as error:
        question(model=value)
    text = str(error.value)
    assert text.startswith(f"{question.__name__}: model is ")
    assert f"({type(value).__name__}); it must be a text, a number, True or False, a path" in text
    assert "\n" not in text


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
@given(value=st.one_of(WRONG, st.text(), st.integers()))
def test_overrides_are_a_list_of_texts(question: Any, value: object) -> None:
    for wrong, what in ((value, "is"), ([object()], "has")):
        with pytest.raises(dse.InputError, match=f"^{question.__name__}: overrides {what} "):
            question(overrides=wrong)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: dse.plan_training(cluster="a100_v100", gbs=1.5), "gbs is '1.5'; it must be a whole number"),
        (lambda: dse.plan_training(gbs=[1, 2]), "cluster is missing"),
        (lambda: dse.plan_training(clustr="a"), "unknown key clustr; .*did you mean 'cluster'"),
        (lambda: dse.synthesize_collective(**TORUS, seed=True), "seed is 'true'; it must be a whole number"),
        (lambda: dse.synthesize_collective(["topology"]), "'topology' is no key"),
        (lambda: dse.partition_graph(), "graph is missing"),
        (lambda: dse.sweep_study(3), r"sweep_study got 3 \(int\); it takes a configuration"),
        (lambda: dse.sweep_study(on_row=3), r"on_row is 3 \(int\); it must be a function or None"),
        (lambda: dse.evaluate("tiny"), r"evaluate got 'tiny' \(str\); it takes a point or a configuration"),
        (lambda: dse.predict_step([]), r"predict_step got \[\] \(list\); it takes a configuration"),
        (lambda: dse.open_study(3), r"path is 3 \(int\); it must be a text or a path"),
        (lambda: dse.compose_config("model=tiny"), r"overrides is 'model=tiny' \(str\); it must be a list"),
        (lambda: dse.select(3), r"rows is 3 \(int\); it must be rows of a study"),
        (lambda: dse.cap_curve([3]), r"a row is 3 \(int\); it must be rows of a study"),
        (lambda: dse.select([], memory_cap_bytes="80GB"), r"memory_cap_bytes is '80GB' \(str\)"),
        (lambda: dse.point_of(3, dse.Strategy()), r"config is 3 \(int\); it must be a configuration"),
        (lambda: dse.point_of(dse.compose_config([]), 3), r"strategy is 3 \(int\); it must be a strategy"),
        (lambda: dse.point_of_row(3), r"row is 3 \(int\); it must be a row of a study"),
        (lambda: dse.explanation_of(3), r"point is 3 \(int\); it must be a design point"),
    ],
)
def test_wrong_calls_get_a_sentence(call: Any, said: str) -> None:
    with pytest.raises(dse.InputError, match=said):
        call()


def test_no_question_has_the_name_of_a_module_and_all_have_types() -> None:
    for question in QUESTIONS:
        assert not (Path(dse.__file__).parent / "commands" / f"{question.__name__}.py").exists()
        signature = inspect.signature(question)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(one.annotation is not inspect.Parameter.empty for one in signature.parameters.values())
