"""A call of the engine that takes long ends early: cancelled, late, or interrupted by Ctrl-C.

None of these calls would end within the limit of the test by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dse.base.cancellation import Cancellation, cancellable
from dse.base.errors import Cancelled, SimulationTimeout
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import Dimension
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.native import native_system
from dse.simulation.workloads import generate, read_groups, read_workload
from dse.studies.executors import LocalExecutor
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.testing.builders import TINY, system

EVERY_RANK = NativeSimulator("general")
CHUNKS = system("Ring 16 @50/500", preferred_dataset_splits=2**16)  # each a stream on every rank: hours
LINKS = replace(CHUNKS, network_model="congestion_aware")
DP16 = Strategy(dp=16)
DEEP = ModelSpec("deep", *[64] * 7, 10_000)


def _endless_point() -> DesignPoint:
    return DesignPoint(Scenario("test", TINY, CHUNKS, simulator=EVERY_RANK), DP16)


def _cancelled() -> Cancellation:
    cancellation = Cancellation()
    cancellation.cancel()
    return cancellation


def _graph(folder: Path) -> Path:
    """4096 NPUs with four links each."""
    links = "".join(f"{a},{(a + step) % 4096},50,100\n" for a in range(4096) for step in range(1, 5))
    path = folder / "graph.csv"
    path.write_text(f"4096\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{links}")
    return path


CALLS: dict[str, Callable[[], object]] = {
    "every rank": lambda: EVERY_RANK.simulate(generate(TINY, DP16), CHUNKS),
    "links with queues": lambda: EVERY_RANK.simulate(generate(TINY, DP16), LINKS),
    "classes": lambda: NativeSimulator().simulate(generate(TINY, DP16), system("Ring 16 @50/500")),
    "a recording": lambda: EVERY_RANK.record(generate(TINY, DP16), CHUNKS),
    "a trace file's bytes": lambda: generate(TINY, DP16).trace_bytes(0),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_cancelled_call_ends(call: str) -> None:
    generate(TINY, DP16)  # kept, so that it is not what is cancelled
    with cancellable(_cancelled()), pytest.raises(Cancelled):
        CALLS[call]()


def test_a_cancelled_generation_ends() -> None:
    with cancellable(_cancelled()), pytest.raises(Cancelled):
        generate(DEEP, Strategy(dp=2, pp=64))


def test_a_cancelled_search_for_routes_ends(tmp_path: Path) -> None:
    on = replace(CHUNKS, network=(Dimension("Graph", 4096, 1, 0, file=str(_graph(tmp_path))),))
    with cancellable(_cancelled()), pytest.raises(Cancelled):
        native_system(on)


def test_a_cancelled_reading_of_traces_ends(tmp_path: Path) -> None:
    *traces, groups = generate(TINY, Strategy(dp=4)).export(tmp_path)
    with cancellable(_cancelled()), pytest.raises(Cancelled):
        read_workload(traces, read_groups(groups))


def test_a_call_is_cancelled_while_it_runs() -> None:
    cancellation = Cancellation()
    threading.Timer(0.2, cancellation.cancel).start()
    with cancellable(cancellation), pytest.raises(Cancelled):
        EVERY_RANK.simulate(generate(TINY, DP16), CHUNKS)


def test_what_was_cancelled_can_be_done_again() -> None:
    expected = evaluate(DesignPoint(Scenario("test", TINY, system("Ring 16 @50/500")), Strategy(dp=8, tp=2)))
    point = DesignPoint(Scenario("test", TINY, system("Ring 16 @50/500")), Strategy(dp=8, tp=2))
    with cancellable(_cancelled()), pytest.raises(Cancelled):
        evaluate(point)
    assert evaluate(point) == expected
    assert expected.status == "ok"


def test_a_deadline_says_why() -> None:
    limited = Cancellation().limited_to(0.1, "took longer than it may")
    with cancellable(limited), pytest.raises(SimulationTimeout, match=r"^took longer than it may$"):
        EVERY_RANK.simulate(generate(TINY, DP16), CHUNKS)


def test_a_late_point_is_a_row_and_the_others_go_on() -> None:
    quick = DesignPoint(Scenario("test", TINY, system("Ring 16 @50/500")), DP16)
    rows = dict(LocalExecutor(2, point_timeout_s=0.5).run([quick, _endless_point(), quick]))
    assert [rows[index].status for index in range(3)] == ["ok", "timeout", "ok"]
    assert rows[1].reason == "took longer than 0.5 s (executor.point_timeout_s)"


def test_a_sweep_that_is_closed_waits_for_no_point() -> None:
    quick = DesignPoint(Scenario("test", TINY, system("Ring 16 @50/500")), DP16)
    rows = LocalExecutor(2).run([quick, _endless_point()])
    assert next(rows)[1].status == "ok"
    rows.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "call",
    [
        "EVERY_RANK.simulate(generate(TINY, DP16), CHUNKS)",
        "list(LocalExecutor(2).run([_endless_point()] * 4))",
    ],
    ids=["in the main thread", "in the threads of a sweep"],
)
def test_ctrl_c_ends_a_point(call: str) -> None:
    program = f"""
from test_cancelling import *
from test_cancelling import _endless_point
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""
    paths = os.pathsep.join([str(Path(__file__).parent), *(path for path in sys.path if path)])
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    threading.Timer(0.3, process.send_signal, [signal.SIGINT]).start()
    try:
        assert process.communicate(timeout=100)[0] == "interrupted\n"
    finally:
        process.kill()
    assert process.returncode == 0
