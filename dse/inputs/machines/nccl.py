"""NCCL's topology XML, hand-made or dumped (NCCL_TOPO_DUMP_FILE): PCIe tree, NVLink or Infinity Fabric, NICs.

RCCL writes the same form. A GPU is an element of that name, or in a hand-made file a PCI function of class
display (0x03) or accelerator (0x12). Links to functions of class 0x0680 lead to NVSwitches.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from xml.etree.ElementTree import Element

from dse.base.errors import InputError, excerpt
from dse.base.numbers import whole_number
from dse.base.texts import counted
from dse.inputs.machines.facts import accelerator_of_pci, pcie_gbps
from dse.inputs.machines.machine import BRIDGE, CPU, GPU, NIC, SWITCH, Building, Device, Machine

_FABRICS = {"nvlink": "nvlink", "xgmi": "xgmi"}
_SWITCH_CLASS, _CPU_CLASS = "0x0680", "0x068001"
_MOST_COUNT = 1024
_MOST_MBIT = 10**9


def nccl_machine(root: Element, where: str, name: str) -> Machine:
    """Return the machine of a `<system>` element.

    Raises:
        InputError: a PCI function twice, no GPU, a count or speed that is none, or two GPUs that do not agree
            on how many links join them.
    """
    reader = _Reader(where)
    for number, cpu in enumerate(root.findall("cpu")):
        reader.cpu(number, cpu)
    reader.join_cpus()
    if reader.unread:
        reader.building.notes.append(f"links <{', <'.join(sorted(reader.unread)[:5])}> are not read")
    reader.join_fabric()
    return replace(reader.building.machine(name, "NCCL topology", reader.ranks), hides_trunks=True)


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where
        self.building = Building(where)
        self.ranks: dict[int, int] = {}
        self.hosts: dict[str, list[int]] = {}
        self.unread: set[str] = set()
        self.fabric: list[tuple[int, int, Element]] = []  # GPU, its CPU, the element of a link

    def cpu(self, number: int, element: Element) -> None:
        socket = element.get("numaid", str(number))
        host = element.get("host_hash", "")
        found = self.building.add((host, "cpu", number), Device(f"cpu{number}", CPU, socket=socket))
        self.hosts.setdefault(host, []).append(found)
        for child in element.findall("pci"):
            self._pci(child, found, found, host)

    def _pci(self, element: Element, parent: int, cpu: int, host: str) -> None:
        """Add a PCI function and those behind it, joined to its parent by the link that it states."""
        device = self._device(element, cpu)
        busid = element.get("busid", f"{len(self.building.devices)}").lower()
        found = self.building.add((host, busid), device)
        rate = pcie_gbps(element.get("link_speed", ""), element.get("link_width", ""))
        self.building.join(parent, found, "pcie", gbps=rate)
        gpu = element.find("gpu")
        if gpu is not None:
            rank = whole_number(gpu.get("rank", gpu.get("dev", "")))
            self.ranks[found] = len(self.ranks) if rank is None else rank
            self.fabric += [(found, cpu, link) for link in gpu if link.tag in _FABRICS]
            self.unread.update(excerpt(link.tag) for link in gpu if link.tag not in _FABRICS)
        for child in element.findall("pci"):
            self._pci(child, found, cpu, host)

    def _device(self, element: Element, cpu: int) -> Device:
        devices = self.building.devices
        socket, kind = devices[cpu].socket, element.get("class", "")
        nets, gpu = element.findall("nic/net"), element.find("gpu")
        is_leaf = element.find("pci") is None
        if gpu is not None or (is_leaf and kind.startswith(("0x03", "0x12"))):
            number = self.building.counts[GPU]
            sm = "" if gpu is None else gpu.get("sm", "")
            return Device(
                f"gpu{number}" if gpu is None else f"gpu{excerpt(gpu.get('dev', number), 9)}",
                GPU,
                accelerator_of_pci(element.get("vendor", ""), element.get("device", "")),
                f"sm_{sm}" if re.fullmatch("[0-9]{2,3}", sm) else "",
                socket,
            )
        if nets or (is_leaf and kind.startswith("0x02")):
            speeds = [self._mbit(net) for net in nets]
            known = [speed for speed in speeds if speed is not None]
            whole = Fraction(sum(known), 1000) if known and len(known) == len(speeds) else None
            number = self.building.counts[NIC]
            name = "+".join(excerpt(net.get("name", "")) for net in nets) or f"nic{number}"
            return Device(name, NIC, socket=socket, gbit_per_s=whole)
        number = self.building.counts[BRIDGE]
        return Device(f"pci{number}", BRIDGE, socket=socket)

    def _mbit(self, net: Element) -> int | None:
        text = net.get("speed", "")
        speed = whole_number(text)
        if text and (speed is None or not 0 <= speed <= _MOST_MBIT):
            raise InputError(
                f"{self.where}: speed of {excerpt(net.get('name', 'a net'))} is '{excerpt(text)}'; it must "
                f"be 10^6 bits per second, 1 to {_MOST_MBIT}"
            )
        return speed or None

    def join_cpus(self) -> None:
        """Join the CPUs of a host, which the format does not do."""
        for cpus in self.hosts.values():
            for one, other in combinations(cpus, 2):
                self.building.join(one, other, "smp")
        if any(len(cpus) > 1 for cpus in self.hosts.values()):
            self.building.notes.append("says no links between CPUs; taken: one between each two of a host")

    def join_fabric(self) -> None:
        """Join GPUs to each other and to switches; the two ends of a link must agree."""
        numbers = {key: number for key, number in self.building.numbers.items() if isinstance(key, tuple)}
        hosts = {number: key[0] for key, number in numbers.items()}
        counts: dict[tuple[int, int], int] = {}
        kinds: dict[tuple[int, int], str] = {}
        for gpu, cpu, element in self.fabric:
            other = self._target(element, hosts[gpu], cpu)
            pair = (gpu, other)
            counts[pair] = counts.get(pair, 0) + self._count(element, gpu)
            kinds[pair] = _FABRICS[element.tag]
        for (one, other), count in counts.items():
            back = counts.get((other, one), count)
            if back != count:
                names = [self.building.devices[number].name for number in (one, other)]
                raise InputError(
                    f"{self.where}: {names[0]} has {counted(count, 'link')} to {names[1]}, which has {back} "
                    "back; the counts must be equal"
                )
            if (other, one) not in counts or one < other:
                self.building.join(one, other, kinds[one, other], count)
        if not counts:
            self.building.notes.append(
                "says nothing of NVLink or Infinity Fabric; a dump of NCCL_TOPO_DUMP_FILE does"
            )

    def _target(self, element: Element, host: str, cpu: int) -> int:
        target, kind = element.get("target", "").lower(), element.get("tclass", "").lower()
        found = self.building.numbers.get((host, target))
        if found is not None and self.building.devices[found].kind == GPU:
            return found
        if kind.startswith(_CPU_CLASS):
            return cpu
        if not kind.startswith(_SWITCH_CLASS):
            raise InputError(
                f"{self.where}: a link has the target '{excerpt(target)}', which is no GPU of the file, and "
                f"its tclass '{excerpt(kind)}' is not that of a switch, {_SWITCH_CLASS}00"
            )
        key = (host, "switch", target)
        if key not in self.building.numbers:
            number = self.building.counts[SWITCH]
            self.building.add(key, Device(f"nvswitch{number}", SWITCH))
        return self.building.numbers[key]

    def _count(self, element: Element, gpu: int) -> int:
        text = element.get("count", "1")
        count = whole_number(text)
        if count is None or not 1 <= count <= _MOST_COUNT:
            raise InputError(
                f"{self.where}: count of a link of {self.building.devices[gpu].name} is '{excerpt(text)}'; "
                f"it must be 1 to {_MOST_COUNT}"
            )
        return count
