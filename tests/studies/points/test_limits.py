"""What would take all time or all memory: a row with the reason, or an error that names the key."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dse.base.errors import InputError, SimulationError
from dse.base.files import read_text
from dse.base.plain_data import load_json_object
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy, Strategy
from dse.inputs.systems import Dimension, LinkFault, SystemSpec, read_graph, read_routes
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.native import native_system
from dse.simulation.workloads import generate, read_workload
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.testing.builders import TINY, comp, finish, run, system, workload

END = 2**53
RECORDED = system(roofline_enabled=False)
SLOW_RING = system("Ring 16 @50/500")


def _row(on: SystemSpec, engine: str = "auto", model: ModelSpec = TINY) -> tuple[str, str, int | None]:
    simulator = NativeSimulator(engine)  # type: ignore[arg-type]
    row = evaluate(DesignPoint(Scenario("test", model, on, simulator=simulator), Strategy(dp=8, tp=2)))
    return row.status, row.reason, row.wall_time_ns


# Simulated time


@pytest.mark.parametrize("engine", ["auto", "general"])
@pytest.mark.parametrize(
    ("network", "changes"),
    [
        ("Ring 16 @1e-300/500", {}),
        ("Ring 16 @1e-12/500", {}),
        ("Ring 16 @50/9007199254740991", {}),
        ("Ring 16 @1e-300/500", {"network_model": "congestion_aware"}),
        ("Ring 16 @50/1e15", {"network_model": "congestion_aware"}),
        ("Ring 8 @50/500,Ring 2 @1e-300/500", {}),
    ],
)
def test_a_message_after_the_end_of_time_fails_the_point(
    engine: str, network: str, changes: dict[str, str]
) -> None:
    status, reason, wall_time_ns = _row(system(network, **changes), engine)
    assert (status, wall_time_ns) == ("failed", None)
    assert reason == (
        "a message arrives after the end of simulated time, 9007199254740992 ns (104 days): "
        "bandwidth_gbps of the network is too small, or latency_ns too large"
    )


@pytest.mark.parametrize("engine", ["auto", "general"])
def test_many_messages_that_end_too_late_together_fail_the_point(engine: str) -> None:
    # Each takes 2^48 ns; the ring takes 30 of them for a collective, and there are several.
    status, reason, _ = _row(system(f"Ring 16 @50/{2**48}"), engine)
    assert status == "failed"
    assert reason.startswith("a message arrives after the end of simulated time")


@pytest.mark.parametrize("engine", ["auto", "general"])
def test_a_reduction_after_the_end_of_time_fails_the_point(engine: str) -> None:
    slow = system("Ring 16 @50/500", memory_bandwidth_gbps=1e-300, roofline_enabled=False)
    status, reason, _ = _row(slow, engine)
    assert status == "failed"
    assert "memory bandwidth is too small" in reason


def test_a_fault_makes_a_link_too_slow() -> None:
    fault = LinkFault(0, 1, bandwidth_factor=1e-300)
    status, reason, _ = _row(replace(SLOW_RING, network_model="congestion_aware", faults=(fault,)))
    assert status == "failed"
    assert reason.startswith("a message arrives after the end of simulated time")


def test_the_last_ns_before_the_end_is_a_time_and_the_next_is_not() -> None:
    micros = END // 1000 - 1
    assert finish(workload([comp(1, micros=micros)], [comp(1)]), RECORDED)[0] == 1000 * micros
    with pytest.raises(SimulationError, match="a computation, an access to memory or a delay ends after"):
        run(workload([comp(1, micros=micros), comp(2, micros=micros)], [comp(1)]), RECORDED)


@pytest.mark.parametrize("micros", [18446744073709552, 2**64 - 1, END // 1000])
def test_a_recorded_duration_that_has_no_end_is_refused(micros: int) -> None:
    with pytest.raises(InputError) as caught:
        workload([comp(1, micros=micros, cpu=True)], [comp(1)])
    assert str(caught.value) == (
        f"rank 0: node 1 (node1): duration_micros is {micros}; it must be below 9007199254740, "
        "the end of simulated time"
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("latency_ns", 1e300, "is 1e+300; it must be below 9007199254740992 ns, the end of simulated time"),
        ("bandwidth_gbps", 1e300, "is 1e+300; it must be a number greater than 0, and at most 1e+30"),
        ("npus", 2**25, "is 33554432; it must be an integer from 2 to 16777216"),
    ],
)
def test_an_absurd_number_of_a_network_is_refused(field: str, value: float, message: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(SLOW_RING, network=(replace(SLOW_RING.network[0], **{field: value}),))  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"system.network.0.{field} {message}")


def test_tensors_whose_sum_is_no_number_fail_the_point() -> None:
    nodes = [comp(1, writes={"a": 2**62}), comp(2, writes={"b": 2**62}, after=[1])]
    with pytest.raises(SimulationError, match="more than 4611686018427387904 bytes in all"):
        run(workload(nodes, [comp(1, writes={"c": 1})]), system(track_local_memory=True))


# Empty messages


@pytest.mark.parametrize("engine", ["auto", "general"])
def test_a_message_that_is_cut_to_nothing_fails_the_point(engine: str) -> None:
    # 4 x 1 x 1 activations on 8 ranks of a stage: half a byte on each
    model = ModelSpec("atom", 64, 64, 1, 64, 1, 1, 4, 2)
    on = system("Switch 16 @50/500", peak_tflops=1e-9, memory_bandwidth_gbps=1e-6)
    simulator = NativeSimulator(engine)  # type: ignore[arg-type]
    row = evaluate(DesignPoint(Scenario("test", model, on, simulator=simulator), Strategy(dp=8, pp=2)))
    assert (row.status, row.reason) == (
        "failed",
        "a message between pipeline stages has 0 bytes: its tensor is cut to less than one byte; use a "
        "larger model or batch, or smaller degrees",
    )


# Memory


@pytest.mark.parametrize(
    ("field", "value", "most"),
    [
        ("queues_per_dimension", 2**31 - 1, 65536),
        ("preferred_dataset_splits", 2**31 - 1, 65536),
    ],
)
def test_more_than_memory_has_is_refused(field: str, value: int, most: int) -> None:
    with pytest.raises(InputError) as caught:
        replace(SLOW_RING, **{field: value})  # type: ignore[arg-type]
    assert str(caught.value) == f"system.{field} is {value}; it must be an integer from 1 to {most}"


@pytest.mark.parametrize(
    ("dimension", "edges"),
    [
        (Dimension("Dragonfly", 2**20, 50, 500, shape=(1, 1, 2**20)), 2**40 + 2**20 + 2**21),
        (Dimension("FullyConnected", 2**20, 50, 500), 2**40 - 2**20),
        (Dimension("Dragonfly", 2**20, 50, 500, shape=(1, 2**20, 1)), 2**40 + 1 + 2**21),
        (Dimension("FatTree", 2**20, 50, 500, shape=(1, 2**20, 2**20)), 2**41 + 2**21),
    ],
)
def test_more_links_than_memory_has_are_refused_before_they_are_made(
    dimension: Dimension, edges: int
) -> None:

    with pytest.raises(InputError) as caught:
        _engine.Fabric(native_system(replace(SLOW_RING, network=(dimension,))))
    assert str(caught.value) == (
        f"network dimension 0 has {edges} links on each of its 1 lines of NPUs; at most 4194304 links in all "
        "can be simulated: use fewer NPUs or network_model congestion_unaware"
    )


def test_stages_and_layers_that_memory_has_not_are_infeasible() -> None:
    deep = replace(TINY, num_layers=10_000)
    with pytest.raises(InfeasibleStrategy) as caught:
        generate(deep, Strategy(pp=4096))
    assert str(caught.value) == (
        "strategy.pp is 4096; with 10000 layers and 1 micro-batches at most 2000 stages are allowed"
    )


def test_ranks_that_memory_has_not_fail_the_point() -> None:
    deep = replace(TINY, num_layers=2000)
    on = system("Switch 4096 @50/500", endpoint_delay_ns=0)  # which the shortcut does not take
    row = evaluate(DesignPoint(Scenario("test", deep, on), Strategy(dp=4096)))
    assert row.status == "failed"
    assert row.reason.startswith("the 4096 ranks to simulate have ")
    assert row.reason.endswith("at most 268435456 can be simulated: use fewer NPUs, layers or micro-batches")


def test_the_end_of_memory_is_a_failed_row() -> None:
    program = """
