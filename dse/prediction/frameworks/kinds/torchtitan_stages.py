"""Pipelines of torchtitan: its schedules by name, and how it shares out layers to stages; both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.inputs.strategies import AXIS
from dse.prediction.frameworks.job import Job, Lack
from dse.prediction.frameworks.reading.pipelines import known_schedule, problem_of, read_actions
from dse.prediction.frameworks.rules import Facts
from dse.prediction.steps.plan import STAGES, text_of_layers


class Schedule(NamedTuple):
    """A schedule of torch: its name, ours (empty: none), and how many stages a rank may have."""

    name: str
    ours: str
    least: int
    most: int


_MOST = 1_000_000
_SCHEDULES = (
    Schedule("1F1B", "1f1b", 1, 1),
    Schedule("GPipe", "gpipe", 1, 1),
    Schedule("Interleaved1F1B", "interleaved", 2, _MOST),
    Schedule("InterleavedZeroBubble", "", 2, _MOST),
    Schedule("LoopedBFS", "", 2, _MOST),
    Schedule("ZBVZeroBubble", "zb-v", 2, 2),
    Schedule("DualPipeV", "", 2, 2),
    Schedule("PipelineScheduleSingle", "", 1, 1),
    Schedule("PipelineScheduleMulti", "", 2, _MOST),
)
_BY_NAME = {schedule.name.lower(): schedule for schedule in _SCHEDULES}
_BY_OURS = {schedule.ours: schedule.name for schedule in _SCHEDULES if schedule.ours}
_V_SHAPED = ("ZBVZeroBubble", "DualPipeV")
_LAYER = re.compile(r"layers\.\d+")
FILES = {"zb-h1.csv": "zb-h1"}
"""Schedules that torch has no class for, by the name of the file that says them."""


def followed_stages(found: dict[str, Any]) -> None:
    """Add to facts what follows of the pipeline: its stages, and what its schedule needs."""
    file = str(found.get("schedule_csv") or "")
    schedule = _BY_NAME.get(str(found["schedule"]).lower())
    found["is_known_schedule"] = schedule is not None and (
        bool(file) or not schedule.name.startswith("Pipeline")
    )
    pp, layers, parts, size = found["pp"], found.get("layers"), found.get("parts"), found.get("stage_size")
    found["has_parts"] = bool(parts)
    schedule = schedule or _BY_NAME["1f1b"]
    if parts:
        found["stages"], found["part_layers"] = len(parts), sum(part_sizes(parts))
    elif size and layers is not None:
        found["stages"] = -(-(layers + found["first_less"] + found["last_less"]) // size)
    elif not size:
        found["stages"] = pp * schedule.least
    if pp and "stages" in found and found["stages"] % pp == 0:
        found["chunks"] = found["stages"] // pp
    found["least_chunks"], found["most_chunks"] = schedule.least, schedule.most
    found["needs_a_micro_batch_a_stage"] = not file and schedule.name in ("1F1B", "DualPipeV")
    found["has_rounds"] = not file and schedule.name in ("Interleaved1F1B", "InterleavedZeroBubble")
    if found["pp_mbs"] > 0:
        found["micro_batches"] = found["local"] // found["pp_mbs"]
    found["has_csv"] = "schedule_text" in found
    if found["has_csv"] and pp > 1 and "chunks" in found and "micro_batches" in found:
        found |= _written_schedule(found, is_v=schedule.name in _V_SHAPED)


def _written_schedule(found: Mapping[str, Any], *, is_v: bool) -> dict[str, Any]:
    """Return whether ranks can run the schedule of a file, and the name of an equal one here."""
    pp, chunks, batches = found["pp"], found["chunks"], found["micro_batches"]
    lines, problem = read_actions(found["schedule_text"])
    problem = problem or problem_of(lines, pp, found["stages"], batches, is_v=is_v)
    ours = "" if problem else known_schedule(lines, pp, chunks, batches)
    return {"is_right_csv": not problem, "csv_problem": problem, "csv_schedule": ours}


def part_sizes(parts: Sequence[Any]) -> tuple[int, ...]:
    """Return the layers of each part, which is a list of the names of its modules.

    >>> part_sizes([["tok_embeddings", "layers.0"], ["layers.1", "layers.2", "norm", "lm_head"]])
    (1, 2)
    """
    return tuple(sum(bool(_LAYER.fullmatch(str(name))) for name in part) for part in parts)


def named_parts(counts: Sequence[int]) -> list[list[str]]:
    """Return the names of the modules of each part.

    >>> named_parts((1, 1))
    [['tok_embeddings', 'layers.0'], ['layers.1', 'norm', 'lm_head']]
    """
    starts = [sum(counts[:index]) for index in range(len(counts))]
    parts = [
        [f"layers.{start + layer}" for layer in range(count)]
        for start, count in zip(starts, counts, strict=True)
    ]
    parts[0].insert(0, "tok_embeddings")
    parts[-1] += ["norm", "lm_head"]
    return parts


def shared_out(layers: int, stages: int, first_less: int, last_less: int) -> tuple[int, ...]:
    """Return the layers of each stage as torchtitan shares them out: those left over go to the first ones.

    >>> shared_out(32, 4, 1, 1), shared_out(32, 3, 0, 0)
    ((8, 9, 8, 7), (11, 11, 10))
    """
    each, over = divmod(layers + first_less + last_less, stages)
    counts = [each + (index < over) for index in range(stages)]
    counts[0] -= first_less
    counts[-1] -= last_less
    return tuple(counts)


def stage_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return schedule, chunks and stages of the plan.

    Raises:
        InputError: `dse` has no such schedule, or the number of layers is unknown.
    """
    pp = facts["pp"]
    if pp == 1:
        return {"schedule": "1f1b", "chunks": 1, "stages": "even"}
    file = str(facts.get("schedule_csv") or "")
    name = str(facts["schedule"])
    ours = _BY_NAME[name.lower()].ours
    if file and facts["has_csv"]:
        ours = facts["csv_schedule"]
    elif file:
        ours = FILES.get(file.rpartition("/")[2], "")
        assumed.append(f"schedule {ours}, by the name of its file")
    if not ours:
        known = ", ".join(_BY_OURS.values())
        raise InputError(f"the schedule {file or name} is not modelled; known are {known}")
    if "chunks" not in facts:
        raise InputError("the number of layers is unknown: write model=NAME")
    chunks = facts["chunks"]
    return {"schedule": ours, "chunks": chunks, "stages": _stages(facts, pp, chunks)}


