"""Every rule that a system must keep; messages name the key as a user writes it.

The rules of topologies and the names of collective algorithms are the engine's, which is loaded to check one.
"""

from __future__ import annotations

import sys

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.lazy import _engine
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS
from dse.inputs.accelerators.cluster import MAX_NPUS
from dse.inputs.systems.fields import (
    FOLLOWING,
    Dimension,
    SystemFields,
    algorithm_of,
    figures_of,
    synthesizer_problem,
)

NETWORK_MODELS = ("congestion_unaware", "congestion_aware")
SCHEDULING_POLICIES = ("LIFO", "FIFO", "EXPLICIT")
COLLECTIVE_OPTIMIZATIONS = ("baseline", "localBWAware")
ISSUE_ORDERS = ("reference", "safe")
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
MAX_INTEGER = 2**31 - 1  # the reference's int
END_OF_TIME_NS = 2**53  # the engine has no later time; 104 days
MAX_SPEED = 1e30  # far above anything that is built, far below where products become infinite
_END_OF_TIME = "the end of simulated time (104 days)"
_MOST_OF_A_SIZE = 2**32  # of a shape
MAX_QUEUES = 2**16  # of a dimension; each takes memory on every NPU
MAX_CHUNKS = 2**16  # of a collective; each is a stream of its own


class InvalidSystem(InputError):  # noqa: N818 (says what the system is)
    """A field of a system breaks a rule.

    `path` is its key below `system`, `problem` says what was got and what is allowed.
    """

    def __init__(self, path: str, problem: str) -> None:
        """Make the message `system.<path> <problem>`."""
        super().__init__(f"system.{path} {problem}")
        self.path = path
        self.problem = problem


def validate(system: SystemFields) -> None:
    """Check all fields of a system.

    Raises:
        InvalidSystem: the first field that breaks a rule.
    """
    if not system.name:
        raise InvalidSystem("name", "is empty; it must name the system, for example system1")
    if not system.name.isprintable():
        raise InvalidSystem("name", f"is {system.name!r}; it must have printable characters only")
    _check_network(system)
    _check_collectives(system)
    _choice("network_model", system.network_model, NETWORK_MODELS)
    _choice("scheduling_policy", system.scheduling_policy, SCHEDULING_POLICIES)
    _choice("collective_optimization", system.collective_optimization, COLLECTIVE_OPTIMIZATIONS)
    _integer("endpoint_delay_ns", system.endpoint_delay_ns, 0)
    _integer("active_chunks_per_dimension", system.active_chunks_per_dimension, 1)
    _integer("preferred_dataset_splits", system.preferred_dataset_splits, 1, MAX_CHUNKS)
    _integer("queues_per_dimension", system.queues_per_dimension, 1, MAX_QUEUES)
    _number("injection_scale", system.injection_scale, zero_allowed=True)
    if system.endpoint_delay_ns * system.injection_scale > MAX_INTEGER:
        problem = f"times endpoint_delay_ns {system.endpoint_delay_ns} must be at most {MAX_INTEGER} ns"
        raise InvalidSystem("injection_scale", f"{system.injection_scale} {problem}")
    _check_roofline(system)
    if not system.local_memory_trace_filename:
        raise InvalidSystem("local_memory_trace_filename", "is empty; it must be a file name")
    if system.model_shared_bus:
        raise InvalidSystem("model_shared_bus", "is on; the bus model is not supported, set it to 0")
    _check_remote_memory(system)
    _check_types(system)
    _check_degradations(system)
    if system.issue_order is not None:
        _choice("issue_order", system.issue_order, ISSUE_ORDERS)
    _check_inert(system)
    _check_cluster(system)


