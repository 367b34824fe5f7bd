"""Host files: a line a host, `<address> slots=<GPUs>`; with a cluster file they make a mixed cluster."""

from __future__ import annotations

import re
from pathlib import Path

from dse.base.errors import InputError
from dse.base.files import read_text
from dse.base.suggestions import did_you_mean
from dse.base.texts import excerpt
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.inputs.clusterfile import NodeRecord, memory_by_type, read_nodes

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
