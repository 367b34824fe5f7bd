"""ZB-H1: 1F1B whose gradients of weights are put off into the drain (Qi et al. 2023, section 2.1, figure 3).

Stage s runs the weight gradients s micro-batches behind those of inputs, so that every stage holds p
micro-batches, as many as the first of 1F1B.
"""

from __future__ import annotations

from dse.inputs.strategies.schedules.schedule import Schedule, Timetable, grid


def _timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:
    stage, _, batch = grid(stages, chunks, micro_batches)
    ahead = stages - 1 - stage
    return Timetable(
        3 * batch + stage,
        3 * (batch + ahead) + stage + 1,
        3 * (batch + ahead + stage) + stage + 2,
    )


SCHEDULE = Schedule("zb-h1", _timetable, splits_backward=True)
