"""Replicas of a pipeline: how many there may be, the share of the devices that each has, and averaging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.base.errors import InputError
from dse.base.settings.values import Values, whole
from dse.base.texts import excerpt
from dse.partition.problem.arguments import MOST
from dse.partition.problem.devices import Devices

MICRO_BATCHES = 8


def micro_batches_of(values: Values) -> int:
    """Return the micro-batches of a step, over all replicas."""
    return whole(values, "microbatches", MICRO_BATCHES, least=1, most=MOST)


def replicas_of(values: Values, devices: Devices) -> list[int]:
    """Return the numbers of replicas that are asked for: one, or with `auto` all that are possible.

    Raises:
        InputError: replicas cannot share devices and micro-batches equally, with two devices for each.
    """
    text, micro_batches = values.get("replicas", "1"), micro_batches_of(values)
    most = max(1, devices.count // 2)
    possible = [count for count in range(1, most + 1) if _can_share(devices, micro_batches, count)]
    if text == "auto":
        return possible
    count = whole(values, "replicas", 1, least=1, most=MOST)
    if count in possible:
        return [count]
    raise InputError(
        f"replicas is {excerpt(text)}; {devices.count} devices, at least two for each, and {micro_batches} "
        f"micro-batches can be shared equally by {', '.join(map(str, possible))}"
    )


def share_of(devices: Devices, replicas: int) -> Devices:
    """Return the devices of the first replica: the first ones, with the slowest links of any share."""
    if replicas == 1:
        return devices
    width = devices.count // replicas
    starts = range(0, devices.count, width)

    def slowest(matrix: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(max(matrix[start + a][start + b] for start in starts) for b in range(width))
            for a in range(width if matrix else 0)
        )

    return replace(
        devices,
        count=width,
        distance=slowest(devices.distance),
        latency_ns=slowest(devices.latency_ns),
        ns_per_byte=slowest(devices.ns_per_byte),
        speeds=devices.speeds[:width],
        memory_bytes=devices.memory_bytes[:width],
        tiers=(),
        names=devices.names[:width],
    )


def averaging_ns(devices: Devices, width: int, device: int, gradient_bytes: float) -> float:
    """Return the time in which the replicas of a stage average their gradients, in a ring.

    Each of p replicas sends 2 (p - 1)/p of them (Patarasuk and Yuan 2009); the slowest link decides.
    """
    peers = range(device, devices.count, width)
    steps = 2 * (len(peers) - 1)
    links = [(peer, (peer + width) % devices.count) for peer in peers]
    latency = max((devices.latency_ns[a][b] for a, b in links if devices.latency_ns and a != b), default=0.0)
    each = max((devices.ns_per_byte[a][b] for a, b in links if devices.ns_per_byte and a != b), default=0.0)
    return steps * (latency + gradient_bytes / len(peers) * each)


def _can_share(devices: Devices, micro_batches: int, replicas: int) -> bool:
    if devices.count % replicas or (replicas > 1 and micro_batches % replicas):
        return False
    width = devices.count // replicas
    return all(own[:-width] == own[width:] for own in (devices.speeds, devices.memory_bytes) if replicas > 1)
