"""Synthesised collectives in a simulation: what a system and a workload need, on which links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dse.base.errors import InputError
from dse.base.lazy import _engine, np
from dse.collectives.problem.reachability import reached
from dse.inputs.networks import LinkGraph, LinkKind
from dse.inputs.systems import OVER_ALL_NPUS, PER_DIMENSION, SystemSpec, algorithm_of, is_synthesized
from dse.inputs.systems.links import link_graph
from dse.inputs.systems.validation import COLLECTIVES
from dse.simulation.simulators.made_schedules import schedules_for


@dataclass(frozen=True)
class Need:
    """A collective among NPUs that is to be synthesised, on a graph whose first nodes are its members.

    `scope` and `index` say whose it is to the engine. `devices` are the graph's nodes in the network, none
    for the lines of a dimension, which all are alike. `synthesizer` is that of its name, if it has one.
    """

    collective: str
    scope: str
    index: int
    graph: LinkGraph
    devices: tuple[int, ...] = ()
    synthesizer: str | None = None


def add_schedules(config: _engine.SystemConfig, system: SystemSpec, workload: _engine.Workload) -> None:
    """Give the engine the schedules that a workload needs on a system.

    Raises:
        InputError: there is no way between two NPUs, or schedules per dimension on a network with faults.
        InfeasibleStrategy: a group's links are none that the chosen synthesizer can take.
    """
    for need in needs(system, workload):
        config.add_synthesized(
            need.collective,
            need.scope,
            need.index,
            schedules_for(need.collective, need.graph, need.synthesizer).native,
            list(need.devices),
        )


def quality_of_schedules(system: SystemSpec, workload: _engine.Workload) -> str | None:
    """Say how far the synthesised schedules of a workload are from their lower bounds; None without any."""
    gaps: dict[str, list[float]] = {}
    for need in needs(system, workload):
        name = f"{need.collective} among {need.graph.npus} NPUs"
        gaps.setdefault(name, []).extend(schedules_for(need.collective, need.graph, need.synthesizer).gaps)
    return "; ".join(f"{name}: {_words(found)}" for name, found in sorted(gaps.items())) or None


def _words(gaps: Sequence[float]) -> str:
    """The range over sizes of messages and groups."""
    least, most = (f"{100 * gap:.1f}" for gap in (min(gaps), max(gaps)))
    if most == "0.0":
        return "optimal"
    return f"at most {most if least == most else f'{least} to {most}'} % above the optimum"


def needs(system: SystemSpec, workload: _engine.Workload) -> Iterator[Need]:
    """Give the collectives of a workload that a system wants synthesised, with their graphs."""
    used = [
        (collective, index, _engine.communicator_members(workload, index))
        for collective, index in _engine.collectives_of(workload)
    ]
    network: LinkGraph | None = None
    for collective in COLLECTIVES:
        written = getattr(system.collectives, collective)
        names, chosen = names_for_engine(written, len(system.network)), synthesizer_of(written)
        if PER_DIMENSION not in names and OVER_ALL_NPUS not in names:
            continue
        network = network or _network_of(system)
        groups = [(index, members) for name, index, members in used if name == collective]
        if any(len(members) in (0, system.npus) for _, members in groups):
            for need in _over_dimensions(collective, names, system, network):
                yield replace(need, synthesizer=chosen)
        for index, members in groups:
            if 1 < len(members) < system.npus:
                graph, devices = group_graph(network, members)
                yield Need(collective, "communicator", index, graph, devices, chosen)


def _over_dimensions(
    collective: str, names: Sequence[str], system: SystemSpec, network: LinkGraph
) -> Iterator[Need]:
    """Give what a collective of all NPUs needs: of each dimension, or of all at once."""
    legs = [collective]
    if collective == "all_reduce" and len(names) > 1 and system.collective_optimization == "localBWAware":
        legs = ["all_reduce", "reduce_scatter", "all_gather"]
    for dimension, name in enumerate(names):
        if name == OVER_ALL_NPUS:
            yield Need(collective, "all_ranks", 0, network, tuple(range(network.nodes)))
            return
        if name != PER_DIMENSION:
            continue
        if len(system.network) == 1:
            graph = network
        elif system.faults:
            raise InputError(
                f"system.collectives.{collective} is synthesized per dimension, but the lines of a dimension "
                f"differ by system.faults; write system.collectives.{collective}=[synthesized] for one "
                "schedule over all NPUs"
            )
        else:
            graph = link_graph(system, [dimension], "nodes")
        for leg in legs:
            yield Need(leg, "dimension", dimension, graph)


def _network_of(system: SystemSpec) -> LinkGraph:
    """The network with the faults that hold from the start; its nodes are the simulation's devices."""
    graph = link_graph(system, None, "nodes")
    removed = np.zeros(len(graph), dtype=np.bool_)
    kind_of = graph.kind_of.copy()
    kinds = list(graph.kinds)
    for fault in system.faults:
        link = graph.number_of.get((fault.source, fault.destination))
        if fault.at_ns or link is None:
            continue
        latency, bandwidth = kinds[kind_of[link]]
        removed[link] |= fault.removed
        kinds.append(
            LinkKind(
                latency * Fraction(repr(fault.latency_factor)),
                bandwidth * Fraction(repr(fault.bandwidth_factor)),
            )
        )
        kind_of[link] = len(kinds) - 1
    return replace(graph, kind_of=kind_of, kinds=tuple(kinds)).without(removed)


