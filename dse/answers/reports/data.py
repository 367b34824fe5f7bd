"""Everything that a report says about a study, as plain data (docs/report.md)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.answers import (
    ANSWER_COLUMNS,
    Cap,
    Group,
    apply_cap,
    counts_by_status,
    default_point,
    describe_variants,
    groups,
    unfinished_note,
)
from dse.answers.changed_files import current_points
from dse.answers.conventions import cautions, certainty, mfu_conventions
from dse.answers.distinct import distinct_points
from dse.answers.fidelities import hints_of_rows
from dse.answers.objectives import OBJECTIVE_COLUMNS
from dse.answers.reports.axes import axes_against, short_point
from dse.answers.reports.commands import Commands
from dse.answers.reports.ranked import POINT_FIELDS, Ranked, points_of
from dse.answers.reports.rebuilt import explanation, runs, sensitivity
from dse.answers.reports.runs_of_points import RUN_FIGURES, objective_tables, run_figures
from dse.answers.reports.setup import setup
from dse.answers.verdicts import may_fit_words, points_that_may_fit, verdict_of
from dse.base.errors import DseError, InputError
from dse.base.lazy import pa, pc, yaml
from dse.base.units import format_bytes
from dse.studies.points import point_of_row
from dse.studies.store import Snapshot, StudyRow, StudyStore
from dse.studies.store.history import latest_objective, stored_sweep
from dse.studies.store.reasons import kind_of

COLUMNS = (*ANSWER_COLUMNS, "reason", "fractional", *OBJECTIVE_COLUMNS)
MAX_GROUPS = 12
"""Questions that have plots; further ones have a line in the overview."""

MAX_REASONS = 20


def report_data(
    store: StudyStore,
    *,
    memory_cap_bytes: int | None = None,
    is_cap_asked: bool = False,
    is_cap_by_system: bool = False,
    title: str | None = None,
    max_points: int = 2000,
) -> dict[str, Any]:
    """Return the report of a study, under a cap if there is one; the others as in `Cap`.

    Keys: title, study (its folder in commands), memory_cap_bytes, notes, point_fields, overview, groups,
    axis_studies (`axes_against`), omitted_groups, sweeps. The best points are evaluated again, for
    breakdowns and the sensitivity.

    Raises:
        InputError: the folder is not a readable study, or a cap is asked for and memory is tracked nowhere.
    """
    snapshot = store.snapshot(COLUMNS)
    table, changed = current_points(snapshot.table)
    found = groups(table)
    caps, notes = apply_cap(found, Cap(memory_cap_bytes, is_cap_asked, by_system=is_cap_by_system))
    if is_cap_by_system and len(set(caps)) == 1:
        memory_cap_bytes = caps[0]
    found = [Group(group.title, distinct_points(group.table)) for group in found]
    commands = Commands()
    figures = run_figures(table)
    return {
        "title": title or _title(found, store.folder.resolve().name),
        "study": shlex.quote(f"results/{store.folder.resolve().name}"),
        "memory_cap_bytes": memory_cap_bytes,
        "notes": [*unfinished_note(store), *changed, *notes],
        "point_fields": [*POINT_FIELDS, *figures],
        "run_figures": [[name, RUN_FIGURES[name]] for name in figures],
        "objectives": objective_tables(found, caps, latest_objective(store), snapshot.rows),
        "overview": [
            _overview(snapshot, group, limit)
            for group, limit in zip(found, caps, strict=True)
            if len(found) > 1
        ],
        "groups": [
            _group(number, snapshot, group, commands, caps[number], max_points, figures)
            for number, group in enumerate(found[:MAX_GROUPS])
        ],
        "axis_studies": axes_against(snapshot, table, memory_cap_bytes, is_cap_by_system),
        "omitted_groups": max(0, len(found) - MAX_GROUPS),
        "sweeps": [_sweep(path) for path in store.sweeps()],
    }


def _title(found: Sequence[Group], study: str) -> str:
    if len(found) == 1:
        return f"How to parallelise {found[0].title}"
    return f"How to parallelise: {len(found)} questions of the study {study}"


def _overview(snapshot: Snapshot, group: Group, memory_cap_bytes: int | None) -> dict[str, Any]:
    ranked = Ranked.of(snapshot, group.table)
    capped = ranked.first(0) if memory_cap_bytes is None else ranked.under(memory_cap_bytes).first(1)
    answers = [ranked.rows(ranks) for ranks in (ranked.first(1), capped)]
    best, best_under_cap = ([short_point(row) for row in rows] for rows in answers)
    return {
        "title": group.title,
        "points": group.table.num_rows,
        "best": best[0] if best else None,
        "best_under_cap": best_under_cap[0] if best_under_cap else None,
    }


def _group(
    number: int,
    snapshot: Snapshot,
    group: Group,
    commands: Commands,
    memory_cap_bytes: int | None,
    max_points: int,
    figures: Sequence[str],
) -> dict[str, Any]:
    ranked = Ranked.of(snapshot, group.table)
    has_memory = ranked.has_memory()
    capped = None if memory_cap_bytes is None else ranked.under(memory_cap_bytes)
    answers = _answers(ranked, capped)
    steps = ranked.cap_steps()
    in_maps = ranked.best_of_pairs() | (set() if capped is None else capped.best_of_pairs())
    answered = {rank for rank in answers.values() if rank is not None}
    needed = answered | {rank for _, rank in steps} | in_maps
    shown = ranked.sample(needed, max_points)
    rows = dict(zip(shown, ranked.rows(shown), strict=True))
    points, origins = points_of(rows, commands, describe_variants(group.table), figures)
    named = [rows.get(rank) for rank in answers.values() if rank is not None]
    return {
        "id": f"question-{number + 1}",
        "title": group.title,
        "fidelity": group.fidelity,
        "hints": hints_of_rows(group.table),
        "setup": setup(group.table),
        "has_memory": has_memory,
        "memory_cap_bytes": memory_cap_bytes,
        "counts": counts_by_status(group.table),
        "finished": ranked.table.num_rows,
        "answers": answers,
        "cautions": cautions(named),
        "conventions": [
            *mfu_conventions(named),
            *_certainty(answers, rows),
            *(ranked if capped is None or not capped.table.num_rows else capped).tie_sentence(),
            *_may_fit(ranked, memory_cap_bytes, answers["best_under_cap"]),
        ],
        "smallest_peak_memory_bytes": steps[0][0] if steps else None,
        "origins": origins,
        "points": points,
        "cap_curve": [{"memory_cap_bytes": size, "rank": rank} for size, rank in steps],
        "failures": _failures(snapshot, group.table, commands),
        "runs": runs(answers, rows),
        **_evaluated_again(answers, rows),
    }


def _answers(ranked: Ranked, capped: Ranked | None) -> dict[str, int | None]:
    """The ranks of the best points, as `dse.answers.select` finds them."""
    first, second = ranked.best_and_runner_up()
    under, under_second = (None, None) if capped is None else capped.best_and_runner_up()
    return {
        "best": first,
        "runner_up": second,
        "best_under_cap": under,
        "runner_up_under_cap": under_second,
    }


def _may_fit(ranked: Ranked, memory_cap_bytes: int | None, best_rank: int | None) -> list[str]:
    """A sentence on the fastest point that may fit, where it is faster than the best that fits."""
    if memory_cap_bytes is None:
        return []
    ranks = points_that_may_fit(ranked.table, memory_cap_bytes, None).to_pylist()[:1]
    if not ranks or (best_rank is not None and ranks[0] > best_rank):
        return []
    (row,) = ranked.rows(ranks)
    is_named = verdict_of(row, memory_cap_bytes) == "may fit"
    return [may_fit_words(row, memory_cap_bytes)] if is_named else []


def _certainty(answers: Mapping[str, int | None], rows: Mapping[int, StudyRow]) -> list[str]:
    """Sentences on runners-up that are tied with their best point, each sentence once."""
    row = {name: None if rank is None else rows[rank] for name, rank in answers.items()}
    said = certainty(row["best"], [row["runner_up"]])
    return list(dict.fromkeys([*said, *certainty(row["best_under_cap"], [row["runner_up_under_cap"]])]))


def _evaluated_again(answers: Mapping[str, int | None], rows: Mapping[int, StudyRow]) -> dict[str, Any]:
    """The breakdowns of the best points, and what the one that fits (else the fastest) reacts to."""
    breakdowns: list[dict[str, Any]] = []
    reactions: list[dict[str, Any]] = []
    note = ""
    subject = default_point(answers["best"], answers["best_under_cap"])
    for rank in sorted({rank for rank in answers.values() if rank is not None}):
        try:
            point = point_of_row(rows[rank])
            breakdowns.append({"point": rank, **explanation(point)})
            if rank == subject:
                reactions = sensitivity(point)
        except DseError as error:
            note = str(error)
    return {
        "breakdowns": breakdowns,
        "sensitivity": reactions,
        "sensitivity_rank": subject if reactions else None,
        "not_evaluated_again": note,
    }


def _failures(snapshot: Snapshot, table: pa.Table, commands: Commands) -> list[dict[str, Any]]:
    """Points that are not ok by status and reason, most frequent first; numbers in reasons may differ."""
    bad = table.filter(pc.not_equal(table["status"], "ok"))
    kinds: dict[tuple[str, str], list[Any]] = {}
    counted = bad.group_by(["status", "reason"], use_threads=False).aggregate(
        [("position", "count"), ("position", "min")]
    )
    for entry in counted.to_pylist():
        what = entry["status"], kind_of(entry["reason"])
        kinds.setdefault(what, []).append((entry["position_min"], entry["position_count"]))
    ordered = sorted(kinds.items(), key=lambda item: (-sum(count for _, count in item[1]), item[0]))
    failures = []
    for (status, kind), members in ordered[:MAX_REASONS]:
        (row,) = snapshot.rows(bad.filter(pc.equal(bad["position"], min(members)[0])))
        failures.append(
            {
                "status": status,
                "reason": kind if len(members) > 1 else row.reason,
                "count": sum(count for _, count in members),
                "example": row.label(),
                "example_reason": row.reason,
                "command": commands.command(row),
            }
        )
    if rest := ordered[MAX_REASONS:]:
        count = sum(count for _, members in rest for _, count in members)
        failures.append({"status": "other", "reason": f"{len(rest)} further reasons", "count": count})
    return failures


def _sweep(path: Path) -> dict[str, Any]:
    """The content of a file of provenance. One that cannot be read says so, and the report goes on."""
    try:
        sweep = stored_sweep(path)
    except InputError as error:
        return {"name": path.stem, "problem": str(error)}
    return {
        "name": path.stem,
        "started": sweep.started,
        "command": shlex.join(sweep.command),
        "versions": sweep.versions,
        "machine": _machine(sweep.machine),
        "configuration": yaml.safe_dump(sweep.configuration, sort_keys=False, allow_unicode=True, width=100),
    }


def _machine(about: Mapping[str, Any]) -> str:
    """Such as "AMD EPYC, 2 cores, 25.28 GB of memory, Linux": the kernel's version explains no result."""
    size = about.get("memory_bytes")
    return ", ".join(
        [
            str(about.get("processor") or "unknown processor"),
            *([f"{about['cores']} cores"] if about.get("cores") else []),
            *([f"{format_bytes(size)} of memory"] if isinstance(size, int) else []),
            *str(about.get("system") or "").split()[:1],
        ]
    )
