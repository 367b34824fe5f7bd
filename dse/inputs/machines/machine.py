"""A machine as it describes itself: devices, links between them, and what the document did not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dse.base.errors import InputError, excerpt

MOST_DEVICES = 200_000
MOST_LINKS = 1_000_000
GPU, NIC, CPU, SWITCH, BRIDGE = "gpu", "nic", "cpu", "switch", "bridge"
PASSED_THROUGH = (NIC, BRIDGE, "port", "slot")
"""Kinds of devices that only pass on what comes in, unless more than two links meet there."""


@dataclass(frozen=True)
class Device:
    """A GPU, NIC, CPU, switch or other part of a machine.

    `accelerator` is a type of conf/accelerator where the document names one, `architecture` such as sm_90.
    `socket` says which CPU or NUMA node is near. `gbit_per_s` is what a NIC sends, 10^9 bits per second.
    """

    name: str
    kind: str
    accelerator: str = ""
    architecture: str = ""
    socket: str = ""
    gbit_per_s: Fraction | None = None


@dataclass(frozen=True)
class Link:
    """A bundle of `count` equal links between two devices, by their numbers.

    `gbps` is the rate of the whole bundle in one direction, 10^9 bytes per second, and `latency_ns` that of
    a message; None where the document does not say. `is_one_way` marks a link from the first to the second.
    """

    ends: tuple[int, int]
    kind: str
    count: int = 1
    gbps: Fraction | None = None
    latency_ns: Fraction | None = None
    is_one_way: bool = False


@dataclass(frozen=True)
class Machine:
    """One machine, or several that are joined, as a document of a format describes them.

    GPUs come in the order of their ranks. `notes` are for people: what the document leaves open. With
    `hides_trunks` the format never says how switches are joined to each other.
    """

    name: str
    format: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    notes: tuple[str, ...] = ()
    hides_trunks: bool = False

    @property
    def gpus(self) -> tuple[int, ...]:
        """The numbers of the GPUs."""
        return self.of_kind(GPU)

    def of_kind(self, kind: str) -> tuple[int, ...]:
        """The numbers of the devices of a kind."""
        return tuple(number for number, device in enumerate(self.devices) if device.kind == kind)

    def named(self, name: str) -> int:
        """The number of a device by its name."""
        return next(number for number, device in enumerate(self.devices) if device.name == name)

    def joins(self, links: Iterable[Link], through: Iterable[int]) -> list[set[int]]:
        """Return the sets of GPUs that links join without leaving GPUs and the devices `through`."""
        allowed = {*self.gpus, *through}
        root = {number: number for number in allowed}

        def top(number: int) -> int:
            while root[number] != number:
                root[number] = root[root[number]]
                number = root[number]
            return number

        for link in links:
            one, other = link.ends
            if one in allowed and other in allowed:
                root[top(one)] = top(other)
        found: dict[int, set[int]] = {}
        for gpu in self.gpus:
            found.setdefault(top(gpu), set()).add(gpu)
        return list(found.values())


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
