"""Host files: a line a host, `<address> slots=<GPUs>`; with a cluster file they make a mixed cluster.

Cluster files: a JSON object of records per address with type, memory and bandwidths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.files import read_text
from dse.base.plain_data import load_json_object
from dse.base.texts import is_whole
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.inputs.profile_files import number_in

COMPAT_TYPES = ("A100", "V100", "P100", "T4")

_LINE = re.compile(r"(?P<address>\S+) slots=(?P<slots>\S+)")
_MOST_GPUS = 2**20


def read_cluster(hostfile: Path, clusterfile: Path, compat: bool = False) -> MixedCluster:
    """Return the cluster of a host file and a cluster file; GPU types are in upper case.

    With `compat` the files must mean what Metis takes them for: one digit of slots, hosts of one size, types
    it knows, and a memory record that spells the type in upper case.

    Raises:
        InputError: unreadable or malformed files, an address without record, a type without memory.
    """
    nodes = read_nodes(clusterfile)
    hosts = []
    for number, line in enumerate(_lines(hostfile), start=1):
        address, gpus = _host_of(line, f"{hostfile}: line {number}", compat)
        hosts.append(_joined(address, gpus, nodes, f"{hostfile}: line {number}", clusterfile))
    if compat:
        _check_compat(hosts, hostfile, clusterfile)
    if sum(host.gpus for host in hosts) > _MOST_GPUS:
        raise InputError(f"{hostfile}: more than {_MOST_GPUS} GPUs; give fewer hosts or slots")
    types = tuple(dict.fromkeys(host.type for host in hosts))
    return MixedCluster(tuple(hosts), memory_by_type(nodes, types, clusterfile, literal=compat))


def _lines(hostfile: Path) -> list[str]:
    lines = read_text(hostfile).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{hostfile}: is empty; write one line a host, such as 10.0.0.1 slots=4")
    return lines


def _host_of(line: str, where: str, compat: bool) -> tuple[str, int]:
    match = _LINE.fullmatch(line.rstrip("\r"))
    if match is None:
        raise InputError(f"{where}: '{excerpt(line)}' is no host; write '<address> slots=<GPUs>', one blank")
    slots = match["slots"]
    if compat and len(slots) > 1:
        raise InputError(
            f"{where}: slots={excerpt(slots)}: Metis takes the one character after slots= and would read "
            f"{excerpt(slots[:1])}; under cost=compat write hosts of 1 to 9 GPUs, or use cost=strict"
        )
    if not re.fullmatch(r"[0-9]{1,7}", slots) or int(slots) == 0:
        raise InputError(f"{where}: slots={excerpt(slots)}: must be a number of GPUs, at least 1")
    return match["address"], int(slots)


def _joined(address: str, gpus: int, nodes: dict[str, NodeRecord], where: str, clusterfile: Path) -> Host:
    node = nodes.get(address)
    if node is None:
        hint = did_you_mean(address, nodes)
        raise InputError(f"{where}: {excerpt(address)} has no record in {clusterfile}{hint}")
    return Host(address, node.type, gpus, node.intra_gbps, node.inter_gbps)


def _check_compat(hosts: list[Host], hostfile: Path, clusterfile: Path) -> None:
    for number, host in enumerate(hosts, start=1):
        if host.gpus != hosts[0].gpus:
            raise InputError(
                f"{hostfile}: line {number}: {host.gpus} GPUs, but the first host has {hosts[0].gpus}; "
                "under cost=compat all hosts have as many, cost=strict takes hosts of different size"
            )
        if host.type not in COMPAT_TYPES:
            raise InputError(
                f"{clusterfile}: {host.address}: instance_type {excerpt(host.type)}: Metis knows "
                f"{', '.join(COMPAT_TYPES)}; cost=strict takes any type"
            )


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
