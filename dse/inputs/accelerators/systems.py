"""Clusters of conf/system by name, for what does not compose a configuration: their nodes and links."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from dse.base.files import conf_file
from dse.base.record_files import yaml_record
from dse.inputs.accelerators.accelerator import accelerator
from dse.inputs.accelerators.cluster import Cluster, TierSpec, cluster


@dataclass(frozen=True)
class ClusterFile:
    """The keys of a cluster in conf/system."""

    name: str
    accelerator: str
    nodes: int
    npus_per_node: int
    tiers: tuple[TierSpec, ...]


def cluster_file(name: str | Path) -> ClusterFile:
    """Return what conf/system says under this name, or a file like those.

    Raises:
        InputError: the file is missing, or does not describe a cluster.
    """
    path = name if isinstance(name, Path) else conf_file("system", name)
    return yaml_record(path, ClusterFile, "system")


@functools.cache
def cluster_of_conf(name: str, nodes: int) -> Cluster:
    """Return `nodes` nodes of the cluster that conf/system describes under this name.

    Raises:
        InputError: as `cluster_file`; the tiers do not join the nodes.
    """
    file = cluster_file(name)
    chip = accelerator(file.accelerator, "system.accelerator")
    return cluster(file.name, chip, nodes, file.npus_per_node, file.tiers)
