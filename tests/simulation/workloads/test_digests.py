"""Byte-identical traces and groups: every row of the conformance table of the workload specification."""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

import pytest

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.simulation.workloads import GeneratedWorkload, generate
from dse.testing.builders import parse

# input_dim, output_dim, d_model, d_ff, num_heads, seq_len, batch_size; C and D divide badly on purpose
SHAPES = {
    "A": (32000, 32000, 8192, 28672, 64, 1024, 512),
    "B": (51200, 25600, 12288, 49152, 96, 2048, 1536),
    "C": (1001, 777, 231, 1234567, 7, 1023, 131),
    "D": (50021, 51203, 12301, 49201, 4003, 65521, 1009),
}


class Row(NamedTuple):
    degrees: tuple[int, int, int, int]
    sharded: int
    recompute: int
    layers: int
    shape: str
    nodes_rank0: int
    nodes: int
    largest_id: int
    traces: str
    groups: str
    stage_order: tuple[int, ...]


TABLE = [
    Row((1, 1, 1, 1), 0, 0, 2, "A", 84, 84, 116, "45123ec51ea11136f5198227", "a4d883f7f676", (0,)),
    Row((4, 1, 1, 1), 0, 1, 4, "A", 202, 808, 1040, "84827be66b34375222aacbde", "f96fea83f4d0", (0,)),
    Row((1, 4, 1, 1), 1, 0, 4, "A", 225, 900, 1132, "138e3d8ca94e4ffe2860de54", "0d308b5deb59", (0,)),
    Row((1, 1, 4, 1), 1, 1, 2, "A", 154, 616, 744, "401d768ed7ad7413e7d18c45", "34ba455f6731", (0,)),
    Row((2, 2, 2, 1), 0, 0, 4, "A", 297, 2376, 2840, "42893654a9402a1abec4b698", "d4e404053289", (0,)),
    Row((2, 2, 2, 1), 1, 0, 4, "A", 365, 2920, 3384, "faf622000392dad077258bf8", "d4e404053289", (0,)),
    Row((2, 2, 2, 1), 1, 1, 4, "B", 433, 3464, 3928, "4017ceb70d1c1e4f07941bcf", "d4e404053289", (0,)),
    Row((2, 2, 2, 2), 0, 1, 8, "A", 347, 5544, 6568, "34fffce22bddc8622c2e44aa", "2127e91c13a1", (0, 1)),
    Row((2, 2, 2, 2), 1, 1, 8, "B", 441, 7048, 8072, "54eecd64dcf816132068d507", "2127e91c13a1", (0, 1)),
    Row((1, 2, 1, 4), 0, 0, 2, "A", 8, 262, 338, "f1088d8e94e230f816feeb52", "ac39fa123ff5", (0, 3, 1, 2)),
    Row(
        (1, 2, 1, 4), 0, 1, 8, "B", 141, 1090, 1346, "598d2c5a946a76da40085b80", "59b55062e36e", (0, 1, 2, 3)
    ),
    Row((4, 2, 2, 1), 0, 1, 8, "A", 657, 10512, 12272, "4796b25c7a8dfb13515201e5", "bd8458ffb6a7", (0,)),
    Row((1, 3, 2, 3), 1, 1, 3, "C", 105, 1812, 2130, "8e3ccf41cbda90148d1c2bef", "b235ad87a0a5", (0, 1, 2)),
    Row((2, 1, 2, 4), 0, 1, 6, "D", 73, 1624, 2016, "6c26c08234be62b1262d8097", "77e63d5c2268", (0, 3, 1, 2)),
    Row(
        (1, 4, 2, 8),
        *(1, 0, 6, "D", 11, 3976, 4760),
        *("9fc9101976ce67fbb632270f", "b50889049475"),
        stage_order=(0, 7, 1, 2, 3, 4, 5, 6),
    ),
]
IDS = [
    f"{row.degrees}-{row.sharded}{row.recompute}-{row.layers}{row.shape}".replace(" ", "") for row in TABLE
]


@functools.cache
def _generated(row: Row) -> GeneratedWorkload:
    model = ModelSpec(row.shape, *SHAPES[row.shape], num_layers=row.layers)
    return generate(model, Strategy(*row.degrees, bool(row.sharded), bool(row.recompute)))


def _stage_of(operator: str, row: Row) -> int:
    pp = row.degrees[3]
    if operator.startswith("in_emb"):
        return 0
    if operator.startswith("out_emb"):
        return (row.layers + 1) % pp
    return (int(operator.split("_")[1]) + 1) % pp


@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_traces_and_groups_are_those_of_the_reference_to_the_byte(row: Row) -> None:
    work = _generated(row)
    traces = hashlib.sha256()
    for rank in range(work.rank_count):
        traces.update(work.trace_bytes(rank))
    groups = hashlib.sha256(work.groups_json().encode())
    assert (traces.hexdigest()[:24], groups.hexdigest()[:12]) == (row.traces, row.groups)


@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_node_counts_largest_id_and_stage_order(row: Row) -> None:
    ranks = parse(_generated(row))
    assert len(ranks[0]) == row.nodes_rank0
    assert sum(len(nodes) for nodes in ranks) == row.nodes
    assert max(node["id"] for nodes in ranks for node in nodes) == row.largest_id

    lanes = len(ranks) // row.degrees[3]
    owned = [[node["name"] for node in nodes if not node["name"].startswith("shadow_")] for nodes in ranks]
    stages = [{_stage_of(name, row) for name in names} for names in owned]
    assert stages == [{stage} for stage in row.stage_order for _ in range(lanes)]


def test_exactly_the_shapes_that_divide_badly_are_marked_fractional() -> None:
    assert {row.shape: _generated(row).is_fractional for row in TABLE if row.layers != 2} == {
        "A": False,
        "B": False,
        "C": True,
        "D": True,
    }