def _check_network(system: SystemFields) -> None:
    if not system.network:
        raise InvalidSystem("network", "is empty; it must list at least one dimension")
    for index, dimension in enumerate(system.network):
        path = f"network.{index}"
        _choice(f"{path}.topology", dimension.topology, tuple(_engine.topologies()))
        _integer(f"{path}.npus", dimension.npus, 1 if system.accelerator else 2, MAX_NPUS)
        _number(f"{path}.bandwidth_gbps", dimension.bandwidth_gbps, zero_allowed=False, most=MAX_SPEED)
        _number(f"{path}.latency_ns", dimension.latency_ns, zero_allowed=True)
        if dimension.latency_ns >= END_OF_TIME_NS:
            problem = f"is {dimension.latency_ns}; it must be below {END_OF_TIME_NS} ns, {_END_OF_TIME}"
            raise InvalidSystem(f"{path}.latency_ns", problem)
        _check_shape(path, dimension)
    if system.npus > MAX_NPUS:
        raise InvalidSystem("network", f"has {system.npus} NPUs in all; at most {MAX_NPUS} are allowed")


def _check_shape(path: str, dimension: Dimension) -> None:
    """Ask the engine, which owns the table of topologies; entries that are no sizes are shown as they are."""
    sizes = [
        size if type(size) is int and 0 < size < _MOST_OF_A_SIZE else 0  # a bool is no size
        for size in dimension.shape
    ]
    problem = _engine.dimension_problem(
        dimension.topology,
        dimension.npus,
        sizes,
        str(list(dimension.shape)),
        dimension.routing,
        dimension.file is not None,
        dimension.routes is not None,
    )
    if problem is not None:
        field, what = problem
        raise InvalidSystem(f"{path}.{field}", what)


def _check_types(system: SystemFields) -> None:
    """Check the types of NPUs: all NPUs have one, and the system's figures are what follows from them."""
    if not system.npu_types:
        return
    names = [each.name for each in system.npu_types]
    for index, each in enumerate(system.npu_types):
        path = f"npu_types.{index}"
        if not each.name or not each.name.isprintable():
            raise InvalidSystem(f"{path}.name", f"is {each.name!r}; it must have printable characters")
        if names.index(each.name) < index:
            raise InvalidSystem(f"{path}.name", f"is '{each.name}' again; every type has a name of its own")
        _integer(f"{path}.npus", each.npus, 1, MAX_NPUS)
        for field in FOLLOWING:
            _number(f"{path}.{field}", getattr(each, field), zero_allowed=False, most=MAX_SPEED)
        _integer(f"{path}.memory_bytes", each.memory_bytes, 1, 2**62)
    count = sum(each.npus for each in system.npu_types)
    if count != system.npus:
        raise InvalidSystem("npu_types", f"have {count} NPUs, but the network has {system.npus}")
    if system.accelerator is not None:
        raise InvalidSystem("npu_types", "are given, but system.accelerator says what all NPUs are")
    for field, figure in zip(FOLLOWING, figures_of(system.npu_types), strict=True):
        if getattr(system, field) != figure:
            problem = f"is {getattr(system, field)}, but follows from system.npu_types; change these instead"
            raise InvalidSystem(field, problem)


def _check_degradations(system: SystemFields) -> None:
    for index, fault in enumerate(system.faults):
        path = f"faults.{index}"
        _integer(f"{path}.source", fault.source, 0)
        _integer(f"{path}.destination", fault.destination, 0)
        _number(f"{path}.bandwidth_factor", fault.bandwidth_factor, zero_allowed=False)
        _number(f"{path}.latency_factor", fault.latency_factor, zero_allowed=True)
        _integer(f"{path}.at_ns", fault.at_ns, 0, END_OF_TIME_NS - 1)
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


def _check_collectives(system: SystemFields) -> None:
    for collective in COLLECTIVES:
        path = f"collectives.{collective}"
        algorithms = getattr(system.collectives, collective)
        for index, name in enumerate(algorithms):
            algorithm, _ = algorithm_of(str(name))
            if problem := synthesizer_problem(str(name)) or _engine.algorithm_problem(algorithm):
                raise InvalidSystem(f"{path}.{index}", problem)
        if len(algorithms) > len(system.network):
            raise InvalidSystem(
                path,
                f"lists {len(algorithms)} algorithms for {len(system.network)} network dimensions; "
                "at most one for each dimension is allowed",
            )


