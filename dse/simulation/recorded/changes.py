"""Changes of a recorded step: a what-if is a few plain values, and makes another step of one."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from dse.base.errors import InputError
from dse.inputs.systems import SystemSpec
from dse.simulation.recorded.classes import Speeds, above_zero
from dse.simulation.recorded.links import LatencyPer, with_links
from dse.simulation.recorded.overlap import without_overlap, without_waiting_for_collectives
from dse.simulation.recorded.prices import with_prices
from dse.simulation.recorded.ranks import grown
from dse.simulation.recorded.step import RecordedStep
from dse.simulation.recorded.stragglers import Stragglers, without_stragglers
from dse.simulation.recorded.work import with_speeds, with_work

Overlap = Literal["recorded", "none", "perfect"]


@dataclass(frozen=True)
class Changes:
    """A what-if of a recorded step. The defaults change nothing; all may be given together.

    They apply in this order. `rank_factor` times as many ranks: `grown_groups` grow (`ranks`). `system`
    prices communications (`prices`): instead of the measured times, or, with `base_system`, in the ratio of
    the two. `bandwidth_factor` and `latency_added_ns`, by communication or by step of a ring, change
    communications (`links`). `stragglers` makes ranks that run alike equally fast (`stragglers`).
    `speeds` makes classes of work faster; `work_factor` multiplies the work and gaps of `work_ranks`: of
    `all`, of `half` (the upper half of the recorded ranks), or of those named (`work`). `overlap` is that of
    communication with work (`overlap`).

    Raises:
        InputError: names the field, its value and what is allowed.
    """

    rank_factor: int = 1
    grown_groups: tuple[str, ...] = ()
    system: SystemSpec | None = None
    base_system: SystemSpec | None = None
    bandwidth_factor: float = 1.0
    latency_added_ns: int = 0
    latency_per: LatencyPer = "communication"
    stragglers: Stragglers = "recorded"
    speeds: Speeds = field(default_factory=Speeds)
    work_factor: float = 1.0
    work_ranks: tuple[int, ...] | Literal["all", "half"] = "all"
    overlap: Overlap = "recorded"

    def __post_init__(self) -> None:
        """Check every field on its own."""
        above_zero("bandwidth_factor", self.bandwidth_factor)
        above_zero("work_factor", self.work_factor)
        _whole("rank_factor", self.rank_factor, 1)
        _whole("latency_added_ns", self.latency_added_ns, 0)
        _one_of("latency_per", self.latency_per, get_args(LatencyPer))
        _one_of("stragglers", self.stragglers, get_args(Stragglers))
        _one_of("overlap", self.overlap, get_args(Overlap))
        if isinstance(self.work_ranks, str):
            _one_of("work_ranks", self.work_ranks, ("all", "half"))
        if self.base_system is not None and self.system is None:
            raise InputError(
                "base_system is given without system; it is the system on which the step was recorded, and "
                "system the one to compare it with (the same one, for more ranks)"
            )
        if self.grown_groups and self.rank_factor == 1:
            raise InputError("ranks.groups is given, but ranks.factor is 1: no group grows")

    @property
    def named(self) -> tuple[str, ...]:
        """The fields that differ from their defaults."""
        plain = _DEFAULTS
        return tuple([each.name for each in fields(self) if getattr(self, each.name) != plain[each.name]])


def changed(step: RecordedStep, changes: Changes) -> RecordedStep:
    """Return a step as the changes make it; `notes` say what they assumed.

    Edges of the result may lead to nodes with lower numbers, unlike those of a step that was read.

    Raises:
        InputError: a change that this step cannot take, and why.
    """
    measured = step.communications
    if changes.rank_factor > 1:
        step = grown(step, changes.rank_factor, changes.grown_groups, by_bytes=changes.system is None)
    if changes.system is not None:
        step = with_prices(step, changes.system, changes.base_system, measured)
    step = with_links(step, changes.bandwidth_factor, changes.latency_added_ns, changes.latency_per)
    if changes.stragglers != "recorded":
        step = without_stragglers(step, changes.stragglers)
    step = with_speeds(step, changes.speeds)
    step = with_work(step, changes.work_factor, changes.work_ranks)
    if changes.overlap == "perfect":
        return without_waiting_for_collectives(step)
    return without_overlap(step) if changes.overlap == "none" else step


def _whole(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {value!r}; it must be a whole number of at least {least}")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


_DEFAULTS: dict[str, Any] = {each.name: getattr(Changes(), each.name) for each in fields(Changes)}
