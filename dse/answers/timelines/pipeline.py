"""The timeline of a predicted step: a process for each pipeline stage, a slice for each pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from dse.answers.timelines.bounds import TimelineOptions, TimelineSummary
from dse.answers.timelines.write import write_events
from dse.base.errors import InputError
from dse.studies.points import DesignPoint
from dse.studies.points.methods.prediction import prediction_inputs

if TYPE_CHECKING:
    from dse.prediction.steps.details import StageOperation

_THREAD = 1_000_000  # thread ids differ from process ids, which viewers take for main threads


def write_pipeline(
    point: DesignPoint,
    file: TextIO,
    options: TimelineOptions | None = None,
    about: Mapping[str, str] | None = None,
) -> TimelineSummary:
    """Write the passes of all stages of a predicted point, then dp and the optimiser.

    `options.classes` are stages. What exceeds the bound is left out at the end of the step. There are no
    arrows, and no memory: the prediction has only its peak.

    Raises:
        InputError: a stage does not exist.
        InfeasibleStrategy: the strategy cannot run.
    """
    from dse.prediction.steps.details import stage_operations

    found = stage_operations(*prediction_inputs(point))
    return write_operations(found, point.strategy.pp, file, options, about)


def write_operations(
    found: Sequence[StageOperation],
    pp: int,
    file: TextIO,
    options: TimelineOptions | None = None,
    about: Mapping[str, str] | None = None,
) -> TimelineSummary:
    """Write the operations of `pp` stages, as `write_pipeline` does.

    Raises:
        InputError: a stage does not exist.
    """
    options = options or TimelineOptions()
    chosen = range(pp) if options.classes is None else sorted(set(options.classes))
    for stage in chosen:
        if not 0 <= stage < pp:
            raise InputError(f"stage {stage} does not exist; there are stages 0 to {pp - 1}")
    made = [each for each in found if each.stage in set(chosen) and each.end_s > each.start_s]
    shown = made[: options.max_events]

    def events() -> Iterator[Mapping[str, Any]]:
        for stage in chosen:
            track = {"ph": "M", "pid": stage + 1, "tid": _THREAD + stage}
            yield {**track, "name": "process_name", "args": {"name": f"stage {stage}"}}
            yield {**track, "name": "thread_name", "args": {"name": "passes"}}
        timed = [(_ns(each.start_s), 1, number, each) for number, each in enumerate(shown)]
        timed += [(_ns(each.end_s), 0, number, each) for number, each in enumerate(shown)]
        for ns, is_start, _, each in sorted(timed, key=lambda entry: entry[:3]):
            yield _event(each, ns, is_start=bool(is_start))

    def _event(each: StageOperation, ns: int, *, is_start: bool) -> Mapping[str, Any]:
        name = each.kind if each.micro_batch is None else f"{each.kind} {each.micro_batch}"
        track = {"ts": ns, "pid": each.stage + 1, "tid": _THREAD + each.stage}
        if not is_start:
            return {"ph": "E", "name": name, **track}
        facts = {"chunk": each.chunk, "micro_batch": each.micro_batch}
        args = {key: value for key, value in facts.items() if value is not None}
        return {"ph": "B", "name": name, "cat": each.kind, **track, "args": args}

    summary = TimelineSummary(len(shown), 0, 0, len(made) - len(shown), 0, 0)
    write_events(file, events(), {**(about or {}), **{k: str(v) for k, v in summary.to_json().items()}})
    return summary


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
