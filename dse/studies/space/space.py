"""The design space: axes and constraints as data, enumerated in a fixed order, and samples of it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from dse.base.errors import InputError
from dse.base.texts import counted
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import AXES, AXIS, DEGREES, OPTIONS, Strategy
from dse.inputs.systems import SystemSpec
from dse.studies.space.axes import Axis, check_strategy_axis, spec_axis, strategy_of_key, variants
from dse.studies.space.constraints import Constraints
from dse.studies.space.degrees import batches_near, divisors

_Point = TypeVar("_Point")


class ScenarioStrategies(NamedTuple):
    """A model, a system, and the strategies of the space for them."""

    model: ModelSpec
    system: SystemSpec
    strategies: Sequence[Strategy]


class SpaceSurvey(NamedTuple):
    """How many points a space has, of how many combinations, and how many each constraint removed."""

    points: int
    combinations: int
    removed: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class DesignSpace:
    """The points worth trying: the product of all axes, less what violates a constraint.

    `choices` has the values of the axes of strategies (`STRATEGY_FIELDS`). An axis that it lacks has its
    default only, and degrees that are None are all with which a strategy fills the NPUs of the system
    (`dse.studies.space.degrees`). `axes` adds fields of model and system by path, such as
    ("system.network.0.bandwidth_gbps", (100, 400)), and may replace an axis of strategies ("strategy.tp"),
    which leaves `axes` then. A constraint is an `Expression` over those, `npus` (of the network), the
    dimensions of the model, and the path of any numeric field. A combination that violates one is not a
    point. With `launchable` only strategies are that this framework can run.

    Raises:
        InputError: an empty axis, an unknown field, a value of another type or listed twice, or a constraint
            outside the language; names the key as a user writes it, such as `space.tp`.
    """

    name: str
    choices: Mapping[str, Sequence[Any] | None] = field(hash=False)  # a mapping has none; equality counts
    constraints: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    launchable: str = ""

    def __post_init__(self) -> None:
        """Check axes and constraints, and sort the axes into those of strategies and those of specs."""
        choices = {axis.name: self.choices.get(axis.name, (axis.default,)) for axis in AXES}
        if unknown := self.choices.keys() - choices.keys():
            raise InputError(f"unknown key space.{min(unknown)}; keys of strategies are {', '.join(choices)}")
        for axis, chosen in choices.items():
            if chosen is not None or axis in OPTIONS:
                check_strategy_axis(axis, chosen, f"space.{axis}")
        of_specs: list[Axis] = []
        for key, values in self.axes:
            field_of_strategy = strategy_of_key(key)
            if field_of_strategy is None:
                of_specs.append(spec_axis(key, values))
            else:
                choices[field_of_strategy] = check_strategy_axis(
                    field_of_strategy, values, f"space.axes.{key}"
                )
        object.__setattr__(self, "axes", tuple(of_specs))
        object.__setattr__(self, "choices", choices)
        self.selection()

    def scenarios(
        self, models: Sequence[ModelSpec], systems: Sequence[SystemSpec]
    ) -> Iterator[ScenarioStrategies]:
        """Iterate over the points by model and system; those without a strategy are left out.

        Models vary slowest, then systems, then `axes` (the first slowest); strategies of a scenario are in
        the order of `STRATEGY_FIELDS`, dp slowest.

        Raises:
            InputError: no point is left (says which constraint removed the last), a combination is no valid
                model or system, or a constraint cannot be evaluated, for example because it divides by zero.
        """
        selection = self.selection()
        for model in models:
            for system in systems:
                for variant in variants(model, system, self.axes):
                    strategies = selection.strategies(*variant)
                    if strategies:
                        yield ScenarioStrategies(*variant, strategies)
        if not selection.points:
            raise self._empty(selection, models, systems)

    def strategies(self, model: ModelSpec, system: SystemSpec) -> Sequence[Strategy]:
        """Return the strategies for one model and system, `axes` aside.

        Raises:
            InputError: as `scenarios`.
        """
        selection = self.selection()
        strategies = selection.strategies(model, system)
        if not strategies:
            raise self._empty(selection, [model], [system])
        return strategies

    def survey(self, models: Sequence[ModelSpec], systems: Sequence[SystemSpec]) -> SpaceSurvey:
        """Count the points, all combinations, and what each constraint removes.

        A combination counts for the first constraint that it violates; constraints without a field of the
        strategy come before the others, and of these those over degrees before those over later fields.

        Raises:
            InputError: as `scenarios`.
        """
        selection = self.selection()
        for model in models:
            for system in systems:
                for variant in variants(model, system, self.axes):
                    selection.strategies(*variant)
        if not selection.points:
            raise self._empty(selection, models, systems)
        removed = [(constraint.text, count) for constraint, count in selection.removed()]
        return SpaceSurvey(selection.points, selection.combinations, tuple(removed))

    def missing_degrees(self, system: SystemSpec) -> dict[str, list[int]]:
        """Return the divisors of the system's NPUs that each axis of several degrees leaves out, if any."""
        missing = {}
        for axis in DEGREES:
            listed = self.choices[axis]
            left_out = [degree for degree in divisors(system.npus) if degree not in (listed or ())]
            if listed is not None and len(listed) > 1 and left_out:
                missing[axis] = left_out
        return missing

    def selection(self) -> Constraints:
        """Return the selection of strategies of scenario after scenario, which share their lists."""
        return Constraints(self.choices, self.constraints, self.launchable)

    def _empty(
        self, selection: Constraints, models: Sequence[ModelSpec], systems: Sequence[SystemSpec]
    ) -> InputError:
        if not selection.combinations:
            lists = [
                f"space.{axis} {list(listed)}"
                for axis in DEGREES
                if (listed := self.choices[axis]) and (AXIS[axis].since == 1 or list(listed) != [1])
            ]
            npus = " and ".join(sorted({f"{system.npus} NPUs of {system.name}" for system in systems}))
            return InputError(f"space '{self.name}' is empty: {', '.join(lists)} cannot fill the {npus}")
        if selection.unlaunchable:
            return InputError(
                f"space '{self.name}' is empty: {self.launchable} can run none of the last "
                f"{selection.unlaunchable} strategies (space.launchable), such as {selection.obstacle}"
            )
        constraint, count = [entry for entry in selection.removed_in_order() if entry[1]][-1]
        where = "; "
        if len(models) == len(systems) == 1 and not self.axes:
            where += f"the network has {systems[0].npus} NPUs, the model is {models[0].name}"
        else:
            where += f"there are {selection.scenarios} combinations of models and systems"
        return InputError(
            f"space '{self.name}' is empty: {constraint.key} '{constraint.text}' removes the last {count} of "
            f"{selection.combinations} combinations{where}; {self._way_out(selection, models, systems)}"
            "space.constraints=[...] replaces all"
        )

    def _way_out(
        self, selection: Constraints, models: Sequence[ModelSpec], systems: Sequence[SystemSpec]
    ) -> str:
        """Name batches that have points, and constraints on inputs without one of which points are left."""
        if not len(models) == len(systems) == 1 or self.axes or self.launchable:
            return ""
        found = []
        if batches := self._batches(selection, models[0], systems[0]):
            found.append(f"model.batch_size={' or '.join(map(str, batches))} gives points; ")
        for one in selection.of_inputs():
            others = [text for text in self.constraints if text != one.text]
            trial = Constraints(self.choices, others, self.launchable)
            if left := len(trial.strategies(models[0], systems[0])):
                found.append(f"without '{one.text}' it has {counted(left, 'point')}; ")
        return "".join(found)

    def _batches(self, selection: Constraints, model: ModelSpec, system: SystemSpec) -> list[int]:
        """The multiples of the NPUs next to the batch of a model with which points are left."""
        if not any(name.endswith("batch_size") for one in selection.of_inputs() for name in one.names_used):
            return []
        found = []
        for batch in batches_near(model.batch_size, system.npus):
            with contextlib.suppress(InputError):  # such as micro-batches that do not divide it
                if len(self.selection().strategies(replace(model, batch_size=batch), system)):
                    found.append(batch)
        return found


def sample(points: Sequence[_Point], count: int, seed: int) -> tuple[_Point, ...]:
    """Return `count` of the points drawn without replacement, in their order; all of them if there are fewer.

    The same points, count and seed give the same sample on every machine.

    Raises:
        InputError: `count` is below 1.
    """
    if count < 1:
        raise InputError(f"search.samples is {count}; it must be at least 1")
    if count >= len(points):
        return tuple(points)
    return tuple(points[index] for index in sorted(random.Random(seed).sample(range(len(points)), count)))
