"""Replicas of a pipeline and of its stages: how many there may be, the devices of each, and averaging."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from dse.base.errors import InputError, excerpt
from dse.base.settings.values import Values, entries, whole
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.partition.problem.arguments import MOST
from dse.partition.problem.problem import Devices
from dse.prediction.steps.schedules import StageTimes, pipeline

MICRO_BATCHES = 8
Replicas: TypeAlias = "int | tuple[int, ...]"
"""Of the whole pipeline, or of each stage where their numbers differ."""


@dataclass(frozen=True)
class Layout:
    """The device of each replica of each stage.

    Stage s has `pipelines` times `each[s]` replicas, and micro-batch m goes to replica m mod that number
    (Narayanan et al. 2019, PipeDream, section 3.2). With their greatest common divisor as `pipelines`, no
    message leaves one of these. The devices of a pipeline are next to each other: the first replica of every
    stage, then the second of every stage that has two, and so on.
    """

    pipelines: int
    each: tuple[int, ...]

    @property
    def width(self) -> int:
        """The devices of a pipeline."""
        return sum(self.each)

    @property
    def replicas(self) -> Replicas:
        """The number of replicas, or those of each stage where these differ."""
        return self.pipelines if max(self.each) == 1 else tuple(self.pipelines * one for one in self.each)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Replica and stage of each device of a pipeline."""
        return sorted((replica, stage) for stage, one in enumerate(self.each) for replica in range(one))

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {place: number for number, place in enumerate(self.places)}

    def count(self, stage: int) -> int:
        """Return how many replicas a stage has."""
        return self.pipelines * self.each[stage]

    def device_of(self, stage: int, micro_batch: int) -> int:
        """Return the device of a micro-batch in a stage."""
        turn, pipeline = divmod(micro_batch, self.pipelines)
        return pipeline * self.width + self._numbers[turn % self.each[stage], stage]

    def devices_of(self, stage: int) -> list[int]:
        """Return the devices of all replicas of a stage, in their order."""
        return [self.device_of(stage, replica) for replica in range(self.count(stage))]

    def replica_and_stage(self, device: int) -> tuple[int, int]:
        """Return the replica that a device has, and of which stage."""
        pipeline, place = divmod(device, self.width)
        turn, stage = self.places[place]
        return turn * self.pipelines + pipeline, stage


