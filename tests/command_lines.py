"""Running the real commands in a folder of their own, and case folders as a user of ASTRA-sim has them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from warm import run_warm

from dse.base.plain_data import load_json_object

Figures = dict[str, Any]

TINY = ("system=torus_4x4", "model=tiny")
TINY_DGX16 = ("system=dgx16", "model=tiny")
# ASTRA-sim's own figures for tiny, dp 4, tp 4 on dgx16; the same on all ranks.
DP4_TP4_ON_DGX16 = {
    "finish_ns": 724_891,
    "wall_time_ns": 724_891,
    "gpu_time_ns": 356_001,
    "comm_time_ns": 583_335,
    "exposed_comm_ns": 368_890,
    "compute_bound_pct": 36.192,
    "compute_utilization_pct": 56.34,
    "memory_utilization_pct": 87.665,
    "operation_intensity": 225.157,
    "peak_memory_bytes": 99_614_720,
}
# The same model, dp 4, tp 4, deadlocks on one ring of 16 NPUs in ASTRA-sim too.
RING16 = (
    "model=tiny",
    "system.network=[{topology:Ring,npus:16,bandwidth_gbps:50,latency_ns:500}]",
    *(f"system.collectives.{kind}=[ring]" for kind in ("all_reduce", "all_gather", "reduce_scatter")),
    "system.collectives.all_to_all=[ring]",
    "system.peak_tflops=900",
    "system.memory_bandwidth_gbps=1600",
)
_PREFIX = "[2025-04-01 12:00:00.000] "


class ClosedOutput(io.StringIO):
    """Standard output whose reader has gone, as behind `| head`."""

    def write(self, text: str, /) -> int:
        """Refuse, as a pipe without a reader does."""
        raise BrokenPipeError(text)


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run_dse(verb: str, *arguments: str | Path, cwd: Path) -> Done:
    """Run `python -m dse VERB` in a folder, in a process of its own that has its imports already."""
    return Done(*run_warm(verb, [str(argument) for argument in arguments], cwd, timeout_s=240))


def run_ok(verb: str, *arguments: str | Path, cwd: Path) -> Done:
    """The same for a command that must succeed."""
    done = run_dse(verb, *arguments, cwd=cwd)
    assert done.code == 0, done.err
    return done


def error_of(verb: str, *arguments: str | Path, cwd: Path) -> str:
    """Return the one line of a user error, after checking that it is one line and nothing else."""
    done = run_dse(verb, *arguments, cwd=cwd)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    return done.err.removeprefix("error: ").rstrip("\n")


def astra_log(ranks: Iterable[tuple[int, Figures]], *, percent: str = "%", peak: str = "{}") -> str:
    """Return the lines that ASTRA-sim prints for these ranks, in its order (simulator specification, 9).

    `percent` stands after the compute utilisation, where some versions print a dollar; `peak` is the text of
    a peak memory, with {} for the bytes.
    """
    lines = []
    for rank, m in ranks:
        exposed = m["exposed_comm_ns"] % 2**64
        lines += [
            f"[workload] [info] sys[{rank}] finished, {m['finish_ns']} cycles, "
            f"exposed communication {exposed} cycles.",
            f"[statistics] [info] sys[{rank}]. Post statistics processing start.",
            f"[statistics] [info] sys[{rank}]. Post statistics processing end.",
            f"[statistics] [info] sys[{rank}], Wall time: {m['wall_time_ns']}",
            f"[statistics] [info] sys[{rank}], GPU time: {m['gpu_time_ns']}",
            f"[statistics] [info] sys[{rank}], Comm time: {m['comm_time_ns']}",
            f"[statistics] [info] sys[{rank}], Compute bound percentage: {m['compute_bound_pct']:.3f}%",
            f"[statistics] [info] sys[{rank}], Average compute utilization: "
            f"{m['compute_utilization_pct']:.3f}{percent}",
            f"[statistics] [info] sys[{rank}], Average memory utilization: "
            f"{m['memory_utilization_pct']:.3f}%",
            f"[statistics] [info] sys[{rank}], Average operation intensity: {m['operation_intensity']:.3f}",
            f"[workload] [info] sys[{rank}] peak memory usage: {peak.format(m['peak_memory_bytes'])}",
        ]
    return "".join(f"{_PREFIX}{line}\n" for line in lines)


def export_case(folder: Path, *overrides: str) -> dict[int, Figures]:
    """Export a point into `folder`, beside it a log of our own figures; return those of every rank."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = run_dse("point", *overrides, f"export={folder}", "format=json", cwd=folder.parent)
    assert done.code in (0, 1), done.err
    figures = {
        rank: entry["metrics"]
        for entry in json.loads(done.out)["rank_classes"]
        for rank in entry["ranks"]
        if entry["metrics"] is not None
    }
    (folder / "reference.log").write_text(astra_log(sorted(figures.items())))
    return figures


def edit_json(file: Path, **changes: Any) -> None:
    """Change keys of a JSON file."""
    file.write_text(json.dumps({**load_json_object(file), **changes}))
