"""Replicas of a pipeline: shares of devices, averaging of gradients, and the number whose step is fastest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import run_dse, run_ok

import dse
from dse.base.errors import InputError
from dse.partition.problem.problem import Devices
from dse.partition.problem.replicas import averaging_ns, replicas_of, share_of
from dse.partition.run.stages import read_placement


def _linked(count: int, ns_per_byte: float, latency_ns: float = 0.0) -> Devices:
    def of(value: float) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(value * (a != b) for b in range(count)) for a in range(count))

    return Devices(count, of(1.0), of(latency_ns), of(ns_per_byte))


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Eight operators in a row, each of 1 ms and with 1 MB of parameters."""
    file = tmp_path / "graph.json"
    about = {
        "node_weights": [1e6] * 8,
        "edges": [[node, node + 1] for node in range(7)],
        "edge_bytes": [1000.0] * 7,
        "parameter_bytes": [1e6] * 8,
    }
    file.write_text(json.dumps(about))
    return file


def _links(tmp_path: Path, gbps: float) -> Path:
    file = tmp_path / "links.csv"
    lines = [f"{a},{b},0,{gbps}" for a in range(4) for b in range(4) if a != b]
    file.write_text("\n".join(["4", "Src,Dest,Latency (ns),Bandwidth (GB/s)", *lines, ""]))
    return file


def test_gradients_go_round_a_ring_of_the_replicas() -> None:
    # Twice 100 ns and half of 1000 bytes at 1 ns each.
    assert averaging_ns(_linked(4, 1.0, 100.0), [0, 2], 1000.0) == 2 * (100 + 500)
    # Four replicas: six times 100 ns and a quarter of 1000 bytes.
    assert averaging_ns(_linked(4, 1.0, 100.0), range(4), 1000.0) == 6 * (100 + 250)
    assert averaging_ns(Devices(4), [1, 3], 1000.0) == 0


def test_a_share_has_the_slowest_links_of_any() -> None:
    each = [[0.0, 1.0, 9.0, 9.0], [1.0, 0.0, 9.0, 9.0], [9.0, 9.0, 0.0, 4.0], [9.0, 9.0, 2.0, 0.0]]
    devices = Devices(4, ns_per_byte=tuple(map(tuple, each)))
    assert share_of(devices, 2).ns_per_byte == ((0.0, 4.0), (2.0, 0.0))
    assert share_of(devices, 1) is devices


def test_possible_numbers_share_devices_and_micro_batches_equally() -> None:
    assert replicas_of({"replicas": "auto"}, Devices(16)) == [1, 2, 4, 8]
    assert replicas_of({"replicas": "auto", "microbatches": "6"}, Devices(12)) == [1, 2, 3, 6]
    assert replicas_of({"replicas": "auto"}, Devices(4, speeds=(1.0, 1.0, 0.5, 0.5))) == [1]
    assert replicas_of({"replicas": "auto"}, Devices(4, speeds=(1.0, 0.5, 1.0, 0.5))) == [1, 2]
    assert replicas_of({"microbatches": "7"}, Devices(5)) == [1]
    with pytest.raises(InputError, match=r"replicas is 3; 4 devices, .* shared equally by 1, 2"):
        replicas_of({"replicas": "3"}, Devices(4))


@pytest.mark.parametrize(
    ("gbps", "replicas", "step_ns"),
    [
        # 1: 8 micro-batches through 4 stages of 2 ms, 3 times for both passes: (7 + 4) 6 ms and messages.
        # 2: 4 micro-batches through 2 stages of 4 ms: (3 + 2) 12 ms, then 4 MB of gradients.
        (100.0, 2, 60_040_000),
        (0.1, 1, 66_060_000),
    ],
)
def test_the_number_whose_step_is_fastest_is_taken(
    tmp_path: Path, graph: Path, gbps: float, replicas: int, step_ns: float
) -> None:
    keys = {"graph": str(graph), "devices": str(_links(tmp_path, gbps)), "objective": "pipeline_bottleneck"}
    found = dse.partition_graph(**keys, replicas="auto")
    assert found.asked.replicas == replicas
    assert found.step.data["step_ns"] == pytest.approx(step_ns, rel=2e-3)
    alone = [dse.partition_graph(**keys, replicas=count) for count in (1, 2)]
    steps = tuple((each.asked.replicas, each.step.data["step_ns"]) for each in alone)
    assert found.steps_of_replicas == steps
    assert found.step.data["step_ns"] == min(step for _, step in steps)


def test_a_folder_says_how_many_replicas_run(tmp_path: Path, graph: Path) -> None:
    links, words = _links(tmp_path, 100.0), ("objective=pipeline_bottleneck", "replicas=auto")
    ran = run_ok("partition", f"graph={graph}", f"devices={links}", *words, "-o", "folder", cwd=tmp_path)
    assert "2 replicas of the pipeline, each on 2 devices; steps by replicas are 1: 66" in ran.out
    placement, replicas = read_placement(tmp_path / "folder" / "partition.json")
    assert replicas == 2
    assert set(placement.values()) == {0, 1}


def test_replicas_without_effect_are_refused(tmp_path: Path, graph: Path) -> None:
    ran = run_dse("partition", f"graph={graph}", "devices=4", "replicas=2", cwd=tmp_path)
    assert ran.code == 2
    assert "replicas=2 has no effect on objective=sharding_cost; it is for pipeline_bottleneck" in ran.err


def test_replicas_that_do_not_fit_are_left_out_with_their_reason(graph: Path) -> None:
    # Adam has four copies of 1 MB an operator: 8 MB on each of four devices, 16 MB on each of two.
    keys = {"graph": str(graph), "devices": 4, "objective": "pipeline_bottleneck", "memory": "10MB"}
    found = dse.partition_graph(**keys, replicas="auto")
    assert [count for count, _ in found.steps_of_replicas] == [1]
    assert any(note.startswith("replicas=2 is left out: ") for note in found.notes)