def layout_of(replicas: Replicas, stages: int) -> Layout:
    """Return the layout of so many replicas of all stages, or of each."""
    if isinstance(replicas, int):
        return Layout(replicas, (1,) * stages)
    pipelines = math.gcd(*replicas)
    return Layout(pipelines, tuple(one // pipelines for one in replicas))


def replicas_from(key: str, text: str) -> Replicas:
    """Return the replicas that a text such as 2 or 2,1 says.

    Raises:
        InputError: one is no whole number from 1.
    """
    found = tuple(whole({key: one}, key, 1, least=1, most=MOST) for one in entries(key, text))
    return found[0] if len(found) == 1 else found


def said(replicas: Replicas) -> str:
    """Return replicas as the key has them."""
    return str(replicas) if isinstance(replicas, int) else ",".join(map(str, replicas))


def micro_batches_of(values: Values) -> int:
    """Return the micro-batches of a step, over all replicas."""
    return whole(values, "microbatches", MICRO_BATCHES, least=1, most=MOST)


def replicas_of(values: Values, devices: Devices) -> list[Replicas]:
    """Return the replicas that are asked for, one by default; with `auto` all numbers of whole pipelines.

    Raises:
        InputError: replicas cannot share devices and micro-batches equally, with two devices for each
            pipeline, or those of the stages are not as many as the devices.
    """
    text, micro_batches = values.get("replicas", "1"), micro_batches_of(values)
    most = max(1, devices.count // 2)
    possible = [
        count
        for count in range(1, most + 1)
        if not devices.count % count
        and can_share(devices, micro_batches, layout_of(count, devices.count // count))
    ]
    if text == "auto":
        return [*possible]
    replicas = replicas_from("replicas", text)
    if isinstance(replicas, tuple):
        _require_share(devices, micro_batches, replicas)
        return [layout_of(replicas, len(replicas)).replicas]
    if replicas in possible:
        return [replicas]
    raise InputError(
        f"replicas is {excerpt(text)}; {devices.count} devices, at least two for each, and {micro_batches} "
        f"micro-batches can be shared equally by {', '.join(map(str, possible))}"
    )


def can_share(devices: Devices, micro_batches: int, layout: Layout) -> bool:
    """Whether the replicas of every stage have equal shares of the micro-batches, on equal devices."""
    for stage in range(len(layout.each)):
        homes = layout.devices_of(stage)
        if micro_batches % len(homes) and len(homes) > 1:
            return False
        for own in (devices.speeds, devices.memory_bytes):
            if own and len({own[device] for device in homes}) > 1:
                return False
    return True


def share_of(devices: Devices, replicas: int) -> Devices:
    """Return the devices of the first pipeline: the first ones, with the slowest links of any share."""
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


def joined(devices: Devices, layout: Layout) -> Devices:
    """Return a device for each stage of a pipeline: as fast as its replicas together, memory of one.

    Links are the slowest that its messages take; replicas receive in turn.
    """
    if layout.width == len(layout.each):
        return devices
    count, one = len(layout.each), replace(layout, pipelines=1)

    def in_turn(matrix: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(_slowest(matrix, one, a, b) / layout.each[b] if a != b else 0.0 for b in range(count))
            for a in range(count if matrix else 0)
        )

    speeds = devices.speeds[:count] or (1.0,) * count
    return replace(
        devices,
        count=count,
        distance=tuple(row[:count] for row in devices.distance[:count]),
        latency_ns=in_turn(devices.latency_ns),
        ns_per_byte=in_turn(devices.ns_per_byte),
        speeds=tuple(speed * own for speed, own in zip(speeds, layout.each, strict=True)),
        memory_bytes=devices.memory_bytes[:count],
        tiers=(),
        names=devices.names[:count],
    )


def averaging_ns(devices: Devices, peers: Sequence[int], gradient_bytes: float) -> float:
    """Return the time in which the devices of a stage average their gradients, in a ring.

    Each of p replicas sends 2 (p - 1)/p of them (Patarasuk and Yuan 2009); the slowest link decides.
    """
    steps = 2 * (len(peers) - 1)
    links = list(zip(peers, [*peers[1:], peers[0]], strict=True))
    latency = max((devices.latency_ns[a][b] for a, b in links if devices.latency_ns and a != b), default=0.0)
    each = max((devices.ns_per_byte[a][b] for a, b in links if devices.ns_per_byte and a != b), default=0.0)
    return steps * (latency + gradient_bytes / len(peers) * each)


def most_in_flight(layout: Layout, schedule: str | None = None, micro_batches: int = MICRO_BATCHES) -> int:
    """Return the most micro-batches that a replica holds in a step with `schedule`.

    Without a schedule, or where it cannot run, they are those that keep later stages busy, as under 1F1B.
    """
    stages = range(len(layout.each))
    depths = [-(-sum(layout.each[stage:]) // layout.each[stage]) for stage in stages]
    if schedule is None:
        return max(depths)
    shares = [max(1, micro_batches // layout.count(stage)) for stage in stages]
    return max(_held(schedule, *one) for one in set(zip(depths, shares, strict=True)))


def _held(schedule: str, depth: int, micro_batches: int) -> int:
    """Return the most micro-batches that a stage of so many holds."""
    passes = [[StageTimes(1.0, 2.0, 1.0)]] * depth
    try:
        return max(pipeline(schedule, passes, micro_batches).in_flight)
    except InfeasibleStrategy:  # the step will say why
        return depth


def _slowest(matrix: Sequence[Sequence[float]], layout: Layout, a: int, b: int) -> float:
    """The slowest of the ways that micro-batches take from stage a to stage b."""
    turns = range(math.lcm(layout.each[a], layout.each[b]))
    return max(matrix[layout.device_of(a, turn)][layout.device_of(b, turn)] for turn in turns)


def _require_share(devices: Devices, micro_batches: int, replicas: tuple[int, ...]) -> None:
    problem = ""
    if sum(replicas) != devices.count:
        problem = (
            f"which are {sum(replicas)} devices; the replicas of all stages must be {devices.count}, one on "
            "each device"
        )
    elif odd := [one for one in replicas if micro_batches % one]:
        problem = f"and {odd[0]} replicas cannot share {micro_batches} micro-batches equally"
    elif not can_share(devices, micro_batches, layout_of(replicas, len(replicas))):
        problem = (
            f"and those of a stage need devices of one speed and memory; they would be on {_homes(replicas)}"
        )
    if problem:
        raise InputError(f"replicas is {said(replicas)}, {problem}")


def _homes(replicas: tuple[int, ...]) -> str:
    layout = layout_of(replicas, len(replicas))
    homes = [layout.devices_of(stage) for stage, one in enumerate(replicas) if one > 1]
    return " and ".join(f"devices {', '.join(map(str, one))}" for one in homes)
