"""Whether a step's closed form and a simulator agree, and if not, why and by how much."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.slots import SlotRecurrence
from benchmarks.step_times import network_times, step_ns
from dse.base.errors import SimulationError
from dse.inputs.strategies.schedules import SCHEDULES
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.prediction.steps.structure import ChunkWork, Collective, Compute, Part, StepStructure
from dse.prediction.steps.traces import trace_workload, traced_system
from dse.simulation.simulators.native import NativeSimulator


@dataclass(frozen=True)
class Agreement:
    """One step, timed three times.

    `closed_ns` is the closed form: the recurrence of the pipeline, then gradients and optimizer. `slot_ns`
    is the recurrence with one communication slot on each rank, as simulators have. `engine_ns` is what the
    engine simulates, node by node on all ranks. `broken` says which preconditions of equality do not hold;
    without any, all three are equal to the nanosecond. If only slots are waited for, for `waits_ns` in all,
    `slot_ns` is equal to `engine_ns`, and `closed_ns` at most `waits_ns` less.
    """

    closed_ns: int
    slot_ns: int
    engine_ns: int
    waits_ns: int
    broken: tuple[str, ...]

    @property
    def difference(self) -> float:
        """How much longer the engine takes than the recurrence with one slot, as a share of its time."""
        return 1 - self.slot_ns / self.engine_ns


def agreement(structure: StepStructure, system: SystemSpec) -> Agreement:
    """Time a step by its structure and by the engine on a system.

    The preconditions of equality: (1) what the network takes is the same for all ranks of a stage; (2)
    messages and collectives never meet on a link: the network is congestion-unaware; (3) no communication of
    a rank waits for its slot. Without (3) the recurrence with one slot is still equal.

    Raises:
        SimulationError: the engine cannot run the traces of the step.
    """
    network = network_times(structure, system)
    slot = SlotRecurrence(structure, network).run()
    outcome = NativeSimulator().simulate(trace_workload(structure), traced_system(system))
    ends = [metrics.finish_ns for metrics in outcome.classes if metrics is not None]
    if outcome.status != "ok":
        raise SimulationError(f"the engine cannot run the traces of the step: {outcome.reason}")
    broken = [*network.unequal]
    if system.network_model == "congestion_aware":
        broken.append("messages and collectives may meet on links of a congestion-aware network")
    if slot.waits_ns:
        broken.append(f"communication waits for the slot of its rank, {slot.waits_ns} ns in all")
    closed = step_ns(structure, network)
    return Agreement(closed, slot.step_ns, max(ends), slot.waits_ns, tuple(broken))


def random_steps(seed: int) -> Iterator[tuple[StepStructure, SystemSpec]]:
    """Yield small steps of all schedules, with uneven stages and all degrees, each on a network."""
    rng = random.Random(seed)
    while True:
        stages = rng.choice([1, 2, 2, 3, 4])
        axes = tuple((axis, rng.choice([1, 1, 2, 3])) for axis in ("tp", "cp", "dp"))
        if stages * axes[0][1] * axes[1][1] * axes[2][1] in range(2, 33):
            system = _random_system(rng, [*(d for _, d in axes), stages])
            shared = len(system.network) < sum(degree > 1 for degree in (*dict(axes).values(), stages))
            yield _random_step(rng, stages, axes, 10 if shared else 1), system


def _random_step(
    rng: random.Random, stages: int, axes: tuple[tuple[str, int], ...], least: int
) -> StepStructure:
    """Return a step; where axes share a dimension, computing takes at least `least` us at a time."""
    schedule = rng.choice(sorted(SCHEDULES))
    chunks = SCHEDULES[schedule].chunks or rng.choice([2, 3])
    batches = stages * rng.randint(1, 3) if schedule == "interleaved" else rng.randint(1, 9)
    degrees = dict(axes)
    scale = max(least, rng.choice([1, 10, 100]))
    shared = [axis for axis in ("tp", "cp") if degrees[axis] > 1]
    reduced = "-".join(axis for axis in ("cp", "dp") if degrees[axis] > 1)

    def parts(times: int) -> tuple[Part, ...]:
        made: list[Part] = []
        for _ in range(rng.randint(1, 2)):
            made.append(Compute(rng.randint(1000, 30000) * times * scale))
            made += [Collective(axis, rng.choice(_KINDS), rng.choice(_SIZES)) for axis in shared]
        return tuple(made)

    def chunk() -> ChunkWork:
        own = Collective(reduced, rng.choice(_KINDS[:2]), 10 * rng.choice(_SIZES))
        return ChunkWork(parts(1), parts(2), rng.randint(500, 20000) * scale, (own,) if reduced else ())

    def after() -> tuple[Part, ...]:
        gathered = (Collective(reduced, "all_gather", 10**5),) if reduced and rng.random() < 0.5 else ()
        return (Compute(rng.choice([1, 5000])), *gathered)

    even = chunk()
    is_even = rng.random() < 0.5
    return StepStructure(
        schedule=schedule,
        stages=tuple(tuple(even if is_even else chunk() for _ in range(chunks)) for _ in range(stages)),
        micro_batches=batches,
        axes=axes,
        message_bytes=rng.choice([1000, 10**5, 10**6]),
        overlap_gradients=rng.random() < 0.5,
        after=tuple(after() for _ in range(stages)),
    )


_KINDS = ("all_reduce", "reduce_scatter", "all_gather")
_SIZES = (6_000, 24_000, 96_000)


def _random_system(rng: random.Random, degrees: Sequence[int]) -> SystemSpec:
    """Return a network with a dimension for each degree, or for some together."""
    sizes: list[int] = []
    together = rng.random() < 0.3
    for degree in degrees:
        if degree > 1 and sizes and together and rng.random() < 0.6:
            sizes[-1] *= degree
        elif degree > 1:
            sizes.append(degree)
    network = tuple(
        Dimension(
            rng.choice(["Ring", "Switch", "FullyConnected"]),
            size,
            rng.choice([25.0, 50.0, 100.0, 400.0]),
            rng.choice([100.0, 500.0, 2000.0]),
        )
        for size in sizes
    )
    ring = ("ring",) * len(network)
    return SystemSpec(
        name="random",
        network=network,
        collectives=CollectiveAlgorithms(ring, ring, ring, ring),
        peak_tflops=1,
        memory_bandwidth_gbps=3000,
        preferred_dataset_splits=rng.choice([1, 4]),
        active_chunks_per_dimension=1,
        track_local_memory=False,
    )
