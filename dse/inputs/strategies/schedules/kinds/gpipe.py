"""GPipe: all forward passes, then all backward passes in reverse order (Huang et al. 2019, figure 2c)."""

from __future__ import annotations

from dse.inputs.strategies.schedules.schedule import Schedule, Timetable, grid


def _timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:
    stage, _, batch = grid(stages, chunks, micro_batches)
    turn = stages + micro_batches - 1
    return Timetable(stage + batch, turn + (stages - 1 - stage) + (micro_batches - 1 - batch))


SCHEDULE = Schedule("gpipe", _timetable)
