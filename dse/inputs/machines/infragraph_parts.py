"""An InfraGraph document as a machine, and a machine as such a document.

Parts are named as the package names them: `host.0.xpu.1`, and `host.0.nic.0.port.1` where a device has
devices. Edges are expanded by their schemes; a part is not joined to itself, and two parts once by a link.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.inputs.accelerators import accelerator_names
from dse.inputs.machines.building import Building
from dse.inputs.machines.facts import accelerator_of_product
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
from dse.inputs.machines.machine import CPU, GPU, MOST_DEVICES, MOST_LINKS, NIC, SWITCH, Device, Machine

_KINDS = {"xpu": GPU, "nic": NIC, "cpu": CPU, "switch": SWITCH, "port": "port", "memory": "memory"}
_TO_GBPS = {"gigabits_per_second": Fraction(1, 8), "gigabytes_per_second": Fraction(1)}
_TO_NS = {"ms": 10**6, "us": 10**3, "ns": 1}
_PART = re.compile(r"(?P<name>[^\[\].]{1,300})(?:\[(?P<slice>[-0-9:]{0,40})\])?")
_BUNDLE = re.compile(r"(?P<kind>.{1,200}?)-x(?P<count>[1-9][0-9]{0,3})(?:-[0-9]{1,6})?", re.DOTALL | re.ASCII)
_MOST_DEPTH = 20


def infragraph_machine(document: Infrastructure, where: str, name: str) -> Machine:
    """Return the machine of a document.

    Raises:
        InputError: a name twice or one that is not there, a slice that is none or beyond the count, devices
            that contain themselves, the scheme ring (whose edges the data model does not define), too many
            parts, or no xpu.
    """
    return _Expansion(document, where).machine(document.name or name)


class _Expansion:
    def __init__(self, document: Infrastructure, where: str) -> None:
        self.document, self.where = document, where
        self.building = Building(where)
        self.devices = {device.name: device for device in document.devices}
        self.instances = {instance.name: instance for instance in document.instances}
        for what, known, listed in (
            ("device", self.devices, document.devices),
            ("instance", self.instances, document.instances),
        ):
            if len(known) < len(listed):
                raise InputError(f"{where}: a name of a {what} occurs twice; each has its own")
        self.pairs: set[tuple[int, int]] = set()

    def machine(self, name: str) -> Machine:
        for instance in self.document.instances:
            device = self._device(instance.device, f"instance {instance.name}")
            for number in range(self._bounded(instance.count)):
                self._add(f"{instance.name}.{number}", device, 0)
        links = {link.name: link for link in self.document.links}
        for edge in self.document.edges:
            ends = [
                [
                    f"{of}.{part}"
                    for of, device in self._instances(end)
                    for part in self._parts(end.component, device)
                ]
                for end in (edge.ep1, edge.ep2)
            ]
            self._join(ends[0], ends[1], edge, links)
        return self.building.machine(name, "InfraGraph")

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

    def _add(self, prefix: str, device: DeviceType, depth: int) -> None:
        """Add the parts of a device and of devices in it, then its edges."""
        if depth > _MOST_DEPTH:
            raise InputError(f"{self.where}: device {excerpt(device.name)} contains itself, or is too deep")
        for component in device.components:
            for number in range(self._bounded(component.count)):
                if component.choice == "device":
                    inner = self._device(component.name, f"a component of {device.name}")
                    self._add(f"{prefix}.{component.name}.{number}", inner, depth + 1)
                else:
                    name = f"{prefix}.{component.name}.{number}"
                    self.building.add(name, _part(name, component))
        links = {link.name: link for link in device.links}
        known = {component.name for component in device.components}
        for edge in device.edges:
            lacking = [
                name for end in (edge.ep1, edge.ep2) if (name := _first_part(end)) not in known and name
            ]
            if lacking:  # the package passes over such an edge; one of its own blueprints has some
                note = f"device {device.name} has edges of {excerpt(lacking[0])}, which it lacks: passed over"
                if note not in self.building.notes:
                    self.building.notes.append(note)
                continue
            ends = [[f"{prefix}.{part}" for part in self._ends(end, device)] for end in (edge.ep1, edge.ep2)]
            self._join(ends[0], ends[1], edge, links)

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
        return self._parts(whole, device)

    def _parts(self, text: str, device: DeviceType) -> list[str]:
        """Return the names below a device that `nic[0:2].port[0]` stands for."""
        found, here = [""], device
        steps = text.split(".")
        for at, step in enumerate(steps):
            name, chosen = self._sliced(step, lambda part, own=here: _component(own, part, self.where).count)
            if len(found) * len(chosen) > MOST_LINKS:
                raise InputError(f"{self.where}: '{excerpt(text)}' stands for more than {MOST_LINKS} parts")
            found = [f"{prefix}{name}.{number}." for prefix in found for number in chosen]
            is_device = _component(here, name, self.where).choice == "device"
            if at + 1 < len(steps) and is_device:
                here = self._device(name, text)
        return [name[:-1] for name in found]

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

    def _join(self, ones: list[str], others: list[str], edge: Edge, links: dict[str, LinkType]) -> None:
        if edge.link not in links:
            raise InputError(f"{self.where}: an edge has the link '{excerpt(edge.link)}', which is not there")
        if edge.scheme == "ring":
            raise InputError(
                f"{self.where}: scheme ring is not defined by the data model; write one2one edges"
            )
        pairs = (
            zip(ones, others, strict=False) if edge.scheme != "many2many" else itertools.product(ones, others)
        )
        if len(ones) * len(others) > MOST_LINKS and edge.scheme == "many2many":
            raise InputError(
                f"{self.where}: an edge stands for more than {MOST_LINKS} links, the most allowed"
            )
        link = links[edge.link]
        rate, latency = _figures(link)
        for one, other in pairs:
            missing = next((name for name in (one, other) if name not in self.building.numbers), None)
            if missing is not None:
                raise InputError(
                    f"{self.where}: an edge leads to '{excerpt(missing)}', which is a device or not there"
                )
            a, b = self.building.numbers[one], self.building.numbers[other]
            if a != b and (min(a, b), max(a, b)) not in self.pairs:
                self.pairs.add((min(a, b), max(a, b)))
                kind, count = _bundle(link.name)
                self.building.join(a, b, kind, count, rate, latency)


def _first_part(end: End) -> str:
    """The component of the device that an end of its edges names."""
    return re.split(r"[\[.]", end.component if end.of is None else end.of, maxsplit=1)[0]


def _component(device: DeviceType, name: str, where: str) -> Component:
    found = next((component for component in device.components if component.name == name), None)
    if found is None:
        raise InputError(f"{where}: an edge has '{excerpt(name)}', which device {excerpt(device.name)} lacks")
    return found


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


def _bundle(name: str) -> tuple[str, int]:
    """The kind and the count in a name such as nvlink-x2; any other name is a kind, of one link."""
    found = _BUNDLE.fullmatch(name)
    return (name, 1) if found is None else (found["kind"], int(found["count"]))


def _clean(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "-", text)[:200]
