"""Stages with replicas of their own: their devices, steps, and the search for the fastest of all."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_lines import run_dse, run_ok

import dse
from dse.base.errors import InputError
from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import replicated_operations
from dse.partition.graphs.steps import StageGraph, closed_form_ns, simulate_step
from dse.partition.problem.arguments import question_of
from dse.partition.problem.problem import Devices
from dse.partition.problem.replicas import Layout, joined, layout_of, most_in_flight, replicas_of
from dse.partition.problem.settings import asked_problems
from dse.partition.replication import bottlenecks
from dse.partition.step import simulated_step
from dse.studies.composed import composed


def _chain(tmp_path: Path, weights: list[float], **about: object) -> Path:
    file = tmp_path / "graph.json"
    edges = [[node, node + 1] for node in range(len(weights) - 1)]
    file.write_text(json.dumps({"node_weights": weights, "edges": edges, **about}))
    return file


def _links(tmp_path: Path, devices: int, gbps: float) -> Path:
    file = tmp_path / "links.csv"
    lines = [f"{a},{b},500,{gbps}" for a in range(devices) for b in range(devices) if a != b]
    file.write_text("\n".join([str(devices), "Src,Dest,Latency (ns),Bandwidth (GB/s)", *lines, ""]))
    return file


def _ns(stages: StageGraph, schedule: str, micro_batches: int) -> int:
    count = sum(map(len, stages.homes)) or stages.count
    outcome = simulate_step(stages, schedule, micro_batches, Devices(count)).outcome
    assert outcome.status == "ok"
    return max(metrics.finish_ns for metrics in outcome.classes if metrics is not None)


def test_micro_batches_take_turns_among_the_replicas_of_a_stage() -> None:
    one = layout_of((2, 1), 2)
    assert one == Layout(1, (2, 1))
    assert one.places == [(0, 0), (0, 1), (1, 0)]
    assert [[one.device_of(stage, batch) for batch in range(4)] for stage in (0, 1)] == [
        [0, 2, 0, 2],
        [1, 1, 1, 1],
    ]
    # Two pipelines of three devices: micro-batches 0, 2, 4 go through the first.
    two = layout_of((4, 2), 2)
    assert two == Layout(2, (2, 1))
    assert (two.devices_of(0), two.devices_of(1)) == ([0, 3, 2, 5], [1, 4])
    assert [two.replica_and_stage(device) for device in range(6)] == [
        *((0, 0), (0, 1), (2, 0)),
        *((1, 0), (1, 1), (3, 0)),
    ]
    assert [each.replicas for each in (one, two, layout_of(3, 2), layout_of((3, 3), 2))] == [
        *((2, 1), (4, 2), 3, 3)
    ]


def test_replicas_start_with_as_many_micro_batches_as_keep_later_stages_busy() -> None:
    kind = schedule_named("1f1b")
    assert [most_in_flight(layout_of(each, 2)) for each in ((2, 1), (1, 2), (2, 4))] == [2, 3, 3]
    assert [most_in_flight(layout_of(each, 2), "1f1b", 4) for each in ((2, 1), (1, 2), (2, 4))] == [2, 3, 2]
    assert [most_in_flight(layout_of(each, 2), "gpipe", 8) for each in ((2, 1), (1, 2), (2, 2))] == [8, 8, 4]
    (first,), (second, third) = replicated_operations(kind, (1, 2), 1, 4)
    assert [(one.kind[0], one.micro_batch) for one in first] == [
        *(("f", 0), ("f", 1), ("f", 2), ("b", 0), ("f", 3), ("b", 1), ("b", 2), ("b", 3))
    ]
    assert [one.micro_batch for one in second] == [0, 0, 2, 2]
    assert [(one.kind[0], one.micro_batch) for one in third] == [("f", 1), ("b", 1), ("f", 3), ("b", 3)]


def test_a_step_of_replicated_stages_takes_what_their_passes_take() -> None:
    """Passes of 100 ns on two devices, and of 50 ns: the second stage never waits from 100 ns on.

    It ends the last backward pass at 100 + 8 x 50 ns, and that of the first stage comes after. Alone that
    stage has eight passes without a pause.
    """
    stages = StageGraph((100.0, 50.0), {(0, 1): 1}, backward=1, homes=((0, 2), (1,)))
    assert _ns(stages, "1f1b", 4) == 600
    assert closed_form_ns(stages, 4) == 3 * 100 + 200 + 100 == 600
    assert _ns(replace(stages, homes=()), "1f1b", 4) == 800


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "zb-h1"])
def test_no_replica_waits_for_ever(schedule: str) -> None:
    for each in itertools.product((1, 2, 3, 6), repeat=3):
        first = itertools.accumulate(each, initial=0)
        homes = tuple(tuple(range(start, start + one)) for start, one in zip(first, each, strict=False))
        stages = StageGraph((50.0, 70.0, 60.0), {(0, 1): 1, (1, 2): 1}, homes=homes)
        assert _ns(stages, schedule, 6) < 6 * 3 * (50 + 70 + 60)


def test_replicas_of_a_stage_are_one_faster_device() -> None:
    """Device 2 is the second replica of the first stage; the slower of the links to and from it counts."""
    each = ((0.0, 2.0, 9.0), (4.0, 0.0, 6.0), (9.0, 8.0, 0.0))
    devices = Devices(3, latency_ns=each, ns_per_byte=each, speeds=(1.0, 0.5, 1.0), memory_bytes=(8, 9, 8))
    found = joined(devices, layout_of((2, 1), 2))
    assert (found.speeds, found.memory_bytes) == ((2.0, 0.5), (8, 9))
    # To the second stage 2 or 8 ns; from there 4 or 6 ns, to two devices in turn.
    assert found.ns_per_byte == found.latency_ns == ((0.0, 8.0), (3.0, 0.0))
    assert joined(devices, layout_of(1, 3)) is devices


def test_replicas_that_cannot_be_are_refused() -> None:
    assert replicas_of({"replicas": "2,1"}, Devices(3)) == [(2, 1)]
    assert replicas_of({"replicas": "[2,2]"}, Devices(4)) == [2]
    for text, devices, message in (
        ("2,1", Devices(4), r"replicas is 2,1, which are 3 devices; .* must be 4, one on each device"),
        ("3,1", Devices(4), "replicas is 3,1, and 3 replicas cannot share 8 micro-batches equally"),
        ("2,1", Devices(3, speeds=(1, 1, 2)), r"replicas is 2,1, and .* would be on devices 0, 2$"),
        ("2,0", Devices(3), "replicas is '0'; it must be a whole number, 1 to"),
    ):
        with pytest.raises(InputError, match=message):
            replicas_of({"replicas": text}, devices)


def test_a_folder_and_its_table_say_the_replicas_of_each_stage(tmp_path: Path) -> None:
    graph, links = _chain(tmp_path, [1e6] * 6), _links(tmp_path, 3, 100.0)
    words = ("objective=pipeline_bottleneck", "replicas=2,1", "microbatches=4")
    ran = run_ok("partition", f"graph={graph}", f"devices={links}", *words, "-o", "folder", cwd=tmp_path)
    lines = ran.out.splitlines()
    assert lines[3].split()[-1] == "replicas"
    assert [line.split()[-1] for line in lines[4:6]] == ["2", "1"]
    assert "stages have 2,1 replicas, each on a device" in ran.out
    # Four of six nodes on two devices: 4 ms every 2 ms. Two backward passes of 8 ms end the step, after the
    # second stage: 4 + 4 x 6 ms.
    assert "a step with 1f1b and 4 micro-batches takes 36" in ran.out
    stored = json.loads((tmp_path / "folder" / "partition.json").read_text())
    assert (stored["replicas"], stored["devices"]) == ([2, 1], 2)
    assert "replicas of the stages" in (tmp_path / "folder" / "index.html").read_text()
    told = run_ok("partition", f"graph={graph}", f"devices={links}", *words, "format=json", cwd=tmp_path)
    assert json.loads(told.out)["replicas"] == [2, 1]
    few = ("objective=pipeline_bottleneck", "replicas=1,1")
    refused = run_dse("partition", f"graph={graph}", f"devices={links}", *few, cwd=tmp_path)
    assert refused.code == 2
    assert "replicas is 1,1, which are 2 devices" in refused.err


@pytest.mark.parametrize(("seed", "devices", "gbps"), [(0, 3, 1.0), (1, 4, 0.1), (2, 4, 10.0), (3, 5, 10.0)])
def test_auto_finds_the_fastest_step_of_all_replicas_and_cuts(
    tmp_path: Path, seed: int, devices: int, gbps: float
) -> None:
    """All ways to share up to five devices among the stages of six nodes, each simulated."""
    draw = random.Random(seed)
    weights = [draw.uniform(0.2e6, 3e6) for _ in range(6)]
    about = {
        "edge_bytes": [draw.uniform(1e3, 1e6) for _ in range(5)],
        "parameter_bytes": [draw.uniform(0, 2e6) for _ in range(6)],
    }
    keys = {
        "graph": str(_chain(tmp_path, weights, **about)),
        "devices": str(_links(tmp_path, devices, gbps)),
        "objective": "pipeline_bottleneck",
    }
    found = dse.partition_graph(**keys, replicas="auto")
    (asked, *_) = asked_problems(question_of({**keys, "replicas": "auto"}, ()), composed())
    assert asked.others is not None
    steps = {}
    for stages in range(2, devices + 1):
        for each in itertools.product((1, 2, 4), repeat=stages):
            for cuts in itertools.combinations(range(1, 6), stages - 1):
                if sum(each) == devices:
                    labels = [sum(node >= cut for cut in cuts) for node in range(6)]
                    steps[each, cuts] = simulated_step(asked.others(each), labels, {}).data["step_ns"]
    assert len(steps) > 10
    assert found.step.data["step_ns"] == min(steps.values())
    own = tuple(found.labels.index(stage) for stage in range(1, max(found.labels) + 1))
    said = found.asked.replicas
    each = said if isinstance(said, tuple) else (said,) * found.asked.problem.devices.count
    assert steps[each, own] == found.step.data["step_ns"]


def test_shortest_bottlenecks_are_proposed_where_layouts_are_too_many_to_bound() -> None:
    draw = random.Random(7)
    weights = [draw.uniform(1, 9) for _ in range(9)]
    work = np.cumsum([0.0, *weights])
    found = bottlenecks(work, [1, 2, 4], 6)
    assert [len(each) for each, _ in found] == [2, 3, 4, 5, 6]
    for each, (cuts,) in found:
        least = min(
            max(np.diff(work[[0, *some, 9]]) / other)
            for other in itertools.product((1, 2, 4), repeat=len(each))
            if sum(other) == 6
            for some in itertools.combinations(range(1, 9), len(each) - 1)
        )
        assert max(np.diff(work[list(cuts)]) / each) == pytest.approx(least, rel=1e-12)


def test_long_chains_on_many_devices_have_a_fast_step_too(tmp_path: Path) -> None:
    """The first of 100 equal nodes has all parameters: 2 GB that whole pipelines would average."""
    parameters = [2e9, *[0.0] * 99]
    graph = _chain(tmp_path, [1e6] * 100, parameter_bytes=parameters)
    keys = {"graph": str(graph), "devices": str(_links(tmp_path, 12, 10.0))}
    found = dse.partition_graph(**keys, objective="pipeline_bottleneck", replicas="auto")
    steps = dict(found.steps_of_replicas)
    assert set(steps) >= {1, 2, 4}
    assert found.step.data["step_ns"] == min(steps.values())
