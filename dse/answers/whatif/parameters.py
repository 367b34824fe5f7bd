"""The numbers of a system that can vary around a point: which there are, and other values of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean
from dse.inputs.systems import SystemSpec
from dse.studies.points import Scenario
from dse.studies.space.fields import Path, read_field, replace_field

_PREFIX = "system."
_PRECISIONS = ("bf16", "fp8")


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


def parameters_of(system: SystemSpec, *, is_predicted: bool = False) -> list[Parameter]:
    """Return what can vary: compute, memory bandwidth, then bandwidths, latencies, and the endpoint delay.

    Left out is what has no effect: the roofline's two figures where it is off, bandwidth and latency of
    Graph dimensions (they stand in the file), and whatever is 0, since no factor changes that.
    `injection_scale` only multiplies the endpoint delay. Where points are predicted, they are the figures of
    the accelerator and of the tiers of the cluster.
    """
    if is_predicted:
        return _of_cluster(system)
    found = []
    computes = system.roofline_enabled and not system.replay_only
    for index, each in enumerate(system.npu_types if computes else ()):
        found += [
            _parameter(system, f"npu_types.{index}.peak_tflops", f"compute of {each.name}", computes=True),
            _parameter(
                system,
                f"npu_types.{index}.memory_bandwidth_gbps",
                f"memory bandwidth of {each.name}",
                computes=True,
            ),
        ]
    if computes and not system.npu_types:
        found += [
            _parameter(system, "peak_tflops", "compute", computes=True),
            _parameter(system, "memory_bandwidth_gbps", "memory bandwidth", computes=True),
        ]
    dimensions = [index for index, dimension in enumerate(system.network) if dimension.file is None]
    for name, what in (("bandwidth_gbps", "bandwidth"), ("latency_ns", "latency")):
        found += [
            _parameter(system, f"network.{index}.{name}", f"{what} of network dimension {index}")
            for index in dimensions
        ]
    if system.injection_scale > 0:
        found.append(_parameter(system, "endpoint_delay_ns", "endpoint delay", is_integer=True))
    return [parameter for parameter in found if parameter.value > 0]


def _of_cluster(system: SystemSpec) -> list[Parameter]:
    assert system.accelerator is not None
    peaks = [name for name in _PRECISIONS if name in system.accelerator.peak_tflops]
    found = [
        *[
            _parameter(system, f"accelerator.peak_tflops.{name}", f"compute in {name}", computes=True)
            for name in peaks
        ],
        _parameter(system, "accelerator.memory_bandwidth_gbps", "memory bandwidth", computes=True),
    ]
    for index, tier in enumerate(system.tiers):
        rate = "nic_gbit_per_s" if tier.bandwidth_gbps is None else "bandwidth_gbps"
        if getattr(tier, rate) is not None:
            found.append(_parameter(system, f"tiers.{index}.{rate}", f"bandwidth of {tier.name}"))
    for index, tier in enumerate(system.tiers):
        found.append(_parameter(system, f"tiers.{index}.latency_us", f"latency of {tier.name}"))
    return [parameter for parameter in found if parameter.value > 0]


def parameters_named(
    system: SystemSpec, keys: Sequence[str], *, is_predicted: bool = False
) -> list[Parameter]:
    """Return some of `parameters_of`; `system.` may be left out.

    Raises:
        InputError: a key is none of them; names all of them.
    """
    known = {parameter.key: parameter for parameter in parameters_of(system, is_predicted=is_predicted)}
    found = []
    for key in keys:
        full = key if key.startswith(_PREFIX) else _PREFIX + key
        if full not in known:
            hint = did_you_mean(full, known)
            raise InputError(f"{key} cannot be varied on {system.name}; known are {', '.join(known)}{hint}")
        found.append(known[full])
    return found


def _parameter(
    system: SystemSpec, name: str, resource: str, *, is_integer: bool = False, computes: bool = False
) -> Parameter:
    value = read_field(system, tuple(name.split(".")))
    return Parameter(_PREFIX + name, value, resource, is_integer, computes)
