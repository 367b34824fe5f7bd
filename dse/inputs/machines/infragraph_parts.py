"""An InfraGraph document as a machine: instances, devices in devices and edges, expanded.

Parts are named as the package names them: `host.0.xpu.1`, and `host.0.nic.0.port.1` where a device has
devices. Edges are expanded by their schemes; a part is not joined to itself, and two parts once by a link.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction

from dse.base.errors import InputError, excerpt
from dse.inputs.accelerators import accelerator_names
from dse.inputs.machines.facts import accelerator_of_product
from dse.inputs.machines.infragraph import (
    Component,
    DeviceType,
    Edge,
    End,
    Infrastructure,
    Instance,
    LinkType,
)
from dse.inputs.machines.machine import CPU, GPU, MOST_DEVICES, NIC, SWITCH, Building, Device, Link, Machine

_KINDS = {"xpu": GPU, "nic": NIC, "cpu": CPU, "switch": SWITCH, "port": "port", "memory": "memory"}
_TO_GBPS = {"gigabits_per_second": Fraction(1, 8), "gigabytes_per_second": Fraction(1)}
_TO_NS = {"ms": 10**6, "us": 10**3, "ns": 1}
_PART = re.compile(r"(?P<name>[^\[\].]{1,300})(?:\[(?P<slice>[-0-9:]{0,40})\])?")
_BUNDLE = re.compile(r"(?P<kind>.{1,200}?)-x(?P<count>[1-9][0-9]{0,3})(?:-[0-9]{1,6})?", re.DOTALL | re.ASCII)
_MOST_WORK = 4_000_000


def infragraph_machine(document: Infrastructure, where: str, name: str) -> Machine:
    """Return the machine of a document.

    Raises:
        InputError: a name twice or one that is not there, a slice that is none or beyond the count, devices
            that contain themselves, the scheme ring (whose edges the data model does not define), too many
            parts, or no xpu.
    """
    return _Expansion(document, where).machine(document.name or name)


class _Parts:
    """Parts by their names, and links between them, once a pair."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.numbers: dict[str, int] = {}
        self.links: list[Link] = []
        self.pairs: set[tuple[int, int]] = set()

    def add(self, device: Device) -> None:
        self.numbers[device.name] = len(self.devices)
        self.devices.append(device)


