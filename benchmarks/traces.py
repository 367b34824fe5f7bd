"""Whether traces that STAGE wrote are ours, byte for byte but for the base of its message tags."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.measure import BenchmarkError
from dse.native import _engine
from dse.simulation.workloads import Workload

_TAG = "comm_tag"
_Node = dict[str, Any]


def check_same_traces(ours: Workload, theirs: Workload) -> int:
    """Return the number of traces, one per rank, after comparing all of them and the groups.

    STAGE draws the base of its tags at random, once per run: where bytes differ, all nodes must be equal but
    for one number that is added to every tag.

    Raises:
        BenchmarkError: a trace or the groups differ; names what differs first.
    """
    offsets: set[int] = set()
    for rank in range(ours.rank_count):
        mine, other = ours.trace_bytes(rank), theirs.trace_bytes(rank)
        if mine != other:
            name = f"trace.{rank}.et"
            offsets |= _tag_offsets(name, _nodes(mine, name), _nodes(other, name))
    if len(offsets) > 1:
        raise BenchmarkError(f"message tags differ from ours by {len(offsets)} numbers; expected one")
    if json.loads(theirs.groups_json()) != json.loads(ours.groups_json()):
        raise BenchmarkError("the communicator groups differ from ours")
    return ours.rank_count


def _nodes(content: bytes, name: str) -> list[_Node]:
    return _engine.parse_trace(content, name).nodes()


def _tag_offsets(name: str, ours: list[_Node], theirs: list[_Node]) -> set[int]:
    """Return what their tags have more than ours; everything else must be equal."""
    if len(ours) != len(theirs):
        raise BenchmarkError(f"{name} has {len(theirs)} nodes, ours {len(ours)}")
    offsets: set[int] = set()
    for mine, other in zip(ours, theirs, strict=True):
        (tag, rest), (other_tag, other_rest) = _without_tag(mine), _without_tag(other)
        if rest != other_rest or (tag is None) != (other_tag is None):
            raise BenchmarkError(f"{name}, node {mine['id']}: {_difference(rest, other_rest)}")
        if tag is not None and other_tag is not None:
            offsets.add(other_tag - tag)
    if not offsets:
        raise BenchmarkError(f"{name} has our nodes in other bytes")
    return offsets


def _without_tag(node: _Node) -> tuple[int | None, _Node]:
    attributes = {key: value for key, value in node["attributes"].items() if key != _TAG}
    tag = node["attributes"].get(_TAG, (0, None))[1]
    return tag, {**node, "attributes": attributes}


def _difference(ours: _Node, theirs: _Node) -> str:
    missing = sorted(ours["attributes"].keys() - theirs["attributes"].keys())
    if missing:
        return (
            f"no attribute {', '.join(missing)} "
            "(a checkout writes inputs and outputs with ConvertChakra.with_comm_info = True)"
        )
    keys = [key for key in ours if ours[key] != theirs.get(key)]
    return f"{', '.join(keys) or _TAG} differs from ours"
