"""The contract of a method: how points are answered, and all that differs between methods."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from dse.base.lazy import NDArray, np, pa
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import AXES, DEGREES, Divisibility, InfeasibleStrategy, Strategy
from dse.inputs.systems import SystemSpec
from dse.prediction.runs.asked import AskedRun
from dse.simulation.simulators import Recording, Simulator
from dse.simulation.workloads import WorkloadGenerator
from dse.studies.store import Status

if TYPE_CHECKING:
    from dse.inputs.strategies.columns import Strategies
    from dse.prediction.steps.strategies import Refusals


class Inputs(Protocol):
    """The part of a scenario that a method knows; see `dse.studies.points.Scenario`."""

    @property
    def model(self) -> ModelSpec: ...  # noqa: D102
    @property
    def system(self) -> SystemSpec: ...  # noqa: D102
    @property
    def divisibility(self) -> Divisibility | None: ...  # noqa: D102
    @property
    def resolved_divisibility(self) -> Divisibility: ...  # noqa: D102
    @property
    def simulator(self) -> Simulator: ...  # noqa: D102
    @property
    def generator(self) -> WorkloadGenerator: ...  # noqa: D102
    @property
    def is_external(self) -> bool: ...  # noqa: D102
    @property
    def run(self) -> AskedRun | None: ...  # noqa: D102
    def check(self) -> None: ...  # noqa: D102


class Point(Protocol):
    """The part of a point that a method knows; see `dse.studies.points.DesignPoint`."""

    @property
    def scenario(self) -> Inputs: ...  # noqa: D102
    @property
    def strategy(self) -> Strategy: ...  # noqa: D102


class Block(Protocol):
    """Points of a scenario as columns; see `dse.studies.points.blocks`."""

    @property
    def scenario(self) -> Inputs: ...  # noqa: D102
    @property
    def strategies(self) -> Strategies: ...  # noqa: D102


@dataclass(frozen=True)
class Answer:
    """How a point ended, why, and the columns of its row that a method fills in."""

    status: Status = "ok"
    reason: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)


class Answers(NamedTuple):
    """How the first points of a block ended: the number in `reasons` why one is infeasible; -1: ok.

    `columns` are those of rows that a method fills in, null where a point has no value. Points at the places
    `left` did neither: `Method.answer` says of each how it ends.
    """

    reason_of: NDArray[np.int32]
    reasons: Sequence[str]
    columns: Mapping[str, pa.Array]
    left: Sequence[int] = ()


class Varied(NamedTuple):
    """A number of a system that can vary: its path, what it stands for, whether it computes."""

    path: str
    resource: str
    computes: bool = False
    is_integer: bool = False


class Method(ABC):
    """Answers the points of a scenario. It has no state."""

    name: ClassVar[str]

    costs_by_stages: ClassVar[bool] = False
    """Whether points of equal units cost about the same only with equally many stages."""

    least_block: ClassVar[int] = 1
    """Points of a block that take no longer in one piece than in several."""

    most_compared: ClassVar[int | None] = None
    """Strategies that compete where an input changes, the fastest ones; None means all."""

    @abstractmethod
    def answers(self, on: Inputs) -> bool:
        """Whether it is the method of a scenario."""

    def identity(self) -> Mapping[str, Any]:
        """Return what it adds to the options of a point, on which its key depends."""
        return {}

    @abstractmethod
    def check(self, on: Inputs) -> None:
        """Refuse settings that change nothing.

        Raises:
            InputError: names the key.
        """

    @abstractmethod
    def is_feasible(self, point: Point) -> bool:
        """Whether the strategy of a point can run; that it fills the system is checked before."""

    @abstractmethod
    def in_blocks(self, on: Inputs) -> bool:
        """Whether `answer_all` answers the points of a scenario."""

    @abstractmethod
    def answer_all(self, block: Block) -> Answers:
        """Evaluate at least the first point of a block, and more as long as that is short.

        Raises:
            SimulationTimeout, InputError: as `answer`.
        """

    @abstractmethod
    def feasible(self, block: Block) -> Sequence[bool]:
        """Return which points of a block fill the system and can run."""

    @abstractmethod
    def answer(self, point: Point) -> Answer:
        """Evaluate a point.

        Raises:
            InfeasibleStrategy, SimulationError, SimulationTimeout: as `evaluate` has rows of them.
            InputError: the input is wrong in a way that concerns every point.
        """

    @abstractmethod
    def record(self, point: Point, *, decisive_only: bool) -> Recording:
        """Record what happens when; `decisive_only` leaves out ranks that do not decide.

        Raises:
            InfeasibleStrategy: as `answer`.
            InputError: nothing happens in an engine.
        """

    @abstractmethod
    def varied(self, system: SystemSpec) -> list[Varied]:
        """Return the numbers of a system on which results depend."""

    @abstractmethod
    def why_not_in_a_page(self, on: Inputs) -> str:
        """Return why the engine in a page cannot evaluate points, and what to write; empty where it can."""

    def load(self) -> None:  # noqa: B027 (most have nothing to do)
        """Import what evaluation needs, so that the first point of an estimate takes no longer."""

    def may_take_time(self, point: Point) -> bool:
        """Whether a point may be feasible, found out in no time."""
        del point
        return True

    cost_axes: ClassVar[tuple[str, ...]]
    """The axes of strategies on which costs of points depend."""

    @abstractmethod
    def cost_units(self, point: Point) -> int:
        """Return a number that the time of a point grows with."""

    def slow_ranks(self, point: Point) -> int:
        """Return how many times its units a point may cost; 1 if that is certain."""
        del point
        return 1


def require_filled(point: Point) -> None:
    """Refuse a strategy that does not fill the system.

    Raises:
        InfeasibleStrategy: says how many NPUs it needs.
    """
    if problem := unfilled(point.scenario, point.strategy):
        raise InfeasibleStrategy(problem)


def refused_unfilled(on: Inputs, strategies: Strategies) -> Refusals:
    """Refuse those of many strategies that do not fill the system."""
    from dse.prediction.steps.strategies import Refusals

    refused = Refusals(len(strategies))
    npus = math.prod([strategies.column(name) for name in DEGREES])
    places = np.flatnonzero(np.broadcast_to(npus != on.system.npus, len(strategies)))
    refused.reasons = [unfilled(on, one) for one in strategies.take(places)]
    refused.reason_of[places] = np.arange(len(places))
    return refused


def unfilled(on: Inputs, strategy: Strategy) -> str:
    """Say how many NPUs a strategy needs where the system has another number; else empty."""
    if strategy.npus == on.system.npus:
        return ""
    counted = [axis.name for axis in AXES if axis.is_degree and axis.in_label(getattr(strategy, axis.name))]
    return needed(
        strategy.label(), {name: getattr(strategy, name) for name in counted}, on.system.name, on.system.npus
    )


def needed(label: str, degrees: Mapping[str, int], system: str, npus: int) -> str:
    """Say how many NPUs the degrees of a strategy need, and how many a system has; a page says it, too."""
    count = math.prod(degrees.values())
    return f"strategy {label} needs {'*'.join(degrees)} = {count} NPUs, but system {system} has {npus}"
