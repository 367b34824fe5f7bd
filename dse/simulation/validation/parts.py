"""The files of a folder that are a case: some by their names, the log and the groups by what is in them."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object
from dse.simulation.validation.log import REPORT
from dse.simulation.workloads.traces import GROUPS_FILE

SYSTEM, LOG = "system.json", "reference.log"
_TRACE = re.compile(r"(?P<name>.+)\.(?P<rank>\d+)\.et")
_NETWORKS = ("network.yml", "network.yaml")
_NO_LOGS = (".et", ".json", ".yml", ".yaml", ".csv", ".gz", ".zip")
_MOST_SHOWN = 5


class Parts(NamedTuple):
    """The files of a case, with the traces by their ranks."""

    traces: list[Path]
    system: Path
    network: Path
    log: Path
    groups: Path | None
    remote_memory: Path | None

    @property
    def taken(self) -> str:
        """The files found by their content, empty if all have their usual names."""
        found = [f"{self.log.name} as log"] if self.log.name != LOG else []
        if self.groups is not None and self.groups.name != GROUPS_FILE:
            found.append(f"{self.groups.name} as groups")
        return " and ".join(found)


def missing_of_case(folder: Path) -> list[str]:
    """Return what a folder lacks to be a case, all parts of it where there is none."""
    missing = [] if (folder / SYSTEM).is_file() else [SYSTEM]
    if _network(folder) is None:
        missing.append(_NETWORKS[0])
    if not _traces(folder):
        missing.append("traces (NAME.RANK.et)")
    return missing if _logs(folder) else [*missing, "log (what ASTRA-sim printed: lines such as 'sys[0] …')"]


def present_of_case(folder: Path) -> list[str]:
    """Return what a folder has of a case, for people."""
    traces = sorted(path.name for path in _traces(folder))
    files = [folder / SYSTEM, _network(folder), *(_logs(folder))]
    names = [path.name for path in files if path is not None and path.is_file()]
    some = f"{len(traces)} traces such as {traces[0]}" if len(traces) > 1 else "".join(traces)
    return [*names, some] if traces else names


def parts_of(folder: Path) -> Parts:
    """Return the files of the case in a folder from which nothing is missing (`missing_of_case`).

    Raises:
        InputError: several files could be the log, there are several sets of traces, or a rank is missing.
    """
    traces = trace_files(folder)
    network, remote_memory = _network(folder), folder / "remote_memory.json"
    logs = _logs(folder)
    if len(logs) > 1:
        shown = ", ".join(path.name for path in logs[:_MOST_SHOWN])
        raise InputError(f"{folder}: {len(logs)} files could be the log ({shown}); call the right one {LOG}")
    if network is None or not logs:
        raise InputError(f"{folder}: has no {' and no '.join(missing_of_case(folder))}")
    return Parts(
        traces=traces,
        system=folder / SYSTEM,
        network=network,
        log=logs[0],
        groups=groups_file(folder, traces),
        remote_memory=remote_memory if remote_memory.is_file() else None,
    )


def trace_files(folder: Path) -> list[Path]:
    """Return the traces of ranks 0, 1, … in a folder.

    Raises:
        InputError: there are none, several sets, or a rank is missing.
    """
    found = _traces(folder)
    names = {match["name"] for match in found.values()}
    if len(names) != 1:
        got = f"several sets of traces ({', '.join(sorted(names))})" if names else "no trace"
        raise InputError(f"{folder}: {got}; expected one set, <name>.<rank>.et for ranks 0, 1, ...")
    by_rank = {int(match["rank"]): path for path, match in found.items()}
    missing = [rank for rank in range(len(by_rank)) if rank not in by_rank]
    if missing:
        raise InputError(f"{folder}: {len(by_rank)} traces, but the one of rank {missing[0]} is missing")
    return [by_rank[rank] for rank in range(len(by_rank))]


def groups_names(traces: list[Path]) -> tuple[str, str]:
    """Return the names that a groups file may have: the usual one, and that of STAGE of 2026."""
    return GROUPS_FILE, f"{traces[0].name.removesuffix('.0.et')}.json"


def groups_file(folder: Path, traces: list[Path]) -> Path | None:
    """Return the groups file; one named like the traces only if it holds lists of ranks."""
    usual, other = (folder / name for name in groups_names(traces))
    if usual.is_file():
        return usual
    return other if other.is_file() and _holds_groups(other) else None


def _holds_groups(path: Path) -> bool:
    try:
        groups = load_json_object(path)
    except InputError:
        return False
    lists = (value for value in groups.values() if isinstance(value, list))
    return bool(groups) and sum(all(isinstance(rank, int) for rank in value) for value in lists) == len(
        groups
    )


def _traces(folder: Path) -> dict[Path, re.Match[str]]:
    return {path: match for path in folder.iterdir() if (match := _TRACE.fullmatch(path.name))}


def _network(folder: Path) -> Path | None:
    return next((folder / name for name in _NETWORKS if (folder / name).is_file()), None)


def _logs(folder: Path) -> list[Path]:
    """The files that may be the log: reference.log, else all that look like one, else those of its suffix."""
    if (folder / LOG).is_file():
        return [folder / LOG]
    others = [path for path in folder.iterdir() if path.suffix not in _NO_LOGS and path.is_file()]
    return sorted(filter(_is_log, others)) or sorted(path for path in others if path.suffix == ".log")


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return REPORT.search(content) is not None
    except (OSError, ValueError):  # it cannot be read, or is empty
        return False