def _stages(facts: Facts, pp: int, chunks: int) -> str:
    from dse.native._engine import stage_layers

    first, last = facts["first_less"], facts["last_less"]
    if facts["has_parts"]:
        counts = part_sizes(facts["parts"])
    elif facts.get("layers") is None:
        return "spread" if first == last == 0 else "lighter-ends"
    else:
        counts = shared_out(facts["layers"], pp * chunks, first, last)
    for rule in STAGES:
        try:
            if rule != "balanced" and tuple(stage_layers(sum(counts), pp, chunks, rule)) == counts:
                return rule
        except ValueError:
            continue
    text = text_of_layers(counts)
    if not AXIS["stages"].accepts(text):
        raise InputError(f"stages of {text} layers are not modelled: each has at least one")
    return text


def stage_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say schedule, chunks and stages of a plan."""
    plan = job.plan
    if plan.pp == 1:
        return {}
    file = next((name for name, ours in FILES.items() if ours == plan.schedule), None)
    if not file and plan.schedule not in _BY_OURS:
        nearest = {1: "1f1b", 2: "zb-v"}.get(plan.chunks, "interleaved")
        known = ", ".join((*_BY_OURS, *FILES.values()))
        lacks.append(Lack("schedule", plan.schedule, nearest, f"torchtitan runs {known}"))
        return {}
    facts: dict[str, Any] = {
        "schedule": "1F1B" if file else _BY_OURS[plan.schedule],
        "schedule_csv": file,
        "pp_mbs": plan.micro_batch,
    }
    if plan.stages == "balanced":
        lacks.append(Lack("stages", plan.stages, "spread", "its layers follow from a prediction"))
        return facts
    counts = job.layers_per_part
    layers, stages = job.model.num_layers, len(counts)
    for first, last in ((1, 1), (0, 0), (0, 1), (1, 0)):
        size = _stage_size(layers + first + last, stages, is_default=plan.chunks <= 2)
        fits = stages <= layers + first + last and max(first, last) * stages <= layers + first + last
        if size is not None and fits and shared_out(layers, stages, first, last) == counts:
            return {**facts, "first_less": first, "last_less": last, "stage_size": size or None}
    return {**facts, "parts": tuple(map(tuple, named_parts(counts)))}


def _stage_size(layers: int, stages: int, *, is_default: bool) -> int | None:
    """Layers of a stage that make so many stages; 0 where nothing needs to be said, None where none does."""
    if is_default:
        return 0
    size = -(-layers // stages)
    return size if -(-layers // size) == stages else None
