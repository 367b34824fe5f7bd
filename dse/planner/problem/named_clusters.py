"""Mixed clusters by name: the files of conf/cluster, and files of the user's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.base.record_files import yaml_record, yaml_values
from dse.base.settings.grammar import change
from dse.base.suggestions import did_you_mean
from dse.base.texts import excerpt
from dse.inputs.accelerators import accelerator
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.inputs.numbers import LEAST_POSITIVE, MOST

MOST_GPUS = 2**20
_GIB = 2**30


@dataclass(frozen=True)
class NodeGroup:
    """`count` equal nodes of `gpus` accelerators.

    `type` is what plans and profiles call the accelerator (None means as its file). `intra_gbps` is the
    bandwidth of a GPU inside the node, `inter_gbps` that of the node's uplink, both in 10^9 bytes per second
    and direction. Nodes of different `island` meet over the cluster's `between_islands_gbps`.
    `price_per_hour` is that of one GPU, in any currency.
    """

    accelerator: str
    count: int
    gpus: int
    intra_gbps: float
    inter_gbps: float
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
    """A cluster, what it is called, and the accelerator (a file of conf/accelerator) of each type."""

    name: str
    cluster: MixedCluster
    accelerators: Mapping[str, str]


def cluster_names() -> tuple[str, ...]:
    """The names of the files of conf/cluster."""
    return tuple(sorted(path.stem for path in (conf_folder() / "cluster").glob("*.yaml")))


def named_cluster(name: str, overrides: Sequence[str] = ()) -> NamedCluster:
    """Return a cluster of conf/cluster, or that of a YAML file; `overrides` such as cluster.nodes.0.count=8.

    The memory of a type is that of its accelerator.

    Raises:
        InputError: no such cluster, or a file or override with an unknown, missing or impossible key.
    """
    path = _path(name)
    values = yaml_values(path, "cluster")
    change(values, overrides, "the files of conf/cluster")
    file = yaml_record(path, _File, "cluster", values)
    try:
        return _built(file)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _path(name: str) -> Path:
    if name in cluster_names():
        return conf_folder() / "cluster" / f"{name}.yaml"
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = Path(name).expanduser()
        if path.is_file():
            return path
        raise InputError(f"cluster is '{excerpt(name)}'; there is no such file")
    names = cluster_names()
    raise InputError(
        f"cluster is '{excerpt(name)}'; allowed are {', '.join(names)}, or a file{did_you_mean(name, names)}"
    )


def _built(file: _File) -> NamedCluster:
    if not file.nodes:
        raise InputError("cluster.nodes is empty; it must have at least one group of nodes")
    hosts: list[Host] = []
    memory_gib: dict[str, float] = {}
    prices: dict[str, float] = {}
    accelerators: dict[str, str] = {}
    for index, group in enumerate(file.nodes):
        key = f"cluster.nodes.{index}"
        _check(group, key)
        found = accelerator(group.accelerator, f"{key}.accelerator")
        type_ = group.type or found.name
        if accelerators.setdefault(type_, group.accelerator) != group.accelerator:
            raise InputError(
                f"{key}.accelerator is {group.accelerator}, but that of {type_} is {accelerators[type_]} "
                f"above; write another {key}.type"
            )
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
                group.gpus,
                group.intra_gbps,
                group.inter_gbps,
                group.island,
            )
            for number in range(group.count)
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
    return NamedCluster(file.name, cluster, accelerators)


def _check(group: NodeGroup, key: str) -> None:
    for name in ("count", "gpus"):
        value = getattr(group, name)
        if value < 1:
            raise InputError(f"{key}.{name} is {value}; it must be at least 1")
    if group.count * group.gpus > MOST_GPUS:
        raise InputError(f"{key} has {group.count * group.gpus} GPUs; at most {MOST_GPUS} are allowed")
    for name in ("intra_gbps", "inter_gbps"):
        value = getattr(group, name)
        if not LEAST_POSITIVE <= value <= MOST:
            raise InputError(
                f"{key}.{name} is {value:g}; it must be a number above 0, {LEAST_POSITIVE:g} to {MOST:g}"
            )
    if group.island < 0:
        raise InputError(f"{key}.island is {group.island}; it must be at least 0")
    if group.price_per_hour is not None and not 0 <= group.price_per_hour < math.inf:
        raise InputError(f"{key}.price_per_hour is {group.price_per_hour:g}; it must be 0 or greater")
