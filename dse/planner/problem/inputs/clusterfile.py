"""Cluster files: a JSON object of records per address with type, memory and bandwidths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object
from dse.base.texts import excerpt, is_whole
from dse.planner.problem.inputs.numbers import number_in

_KEYS = ("instance_type", "inter_bandwidth", "intra_bandwidth", "memory")


@dataclass(frozen=True)
class NodeRecord:
    """An address in a cluster file: `spelled` is the type as written, `type` in upper case."""

    spelled: str
    intra_gbps: float
    inter_gbps: float
    memory_gib: float

    @property
    def type(self) -> str:
        """The type in upper case, as hosts and profiles have it."""
        return self.spelled.upper()


def read_nodes(file: Path) -> dict[str, NodeRecord]:
    """Return the records of a cluster file by address, in the order of the file.

    Raises:
        InputError: unreadable or malformed, a record without one of its keys, a number that is not positive.
    """
    content = load_json_object(file)
    if not content:
        raise InputError(f"{file}: has no records; write address: {{{', '.join(_KEYS)}}}")
    return {address: _record(record, f"{file}: {excerpt(address)}") for address, record in content.items()}


def memory_by_type(
    nodes: dict[str, NodeRecord], types: tuple[str, ...], file: Path, literal: bool
) -> dict[str, float]:
    """Return GiB a GPU per type, from the first record of the file with the type.

    With `literal` only records count that spell the type in upper case.

    Raises:
        InputError: a type has no such record.
    """
    memory: dict[str, float] = {}
    for record in nodes.values():
        memory.setdefault(record.spelled if literal else record.type, record.memory_gib)
    for type_ in types:
        if type_ not in memory:
            raise InputError(f"{file}: type {type_}: no memory, for no record spells its type in upper case")
    return {type_: memory[type_] for type_ in types}


def _record(record: Any, where: str) -> NodeRecord:
    if not isinstance(record, dict):
        raise InputError(f"{where}: is a {type(record).__name__}; it must be an object of {', '.join(_KEYS)}")
    for key in _KEYS:
        if key not in record:
            raise InputError(f"{where}: has no {key}; a record has {', '.join(_KEYS)}")
    spelled = record["instance_type"]
    if not isinstance(spelled, str) or not spelled.strip() or not is_whole(spelled):
        raise InputError(f"{where}: instance_type={excerpt(spelled)}: must be the name of a GPU type")
    return NodeRecord(
        spelled,
        number_in(record, "intra_bandwidth", where, positive=True),
        number_in(record, "inter_bandwidth", where, positive=True),
        number_in(record, "memory", where, positive=True),
    )