class _Expansion:
    def __init__(self, document: Infrastructure, where: str) -> None:
        self.document, self.where = document, where
        self.devices = {device.name: device for device in document.devices}
        self.instances = {instance.name: instance for instance in document.instances}
        for what, known, listed in (
            ("device", self.devices, document.devices),
            ("instance", self.instances, document.instances),
        ):
            if len(known) < len(listed):
                raise InputError(f"{where}: a name of a {what} occurs twice; each has its own")
        self.components = {
            device.name: {component.name: component for component in device.components}
            for device in document.devices
        }
        twice = next((d for d in document.devices if len(self.components[d.name]) < len(d.components)), None)
        if twice is not None:
            raise InputError(
                f"{where}: a component of {excerpt(twice.name)} occurs twice; each has its own name"
            )
        self.expanded: dict[str, _Parts] = {}
        self.notes: dict[str, None] = {}
        self.work = 0

    def _spend(self, steps: int) -> None:
        """Count parts and links, so that a short text cannot stand for too many."""
        self.work += steps
        if self.work > _MOST_WORK:
            raise InputError(
                f"{self.where}: stands for more than {_MOST_WORK} parts and links, the most allowed"
            )

    def machine(self, name: str) -> Machine:
        whole = _Parts()
        for instance in self.document.instances:
            device = self._device(instance.device, f"instance {instance.name}")
            for number in range(self._bounded(instance.count)):
                self._include(whole, f"{instance.name}.{number}.", self._parts_of(device, ()))
        links = {link.name: link for link in self.document.links}
        for edge in self.document.edges:
            ends = [
                [
                    f"{of}.{part}"
                    for of, device in self._instances(end)
                    for part in self._named(end.component, device)
                ]
                for end in (edge.ep1, edge.ep2)
            ]
            self._join(whole, ends[0], ends[1], edge, links)
        building = Building(self.where, whole.devices, whole.links, notes=list(self.notes))
        return building.machine(name, "InfraGraph")

    def _bounded(self, count: int) -> int:
        if count > MOST_DEVICES:
            raise InputError(f"{self.where}: a count of {count}; at most {MOST_DEVICES} devices are allowed")
        return count

    def _device(self, name: str, what: str) -> DeviceType:
        if name not in self.devices:
            raise InputError(
                f"{self.where}: {excerpt(what)} is of the device '{excerpt(name)}', which is not there"
            )
        return self.devices[name]

    def _parts_of(self, device: DeviceType, above: tuple[str, ...]) -> _Parts:
        """Return the parts of a device, those of devices in it too, and their links; each device once."""
        if device.name in self.expanded:
            return self.expanded[device.name]
        if device.name in above:
            raise InputError(f"{self.where}: device {excerpt(device.name)} contains itself")
        found = _Parts()
        for component in device.components:
            for number in range(self._bounded(component.count)):
                if component.choice == "device":
                    inner = self._device(component.name, f"a component of {device.name}")
                    parts = self._parts_of(inner, (*above, device.name))
                    self._include(found, f"{component.name}.{number}.", parts)
                else:
                    self._spend(1)
                    found.add(_part(f"{component.name}.{number}", component))
        links = {link.name: link for link in device.links}
        known = self.components[device.name]
        for edge in device.edges:
            lacking = [
                name for end in (edge.ep1, edge.ep2) if (name := _first_part(end)) not in known and name
            ]
            if lacking:  # the package passes over such an edge; one of its own blueprints has some
                note = f"device {device.name} has edges of {excerpt(lacking[0])}, which it lacks: passed over"
                self.notes[note] = None
                continue
            self._join(found, self._ends(edge.ep1, device), self._ends(edge.ep2, device), edge, links)
        self.expanded[device.name] = found
        return found

    def _include(self, into: _Parts, prefix: str, parts: _Parts) -> None:
        """Add a copy of parts and links under a prefix of their names."""
        self._spend(1 + len(parts.devices) + len(parts.links))
        first = len(into.devices)
        if first + len(parts.devices) > MOST_DEVICES:
            raise InputError(f"{self.where}: has more than {MOST_DEVICES} devices, the most allowed")
        for device in parts.devices:
            into.add(Device(prefix + device.name, device.kind, device.accelerator))
        for link in parts.links:
            ends = link.ends[0] + first, link.ends[1] + first
            into.pairs.add(ends)
            into.links.append(Link(ends, link.kind, link.count, link.gbps, link.latency_ns))

    def _instances(self, end: End) -> Iterator[tuple[str, DeviceType]]:
        name, chosen = self._sliced(end.of or "", lambda found: self._instance(found).count)
        device = self._device(self._instance(name).device, name)
        for number in chosen:
            yield f"{name}.{number}", device

    def _instance(self, name: str) -> Instance:
        if name not in self.instances:
            raise InputError(f"{self.where}: an edge has the instance '{excerpt(name)}', which is not there")
        return self.instances[name]

    def _ends(self, end: End, device: DeviceType) -> list[str]:
        whole = end.component if end.of is None else f"{end.of}.{end.component}"
        return self._named(whole, device)

    def _named(self, text: str, device: DeviceType) -> list[str]:
        """Return the names below a device that `nic[0:2].port[0]` stands for."""
        found, here = [""], device
        steps = text.split(".")
        for at, step in enumerate(steps):
            name, chosen = self._sliced(step, lambda part, own=here: self._component(own, part).count)
            self._spend(len(found) * len(chosen))
            found = [f"{prefix}{name}.{number}." for prefix in found for number in chosen]
            is_device = self._component(here, name).choice == "device"
            if at + 1 < len(steps) and is_device:
                here = self._device(name, text)
        return [name[:-1] for name in found]

    def _component(self, device: DeviceType, name: str) -> Component:
        found = self.components[device.name].get(name)
        if found is None:
            raise InputError(
                f"{self.where}: an edge has '{excerpt(name)}', which device {excerpt(device.name)} lacks"
            )
        return found

    def _sliced(self, text: str, count_of: object) -> tuple[str, range]:
        """Return the name and the numbers of `name`, `name[2]` or `name[0:2]`, as Python slices."""
        found = _PART.fullmatch(text)
        if found is None:
            raise InputError(f"{self.where}: '{excerpt(text)}' is no part; it must be such as xpu[0:2]")
        count = self._bounded(count_of(found["name"]))  # type: ignore[operator]
        words = (found["slice"] or ":").split(":")
        try:
            numbers = [int(word) if word else None for word in words]
        except ValueError:
            numbers = [None] * 4
        if len(words) == 1 and numbers[0] is not None and -count <= numbers[0] < count:
            return found["name"], range(numbers[0] % count, numbers[0] % count + 1)
        is_slice = len(words) in (2, 3) and numbers[2:] != [0] and len(numbers) < 4
        chosen = range(count)[slice(*numbers)] if is_slice else range(0)
        ends = [number for number in numbers[:2] if number is not None]
        if not is_slice or not chosen or any(abs(number) > count for number in ends):
            raise InputError(
                f"{self.where}: '{excerpt(text)}' is no slice of its {count}; write such as xpu[0:{count}]"
            )
        return found["name"], chosen

    def _join(
        self, into: _Parts, ones: list[str], others: list[str], edge: Edge, links: dict[str, LinkType]
    ) -> None:
        if edge.link not in links:
            raise InputError(f"{self.where}: an edge has the link '{excerpt(edge.link)}', which is not there")
        if edge.scheme == "ring":
            raise InputError(
                f"{self.where}: scheme ring is not defined by the data model; write one2one edges"
            )
        pairs = (
            zip(ones, others, strict=False) if edge.scheme != "many2many" else itertools.product(ones, others)
        )
        self._spend(len(ones) * len(others) if edge.scheme == "many2many" else len(ones))
        link = links[edge.link]
        rate, latency = _figures(link)
        kind, count = _bundle(link.name)
        for one, other in pairs:
            missing = next((name for name in (one, other) if name not in into.numbers), None)
            if missing is not None:
                raise InputError(
                    f"{self.where}: an edge leads to '{excerpt(missing)}', which is a device or not there"
                )
            ends = into.numbers[one], into.numbers[other]
            if ends[0] != ends[1] and ends not in into.pairs and ends[::-1] not in into.pairs:
                into.pairs.add(ends)
                into.links.append(Link(ends, kind, count, rate, latency))


