"""ZB-V: two chunks a stage in the shape of a V, gradients of weights apart (Qi et al. 2023, section 6).

Stage s holds parts s and 2p - 1 - s of the model, so the last part is on the first stage, and the loss is
where the inputs are. With equal times of forward, input gradient and weight gradient no stage is ever idle
between its first and its last operation; every stage holds 2p activations of half a stage, as much as the
first of 1F1B. DualPipe (DeepSeek-V3) folded onto one copy of the weights has this shape and this memory.
"""

from __future__ import annotations

from dse.base.lazy import np
from dse.inputs.strategies.schedules.schedule import Schedule, Timetable

# Operations of a chunk: forward, gradient of the input, gradient of the weights.
_F0, _B0, _W0, _F1, _B1, _W1 = (bytes([number]) for number in range(6))


def _timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:
    # A shorter step runs the order of 2p - 1 micro-batches without those that it lacks.
    ordered = max(2 * stages - 1, micro_batches)
    ticks = np.empty((3, stages, chunks, micro_batches), np.int64)
    for stage in range(stages):
        order = np.frombuffer(_order(stages, stage, ordered), np.uint8)
        for number in range(6):
            places = np.flatnonzero(order == number)[:micro_batches]
            ticks[number % 3, stage, number // 3] = stage + places
    return Timetable(*ticks)


def _order(stages: int, stage: int, micro_batches: int) -> bytes:
    """Return the operations of a stage; micro-batches of each kind come in ascending order."""
    inward, outward = _B0 + _W0, _F1 + _B1 + _W1
    left = micro_batches - 2 * stages + stage + 1  # first forwards after the warm-up
    warm_up = _F0 * (2 * (stages - stage) - 1) + (_F1 + _F0) * stage + outward * (stages - stage)
    steady = (_F0 + inward + outward) * left + (inward + outward) * (stages - stage - 1)
    return warm_up + steady + (_B0 + _B1) * stage + inward * (stages - stage) + _W1 * stage + _W0 * stage


SCHEDULE = Schedule("zb-v", _timetable, chunks=2, splits_backward=True, is_v_shaped=True)
