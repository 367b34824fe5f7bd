"""Interleaved 1F1B: v chunks of the model a stage, p micro-batches of one chunk after the other.

Narayanan et al. 2021, section 2.2.2 and figure 4 (bottom). Stage s runs 2 (p - s - 1) + (v - 1) p forward
passes ahead, so that it holds one more.
"""

from __future__ import annotations

from dse.inputs.strategies.schedules.schedule import Schedule, Ticks, Timetable, grid


def _timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:
    stage, chunk, batch = grid(stages, chunks, micro_batches)

    def turn(chunk: Ticks) -> Ticks:
        """Return which of the passes of its stage it is: the same on all stages."""
        return batch // stages * stages * chunks + chunk * stages + batch % stages

    ahead = 2 * (stages - 1 - stage) + (chunks - 1) * stages
    return Timetable(2 * (turn(chunk) + stage), 2 * (turn(chunks - 1 - chunk) + ahead + stage) + 1)


def _limit(stages: int, chunks: int, micro_batches: int) -> str:
    if chunks < 2:
        return f"chunks is {chunks}: schedule=interleaved has at least 2 chunks a stage; with 1 it is 1f1b"
    if micro_batches % stages:
        return f"{micro_batches} micro-batches: schedule=interleaved needs a multiple of the {stages} stages"
    return ""


SCHEDULE = Schedule("interleaved", _timetable, chunks=None, limit=_limit)
