"""`dse status results/<study>`: how much of the last sweep is done, and how the points of a study ended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from dse.answers.caps import cap_words
from dse.answers.fidelities import fidelity_of_rows
from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.lazy import pa
from dse.base.texts import printable
from dse.commands.cli import JSON, STUDY, print_json, reading
from dse.studies.store import STATUSES, TRANSIENT_STATUSES, StudyStore
from dse.studies.store.history import stored_sweep, sweep_caps, unfinished_sweep
from dse.studies.store.reasons import reasons_of

COMMAND = CommandLine(
    "status",
    "Say what the last sweep of a study planned, what of it is done and what is missing, and count the "
    "points of the study by status and by reason.",
    words=STUDY,
    options=JSON,
    ending="Points that failed are computed again by the same sweep with recompute=[failed,timeout].",
)


def status_of(store: StudyStore) -> dict[str, Any]:
    """Return how far a study is, as plain data.

    Keys: study; points in it, fidelity (how they were computed), by_status, failed (also those that timed
    out), and reasons of all that are not ok, the most frequent first; sweeps, their number; last_sweep with
    name, started, command, memory_cap_bytes, planned, done and missing points, each None where it is not
    known; None without sweeps.

    Raises:
        InputError: the folder is not a readable study.
    """
    files = store.sweeps()
    table = (
        None
        if files and not store.count()
        else store.read_table(["status", "reason", "model_spec", "options"])
    )
    statuses = Counter([] if table is None else table["status"].to_pylist())
    return {
        "study": str(store.folder),
        "points": statuses.total(),
        "by_status": {status: statuses[status] for status in STATUSES if statuses[status]},
        "failed": sum(statuses[status] for status in TRANSIENT_STATUSES),
        "fidelity": "" if table is None else fidelity_of_rows(table),
        "reasons": [] if table is None else _reasons(table),
        "sweeps": len(files),
        "last_sweep": _last_sweep(store, files[-1]) if files else None,
    }


def _reasons(table: pa.Table) -> list[dict[str, Any]]:
    return [
        {"status": each.status, "reason": each.reason, "count": each.points} for each in reasons_of(table)
    ]


def _last_sweep(store: StudyStore, file: Path) -> dict[str, Any]:
    """The content of its file of provenance, and what the study lacks of its plan."""
    try:
        sweep = stored_sweep(file)
    except InputError:
        sweep = None
    planned = None if sweep is None else sweep.planned
    unfinished = unfinished_sweep(store)
    missing = None if planned is None else 0
    if unfinished is not None:
        planned, missing = unfinished.planned or planned, unfinished.missing
    return {
        "name": file.stem,
        "started": None if sweep is None else sweep.started,
        "command": None if sweep is None or not sweep.command else list(sweep.command),
        "memory_cap_bytes": next(reversed(sweep_caps(store)), None),
        "planned": planned,
        "done": None if planned is None or missing is None else planned - missing,
        "missing": missing,
        "has_ended": unfinished is None,
    }


def render(data: dict[str, Any]) -> str:
    """The same as text."""
    sweep = data["last_sweep"]
    lines = [str(data["study"]), ""]
    if sweep is None:
        lines.append("no sweep is recorded")
    else:
        cap = sweep["memory_cap_bytes"]
        under = "" if cap is None else f", with memory_cap {cap_words(cap)}"
        lines.append(f"last sweep {sweep['started'] or sweep['name']}{under}")
        if sweep["planned"] is None:
            lines.append("  proposes points as it goes: " + ("ended" if sweep["has_ended"] else "not ended"))
        else:
            lines += [f"  {name:<8}{_count(sweep[name]):>9}" for name in ("planned", "done", "missing")]
        if not sweep["has_ended"]:
            lines.append("  it runs, or was interrupted: run the same sweep again for what is missing")
    how = f", {data['fidelity']}" if data["fidelity"] else ""
    lines += ["", f"the study has {data['points']} points of {_sweeps(data['sweeps'])}{how}"]
    width = max(map(len, STATUSES)) + 2
    lines += [f"  {status:<{width}}{count:>9}" for status, count in data["by_status"].items()]
    if data["reasons"]:
        lines += ["", "why points are not ok"]
        lines += [f"{entry['count']:>9}  {entry['status']}: {entry['reason']}" for entry in data["reasons"]]
    return "\n".join(printable(line) for line in lines)


def _sweeps(number: int) -> str:
    return "1 sweep" if number == 1 else f"{number} sweeps"


def _count(number: int | None) -> str:
    return "unknown" if number is None else str(number)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print how far a study is; return the exit code."""
    data = status_of(StudyStore(arguments.words[0]))
    if "--json" in arguments.options:
        print_json([data])
    else:
        print(render(data))
    return 0