def group_graph(network: LinkGraph, members: Sequence[int]) -> tuple[LinkGraph, tuple[int, ...]]:
    """Return the graph of some NPUs, and its nodes as those of the network.

    Members come first, then all switches; other NPUs relay only if the members' own links do not join them.
    They are numbered from the first member on, so that groups that are shifts of each other have one graph.
    """
    first = members[0]
    inside = set(members)
    switches = list(range(network.npus, network.nodes))
    others = sorted(set(range(network.npus)) - inside, key=lambda npu: (npu - first) % network.npus)
    own = _induced(network, [*members, *switches], len(members))
    if all(bool(reached(each, [0])[: own.npus].all()) for each in (own, own.transposed)):
        return own, (*members, *switches)
    devices = [*members, *others, *switches]
    return _induced(network, devices, len(members)), tuple(devices)


def _induced(network: LinkGraph, devices: Sequence[int], members: int) -> LinkGraph:
    """The links among some devices, renumbered in their order."""
    number = np.full(network.nodes, -1, dtype=np.int32)
    number[list(devices)] = np.arange(len(devices), dtype=np.int32)
    sources, destinations = number[network.sources], number[network.destinations]
    links = np.flatnonzero((sources >= 0) & (destinations >= 0))
    links = links[np.lexsort((destinations[links], sources[links]))]
    cannot_copy, cannot_add = (
        frozenset(number[sorted(switches)].tolist()) - {-1}
        for switches in (network.cannot_copy, network.cannot_add)
    )
    return LinkGraph(
        members,
        len(devices),
        np.ascontiguousarray(sources[links]),
        np.ascontiguousarray(destinations[links]),
        np.ascontiguousarray(network.kind_of[links]),
        network.kinds,
        cannot_copy,
        cannot_add,
    )


def names_for_engine(names: Sequence[str], dimensions: int) -> list[str]:
    """Return a list of algorithms as the engine reads it: `synthesized` alone is over all dimensions."""
    plain = [algorithm_of(name)[0] for name in names]
    if dimensions > 1 and plain == [PER_DIMENSION]:
        return [OVER_ALL_NPUS]
    return plain


def synthesizer_of(names: Sequence[str]) -> str | None:
    """Return the synthesizer that a list of algorithms names first, None if it leaves the choice."""
    return next((chosen for _, chosen in map(algorithm_of, names) if chosen is not None), None)


def uses_synthesis(system: SystemSpec) -> bool:
    """Whether some collective of a system is synthesised."""
    return any(any(map(is_synthesized, getattr(system.collectives, name))) for name in COLLECTIVES)
