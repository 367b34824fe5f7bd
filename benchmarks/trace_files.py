"""Section `trace_files`: folders of traces read and simulated, and `dse simulate` on them as a process."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cases import Cases
from benchmarks.measure import ROOT, BenchmarkError, in_fresh_process, run_command
from dse.inputs.systems import read_system, write_system
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import generate, read_groups, read_workload
from dse.simulation.workloads.traces import GROUPS_FILE
from dse.studies.config import compose_config

Row = dict[str, str | int | float | bool | None]
_ASTRA_SIM_S = {16: 16.2}  # by layers: CPU seconds of ASTRA-sim with dp4 tp4, recorded on another machine
_RANKS = 16


def trace_files(cases: Cases, repeats: int) -> Iterator[Row]:
    """CPU seconds of reading a folder, of its simulation, and of the whole command with its start."""
    for layers, strategy in cases.trace_folders:
        config = compose_config(["system=dgx16", "model=llama70b", f"model.num_layers={layers}"])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            generate(config.model, strategy).export(folder)
            write_system(config.system, folder)
            nodes, read_s, simulate_s = in_fresh_process(_measured, folder, repeats)
            command = [sys.executable, "-m", "dse", "simulate", str(folder)]
            runs = [run_command(command, ROOT) for _ in range(repeats)]
        total_s = statistics.median(read_s) + statistics.median(simulate_s)
        reference_s = _ASTRA_SIM_S.get(layers)
        yield {
            "name": f"{_RANKS} ranks, {layers} layers, {strategy.label()}",
            "nodes": nodes,
            "repeats": repeats,
            "read_s": statistics.median(read_s),
            "simulate_s": statistics.median(simulate_s),
            "command_s": statistics.median(run.cpu_s for run in runs),
            "reference_s": reference_s,
            "ratio": None if reference_s is None else reference_s / total_s,
        }


def _measured(folder: Path, repeats: int) -> tuple[int, list[float], list[float]]:
    """The nodes of all ranks, and the CPU seconds of each reading and each simulation."""
    files = (folder / "system.json", folder / "network.yml", folder / "remote_memory.json")
    system = read_system(*files, name="folder", network_model="congestion_unaware")
    traces = [folder / f"trace.{rank}.et" for rank in range(_RANKS)]
    nodes, read_s, simulate_s = 0, [], []
    for _ in range(repeats):
        began = time.process_time()
        workload = read_workload(traces, read_groups(folder / GROUPS_FILE))
        read_s.append(time.process_time() - began)
        began = time.process_time()
        outcome = NativeSimulator().simulate(workload, system)
        simulate_s.append(time.process_time() - began)
        if outcome.status != "ok":
            raise BenchmarkError(f"{folder}: {outcome.reason}")
        nodes = sum(workload.counts(rank).nodes for rank in range(_RANKS))
    return nodes, read_s, simulate_s
