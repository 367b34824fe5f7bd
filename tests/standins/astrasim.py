"""A stand-in for ASTRA-sim: its command line and report lines around our own readers and engine.

STANDIN in the environment chooses how it behaves:

* dollar: `$` after the compute utilisation; GB, MiB: the unit of peak memories; noise: lines between those
  of the report; aware: the congestion-aware network; more: rank 3 needs a byte more; peakless:
  no peak memory is printed
* crash: a message and exit status 3; segfault: ends by SIGSEGV; silent: nothing is printed; twice: a rank
  finishes twice; stated: a deadlock as our own stand-alone simulators end it; hang: prints, starts a child,
  writes both process ids to STANDIN_PIDS, and sleeps
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from dse.base.errors import DseError
from dse.inputs.systems import read_system
from dse.simulation.simulators import NativeSimulator, Outcome, RankMetrics
from dse.simulation.workloads import read_groups, read_workload

VARIANT = os.environ.get("STANDIN", "")
_POWERS = {"KB": 1, "MB": 2, "GB": 3, "KiB": 1, "MiB": 2, "GiB": 3}


def main() -> int:
    options = parse()
    if VARIANT == "hang":
        hang()
    if VARIANT == "crash":
        print("[workload] [critical] the stand-in crashes as told", file=sys.stderr)
        return 3
    if VARIANT == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if VARIANT == "silent":
        return 0
    try:
        outcome, tracked = simulate(options)
    except DseError as error:
        line("workload", f"{error}", level="critical")
        return 1
    report(outcome, peaks=tracked)
    line("workload", "Exiting", level="warning")
    return 3 if VARIANT == "stated" and outcome.status == "deadlock" else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("workload", "system", "network", "remote-memory"):
        parser.add_argument(f"--{name}-configuration", required=True)
    parser.add_argument("--comm-group-configuration", default="empty")
    parser.add_argument("--num-queues-per-dim", type=int, default=1)
    parser.add_argument("--injection-scale", type=float, default=1.0)
    parser.add_argument("--rendezvous-protocol", default="false")
    options, _ = parser.parse_known_args()
    return options


def simulate(options: argparse.Namespace) -> tuple[Outcome, bool]:
    system = read_system(
        Path(options.system_configuration),
        Path(options.network_configuration),
        Path(options.remote_memory_configuration),
        name="stand-in",
        network_model="congestion_aware" if VARIANT == "aware" else "congestion_unaware",
        queues_per_dimension=options.num_queues_per_dim,
        rendezvous_protocol=options.rendezvous_protocol in ("true", "1"),
        injection_scale=options.injection_scale,
    )
    groups = options.comm_group_configuration
    traces = [Path(f"{options.workload_configuration}.{rank}.et") for rank in range(system.npus)]
    workload = read_workload(traces, None if "empty" in groups else read_groups(Path(groups)))
    for rank in range(system.npus if system.track_local_memory else 0):
        Path(f"{system.local_memory_trace_filename}.{rank}.json").write_text("[]\n")
    return NativeSimulator("general").simulate(workload, system), system.track_local_memory


def report(outcome: Outcome, *, peaks: bool) -> None:
    """Ranks in the order in which they finish; nothing about ranks that hang."""
    metrics = {rank: outcome.rank(rank) for rank in range(outcome.rank_count)}
    finished = [(rank, figures) for rank, figures in metrics.items() if figures is not None]
    line("topology", "ring: 4 NPUs")
    for rank, figures in sorted(finished, key=lambda item: (item[1].finish_ns, item[0])):
        rank_report(rank, figures, peaks=peaks)
    if VARIANT == "twice":
        rank_report(*finished[0], peaks=peaks)
    for rank, figures in metrics.items():
        if figures is None:
            says = "never finishes: receive node 2" if VARIANT == "stated" else "has unreleased nodes: 7"
            line("workload", f"sys[{rank}] {says}", level="critical")


def rank_report(rank: int, m: RankMetrics, *, peaks: bool) -> None:
    exposed = m.exposed_comm_ns % 2**64
    line("workload", f"sys[{rank}] finished, {m.finish_ns} cycles, exposed communication {exposed} cycles.")
    line("statistics", f"sys[{rank}]. Post statistics processing start.")
    line("statistics", f"sys[{rank}]. Post statistics processing end.")
    line("statistics", f"sys[{rank}], Wall time: {m.wall_time_ns}")
    times = {
        "GPU": m.gpu_time_ns,
        "CPU": m.cpu_time_ns,
        "Comm": m.comm_time_ns,
        "Remote mem": m.remote_memory_time_ns,
    }
    for name, value in times.items():
        if value:
            line("statistics", f"sys[{rank}], {name} time: {value}")
    if VARIANT == "noise":
        print("a line of something else: 12 sys[", "\x1b[31mcolour\x1b[0m", "\xff")
        line("statistics", f"sys[{rank}], Figure of tomorrow: 12 cycles")
    unit = "$" if VARIANT == "dollar" else "%"
    line("statistics", f"sys[{rank}], Compute bound percentage: {m.compute_bound_pct:.3f}%")
    line("statistics", f"sys[{rank}], Average compute utilization: {m.compute_utilization_pct:.3f}{unit}")
    line("statistics", f"sys[{rank}], Average memory utilization: {m.memory_utilization_pct:.3f}%")
    line("statistics", f"sys[{rank}], Average operation intensity: {m.operation_intensity:.3f}")
    if peaks and m.peak_memory_bytes is not None and VARIANT != "peakless":
        m = replace(m, peak_memory_bytes=m.peak_memory_bytes + (VARIANT == "more" and rank == 3))
        power = _POWERS.get(VARIANT, 0)
        peak = f"{m.peak_memory_bytes / 1024**power:.2f} {VARIANT}" if power else str(m.peak_memory_bytes)
        line("workload", f"sys[{rank}] peak memory usage: {peak}")


def line(logger: str, text: str, *, level: str = "info") -> None:
    print(f"[2025-04-01 12:00:00.000] [{logger}] [{level}] {text}")


def hang() -> None:
    child = subprocess.Popen(["sleep", "600"])
    Path(os.environ.get("STANDIN_PIDS", os.devnull)).write_text(f"{os.getpid()} {child.pid}")
    print("the stand-in hangs", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    sys.exit(main())
