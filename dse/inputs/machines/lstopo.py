"""XML of hwloc 2 (`lstopo --of xml`): packages, PCI bridges and devices with the rates of their links.

GPUs are PCI devices of class display or accelerator of a maker of GPUs, NICs such of class network. NVLink
and Infinity Fabric come from the matrices NVLinkBandwidth and XGMIBandwidth, in MB/s, where hwloc has them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from xml.etree.ElementTree import Element

from dse.base.errors import InputError, excerpt
from dse.base.numbers import exact_decimal, whole_number
from dse.inputs.machines.facts import accelerator_of_pci, accelerator_of_product
from dse.inputs.machines.machine import BRIDGE, CPU, GPU, NIC, SWITCH, Building, Device, Machine

_MATRICES = {"NVLinkBandwidth": "nvlink", "XGMIBandwidth": "xgmi"}
_PCI_TYPE = re.compile(
    r"(?P<kind>[0-9a-f]{4}) \[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]", re.I | re.A
)
_GPU_MAKERS = ("10de", "1002", "8086", "1da3")
_MOST_OBJECTS = 4096
_MB = 1000


def lstopo_machine(root: Element, where: str, name: str) -> Machine:
    """Return the machine of a `<topology>` element.

    Raises:
        InputError: an object twice, no GPU, a rate that is none, or a matrix of another size than it says.
    """
    reader = _Reader(where)
    for element in root.findall("object"):
        reader.object(element, None, None)
    for matrix in (*root.iter("distances2"), *root.iter("distances2hetero")):
        if matrix.get("name", "") in _MATRICES:
            reader.matrix(matrix)
    building = reader.building
    for one, other in combinations(reader.cpus, 2):
        building.join(one, other, "smp")
    if not any(link.kind in _MATRICES.values() for link in building.links):
        building.notes.append(
            "says nothing of NVLink or Infinity Fabric; hwloc does when built with NVML or RSMI"
        )
    return replace(building.machine(name, "lstopo"), hides_trunks=True)


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where
        self.building = Building(where)
        self.cpus: list[int] = []
        self.of_object: dict[str, int] = {}  # by hwloc's own number of an object

    def object(self, element: Element, cpu: int | None, parent: int | None) -> None:
        """Add what an object and those in it are; `parent` is the bridge above."""
        kind = element.get("type", "")
        if kind == "Package" or (kind in ("Bridge", "PCIDev") and cpu is None):
            number = len(self.cpus)
            cpu = self.building.add(("cpu", number), Device(f"cpu{number}", CPU, socket=str(number)))
            self.cpus.append(cpu)
            if identity := element.get("gp_index"):
                self.of_object[identity] = cpu
        if kind == "PCIDev" or element.get("pci_busid"):  # a bridge without is that of the CPU itself
            parent = self._pci(element, cpu if parent is None else parent, cpu)
        if parent is not None and (identity := element.get("gp_index")):
            self.of_object[identity] = parent
        for child in element.findall("object"):
            self.object(child, cpu, parent)
            if kind == "Machine" and child.get("type") == "Package":
                cpu = cpu if cpu is not None else self.cpus[-1]

    def _pci(self, element: Element, above: int | None, cpu: int | None) -> int:
        assert above is not None
        assert cpu is not None
        device = self._device(element, self.building.devices[cpu].socket)
        busid = element.get("pci_busid") or f"a device {len(self.building.devices)}"
        found = self.building.add(busid, device)
        text = element.get("pci_link_speed", "")
        rate = (
            exact_decimal(text, where=f"{self.where}: pci_link_speed of {excerpt(busid)}") if text else None
        )
        if rate is not None and rate < 0:
            raise InputError(f"{self.where}: pci_link_speed of {excerpt(busid)} is {excerpt(text)}, below 0")
        self.building.join(above, found, "pcie", gbps=rate or None)
        return found

    def _device(self, element: Element, socket: str) -> Device:
        devices = self.building.devices
        found = _PCI_TYPE.match(element.get("pci_type", ""))
        if element.get("type") == "PCIDev" and found is not None:
            kind = found["kind"].lower()
            systems = [
                child.get("name", "") for child in element.findall("object") if child.get("type") == "OSDev"
            ]
            is_display = kind in ("0300", "0302", "0380", "1200")
            if is_display and found["vendor"].lower() in _GPU_MAKERS:
                number = self.building.counts[GPU]
                accelerator = accelerator_of_pci(found["vendor"], found["device"])
                models = [
                    info.get("value", "") for info in element.iter("info") if info.get("name") == "GPUModel"
                ]
                accelerator = accelerator or accelerator_of_product(" ".join(models))
                return Device(f"gpu{number}", GPU, accelerator, "", socket)
            if kind in ("0200", "0207"):
                number = self.building.counts[NIC]
                return Device("+".join(map(excerpt, systems)) or f"nic{number}", NIC, socket=socket)
            if kind == "0680":
                return Device(f"nvswitch{self.building.counts[SWITCH]}", SWITCH)
            return Device(
                f"{'+'.join(map(excerpt, systems)) or f'device{len(devices)}'}", "other", socket=socket
            )
        return Device(f"pci{self.building.counts[BRIDGE]}", BRIDGE, socket=socket)

    def matrix(self, matrix: Element) -> None:
        """Join the objects of a matrix by the rates in it."""
        size = whole_number(matrix.get("nbobjs", ""))
        if size is None or size > _MOST_OBJECTS:
            raise InputError(
                f"{self.where}: nbobjs of {matrix.get('name')} is '{excerpt(matrix.get('nbobjs'))}'; it must "
                f"be at most {_MOST_OBJECTS}"
            )
        objects = [
            word.rpartition(":")[2]
            for part in matrix.findall("indexes")
            for word in (part.text or "").split()
        ]
        texts = [word for part in matrix.findall("u64values") for word in (part.text or "").split()]
        if len(objects) != size or len(texts) != size * size:
            raise InputError(
                f"{self.where}: {matrix.get('name')} has {len(objects)} objects and {len(texts)} values; it "
                f"says {size}, so {size * size} values are needed"
            )
        kind = _MATRICES[matrix.get("name", "")]
        values = [whole_number(text) for text in texts]
        for at, one in enumerate(objects):
            for to in range(at + 1, size):
                rate = values[at * size + to]
                ends = self.of_object.get(one), self.of_object.get(objects[to])
                if rate is None or None in ends:
                    raise InputError(
                        f"{self.where}: {matrix.get('name')} has '{excerpt(texts[at * size + to])}' between "
                        f"the objects {excerpt(one)} and {excerpt(objects[to])}; it must be MB/s between "
                        "devices"
                    )
                if rate and ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
                    self.building.join(ends[0], ends[1], kind, gbps=Fraction(rate, _MB))
