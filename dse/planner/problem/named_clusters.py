"""Mixed clusters by name: the files of conf/cluster, and files of the user's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.files import conf_file, conf_names
from dse.base.record_files import yaml_record, yaml_values
from dse.base.settings import check_choice
from dse.base.settings.grammar import change
from dse.inputs.accelerators import TierSpec, accelerator
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.settings import systems_of_conf
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.inputs.profile_files import LEAST_POSITIVE, MOST

MOST_GPUS = 2**20
_GIB = 2**30


@dataclass(frozen=True)
class NodeGroup:
    """`count` equal nodes of `gpus` accelerators.

    With `system`, a file of conf/system that is a cluster, the figures of nodes are its own, and steps are
    predicted with all that it says of links. `type` is what plans and profiles call the accelerator (None:
    as its file). `intra_gbps` is the bandwidth of a GPU inside the node, `inter_gbps` that of the node's
    uplink, both in 10^9 bytes per second and direction. Nodes of different `island` meet over the cluster's
    `between_islands_gbps`. `price_per_hour` is that of one GPU, in any currency.
    """

    accelerator: str | None = None
    count: int | None = None
    gpus: int | None = None
    intra_gbps: float | None = None
    inter_gbps: float | None = None
    system: str | None = None
    type: str | None = None
    island: int = 0
    price_per_hour: float | None = None


@dataclass(frozen=True)
class _File:
    """The keys of a file."""

    name: str
    nodes: tuple[NodeGroup, ...]
    between_islands_gbps: float | None = None


class NamedCluster(NamedTuple):
    """A cluster, what it is called, and the accelerator (a file of conf/accelerator) of each type.

    `tiers` are the links of the types whose nodes are those of a system.
    """

    name: str
    cluster: MixedCluster
    accelerators: Mapping[str, str]
    tiers: Mapping[str, tuple[TierSpec, ...]]


def cluster_names() -> tuple[str, ...]:
    """The names of the files of conf/cluster."""
    return conf_names("cluster")


def named_cluster(name: str, overrides: Sequence[str] = ()) -> NamedCluster:
    """Return a cluster of conf/cluster or conf/system, or that of a YAML file.

    `overrides` are such as cluster.nodes.0.count=8.

    The memory of a type is that of its accelerator.

    Raises:
        InputError: no such cluster, or a file or override with an unknown, missing or impossible key.
    """
    path = _path(name)
    is_system = "/" not in name and path.parent.name == "system"
    values = _of_system(name) if is_system else yaml_values(path, "cluster")
    if not isinstance(values.get("nodes"), list):
        from dse.inputs.machines.kinds import refuse_other_kind

        refuse_other_kind("cluster", path, str(path))
    change(values, overrides, "the files of conf/cluster")
    file = yaml_record(path, _File, "cluster", values)
    try:
        return _built(file)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _path(name: str) -> Path:
    if name in cluster_names():
        return conf_file("cluster", name)
    if name in cluster_systems():
        return conf_file("system", name)
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = Path(name).expanduser()
        if path.is_file():
            return path
        raise InputError(f"cluster is '{excerpt(name)}'; there is no such file")
    names, systems = cluster_names(), cluster_systems()
    raise InputError(
        f"cluster is '{excerpt(name)}'; allowed are {', '.join(names)}, a system of accelerators such as "
        f"dgx_h100, or a file{did_you_mean(name, (*names, *systems))}"
    )


@lru_cache(maxsize=1)
def cluster_systems() -> Mapping[str, SystemSpec]:
    """The systems of conf/system that are clusters, by name."""
    return {name: system for name, system in systems_of_conf() if system.accelerator is not None}


def _of_system(name: str) -> dict[str, Any]:
    """The file of a cluster of one system."""
    return {"name": name, "nodes": [{"system": name, "count": cluster_systems()[name].nodes}]}


@dataclass(frozen=True)
class _Nodes:
    """Equal nodes, with all figures."""

    accelerator: str
    count: int
    gpus: int
    intra_gbps: float
    inter_gbps: float
    tiers: tuple[TierSpec, ...] = ()


_OF_A_NODE = ("accelerator", "gpus", "intra_gbps", "inter_gbps")


def _nodes(group: NodeGroup, key: str) -> _Nodes:
    """The figures of a group, or of the system that it names."""
    if group.system is None:
        for name in ("count", *_OF_A_NODE):
            if getattr(group, name) is None:
                raise InputError(f"{key}.{name} is missing; write it, or {key}.system")
        given: Any = {name: getattr(group, name) for name in ("count", *_OF_A_NODE)}
        return _Nodes(**given)
    check_choice(f"{key}.system", group.system, tuple(sorted(cluster_systems())))
    for name in _OF_A_NODE:
        if getattr(group, name) is not None:
            raise InputError(f"{key}.{name} follows from {key}.system={group.system}; leave one of them out")
    system = cluster_systems()[group.system]
    links, found = system.cluster, system.accelerator
    assert links is not None
    assert found is not None
    out_gbps = links.tiers[min(1, len(links.tiers) - 1)].bandwidth_gbps
    return _Nodes(
        found.name,
        links.npus // links.npus_per_node if group.count is None else group.count,
        links.npus_per_node,
        links.tiers[0].bandwidth_gbps,
        links.npus_per_node * out_gbps,
        system.tiers,
    )


def _built(file: _File) -> NamedCluster:
    if not file.nodes:
        raise InputError("cluster.nodes is empty; it must have at least one group of nodes")
    hosts: list[Host] = []
    memory_gib: dict[str, float] = {}
    prices: dict[str, float] = {}
    accelerators: dict[str, str] = {}
    tiers: dict[str, tuple[TierSpec, ...]] = {}
    for index, group in enumerate(file.nodes):
        key = f"cluster.nodes.{index}"
        nodes = _nodes(group, key)
        _check(nodes, group, key)
        found = accelerator(nodes.accelerator, f"{key}.accelerator")
        type_ = group.type or found.name
        if accelerators.setdefault(type_, nodes.accelerator) != nodes.accelerator:
            raise InputError(
                f"{key}.accelerator is {nodes.accelerator}, but that of {type_} is {accelerators[type_]} "
                f"above; write another {key}.type"
            )
        if tiers.setdefault(type_, nodes.tiers) != nodes.tiers:
            raise InputError(f"{key}: nodes of type {type_} have other links above; write another {key}.type")
        memory_gib[type_] = found.usable_memory_bytes / _GIB
        price = group.price_per_hour
        if price is not None and prices.setdefault(type_, price) != price:
            raise InputError(
                f"{key}.price_per_hour is {price:g}, but that of {type_} is {prices[type_]:g} above; a type "
                f"has one price: write another {key}.type"
            )
        first = sum(host.type == type_ for host in hosts)
        hosts += [
            Host(
                f"{type_.lower()}-{first + number}",
                type_,
                nodes.gpus,
                nodes.intra_gbps,
                nodes.inter_gbps,
                group.island,
            )
            for number in range(nodes.count)
        ]
    if len({host.island for host in hosts}) > 1 and file.between_islands_gbps is None:
        raise InputError("cluster.between_islands_gbps is null, but nodes are in several islands; give it")
    if len({host.island for host in hosts}) == 1 and file.between_islands_gbps is not None:
        raise InputError(
            f"cluster.between_islands_gbps is {file.between_islands_gbps:g}, but all nodes are in one "
            "island; leave it out, or write island of some nodes"
        )
    if file.between_islands_gbps is not None and not (LEAST_POSITIVE <= file.between_islands_gbps <= MOST):
        raise InputError(
            f"cluster.between_islands_gbps is {file.between_islands_gbps:g}; it must be a number above 0, "
            f"{LEAST_POSITIVE:g} to {MOST:g}"
        )
    if prices and len(prices) < len(memory_gib):
        missing = next(type_ for type_ in memory_gib if type_ not in prices)
        raise InputError(f"cluster.nodes: {missing} has no price_per_hour, but others have; give it to all")
    cluster = MixedCluster(tuple(hosts), memory_gib, prices, file.between_islands_gbps)
    links = {name: own for name, own in tiers.items() if own}
    return NamedCluster(file.name, cluster, accelerators, links)


def _check(nodes: _Nodes, group: NodeGroup, key: str) -> None:
    for name in ("count", "gpus"):
        value = getattr(nodes, name)
        if value < 1:
            raise InputError(f"{key}.{name} is {value}; it must be at least 1")
    if nodes.count * nodes.gpus > MOST_GPUS:
        raise InputError(f"{key} has {nodes.count * nodes.gpus} GPUs; at most {MOST_GPUS} are allowed")
    for name in ("intra_gbps", "inter_gbps"):
        value = getattr(nodes, name)
        if not LEAST_POSITIVE <= value <= MOST:
            raise InputError(
                f"{key}.{name} is {value:g}; it must be a number above 0, {LEAST_POSITIVE:g} to {MOST:g}"
            )
    if group.island < 0:
        raise InputError(f"{key}.island is {group.island}; it must be at least 0")
    if group.price_per_hour is not None and not 0 <= group.price_per_hour < math.inf:
        raise InputError(f"{key}.price_per_hour is {group.price_per_hour:g}; it must be 0 or greater")
