"""The folder of a synthesis: topology, schedule, summary, and what else was asked for.

Schedules of too many sends as JSON lines: the sends of NPU 0's chunks, or the rule of a mesh.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse.base.files import write_files
from dse.base.lazy import np
from dse.collectives.files.content import problem_to_json, to_json_text
from dse.collectives.files.exports import Exported, joined_lines
from dse.collectives.files.json_lines import schedule_lines
from dse.collectives.files.result_csv import schedule_csv
from dse.collectives.page import render_page
from dse.collectives.problem.schedule import Schedule
from dse.collectives.problem.settings import Network
from dse.collectives.search.mesh import NOT_SENT, MeshSchedule
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


_RULE = (
    "A chunk has a leg for each dimension: the first is that of its character, then the next, and so on"
    " round. In a leg it goes from every node that has it by legs before, at first its owner, along the line"
    " of the dimension both ways to the ends. Leg after leg is planned. A link takes chunks in the order in"
    " which they come to it, at equal times those along the line first, then the node's own, then those of"
    " earlier legs, upwards before downwards. A chunk waits until the link is free of others of this leg, and"
    " of all sends of legs before. A wave is gathered so from at_ps on. Sums are the same sends backwards in"
    " time on links of the other direction, and end at at_ps."
)


def base_lines(schedule: SymmetricSchedule) -> Iterator[str]:
    """Yield a line about the group and the problem, then one per send of NPU 0's chunks, by start.

    `sizes` are the dimensions of the group: a node is its digits, the first counts ones. What NPU s owns
    crosses src + s to dst + s, digit by digit without carry, at the same times; its chunk is chunk + s.
    Sends that add to what is there are marked with `reduce`, as in `schedule.jsonl`.
    """
    problem, group, base = schedule.problem, schedule.group, schedule.base
    about = {"sizes": list(group.sizes), "generators": group.generators.tolist()}
    yield to_json_text({"group": about, "problem": problem_to_json(problem)})
    order = np.lexsort((base.node, base.generator, base.start_ps))
    generator, node = base.generator[order], base.node[order]
    goal = group.add(node.astype(np.int64), group.generators[generator])
    start = base.start_ps[order]
    end = start + problem.times_of_kinds[group.kind_of, 0][generator]
    columns = (node, goal, base.chunk[order], start, end, base.reduce[order])
    for source, destination, chunk, first, last, adds in zip(*(c.tolist() for c in columns), strict=True):
        tail = f'"end_ps":{last}' + (',"reduce":true}' if adds else "}")
        yield f'{{"src":{source},"dst":{destination},"chunk":{chunk},"start_ps":{first},{tail}'


def rule_lines(schedule: MeshSchedule) -> Iterator[str]:
    """Yield a line about the mesh, the rule and the problem, then one per wave of chunks.

    `first` has a character per chunk: the dimension that it takes first, as a hexadecimal digit, or `.` where
    it is of another wave.
    """
    about = {"sizes": list(schedule.mesh.sizes), "sums": schedule.sums, "gathers": schedule.gathers}
    yield to_json_text({"mesh": about, "rule": _RULE, "problem": problem_to_json(schedule.problem)})
    for wave in schedule.waves:
        marks = "".join("." if first == NOT_SENT else f"{first:x}" for first in wave.first.tolist())
        yield to_json_text({"at_ps": wave.at_ps, "time_ps": wave.time_ps, "first": marks})
