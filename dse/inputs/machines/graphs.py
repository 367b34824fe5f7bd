"""A machine as a graph of links between GPUs and switches, and equal machines joined by their NICs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dse.base.errors import InputError
from dse.base.settings.values import entries
from dse.inputs.machines.given import Given
from dse.inputs.machines.machine import GPU, NIC, SWITCH, Device, Link, Machine
from dse.inputs.machines.reduced import Reduced, reduced
from dse.inputs.networks import LinkGraph

NETWORK = "network"
_GBIT_PER_GB = 8


def machine_graph(machine: Machine, given: Given, where: str) -> tuple[LinkGraph, Reduced]:
    """Return the graph of what GPUs use: they first, then switches and CPUs; and what each node is.

    Raises:
        InputError: as `reduced`; or keys are missing.
    """
    found = reduced(machine, given, where)
    given.require(where)
    number = {device: at for at, device in enumerate((*found.gpus, *found.others))}
    links = [
        (number[one], number[other], wire.latency_ns or Fraction(0), wire.gbps or Fraction(1))
        for (one, other), wire in found.wires.items()
    ]
    return LinkGraph.of(len(found.gpus), len(number), sorted(links)), found


def nics_of(machine: Machine, given: Given) -> tuple[list[int], Fraction | None]:
    """Return the NICs that carry messages to other machines, and what each sends, 10^9 bits per second.

    Raises:
        InputError: a name that is none of a NIC.
    """
    nics = {machine.devices[number].name: number for number in machine.of_kind(NIC)}
    speeds = {machine.devices[number].gbit_per_s for number in nics.values()}
    stated = speeds.pop() if len(speeds) == 1 else None
    default = ",".join(nics) if stated is not None else None
    text = given.text("nics", f"names of the NICs that carry messages, of {', '.join(nics)}", default)
    rate = given.number("nic_gbit_per_s", "10^9 bits/s of one NIC in one direction", stated)
    names = entries("machine.nics", text) if text else []
    unknown = next((name for name in names if name not in nics), None)
    if unknown is not None:
        raise InputError(f"machine.nics has '{unknown}'; allowed are {', '.join(nics)}")
    return [nics[name] for name in names], rate


def copies(machine: Machine, nodes: int, given: Given, where: str) -> Machine:
    """Return equal machines whose NICs meet in one switch.

    Raises:
        InputError: the document names no NIC.
    """
    if not machine.of_kind(NIC):
        raise InputError(f"{where}: names no NIC, which would join the machines; machine.nodes must be 1")
    nics, rate = nics_of(machine, given)
    gpus = len(machine.gpus)
    others = len(machine.devices) - gpus

    def place(copy: int, number: int) -> int:
        return copy * gpus + number if number < gpus else nodes * gpus + copy * others + number - gpus

    devices: list[Device] = [machine.devices[0]] * (nodes * len(machine.devices))
    links: list[Link] = []
    switch = len(devices)
    for copy in range(nodes):
        for number, device in enumerate(machine.devices):
            devices[place(copy, number)] = replace(device, name=f"{copy}.{device.name}")
        for link in machine.links:
            ends = place(copy, link.ends[0]), place(copy, link.ends[1])
            links.append(replace(link, ends=ends))
        gbps = None if rate is None else rate / _GBIT_PER_GB
        links += [Link((place(copy, number), switch), NETWORK, gbps=gbps) for number in nics]
    if any(device.kind == GPU for device in machine.devices[gpus:]):
        raise InputError(f"{where}: GPUs are not in their order")
    return Machine(
        machine.name, machine.format, (*devices, Device(NETWORK, SWITCH)), tuple(links), machine.notes
    )
