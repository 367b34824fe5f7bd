"""Execution traces and Kineto traces by hand, in the form of PyTorch's profiler, times in µs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
STREAMS = {"compute": 7, "communication": 20}


@dataclass
class Recording:
    """Both files of one rank: a test adds events in any order, then writes them."""

    rank: int = 0
    ranks: int = 1
    host_name: str = "host"
    groups: list[tuple[str, list[int]]] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def pid(self) -> int:
        """Number of the process."""
        return 100 + self.rank

    def step(self, number: int, begin: float, end: float) -> None:
        """Add a step of the profiler."""
        self.annotation(f"ProfilerStep#{number}", begin, end)

    def annotation(self, name: str, begin: float, end: float) -> None:
        """Add a range that a program names."""
        self._event("user_annotation", name, begin, end, self.pid, {})

    def host(
        self,
        name: str,
        begin: float,
        end: float,
        *,
        thread: int = 0,
        inputs: tuple[Any, ...] = (),
        category: str = "cpu_op",
        **args: Any,
    ) -> int:
        """Add an operator to both files; return its record function id."""
        call = len(self.nodes) + 1
        thread = thread or self.pid
        args = {"Record function id": call, "External id": call, **args}
        self._event(category, name, begin, end, thread, args)
        attributes = [{"name": "rf_id", "type": "uint64", "value": call}]
        self.nodes.append(
            {
                "id": call + 10,
                "name": name,
                "ctrl_deps": 1,
                "inputs": {"values": list(inputs)},
                "attrs": attributes,
            }
        )
        return call

    def runtime(self, name: str, begin: float, end: float, correlation: int) -> None:
        """Add a call of CUDA's runtime."""
        self._event("cuda_runtime", name, begin, end, self.pid, {"correlation": correlation})

    def kernel(self, name: str, begin: float, end: float, correlation: int, stream: str, **args: Any) -> None:
        """Add a kernel."""
        event = self._event("kernel", name, begin, end, STREAMS[stream], {"correlation": correlation, **args})
        event["pid"] = 0

    def write(self, folder: Path, *, name: str = "") -> tuple[Path, Path]:
        """Write both files; return their paths."""
        name = name or str(self.rank)
        trace, kineto = folder / f"et.{name}.json", folder / f"kineto.{name}.json"
        groups = self.groups or [("0", list(range(self.ranks)))]
        config = [{"pg_name": name, "pg_size": len(ranks), "ranks": ranks} for name, ranks in groups]
        root = {"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1, "attrs": []}
        trace.write_text(
            json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": self.pid, "nodes": [root, *self.nodes]})
        )
        kineto.write_text(
            json.dumps(
                {
                    "schemaVersion": 1,
                    "distributedInfo": {"rank": self.rank, "world_size": self.ranks, "pg_config": config},
                    "host_name": self.host_name,
                    "traceEvents": self.events,
                }
            )
        )
        return trace, kineto

    def _event(
        self, category: str, name: str, begin: float, end: float, thread: int, args: dict[str, Any]
    ) -> dict[str, Any]:
        event = {"ph": "X", "cat": category, "name": name, "pid": self.pid, "tid": thread, "ts": begin}
        event |= {"dur": end - begin, "args": args}
        self.events.append(event)
        return event


def facts(name: str, elements: int, **others: object) -> dict[str, object]:
    return {
        "Collective name": name, "In msg nelems": elements, "Out msg nelems": elements, "dtype": "BFloat16",
        "Process Group Name": "0", "Process Group Ranks": "[0, 1]", **others,
    }  # fmt: skip


def data_parallel(rank: int, late: float = 0.0) -> Recording:
    """A matrix product, an all-reduce on another stream, an update that waits for it, and a synchronization.

    Rank 1 comes later, by `late` µs, but for the all-reduce, which ends on both together.
    """
    made = Recording(rank, 2)
    made.step(7, 0, 900)
    made.host("aten::mm", 10, 60 + late)
    made.runtime("cudaLaunchKernel", 40 + late, 50 + late, 1)
    made.kernel("gemm", 55 + late, 255 + late, 1, "compute")
    made.host("record_param_comms", 70 + late, 100 + late, **facts("allreduce", 1000))
    made.runtime("cudaLaunchKernelExC", 80 + late, 90 + late, 2)
    made.kernel(ALL_REDUCE, 257 + late, 500, 2, "communication")
    made.host("aten::add_", 110 + late, 140 + late)
    made.runtime("cudaLaunchKernel", 120 + late, 130 + late, 3)
    made.kernel("add", 503, 553, 3, "compute")
    made.runtime("cudaDeviceSynchronize", 200 + late, 560, 4)
    made.host("aten::empty", 600, 610)
    return made
