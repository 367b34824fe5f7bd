"""Every number of a model and a system as a field of the page: its key, its bounds, its slider."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from dse.models import ModelSpec
from dse.models.spec import MAX_INSTANCES, MAX_LAYERS
from dse.points import Scenario
from dse.points.inputs import model_json
from dse.systems import SystemSpec
from dse.systems.clusters import DERIVED
from dse.systems.types import FOLLOWING
from dse.systems.validation import (
    COLLECTIVE_OPTIMIZATIONS,
    COLLECTIVES,
    END_OF_TIME_NS,
    ISSUE_ORDERS,
    MAX_CHUNKS,
    MAX_INTEGER,
    MAX_NPUS,
    MAX_QUEUES,
    MAX_SPEED,
    NETWORK_MODELS,
)

Kind = Literal["number", "choice", "flag"]
Path = tuple[str | int, ...]

SAFE_INTEGER = 2**53 - 1
"""The largest integer of which a page knows the neighbours; the engine has larger ones."""

LEAST_POSITIVE = 5e-324
"""Of a number above 0."""

REACH = 64
"""A slider goes from a 64th of the value to 64 times it, as far as `dse.sensitivity` looks."""

_PLAIN_TOPOLOGIES = ("Ring", "FullyConnected", "Switch")
_ALGORITHMS = ("ring", "direct", "halvingDoubling", "doubleBinaryTree")
_DIVISIBILITIES = ("stage", "whole", "strict")


@dataclass(frozen=True)
class Field:
    """A value of a scenario that the page may change.

    `key` is the override of the terminal, `path` where the value stands in the scenario of the page; both
    name the same. `value` is that of the present scenario; null, where it `is_optional`, stands for what the
    rest implies. Numbers are from `least` to `most`, as the configuration checks them; `allowed` says it as
    its messages do. A slider goes from `slider_least` to `slider_most`, in steps of the logarithm if
    `is_log`. `resource` is what `dse.whatif` calls a parameter; empty where sensitivities do not vary it.
    """

    key: str
    path: Path
    label: str
    group: str
    unit: str
    value: float | int | str | bool | None
    kind: Kind = "number"
    least: float | None = None
    most: float | None = None
    is_integer: bool = False
    is_log: bool = False
    is_optional: bool = False
    choices: Sequence[str] = ()
    resource: str = ""
    allowed: str = ""
    slider_least: float | None = None
    slider_most: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "path": list(self.path), "choices": list(self.choices)}


def fields_of(scenario: Scenario) -> list[Field]:
    """Return the fields of a scenario: of its model, of what strategies it allows, then of its system."""
    return [*model_fields(scenario.model), divisibility_field(scenario), *system_fields(scenario.system)]


def model_fields(model: ModelSpec) -> list[Field]:
    """Return the fields of a model, the same ones for all models of its fidelity.

    Left out is what has no effect under the fidelity: what traces show only with its repairs.
    """

    def whole(name: str, label: str, unit: str, least: int = 1, most: int = SAFE_INTEGER) -> Field:
        return _integer(("model", name), label, "Model", unit, values[name], least, most)

    values = json.loads(model_json(model))
    found = [
        whole("batch_size", "global batch", "sequences"),
        whole("seq_len", "sequence length", "tokens"),
        whole("num_layers", "layers", "", 2, MAX_LAYERS),
        whole("d_model", "hidden width", ""),
        whole("d_ff", "feed-forward width", ""),
        whole("num_heads", "attention heads", ""),
    ]
    repairs = model.resolved_repairs
    if repairs.block_shapes:
        heads = ("model", "num_kv_heads"), "heads of keys and values", "Model", ""
        found.append(_integer(*heads, model.num_kv_heads, 1, SAFE_INTEGER, is_optional=True))
    found += [
        whole("input_dim", "input embedding (vocabulary)", ""),
        whole("output_dim", "output embedding (vocabulary)", ""),
    ]
    if repairs.block_shapes:
        found.append(_flag(("model", "gated_mlp"), "gated feed-forward", "Model", model.gated_mlp))
    if repairs.contiguous_stages:
        count = ("model", "micro_batches"), "micro-batches", "Model", ""
        most = MAX_INSTANCES // model.num_layers
        found.append(_integer(*count, model.micro_batches, 1, most, is_optional=True))
    size = ("model", "repairs", "bytes_per_element"), "bytes of an element", "Model", "B"
    found.append(_integer(*size, model.repairs.bytes_per_element, 1, 8, is_optional=True))
    return found


def system_fields(system: SystemSpec) -> list[Field]:
    """Return the fields of a system; what follows from an accelerator is none, as in the terminal."""
    follows = {
        *((*DERIVED, "collectives") if system.accelerator is not None else ()),
        *(FOLLOWING if system.npu_types else ()),
    }
    resources = _resources(system)
    found = [each for each in _all_of(system) if str(each.path[1]) not in follows]
    return [_with_resource(each, resources.get(each.key, "")) for each in found]


def _all_of(system: SystemSpec) -> Iterator[Field]:
    if system.roofline_enabled and not system.replay_only:
        yield _positive(
            ("system", "peak_tflops"), "peak performance", "Compute", "TFLOPS", system.peak_tflops
        )
        name = "memory bandwidth"
        yield _positive(
            ("system", "memory_bandwidth_gbps"), name, "Compute", "GB/s", system.memory_bandwidth_gbps
        )
    yield _flag(("system", "roofline_enabled"), "roofline model", "Compute", system.roofline_enabled)
    yield from _slow_npus(system)
    yield from _network(system)
    yield from _collectives(system)
    tracked = ("system", "track_local_memory")
    yield _flag(tracked, "peak memory is tracked", "Limits", system.track_local_memory)


def _slow_npus(system: SystemSpec) -> Iterator[Field]:
    for index, each in enumerate(system.deratings):
        path = ("system", "deratings", index)
        name = f"of NPU {each.npu}"
        yield _positive(
            (*path, "compute_factor"), f"compute factor {name}", "Compute", "", each.compute_factor
        )
        yield _positive((*path, "memory_factor"), f"memory factor {name}", "Compute", "", each.memory_factor)


def _network(system: SystemSpec) -> Iterator[Field]:
    for index, dimension in enumerate(system.network):
        path = ("system", "network", index)
        where = "" if len(system.network) == 1 else f"dimension {index}: "
        if dimension.topology in _PLAIN_TOPOLOGIES:
            name = f"{where}topology"
            yield _choice((*path, "topology"), name, "Network", dimension.topology, _PLAIN_TOPOLOGIES)
            npus, others = (*path, "npus"), system.npus // dimension.npus
            yield _integer(npus, f"{where}NPUs", "Network", "", dimension.npus, 2, MAX_NPUS // others)
        rate = (*path, "bandwidth_gbps"), f"{where}bandwidth of a link", "Network", "GiB/s"
        yield _positive(*rate, dimension.bandwidth_gbps)
        latency = (*path, "latency_ns"), f"{where}latency of a hop", "Network", "ns"
        yield _number(*latency, dimension.latency_ns, 0, END_OF_TIME_NS - 1)
    delay_ns, scale = system.endpoint_delay_ns, system.injection_scale  # their product has 31 bits
    delay = ("system", "endpoint_delay_ns"), "endpoint delay", "Network", "ns"
    yield _integer(*delay, delay_ns, 0, math.floor(MAX_INTEGER / max(1, scale)))
    factor = ("system", "injection_scale"), "scale of the endpoint delay", "Network", ""
    yield _number(*factor, scale, 0, MAX_INTEGER // max(1, delay_ns))
    yield _flag(
        ("system", "rendezvous_protocol"), "rendezvous protocol", "Network", system.rendezvous_protocol
    )
    for index, fault in enumerate(system.faults):
        yield from _fault(("system", "faults", index), f"link {fault.source}–{fault.destination}", fault)
    if not system.faults:  # which need links
        aware = ("system", "network_model"), "network model", "Network"
        yield _choice(*aware, system.network_model, NETWORK_MODELS)


def _fault(path: Path, name: str, fault: Any) -> Iterator[Field]:
    if not fault.removed:
        rate = (*path, "bandwidth_factor"), f"{name}: bandwidth factor", "Network", ""
        yield _positive(*rate, fault.bandwidth_factor)
        latency = (*path, "latency_factor"), f"{name}: latency factor", "Network", ""
        yield _number(*latency, fault.latency_factor, 0, MAX_SPEED)
    yield _integer((*path, "at_ns"), f"{name}: from", "Network", "ns", fault.at_ns, 0, END_OF_TIME_NS - 1)


def _collectives(system: SystemSpec) -> Iterator[Field]:
    for collective in COLLECTIVES:
        for index, name in enumerate(getattr(system.collectives, collective)):
            path = ("system", "collectives", collective, index)
            where = "" if len(system.network) == 1 else f", dimension {index}"
            choices = _ALGORITHMS if name in _ALGORITHMS else (name, *_ALGORITHMS)
            yield _choice(path, f"{collective.replace('_', '-')}{where}", "Collectives", name, choices)
    counts = (
        ("preferred_dataset_splits", "chunks of a collective", MAX_CHUNKS),
        ("active_chunks_per_dimension", "active chunks of a dimension", MAX_INTEGER),
        ("queues_per_dimension", "queues of a dimension", MAX_QUEUES),
    )
    for key, label, most in counts:
        yield _integer(("system", key), label, "Collectives", "", getattr(system, key), 1, most)
    optimization = ("system", "collective_optimization"), "optimisation", "Collectives"
    yield _choice(*optimization, system.collective_optimization, COLLECTIVE_OPTIMIZATIONS)
    if system.issue_order is not None:
        order = ("system", "issue_order"), "issue order", "Collectives"
        yield _choice(*order, system.issue_order, ISSUE_ORDERS)


def divisibility_field(scenario: Scenario) -> Field:
    """Return the field that says which strategies are feasible."""
    return Field(
        "workload.divisibility",
        ("divisibility",),
        "sizes that do not divide",
        "Limits",
        "",
        scenario.resolved_divisibility,
        "choice",
        choices=_DIVISIBILITIES,
        allowed=f"one of {', '.join(_DIVISIBILITIES)}",
    )


def _resources(system: SystemSpec) -> dict[str, str]:
    from dse.whatif import parameters_of

    return {parameter.key: parameter.resource for parameter in parameters_of(system)}


def _with_resource(each: Field, resource: str) -> Field:
    return replace(each, resource=resource) if resource else each


def _key(path: Path) -> str:
    return ".".join(map(str, path))


def _flag(path: Path, label: str, group: str, value: bool) -> Field:
    return Field(_key(path), path, label, group, "", value, "flag", allowed="true or false")


def _choice(path: Path, label: str, group: str, value: str, choices: Sequence[str]) -> Field:
    allowed = f"one of {', '.join(choices)}"
    return Field(_key(path), path, label, group, "", value, "choice", choices=choices, allowed=allowed)


def _integer(
    path: Path,
    label: str,
    group: str,
    unit: str,
    value: int | None,
    least: int,
    most: int,
    *,
    is_optional: bool = False,
) -> Field:
    low, high = _slider(least if value is None else value, least, most)
    return Field(
        _key(path),
        path,
        label,
        group,
        unit,
        value,
        least=least,
        most=most,
        is_integer=True,
        is_log=low > 0,
        is_optional=is_optional,
        allowed=f"an integer from {least} to {most}",
        slider_least=math.ceil(low),
        slider_most=math.floor(high),
    )


def _positive(path: Path, label: str, group: str, unit: str, value: float) -> Field:
    """A number above 0, up to the greatest speed."""
    return _number(path, label, group, unit, value, LEAST_POSITIVE, MAX_SPEED)


def _number(path: Path, label: str, group: str, unit: str, value: float, least: float, most: float) -> Field:
    low, high = _slider(value, least, most)
    from_zero = "0 or greater" if least == 0 else "greater than 0"
    return Field(
        _key(path),
        path,
        label,
        group,
        unit,
        value,
        least=least,
        most=most,
        is_log=low > 0,
        allowed=f"a number {from_zero}, and at most {most:g}",
        slider_least=low,
        slider_most=high,
    )


def _slider(value: float, least: float, most: float) -> tuple[float, float]:
    """Around the value; from 0 where the value is 0."""
    if value == 0:
        return least, min(most, 1000.0)
    return max(least, value / REACH), min(most, value * REACH)
