"""The traces of one job, found among files: traces of Chakra for a simulator, or a recorded step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dse.base.errors import InputError
from dse.base.files import read_bytes
from dse.base.plain_data import load_json_object
from dse.base.texts import counted
from dse.inputs.systems import SystemSpec, read_system
from dse.simulation.validation.contents import (
    CASE_PART,
    GROUPS_PART,
    NETWORK_PART,
    OWN_SYSTEM_PART,
    PARTS,
    REMOTE_MEMORY_PART,
    SYSTEM_PART,
    is_of_pytorch,
)
from dse.simulation.validation.folders import command_line_fields
from dse.simulation.validation.parts import Files

if TYPE_CHECKING:
    from dse.simulation.recorded.replay import Replay
    from dse.simulation.recorded.step import RecordedStep
    from dse.simulation.workloads import Reference, Workload

_Value = TypeVar("_Value")
_MOST_HINTS = 3
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Traces:
    """Files of a job, as they were `named`: `paths` by rank, or all files of a recorded step.

    `options` are the keys of `case`, which is case.json; `taken` says which files were found, for people.
    Everything that is read stays in memory as long as the object does; it does not go to other processes.
    """

    name: str
    named: tuple[Path, ...]
    is_recorded: bool
    paths: tuple[Path, ...]
    groups: Path | None = None
    system: Path | None = None
    network: Path | None = None
    remote_memory: Path | None = None
    own_system: Path | None = None
    case: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    taken: str = ""
    _read: dict[str, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: it is large, and read again where it is needed."""
        return {**self.__dict__, "_read": {}}

    @property
    def digest(self) -> str:
        """A hash of the content of traces and groups, in order.

        Raises:
            InputError: a file cannot be read.
        """
        return self.once("digest", self._digest)

    def workload(self, reference: Reference, *, is_kept: bool = False) -> Workload:
        """Return the traces as a simulator runs them, as `reference` reads them.

        With `is_kept` they can be written again, for other programs.

        Raises:
            InputError: as `read_workload` and `read_groups`.
        """
        from dse.simulation.workloads import read_groups, read_workload, workload_of

        def read() -> Workload:
            groups = read_groups(self.groups) if self.groups else None
            if is_kept:
                return workload_of([read_bytes(path) for path in self.paths], groups, reference=reference)
            return read_workload(self.paths, groups, reference=reference)

        return self.once(f"workload {reference} {is_kept}", read)

    def step(self) -> RecordedStep:
        """Return the recorded step.

        Raises:
            InputError: as `read_recorded`.
        """
        from dse.simulation.recorded.pytorch import read_recorded

        return self.once("step", lambda: read_recorded(self.paths))

    def baseline(self) -> Replay:
        """Return the recorded step played again as it was.

        Raises:
            InputError: as `step`.
        """
        from dse.simulation.recorded.replay import replayed

        return self.once("baseline", lambda: replayed(self.step()))

    def own(self, network_model: str | None) -> SystemSpec | None:
        """Return the system in the files, None without one; `network_model` None is what case.json says.

        Raises:
            InputError: half of it is missing, or as `read_system`.
        """
        if self.own_system is not None:
            from dse.studies.composed import system_of

            return system_of([f"system={self.own_system.resolve()}"])
        if self.system is None or self.network is None:
            return None
        return read_system(
            self.system,
            self.network,
            self.remote_memory,
            name=self.name,
            network_model=network_model or self.options.get("network_model", "congestion_unaware"),
            **command_line_fields(self.options.get("options", []), self.case or self.system),
        )

    @property
    def lacks(self) -> str:
        """The files that are missing for a simulation on the files' own system, for people."""
        parts = {"system.json": self.system, "network.yml": self.network}
        return " and no ".join(name for name, path in parts.items() if path is None)

    def once(self, what: str, read: Callable[[], _Value]) -> _Value:
        """Return what `read` gives, which is called once for each text `what`."""
        if what not in self._read:
            self._read[what] = read()
        value: _Value = self._read[what]
        return value

    def _digest(self) -> str:
        total = hashlib.sha256()
        for path in (*self.paths, *([self.groups] if self.groups else [])):
            own = hashlib.sha256()
            try:
                with path.open("rb") as file:
                    while block := file.read(_BLOCK_BYTES):
                        own.update(block)
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror}") from None
            total.update(own.digest())
        return total.hexdigest()


def found_traces(words: Sequence[str]) -> Traces:
    """Return the traces among files and the files of folders, and what else of a simulation they hold.

    Raises:
        InputError: a path that does not exist, no traces, several sets of them, or ranks that are missing.
    """
    files: list[Path] = []
    for path in map(Path, words):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
        files += sorted(path.iterdir()) if path.is_dir() else [path]
    name = words[0] if len(words) == 1 else f"{words[0]} and {counted(len(words) - 1, 'more path')}"
    known = Files(name, files)
    recorded = _recorded(known)
    if not recorded and not known.sets:
        raise InputError(f"{name}: {_nothing(words)}")
    taken = set(recorded)
    others = Files(name, [path for path in known.files if path not in taken])
    case = others.one(CASE_PART)
    parts: dict[str, Any] = {
        "groups": others.one(GROUPS_PART),
        "system": others.one(SYSTEM_PART),
        "network": others.one(NETWORK_PART),
        "remote_memory": others.one(REMOTE_MEMORY_PART),
    }
    if parts["system"] is None or parts["network"] is None:
        parts["own_system"] = others.one(OWN_SYSTEM_PART)
    paths = tuple(recorded or known.traces())
    found = [f"{counted(len(paths), 'file')} as a recorded step"] if recorded else others.taken(*PARTS)
    return Traces(
        name=name,
        named=tuple(map(Path, words)),
        is_recorded=bool(recorded),
        paths=paths,
        case=case,
        options={} if case is None else load_json_object(case),
        taken=" and ".join(found),
        **parts,
    )


def _recorded(files: Files) -> list[Path]:
    """The files of a recorded step; the first trace of a set stands for the others."""
    firsts = {min(by_rank.items())[1] for by_rank in files.sets.values()}
    numbered = {path: min(s.items())[1] for s in files.sets.values() for path in s.values()}
    of_pytorch = {path for path in firsts if is_of_pytorch(path)}
    found = [path for path, first in numbered.items() if first in of_pytorch]
    others = [path for path in files.files if path not in numbered and path.suffix in (".et", ".json", ".gz")]
    return sorted([*found, *filter(is_of_pytorch, others)])


def _nothing(words: Sequence[str]) -> str:
    below = [
        path
        for folder in map(Path, words)
        if folder.is_dir()
        for path in sorted(folder.glob("*/*"))
        if path.suffix == ".et" or (path.suffix in (".json", ".gz") and is_of_pytorch(path))
    ]
    folders = list(dict.fromkeys(str(path.parent) for path in below))
    hint = f"; folders in it have some: {', '.join(folders[:_MOST_HINTS])}" if folders else ""
    return (
        "no traces; expected <name>.<rank>.et for ranks 0, 1, ..., or execution traces of PyTorch with their "
        f"Kineto traces{hint}"
    )
