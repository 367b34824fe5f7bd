"""The folder of a synthesis: topology, schedule, summary, and what else was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.base.files import write_files
from dse.collectives.files.base_lines import base_lines, rule_lines
from dse.collectives.files.content import problem_to_json
from dse.collectives.files.exports import Exported, joined_lines
from dse.collectives.files.json_lines import schedule_lines
from dse.collectives.files.result_csv import schedule_csv
from dse.collectives.page import render_page
from dse.collectives.problem.schedule import Schedule
from dse.collectives.problem.settings import Network
from dse.collectives.search.mesh import MeshSchedule
from dse.collectives.search.symmetric import SymmetricSchedule
from dse.inputs.networks.csv import link_graph_csv

PARQUET_FROM = 100_000
SUMMARY, TOPOLOGY, PAGE = "summary.json", "topology.csv", "index.html"
REPAIRED = "repaired"  # a folder
BASE, RULE = "schedule.base.jsonl", "schedule.rule.jsonl"
NOTHING = Exported({}, {}, ())
_FORMS = ("schedule.csv", "schedule.jsonl", "schedule.parquet")


def write_folder(
    folder: Path,
    schedule: Schedule,
    network: Network,
    data: dict[str, Any],
    exported: Exported = NOTHING,
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
    forms = (*_FORMS, PAGE, BASE, RULE)
    obsolete = (*forms, *(f"{REPAIRED}/{name}" for name in (SUMMARY, TOPOLOGY, *_FORMS)))
    return write_files(folder, files.items(), obsolete)


def _files(
    schedule: Schedule, network: Network, data: dict[str, Any], exported: Exported
) -> dict[str, bytes]:
    stored = {**data, "problem": problem_to_json(schedule.problem)}
    files = {
        TOPOLOGY: link_graph_csv(schedule.problem.graph).encode(),
        SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
    }
    if isinstance(schedule, SymmetricSchedule) and not schedule.can_be_listed:
        return {**files, BASE: joined_lines(base_lines(schedule))}
    if isinstance(schedule, MeshSchedule) and not schedule.can_be_listed:
        return {**files, RULE: joined_lines(rule_lines(schedule))}
    files |= {**_sends(schedule, data), **exported.files}
    is_small = len(schedule) < PARQUET_FROM
    if is_small or "csv" in exported.forms:
        files["schedule.csv"] = joined_lines(schedule_csv(schedule, data["cpu_s"]))
    if is_small or "page" in exported.forms:
        files[PAGE] = render_page(schedule, network, data).encode()
    return files


def _repaired_files(repaired: Schedule, data: dict[str, Any]) -> dict[str, bytes]:
    """A repaired schedule, its links and its problem, which `dse schedule` reads."""
    stored = {**data, "problem": problem_to_json(repaired.problem)}
    is_small = len(repaired) < PARQUET_FROM
    csv = {"schedule.csv": joined_lines(schedule_csv(repaired, data["repair_cpu_s"]))} if is_small else {}
    return {
        TOPOLOGY: link_graph_csv(repaired.problem.graph).encode(),
        **csv,
        **_sends(repaired, data),
        SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
    }


def _sends(schedule: Schedule, data: dict[str, Any]) -> dict[str, bytes]:
    if len(schedule) < PARQUET_FROM:
        return {"schedule.jsonl": joined_lines(schedule_lines(schedule))}
    from dse.collectives.files.parquet import schedule_parquet

    return {"schedule.parquet": schedule_parquet(schedule, data)}
