"""PyTorch's execution trace of a rank: tensors of operators and the process groups, without times."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from dse.base.errors import InputError, excerpt
from dse.simulation.recorded.pytorch.sources import load_object

GROUP_NODE = "## process_group:init ##"
PARAMETERS = "record_param_comms"
"""The operator around a communication by NCCL, which says what it is."""

MOST_RANKS = 2**20


class Tensor(NamedTuple):
    """A tensor that an operator takes: its storage, and its size in bytes."""

    storage: int
    size_bytes: int


class Group(NamedTuple):
    """A process group and its ranks, in the order of their numbers within the group."""

    name: str
    ranks: tuple[int, ...]


class Call(NamedTuple):
    """A node: its operator and inputs, and of communications by NCCL its attributes."""

    name: str
    inputs: list[Any]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ExecutionTrace:
    """The nodes of an execution trace by their record function id, which Kineto's events have too."""

    path: Path
    pid: int
    calls: Mapping[int, Call]
    groups: tuple[Group, ...]

    def inputs(self, record_function: int) -> list[Any]:
        """Return the inputs of a node, empty where it has none."""
        call = self.calls.get(record_function)
        return [] if call is None else call.inputs

    def attribute(self, record_function: int, name: str) -> Any:
        """Return an attribute of a communication, None where it has none of this name."""
        call = self.calls.get(record_function)
        return None if call is None else call.attributes.get(name)


def tensors_of(value: Any, depth: int = 4) -> Iterator[Tensor]:
    """Return the tensors in an input, which may be a list of lists of tensors."""
    if not isinstance(value, list) or depth == 0:
        return
    if len(value) == 6 and isinstance(value[5], str):
        _, storage, _, elements, width, _ = value
        if type(storage) is int and _is_size(elements) and _is_size(width):
            yield Tensor(storage, elements * width)
        return
    for inner in value:
        yield from tensors_of(inner, depth - 1)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**48


def read_execution_trace(path: Path) -> ExecutionTrace:
    """Return the execution trace in a file.

    Raises:
        InputError: the file is malformed, or two of its nodes are the same call of different operators.
    """
    content = load_object(path)
    nodes = content.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise InputError(f"{path}: nodes is {excerpt(nodes)}; it must be a list of the nodes of the trace")
    calls: dict[int, Call] = {}
    groups: dict[str, Group] = {}
    ids = set()
    for number, node in enumerate(nodes):
        if not isinstance(node, dict) or not isinstance(node.get("name"), str):
            raise InputError(f"{path}: nodes[{number}] is {excerpt(node)}; it must be a node with a name")
        key = node.get("id")
        if type(key) is not int or key in ids:
            raise InputError(
                f"{path}: nodes[{number}].id is {excerpt(key)}; every node has a number of its own"
            )
        ids.add(key)
        if node["name"] == GROUP_NODE:
            groups.update(_groups(node, f"{path}: nodes[{number}]"))
        call = _attribute(node, "rf_id")
        if type(call) is not int or call <= 0:
            continue
        if call in calls and calls[call].name != node["name"]:
            raise InputError(
                f"{path}: nodes[{number}] has rf_id {call}, as another node; each call has its own"
            )
        attributes = _attributes(node) if node["name"] == PARAMETERS else {}
        calls[call] = Call(node["name"], _inputs(node), attributes)
    pid = content.get("pid")
    return ExecutionTrace(path, pid if type(pid) is int else -1, calls, tuple(groups.values()))


def groups_of(entries: Any, where: str) -> dict[str, Group]:
    """Return the groups that a list of PyTorch describes; an empty list of ranks means all of them.

    Raises:
        InputError: a group has no name, or ranks that are no whole numbers.
    """
    found = {}
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            raise InputError(f"{where}: a process group is {excerpt(entry)}; it must be an object")
        size = entry.get("group_size", entry.get("pg_size"))
        ranks = entry.get("ranks")
        if not ranks and type(size) is int and 0 < size <= MOST_RANKS:
            ranks = list(range(size))
        name = entry.get("pg_name")
        if not isinstance(name, str) or not _are_ranks(ranks):
            raise InputError(
                f"{where}: the process group {excerpt(name)} has the ranks {excerpt(ranks)}; they must be "
                f"different whole numbers below {MOST_RANKS}"
            )
        found[name] = Group(name, tuple(ranks))
    return found


def _are_ranks(ranks: Any) -> TypeGuard[list[int]]:
    if not isinstance(ranks, list) or not all(type(r) is int and 0 <= r < MOST_RANKS for r in ranks):
        return False
    return len(set(ranks)) == len(ranks)


def _groups(node: Mapping[str, Any], where: str) -> dict[str, Group]:
    values = _inputs(node)
    text = values[0] if values else None
    if not isinstance(text, str):
        return {}
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f"{where}: the process groups are {excerpt(text)}; they must be a JSON list"
        ) from None
    return groups_of(entries, where)


def _inputs(node: Mapping[str, Any]) -> list[Any]:
    inputs = node.get("inputs")
    values = inputs.get("values") if isinstance(inputs, dict) else inputs
    return values if isinstance(values, list) else []


def _attributes(node: Mapping[str, Any]) -> dict[str, Any]:
    entries = node.get("attrs")
    entries = entries if isinstance(entries, list) else []
    return {str(entry.get("name")): entry.get("value") for entry in entries if isinstance(entry, dict)}


def _attribute(node: Mapping[str, Any], name: str) -> Any:
    attributes = node.get("attrs")
    if isinstance(attributes, list):
        for attribute in attributes:
            if isinstance(attribute, dict) and attribute.get("name") == name:
                return attribute.get("value")
    return node.get(name)
