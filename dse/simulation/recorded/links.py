"""Other links by plain numbers: a factor of the bandwidth, and a latency added to each communication."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from dse.base.lazy import NDArray
from dse.simulation.recorded.step import Communication, NodeKind, RecordedStep
from dse.simulation.recorded.times import is_communication, scaled

LatencyPer = Literal["communication", "step"]


def on_links(step: RecordedStep) -> NDArray[np.bool_]:
    """Say of each node whether its duration is that of a communication among several ranks.

    The duration of a send that does not wait is a copy on its own rank, and no link's.
    """
    several = np.array([len(each.members) > 1 for each in step.communications], dtype=np.bool_)
    mask = is_communication(step) & (step.communication >= 0)
    mask &= (step.kind != NodeKind.SEND) | step.waits
    mask[mask] = several[step.communication[mask]]
    return mask


def steps_of(communication: Communication) -> int:
    """Return how many messages a ring sends one after the other: n - 1, twice that for an all-reduce.

    A barrier counts as an all-reduce, a message as one.
    """
    others = len(communication.members) - 1
    if communication.kind == "message":
        return 1
    return 2 * others if communication.kind in ("all_reduce", "barrier") else others


def with_links(
    step: RecordedStep, bandwidth_factor: float, latency_added_ns: int, latency_per: LatencyPer
) -> RecordedStep:
    """Return the step on other links.

    The measured time of a communication with bytes is divided by `bandwidth_factor`, as if all of it were
    transfer. Then `latency_added_ns` comes on top: once, or `latency_per=step` for each message of a ring.
    """
    if bandwidth_factor == 1 and latency_added_ns == 0:
        return step
    mask = on_links(step)
    numbers = step.communication[mask]
    has_bytes = np.array([each.size_bytes > 0 for each in step.communications], dtype=np.bool_)
    messages = np.array(
        [steps_of(each) if latency_per == "step" else 1 for each in step.communications], dtype=np.int64
    )
    duration_ns = step.duration_ns.copy()
    divided = scaled(duration_ns[mask], np.where(has_bytes[numbers], 1 / bandwidth_factor, 1.0))
    duration_ns[mask] = divided + messages[numbers] * latency_added_ns
    return replace(step, duration_ns=duration_ns)