def _check_roofline(system: SystemFields) -> None:
    for field in ("peak_tflops", "memory_bandwidth_gbps"):
        value = getattr(system, field)
        _number(field, value, zero_allowed=True, most=MAX_SPEED)
        if value == 0 and system.roofline_enabled:
            raise InvalidSystem(field, "is 0; it must be greater than 0 unless the roofline model is off")


def _check_remote_memory(system: SystemFields) -> None:
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


def _check_inert(system: SystemFields) -> None:
    keys = [key for key, _ in system.inert]
    for key, value in system.inert:
        if key not in INERT_KEYS:
            raise InvalidSystem(f"inert.{key}", f"is no inert key; allowed are {', '.join(INERT_KEYS)}")
        if keys.count(key) > 1:
            raise InvalidSystem(f"inert.{key}", "occurs twice; every key is allowed once")
        if not isinstance(value, (str, int, float)):
            raise InvalidSystem(f"inert.{key}", f"is {value}; it must be a string or a number")


def _check_cluster(system: SystemFields) -> None:
    """Check what describes a cluster: all of it is given or nothing, and it has the NPUs of the network."""
    described = {"nodes": system.nodes, "npus_per_node": system.npus_per_node}
    if system.accelerator is None:
        given = next((key for key, value in described.items() if value is not None), None)
        given = given or ("tiers" if system.tiers else None)
        given = given or ("group_algorithms" if system.group_algorithms != DEFAULT_ALGORITHMS else None)
        if given is not None:
            raise InvalidSystem(
                given,
                "is given, but system.accelerator is null; clusters are such as system=dgx_h100",
            )
        return
    for key, value in described.items():
        if value is None:
            raise InvalidSystem(key, "is null; a system with system.accelerator needs it")
        _integer(key, value, 1, MAX_NPUS)
    if not system.tiers:
        raise InvalidSystem("tiers", "is empty; a system with system.accelerator needs at least one")
    npus = (system.nodes or 0) * (system.npus_per_node or 0)
    if npus != system.npus:
        raise InvalidSystem(
            "network", f"has {system.npus} NPUs, but nodes x npus_per_node are {npus}; change these instead"
        )
    if all(tier.in_switch_efficiency is None for tier in system.tiers):
        for kind in ("tp", "dp"):
            if system.group_algorithms.of(kind) == "in_switch":
                raise InvalidSystem(
                    f"group_algorithms.{kind}",
                    f"is in_switch, but no switches of {system.name} sum: give "
                    "system.tiers.N.in_switch_efficiency of those that do, or choose auto, ring, tree, "
                    "hierarchical or synthesized",
                )


def _choice(path: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = did_you_mean(str(value), allowed)
        raise InvalidSystem(path, f"is {_show(value)}; allowed are {', '.join(allowed)}{hint}")


def _integer(path: str, value: object, least: int, most: int = MAX_INTEGER) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidSystem(path, f"is {_show(value)}; it must be an integer from {least} to {most}")


def _number(path: str, value: object, *, zero_allowed: bool, most: float = sys.float_info.max) -> None:
    typed = isinstance(value, (int, float)) and not isinstance(value, bool)
    valid = typed and 0 <= value <= most  # type: ignore[operator]
    if not valid or (value == 0 and not zero_allowed):
        bound = "0 or greater" if zero_allowed else "greater than 0"
        if most < sys.float_info.max:
            bound += f", and at most {most:g}"
        raise InvalidSystem(path, f"is {_show(value)}; it must be a number {bound}")


def _show(value: object) -> str:
    return f"'{excerpt(value)}'" if isinstance(value, str) else excerpt(value)
