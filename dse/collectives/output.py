"""The folder of a synthesis: topology, schedule in two forms, summary, page, and what else was asked for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.collectives.files.base_lines import base_lines
from dse.collectives.files.content import problem_to_json
from dse.collectives.files.json_lines import schedule_lines
from dse.collectives.files.result_csv import schedule_csv
from dse.collectives.pages import render_page
from dse.collectives.schedule import Schedule
from dse.collectives.settings import Network
from dse.collectives.symmetric import SymmetricSchedule
from dse.errors import InputError
from dse.files import make_folder, write_atomically
from dse.networks.csv import link_graph_csv
from dse.settings import check_choice

PARQUET_FROM = 100_000
EXPORTS = ("msccl", "chakra", "trace")
SUMMARY, TOPOLOGY, PAGE = "summary.json", "topology.csv", "index.html"
REPAIRED = "repaired"  # a folder
BASE = "schedule.base.jsonl"


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
    exports: Sequence[str] = (),
) -> list[Path]:
    """Write everything about a schedule; return the files.

    Raises:
        InputError: the folder cannot be written, or a form cannot hold the schedule.
    """
    make_folder(folder)
    stored = {**data, "problem": problem_to_json(schedule.problem)}
    if isinstance(schedule, SymmetricSchedule) and not schedule.can_be_listed:
        return _write_base(folder, schedule, stored)
    (folder / BASE).unlink(missing_ok=True)
    files = {
        TOPOLOGY: link_graph_csv(schedule.problem.graph).encode(),
        "schedule.csv": _text(schedule_csv(schedule, data["cpu_s"])),
        **_sends(schedule, data),
        **_exported(schedule, network.name, exports),
        PAGE: render_page(schedule, network, data).encode(),
        SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
    }
    return _replace(folder, files)


def _write_base(folder: Path, schedule: SymmetricSchedule, stored: dict[str, Any]) -> list[Path]:
    """Write a schedule of which only the base can be listed; what lists all sends of an earlier one goes."""
    for name in ("schedule.csv", PAGE):
        (folder / name).unlink(missing_ok=True)
    files = {
        TOPOLOGY: link_graph_csv(schedule.problem.graph).encode(),
        BASE: _text(base_lines(schedule)),
        SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
    }
    return _replace(folder, files)


def write_repaired(folder: Path, repaired: Schedule | None, data: dict[str, Any]) -> None:
    """Write a repaired schedule, its links and its problem below a folder, which `dse schedule` reads.

    None: what an earlier run has left there goes.

    Raises:
        InputError: the folder cannot be written.
    """
    place = folder / REPAIRED
    if repaired is None:
        for name in (SUMMARY, TOPOLOGY, "schedule.csv", "schedule.jsonl", "schedule.parquet"):
            (place / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there is none, or it has files of others
            place.rmdir()
        return
    make_folder(place)
    stored = {**data, "problem": problem_to_json(repaired.problem)}
    _replace(
        place,
        {
            TOPOLOGY: link_graph_csv(repaired.problem.graph).encode(),
            "schedule.csv": _text(schedule_csv(repaired, data["repair_cpu_s"])),
            **_sends(repaired, data),
            SUMMARY: (json.dumps(stored, indent=2) + "\n").encode(),
        },
    )


def _sends(schedule: Schedule, data: dict[str, Any]) -> dict[str, bytes]:
    if len(schedule) < PARQUET_FROM:
        return {"schedule.jsonl": _text(schedule_lines(schedule))}
    from dse.collectives.files.parquet import schedule_parquet

    return {"schedule.parquet": schedule_parquet(schedule, data)}


def _replace(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files; a form of the schedule that is not among them goes."""
    for name in {"schedule.jsonl", "schedule.parquet"} - files.keys():
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _exported(schedule: Schedule, name: str, exports: Sequence[str]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    if "msccl" in exports:
        from dse.collectives.files.msccl import schedule_msccl

        files["schedule.xml"] = _text(schedule_msccl(schedule, name))
    if "chakra" in exports:
        from dse.collectives.files.chakra import chakra_traces

        files |= {f"schedule.{npu}.et": trace for npu, trace in enumerate(chakra_traces(schedule))}
    if "trace" in exports:
        from dse.collectives.files.trace_events import trace_events

        files["trace.json"] = "".join(trace_events(schedule, name)).encode()
    return files


def check_folder(folder: Path, key: str) -> None:
    """Check that a folder can be written, before work goes into it.

    Raises:
        InputError: it is a file, or lies in one.
    """
    nearest = next((part for part in (folder, *folder.parents) if part.exists()), None)
    if nearest is not None and not nearest.is_dir():
        raise InputError(f"{key} is '{folder}', but {nearest} is a file; name a folder")
