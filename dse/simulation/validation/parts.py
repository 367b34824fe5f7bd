"""The files that are a simulation, found by their usual names or else by what is in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.texts import counted
from dse.simulation.validation.contents import (
    CASE_PART,
    GROUPS_PART,
    NETWORK_PART,
    PARTS,
    REMOTE_MEMORY_PART,
    SYSTEM_PART,
    Part,
    content_of,
    holds,
    is_log,
)

LOG = "reference.log"
_TRACE = re.compile(r"(?P<name>.+?)[._](?P<rank>\d{1,9})\.et")
_NO_LOGS = (".et", ".json", ".yml", ".yaml", ".csv", ".gz", ".zip")
_MOST_SHOWN = 5
_LOG_TITLE = "log (what ASTRA-sim printed: lines such as 'sys[0] …')"


class Parts(NamedTuple):
    """The files of a case, with the traces by their ranks; `taken` names those with unusual names."""

    traces: list[Path]
    system: Path
    network: Path
    log: Path
    groups: Path | None
    remote_memory: Path | None
    case: Path | None
    taken: str


class Files:
    """Some files and the parts of a simulation among them; `place` is how messages call them."""

    def __init__(self, place: str, files: Sequence[Path]) -> None:
        """`files` are those of a folder, or those that a user named."""
        self.place = place
        self.files = sorted(path for path in files if path.is_file())
        self._contents: dict[Path, Mapping[str, Any]] = {}

    @classmethod
    def of_folder(cls, folder: Path) -> Files:
        """Return the files of a folder, not those of folders in it."""
        return cls(str(folder), list(folder.iterdir()))

    def one(self, part: Part) -> Path | None:
        """Return the file that holds a part: the one of its usual name, or the only other one.

        Raises:
            InputError: several files hold the part, and none has its usual name.
        """
        found = self._all(part)
        if len(found) > 1:
            raise InputError(_several(self.place, found, part.title, *part.names[:1]))
        return found[0] if found else None

    def _all(self, part: Part) -> list[Path]:
        usual = [path for name in part.names for path in self.files if path.name == name]
        return usual[:1] or [path for path in self.files if self._holds(path, part)]

    def _holds(self, path: Path, part: Part) -> bool:
        if path.suffix not in part.suffixes:
            return False
        if path not in self._contents:
            self._contents[path] = content_of(path)
        return holds(path, part, self._contents[path])

    @cached_property
    def sets(self) -> dict[str, dict[int, Path]]:
        """The traces by the name of their set and their rank."""
        found: dict[str, dict[int, Path]] = {}
        for path in self.files:
            if match := _TRACE.fullmatch(path.name):
                found.setdefault(match["name"], {})[int(match["rank"])] = path
        return found

    def traces(self) -> list[Path]:
        """Return the traces of ranks 0, 1, ….

        Raises:
            InputError: there are none, several sets, or ranks are missing; names them.
        """
        if len(self.sets) != 1:
            names = ", ".join(sorted(self.sets)[:_MOST_SHOWN])
            got = f"several sets of traces ({names})" if self.sets else "no trace"
            raise InputError(f"{self.place}: {got}; expected one set, <name>.<rank>.et for ranks 0, 1, ...")
        (by_rank,) = self.sets.values()
        missing = sorted(
            set(range(max(by_rank) + 1 if max(by_rank) < 2**20 else len(by_rank))) - set(by_rank)
        )
        if missing:
            shown = ", ".join(map(str, missing[:_MOST_SHOWN])) + (", …" if len(missing) > _MOST_SHOWN else "")
            those = f"the one of rank {shown} is" if len(missing) == 1 else f"those of ranks {shown} are"
            raise InputError(f"{self.place}: {counted(len(by_rank), 'trace')}, but {those} missing")
        return [by_rank[rank] for rank in range(len(by_rank))]

    @cached_property
    def logs(self) -> list[Path]:
        """The files that may be the log: reference.log, else all that look like one, else by their ending."""
        if usual := [path for path in self.files if path.name == LOG]:
            return usual
        others = [path for path in self.files if path.suffix not in _NO_LOGS]
        return list(filter(is_log, others)) or [path for path in others if path.suffix == ".log"]

    def missing(self, *parts: Part) -> list[str]:
        """Return the names of what is not there, of some parts and traces."""
        found = [part.names[0] for part in parts if not self._all(part)]
        return found if self.sets else [*found, "traces (NAME.RANK.et)"]

    def present(self) -> list[str]:
        """Return what is there, for people."""
        traces = sorted(path.name for by_rank in self.sets.values() for path in by_rank.values())
        parts = [path for part in (SYSTEM_PART, NETWORK_PART) for path in self._all(part)]
        names = [path.name for path in (*parts, *self.logs)]
        some = f"{len(traces)} traces such as {traces[0]}" if len(traces) > 1 else "".join(traces)
        return [*names, some] if traces else names

    def taken(self, *parts: Part) -> list[str]:
        """Return which files of unusual names were taken, such as "my.json as system"."""
        chosen = [(self.one(part), part) for part in parts]
        found = [
            f"{path.name} as {part.title}"
            for path, part in chosen
            if path is not None and path.name not in part.names
        ]
        traces = [
            path.name
            for name, by_rank in self.sets.items()
            for rank, path in sorted(by_rank.items())
            if path.name != f"{name}.{rank}.et"
        ]
        shown = f"{counted(len(traces), 'file')} such as {traces[0]} as traces" if traces else ""
        return [shown, *found] if shown else found


def missing_of_case(folder: Path) -> list[str]:
    """Return what a folder lacks to be a case, all parts of it where there is none."""
    files = Files.of_folder(folder)
    missing = files.missing(SYSTEM_PART, NETWORK_PART)
    return missing if files.logs else [*missing, _LOG_TITLE]


def present_of_case(folder: Path) -> list[str]:
    """Return what a folder has of a case, for people."""
    return Files.of_folder(folder).present()


def parts_of(folder: Path) -> Parts:
    """Return the files of the case in a folder from which nothing is missing (`missing_of_case`).

    Raises:
        InputError: several files could be a part, there are several sets of traces, or a rank is missing.
    """
    files = Files.of_folder(folder)
    traces = files.traces()
    system, network = files.one(SYSTEM_PART), files.one(NETWORK_PART)
    if len(files.logs) > 1:
        raise InputError(_several(files.place, files.logs, "log", LOG))
    if system is None or network is None or not files.logs:
        raise InputError(f"{folder}: has no {' and no '.join(missing_of_case(folder))}")
    (log,) = files.logs
    taken = [f"{log.name} as log"] if log.name != LOG else []
    return Parts(
        traces=traces,
        system=system,
        network=network,
        log=log,
        groups=files.one(GROUPS_PART),
        remote_memory=files.one(REMOTE_MEMORY_PART),
        case=files.one(CASE_PART),
        taken=" and ".join([*taken, *files.taken(*PARTS)]),
    )


def groups_names(traces: Sequence[Path]) -> tuple[str, str]:
    """Return the names that a groups file may have: the usual one, and that of STAGE of 2026."""
    match = _TRACE.fullmatch(traces[0].name)
    return GROUPS_PART.names[0], f"{match['name'] if match else traces[0].stem}.json"


def _several(place: str, found: Sequence[Path], title: str, usual: str = "") -> str:
    shown = ", ".join(path.name for path in found[:_MOST_SHOWN])
    advice = f"call the right one {usual}" if usual else "move the others elsewhere"
    return f"{place}: {len(found)} files could be the {title} ({shown}); {advice}"
