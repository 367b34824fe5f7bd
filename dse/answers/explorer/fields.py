"""Every number of a model and a system as a field of the page: its key, its bounds, its slider."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dse.answers.explorer.field import (
    Field,
    Path,
    choice_field,
    flag_field,
    integer_field,
    number_field,
    positive_field,
)
from dse.answers.whatif import parameters_of
from dse.inputs.accelerators.cluster import MAX_NPUS
from dse.inputs.models import ModelSpec
from dse.inputs.models.spec import MAX_INSTANCES, MAX_LAYERS
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import DERIVED
from dse.inputs.systems.fields import FOLLOWING
from dse.inputs.systems.validation import (
    COLLECTIVE_OPTIMIZATIONS,
    COLLECTIVES,
    END_OF_TIME_NS,
    ISSUE_ORDERS,
    MAX_CHUNKS,
    MAX_INTEGER,
    MAX_QUEUES,
    MAX_SPEED,
    NETWORK_MODELS,
)
from dse.studies.points import Scenario
from dse.studies.points.inputs import model_json

SAFE_INTEGER = 2**53 - 1
"""The largest integer of which a page knows the neighbours; the engine has larger ones."""

_PLAIN_TOPOLOGIES = ("Ring", "FullyConnected", "Switch")
_ALGORITHMS = ("ring", "direct", "halvingDoubling", "doubleBinaryTree")
_DIVISIBILITIES = ("stage", "whole", "strict")


def fields_of(scenario: Scenario) -> list[Field]:
    """Return the fields of a scenario: of its model, of what strategies it allows, then of its system."""
    return [*model_fields(scenario.model), divisibility_field(scenario), *system_fields(scenario.system)]


def model_fields(model: ModelSpec) -> list[Field]:
    """Return the fields of a model, the same ones for all models of its fidelity.

    Left out is what has no effect under the fidelity: what traces show only with its repairs.
    """

    def whole(name: str, label: str, unit: str, least: int = 1, most: int = SAFE_INTEGER) -> Field:
        return integer_field(("model", name), label, "Model", unit, values[name], least, most)

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
        found.append(integer_field(*heads, model.num_kv_heads, 1, SAFE_INTEGER, is_optional=True))
    found += [
        whole("input_dim", "input embedding (vocabulary)", ""),
        whole("output_dim", "output embedding (vocabulary)", ""),
    ]
    if repairs.block_shapes:
        found.append(flag_field(("model", "gated_mlp"), "gated feed-forward", "Model", model.gated_mlp))
    if repairs.contiguous_stages:
        count = ("model", "micro_batches"), "micro-batches", "Model", ""
        most = MAX_INSTANCES // model.num_layers
        found.append(integer_field(*count, model.micro_batches, 1, most, is_optional=True))
    size = ("model", "repairs", "bytes_per_element"), "bytes of an element", "Model", "B"
    found.append(integer_field(*size, model.repairs.bytes_per_element, 1, 8, is_optional=True))
    return found


def system_fields(system: SystemSpec) -> list[Field]:
    """Return the fields of a system; what follows from an accelerator is none, as in the terminal."""
    follows = {
        *((*DERIVED, "collectives") if system.accelerator is not None else ()),
        *(FOLLOWING if system.npu_types else ()),
    }
    resources = {parameter.key: parameter.resource for parameter in parameters_of(system)}
    found = [each for each in _all_of(system) if str(each.path[1]) not in follows]
    return [_with_resource(each, resources.get(each.key, "")) for each in found]


def _all_of(system: SystemSpec) -> Iterator[Field]:
    if system.roofline_enabled and not system.replay_only:
        yield positive_field(
            ("system", "peak_tflops"), "peak performance", "Compute", "TFLOPS", system.peak_tflops
        )
        name = "memory bandwidth"
        yield positive_field(
            ("system", "memory_bandwidth_gbps"), name, "Compute", "GB/s", system.memory_bandwidth_gbps
        )
    yield flag_field(("system", "roofline_enabled"), "roofline model", "Compute", system.roofline_enabled)
    yield from _slow_npus(system)
    yield from _network(system)
    yield from _collectives(system)
    tracked = ("system", "track_local_memory")
    yield flag_field(tracked, "peak memory is tracked", "Limits", system.track_local_memory)


def _slow_npus(system: SystemSpec) -> Iterator[Field]:
    for index, each in enumerate(system.deratings):
        path = ("system", "deratings", index)
        name = f"of NPU {each.npu}"
        yield positive_field(
            (*path, "compute_factor"), f"compute factor {name}", "Compute", "", each.compute_factor
        )
        yield positive_field(
            (*path, "memory_factor"), f"memory factor {name}", "Compute", "", each.memory_factor
        )


def _network(system: SystemSpec) -> Iterator[Field]:
    for index, dimension in enumerate(system.network):
        path = ("system", "network", index)
        where = "" if len(system.network) == 1 else f"dimension {index}: "
        if dimension.topology in _PLAIN_TOPOLOGIES:
            name = f"{where}topology"
            yield choice_field((*path, "topology"), name, "Network", dimension.topology, _PLAIN_TOPOLOGIES)
            npus, others = (*path, "npus"), system.npus // dimension.npus
            yield integer_field(npus, f"{where}NPUs", "Network", "", dimension.npus, 2, MAX_NPUS // others)
        rate = (*path, "bandwidth_gbps"), f"{where}bandwidth of a link", "Network", "GiB/s"
        yield positive_field(*rate, dimension.bandwidth_gbps)
        latency = (*path, "latency_ns"), f"{where}latency of a hop", "Network", "ns"
        yield number_field(*latency, dimension.latency_ns, 0, END_OF_TIME_NS - 1)
    delay_ns, scale = system.endpoint_delay_ns, system.injection_scale  # their product has 31 bits
    delay = ("system", "endpoint_delay_ns"), "endpoint delay", "Network", "ns"
    yield integer_field(*delay, delay_ns, 0, math.floor(MAX_INTEGER / max(1, scale)))
    factor = ("system", "injection_scale"), "scale of the endpoint delay", "Network", ""
    yield number_field(*factor, scale, 0, MAX_INTEGER // max(1, delay_ns))
    yield flag_field(
        ("system", "rendezvous_protocol"), "rendezvous protocol", "Network", system.rendezvous_protocol
    )
    for index, fault in enumerate(system.faults):
        yield from _fault(("system", "faults", index), f"link {fault.source}–{fault.destination}", fault)
    if not system.faults:  # which need links
        aware = ("system", "network_model"), "network model", "Network"
        yield choice_field(*aware, system.network_model, NETWORK_MODELS)


def _fault(path: Path, name: str, fault: Any) -> Iterator[Field]:
    if not fault.removed:
        rate = (*path, "bandwidth_factor"), f"{name}: bandwidth factor", "Network", ""
        yield positive_field(*rate, fault.bandwidth_factor)
        latency = (*path, "latency_factor"), f"{name}: latency factor", "Network", ""
        yield number_field(*latency, fault.latency_factor, 0, MAX_SPEED)
    yield integer_field(
        (*path, "at_ns"), f"{name}: from", "Network", "ns", fault.at_ns, 0, END_OF_TIME_NS - 1
    )


def _collectives(system: SystemSpec) -> Iterator[Field]:
    for collective in COLLECTIVES:
        for index, name in enumerate(getattr(system.collectives, collective)):
            path = ("system", "collectives", collective, index)
            where = "" if len(system.network) == 1 else f", dimension {index}"
            choices = _ALGORITHMS if name in _ALGORITHMS else (name, *_ALGORITHMS)
            yield choice_field(path, f"{collective.replace('_', '-')}{where}", "Collectives", name, choices)
    counts = (
        ("preferred_dataset_splits", "chunks of a collective", MAX_CHUNKS),
        ("active_chunks_per_dimension", "active chunks of a dimension", MAX_INTEGER),
        ("queues_per_dimension", "queues of a dimension", MAX_QUEUES),
    )
    for key, label, most in counts:
        yield integer_field(("system", key), label, "Collectives", "", getattr(system, key), 1, most)
    optimization = ("system", "collective_optimization"), "optimisation", "Collectives"
    yield choice_field(*optimization, system.collective_optimization, COLLECTIVE_OPTIMIZATIONS)
    if system.issue_order is not None:
        order = ("system", "issue_order"), "issue order", "Collectives"
        yield choice_field(*order, system.issue_order, ISSUE_ORDERS)


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


def _with_resource(each: Field, resource: str) -> Field:
    return replace(each, resource=resource) if resource else each
