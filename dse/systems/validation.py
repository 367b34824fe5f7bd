"""Every rule that a system must keep, in one place; messages name the key as a user writes it."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING

from dse.errors import InputError
from dse.suggestions import did_you_mean

if TYPE_CHECKING:
    from dse.systems.spec import Dimension, SystemSpec

REFERENCE_TOPOLOGIES = ("Ring", "FullyConnected", "Switch")
# Topology -> what its `shape` holds, and how many of the entries multiply to the NPUs.
SHAPED_TOPOLOGIES = {
    "Mesh2D": ("[width, height]", 2, 2),
    "Torus2D": ("[width, height]", 2, 2),
    "Torus3D": ("[width, height, depth]", 3, 3),
    "FatTree": ("[NPUs per leaf, leaves, spines]", 3, 2),
    "Dragonfly": ("[NPUs per router, routers per group, groups]", 3, 3),
}
TOPOLOGIES = (*REFERENCE_TOPOLOGIES, *SHAPED_TOPOLOGIES, "Hypercube", "Graph")
ROUTINGS = ("", "deterministic", "ecmp")
NETWORK_MODELS = ("congestion_unaware", "congestion_aware")
SCHEDULING_POLICIES = ("LIFO", "FIFO", "EXPLICIT")
COLLECTIVE_OPTIMIZATIONS = ("baseline", "localBWAware")
MEMORY_TYPES = ("NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "MEMORY_POOL")
# Keys of system.json that have no effect; the last five serve only the bus model, which is not supported.
INERT_KEYS = (
    "boost-mode",
    "intra-dimension-scheduling",
    "inter-dimension-scheduling",
    "local-reduction-delay",
    "L",
    "o",
    "g",
    "G",
)
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
ALGORITHMS = (
    "ring",
    "direct",
    "halvingDoubling",
    "doubleBinaryTree",
    "oneRing",
    "oneDirect",
    "oneHalvingDoubling",
)
_WINDOWED_ALGORITHM = re.compile(r"(direct|oneDirect)[1-9][0-9]{0,4}", re.ASCII)
_MAX_INTEGER = 2**31 - 1  # the reference's int


class InvalidSystem(InputError):  # noqa: N818 (says what the system is)
    """A field of a system breaks a rule.

    `path` is its key below `system`, `problem` says what was got and what is allowed.
    """

    def __init__(self, path: str, problem: str) -> None:
        """Make the message `system.<path> <problem>`."""
        super().__init__(f"system.{path} {problem}")
        self.path = path
        self.problem = problem


def validate(system: SystemSpec) -> None:
    """Check all fields of a system.

    Raises:
        InvalidSystem: the first field that breaks a rule.
    """
    if not system.name:
        raise InvalidSystem("name", "is empty; it must name the system, for example system1")
    _check_network(system)
    _check_collectives(system)
    _choice("network_model", system.network_model, NETWORK_MODELS)
    _choice("scheduling_policy", system.scheduling_policy, SCHEDULING_POLICIES)
    _choice("collective_optimization", system.collective_optimization, COLLECTIVE_OPTIMIZATIONS)
    _integer("endpoint_delay_ns", system.endpoint_delay_ns, 0)
    _integer("active_chunks_per_dimension", system.active_chunks_per_dimension, 1)
    _integer("preferred_dataset_splits", system.preferred_dataset_splits, 1)
    _integer("queues_per_dimension", system.queues_per_dimension, 1)
    _number("injection_scale", system.injection_scale, zero_allowed=True)
    if system.endpoint_delay_ns * system.injection_scale > _MAX_INTEGER:
        problem = f"times endpoint_delay_ns {system.endpoint_delay_ns} must be at most {_MAX_INTEGER} ns"
        raise InvalidSystem("injection_scale", f"{system.injection_scale} {problem}")
    _check_roofline(system)
    if not system.local_memory_trace_filename:
        raise InvalidSystem("local_memory_trace_filename", "is empty; it must be a file name")
    if system.model_shared_bus:
        raise InvalidSystem("model_shared_bus", "is on; the bus model is not supported, set it to 0")
    _check_remote_memory(system)
    _check_degradations(system)
    _check_inert(system)


def _check_network(system: SystemSpec) -> None:
    if not system.network:
        raise InvalidSystem("network", "is empty; it must list at least one dimension")
    for index, dimension in enumerate(system.network):
        path = f"network.{index}"
        _choice(f"{path}.topology", dimension.topology, TOPOLOGIES)
        _integer(f"{path}.npus", dimension.npus, 2)
        _number(f"{path}.bandwidth_gbps", dimension.bandwidth_gbps, zero_allowed=False)
        _number(f"{path}.latency_ns", dimension.latency_ns, zero_allowed=True)
        _check_shape(path, dimension)
    if system.npus > _MAX_INTEGER:
        raise InvalidSystem("network", f"has {system.npus} NPUs in all; at most {_MAX_INTEGER} are allowed")


def _check_shape(path: str, dimension: Dimension) -> None:
    topology, shape = dimension.topology, dimension.shape
    if topology in SHAPED_TOPOLOGIES:
        meaning, entries, factors = SHAPED_TOPOLOGIES[topology]
        valid = all(isinstance(size, int) and not isinstance(size, bool) and size >= 1 for size in shape)
        if len(shape) != entries or not valid:
            raise InvalidSystem(f"{path}.shape", f"is {list(shape)}; {topology} needs {meaning}")
        if math.prod(shape[:factors]) != dimension.npus:
            problem = (
                f"is {list(shape)}, which has {math.prod(shape[:factors])} NPUs, but npus is {dimension.npus}"
            )
            raise InvalidSystem(f"{path}.shape", problem)
    elif shape:
        raise InvalidSystem(f"{path}.shape", f"is {list(shape)}; {topology} has none")
    if topology == "Hypercube" and dimension.npus & (dimension.npus - 1):
        raise InvalidSystem(f"{path}.npus", f"is {dimension.npus}; a Hypercube needs a power of two")
    if (topology == "Graph") != (dimension.file is not None):
        problem = (
            "is missing; Graph needs a CSV file"
            if topology == "Graph"
            else f"is set, but {topology} has none"
        )
        raise InvalidSystem(f"{path}.file", problem)
    if dimension.routes is not None and topology != "Graph":
        raise InvalidSystem(f"{path}.routes", "is set, but only Graph has static routes")
    _choice(f"{path}.routing", dimension.routing, ROUTINGS if topology == "FatTree" else ("",))


def _check_degradations(system: SystemSpec) -> None:
    for index, fault in enumerate(system.faults):
        path = f"faults.{index}"
        _integer(f"{path}.source", fault.source, 0)
        _integer(f"{path}.destination", fault.destination, 0)
        _number(f"{path}.bandwidth_factor", fault.bandwidth_factor, zero_allowed=False)
        _number(f"{path}.latency_factor", fault.latency_factor, zero_allowed=True)
        if isinstance(fault.at_ns, bool) or not isinstance(fault.at_ns, int) or not 0 <= fault.at_ns < 2**53:
            raise InvalidSystem(f"{path}.at_ns", f"is {fault.at_ns}; it must be an integer of at least 0")
        if system.network_model != "congestion_aware":
            problem = f"needs network_model congestion_aware; {system.network_model} has no links"
            raise InvalidSystem(path, problem)
    for index, derating in enumerate(system.deratings):
        path = f"deratings.{index}"
        _integer(f"{path}.npu", derating.npu, 0)
        if derating.npu >= system.npus:
            raise InvalidSystem(f"{path}.npu", f"is {derating.npu}, but the network has {system.npus} NPUs")
        _number(f"{path}.compute_factor", derating.compute_factor, zero_allowed=False)
        _number(f"{path}.memory_factor", derating.memory_factor, zero_allowed=False)


def _check_collectives(system: SystemSpec) -> None:
    for collective in COLLECTIVES:
        path = f"collectives.{collective}"
        algorithms = getattr(system.collectives, collective)
        for index, name in enumerate(algorithms):
            if name not in ALGORITHMS and not _WINDOWED_ALGORITHM.fullmatch(str(name)):
                allowed = f"{', '.join(ALGORITHMS)}, directN or oneDirectN with a window N of 1 to 5 digits"
                hint = did_you_mean(str(name), ALGORITHMS)
                raise InvalidSystem(f"{path}.{index}", f"is {_show(name)}; allowed are {allowed}{hint}")
        if len(algorithms) > len(system.network):
            raise InvalidSystem(
                path,
                f"lists {len(algorithms)} algorithms for {len(system.network)} network dimensions; "
                "at most one for each dimension is allowed",
            )


def _check_roofline(system: SystemSpec) -> None:
    for field in ("peak_tflops", "memory_bandwidth_gbps"):
        value = getattr(system, field)
        _number(field, value, zero_allowed=True)
        if value == 0 and system.roofline_enabled:
            raise InvalidSystem(field, "is 0; it must be greater than 0 unless the roofline model is off")


def _check_remote_memory(system: SystemSpec) -> None:
    memory = system.remote_memory
    if memory.memory_type == "PER_NODE_MEMORY_EXPANSION":
        raise InvalidSystem(
            "remote_memory.memory_type",
            "is PER_NODE_MEMORY_EXPANSION, which is not supported: the reference reads freed memory with it; "
            f"allowed are {', '.join(MEMORY_TYPES)}",
        )
    _choice("remote_memory.memory_type", memory.memory_type, MEMORY_TYPES)
    _integer("remote_memory.latency_ns", memory.latency_ns, 0)
    used = memory.memory_type != "NO_MEMORY_EXPANSION"
    _integer("remote_memory.bandwidth_bytes_per_ns", memory.bandwidth_bytes_per_ns, 1 if used else 0)
    for field in ("num_nodes", "num_npus_per_node"):
        if getattr(memory, field) is not None:
            _integer(f"remote_memory.{field}", getattr(memory, field), 1)


def _check_inert(system: SystemSpec) -> None:
    keys = [key for key, _ in system.inert]
    for key, value in system.inert:
        if key not in INERT_KEYS:
            raise InvalidSystem(f"inert.{key}", f"is no inert key; allowed are {', '.join(INERT_KEYS)}")
        if keys.count(key) > 1:
            raise InvalidSystem(f"inert.{key}", "occurs twice; every key is allowed once")
        if not isinstance(value, (str, int, float)):
            raise InvalidSystem(f"inert.{key}", f"is {value}; it must be a string or a number")


def _choice(path: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = did_you_mean(str(value), allowed)
        raise InvalidSystem(path, f"is {_show(value)}; allowed are {', '.join(allowed)}{hint}")


def _integer(path: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MAX_INTEGER:
        raise InvalidSystem(path, f"is {_show(value)}; it must be an integer from {least} to {_MAX_INTEGER}")


def _number(path: str, value: object, *, zero_allowed: bool) -> None:
    typed = isinstance(value, (int, float)) and not isinstance(value, bool)
    valid = typed and 0 <= value <= sys.float_info.max  # type: ignore[operator]
    if not valid or (value == 0 and not zero_allowed):
        bound = "0 or greater" if zero_allowed else "greater than 0"
        raise InvalidSystem(path, f"is {_show(value)}; it must be a number {bound}")


def _show(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
