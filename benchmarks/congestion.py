"""Points of a congestion-aware network: an all-reduce on a mesh, a model on a torus; events a second."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks.cases import AllReduce, Cases
from benchmarks.measure import in_fresh_process
from benchmarks.memory import peak_bytes
from benchmarks.tasks import PointCost, point_cost
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import workload_of

Row = dict[str, str | int | float | bool | None]
_COMM_COLL, _ALL_REDUCE = 7, 0
_NONE, _INT64 = 0, 9  # kinds of attribute values


def congestion(cases: Cases, repeats: int) -> Iterator[Row]:
    """Every rank, every packet, every link: median CPU seconds, events, ns an event."""
    cost = in_fresh_process(all_reduce_cost, cases.mesh_all_reduce, repeats)
    yield _row(
        cases.mesh_all_reduce.name, "", cases.mesh_all_reduce.width * cases.mesh_all_reduce.height, cost
    )
    for case in cases.congested:
        point: PointCost = in_fresh_process(point_cost, case, "auto", repeats, False)
        seconds = point.simulate_s
        yield _row(
            case.name, case.strategy.label(), case.system.npus, (seconds, point.events, point.peak_bytes)
        )


def all_reduce_cost(what: AllReduce, repeats: int) -> tuple[list[float], int, int]:
    """Return the CPU seconds of each run, the events of one, and the peak memory in bytes."""
    npus = what.width * what.height
    attributes = {
        "inputs": (_NONE, None),
        "outputs": (_NONE, None),
        "comm_size": (_INT64, what.size_bytes),
        "comm_type": (_INT64, _ALL_REDUCE),
    }
    node = {"id": 1, "name": "all-reduce", "type": _COMM_COLL, "duration_micros": 0}
    node |= {"ctrl_deps": [], "data_deps": [], "attributes": attributes}
    workload = workload_of([_engine.trace_file([node]).encode()] * npus)
    system = SystemSpec(
        name="mesh",
        network=(Dimension("Mesh2D", npus, 50.0, 500.0, (what.width, what.height)),),
        collectives=CollectiveAlgorithms(all_reduce=("ring",)),
        peak_tflops=1.0,
        memory_bandwidth_gbps=1600.0,
        network_model="congestion_aware",
    )
    seconds, events = [], 0
    for _ in range(repeats):
        began = time.process_time()
        events = NativeSimulator().simulate(workload, system).events
        seconds.append(time.process_time() - began)
    return seconds, events, peak_bytes()


def _row(name: str, strategy: str, npus: int, cost: tuple[list[float], int, int]) -> Row:
    seconds, events, peak = cost
    median = statistics.median(seconds)
    return {
        "name": name,
        "strategy": strategy,
        "npus": npus,
        "repeats": len(seconds),
        "simulate_s": median,
        "events": events,
        "ns_per_event": median * 1e9 / events,
        "events_per_second": events / median,
        "peak_bytes": peak,
    }
