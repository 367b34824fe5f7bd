"""A machine while it is read: devices by a key of the document, links between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.inputs.machines.machine import GPU, MOST_DEVICES, MOST_LINKS, Device, Link, Machine


@dataclass
class Building:
    """Devices and links so far; `where` is how messages call the document."""

    where: str
    devices: list[Device] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # of devices by kind

    def add(self, key: Hashable, device: Device) -> int:
        """Add a device under a key; return its number.

        Raises:
            InputError: the key occurs twice, or there are too many devices.
        """
        if key in self.numbers:
            raise InputError(f"{self.where}: '{excerpt(key)}' occurs twice; each device is allowed once")
        if len(self.devices) >= MOST_DEVICES:
            raise InputError(f"{self.where}: has more than {MOST_DEVICES} devices, the most allowed")
        self.numbers[key] = len(self.devices)
        self.counts[device.kind] += 1
        self.devices.append(device)
        return len(self.devices) - 1

    def join(
        self,
        one: int,
        other: int,
        kind: str,
        count: int = 1,
        gbps: Fraction | None = None,
        latency_ns: Fraction | None = None,
        is_one_way: bool = False,
    ) -> None:
        """Add a link.

        Raises:
            InputError: there are too many.
        """
        if len(self.links) >= MOST_LINKS:
            raise InputError(f"{self.where}: has more than {MOST_LINKS} links, the most allowed")
        self.links.append(Link((one, other), kind, count, gbps, latency_ns, is_one_way))

    def machine(self, name: str, form: str, order: dict[int, int] | None = None) -> Machine:
        """Return the machine: GPUs first, in the order of `order` where it has them, then the rest."""
        gpus = [number for number, device in enumerate(self.devices) if device.kind == GPU]
        order = order or {}
        gpus.sort(key=lambda number: (order.get(number, len(self.devices)), number))
        rest = [number for number, device in enumerate(self.devices) if device.kind != GPU]
        place = {number: at for at, number in enumerate([*gpus, *rest])}
        devices = tuple(self.devices[number] for number in (*gpus, *rest))
        links = tuple(replace(link, ends=(place[link.ends[0]], place[link.ends[1]])) for link in self.links)
        return Machine(name, form, devices, links, tuple(self.notes))
