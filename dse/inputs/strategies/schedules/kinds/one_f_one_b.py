"""1F1B: stage s runs p - s - 1 forward passes ahead, then one forward and one backward in turn.

PipeDream-flush: Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using
Megatron-LM", section 2.2.1 and figure 4 (top).
"""

from __future__ import annotations

from dse.inputs.strategies.schedules.schedule import Schedule, Timetable, grid


def _timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:
    stage, _, batch = grid(stages, chunks, micro_batches)
    ahead = stages - 1 - stage
    return Timetable(2 * batch + stage, 2 * (batch + ahead) + stage + 1)


SCHEDULE = Schedule("1f1b", _timetable)
