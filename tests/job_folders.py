"""Folders as a user of traces has them: traces of Chakra with a system, and a recorded step of PyTorch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.inputs.systems import write_system
from dse.testing.builders import ALL_REDUCE, Node, coll, comp, encode, system

RANKS = 4
PAIRS = {"1": [0, 1], "2": [2, 3]}
MEASURED_US = 600


def chakra_folder(folder: Path, ranks: Sequence[Sequence[Node]] | None = None) -> Path:
    """Write traces of 4 ranks, which compute around an all-reduce of their pair, and their system."""
    folder.mkdir(parents=True)
    for rank, nodes in enumerate(ranks or [pair_trace(rank) for rank in range(RANKS)]):
        (folder / f"job.{rank}.et").write_bytes(encode(nodes))
    write_system(system(f"Ring {len(ranks or PAIRS) if ranks else RANKS} @100/50"), folder)
    (folder / "comm_group.json").write_text(json.dumps(PAIRS))
    return folder


def pair_trace(rank: int) -> list[Node]:
    """Return computation around an all-reduce of 1 MB; ranks 2 and 3 compute twice as long first."""
    first = comp(1, 10**9 * (1 + rank // 2), 10**8 * (1 + rank // 2))
    return [first, coll(2, ALL_REDUCE, 10**6, group=str(1 + rank // 2), after=[1]), comp(3, after=[2])]


def recorded_folder(folder: Path) -> Path:
    """Write the execution traces and Kineto traces of 2 ranks with gloo; rank 1 computes longer.

    Each rank multiplies, all-reduces 4,000 bytes on another thread, waits, and updates; both end together.
    """
    folder.mkdir(parents=True)
    for rank in (0, 1):
        late = 100 * rank
        trace, kineto = _Rank(rank), folder / f"kineto.{rank}.json"
        trace.add("aten::mm", 10, 110 + late)
        trace.add("c10d::allreduce_", 120 + late, 140 + late, inputs=[[[1, 1, 0, 1000, 4, "cpu"]]])
        trace.add("gloo:all_reduce", 130 + late, 400, thread=7)
        trace.add("aten::add_", 410, 560)
        (folder / f"et.{rank}.json").write_text(json.dumps(trace.execution_trace()))
        kineto.write_text(json.dumps(trace.kineto()))
    return folder


class _Rank:
    """The operators of a rank, as PyTorch's profiler and its execution trace observer write them."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.pid = 100 + rank
        self.nodes: list[dict[str, Any]] = []
        self.events = [self._event("user_annotation", "ProfilerStep#3", 0, MEASURED_US, self.pid, {})]

    def add(self, name: str, begin: int, end: int, *, thread: int = 0, inputs: Sequence[Any] = ()) -> None:
        call = len(self.nodes) + 1
        category = "user_annotation" if name.startswith("gloo") else "cpu_op"
        args = {"Record function id": call, "External id": call}
        self.events.append(self._event(category, name, begin, end, thread or self.pid, args))
        shown = {"values": list(inputs), "shapes": [[1000]] * len(inputs), "types": ["Tensor(float)"]}
        attributes = [
            {"name": "rf_id", "type": "uint64", "value": call},
            {"name": "tid", "type": "uint64", "value": thread or 1},
        ]
        node = {"id": call + 10, "name": name, "ctrl_deps": 1, "inputs": shown, "attrs": attributes}
        self.nodes.append(node)

    def execution_trace(self) -> dict[str, Any]:
        root = {"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1, "attrs": []}
        return {"schema": "1.1.1-chakra.0.0.4", "pid": self.pid, "nodes": [root, *self.nodes]}

    def kineto(self) -> dict[str, Any]:
        group = {"pg_name": "0", "pg_size": 2, "ranks": [0, 1]}
        facts = {"backend": "gloo", "rank": self.rank, "world_size": 2, "pg_config": [group]}
        return {"schemaVersion": 1, "distributedInfo": facts, "traceEvents": self.events}

    def _event(
        self, category: str, name: str, begin: int, end: int, thread: int, args: dict[str, Any]
    ) -> dict[str, Any]:
        event = {"ph": "X", "cat": category, "name": name, "pid": self.pid, "tid": thread, "ts": begin}
        return {**event, "dur": end - begin, "args": args}
