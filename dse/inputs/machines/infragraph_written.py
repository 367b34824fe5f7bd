"""A machine as an InfraGraph document."""

from __future__ import annotations

import re
from fractions import Fraction

from dse.inputs.machines.infragraph import (
    Component,
    Custom,
    DeviceType,
    Edge,
    End,
    Infrastructure,
    Instance,
    LinkType,
    Physical,
    Quantity,
)
from dse.inputs.machines.machine import CPU, GPU, NIC, SWITCH, Machine

_NAMES = {GPU: "xpu"}
_CHOICES = {GPU: "xpu", NIC: "nic", CPU: "cpu", SWITCH: "switch", "port": "port", "memory": "memory"}


def infragraph_of(machine: Machine) -> Infrastructure:
    """Return a machine as a document of one device: a component for each kind, an edge for each link.

    The count of a bundle is in the name of its link, such as nvlink-x2; its rate is that of all of them.
    """
    place: dict[int, str] = {}
    counts: dict[str, int] = {}
    for number, device in enumerate(machine.devices):
        kind = _clean(_NAMES.get(device.kind, device.kind))
        place[number] = f"{kind}[{counts.get(kind, 0)}]"
        counts[kind] = counts.get(kind, 0) + 1
    kinds = {_clean(_NAMES.get(device.kind, device.kind)): device.kind for device in machine.devices}
    types = {device.accelerator for device in machine.devices if device.accelerator}
    components = tuple(
        Component(
            name,
            count,
            _CHOICES.get(kinds[name], "custom"),
            " ".join(sorted(types)) if kinds[name] == GPU and types else None,
            None if kinds[name] in _CHOICES else Custom(kinds[name]),
        )
        for name, count in counts.items()
    )
    links: dict[tuple[str, int, Fraction | None, Fraction | None], LinkType] = {}
    edges = []
    for link in machine.links:
        key = (link.kind, link.count, link.gbps, link.latency_ns)
        if key not in links:
            links[key] = _link_type(*key, len([kind for kind, *_ in links if kind == link.kind]))
        ends = [End(place[number]) for number in link.ends]
        edges.append(Edge(ends[0], ends[1], links[key].name, "one2one"))
    name = _clean(machine.name) or "machine"
    whole = DeviceType(name, components, tuple(links.values()), tuple(edges))
    instances = (Instance(name, name, 1),)
    return Infrastructure(name, f"from {machine.format}", (whole,), instances=instances)


def _link_type(
    kind: str, count: int, gbps: Fraction | None, latency: Fraction | None, number: int
) -> LinkType:
    rate = None if gbps is None else Quantity("gigabytes_per_second", float(gbps))
    time = None if latency is None else Quantity("ns", float(latency))
    name = _clean(kind) if count == 1 and not number else f"{_clean(kind)}-x{count}"
    if number:
        name += f"-{number}"
    physical = None if rate is None and time is None else Physical(rate, time)
    return LinkType(name, f"{count} of {kind}", physical)


def _clean(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "-", text)[:200]
