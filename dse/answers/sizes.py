"""Sizes of a machine for a training run: the best plan of each, and which is fastest, cheapest, frugal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from dse.answers.launched import best_job
from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.systems import SystemSpec
from dse.prediction.runs.checkpoints import Store
from dse.prediction.runs.energy import energy_of
from dse.prediction.runs.power import Energy, Facility
from dse.prediction.runs.reliability import Reliability
from dse.prediction.runs.run import Elastic, PlannedStops, Question, Run, run_of
from dse.prediction.steps.predict import predict

OBJECTIVES = ("time", "cost", "energy")
_DAY_S = 86400.0


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
    elastic: Elastic = "wait"
    reconfigure_s: float | None = None


@dataclass(frozen=True)
class Size:
    """One machine and its fastest plan: `run`, or `problem` why there is none.

    `broken` are the limits that it breaks.
    """

    system: str
    npus: int
    npus_per_node: int
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
                found.append(_size(question, system.replaced(nodes=count // system.npus_per_node), count))
    if not found:
        nodes = [
            f"a node of {each.name} has {each.npus_per_node} NPUs" for each in systems if each.npus_per_node
        ]
        raise InputError(
            f"no system has whole nodes of any size in {', '.join(map(str, npus))}: "
            f"{', '.join(nodes) or 'none is a cluster'}; change npus"
        )
    return found


def _size(q: SizeQuestion, system: SystemSpec, npus: int) -> Size:
    node = system.npus_per_node
    assert node is not None
    try:
        job, cluster, _ = best_job(q.model, system)
        asked = Question(
            *(job.model, job.plan, cluster, q.steps, q.reliability, q.store),
            spares=0,
            spares_share=q.spares_share,
            stops=q.stops,
            elastic=q.elastic,
            reconfigure_s=q.reconfigure_s,
        )
        run = run_of(asked, predict(job.model, job.plan, cluster))
    except InputError as error:
        return Size(system.name, npus, node, problem=str(error))
    known = cluster.accelerator.board_power_w is not None
    energy = energy_of(run, q.facility) if known else None
    price = q.prices.get(system.name)
    size = Size(system.name, npus, node, run, energy, None if price is None else price * run.npu_hours)
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


PAYS = math.log2(1.25)
"""Twice the NPUs that make a run faster by less than 1.25 cost more than half as much again; others alike."""


class NextSize(NamedTuple):
    """The next larger size of a system: how many times as fast it is, and what one more node brings.

    `saved_s` is what each further node saves of the run, `day_costs` the price of a day less (in NPU-hours
    where prices are unknown), None where nothing is saved.
    """

    npus: int
    faster: float
    saved_s: float
    day_costs: float | None
    pays: bool


def next_sizes(sizes: Sequence[Size]) -> dict[tuple[str, int], NextSize]:
    """Return for each system and size what the next larger size brings; the largest has none."""
    found = {}
    known = sorted((size for size in sizes if size.run is not None), key=lambda one: one.npus)
    for system in dict.fromkeys(size.system for size in sizes):
        for size, larger in pairwise([one for one in known if one.system == system]):
            if larger.npus > size.npus:
                found[system, size.npus] = _next_size(size, larger)
    return found


def _next_size(size: Size, larger: Size) -> NextSize:
    assert size.run is not None
    assert larger.run is not None
    saved_s = size.figure("time") - larger.figure("time")
    faster = size.figure("time") / larger.figure("time")
    nodes = (larger.npus - size.npus) / size.run.question.cluster.npus_per_node
    more = larger.run.npu_hours - size.run.npu_hours
    if size.cost is not None and larger.cost is not None:
        more = larger.cost - size.cost
    day_costs = more / saved_s * _DAY_S if saved_s > 0 else None
    pays = math.log(faster) >= PAYS * math.log(larger.npus / size.npus)
    return NextSize(larger.npus, faster, saved_s / nodes, day_costs, pays)


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
