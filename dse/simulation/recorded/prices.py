"""Communications of a recorded step priced on a system: each distinct one is simulated alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.base.errors import InputError, SimulationError
from dse.base.trace_nodes import BOOL, COLLECTIVE_TYPES, COMPUTE, TraceNode, trace_node, trace_of
from dse.inputs.systems import SystemSpec
from dse.simulation.recorded.links import on_links
from dse.simulation.recorded.step import Communication, NodeKind, RecordedStep
from dse.simulation.recorded.times import rank_of_node
from dse.simulation.simulators.native import NativeSimulator
from dse.simulation.workloads import workload_of
from dse.simulation.workloads.nodes import collective_node, message_node

_GROUP = "1"
_PRICED = frozenset({*COLLECTIVE_TYPES, "message"})
_Key = tuple[str, int, tuple[int, ...]]


def with_prices(
    step: RecordedStep,
    system: SystemSpec,
    base_system: SystemSpec | None,
    measured: Sequence[Communication],
) -> RecordedStep:
    """Return the step with its communications on `system`, rank r on NPU r.

    Without `base_system`, the simulated time replaces the measured one. With it, the measured time is
    multiplied by the time on `system` over that on `base_system`, of the communication as it was `measured`.
    Kinds for which a system has no algorithm keep their measured time, and a note says so.

    Raises:
        InputError: a system with fewer NPUs than the step has ranks, or not one communication has a price.
    """
    for name, each in (("system", system), ("base_system", base_system)):
        if each is not None and each.npus < step.world_size:
            raise InputError(f"{name} has {each.npus} NPUs; the step has {step.world_size} ranks")
    mask = on_links(step)
    used = np.unique(step.communication[mask]).tolist()
    priced = [number for number in used if _has_price(step.communications[number])]
    if used and not priced:
        found = {step.communications[number].kind for number in used}
        lack = "the trace does not say the bytes of" if found & _PRICED else "system has no algorithm for"
        raise InputError(f"{lack} any communication of the step: {', '.join(sorted(found))}")
    new, base = _Prices(system), None if base_system is None else _Prices(base_system)
    fixed = np.full(len(step.communications), -1.0)
    ratio = np.ones(len(step.communications))
    for number in priced:
        price_ns = new.of(_directed(step, step.communications[number]))
        if base is None:
            fixed[number] = price_ns
        else:
            ratio[number] = price_ns / max(base.of(_with_others(_directed(step, measured[number]))), 1)
    numbers = step.communication[mask]
    duration_ns = step.duration_ns.copy()
    times = np.where(fixed[numbers] >= 0, fixed[numbers], duration_ns[mask] * ratio[numbers])
    duration_ns[mask] = np.rint(times).astype(np.int64)
    return replace(step, duration_ns=duration_ns, notes=(*step.notes, *_notes(step, used)))


def price_ns(communication: Communication, system: SystemSpec) -> int:
    """Return how long a communication takes alone on a system, rank r on NPU r.

    Raises:
        InputError: the engine cannot simulate it there, and why.
    """
    members = communication.members
    whole = members == tuple(range(system.npus)) or communication.kind == "message"
    nodes = _nodes_of(communication, None if whole else _GROUP)
    idle = trace_of(
        [{**trace_node(1, COMPUTE, "idle", [], {"is_cpu_op": (BOOL, True)}), "duration_micros": 1}]
    )
    traces = [trace_of([nodes[rank]]) if rank in nodes else idle for rank in range(system.npus)]
    groups = None if whole else {_GROUP: list(members)}
    least = communication.size_bytes // max(len(members), 1)  # a chunk has a byte for each member
    splits = min(system.preferred_dataset_splits, max(1, least))
    plain = replace(system, track_local_memory=False, replay_only=False, preferred_dataset_splits=splits)
    try:
        outcome = NativeSimulator().simulate(workload_of(traces, groups), plain)
    except SimulationError as error:
        raise InputError(f"{communication.kind} among {len(members)} ranks on the system: {error}") from None
    ends = [outcome.rank(member) for member in members]
    if outcome.status != "ok":
        raise InputError(f"{communication.kind} among {len(members)} ranks: {outcome.reason}")
    return max(end.finish_ns for end in ends if end is not None)


class _Prices:
    """Prices on one system, of each distinct (kind, bytes, members) once."""

    def __init__(self, system: SystemSpec) -> None:
        self._system = system
        self._known: dict[_Key, int] = {}

    def of(self, communication: Communication) -> int:
        key = (communication.kind, communication.size_bytes, communication.members)
        if key not in self._known:
            self._known[key] = price_ns(communication, self._system)
        return self._known[key]


def _has_price(communication: Communication) -> bool:
    return communication.size_bytes > 0 and communication.kind in _PRICED


def _directed(step: RecordedStep, communication: Communication) -> Communication:
    """The communication, with the sender of a message as its first member."""
    if communication.kind != "message":
        return communication
    node = communication.nodes[0]
    rank = rank_of_node(step, node)
    other = next((member for member in communication.members if member != rank), rank)
    is_sender = step.kind[node] == NodeKind.SEND
    return replace(communication, members=(rank, other) if is_sender else (other, rank))


def _with_others(communication: Communication) -> Communication:
    if len(communication.members) == 1:
        raise InputError(
            f"group {communication.group!r} had one rank when it was measured, so that base_system gives its "
            f"{communication.kind} no time; leave base_system out"
        )
    return communication


def _nodes_of(communication: Communication, group: str | None) -> dict[int, TraceNode]:
    """The node of each rank that takes part; a message goes from the first member to the second."""
    kind, size = communication.kind, communication.size_bytes
    if kind != "message":
        return {member: collective_node(1, kind, kind, size, group, []) for member in communication.members}
    source, destination = communication.members
    return {
        source: message_node(1, "send", "send", 0, destination, size, []),
        destination: message_node(1, "receive", "receive", 0, source, size, []),
    }


def _notes(step: RecordedStep, used: Sequence[int]) -> list[str]:
    kept = [step.communications[number].kind for number in used]
    kept = [kind for kind in kept if kind not in _PRICED]
    if not kept:
        return []
    kinds = ", ".join(f"{kept.count(kind)} {kind}" for kind in sorted(set(kept)))
    return [f"{kinds} kept their measured times: a system has no algorithm for them."]