import resource
from dse.testing.builders import TINY, system
from dataclasses import replace
from dse.studies.points import DesignPoint, Scenario
from dse.studies.points import evaluate
from dse.inputs.strategies import Strategy
deep = replace(TINY, num_layers=9000)
point = DesignPoint(Scenario("test", deep, system("Ring 2 @50/500")), Strategy(dp=2))
point.key
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, resource.RLIM_INFINITY))
row = evaluate(point)
print(row.status, row.reason)
"""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == (
        "failed needs more memory than this machine has; use fewer layers, micro-batches, NPUs or chunks\n"
    )


# Files


READERS = {
    "a graph": read_graph,
    "routes": read_routes,
    "JSON": load_json_object,
    "a trace": lambda path: read_workload([path]),
}


@pytest.mark.parametrize("what", READERS)
def test_a_file_must_be_regular(what: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(InputError) as caught:
            READERS[what](path)
        assert str(caught.value) == f"{path}: is a pipe or a device; it must be a regular file"
    with pytest.raises(InputError) as caught:
        READERS[what](tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_file_has_a_size_that_memory_has(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(2**28 + 1)  # a hole, which takes no space
    with pytest.raises(InputError) as caught:
        read_text(path)
    assert str(caught.value) == f"{path}: has 268435457 bytes; at most 268435456 are allowed"


def test_the_content_of_a_file_is_not_repeated_at_length(tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_text("x" * 10_000)
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert len(str(caught.value)) < len(str(path)) + 200
    path.write_text("4\n" + "x" * 10_000 + "\x1b[2J\n")
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert str(caught.value).startswith(f"{path}, line 2: is '{'x' * 60}…'; expected the header")
    path.write_text("9" * 10_000 + "\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n")
    with pytest.raises(InputError, match=r"the number of nodes is '9{60}…'; expected 2 to 1048576"):
        read_graph(path)
