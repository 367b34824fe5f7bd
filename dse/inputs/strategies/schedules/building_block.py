"""Schedules that repeat a building block: the passes of a micro-batch, and the same again every six ticks.

Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", https://arxiv.org/abs/2405.15362. A stage has
two chunks in the shape of a V. In a period it runs a forward pass, a gradient of inputs and one of weights of
each, a tick long. The longer the block, the more activations are held. Idle ticks go when a step is timed:
the paper calls that squeezing. Its last step, other orders for warm-up and drain, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from dse.inputs.strategies.schedules.schedule import Schedule, Timetable

_PERIOD = 6  # ticks: three passes of two chunks


def v_schedule(name: str, rise: int, delays: Callable[[int], tuple[int, int, int]]) -> Schedule:
    """Return the schedule of a block whose passes go down the V a tick a stage, and up in `rise` ticks each.

    `delays(stages)` are ticks from the pass before each turn to the pass after it: at the last stage, at the
    loss, and at the last stage again. No two passes of a stage may come in the same tick of the period.
    """

    def timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:  # noqa: ARG001
        import numpy as np

        block = np.array([_stage_ticks(stages, stage, rise, delays(stages)) for stage in range(stages)])
        ticks = block[..., np.newaxis] + _PERIOD * np.arange(micro_batches)
        return Timetable(*(ticks[:, kind] for kind in range(3)))

    return Schedule(name, timetable, chunks=2, splits_backward=True, is_v_shaped=True)


def _stage_ticks(stages: int, stage: int, rise: int, delays: tuple[int, int, int]) -> list[list[int]]:
    """Return the ticks of a stage in the first block: for each kind of pass, of both chunks."""
    last = stages - 1
    up, turn = rise * (last - stage), last + delays[0]
    loss = turn + rise * last + delays[1]
    forwards, backwards = [stage, turn + up], [loss + last + delays[2] + up, loss + stage]
    taken = {tick % _PERIOD for tick in (*forwards, *backwards)}
    weights = []
    for backward in backwards:
        weights.append(next(tick for tick in count(backward + 1) if tick % _PERIOD not in taken))
        taken.add(weights[-1] % _PERIOD)
    return [forwards, backwards, weights]
