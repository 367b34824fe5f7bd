"""Systems of several types of NPUs: what computes at what, memory by type, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from dse.answers.whatif.parameters import parameters_of
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Derating, Dimension, NpuType, SystemSpec, write_system
from dse.inputs.systems.fields import npu_speeds
from dse.simulation.costs.bounds import lower_bound
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.studies.points import evaluate, point_of
from dse.studies.points.inputs import system_json
from dse.testing.builders import TINY, comp, finish, run, workload

RING = ("ring",)
FAST = NpuType("A100", 4, 900.0, 3000.0)
SLOW = NpuType("V100", 4, 450.0, 1500.0, 16 * 10**9)
MIXED = SystemSpec(
    "mixed",
    (Dimension("Switch", 8, 50, 500),),
    CollectiveAlgorithms(RING, RING, RING, RING),
    675.0,
    1500.0,
    npu_types=(FAST, SLOW),
    issue_order="safe",
)
EQUAL = replace(MIXED, npu_types=(), peak_tflops=900.0, memory_bandwidth_gbps=3000.0)
NODES = [comp(1, ops=9 * 10**8, size=1), comp(2, ops=1, size=3 * 10**6, after=[1])]


def test_each_npu_computes_at_what_its_type_has() -> None:
    alone = workload(*[NODES] * 8)
    assert finish(alone, MIXED) == [2000] * 4 + [4000] * 4
    figures = run(alone, MIXED)
    assert [round(rank.compute_utilization_pct) for rank in figures] == [50] * 8


def test_deratings_slow_an_npu_below_its_type() -> None:
    slowed = replace(MIXED, deratings=(Derating(0, compute_factor=0.5), Derating(7, memory_factor=0.5)))
    assert finish(workload(*[NODES] * 8), slowed) == [3000] + [2000] * 3 + [4000] * 3 + [6000]


@pytest.mark.parametrize("strategy", [Strategy(tp=8), Strategy(dp=2, tp=2, pp=2), Strategy(dp=8)])
def test_types_are_deratings_by_another_name_and_classes_give_what_every_rank_gives(
    strategy: Strategy,
) -> None:
    work = generate(TINY, strategy)
    factors = tuple(Derating(npu, 1.5 if npu < 4 else 0.5) for npu in range(8))
    types = (FAST, replace(SLOW, peak_tflops=300.0, memory_bandwidth_gbps=3000.0))
    on = [MIXED.replaced(npu_types=types), replace(EQUAL, peak_tflops=600.0, deratings=factors)]
    outcomes = [NativeSimulator(engine).simulate(work, each) for each in on for engine in ("auto", "general")]
    times = [[outcome.rank(rank).finish_ns for rank in range(8)] for outcome in outcomes]  # type: ignore[union-attr]
    assert all(outcome.status == "ok" for outcome in outcomes)
    assert times[0] == times[1] == times[2] == times[3]


def test_bounds_hold_for_types() -> None:
    assert set(npu_speeds(MIXED)) == {(900e12, 3000e9), (450e12, 1500e9)}
    for strategy in (Strategy(tp=8), Strategy(dp=4, tp=2), Strategy(dp=2, tp=2, pp=2)):
        outcome = NativeSimulator().simulate(generate(TINY, strategy), MIXED)
        wall = max(metrics.wall_time_ns for metrics in outcome.classes if metrics is not None)
        assert 0 < lower_bound(TINY, strategy, MIXED).wall_time_ns <= wall


def test_what_needs_more_memory_than_a_type_has_is_infeasible_and_names_it() -> None:
    types = "[{name: A100, npus: 16, peak_tflops: 312, memory_bandwidth_gbps: 2039}," + (
        "{name: V100, npus: 16, peak_tflops: 125, memory_bandwidth_gbps: 900, memory_bytes: 100000000}]"
    )
    config = compose_config(["system=mixed_a100_v100", "model=tiny", f"system.npu_types={types}"])
    whole, sharded = (
        evaluate(point_of(config, strategy)) for strategy in (Strategy(dp=32), Strategy(dp=16, tp=2))
    )
    assert (whole.status, sharded.status) == ("infeasible", "ok")
    assert whole.reason == "too little memory on V100: needs 115.34 MB on an NPU, has 100.00 MB"


def test_systems_without_types_are_written_as_before() -> None:
    assert "npu_types" not in system_json(EQUAL)
    assert '"npu_types":[{"memory_bandwidth_gbps":3000.0,"name":"A100","npus":4' in system_json(MIXED)


def test_figures_follow_from_types() -> None:
    config = compose_config(["system=mixed_a100_v100", "model=tiny"])
    assert (config.system.peak_tflops, config.system.memory_bandwidth_gbps) == (218.5, 900.0)
    assert config.memory_cap_bytes == 80 * 10**9
    smaller = ["system.npu_types.0.memory_bytes=32000000000"]
    assert compose_config(["system=mixed_a100_v100", "model=tiny", *smaller]).memory_cap_bytes == 32 * 10**9
    faster = MIXED.replaced(npu_types=(replace(FAST, peak_tflops=1000.0), SLOW))
    assert faster.peak_tflops == 725.0
    keys = [parameter.key for parameter in parameters_of(MIXED)]
    assert keys[:2] == ["system.npu_types.0.peak_tflops", "system.npu_types.0.memory_bandwidth_gbps"]
    assert "system.peak_tflops" not in keys


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"npu_types": (FAST,)}, "system.npu_types have 4 NPUs, but the network has 8"),
        ({"npu_types": (FAST, replace(FAST, npus=4))}, "system.npu_types.1.name is 'A100' again"),
        (
            {"npu_types": (FAST, replace(SLOW, peak_tflops=0.0))},
            "system.npu_types.1.peak_tflops is 0.0; it must",
        ),
        ({"npu_types": (FAST, replace(SLOW, npus=0))}, "system.npu_types.1.npus is 0; it must be an integer"),
        ({"npu_types": (FAST, replace(SLOW, memory_bytes=0))}, "system.npu_types.1.memory_bytes is 0"),
        ({"peak_tflops": 900.0}, "system.peak_tflops is 900.0, but follows from system.npu_types"),
    ],
)
def test_wrong_types_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        replace(MIXED, **changes)  # type: ignore[arg-type]


def test_keys_that_follow_are_refused_and_astra_sims_files_have_no_place(tmp_path: object) -> None:
    with pytest.raises(InputError, match=r"^system\.peak_tflops follows from system\.npu_types"):
        compose_config(["system=mixed_a100_v100", "model=tiny", "system.peak_tflops=3"])
    with pytest.raises(InputError, match=r"^system\.npu_types is not empty"):
        write_system(MIXED, tmp_path)  # type: ignore[arg-type]


def test_every_npu_has_a_speed_once_at_least() -> None:
    slow = tuple(Derating(npu, 0.5) for npu in range(4))
    speeds = list(itertools.islice(npu_speeds(replace(MIXED, deratings=slow)), 9))
    assert sorted(set(speeds)) == [(450e12, 1500e9), (450e12, 3000e9)]
