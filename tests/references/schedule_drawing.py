"""A schedule as text: a line for each stage, a column for each unit of time."""

from __future__ import annotations

from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import KINDS, Operation
from dse.prediction.steps.schedules import StageTimes
from tests.references.prediction.recurrence import Recurrence

_FIRST = dict(zip(KINDS, "1Aa", strict=True))


def drawing(schedule: str, stages: int, chunks: int, micro_batches: int) -> str:
    """Draw a step whose forward takes one unit a chunk, and its backward two, one of them for weights.

    A forward of the first micro-batch is 1, its backward A, its weight gradient, where that is apart, a. The
    second has 2, B and b. The second chunk has a mark: 1', A', a'.
    """
    kind = schedule_named(schedule)
    case = [[StageTimes(1, 2, 1)] * chunks] * stages
    recurrence = Recurrence(kind, case, micro_batches, [0] * stages)
    end = int(recurrence.run().makespan_s)
    lines = []
    for number, spans in enumerate(recurrence.spans):
        cells = [". "] * end
        for operation, (start, finish) in spans.items():
            cells[int(start) : int(finish)] = [_cell(operation)] * int(finish - start)
        lines.append(f"stage {number}  {''.join(cells)}".rstrip())
    return "\n".join(lines)


def _cell(operation: Operation) -> str:
    return chr(ord(_FIRST[operation.kind]) + operation.micro_batch) + ("'" if operation.chunk else " ")
