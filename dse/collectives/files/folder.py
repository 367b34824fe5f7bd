"""The folder of a synthesis: topology, schedule in two forms, summary, page, and what else was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from dse.base.files import write_files
from dse.base.settings import check_choice
from dse.collectives.files.base_lines import base_lines
from dse.collectives.files.content import problem_to_json
from dse.collectives.files.json_lines import schedule_lines
from dse.collectives.files.result_csv import schedule_csv
from dse.collectives.page import render_page
from dse.collectives.problem.schedule import Schedule
from dse.collectives.problem.settings import Network
from dse.collectives.search.symmetric import SymmetricSchedule
from dse.inputs.networks.csv import link_graph_csv

PARQUET_FROM = 100_000
EXPORTS = ("msccl", "chakra", "trace")
SUMMARY, TOPOLOGY, PAGE = "summary.json", "topology.csv", "index.html"
REPAIRED = "repaired"  # a folder
BASE = "schedule.base.jsonl"
_FORMS = ("schedule.csv", "schedule.jsonl", "schedule.parquet")


class Exported(NamedTuple):
    """Files by their names, entries of the summary, and rows of its table."""

    files: dict[str, bytes]
    data: dict[str, Any]
    rows: tuple[tuple[str, str], ...]


def exports_of(text: str | None) -> tuple[str, ...]:
    """Return what a text such as `[msccl,chakra]` lists.

    Raises:
        InputError: something else than `EXPORTS`.
    """
    if text is None:
        return ()
    names = [part.strip() for part in text.strip("[]").split(",")]
    for name in names:
        check_choice("export", name, EXPORTS)
    return tuple(dict.fromkeys(names))


def write_folder(
    folder: Path,
    schedule: Schedule,
    network: Network,
    data: dict[str, Any],
    exported: Mapping[str, bytes] = MappingProxyType({}),
    repaired: Schedule | None = None,
) -> list[Path]:
    """Write everything about a schedule, what `export` made of it, and a repaired one; return the files.

    All of them come together or none: what an earlier run has left there stays, or goes.

    Raises:
        InputError: the folder cannot be written, or a form cannot hold the schedule.
    """
    files = _files(schedule, network, data, exported)
    if repaired is not None:
        own = _repaired_files(repaired, data["failures"])
        files |= {f"{REPAIRED}/{name}": content for name, content in own.items()}
    forms = (*_FORMS, PAGE, BASE)
    obsolete = (*forms, *(f"{REPAIRED}/{name}" for name in (SUMMARY, TOPOLOGY, *_FORMS)))
    return write_files(folder, files.items(), obsolete)


def _files(
    schedule: Schedule, network: Network, data: dict[str, Any], exported: Mapping[str, bytes]
) -> dict[str, bytes]:
    stored = {**data, "problem": problem_to_json(schedule.problem)}
    files = {
        TOPOLOGY: link_graph_csv(schedule.problem.graph).encode(),
        SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
    }
    if isinstance(schedule, SymmetricSchedule) and not schedule.can_be_listed:
        return {**files, BASE: _text(base_lines(schedule))}
    return {
        **files,
        "schedule.csv": _text(schedule_csv(schedule, data["cpu_s"])),
        **_sends(schedule, data),
        **exported,
        PAGE: render_page(schedule, network, data).encode(),
    }


def _repaired_files(repaired: Schedule, data: dict[str, Any]) -> dict[str, bytes]:
    """A repaired schedule, its links and its problem, which `dse schedule` reads."""
    stored = {**data, "problem": problem_to_json(repaired.problem)}
    return {
        TOPOLOGY: link_graph_csv(repaired.problem.graph).encode(),
        "schedule.csv": _text(schedule_csv(repaired, data["repair_cpu_s"])),
        **_sends(repaired, data),
        SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
    }


def _sends(schedule: Schedule, data: dict[str, Any]) -> dict[str, bytes]:
    if len(schedule) < PARQUET_FROM:
        return {"schedule.jsonl": _text(schedule_lines(schedule))}
    from dse.collectives.files.parquet import schedule_parquet

    return {"schedule.parquet": schedule_parquet(schedule, data)}


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def export(schedule: Schedule, name: str, exports: Sequence[str]) -> Exported:
    """Return the files that a schedule is exported as, and how long they take where that can be told.

    Raises:
        InputError: a form cannot hold the schedule.
    """
    files: dict[str, bytes] = {}
    data: dict[str, Any] = {}
    rows: list[tuple[str, str]] = []
    if "msccl" in exports:
        from dse.collectives.files.msccl import schedule_msccl

        files["schedule.xml"] = _text(schedule_msccl(schedule, name))
    if "chakra" in exports:
        from dse.collectives.files.chakra import chakra_traces
        from dse.collectives.files.chakra_run import run_chakra

        traces = list(chakra_traces(schedule))
        files |= {f"schedule.{npu}.et": trace for npu, trace in enumerate(traces)}
        run = run_chakra(schedule, traces)
        data |= run.data()
        rows.append(run.row())
    if "trace" in exports:
        from dse.collectives.files.trace_events import trace_events

        files["trace.json"] = "".join(trace_events(schedule, name)).encode()
    return Exported(files, data, tuple(rows))
