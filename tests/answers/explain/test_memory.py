"""The memory at the peak: by hand, by category and by operator; comparisons and texts."""

from __future__ import annotations

import dataclasses
import json

import pytest

from dse.answers.explain import CATEGORIES, compare, explain, memory, render, render_comparison
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.simulation.simulators import NativeSimulator, Recording
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.testing.builders import TINY, comp, send, system, workload

SIMULATOR = NativeSimulator()
TRACKED = system(track_local_memory=True)


def tiny(**strategy: int | bool) -> Recording:
    config = compose_config(["system=dgx16"])
    return SIMULATOR.record(generate(TINY, Strategy(**strategy)), config.system)  # type: ignore[arg-type]


def test_the_example_of_the_specification() -> None:
    """Totals 110 from 0, 17 from the end of the first computation, 7 at the end."""
    big = {"ops": 17179869184000, "size": 4862246912}
    nodes = [
        comp(1, **big, reads={"w": 100}, writes={"a": 10}),
        send(2, to=1, size=10**6, after=[1], reads={"a": 10}),
        comp(3, after=[1], reads={"a": 10}, writes={"b": 7}),
    ]
    recording = SIMULATOR.record(workload(nodes, [comp(1)]), TRACKED)
    assert recording.of(0).memory_curve() == [(0, 110), (19088743, 17), (19122076, 7)]
    peak = memory(recording)
    assert (peak.rank, peak.peak_memory_bytes, peak.at_ns) == (0, 110, 0)
    assert (peak.node, peak.operator) == ("node1", "node1")
    assert {name: size for name, size in peak.categories.items() if size} == {"inputs": 100, "other": 10}
    assert [(item.category, item.operator, item.bytes) for item in peak.items] == [
        ("inputs", "w", 100),
        ("other", "a", 10),
    ]


def test_weights_of_the_tiny_model_are_counted() -> None:
    """Two embeddings of 4096 x 1024; per layer 3 of 1024^2 and 2 of 1024 x 4096; and the updated ones."""
    peak = memory(tiny(dp=16))
    weights = 2 * 4096 * 1024 + 4 * (3 * 1024**2 + 2 * 1024 * 4096)
    updated = sum(item.bytes for item in peak.items if item.operator.endswith(" update"))
    assert peak.categories["weights"] - updated == weights
    assert list(peak.categories) == list(CATEGORIES)
    assert sum(peak.categories.values()) == peak.peak_memory_bytes


def test_activations_are_told_by_layer_and_operator() -> None:
    peak = memory(tiny(dp=16))
    (item,) = [i for i in peak.items if i.layer == 2 and i.operator == "attention qk"]
    assert (item.category, item.bytes) == ("activations", 2 * 512 * 512 * 16)  # batch 32 / 16, seq^2, heads


def test_recompute_drops_activations() -> None:
    plain, again = (memory(tiny(dp=16, activation_recompute=switch)) for switch in (False, True))
    assert again.categories["activations"] < plain.categories["activations"]
    assert any(item.operator.endswith("_recomp") for item in again.items)


def test_stages_have_buffers_for_what_they_receive() -> None:
    recording = tiny(dp=2, tp=2, pp=4)
    peaks = [memory(recording, entry.rank) for entry in recording.ranks]
    assert all(peak.categories["buffers"] > 0 for peak in peaks)
    assert memory(recording).peak_memory_bytes == max(peak.peak_memory_bytes for peak in peaks)


def test_ranks_without_tensors_have_a_peak_of_nothing() -> None:
    recording = SIMULATOR.record(workload([comp(1)], [comp(1)]), TRACKED)
    assert (memory(recording).peak_memory_bytes, memory(recording).items) == (0, ())
    assert "peak memory 0" in render(explain(recording))


def test_memory_that_is_not_tracked_is_said() -> None:
    recording = SIMULATOR.record(workload([comp(1)], [comp(1)]), system())
    assert explain(recording).memory is None
    for rank in (None, 1):
        with pytest.raises(InputError, match="memory was not tracked"):
            memory(recording, rank)
    one = explain(recording, "one")
    comparison = compare(one, one)
    assert (comparison.peak, comparison.categories) == (None, ())
    assert "peak" not in render(one) + render_comparison(comparison)


def test_a_comparison_has_the_difference_of_every_part() -> None:
    one = explain(tiny(dp=16), "dp16")
    other = explain(tiny(dp=4, tp=4, activation_recompute=True), "dp4 tp4 recompute")
    comparison = compare(one, other)
    assert sum(part.change for part in comparison.parts) == comparison.wall_time.change
    assert comparison.peak is not None
    assert sum(category.change for category in comparison.categories) == comparison.peak.change
    (again,) = [part for part in comparison.parts if part.name == "recompute"]
    assert again.first == 0 < again.second == again.change
    json.dumps(comparison.to_json())
    text = render_comparison(comparison)
    assert "first:  dp16" in text
    assert "overlapped" in text
    assert "idle" not in text  # zero in both


def test_texts_and_json_have_the_figures() -> None:
    explanation = explain(tiny(dp=4, tp=4, activation_recompute=True), "dp4 tp4 recompute")
    data = json.loads(json.dumps(explanation.to_json()))
    assert data["label"] == "dp4 tp4 recompute"
    assert sum(part["ns"] for part in data["breakdown"]) == data["wall_time_ns"]
    assert sum(c["bytes"] for c in data["memory"]["categories"]) == data["memory"]["peak_memory_bytes"]
    assert sum(item["bytes"] for item in data["memory"]["items"]) == data["memory"]["peak_memory_bytes"]
    text = render(explanation, items=3)
    assert data["wall_time_ns"] == 834_931
    assert "wall time 834.9 µs, as rank 0 spends it:" in text
    assert "  recompute" in text
    assert "activations              3.15 MB   7.89 %  attention norm of 3 layers" in text
    assert explanation.memory is not None
    assert f"during {explanation.memory.operator}:" in text


@pytest.mark.parametrize(
    "strategy",
    [
        Strategy(dp=16),
        Strategy(dp=4, tp=2, pp=2),
        Strategy(dp=4, sp=4, weight_sharded=True, activation_recompute=True),
    ],
    ids=["dp", "pipeline", "sharded"],
)
def test_every_tensor_of_a_repaired_model_has_its_category(strategy: Strategy) -> None:
    """Adam keeps a copy, a momentum and a variance of every weight, 12 bytes in all (ZeRO's table)."""
    realistic = dataclasses.replace(TINY, fidelity="realistic")
    config = compose_config(["system=dgx16"])
    peak = memory(SIMULATOR.record(generate(realistic, strategy), config.system, strategy=strategy))
    assert peak.categories["other"] == 0
    assert sum(peak.categories.values()) == peak.peak_memory_bytes
    assert all(peak.categories[name] for name in ("weights", "optimizer_state", "activations"))
    if strategy.npus == strategy.dp and not strategy.weight_sharded:
        assert peak.categories["optimizer_state"] == 12 * realistic.parameters
