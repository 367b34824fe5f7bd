"""The part of a machine that messages between GPUs use: one link per pair, parallel switches as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.inputs.machines.given import Given
from dse.inputs.machines.machine import GPU, PASSED_THROUGH, SWITCH, Link, Machine
from dse.inputs.machines.rates import gbps_of, latency_of

FABRICS = ("nvlink", "xgmi")


@dataclass(frozen=True)
class Wire:
    """All links from a device to another: kind, GB/s in one direction, ns; None where not known.

    `kinds` are those of all links in it.
    """

    kind: str
    gbps: Fraction | None
    latency_ns: Fraction | None
    kinds: frozenset[str] = frozenset()


Wires = dict[tuple[int, int], Wire]


@dataclass(frozen=True)
class Reduced:
    """Numbers of devices that stay, GPUs first, and directed wires between them."""

    gpus: tuple[int, ...]
    others: tuple[int, ...]
    wires: Mapping[tuple[int, int], Wire]


def reduced(machine: Machine, given: Given, where: str, *, with_latencies: bool = True) -> Reduced:
    """Return what GPUs use of a machine.

    By default that is the fabric that joins all GPUs without CPUs, NVLink or Infinity Fabric before others,
    else all links. Switches that join the same devices are one, as messages are spread over them. Dead ends
    go, and NICs, bridges and ports that only pass on become part of their link.

    Raises:
        InputError: fewer than two GPUs, or some that nothing joins.
    """
    if len(machine.gpus) < 2:
        raise InputError(f"{where}: names {len(machine.gpus)} GPUs; links need at least two")
    links = _chosen(machine, given)
    wires = _wires(machine, links, given)
    switches = given.text("switches", "merged, or each", "merged")
    check_choice("machine.switches", switches or "", ("merged", "each"))
    if switches == "merged":
        wires = _merged(machine, wires)
    wires = _joined_switches(machine, wires, given)
    wires = _contracted(machine, _pruned(machine, wires))
    _require_joined(machine, wires, where)
    nodes = {number for pair in wires for number in pair}
    others = tuple(sorted(nodes - set(machine.gpus)))
    kinds = {kind for wire in wires.values() for kind in wire.kinds}
    alike = {
        (link.kind, link.count, link.gbps, link.latency_ns): link for link in links if link.kind in kinds
    }
    for link in alike.values():  # once those that messages never pass are gone
        gbps_of(link, machine, given)
        if with_latencies:
            latency_of(link, given)
    return Reduced(machine.gpus, others, wires)


def _chosen(machine: Machine, given: Given) -> list[Link]:
    fabrics = [
        kind
        for kind in dict.fromkeys(link.kind for link in machine.links)
        if kind != "pcie" and _is_fabric(machine, kind)
    ]
    fabrics.sort(key=lambda kind: FABRICS.index(kind) if kind in FABRICS else len(FABRICS))
    chosen = given.text("links", "fabric, or all", "fabric" if fabrics else "all")
    check_choice("machine.links", chosen or "", ("fabric", "all") if fabrics else ("all",))
    if chosen == "fabric":
        if {link.kind for link in machine.links} != {fabrics[0]}:
            given.take(f"links between GPUs are {fabrics[0]}; machine.links=all takes the others too")
        return [link for link in machine.links if link.kind == fabrics[0]]
    return list(machine.links)


def _is_fabric(machine: Machine, kind: str) -> bool:
    """Whether links of a kind reach all GPUs over GPUs and switches, perhaps in groups of switches."""
    links = [link for link in machine.links if link.kind == kind]
    sets = machine.joins(links, machine.of_kind(SWITCH))
    if len(sets) == 1 or not machine.hides_trunks or kind not in FABRICS:
        return len(sets) == 1
    switches = set(machine.of_kind(SWITCH))
    switched = {end for link in links if switches & set(link.ends) for end in link.ends}
    return all(switched & members for members in sets)


def _wires(machine: Machine, links: list[Link], given: Given) -> Wires:
    found: Wires = {}
    alike: dict[tuple[str, int, Fraction | None, Fraction | None], Wire] = {}
    quiet = Given(given.texts)  # what is asked for is known only when dead ends are gone
    for link in links:
        key = (link.kind, link.count, link.gbps, link.latency_ns)
        if key not in alike:
            rate, latency = gbps_of(link, machine, quiet), latency_of(link, quiet)
            alike[key] = Wire(link.kind, rate, latency, frozenset([link.kind]))
        wire = alike[key]
        one, other = link.ends
        for pair in [(one, other)] if link.is_one_way else [(one, other), (other, one)]:
            found[pair] = _beside(found[pair], wire) if pair in found else wire
    return found


def _beside(one: Wire, other: Wire) -> Wire:
    """Two wires side by side; of different kinds only the faster counts."""
    if one.kind == other.kind:
        rate = None if one.gbps is None or other.gbps is None else one.gbps + other.gbps
        return Wire(one.kind, rate, one.latency_ns, one.kinds | other.kinds)
    return max(one, other, key=lambda wire: wire.gbps or 0)


def _neighbours(wires: Wires) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for one, other in wires:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def _merged(machine: Machine, wires: Wires) -> Wires:
    """Switches with the same neighbours become the first of them, with all of their links."""
    near = _neighbours(wires)
    first: dict[frozenset[int], int] = {}
    into = {}
    for number in sorted(near):
        if machine.devices[number].kind == SWITCH:
            into[number] = first.setdefault(frozenset(near[number]), number)
    found: Wires = {}
    for (one, other), wire in wires.items():
        pair = (into.get(one, one), into.get(other, other))
        found[pair] = _beside(found[pair], wire) if pair in found else wire
    return found


def _joined_switches(machine: Machine, wires: Wires, given: Given) -> Wires:
    """Join groups of switches that the document leaves apart, as the two boards of a DGX-2."""
    links = [Link(pair, wire.kind) for pair, wire in wires.items()]
    if {link.kind for link in links} & set(FABRICS) != {link.kind for link in links}:
        return wires
    sets = machine.joins(links, machine.of_kind(SWITCH))
    if len(sets) == 1 or not machine.hides_trunks:
        return wires
    near = _neighbours(wires)
    groups = [
        [n for gpu in members for n in near.get(gpu, ()) if machine.devices[n].kind == SWITCH]
        for members in sets
    ]
    if not all(groups):
        return wires
    tops = [min(group) for group in groups]
    rate = given.number(
        "trunk_gbps", f"10^9 bytes/s in one direction between each two of {len(sets)} sets of switches"
    )
    kind = links[0].kind
    latency = wires[next(iter(wires))].latency_ns
    wire = Wire(kind, rate, latency, frozenset([kind]))
    extra = {(a, b): wire for a in tops for b in tops if a != b}
    return {**wires, **extra}


def _pruned(machine: Machine, wires: Wires) -> Wires:
    """Without devices that are no GPU and have one neighbour."""
    wires = dict(wires)
    near = _neighbours(wires)
    waiting = [number for number in near if machine.devices[number].kind != GPU and len(near[number]) < 2]
    while waiting:
        number = waiting.pop()
        for other in near.pop(number, set()):
            near[other].discard(number)
            wires.pop((number, other), None)
            wires.pop((other, number), None)
            if machine.devices[other].kind != GPU and len(near[other]) < 2:
                waiting.append(other)
    return wires


def _contracted(machine: Machine, wires: Wires) -> Wires:
    """With one wire for the two at a device that only passes on."""
    wires = dict(wires)
    near = _neighbours(wires)
    for number in sorted(near):
        if machine.devices[number].kind not in PASSED_THROUGH or len(near[number]) != 2:
            continue
        one, other = sorted(near.pop(number))
        for a, b in ((one, other), (other, one)):
            first, second = wires.pop((a, number), None), wires.pop((number, b), None)
            if first is None or second is None:
                continue
            wire = _after(first, second)
            wires[a, b] = _beside(wires[a, b], wire) if (a, b) in wires else wire
        for end, far in ((one, other), (other, one)):
            near[end].discard(number)
            near[end].add(far)
    return wires


def _after(first: Wire, second: Wire) -> Wire:
    slower = min((first, second), key=lambda wire: wire.gbps or 0)
    rate, time = None, None
    if first.gbps is not None and second.gbps is not None:
        rate = min(first.gbps, second.gbps)
    if first.latency_ns is not None and second.latency_ns is not None:
        time = first.latency_ns + second.latency_ns
    return Wire(slower.kind, rate, time, first.kinds | second.kinds)


def _require_joined(machine: Machine, wires: Wires, where: str) -> None:
    nodes = {number for pair in wires for number in pair}
    sets = machine.joins([Link(pair, wire.kind) for pair, wire in wires.items()], nodes)
    if len(sets) > 1:
        names = [machine.devices[min(members)].name for members in sets[:2]]
        raise InputError(
            f"{where}: states no way from {names[0]} to {names[1]}; {len(sets)} sets of GPUs are apart"
        )
