"""NCCL's graph dumps (NCCL_GRAPH_DUMP_FILE): the rings that it chose, as links between GPUs.

A channel of a ring passes the GPUs in their order and comes back, over NICs where it names some. Such links
are paths, not wires: two of them may share a wire. Other graphs than rings state no neighbours.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from xml.etree.ElementTree import Element

from dse.base.errors import InputError, excerpt
from dse.base.numbers import exact_decimal
from dse.inputs.machines.machine import GPU, NIC, Building, Device, Machine

_RING = "4"
_KINDS = {"NVL": "nvlink", "NVB": "nvlink", "C2C": "c2c"}


def nccl_graph_machine(root: Element, where: str, name: str) -> Machine:
    """Return the links of the rings of a `<graphs>` element.

    `speedintra` and `speedinter` are GB/s of each channel inside the node and out of it.

    Raises:
        InputError: there is no ring with two GPUs, or a speed is no number.
    """
    building = Building(where)
    rates: dict[tuple[int, int, str], Fraction] = {}
    channels: dict[tuple[int, int, str], int] = {}
    order: dict[int, int] = {}
    for graph in root.findall("graph"):
        if graph.get("pattern") != _RING:
            continue
        kind = _KINDS.get(graph.get("typeintra", ""), graph.get("typeintra", "path").lower())
        inside, outside = (_speed(graph, key, where) for key in ("speedintra", "speedinter"))
        for channel in graph.findall("channel"):
            path = [_device(building, entry, order) for entry in channel]
            hops = list(pairwise(path))
            if path and all(building.devices[number].kind == GPU for number in path):
                hops.append((path[-1], path[0]))
            for one, other in hops:
                is_out = NIC in (building.devices[one].kind, building.devices[other].kind)
                key = (one, other, "network" if is_out else kind)
                if one != other:
                    rates[key] = rates.get(key, Fraction(0)) + (outside if is_out else inside)
                    channels[key] = channels.get(key, 0) + 1
    for (one, other, kind), rate in rates.items():
        building.join(one, other, kind, channels[one, other, kind], rate or None, is_one_way=True)
    if not any(device.kind == GPU for device in building.devices) or not rates:
        raise InputError(f"{where}: has no ring (pattern {_RING}) of at least two GPUs; NCCL dumps one")
    building.notes.append("states the rings that NCCL chose: paths, which may share wires")
    return building.machine(name, "NCCL graph", order)


def _device(building: Building, entry: Element, order: dict[int, int]) -> int:
    number = entry.get("dev", "")
    kind = GPU if entry.tag == "gpu" else NIC if entry.tag == "net" else ""
    if not kind or not number.isalnum() or len(number) > 9:
        raise InputError(
            f"{building.where}: a channel has <{excerpt(entry.tag)} dev='{excerpt(number)}'>; it must have "
            "gpu and net with their dev"
        )
    key = (kind, number)
    if key not in building.numbers:
        found = building.add(key, Device(f"{entry.tag}{number}", kind))
        if kind == GPU and number.isdecimal():
            order[found] = int(number)
    return building.numbers[key]


def _speed(graph: Element, key: str, where: str) -> Fraction:
    found = exact_decimal(graph.get(key, "0"), where=f"{where}: {key}")
    if found < 0:
        raise InputError(f"{where}: {key} is '{excerpt(graph.get(key))}'; it must be at least 0")
    return found
