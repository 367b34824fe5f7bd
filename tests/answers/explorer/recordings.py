"""Recordings of points in the form that the page reads, made from our own recordings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dse.native import _explorer
from dse.simulation.simulators import RankRecording, RecordedGroup, Recording
from dse.studies.points import DesignPoint, evaluate, record_point
from dse.studies.points.inputs import model_json, system_json

_OF_ROW = ("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute", "reason", "wall_time_ns")
_OF_NODE = ("name", "kind", "bound", "on_cpu", "start_ns", "end_ns", "bytes", "num_ops", "peer", "peer_node")
_OF_TENSOR = ("name", "bytes", "birth_ns", "death_ns")


def recording_json(point: DesignPoint) -> tuple[Recording, dict[str, Any]]:
    """The recording of the decisive ranks of a point that finishes, ours and as plain data."""
    recording = record_point(point, decisive_only=True)
    row = evaluate(point)
    about = {name: getattr(row, name) for name in _OF_ROW}
    about |= {"label": point.strategy.label(), "status": "ok", "last_rank": recording.last_rank().rank}
    about |= {"peak_memory_bytes": row.peak_memory_bytes}
    nodes_of = [entry.nodes for entry in recording.ranks]
    groups = list(dict.fromkeys(n.group for nodes in nodes_of for n in nodes if n.group is not None))
    ranks = [_rank_json(entry, groups) for entry in recording.ranks]
    return recording, {"row": about, "ranks": ranks, "groups": list(map(_group_json, groups))}


def _group_json(group: RecordedGroup) -> dict[str, Any]:
    by_dimension = bool(group.dimensions)
    return {"name": group.name, "members": group.members, "by_dimension": by_dimension, "axis": group.axis}


def _rank_json(entry: RankRecording, groups: Sequence[RecordedGroup]) -> dict[str, Any]:
    nodes: dict[str, list[Any]] = {name: [getattr(n, name) for n in entry.nodes] for name in _OF_NODE}
    nodes["group"] = [-1 if node.group is None else groups.index(node.group) for node in entry.nodes]
    nodes["message_ns"] = [node.message_ns for node in entry.nodes]
    nodes["parents"] = [list(node.parents) for node in entry.nodes]
    tensors: dict[str, list[Any]] = {name: [getattr(t, name) for t in entry.tensors] for name in _OF_TENSOR}
    tensors["external"] = [tensor.is_external for tensor in entry.tensors]
    return {"rank": entry.rank, "nodes": nodes, "tensors": tensors}


def engine_recording(point: DesignPoint) -> dict[str, Any]:
    """The recording of a point as the engine of the page makes it, without its row."""
    on, strategy = point.scenario, point.strategy
    request = {
        "model": json.loads(model_json(on.model)),
        "system": json.loads(system_json(on.system)),
        "divisibility": on.resolved_divisibility,
        "strategies": [{name: getattr(strategy, name) for name in _OF_ROW[:6]}],
        "method": "auto",
    }
    recording: dict[str, Any] = json.loads(_explorer.explorer_recording(json.dumps(request), 0))
    return recording
