"""Faster kernels by class, and more or less work of some ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.base.errors import InputError
from dse.simulation.recorded.classes import CLASSES, Speeds, classes_of
from dse.simulation.recorded.step import RecordedStep
from dse.simulation.recorded.times import is_communication, rank_index_of, scaled


def with_speeds(step: RecordedStep, speeds: Speeds) -> RecordedStep:
    """Return the step with the durations of each class divided by its speed; gaps and communication stay.

    Raises:
        InputError: a speed of a class that no node has.
    """
    if speeds == Speeds():
        return step
    if speeds.launch != 1 and not any(lane.is_device for lane in step.lanes):
        raise InputError(
            f"kernels.launch is {speeds.launch:g}, but no rank of the step has a stream of a device: "
            "operators of the host compute, and have the class of their name"
        )
    classes = classes_of(step)
    numbers = np.unique(classes).tolist()
    for number, name in enumerate(CLASSES):
        speed = getattr(speeds, name)
        if speed != 1 and number not in numbers:
            present = ", ".join(CLASSES[each] for each in numbers if each < len(CLASSES)) or "no work"
            raise InputError(
                f"kernels.{name} is {speed:g}, but no node of the step has this class; it has {present}"
            )
    factors = np.array([*(1 / getattr(speeds, name) for name in CLASSES), 1.0])
    return replace(step, duration_ns=scaled(step.duration_ns, factors[classes]))


def with_work(step: RecordedStep, factor: float, ranks: tuple[int, ...] | str) -> RecordedStep:
    """Return the step with all that some ranks do themselves, and their gaps, taking `factor` times as long.

    Ranks are `all`, `half` (the upper half of the recorded ones) or numbers of recorded ranks.

    Raises:
        InputError: a rank that was not recorded, or half of an odd number of ranks.
    """
    if factor == 1:
        return step
    chosen = np.isin(np.array(step.ranks), _chosen(step, ranks))[rank_index_of(step)]
    factors = np.where(chosen, factor, 1.0)
    work = np.where(is_communication(step), 1.0, factors)
    return replace(step, duration_ns=scaled(step.duration_ns, work), gap_ns=scaled(step.gap_ns, factors))


def _chosen(step: RecordedStep, ranks: tuple[int, ...] | str) -> list[int]:
    if ranks == "all":
        return list(step.ranks)
    if ranks == "half":
        if len(step.ranks) % 2:
            raise InputError(
                f"work.ranks is half, but {len(step.ranks)} ranks were recorded; name the ranks themselves"
            )
        return list(step.ranks[len(step.ranks) // 2 :])
    for rank in ranks:
        if rank not in step.ranks:
            known = ", ".join(map(str, step.ranks[:8])) + (", …" if len(step.ranks) > 8 else "")
            raise InputError(f"work.ranks has {rank!r}; the recorded ranks are {known}")
    return [int(rank) for rank in ranks]
