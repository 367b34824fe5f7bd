"""Steps in closed form against the event-driven engine, node by node on all ranks."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.agreement import Agreement, agreement, random_steps
from benchmarks.slots import SlotRecurrence
from benchmarks.step_times import NetworkTimes, network_times, step_ns
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.steps.structure import (
    ChunkWork,
    Collective,
    Compute,
    StepStructure,
)
from dse.prediction.steps.traces import trace_workload, traced_system
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import read_groups, read_workload
from dse.testing.builders import system as small_system

SUM = Collective("tp", "all_reduce", 1000)
GRADIENTS = Collective("dp", "reduce_scatter", 9000)


def step(schedule: str = "1f1b", **changes: object) -> StepStructure:
    """Two stages that compute 100 and 200 us a micro-batch, of which 80 are for weights."""
    work = ChunkWork((Compute(100_000),), (Compute(120_000),), 80_000)
    chunks = SCHEDULES[schedule].chunks or 2
    fields = {"schedule": schedule, "stages": ((work,) * chunks,) * 2, "micro_batches": 4, **changes}
    return StepStructure(**fields)  # type: ignore[arg-type]


def require_agreement(one: Agreement) -> None:
    """Equal to the nanosecond where the preconditions hold; else bounded, and within 1 %."""
    if not one.broken:
        assert one.closed_ns == one.slot_ns == one.engine_ns
    elif not any("ends after" in reason or "messages after" in reason for reason in one.broken):
        assert one.slot_ns == one.engine_ns
        assert one.closed_ns <= one.engine_ns <= one.closed_ns + one.waits_ns
    assert abs(one.difference) <= 0.01


@pytest.mark.parametrize("seed", range(4))
def test_random_steps_agree_with_the_engine(seed: int) -> None:
    held: Counter[bool] = Counter()
    drawn: set[str] = set()
    for structure, system in islice(random_steps(seed), 40):
        one = agreement(structure, system)
        require_agreement(one)
        held[not one.broken] += 1
        drawn.add(structure.schedule)
    assert held[True] >= 15
    assert held[False] >= 5
    assert drawn == set(SCHEDULES)


def test_hundreds_of_random_steps_agree_with_the_engine() -> None:
    """`python -m benchmarks --only structure` has a thousand."""
    for structure, system in islice(random_steps(16), 240):
        require_agreement(agreement(structure, system))


def test_a_worked_step_takes_its_passes_messages_gradients_and_optimizer() -> None:
    """1F1B of two even stages with messages of 1 us: five passes of 300 us, and four messages on the way.

    One there and one back for the first two micro-batches, which are under way together, and for the next.
    """
    network = NetworkTimes({GRADIENTS: 7_000}, [1_000, 1_000])
    plain = step_ns(step(), network)
    assert plain == 5 * 300_000 + 4 * 1_000
    reduced = step(
        axes=(("dp", 2),),
        stages=((ChunkWork((Compute(100_000),), (Compute(120_000),), 80_000, (GRADIENTS,)),),) * 2,
        after=((Compute(500),), (Compute(1),)),
    )
    assert step_ns(reduced, network) == plain + 7_000 + 500


def test_a_communication_slot_delays_collectives_behind_messages() -> None:
    """A message of 150 us is under way when the next forward wants to sum after 100 us, and again."""
    parts = (Compute(100_000), SUM)
    structure = step("gpipe", axes=(("tp", 2),), stages=((ChunkWork(parts, parts, 0),),) * 2, micro_batches=2)
    network = NetworkTimes({SUM: 10_000}, [150_000, 150_000])
    slot = SlotRecurrence(structure, network).run()
    assert slot.waits_ns > 0
    assert step_ns(structure, network) < slot.step_ns <= step_ns(structure, network) + slot.waits_ns


def test_compute_nodes_take_their_nanoseconds_on_a_traced_system() -> None:
    """1 GB/s of networks is 2^30 bytes per 10^9 ns: 1000 bytes take 50 + 9.3 ns at 100."""
    system = traced_system(small_system("FullyConnected 2 @100/50"))
    structure = step(stages=((ChunkWork((Compute(12_345),), (Compute(1),), 7),),) * 2, micro_batches=1)
    structure = StepStructure(structure.schedule, structure.stages, 1, message_bytes=1000)
    assert network_times(structure, system).link_ns == [59, 59]
    outcome = NativeSimulator().simulate(trace_workload(structure), system)
    finish = [outcome.rank(rank).finish_ns for rank in (0, 1)]  # type: ignore[union-attr]
    assert finish == [2 * (12_345 + 8 + 59), 2 * 12_345 + 8 + 59 + 59]


def test_groups_at_unequal_distances_are_named() -> None:
    """On a ring of 6 a group of 0, 1 and 2 has hops of 1, 1 and 2."""
    work = ChunkWork((Compute(10_000), SUM), (Compute(20_000), SUM), 0)
    structure = step(axes=(("tp", 3),), stages=((work,),) * 2)
    network = network_times(structure, small_system("Ring 6 @100/500"))
    assert len(network.unequal) == 1
    assert network.unequal[0].startswith("all_reduce of 1000 bytes over tp ends after ")
    assert not network_times(structure, small_system("Ring 3 @100/500,Ring 2 @100/500")).unequal


def test_a_group_over_two_axes_joins_all_their_ranks(tmp_path: Path) -> None:
    part = Collective("cp-dp", "all_reduce", 6000)
    work = ChunkWork((Compute(10_000),), (Compute(20_000),), 0, (part,))
    structure = step(axes=(("cp", 2), ("tp", 2), ("dp", 3)), stages=((work,),), micro_batches=1)
    trace_workload(structure).export(tmp_path)
    assert read_groups(tmp_path / "comm_group.json") == {
        "1": [0, 1, 4, 5, 8, 9],
        "2": [2, 3, 6, 7, 10, 11],
    }


def test_written_traces_are_read_and_take_the_same(tmp_path: Path) -> None:
    work = ChunkWork((Compute(10_000), SUM), (Compute(20_000), SUM), 500, (GRADIENTS,))
    structure = step("zb-h1", axes=(("tp", 2), ("dp", 2)), stages=((work,),) * 2, message_bytes=4096)
    system = traced_system(small_system("Ring 2 @100/50,Ring 2 @50/500,Ring 2 @25/500"))
    paths = trace_workload(structure).export(tmp_path, "step")
    assert [path.name for path in paths[:2]] == ["step.0.et", "step.1.et"]
    read = read_workload(paths[:-1], read_groups(paths[-1]))
    outcome = NativeSimulator().simulate(read, system)
    one = agreement(structure, system)
    assert max(metrics.finish_ns for metrics in outcome.classes if metrics) == one.engine_ns
    assert one.slot_ns == one.engine_ns


def test_a_collective_of_one_rank_is_refused() -> None:
    work = ChunkWork((Compute(10_000), SUM), (Compute(20_000),), 0)
    with pytest.raises(ValueError, match="joins one rank or none"):
        step(stages=((work,),) * 2)