def _first_part(end: End) -> str:
    """The component of the device that an end of its edges names."""
    return re.split(r"[\[.]", end.component if end.of is None else end.of, maxsplit=1)[0]


def _part(name: str, component: Component) -> Device:
    kind = component.custom.type if component.custom is not None else _KINDS.get(component.choice, "other")
    is_gpu = kind == GPU
    return Device(name, kind, _accelerator(component.description or "") if is_gpu else "")


def _accelerator(text: str) -> str:
    """The type that a description names, by its product or by its file of conf/accelerator."""
    return text if text in accelerator_names() else accelerator_of_product(text)


def _figures(link: LinkType) -> tuple[Fraction | None, Fraction | None]:
    """GB/s in one direction and ns; a rate in transfers says neither how wide a link is nor its code."""
    rate, time = (link.physical.bandwidth, link.physical.latency) if link.physical else (None, None)
    gbps = (
        Fraction(str(rate.value)) * _TO_GBPS[rate.unit]
        if rate is not None and rate.unit in _TO_GBPS
        else None
    )
    return gbps or None, None if time is None else Fraction(str(time.value)) * _TO_NS[time.unit]


def _bundle(name: str) -> tuple[str, int]:
    """The kind and the count in a name such as nvlink-x2; any other name is a kind, of one link."""
    found = _BUNDLE.fullmatch(name)
    return (name, 1) if found is None else (found["kind"], int(found["count"]))
