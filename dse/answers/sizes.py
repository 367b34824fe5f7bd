"""Sizes of a machine for a training run: the best plan of each, and which is fastest, cheapest, frugal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dse.answers.launched import best_job
from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import derived_fields
from dse.prediction.runs.checkpoints import Store
from dse.prediction.runs.power import Energy, Facility, energy_of
from dse.prediction.runs.reliability import Reliability
from dse.prediction.runs.run import PlannedStops, Question, Run, run_of
from dse.prediction.steps.predict import predict

OBJECTIVES = ("time", "cost", "energy")


@dataclass(frozen=True)
class Limits:
    """The most that a run may take; None is no limit. `time_s` holds for the high end of its range."""

    time_s: float | None = None
    cost: float | None = None
    power_mw: float | None = None
    npus: int | None = None


@dataclass(frozen=True)
class SizeQuestion:
    """A model for so many steps on machines; `prices` are those of an hour of an NPU by system."""

    model: ModelSpec
    steps: int
    reliability: Reliability
    store: Store
    facility: Facility
    spares_share: float
    prices: dict[str, float]
    limits: Limits = Limits()
    stops: PlannedStops | None = None


@dataclass(frozen=True)
class Size:
    """One machine and its fastest plan: `run`, or `problem` why there is none.

    `broken` are the limits that it breaks.
    """

    system: str
    npus: int
    run: Run | None = None
    energy: Energy | None = None
    cost: float | None = None
    problem: str = ""
    broken: tuple[str, ...] = ()

    @property
    def plain(self) -> float:
        """The share of the run that steps alone would take; 1 without a run."""
        return 1.0 if self.run is None else self.run.effective_ratio

    def figure(self, objective: str) -> float:
        """Return the time in seconds, the cost, or the energy in MWh; infinite where it is unknown."""
        if self.run is None:
            return math.inf
        if objective == "time":
            return self.run.time_s.value
        if objective == "cost":
            return math.inf if self.cost is None else self.cost
        return math.inf if self.energy is None else self.energy.energy_mwh.value


def sizes_of(question: SizeQuestion, systems: Sequence[SystemSpec], npus: Sequence[int]) -> list[Size]:
    """Return the fastest plan of each system at each size that whole nodes make.

    All strategies that a sweep tries are predicted, so each is the fastest of its space. On one machine a
    shorter step means a shorter run, as failures and checkpoints do not depend on the strategy.
    """
    found = []
    for system in systems:
        for count in npus:
            if system.npus_per_node is not None and count % system.npus_per_node == 0:
                found.append(_size(question, _sized(system, count // system.npus_per_node), count))
    if not found:
        raise InputError(f"no system has whole nodes of any size in {', '.join(map(str, npus))}: change npus")
    return found


def _sized(system: SystemSpec, nodes: int) -> SystemSpec:
    assert system.accelerator is not None
    assert system.npus_per_node is not None
    fields = derived_fields(system.name, system.accelerator, nodes, system.npus_per_node, system.tiers)
    return replace(system, nodes=nodes, **fields)


def _size(q: SizeQuestion, system: SystemSpec, npus: int) -> Size:
    try:
        job, cluster, _ = best_job(q.model, system)
        nodes = -(-npus // cluster.npus_per_node)
        asked = Question(
            *(job.model, job.plan, cluster, q.steps, q.reliability, q.store),
            spares=math.ceil(q.spares_share * nodes),
            stops=q.stops,
        )
        run = run_of(asked, predict(job.model, job.plan, cluster))
    except InputError as error:
        return Size(system.name, npus, problem=str(error))
    known = cluster.accelerator.board_power_w is not None
    energy = energy_of(run, q.facility) if known else None
    price = q.prices.get(system.name)
    size = Size(system.name, npus, run, energy, None if price is None else price * run.npu_hours)
    return replace(size, broken=tuple(_broken(size, q.limits)))


def _broken(size: Size, limits: Limits) -> Iterator[str]:
    run = size.run
    assert run is not None
    if limits.time_s is not None and (run.time_s.high or run.time_s.value) > limits.time_s:
        yield "deadline"
    if limits.cost is not None and not size.figure("cost") <= limits.cost:
        yield "budget"
    if limits.power_mw is not None and not (size.energy and size.energy.mean_power_mw <= limits.power_mw):
        yield "power"
    if limits.npus is not None and size.npus > limits.npus:
        yield "npus"


def winners(sizes: Sequence[Size], *, plain: bool = False) -> dict[str, Size]:
    """Return the best size of each objective among those that keep all limits; none that is unknown.

    With `plain`, as if nothing failed and nothing stopped: steps alone count.
    """
    kept = [size for size in sizes if size.run is not None and not size.broken]

    def figure(size: Size, objective: str) -> float:
        return size.figure(objective) * (size.plain if plain else 1.0)

    found = {}
    for objective in OBJECTIVES:
        best = min(kept, key=lambda size: figure(size, objective), default=None)
        if best is not None and math.isfinite(best.figure(objective)):
            found[objective] = best
    return found


def front(sizes: Sequence[Size]) -> list[Size]:
    """Return the sizes that no other one beats in time, cost and energy at once, the fastest first.

    Figures that no size knows do not count.
    """
    kept = [size for size in sizes if size.run is not None and not size.broken]
    known = [name for name in OBJECTIVES if any(math.isfinite(size.figure(name)) for size in kept)]
    figures = {id(size): tuple(size.figure(name) for name in known) for size in kept}

    def is_beaten(size: Size) -> bool:
        own = figures[id(size)]
        return any(
            other != own and all(left <= right for left, right in zip(other, own, strict=True))
            for other in figures.values()
        )

    return sorted([size for size in kept if not is_beaten(size)], key=lambda size: size.figure("time"))
