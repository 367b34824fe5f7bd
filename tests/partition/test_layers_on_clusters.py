"""Layers of a model on a cluster: the step, the memory and the fastest layout are those of predictions."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from dse import GraphPartition, partition_graph
from dse.base.errors import InputError
from dse.commands.partition import main
from dse.prediction.steps.details import layer_seconds
from dse.prediction.steps.plan import text_of_layers
from dse.prediction.steps.predict import Prediction
from dse.studies.config import compose_config
from dse.studies.points import point_of
from dse.studies.points.methods.prediction import prediction_inputs, prediction_of

CASES = {
    "dense, with tensor parallelism and replicas": (
        ["model=llama3_8b", "model.num_layers=11", "model.batch_size=16"],
        ["system=dgx_h100", "system.nodes=2"],
        ["strategy.tp=2", "strategy.dp=2", "strategy.zero=0"],
    ),
    "experts, with a split backward pass": (
        ["model=mixtral_8x7b", "model.num_layers=9", "model.batch_size=24", "model.seq_len=1024"],
        ["system=dgx_a100", "system.nodes=2"],
        ["strategy.dp=4", "strategy.ep=4", "strategy.schedule=zb-h1"],
    ),
    "layers of several kinds, computed again": (
        ["model=nemotron_h_8b", "model.batch_size=8", "model.seq_len=2048"],
        ["system=mi300x_platform", "system.nodes=1"],
        ["strategy.tp=2", "strategy.cp=2", "strategy.recompute=full"],
    ),
}


def asked(name: str, *more: str, **keys: str) -> GraphPartition:
    model, system, strategy = CASES[name]
    words = [*model, "model.fidelity=realistic", *system[1:], *strategy, *more]
    devices = system[0].removeprefix("system=")
    return partition_graph(words, devices=devices, objective="pipeline_bottleneck", **keys)


def swept(name: str, counts: tuple[int, ...], *others: tuple[int, ...]) -> list[Prediction]:
    """The predictions of points with these layers on their stages, by the key of the first."""
    model, system, strategy = CASES[name]
    stages = f"strategy.stages={text_of_layers(counts)}"
    words = [*model, "model.fidelity=realistic", *system, *strategy, f"strategy.pp={len(counts)}", stages]
    config = compose_config(words)
    alike = [replace(config.strategy, stages=text_of_layers(each)) for each in others]
    return [prediction_of(point_of(config, each)) for each in (config.strategy, *alike)]


def counts_of(found: GraphPartition) -> tuple[int, ...]:
    return tuple(row.nodes for row in found.devices)


@pytest.mark.parametrize("name", CASES)
def test_a_partition_takes_the_step_and_the_memory_of_the_strategy_with_its_layers(name: str) -> None:
    found = asked(name)
    (expected,) = swept(name, counts_of(found))
    layers = found.asked.layers
    assert layers is not None
    step = layers.step(found.labels)
    assert step["step_ns"] == pytest.approx(1e9 * expected.step_s, rel=1e-9)
    assert step["range_s"] == expected.range_s
    assert max(layers.memory_of(found.labels)) == pytest.approx(expected.peak_memory_bytes, abs=4)
    assert max(row.memory_bytes for row in found.devices) == max(layers.memory_of(found.labels))


@pytest.mark.parametrize("name", list(CASES)[:2])
def test_no_layout_has_a_faster_step_and_the_bound_is_the_least_bottleneck(name: str) -> None:
    found = asked(name)
    assert found.asked.layers is not None
    layers = found.asked.layers
    seconds = layer_seconds(layers.model, layers.plan, layers.cluster)
    stages, tried = layers.plan.pp, []
    for cuts in itertools.combinations(range(1, len(seconds)), stages - 1):
        ends = (0, *cuts, len(seconds))
        counts = tuple(b - a for a, b in itertools.pairwise(ends))
        bottleneck = max(sum(seconds[a:b]) for a, b in itertools.pairwise(ends))
        tried.append((bottleneck, counts))
    assert found.bound == pytest.approx(1e9 * min(tried)[0], rel=1e-9)
    assert found.cost == pytest.approx(1e9 * {c: b for b, c in tried}[counts_of(found)], rel=1e-9)
    assert found.is_optimal == (found.cost <= found.bound * (1 + 1e-9))
    fastest = min(each.step_s for each in swept(name, *(counts for _, counts in tried)))
    assert layers.step(found.labels)["step_ns"] == pytest.approx(1e9 * fastest, rel=1e-9)
    assert found.notes[-1] == f"no other of all {len(tried)} layouts has a faster step"


@pytest.mark.parametrize("name", CASES)
def test_of_too_many_layouts_neighbours_lead_to_a_fast_step(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, layers = asked(name), asked(name).asked.layers
    assert layers is not None
    monkeypatch.setattr("dse.partition.graphs.layers.MOST_LAYOUTS", 0)
    found = asked(name)
    assert "other layouts were not predicted" in found.notes[-1]
    assert layers.step(found.labels)["step_ns"] <= 1.01 * layers.step(best.labels)["step_ns"]


@pytest.mark.parametrize("name", CASES)
def test_its_step_is_no_slower_than_that_of_balanced_stages(name: str) -> None:
    found = asked(name)
    layers = found.asked.layers
    assert layers is not None
    assert layers.plan.stages == "balanced"
    model, system, strategy = CASES[name]
    rule = [f"strategy.pp={layers.plan.pp}", "strategy.stages=balanced"]
    config = compose_config([*model, "model.fidelity=realistic", *system, *strategy, *rule])
    point = point_of(config, config.strategy)
    assert prediction_inputs(point)[1] == layers.plan
    assert layers.step(found.labels)["step_ns"] <= 1e9 * prediction_of(point).step_s * (1 + 1e-12)


def test_layers_leave_a_stage_that_is_too_full() -> None:
    """The first stage of 1f1b holds the most micro-batches."""
    name = "dense, with tensor parallelism and replicas"
    free = asked(name)
    fullest = max(row.memory_bytes for row in free.devices)
    tight = asked(name, memory=f"{round(0.8 * fullest)}B")
    assert counts_of(free) != counts_of(tight)
    assert max(row.memory_bytes for row in tight.devices) <= 0.8 * fullest + 1
    layers = free.asked.layers
    assert layers is not None
    assert layers.step(tight.labels)["step_ns"] > layers.step(free.labels)["step_ns"]
    assert tight.bound == free.bound
    with pytest.raises(InputError, match=r"the fullest stage needs .* of each NPU, which has 1.00 GB"):
        asked(name, memory="1GB")


def test_the_command_stores_the_predicted_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, system, strategy = CASES["dense, with tensor parallelism and replicas"]
    words = [*model, "model.fidelity=realistic", *system[1:], *strategy, "objective=pipeline_bottleneck"]
    assert main([*words, "devices=dgx_h100", "-o", str(tmp_path / "out")]) == 0
    assert "predicted (fidelity=realistic)" in capsys.readouterr().out
    stored = json.loads((tmp_path / "out" / "partition.json").read_text())
    assert stored["step"]["micro_batches"] == 8
    assert stored["operators"]["layer 0"] == 0
    events = json.loads((tmp_path / "out" / "trace.json").read_text())["traceEvents"]
    assert {event["args"]["name"] for event in events if event["name"] == "process_name"} == {
        f"stage {stage}" for stage in range(4)
    }


@pytest.mark.parametrize(
    ("more", "keys", "message"),
    [
        (["strategy.tp=3"], {}, r"strategy.dp\*tp\*cp is 6; it must divide the 16 NPUs of dgx_h100"),
        (["strategy.pp=4"], {}, r"strategy.pp and strategy.stages are what a partition says"),
        ([], {"tflops": "3"}, r"tflops=3 has no effect on a model whose step is predicted"),
        (["strategy.dp=8", "strategy.chunks=2"], {}, r"chunks"),
    ],
)
def test_what_has_no_effect_is_refused(more: list[str], keys: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked("dense, with tensor parallelism and replicas", *more, **keys)


def test_strategies_are_of_predicted_models_only() -> None:
    with pytest.raises(InputError, match=r"strategy.tp=2 has no effect here; strategies are of model=NAME"):
        partition_graph(["model=tiny", "strategy.tp=2"], devices=4)
