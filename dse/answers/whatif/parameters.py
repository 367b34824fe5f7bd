"""The numbers of a system that can vary around a point: which there are, and other values of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from dse.base.errors import InputError, did_you_mean
from dse.inputs.systems import SystemSpec
from dse.studies.points import SIMULATION, Method, Scenario
from dse.studies.points.methods import Varied
from dse.studies.space.fields import Path, read_field, replace_field

_PREFIX = "system."


@dataclass(frozen=True)
class Parameter:
    """A number of a system: `key` is its name in the configuration, such as `system.peak_tflops`.

    `resource` is what it stands for, such as "bandwidth of network dimension 0". `computes` says whether
    compute times depend on it, all of them falling (or staying) as it rises.
    """

    key: str
    value: float
    resource: str
    is_integer: bool = False
    computes: bool = False

    @property
    def path(self) -> Path:
        """Where it is in a `SystemSpec`."""
        return tuple(self.key.removeprefix(_PREFIX).split("."))

    def scaled(self, factor: float) -> float:
        """The value times a factor; an integer is rounded, and at least 1."""
        value = self.value * factor
        return max(1, round(value)) if self.is_integer else value

    def applied_to(self, scenario: Scenario, value: float) -> Scenario:
        """The scenario with another value.

        Raises:
            InputError: the system refuses it.
        """
        system = replace_field(scenario.system, self.path, value, self.key)
        return dataclasses.replace(scenario, system=system)


def parameters_of(system: SystemSpec, method: Method = SIMULATION) -> list[Parameter]:
    """Return what can vary of a system under a method, besides what is 0, since no factor changes that."""
    found = [_parameter(system, each) for each in method.varied(system)]
    return [parameter for parameter in found if parameter.value > 0]


def parameters_named(system: SystemSpec, keys: Sequence[str], method: Method = SIMULATION) -> list[Parameter]:
    """Return some of `parameters_of`; `system.` may be left out.

    Raises:
        InputError: a key is none of them; names all of them.
    """
    known = {parameter.key: parameter for parameter in parameters_of(system, method)}
    found = []
    for key in keys:
        full = key if key.startswith(_PREFIX) else _PREFIX + key
        if full not in known:
            hint = did_you_mean(full, known)
            raise InputError(f"{key} cannot be varied on {system.name}; known are {', '.join(known)}{hint}")
        found.append(known[full])
    return found


def _parameter(system: SystemSpec, each: Varied) -> Parameter:
    value = read_field(system, tuple(each.path.split(".")))
    return Parameter(_PREFIX + each.path, value, each.resource, each.is_integer, each.computes)
